"""The format: what is taken, in which one form, and with which sentence the rest is refused."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from leasehold.datasets import new_identity, recipient_of
from leasehold.errors import (
    LeaseholdError,
    WorkloadFieldUnknown,
    WorkloadInvalid,
    WorkloadTooLarge,
    WorkloadUnsupported,
)
from leasehold.workload import (
    UNSERVED_FIELDS,
    Egress,
    Workload,
    WorkloadKind,
    load_workload,
    seal,
    volume_key,
)

IMAGE = "sha256:" + "a" * 64
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
IDENTITY = new_identity()
RECIPIENT = recipient_of(IDENTITY)
SSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBmPzP9Gc8yYF0VyL4e0gHs5pRn4mVY0s2aB6pBv5o2k someone@laptop"
PRIVATE = "ghcr.io/acme/secret@sha256:" + "b" * 64
LOGIN = {"server": "ghcr.io", "username": "me", "password": "hunter2"}
MINIMAL: dict[str, Any] = {"version": 1, "image": IMAGE}
FULL: dict[str, Any] = {
    "version": 1,
    "kind": "batch",
    "image": "ipfs:" + CID,
    "command": ["python3", "train.py"],
    "env": {"EPOCHS": "3"},
    "secrets": {"token": "hunter2"},
    "cpu": 2.5,
    "memory": "16GiB",
    "disk": "1.5 TB",
    "shm": 67108864,
    "share": "whole",
    "ports": [{"container": 8080}, {"container": 53, "host": 5353, "protocol": "udp"}],
    "datasets": [{"cid": CID, "path": "/data//digits/", "key": IDENTITY}],
    "outputs": [{"path": "/out", "recipients": [RECIPIENT]}, {"path": "/log.txt", "public": True}],
    "ssh_keys": [SSH],
    "restart": "on-failure",
    "grace": "2m",
    "egress": ["203.0.113.7:443", "198.51.100.0/24", "[2001:db8::]/32:80"],
    "runtime": "gvisor",
    "name": "digits 3",
    "entrypoint": [],
    "workdir": "/",
    "user": "www-data:1000",
    "hostname": "Trainer.example",
    "ulimits": {"nofile": 65536, "memlock": "unlimited", "stack": "64MiB"},
}


def load(**changes: object) -> Workload:
    return load_workload(MINIMAL | changes)


def test_the_least_that_is_a_workload() -> None:
    workload = load()
    assert workload.kind is WorkloadKind.CONTAINER
    assert (workload.command, workload.ports, workload.readiness, workload.grace) == ((), (), None, 10)
    assert workload.egress == Egress(mode="internet")


def test_units_and_paths_have_one_form() -> None:
    workload = load_workload(FULL)
    assert (workload.memory, workload.disk, workload.grace) == (16 * 2**30, 1_500_000_000_000, 120)
    assert workload.datasets[0].path == "/data/digits"
    assert (workload.hostname, workload.user, load(user=1000).user) == (
        "trainer.example",
        "www-data:1000",
        "1000",
    )
    assert workload.ulimits is not None
    assert (workload.ulimits.memlock, workload.ulimits.stack) == ("unlimited", 64 * 2**20)
    assert workload.egress.allow == ("203.0.113.7:443", "198.51.100.0/24", "[2001:db8::]/32:80")


def test_the_canonical_form_is_stable_and_complete() -> None:
    workload = load_workload(FULL)
    canonical = workload.canonical()
    assert load_workload(json.loads(canonical)) == workload
    assert load_workload(json.loads(canonical)).canonical() == canonical
    assert (
        canonical
        == json.dumps(
            json.loads(canonical), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ).encode()
    )


def test_what_leaves_out_the_later_fields_keeps_its_bytes() -> None:
    """A digest on the chain, and whoever kept a workload to rent with it again, goes by these."""
    assert load(command=["true"], shm="1GiB").canonical() == (
        b'{"command":["true"],"datasets":[],"egress":{"allow":[],"mode":"internet"},"env":{},"grace":10,"image":"sha256:'
        + b"a" * 64
        + b'","kind":"container","outputs":[],"ports":[],"restart":"never","runtime":"runc","secrets":{},'
        b'"shm":1073741824,"ssh_keys":[],"version":1}'
    )


@pytest.mark.parametrize("field", UNSERVED_FIELDS)
def test_what_is_not_served_is_refused_by_name(field: str) -> None:
    with pytest.raises(WorkloadUnsupported, match=f"`{field}`, which is not served yet"):
        load(**{field: []})


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", "vm"), ("kind", "service")],
)
def test_values_not_served_are_refused_by_name(field: str, value: str) -> None:
    with pytest.raises(WorkloadUnsupported, match=f"`{field} = {value}`"):
        load(**{field: value})


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"imgae": IMAGE}, "imgae"),
        ({"ports": [{"container": 1, "hots": 2}]}, "ports.0.hots"),
        ({"readiness": {"command": ["true"], "interval": 1}}, "readiness.interval"),
    ],
)
def test_an_unknown_field_is_named(changes: dict[str, object], field: str) -> None:
    with pytest.raises(WorkloadFieldUnknown) as caught:
        load(**changes)
    assert caught.value.field == field
    assert f"no field `{field}`" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"version": 2}, "version"),
        ({"image": "sha256:abc"}, "image is not <name>:<tag>"),
        ({"image": "Alpine"}, "image is not <name>:<tag>"),
        ({"image": "ipfs:nonsense"}, "image is not a CID"),
        ({"image": "Example.com/x@sha256:" + "a" * 64}, "image is not"),
        ({"kind": "cronjob"}, "kind"),
        ({"command": "echo"}, "command"),
        ({"command": ["a\0b"]}, "zero byte"),
        ({"env": {"1A": "x"}}, "env"),
        ({"secrets": {"../x": "x"}}, "secrets"),
        ({"cpu": 0}, "cpu"),
        ({"cpu": float("nan")}, "cpu"),
        ({"memory": "16 GB of RAM"}, "memory is not a size"),
        ({"memory": "3 parsecs"}, "memory is not a size"),
        ({"memory": 0}, "memory"),
        ({"memory": 1.5}, "memory"),
        ({"grace": "soon"}, "grace is not a time"),
        ({"grace": 601}, "grace"),
        ({"ports": [{"container": 0}]}, r"ports\.0\.container"),
        ({"ports": [{"container": 1}, {"container": 1}]}, "container port is named twice"),
        ({"ports": [{"container": 1, "host": 5}, {"container": 2, "host": 5}]}, "host port is named twice"),
        ({"datasets": [{"cid": "x", "path": "/d"}]}, "cid is not a CID"),
        ({"datasets": [{"cid": CID, "path": "d"}]}, "absolute path"),
        ({"datasets": [{"cid": CID, "path": "/a/../etc"}]}, "absolute path"),
        ({"datasets": [{"cid": CID, "path": "/"}]}, "may not be /,"),
        ({"datasets": [{"cid": CID, "path": "/proc/self"}]}, "belongs to the system"),
        ({"datasets": [{"cid": CID, "path": "/d", "key": "k"}]}, "age identity"),
        ({"datasets": [{"cid": CID, "path": "/d"}, {"cid": CID, "path": "/d/e"}]}, "/d/e lies inside /d"),
        ({"outputs": [{"path": "/o"}, {"path": "/o"}]}, "/o lies inside /o"),
        ({"outputs": [{"path": p} for p in ("/a", "/a-", "/a/L/x")]}, "/a/L/x lies inside /a"),
        ({"datasets": [{"cid": CID, "path": p} for p in ("/a", "/a b", "/a/b")]}, "/a/b lies inside /a"),
        ({"disk": "9" * 400 + ".5"}, "disk"),
        ({"disk": "9" * 400}, "disk"),
        ({"disk": 10**400}, "disk"),
        ({"grace": "9" * 400}, "grace"),
        ({"outputs": [{"path": "/o", "recipients": ["age1"]}]}, "age recipient"),
        (
            {"outputs": [{"path": "/o", "public": True, "recipients": [RECIPIENT]}]},
            "public and has recipients",
        ),
        ({"ssh_keys": ["ssh-ed25519"]}, "OpenSSH public key"),
        ({"ssh_keys": ["ssh-rsa " + SSH.split()[1]]}, "OpenSSH public key"),
        ({"ssh_keys": ["ssh-ed25519 !!!"]}, "OpenSSH public key"),
        ({"ssh_keys": [SSH + "\n" + SSH]}, "OpenSSH public key"),
        ({"readiness": {}}, "either `command` or `http`"),
        ({"readiness": {"command": ["true"], "http": {"port": 80}}}, "either `command` or `http`"),
        ({"readiness": {"http": {"port": 80, "path": "no"}}}, "path"),
        ({"kind": "batch", "readiness": {"command": ["true"]}}, "ready when it runs"),
        ({"kind": "batch", "restart": "always"}, "never ends"),
        ({"egress": "everywhere"}, "egress"),
        ({"egress": []}, "needs a list"),
        ({"egress": ["example.com"]}, "not an address or network"),
        ({"egress": ["10.0.0.1/8"]}, "not an address or network"),
        ({"egress": ["10.0.0.1:0"]}, "not an address or network"),
        ({"egress": 5}, "egress"),
        ({"name": "a\x1b[2J"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"name": "trailing "}, "name"),
        ({"name": ""}, "name"),
        ({"entrypoint": "/bin/sh"}, "entrypoint"),
        ({"entrypoint": ["a\0b"]}, "zero byte"),
        ({"entrypoint": ["x"] * 1025}, "entrypoint"),
        ({"workdir": "out"}, "workdir is not an absolute path"),
        ({"workdir": "/a/../../etc"}, "workdir is not an absolute path"),
        ({"workdir": "/" + "x" * 1024}, "workdir is not an absolute path"),
        ({"user": "a:b:c"}, "user is not a user"),
        ({"user": "root;id"}, "user is not a user"),
        ({"user": "-1"}, "user is not a user"),
        ({"user": ""}, "user is not a user"),
        ({"user": True}, "user"),
        ({"user": 2**31}, "has a number above"),
        ({"user": "0:2147483648"}, "has a number above"),
        ({"hostname": "-a"}, "hostname is not a host name"),
        ({"hostname": "a_b"}, "hostname is not a host name"),
        ({"hostname": "a..b"}, "hostname is not a host name"),
        ({"hostname": "a\n127.0.0.1 b"}, "hostname is not a host name"),
        ({"hostname": "a" * 64}, "hostname is not a host name"),
        ({"hostname": ".".join(["a" * 31] * 3)}, "hostname is not a host name"),
        ({"ulimits": {"nofile": 2**20 + 1}}, r"ulimits\.nofile"),
        ({"ulimits": {"nofile": 3}}, r"ulimits\.nofile"),
        ({"ulimits": {"memlock": "much"}}, r"ulimits\.memlock"),
        ({"ulimits": {"nproc": 10}}, "counts for all leases of a host"),
        ({"ulimits": {"rtprio": 99}}, "the host's to say"),
        ({"ulimits": {"core": 0}}, "the host's to say"),
        (
            {"image": PRIVATE, "registry": LOGIN | {"server": "evil.example"}},
            "ghcr.io, not from evil.example",
        ),
        ({"image": PRIVATE, "registry": LOGIN | {"server": "ghcr.io:444"}}, "ghcr.io, not from ghcr.io:444"),
        ({"image": PRIVATE, "registry": LOGIN | {"server": "http://ghcr.io"}}, "server is not a registry"),
        ({"image": "ipfs:" + CID, "registry": LOGIN}, "registry: the image comes from none"),
        ({"registry": LOGIN}, "registry: the image comes from none"),
        ({"image": PRIVATE, "registry": {"server": "ghcr.io"}}, "needs either"),
        ({"image": PRIVATE, "registry": {"server": "ghcr.io", "username": "me"}}, "together"),
        ({"image": PRIVATE, "registry": LOGIN | {"identity_token": "t"}}, "needs either"),
        ({"image": PRIVATE, "registry": LOGIN | {"username": "a:b"}}, "username"),
        ({"image": PRIVATE, "registry": LOGIN | {"username": "a\r\nb"}}, "username"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(WorkloadInvalid, match=reason) as caught:
        load(**changes)
    assert type(caught.value) is WorkloadInvalid


@pytest.mark.parametrize("image", ["ubuntu", "pytorch/pytorch:2.5", "localhost:5000/a/b:tag"])
def test_a_tag_may_be_written_and_is_sealed_nowhere(image: str) -> None:
    workload = load(image=image)
    assert not workload.pinned
    with pytest.raises(WorkloadInvalid, match="may be another image tomorrow"):
        seal(workload, recipient_of(new_identity()))


@pytest.mark.parametrize("image", [IMAGE, f"ipfs:{CID}", "ubuntu@" + IMAGE, "localhost:5000/a/b@" + IMAGE])
def test_what_is_named_by_its_content_is_pinned(image: str) -> None:
    assert load(image=image).pinned


def test_every_problem_is_reported_at_once() -> None:
    with pytest.raises(WorkloadInvalid) as caught:
        load(image="X", grace=-1, cpu=-1)
    assert len(caught.value.problems) == 3


def test_secrets_do_not_show() -> None:
    shown = repr(load_workload(FULL))
    assert "hunter2" not in shown
    assert IDENTITY not in shown
    with pytest.raises(WorkloadInvalid) as caught:
        load(
            secrets={"a b": "hunter2"},
            datasets=[{"cid": CID, "path": "/d", "key": "AGE-SECRET-KEY-1NONSENSE"}],
        )
    chain = [caught.value, caught.value.__cause__, None if caught.value.__suppress_context__ else 1]
    assert chain[1:] == [None, None]
    assert "hunter2" not in str(caught.value)
    assert "NONSENSE" not in str(caught.value)


def test_a_password_for_a_registry_does_not_show() -> None:
    workload = load(image=PRIVATE, registry=LOGIN)
    assert "hunter2" not in repr(workload) + str(workload)
    assert load_workload(json.loads(workload.canonical())) == workload
    for wrong in ({"password": "hunter2\0"}, {"server": "not a server"}, {"identity_token": "hunter2"}):
        with pytest.raises(WorkloadInvalid) as caught:
            load(image=PRIVATE, registry=LOGIN | wrong)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("server", ["docker.io", "index.docker.io", "REGISTRY-1.docker.io"])
def test_the_hub_by_any_of_its_names(server: str) -> None:
    image = "acme/secret@sha256:" + "b" * 64
    login = load(image=image, registry=LOGIN | {"server": server}).registry
    assert login is not None
    assert login.server == "docker.io"


def test_a_workload_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load().image = IMAGE  # type: ignore[misc]  # what is tested


# ------------------------------------------------------------------------------------------------------------- files


def test_toml_and_json_files_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps(MINIMAL | {"grace": "1m", "ports": [{"container": 80}]}))
    (tmp_path / "w.toml").write_text(
        f'version = 1\nimage = "{IMAGE}"\ngrace = "1m"\n[[ports]]\ncontainer = 80\n'
    )
    assert load_workload(tmp_path / "w.json") == load_workload(str(tmp_path / "w.toml"))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("w.toml", b"version = ", "is no TOML"),
        ("w.toml", b"\xff", "is no TOML"),
        ("w.json", b"{", "is no JSON"),
        ("w.json", b"[]", "is no JSON object"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WorkloadInvalid, match=reason):
        load_workload(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LeaseholdError, match="cannot be read"):
        load_workload(tmp_path / "none.toml")


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(WorkloadTooLarge):
        load_workload(tmp_path / "w.toml")


def test_private_outputs_without_readers_get_the_tenant() -> None:
    other = recipient_of(new_identity())
    outputs = [{"path": "/a"}, {"path": "/b", "recipients": [other]}, {"path": "/c", "public": True}]
    workload = load_workload(MINIMAL | {"outputs": outputs}, recipients=[RECIPIENT])
    assert [o.recipients for o in workload.outputs] == [(RECIPIENT,), (other,), ()]
    with pytest.raises(WorkloadInvalid, match=r"outputs\.0"):
        load_workload(MINIMAL | {"outputs": ["/a"]}, recipients=[RECIPIENT])


class TestVolumes:
    volume: ClassVar[dict[str, Any]] = {"name": "models", "path": "/models", "size": "1GiB", "key": "ab" * 32}

    def test_they_are_as_written_and_change_no_workload_without_them(self) -> None:
        workload = load(volumes=[self.volume, {"name": "x", "path": "/x"}])
        assert workload.volumes is not None
        assert (workload.volumes[0].size, workload.volumes[1].size) == (1 << 30, None)
        assert self.volume["key"] not in repr(workload)
        assert b"volumes" not in load().canonical()

    @pytest.mark.parametrize("name", ["", "a/b", "../etc", ".x", "A", "a\n", "x" * 64, "é"])
    def test_a_name_is_part_of_no_path(self, name: str) -> None:
        with pytest.raises(WorkloadInvalid):
            load(volumes=[self.volume | {"name": name}])

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"volumes": [volume, volume | {"path": "/b"}]}, "one is named twice"),
            ({"volumes": [volume, volume | {"name": "b", "path": "/models/b"}]}, "lies inside"),
            ({"volumes": [volume], "datasets": [{"cid": CID, "path": "/models/d"}]}, "lies inside"),
            (
                {"volumes": [volume], "outputs": [{"path": "/models/out", "public": True}]},
                "outputs and volumes",
            ),
            ({"volumes": [volume | {"path": "/etc/x"}]}, "belongs to the system"),
            (
                {"volumes": [volume], "code": {"digest": "ab" * 32, "path": "/models/code"}},
                "code: /models/code lies in the volume at /models",
            ),
            ({"volumes": [volume | {"size": 1 << 20}]}, "size"),
            ({"volumes": [volume | {"key": "short"}]}, "is not a volume's key"),
            ({"volumes": []}, "volumes"),
        ],
    )
    def test_what_is_refused(self, changes: dict[str, Any], said: str) -> None:
        with pytest.raises(WorkloadInvalid, match=said):
            load(**changes)

    def test_none_is_sealed_without_a_key(self) -> None:
        with pytest.raises(WorkloadInvalid, match="models has no key"):
            seal(load(volumes=[self.volume | {"key": None}]), RECIPIENT)

    def test_a_key_is_the_same_by_whatever_v_a_wallet_writes(self) -> None:
        signature = bytes(range(65))
        assert volume_key(signature) == volume_key(signature[:64] + b"\x1b") != volume_key(bytes(65))
        load(volumes=[self.volume | {"key": volume_key(signature)}])


class TestCheckpoint:
    def test_what_is_left_out_of_it(self) -> None:
        checkpoint = load(checkpoint={}).checkpoint
        assert checkpoint is not None
        assert (checkpoint.path, checkpoint.interval, checkpoint.timeout) == ("/checkpoint", 600, 60)
        assert (checkpoint.command, checkpoint.source, checkpoint.name) == (None, None, "checkpoint")
        assert load().restored_from(CID) == load()
        restored = load(checkpoint={"interval": "10m"}).restored_from(CID).checkpoint
        assert restored is not None
        assert restored.source == CID

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"checkpoint": {"interval": 9}}, "interval"),
            ({"checkpoint": {"interval": "25h"}}, "interval"),
            ({"checkpoint": {"timeout": 601}}, "timeout"),
            ({"checkpoint": {"command": []}}, "command"),
            ({"checkpoint": {"size": "16MiB"}}, "size"),
            ({"checkpoint": {"name": ".mine"}}, "name"),
            ({"checkpoint": {"key": "ab"}}, "key"),
            ({"checkpoint": {"path": "/etc/keys"}}, "belongs to the system"),
            ({"checkpoint": {"source": "here"}}, "is not a CID"),
            ({"checkpoint": {"path": "/d/c"}, "datasets": [{"cid": CID, "path": "/d"}]}, "lies inside"),
            ({"checkpoint": {"path": "/v"}, "volumes": [{"name": "v", "path": "/v"}]}, "lies inside"),
            ({"checkpoint": {}, "outputs": [{"path": "/checkpoint/model"}]}, "lies inside"),
            (
                {"checkpoint": {}, "code": {"digest": "00" * 32, "path": "/checkpoint"}},
                "lies in the checkpoint",
            ),
        ],
    )
    def test_what_is_refused(self, fields: dict[str, Any], problem: str) -> None:
        with pytest.raises(WorkloadInvalid, match=problem):
            load(**fields)
