"""The images that demo, tests and benchmarks run, made without an image hub.

`leasehold/base` is Debian with python3 and numpy (by debootstrap), `leasehold/host` Debian with what the agent's
package asks for and nothing of the agent, `leasehold/tiny` busybox alone. All are
kept as archives that `docker load` reads, under `~/.cache/leasehold/images`, named by what they are made
of: a second call only loads, and an archive loads to the same image id on every engine.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import docker

from devnet.patience import patient

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "leasehold" / "images"
DEBIAN = "http://deb.debian.org/debian"
SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python3", "python3-numpy")
HOST_PACKAGES = ("ca-certificates", "nftables", "python3")
# What a container never reads; a third of the size.
_CHAFF = (
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
)
_FORMAT = "2"


class ImageError(RuntimeError):
    """An image could not be made; the text ends with what the tool said."""


@dataclass(frozen=True)
class Image:
    """An image in an archive: `name` is its tag, `id` the engine's "sha256:…", `archive` what `docker load`
    reads.
    """

    name: str
    id: str
    archive: Path


def base(cache: Path = CACHE) -> Image:
    """Debian with python3 and numpy."""
    return _debian(cache, "leasehold/base:1", PACKAGES, {"Cmd": ["python3"]})


def bare_host(cache: Path = CACHE) -> Image:
    """Debian as a host's owner finds it, with what the agent's package depends on."""
    return _debian(cache, "leasehold/host:1", HOST_PACKAGES, {"Cmd": ["bash"]})


def tiny(cache: Path = CACHE) -> Image:
    """busybox, statically linked, and nothing else."""
    binary = shutil.which("busybox")
    if binary is None:
        raise ImageError("busybox is missing: apt-get install busybox-static")
    content = hashlib.sha256(Path(binary).read_bytes()).hexdigest()

    def layer(target: Path) -> None:
        _busybox_layer(Path(binary), target)

    return _cached(cache, "leasehold/tiny:1", content, layer, {"Cmd": ["sh"]})


def load(url: str, image: Image) -> str:
    """Load `image` into the engine at `url` unless it is there. Returns its id."""
    client = docker.DockerClient(base_url=url, timeout=patient(300))
    try:
        if not client.images.list(filters={"reference": image.name}):
            with open(image.archive, "rb") as archive:
                client.images.load(archive)
        return image.id
    finally:
        client.close()


def archive_of(layer: Path, name: str, config: Mapping[str, object], target: Path) -> str:
    """Write `layer` (a tar file) as an image archive to `target`. The id returned depends on content only."""
    with open(layer, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    document = {
        "architecture": "amd64",
        "os": "linux",
        "created": "1970-01-01T00:00:00Z",
        "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], **config},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
        "history": [{"created": "1970-01-01T00:00:00Z"}],
    }
    raw = json.dumps(document, sort_keys=True).encode()
    image_id = hashlib.sha256(raw).hexdigest()
    manifest = [{"Config": f"{image_id}.json", "RepoTags": [name], "Layers": [f"{digest}/layer.tar"]}]
    with tarfile.open(target, "w") as out:
        _add_bytes(out, f"{image_id}.json", raw)
        _add_bytes(out, "manifest.json", json.dumps(manifest).encode())
        out.add(layer, f"{digest}/layer.tar", filter=_plain)
    return f"sha256:{image_id}"


def unpacked(image: Image, target: Path) -> None:
    """The image's files, below `target`, with their owners. Needs root."""
    with tarfile.open(image.archive) as archive:
        (layer,) = (name for name in archive.getnames() if name.endswith("/layer.tar"))
        content = archive.extractfile(layer)
        assert content is not None
        target.mkdir(parents=True, exist_ok=True)
        unpack = ["tar", "--numeric-owner", "--directory", str(target), "--extract"]
        with subprocess.Popen(unpack, stdin=subprocess.PIPE) as tar:
            assert tar.stdin is not None
            shutil.copyfileobj(content, tar.stdin)
            tar.stdin.close()
        if tar.returncode:
            raise ImageError(f"{image.name} could not be unpacked below {target}")


def _debian(cache: Path, name: str, packages: tuple[str, ...], config: Mapping[str, object]) -> Image:
    def layer(target: Path) -> None:
        _debian_layer(packages, target)

    return _cached(cache, name, " ".join((SUITE, *packages)), layer, config)


def _cached(
    cache: Path, name: str, content: str, make_layer: Callable[[Path], None], config: Mapping[str, object]
) -> Image:
    key = hashlib.sha256("\0".join((_FORMAT, name, content, json.dumps(config))).encode()).hexdigest()[:16]
    stem = name.replace("/", "-").replace(":", "-")
    archive, note = cache / f"{stem}-{key}.tar", cache / f"{stem}-{key}.json"
    if not (archive.exists() and note.exists()):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".making-") as folder:
            layer, made = Path(folder, "layer.tar"), Path(folder, "image.tar")
            make_layer(layer)
            image_id = archive_of(layer, name, config, made)
            made.replace(archive)
            note.write_text(json.dumps({"name": name, "id": image_id, "content": content}))
    return Image(name, str(json.loads(note.read_text())["id"]), archive)


def _busybox_layer(binary: Path, target: Path) -> None:
    applets = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True).stdout.split()
    with tarfile.open(target, "w") as out:
        for folder in ("bin", "etc", "root", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            out.addfile(entry)
        _add_bytes(out, "bin/busybox", binary.read_bytes(), 0o755)
        for applet in sorted(set(applets) - {"busybox"}):
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, "busybox", 0o777
            out.addfile(entry)
        _add_bytes(out, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        _add_bytes(out, "etc/group", b"root:x:0:\n")


def _debian_layer(packages: tuple[str, ...], target: Path) -> None:
    if shutil.which("debootstrap") is None:
        raise ImageError("debootstrap is missing: apt-get install debootstrap")
    with tempfile.TemporaryDirectory(prefix="leasehold-debian-") as folder:
        root = Path(folder, "root")
        made = subprocess.run(
            [
                # It mounts /proc in there: cut off, it must leave nothing mounted in what is then removed.
                *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
                "debootstrap",
                "--variant=minbase",
                f"--include={','.join(packages)}",
                SUITE,
                str(root),
                _mirror(),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            raise ImageError(f"debootstrap failed: {made.stdout[-1500:]}{made.stderr[-500:]}")
        for chaff in _CHAFF:
            shutil.rmtree(root / chaff, ignore_errors=True)
        pack = ["tar", "--numeric-owner", "--sort=name", "--mtime=@0", "--directory", str(root), "--create"]
        subprocess.run([*pack, "--file", str(target), "."], check=True)


def _mirror() -> str:
    """The Debian mirror that this host already uses, else the public one."""
    for source in sorted(Path("/etc/apt").glob("sources.list*/*.sources")):
        for line in source.read_text().splitlines():
            field, _, value = line.partition(":")
            if field.lower() == "uris" and value.strip().rstrip("/").endswith("/debian"):
                return value.split()[0]
    return DEBIAN


def _add_bytes(out: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    out.addfile(entry, io.BytesIO(data))


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
    return entry
