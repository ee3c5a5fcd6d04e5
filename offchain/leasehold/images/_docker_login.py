"""The login that `docker login` has left for a registry, in its file or with a program that it names there."""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from leasehold.images._access import Login
from leasehold.images._errors import LoginUnreadable
from leasehold.images._reference import HUB

_MOST: Final = 1 << 20
_SECONDS: Final = 20.0
_HUB_IS_KEPT_AS: Final = "https://index.docker.io/v1/"
_TOKEN_FOR_NAME: Final = "<token>"  # a name, not a password
_PROGRAM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def docker_login(config: Path, server: str) -> Login | None:
    """The login for `server` by Docker's file `config.json`. May wait for the program that keeps it.

    Raises:
        LoginUnreadable: the file is damaged, or the program failed.
    """
    try:
        with config.open("rb") as file:
            data = orjson.loads(file.read(_MOST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, orjson.JSONDecodeError) as error:
        raise LoginUnreadable(server, f"{config} is damaged or not readable") from error
    if not isinstance(data, dict):
        raise LoginUnreadable(server, f"{config} is damaged or not readable")
    helpers, logins = _table(data, "credHelpers"), _table(data, "auths")
    for key in _keys(server):
        helper = helpers.get(key) or data.get("credsStore")
        if isinstance(helper, str) and helper and (login := _of_program(helper, key, server)) is not None:
            return login
        if isinstance(kept := logins.get(key), dict) and (login := _of_file(kept, server)) is not None:
            return login
    return None


def _keys(server: str) -> Iterator[str]:
    """What the registry is called there, by one version of Docker or another."""
    if server == HUB:
        yield _HUB_IS_KEPT_AS
        yield "index.docker.io"
    yield from (server, f"https://{server}", f"https://{server}/v1/", f"https://{server}/v2/")


def _of_file(kept: Mapping[str, Any], server: str) -> Login | None:
    if isinstance(token := kept.get("identitytoken"), str) and token:
        return Login(server, identity_token=token)
    packed = kept.get("auth")
    if not isinstance(packed, str) or not packed:
        return None
    try:
        username, colon, password = base64.b64decode(packed, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise LoginUnreadable(server, "it is no login of Docker's") from error
    return Login(server, username, password) if colon and username and password else None


def _of_program(helper: str, key: str, server: str) -> Login | None:
    """Of `docker-credential-<helper>`, which says on stdout what it has, and ends badly where it has nothing."""
    if not _PROGRAM.fullmatch(helper):
        raise LoginUnreadable(server, "the program that keeps it has an odd name")
    program = f"docker-credential-{helper}"
    try:
        ran = subprocess.run(
            [program, "get"], input=key.encode(), capture_output=True, timeout=_SECONDS, check=False
        )
        said = orjson.loads(ran.stdout[:_MOST]) if ran.returncode == 0 else {}
    except (OSError, subprocess.TimeoutExpired, orjson.JSONDecodeError) as error:
        raise LoginUnreadable(server, f"{program} did not answer") from error
    username, secret = (said.get(name) for name in ("Username", "Secret"))
    if not isinstance(username, str) or not isinstance(secret, str) or not username or not secret:
        return None
    return (
        Login(server, identity_token=secret)
        if username == _TOKEN_FOR_NAME
        else Login(server, username, secret)
    )


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = data.get(name)
    return table if isinstance(table, dict) else {}
