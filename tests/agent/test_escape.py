"""Nothing that a tenant leaves, publishes or names changes a file of the host outside the lease's own folders.

Each attack is one row of a table. After each the host's files around are compared with what they were: the state
folder's neighbours, a tree of canaries that the attacks aim at, `/etc` and what lies at the top of `/tmp`.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.types import Mount

from devnet import images
from devnet.engine import Engine as DevEngine
from devnet.images import Image
from devnet.patience import patient
from leasehold.datasets import Budget, TreeWriter, untar
from leasehold.errors import DatasetError, WorkloadError
from leasehold.workload import WorkloadOutput, load_workload
from leasehold_agent._errors import EngineRefused
from leasehold_agent.engine import Engine
from leasehold_agent.engine._image_archive import survey
from leasehold_agent.store import LeaseDir, Notes, collect, readable_folder

NAME = "lht-escape"
LIMIT = 8 << 20
IMAGE = "sha256:" + "a" * 64
CID = "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku"
Host = dict[str, tuple[object, ...]]


class Grounds:
    """A state folder with a lease in it, and around it what nobody may touch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lease = root / "state" / "leases" / "pool" / "65536"
        self.canary = root / "canary"
        for folder in (self.lease, self.canary / "deep" / "er", root / "state" / "datasets", root / "x"):
            folder.mkdir(parents=True)
        for file in ("canary/file", "canary/deep/file", "state/operator.key", "state/datasets/theirs", "x/x"):
            (root / file).write_text("theirs")
        self.before = self.look()

    def look(self) -> Host:
        """All around, but for the lease's own folder."""
        seen: Host = {}
        for top in (self.root, Path("/etc")):
            for path, folders, files in os.walk(top):
                if Path(path) == self.lease:
                    folders.clear()
                    continue
                for name in (*folders, *files):
                    seen[f"{path}/{name}"] = _seen(Path(path, name))
        seen.pop(str(self.lease), None)
        return seen | {f"/tmp/{name}": () for name in os.listdir("/tmp") if not name.startswith("pytest")}

    def changed(self) -> set[str]:
        now = self.look()
        mine = {p for p in self.before.keys() | now.keys() if self.before.get(p) != now.get(p)}
        # Others work on this machine too: of /tmp only what bears a name that an attack writes.
        return {p for p in mine if not p.startswith("/tmp/") or "escaped" in p or str(self.root) in p}


def _seen(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
    if stat.S_ISDIR(status.st_mode):
        return (status.st_mode, status.st_uid)
    return (status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_ino, link)


def harmless(root: Path) -> None:
    """What did come through are files, folders and links that stay, of no special mode and nobody else's."""
    for path, folders, files in os.walk(root):
        for name in (*folders, *files):
            found = Path(path, name)
            status = found.lstat()
            assert stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK), found
            assert status.st_uid == os.getuid()
            if found.is_symlink():
                assert Path(os.path.realpath(found)).is_relative_to(os.path.realpath(root)), found
            else:
                assert not status.st_mode & 0o7022, found


@pytest.fixture
def grounds(tmp_path: Path) -> Grounds:
    return Grounds(tmp_path / "grounds")


# ------------------------------------------------------------------------------------ from inside a container
#
# {at} is the output's path in the container, {host} the canaries' on the host.

