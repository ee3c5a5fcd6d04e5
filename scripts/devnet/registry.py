"""A registry of images, with a password or without: Debian's `docker-registry` on the engine's own loopback."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devnet.engine import Engine
from devnet.patience import patient
from devnet.steward import steward

USERNAME, PASSWORD = "acme", "open sesame"
_HTPASSWD = f"{USERNAME}:$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n"
"""Of that password, by bcrypt, which is all that the registry reads."""
_LISTENING = re.compile(r"listening on 127\.0\.0\.1:([0-9]+)")
_CONFIG = """
version: 0.1
log: {{level: info, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}}}
http: {{addr: "127.0.0.1:0"}}
"""
_AUTH = "auth: {{htpasswd: {{realm: tests, path: {folder}/htpasswd}}}}\n"


class RegistryError(RuntimeError):
    """The registry did not come up; the text ends with what it said."""


class Registry:
    """`with Registry(engine) as registry:` It keeps what was pushed in a folder of its own until the block ends.

    server: as it stands in front of an image's name. open_to_all: it asks for no password.
    """

    def __init__(self, engine: Engine, *, open_to_all: bool = False) -> None:
        self._engine, self._open_to_all = engine, open_to_all

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="leasehold-registry-"))
        (self.folder / "htpasswd").write_text(_HTPASSWD)
        config = _CONFIG if self._open_to_all else _CONFIG + _AUTH
        (self.folder / "config.yml").write_text(config.format(folder=self.folder))
        command = self._engine.in_netns("docker-registry", "serve", str(self.folder / "config.yml"))
        with open(self.folder / "log", "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        steward().process(self._process.pid)
        self.port = self._listening()
        self.server = f"127.0.0.1:{self.port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def push(self, local: str, repository: str, tag: str = "1") -> str:
        """Give it an image that the engine has; the reference to pull it by. The engine keeps only what it had."""
        with self._engine.client() as client:
            api: Any = client.api
            name = f"{self.server}/{repository}"
            api.tag(local, name, tag)
            login = {"username": USERNAME, "password": PASSWORD, "serveraddress": self.server}
            said = list(api.push(name, tag, auth_config=login, stream=True, decode=True))
            api.remove_image(f"{name}:{tag}")
        digests = [line["aux"]["Digest"] for line in said if "Digest" in line.get("aux", {})]
        if not digests:
            raise RegistryError(f"{name} was not taken: {said[-1]}")
        return f"{name}@{digests[0]}"

    def docker_config(self) -> str:
        """What `docker login` leaves in a person's home."""
        key = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
        return json.dumps({"auths": {self.server: {"auth": key}}})

    def _listening(self) -> int:
        deadline = time.monotonic() + patient(30)
        while True:
            said = (self.folder / "log").read_text(errors="replace")
            if found := _LISTENING.search(said):
                return int(found[1])
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RegistryError(f"docker-registry did not come up:\n{said[-1000:]}")
            time.sleep(0.02)
