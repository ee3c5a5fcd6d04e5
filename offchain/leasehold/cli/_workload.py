"""A workload from a file, from flags, or from both: what is given on the command line wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from leasehold.cli._command import Invocation
from leasehold.cli._from_template import from_template
from leasehold.cli._given import parse_variable, read_secret, read_variables
from leasehold.cli._options import argument, option
from leasehold.cli._output import Output, plain
from leasehold.client import RentPlan
from leasehold.copying import CodeContents, CodeFolder
from leasehold.market import (
    InvalidInput,
    format_size,
    read_command,
    read_dataset,
    read_port,
    read_readiness,
    read_ulimit,
    read_volumes,
)
from leasehold.workload import Workload, load_workload

CommandLine = Annotated[list[str] | None, argument("[COMMAND]...", "After `--`.")]
_KEYS = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
_AS_TYPED = (
    "image", "cpu", "memory", "disk", "egress", "name", "workdir", "user", "hostname", "shm", "restart", "grace",
)  # fmt: skip
"""Fields of a workload that are what was typed."""


@dataclass(frozen=True)
class WorkloadFlags:
    """All that a workload is made of on the command line, but for what it runs."""

    file: Annotated[Path | None, option("--file -f FILE", "The workload, as TOML or JSON.")] = None
    template: Annotated[
        str | None, option("--template NAME", "What `leasehold templates` lists, or a file like those.")
    ] = None
    image: Annotated[
        str | None,
        option("--image IMAGE", "Such as pytorch/pytorch:2.5; or name@sha256:DIGEST, ipfs:CID, sha256:ID."),
    ] = None
    env: Annotated[
        list[str] | None,
        option("--env -e NAME[=VALUE]", "Set a variable; without a value as it is set here."),
    ] = None
    env_file: Annotated[
        list[Path] | None, option("--env-file FILE", "Variables, NAME=VALUE or NAME on each line.")
    ] = None
    cpu: Annotated[float | None, option("--cpu CORES", "Cores, parts allowed.")] = None
    memory: Annotated[str | None, option("--memory SIZE", "Such as 16GiB.")] = None
    disk: Annotated[str | None, option("--disk SIZE", "Such as 100GB.")] = None
    ports: Annotated[list[str] | None, option("--port -p PORT[:HOST][/udp]", "Publish a port.")] = None
    datasets: Annotated[list[str] | None, option("--dataset -d CID:PATH", "Mount a dataset, read-only.")] = (
        None
    )
    volumes: Annotated[
        list[str] | None,
        option("--volume -v NAME:PATH[:SIZE]", "What stays from one lease to the next, encrypted."),
    ] = None
    volume_sources: Annotated[
        list[str] | None,
        option("--volume-from NAME=CID", "What a volume holds that is made anew: an export of it."),
    ] = None
    outputs: Annotated[
        list[str] | None, option("--output -o PATH", "A result: encrypted to you, on IPFS.")
    ] = None
    public: Annotated[bool, option("--public", "Results that all may read.")] = False
    ssh_keys: Annotated[
        list[Path] | None, option("--ssh-key FILE", "Public keys for `leasehold ssh`; by default yours.")
    ] = None
    batch: Annotated[bool, option("--batch", "A job: the lease closes when the command has ended.")] = False
    egress: Annotated[str | None, option("--egress none|internet", "What it may reach.")] = None
    gvisor: Annotated[bool, option("--gvisor", "Run under gVisor.")] = False
    name: Annotated[
        str | None, option("--name NAME", "What you call it, in `leasehold leases` and to the agent.")
    ] = None
    entrypoint: Annotated[
        str | None, option("--entrypoint PROGRAM", "In place of the image's, arguments too; empty: none.")
    ] = None
    workdir: Annotated[str | None, option("--workdir PATH", "Where the command starts.")] = None
    user: Annotated[str | None, option("--user USER[:GROUP]", "Who runs it, by name or number.")] = None
    hostname: Annotated[str | None, option("--hostname NAME", "What the container calls itself.")] = None
    ulimits: Annotated[
        list[str] | None, option("--ulimit NAME=MOST", "nofile, memlock or stack of each process.")
    ] = None
    shm: Annotated[str | None, option("--shm SIZE", "/dev/shm; by default half of the memory.")] = None
    secrets: Annotated[
        list[str] | None,
        option(
            "--secret NAME[=@FILE]", "What the file, or the variable NAME here, holds, at /run/secrets/NAME."
        ),
    ] = None
    restart: Annotated[
        str | None, option("--restart never|on-failure|always", "When it is started again after its end.")
    ] = None
    ready: Annotated[
        str | None, option("--ready COMMAND|http:PORT/PATH", "What must hold before billing begins.")
    ] = None
    grace: Annotated[str | None, option("--grace DURATION", "From SIGTERM to SIGKILL, such as 2m.")] = None
    code: Annotated[
        str | None, option("--code DIR[:PATH]", "A folder that goes in, to /work; not what .gitignore names.")
    ] = None
    checkpoint_every: Annotated[
        str | None,
        option(
            "--checkpoint-every DURATION", "Keep what it has got to, such as every 10m, to go on elsewhere."
        ),
    ] = None
    checkpoint_path: Annotated[
        str | None, option("--checkpoint-path PATH", "The folder that is kept; by default /checkpoint.")
    ] = None
    checkpoint_command: Annotated[
        str | None,
        option("--checkpoint-command COMMAND", "Run inside before, to bring that folder up to date."),
    ] = None
    checkpoint_size: Annotated[
        str | None,
        option("--checkpoint-size SIZE", "The most that it holds; counts thrice on the lease's disk."),
    ] = None
    checkpoint_from: Annotated[
        str | None, option("--checkpoint-from CID", "A checkpoint that it begins with.")
    ] = None

    @property
    def names_a_workload(self) -> bool:
        """Whether it is said what should run."""
        return any(named is not None for named in (self.file, self.template, self.image))


def code_folder(flags: WorkloadFlags) -> CodeFolder | None:
    """The folder that goes in, if one does."""
    return None if flags.code is None else CodeFolder.read(flags.code)


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
        **{field: getattr(flags, field) for field in _AS_TYPED},
        "command": list(command or ()) or None,
        "runtime": "gvisor" if flags.gvisor else None,
        "kind": "batch" if flags.batch else None,
        "entrypoint": None if flags.entrypoint is None else read_command(flags.entrypoint, "entrypoint"),
        "ulimits": dict(map(read_ulimit, flags.ulimits or ())) or None,
        "readiness": None if flags.ready is None else read_readiness(flags.ready),
        "ports": [read_port(text) for text in flags.ports or ()] or None,
        "datasets": [read_dataset(text) for text in flags.datasets or ()] or None,
        "volumes": read_volumes(flags.volumes or (), flags.volume_sources or ()) or None,
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


def show_quotes(out: Output, plan: RentPlan, title: Callable[[int, str], str]) -> None:
    """What each machine of a plan costs, and what a tag stands for. title: of a machine, by its number and model."""
    for opening, listing in zip(plan.openings, plan.listings, strict=True):
        shown = title(listing.id, listing.model or "unknown model")
        out.pairs(shown, opening.quote.rows(plan.client.money, listing.sells_gpus))
    show_image(out, plan.image_rows())


def show_code(out: Output, code: CodeContents) -> None:
    """What goes in, and what cannot."""
    out.say(f"Code: {code.tree.files} files, {format_size(code.tree.size)}, to {code.folder.at}.")
    if code.skipped:
        first = plain(code.skipped[0])
        out.warn(f"{len(code.skipped)} entries cannot go along, such as {first}: unreadable, or no files.")


def show_image(out: Output, rows: Sequence[tuple[str, str]]) -> None:
    """What a tag stands for."""
    if rows:
        out.pairs("What its registry has now", rows)


def _checkpoint(flags: WorkloadFlags) -> dict[str, object]:
    """Nothing where nothing is said of it; any word of it makes checkpoints."""
    command = flags.checkpoint_command
    given = {
        "interval": flags.checkpoint_every,
        "path": flags.checkpoint_path,
        "command": None if command is None else read_command(command, "checkpoint"),
        "size": flags.checkpoint_size,
        "source": flags.checkpoint_from,
    }
    return {name: value for name, value in given.items() if value is not None}


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