LEFT: dict[str, str] = {
    "absolute link to a file": "ln -s {host}/file {at}/l",
    "absolute link to a folder": "ln -s {host} {at}/l",
    "a link to the host's root by proc": "ln -s /proc/1/root {at}/l",
    "a link to this process's root": "ln -s /proc/self/root/etc {at}/l",
    "a link that climbs": "ln -s ../../../../../../../../../../etc/passwd {at}/l",
    "a link that climbs by one": "ln -s .. {at}/l",
    "a link that climbs from below": "mkdir {at}/a; ln -s ../../x {at}/a/l",
    "a link that climbs in its middle": "mkdir -p {at}/a/b; ln -s a/b/../../../x {at}/l",
    "links that lead out together": "ln -s . {at}/a; ln -s a/.. {at}/b; ln -s b/../x {at}/c",
    "a chain of links": "ln -s b {at}/a; ln -s c {at}/b; ln -s {host} {at}/c",
    "a loop of links": "ln -s b {at}/a; ln -s a {at}/b; ln -s self {at}/self",
    "a link longer than a path": "ln -s $(printf 'a/%.0s' $(seq 2000)) {at}/l",
    "a second name of a link": "ln -s {host}/file {at}/l; ln {at}/l {at}/m 2>/dev/null; true",
    "a second name of a file": "echo escaped > {at}/f; ln {at}/f {at}/g; mkdir {at}/d; ln {at}/f {at}/d/h",
    "a second name of what is left out": "mkfifo {at}/a; ln {at}/a {at}/b",
    "a program that runs as root": "cp /bin/busybox {at}/sh; chmod 6755 {at}/sh",
    "a folder for everybody": "chmod 7777 {at}; mkdir {at}/d; chmod 7777 {at}/d; echo > {at}/d/f; chmod 7777 {at}/d/f",
    "another's files": "echo > {at}/f; chown 1000:1000 {at}/f",
    "a pipe": "mkfifo {at}/pipe",
    "a device": "mknod {at}/null c 1 3 || true",
    "a file of holes": "truncate -s 4m {at}/holes",
    "a file larger than all": "truncate -s 1t {at}/holes",
    "a name of two dots and more": "echo > {at}/...; mkdir '{at}/.. '; echo > '{at}/.. /f'; echo > {at}/..a",
    "a name that is an option": "echo > {at}/-rf; echo > {at}/--checkpoint-action=exec=sh",
    "a name with a line's end": "echo > \"{at}/$(printf 'a\\nb')\"",
    "a name that moves the cursor": "echo > \"{at}/$(printf 'a\\033[2Jb\\r')\"",
    "a name that is no text": "echo > \"{at}/$(printf 'a\\377b')\"; mkdir \"{at}/$(printf '\\300\\256')\"",
    "a name as long as may be": "echo > {at}/$(printf 'n%.0s' $(seq 255))",
    "a name with backslashes": "echo > '{at}/..\\..\\escaped'; echo > '{at}/C:\\escaped'",
    "a name that looks like the agent's": "mkdir {at}/.part-x; echo > {at}/taken.json; echo > {at}/notes.json",
    "names of numbers": "mkdir {at}/0 {at}/1; ln -s ../1 {at}/0/1; ln -s /etc {at}/2",
    "what nobody may read": "mkdir {at}/d; echo > {at}/d/f; chmod 0 {at}/d/f {at}/d",
    "deeper than a dataset may be": "cd {at}; for i in $(seq 300); do mkdir d; cd d; done; echo > f",
    "many": "cd {at}; for i in $(seq 2000); do : > $i; done",
    "a link in an output's place": "rmdir {at}; ln -s /etc {at}",
    "a link to another output": "rmdir {at}; ln -s / {at}",
    "a pipe in an output's place": "rmdir {at}; mkfifo {at}",
    "a file in an output's place": "rmdir {at}; echo escaped > {at}",
    "nothing in an output's place": "rmdir {at}",
    "a way that is a link": "mkdir /to; echo > /to/f; rmdir {at}; ln -s /to {at}",
    "a way through proc": "rmdir {at}; ln -s /proc/1/root{host} {at}",
}


