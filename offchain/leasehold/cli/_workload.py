"""A workload from a file, from flags, or from both: what is given on the command line wins."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from leasehold.cli._command import Invocation
from leasehold.cli._from_template import from_template
from leasehold.cli._given import parse_variable, read_secret, read_variables
from leasehold.cli._options import argument, option
from leasehold.client import PinnedWorkload
from leasehold.copying import CodeFolder
from leasehold.market import InvalidInput
from leasehold.workload import Workload, load_workload

CommandLine = Annotated[list[str] | None, argument("[COMMAND]...", "After `--`.")]
Template = Annotated[
    str | None, option("--template NAME", "What `leasehold templates` lists, or a file like those.")
]
WorkloadFile = Annotated[Path | None, option("--file -f FILE", "The workload, as TOML or JSON.")]
Image = Annotated[
    str | None,
    option("--image IMAGE", "Such as pytorch/pytorch:2.5; or name@sha256:DIGEST, ipfs:CID, sha256:ID."),
]
Env = Annotated[
    list[str] | None, option("--env -e NAME[=VALUE]", "Set a variable; without a value as it is set here.")
]
EnvFile = Annotated[
    list[Path] | None, option("--env-file FILE", "Variables, NAME=VALUE or NAME on each line.")
]
Memory = Annotated[str | None, option("--memory SIZE", "Such as 16GiB.")]
Cpu = Annotated[float | None, option("--cpu CORES", "Cores, parts allowed.")]
Disk = Annotated[str | None, option("--disk SIZE", "Such as 100GB.")]
Ports = Annotated[list[str] | None, option("--port -p PORT[:HOST][/udp]", "Publish a port.")]
Datasets = Annotated[list[str] | None, option("--dataset -d CID:PATH", "Mount a dataset, read-only.")]
VolumeTexts = Annotated[
    list[str] | None,
    option("--volume -v NAME:PATH[:SIZE]", "What stays from one lease to the next, encrypted."),
]
VolumeSources = Annotated[
    list[str] | None,
    option("--volume-from NAME=CID", "What a volume holds that is made anew: an export of it."),
]
Outputs = Annotated[list[str] | None, option("--output -o PATH", "A result: encrypted to you, on IPFS.")]
Public = Annotated[bool, option("--public", "Results that all may read.")]
SshKey = Annotated[
    list[Path] | None, option("--ssh-key FILE", "Public keys for `leasehold ssh`; by default yours.")
]
Batch = Annotated[bool, option("--batch", "A job: the lease closes when the command has ended.")]
Egress = Annotated[str | None, option("--egress none|internet", "What it may reach.")]
Gvisor = Annotated[bool, option("--gvisor", "Run under gVisor.")]
Name = Annotated[
    str | None, option("--name NAME", "What you call it, in `leasehold leases` and to the agent.")
]
Entrypoint = Annotated[
    str | None, option("--entrypoint PROGRAM", "In place of the image's, arguments too; empty: none.")
]
Workdir = Annotated[str | None, option("--workdir PATH", "Where the command starts.")]
User = Annotated[str | None, option("--user USER[:GROUP]", "Who runs it, by name or number.")]
Hostname = Annotated[str | None, option("--hostname NAME", "What the container calls itself.")]
UlimitTexts = Annotated[
    list[str] | None, option("--ulimit NAME=MOST", "nofile, memlock or stack of each process.")
]
Shm = Annotated[str | None, option("--shm SIZE", "/dev/shm; by default half of the memory.")]
Secrets = Annotated[
    list[str] | None,
    option("--secret NAME[=@FILE]", "What the file, or the variable NAME here, holds, at /run/secrets/NAME."),
]
RestartWhen = Annotated[
    str | None, option("--restart never|on-failure|always", "When it is started again after its end.")
]
Ready = Annotated[
    str | None, option("--ready COMMAND|http:PORT/PATH", "What must hold before billing begins.")
]
Grace = Annotated[str | None, option("--grace DURATION", "From SIGTERM to SIGKILL, such as 2m.")]

CodePlace = Annotated[
    str | None, option("--code DIR[:PATH]", "A folder that goes in, to /work; not what .gitignore names.")
]
CheckpointEvery = Annotated[
    str | None,
    option(
        "--checkpoint-every DURATION", "Keep what it has got to, such as every 10m, to go on from elsewhere."
    ),
]
CheckpointPath = Annotated[
    str | None, option("--checkpoint-path PATH", "The folder that is kept; by default /checkpoint.")
]
CheckpointCommand = Annotated[
    str | None, option("--checkpoint-command COMMAND", "Run inside before, to bring that folder up to date.")
]
CheckpointFrom = Annotated[str | None, option("--checkpoint-from CID", "A checkpoint that it begins with.")]

_KEYS = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")


@dataclass(frozen=True)
class WorkloadFlags:
    """All that a workload is made of on the command line, but for what it runs."""

    file: WorkloadFile = None
    template: Template = None
    image: Image = None
    env: Env = None
    env_file: EnvFile = None
    cpu: Cpu = None
    memory: Memory = None
    disk: Disk = None
    ports: Ports = None
    datasets: Datasets = None
    volumes: VolumeTexts = None
    volume_sources: VolumeSources = None
    outputs: Outputs = None
    public: Public = False
    ssh_keys: SshKey = None
    batch: Batch = False
    egress: Egress = None
    gvisor: Gvisor = False
    name: Name = None
    entrypoint: Entrypoint = None
    workdir: Workdir = None
    user: User = None
    hostname: Hostname = None
    ulimits: UlimitTexts = None
    shm: Shm = None
    secrets: Secrets = None
    restart: RestartWhen = None
    ready: Ready = None
    grace: Grace = None
    code: CodePlace = None
    checkpoint_every: CheckpointEvery = None
    checkpoint_path: CheckpointPath = None
    checkpoint_command: CheckpointCommand = None
    checkpoint_from: CheckpointFrom = None

    @property
    def names_a_workload(self) -> bool:
        """Whether it is said what should run."""
        return any(named is not None for named in (self.file, self.template, self.image))


def code_folder(flags: WorkloadFlags) -> CodeFolder | None:
    """The folder that goes in, of `DIR` or `DIR:/PATH`."""
    if flags.code is None:
        return None
    folder, colon, at = flags.code.rpartition(":")
    if not colon or not at.startswith("/"):
        return CodeFolder(Path(flags.code))
    return CodeFolder(Path(folder), at)


def build_workload(
    call: Invocation,
    flags: WorkloadFlags,
    command: Sequence[str] | None,
    table: Mapping[str, object] | None = None,
) -> Workload:
    """The workload that is meant, with the keys that this computer has: of the wallet, of datasets, for SSH. table:
    what a project's file says of it, where no file and no template is named.

    Raises:
        InvalidInput: a flag that cannot be read. WorkloadError: the whole makes no workload. WalletError.
    """
    recipient = call.home.age_keys.recipient(call.chosen().name)
    data: dict[str, object] = {"version": 1}
    secrets = dict(map(read_secret, flags.secrets or ()))
    if flags.file is not None and flags.template is not None:
        raise InvalidInput("A file and a template are two workloads: name one of them.")
    if flags.file is not None:
        data = load_workload(flags.file, recipients=[recipient] if recipient else ()).model_dump(
            mode="json", exclude_unset=True, exclude_none=True
        )
    elif flags.template is not None:
        data = from_template(call, flags.template, secrets, command)
    elif table is not None:
        data.update(table)
    elif flags.image is None:
        raise InvalidInput("What should run? Name an image with --image, a --template, or a --file.")
    given: dict[str, object | None] = {
        "image": flags.image,
        "command": list(command or ()) or None,
        "cpu": flags.cpu,
        "memory": flags.memory,
        "disk": flags.disk,
        "egress": flags.egress,
        "runtime": "gvisor" if flags.gvisor else None,
        "kind": "batch" if flags.batch else None,
        "name": flags.name,
        "entrypoint": None if flags.entrypoint is None else _words("--entrypoint", flags.entrypoint),
        "workdir": flags.workdir,
        "user": flags.user,
        "hostname": flags.hostname,
        "ulimits": dict(map(_ulimit, flags.ulimits or ())) or None,
        "shm": flags.shm,
        "restart": flags.restart,
        "readiness": None if flags.ready is None else _readiness(flags.ready),
        "grace": flags.grace,
        "ports": [_port(text) for text in flags.ports or ()] or None,
        "datasets": [_dataset(text) for text in flags.datasets or ()] or None,
        "volumes": _volumes(flags.volumes or (), flags.volume_sources or ()) or None,
        "outputs": [{"path": path, "public": flags.public} for path in flags.outputs or ()] or None,
        "ssh_keys": _ssh_keys(flags.ssh_keys or (), Path.home() / ".ssh")
        if flags.ssh_keys or "ssh_keys" not in data
        else None,
    }
    data.update({name: value for name, value in given.items() if value is not None})
    for field, added in (
        ("env", {**read_variables(flags.env_file or ()), **dict(map(parse_variable, flags.env or ()))}),
        ("secrets", secrets),
        ("checkpoint", _checkpoint(flags)),
    ):
        if added:
            present = data.get(field)
            data[field] = {**(present if isinstance(present, dict) else {}), **added}
    return call.home.dataset_keys.given_to(load_workload(data, recipients=[recipient] if recipient else ()))


def say_image(call: Invocation, pinned: PinnedWorkload | None) -> None:
    """What a tag stands for, for people."""
    if pinned is not None and (rows := pinned.rows()):
        call.out.pairs("What its registry has now", rows)


def _words(flag: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"{flag}: '{text}' has a quote without its other end.") from error


def _checkpoint(flags: WorkloadFlags) -> dict[str, object]:
    """Nothing where nothing is said of it; any word of it makes checkpoints."""
    command = flags.checkpoint_command
    given = {
        "interval": flags.checkpoint_every,
        "path": flags.checkpoint_path,
        "command": None if command is None else _words("--checkpoint-command", command),
        "source": flags.checkpoint_from,
    }
    return {name: value for name, value in given.items() if value is not None}


def _ulimit(text: str) -> tuple[str, object]:
    name, equals, most = text.partition("=")
    if not equals:
        raise InvalidInput(f"'{text}' sets no limit: write --ulimit nofile=65536 or memlock=unlimited.")
    return name, int(most) if most.isdecimal() else most


def _readiness(text: str) -> dict[str, object]:
    port, slash, path = text.removeprefix("http:").partition("/")
    if text.startswith("http:") and port.isdecimal():
        return {"http": {"port": int(port), **({"path": f"/{path}"} if slash else {})}}
    return {"command": _words("--ready", text)}


def _port(text: str) -> dict[str, object]:
    numbers, _, protocol = text.partition("/")
    container, _, host = numbers.partition(":")
    if not container.isdecimal() or (host and not host.isdecimal()):
        raise InvalidInput(f"'{text}' is no port: write --port 8080, 8080:18080 or 53/udp.")
    port: dict[str, object] = {"container": int(container), "protocol": protocol or "tcp"}
    return {**port, "host": int(host)} if host else port


def _dataset(text: str) -> dict[str, object]:
    cid, colon, path = text.partition(":")
    if not colon:
        raise InvalidInput(f"'{text}' has no place: write --dataset CID:/data/name.")
    return {"cid": cid, "path": path}


def _volumes(mounts: Sequence[str], sources: Sequence[str]) -> list[dict[str, object]]:
    volumes = {str(volume["name"]): volume for volume in map(_volume, mounts)}
    for text in sources:
        name, _, cid = text.partition("=")
        if name not in volumes or not cid:
            raise InvalidInput(
                f"'{text}' fills no volume: write --volume-from NAME=CID beside --volume NAME:/data."
            )
        volumes[name] = {**volumes[name], "source": cid}
    return list(volumes.values()) if sources else [_volume(text) for text in mounts]


def _volume(text: str) -> dict[str, object]:
    name, colon, rest = text.partition(":")
    path, sized, size = rest.partition(":")
    if not colon or not path:
        raise InvalidInput(f"'{text}' has no place: write --volume NAME:/data or NAME:/data:100GiB.")
    return {"name": name, "path": path, **({"size": size} if sized else {})}


def _ssh_keys(given: Sequence[Path], folder: Path) -> list[str] | None:
    paths = list(given) or [folder / name for name in _KEYS if (folder / name).exists()][:1]
    try:
        lines = [line.strip() for path in paths for line in path.read_text().splitlines()]
    except OSError as error:
        raise InvalidInput(
            f"{error.filename}: {error.strerror}; name another public key with --ssh-key."
        ) from error
    if any("PRIVATE KEY" in line for line in lines):
        raise InvalidInput(
            "That is a private key, which stays with you: name the file beside it that ends in .pub."
        )
    return [line for line in lines if line and not line.startswith("#")] or None
