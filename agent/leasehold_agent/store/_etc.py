"""The three files by which a container knows its own name and its resolvers.

The engine mounts writable ones of its own into every container, from where no disk limit reaches: a tenant could fill
the host's disk through `/etc/hosts`. So they are written in the lease's folder and mounted for reading only. The
resolvers stand in them directly; the engine's own, which asks in the container's stead, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leasehold.files import replace_file

_HOSTS = """127.0.0.1\tlocalhost
127.0.1.1\t{name}
::1\tlocalhost ip6-localhost ip6-loopback
fe00::\tip6-localnet
ff00::\tip6-mcastprefix
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
"""


def write_etc(folder: Path, hostname: str, dns: Sequence[str]) -> list[tuple[Path, str]]:
    """Write the files into `folder`; what to mount, and where."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    files = {
        "hosts": _HOSTS.format(name=hostname),
        "hostname": f"{hostname}\n",
        "resolv.conf": "".join(f"nameserver {server}\n" for server in dns),
    }
    for name, text in files.items():
        replace_file(folder / name, text.encode(), mode=0o644)
    return [(folder / name, f"/etc/{name}") for name in files]
