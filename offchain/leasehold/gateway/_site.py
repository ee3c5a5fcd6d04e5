"""The dApp's files, read once, at the start: what a caller asks for is looked up among them, and never made a path.

A page that the dApp draws itself has no file: it gets `index.html`. What has a hash in its name never changes. Files
that are shorter packed are packed once, too: a first visit on a slow line waits for little else.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from leasehold.errors import SettingsError
from leasehold.gateway._compressing import takes_gzip
from leasehold.gateway._errors import NothingThere

MOST_BYTES: Final = 64 * 2**20
"""Of all files together, which stay in memory."""
_PACKAGED: Final = Path(__file__).parent / "_dapp"
_INDEX: Final = "index.html"
_HASHED: Final = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+")
_KINDS: Final = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}
_OWN: Final = ("api", "healthz", "readyz", "metrics", "openapi.json")


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file as it is served. packed: by gzip, where that is shorter."""

    body: bytes
    packed: bytes | None
    kind: str
    tag: str
    lasting: bool


def packaged_dapp() -> Path | None:
    """The folder of the dApp's files that came with this package; `None` where it was built without."""
    return _PACKAGED if (_PACKAGED / _INDEX).is_file() else None


def read_site(folder: Path) -> Mapping[str, SiteFile]:
    """The files below a folder by their paths in it; what a link leads to outside of it is left out.

    Raises:
        SettingsError: it has no index.html, or is larger than anything that was built.
    """
    root, files, size = folder.resolve(), dict[str, SiteFile](), 0
    for path in sorted(root.rglob("*")):
        if not path.is_file() or not path.resolve().is_relative_to(root):
            continue
        body = path.read_bytes()
        size += len(body)
        if size > MOST_BYTES:
            raise SettingsError(
                f"The files in {folder} are more than {MOST_BYTES >> 20} MiB", "name the built dApp."
            )
        files[path.relative_to(root).as_posix()] = _file(path, body)
    if _INDEX not in files:
        raise SettingsError(
            f"There is no {_INDEX} in {folder}", "build the dApp, and name the folder of its files."
        )
    return files


def _file(path: Path, body: bytes) -> SiteFile:
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    lasting = "assets" in path.parts[:-1] and _HASHED.fullmatch(path.name) is not None
    packed = gzip.compress(body, mtime=0)
    shorter = packed if len(packed) < len(body) else None
    return SiteFile(body, shorter, kind, sha256(body).hexdigest()[:32], lasting)


def serve_site(app: FastAPI, folder: Path) -> None:
    """Serve the files at `/`, behind everything that the app has."""
    files = read_site(folder)

    @app.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def site(request: Request, path: str) -> Response:
        known = files.get(path)
        if known is None:
            if path.split("/")[0] in _OWN or "." in path.rsplit("/", 1)[-1]:
                raise NothingThere()
            known = files[_INDEX]
        return _answer(request, known)


def _answer(request: Request, known: SiteFile) -> Response:
    lasting = "public, max-age=31536000, immutable" if known.lasting else "no-cache"
    headers, body, tag = {"Cache-Control": lasting}, known.body, known.tag
    if known.packed is not None:
        headers["Vary"] = "Accept-Encoding"
        if takes_gzip(request.headers.getlist("accept-encoding")):
            body, tag = known.packed, f"{tag}-gzip"
            headers["Content-Encoding"] = "gzip"
    headers["ETag"] = f'"{tag}"'
    if request.headers.get("if-none-match") == headers["ETag"]:
        headers.pop("Content-Encoding", None)
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, known.kind)