@pytest.fixture(scope="module")
def left_behind(
    docker_engine: DevEngine, tiny: Image, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """One container in which each attack has had its folder. Where its canaries will be on the host."""
    host = tmp_path_factory.mktemp("aimed-at") / "grounds" / "canary"
    script = "".join(
        f"(mkdir /o{number}; {attack.format(at=f'/o{number}', host=host)}) 2>&1\n"
        for number, attack in enumerate(LEFT.values())
    )
    with docker_engine.client() as client:
        container = client.containers.create(tiny.id, ["sh", "-c", script], name=NAME, network_mode="none")
        try:
            container.start()
            container.wait(timeout=patient(30))
            yield host.parent
        finally:
            container.remove(force=True)


@pytest.mark.parametrize("attack", LEFT)
async def test_what_a_container_leaves(docker_engine: DevEngine, left_behind: Path, attack: str) -> None:
    """As the output that it is, and once more as one that lies inside another, which no workload may say."""
    number = list(LEFT).index(attack)
    grounds = Grounds(left_behind / str(number))
    engine = Engine(docker_engine.url)
    folder = LeaseDir(grounds.lease.parent, 65536)
    paths = (f"/o{number}", f"/o{number}/l/x", f"/o{number}/f", f"/o{number}/a/l")
    try:
        for _ in range(2):
            await collect(engine, NAME, [WorkloadOutput(path=p) for p in paths], folder.outputs, LIMIT, 0)
            assert grounds.changed() == set()
        harmless(folder.outputs)
        folder.save(Notes())
        folder.remove()
    finally:
        engine.close()
    assert grounds.changed() == set()
    assert not folder.exists


# ------------------------------------------------------------------------------- archives of a stranger's making


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", **more: Any) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    for field, value in more.items():
        setattr(info, field, value)
    return info


def file(name: str, **more: Any) -> tarfile.TarInfo:
    return member(name, size=7, **more)


_LINK, _HARD, _DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
_LONG = "/".join(["d" * 200] * 15)

ARCHIVES: dict[str, Callable[[Path], list[tarfile.TarInfo]]] = {
    "above": lambda _: [file("../escaped")],
    "above and above": lambda _: [file("../../../../../../../../tmp/escaped")],
    "absolute": lambda host: [file(f"{host}/escaped")],
    "absolute over a file": lambda host: [file(f"{host}/file")],
    "two slashes": lambda host: [file(f"/{host}/escaped")],
    "up in the middle": lambda _: [file("a/../../escaped")],
    "up at the end": lambda _: [member("a/..", _DIR), file("a/../../escaped")],
    "a dot": lambda _: [file("./escaped"), member(".", _DIR)],
    "nothing": lambda _: [file("")],
    "an empty part": lambda _: [file("a//escaped")],
    "a name too long": lambda _: [file("n" * 300)],
    "a path too long": lambda _: [file("a/" * 3000 + "x")],
    "a path too deep": lambda _: [file("a/" * 200 + "x")],
    "through a link": lambda host: [member("l", _LINK, str(host)), file("l/escaped")],
    "through a link over a file": lambda host: [member("l", _LINK, str(host)), file("l/file")],
    "through a link that climbs": lambda _: [member("l", _LINK, "../../../canary"), file("l/escaped")],
    "through a link inside": lambda _: [member("d", _DIR), member("l", _LINK, "d"), file("l/f")],
    "through a link to itself": lambda _: [member("l", _LINK, "l"), file("l/f")],
    "a link, then a folder, then a file": lambda host: [
        member("l", _LINK, str(host)),
        member("l", _DIR),
        file("l/escaped"),
    ],
    "a file, then a link in its place": lambda host: [
        file("f"),
        member("f", _LINK, f"{host}/file"),
        file("f"),
    ],
    "a folder, then a link in its place": lambda host: [
        member("d", _DIR),
        member("d", _LINK, str(host)),
        file("d/escaped"),
    ],
    "links whose target does not exist yet": lambda _: [
        member("a", _LINK, "b/c"),
        member("b", _LINK, "."),
        member("c", _LINK, ".."),
        file("a/escaped"),
    ],
    "a link behind a path too long to resolve": lambda host: [
        member(_LONG, _DIR),
        member("short", _LINK, _LONG),
        member(f"{_LONG}/l", _LINK, "../" * 15 + "../" * 8 + str(host)[1:]),
        member("flaglink", _LINK, f"short/l/../../{host}"),
        file("flaglink/escaped"),
        file("short/l/escaped"),
    ],
    "links that lead out together": lambda _: [
        member("a", _LINK, "."),
        member("b", _LINK, "a/.."),
        file("b/escaped"),
    ],
    "a second name of a host's file": lambda host: [member("h", _HARD, f"{host}/file"), file("h")],
    "a second name above": lambda _: [member("h", _HARD, "../../../canary/file"), file("h")],
    "a second name of a link": lambda host: [
        member("l", _LINK, f"{host}/file"),
        member("h", _HARD, "l"),
        file("h"),
    ],
    "a second name through a link": lambda host: [
        member("l", _LINK, str(host)),
        member("h", _HARD, "l/file"),
        file("h"),
    ],
    "a second name of a folder": lambda _: [member("d", _DIR), member("h", _HARD, "d"), file("h/x")],
    "a second name in a link's place": lambda host: [
        file("f"),
        member("l", _LINK, str(host)),
        member("l/escaped", _HARD, "f"),
    ],
    "a second name of itself": lambda _: [member("h", _HARD, "h")],
    "a device": lambda _: [member("null", tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "a disk": lambda _: [member("disk", tarfile.BLKTYPE, devmajor=8)],
    "a pipe": lambda _: [member("pipe", tarfile.FIFOTYPE), file("pipe")],
    "an unknown kind": lambda _: [member("x", b"Z")],
    "a contiguous file": lambda _: [file("c", type=tarfile.CONTTYPE, mode=0o7777)],
    "root's program": lambda _: [file("sh", mode=0o6755, uid=0), member("d", _DIR, mode=0o7777)],
    "another's": lambda _: [file("f", uid=1000, gid=1000, uname="nobody")],
    "a path behind a header": lambda _: [file("fine", pax_headers={"path": "../escaped"})],
    "an absolute path behind a header": lambda host: [file("fine", pax_headers={"path": f"{host}/escaped"})],
    "a target behind a header": lambda host: [
        member("l", _LINK, "fine", pax_headers={"linkpath": str(host)}),
        file("l/escaped"),
    ],
    "a size behind a header": lambda _: [file("f", pax_headers={"size": "99999999999"})],
    "a size below nothing": lambda _: [file("f", pax_headers={"size": "-1"})],
    "holes behind a header": lambda _: [file("f", pax_headers={"GNU.sparse.map": "0,1,9999999,1"})],
    "another's encoding": lambda _: [file("f", pax_headers={"hdrcharset": "BINARY", "path": "../\udcff"})],
    "a name that is no text": lambda _: [file("a\udcff")],
    "a name with zero": lambda _: [file("f", pax_headers={"path": "a\0/../../escaped"})],
    "two names that differ in nothing": lambda _: [file("f"), file("f"), file("./f")],
    "a file as a folder": lambda _: [file("f"), file("f/g")],
    "a folder as a file": lambda _: [member("d", _DIR), file("d")],
}


def archive(members: list[tarfile.TarInfo]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        for each in members:
            tar.addfile(each, io.BytesIO(b"escaped") if each.size else None)
    return out.getvalue()


@pytest.mark.parametrize("lenient", [True, False], ids=["outputs", "dataset"])
@pytest.mark.parametrize("attack", ARCHIVES)
def test_what_an_archive_holds(grounds: Grounds, attack: str, lenient: bool) -> None:
    """As the engine might hand it out of a container, and as a publisher might have sealed it; then once more."""
    data = archive(ARCHIVES[attack](grounds.canary))
    target = grounds.lease / "outputs" / "0"
    for _ in range(2):
        budget = Budget(LIMIT, "the archive")
        with contextlib.suppress(DatasetError), TreeWriter(target, budget) as writer:
            untar(io.BytesIO(data), writer, budget, (lambda _: None) if lenient else None)
        assert grounds.changed() == set()
        harmless(target)


@pytest.mark.parametrize("attack", ["above", "absolute", "through a link", "root's program", "a device"])
async def test_what_an_images_layer_holds(docker_engine: DevEngine, grounds: Grounds, attack: str) -> None:
    """The engine unpacks it, as root; in a container of it the agent then has secrets mounted and makes folders."""
    layer, target = grounds.lease / "layer.tar", grounds.lease / "image.tar"
    folder = LeaseDir(grounds.lease.parent, int(grounds.lease.name))
    layer.write_bytes(archive([*ARCHIVES[attack](grounds.canary), member("run", _LINK, str(grounds.canary))]))
    image = images.archive_of(layer, "leasehold/hostile:1", {"Cmd": [attack]}, target)
    engine = Engine(docker_engine.url)
    with docker_engine.client() as client:
        try:
            with contextlib.suppress(EngineRefused):
                await engine.load_image(survey(target, 1 << 30), "leasehold/ipfs:hostile")
                secrets = Mount(
                    "/run/secrets", str(readable_folder(folder.secrets)), type="bind", read_only=True
                )
                client.containers.create(
                    image, ["sh"], name="lht-hostile", network_mode="none", mounts=[secrets]
                )
                await engine.make_folders("lht-hostile", ["/run/escaped", "/l/escaped"])
                await engine.start("lht-hostile")  # mounted by now, whether there is a shell or not
        finally:
            await engine.remove("lht-hostile")
            engine.close()
            with contextlib.suppress(Exception):
                client.images.remove(image, force=True)
    assert grounds.changed() == set()


# ---------------------------------------------------------------------------------------------------- names

NAMES: dict[str, dict[str, Any]] = {
    "an output inside another": {"outputs": [{"path": p} for p in ("/a", "/a-", "/a/L/x")]},
    "an output above": {"outputs": [{"path": "/a/../../etc"}]},
    "an output that is relative": {"outputs": [{"path": "etc/passwd"}]},
    "an output that is all": {"outputs": [{"path": "//"}]},
    "an output of the system": {"outputs": [{"path": "/proc/1/root/etc"}]},
    "an output with zero": {"outputs": [{"path": "/a\0b"}]},
    "a dataset inside another": {"datasets": [{"cid": CID, "path": p} for p in ("/a", "/a b", "/a/b")]},
    "a dataset over the system": {"datasets": [{"cid": CID, "path": "/etc/ld.so.preload"}]},
    "a dataset over its notice": {"datasets": [{"cid": CID, "path": "/run/leasehold/x"}]},
    "a dataset over its secrets": {"datasets": [{"cid": CID, "path": "/run"}]},
    "a dataset's name that is a path": {"datasets": [{"cid": "../../etc", "path": "/d"}]},
    "a secret's name that is a path": {"secrets": {"../../etc/x": "escaped"}},
    "a secret's name that is absolute": {"secrets": {"/etc/x": "escaped"}},
    "a secret's name that is two dots": {"secrets": {"..": "escaped"}},
    "an image that is an option": {"image": "--privileged@sha256:" + "a" * 64},
    "an image that is a path": {"image": "ipfs:../../../etc/passwd"},
    "a variable that is two": {"env": {"A=B\nC": "x"}},
}


@pytest.mark.parametrize("attack", NAMES)
def test_what_a_workload_names(attack: str) -> None:
    with pytest.raises(WorkloadError):
        load_workload({"version": 1, "image": IMAGE} | NAMES[attack])


def test_the_look_around_sees_what_it_is_for(grounds: Grounds) -> None:
    """Each kind of change that an attack would make is seen: the tests above can fail."""
    for change in (
        lambda: (grounds.canary / "escaped").touch(),
        lambda: (grounds.canary / "file").write_text("theirs"),
        lambda: (grounds.canary / "deep").chmod(0o777),
        lambda: (grounds.root / "state" / "link").symlink_to("/etc"),
        lambda: os.chown(grounds.canary / "deep" / "file", 1000, 1000),
    ):
        before = grounds.changed()
        change()
        assert grounds.changed() > before
