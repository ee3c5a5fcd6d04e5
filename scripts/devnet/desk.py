"""Where somebody sits who follows a document: a folder like the checkout, and terminals in it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from devnet.live import live_environment
from devnet.nursery import Nursery
from devnet.service import PLACE, put_stand_ins, stop
from devnet.terminal import Terminal
from devnet.world import Host, Party

ROOT = Path(__file__).resolve().parents[2]
_LIKE_THE_CHECKOUT = ("agent", "docs", "scripts")


class Desk:
    """A new `folder` with what the checkout has that documents name. Commands begin in the nursery.

    folder: where the terminals begin. commands: where `leasehold` and `leasehold-agent` are.
    """

    def __init__(self, folder: Path, nursery: Nursery) -> None:
        self.folder, self.commands = folder / "leasehold", folder / "bin"
        self._typed = folder / "typed"
        for made in (self.folder / "build", self.commands, self._typed):
            made.mkdir(parents=True)
        for name in _LIKE_THE_CHECKOUT:
            (self.folder / name).symlink_to(ROOT / name)
        nursery.put_scripts(self.commands)

    def terminal(self, name: str, environment: Mapping[str, str]) -> Terminal:
        """A terminal with that environment."""
        path = f"{self.commands}:{os.environ['PATH']}"
        return Terminal({**environment, "PATH": path}, self.folder, self._typed / name)

    def of(self, party: Party) -> Terminal:
        """A terminal of somebody who has made their settings."""
        return self.terminal(party.name, party.environment)

    def of_newcomer(self, party: Party, host: Host, image: str) -> Terminal:
        """A terminal of somebody whose settings lie in `build/live.env`, as `make demo-live alone=yes` makes it."""
        (self.folder / "build/live.env").write_text(live_environment(party, host, image, self.commands))
        settings = [name for name in party.environment if name.startswith("LEASEHOLD_")]
        kept = {name: value for name, value in party.environment.items() if name not in settings}
        return self.terminal(party.name, kept)

    @contextlib.contextmanager
    def of_host(self, host: Host, more: Mapping[str, str], *left: str) -> Iterator[Terminal]:
        """A terminal of root on a host, whose `/etc` and `/usr/local/bin` are its own; its service ends at the end.

        more: what stands in its environment beside the host's settings. left: settings that are not there, since its
        owner writes them into `/etc/leasehold/agent.toml`.
        """
        place = host.folder / "root"
        shutil.copytree("/etc", place / "etc", symlinks=True)
        for made in ("bin", "units", "etc/systemd/system"):
            (place / made).mkdir(parents=True, exist_ok=True)
        (place / "bin/leasehold-agent").symlink_to(self.commands / "leasehold-agent")
        put_stand_ins(place / "bin")
        mounts = f"mount --bind {place}/etc /etc && mount --bind {place}/bin /usr/local/bin"
        around = ("unshare", "--mount", "sh", "-c", f'{mounts} && exec "$@"', "sh")
        kept = {key: value for key, value in host.environment.items() if key not in left}
        path = f"/usr/local/bin:{os.environ['PATH']}"
        environment = {**kept, **more, "PATH": path, PLACE: str(place / "units")}
        try:
            yield Terminal(environment, self.folder, self._typed / host.name, around)
        finally:
            stop(place / "units", "leasehold-agent")
