"""An image's name, read as Docker reads it: which registry, which repository, which tag or digest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from leasehold.images._errors import ImageNameInvalid

HUB: Final = "docker.io"
HUB_SERVES: Final = "registry-1.docker.io"
"""Where Docker Hub answers; its name leads to a web site."""
_SAME: Final = {"index.docker.io": HUB, HUB_SERVES: HUB}
_OFFICIAL: Final = "library/"
_LATEST: Final = "latest"
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_SERVER: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REPOSITORY: Final = re.compile(rf"{_PART}(?:/{_PART})*")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", re.ASCII)
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST: Final = 255


@dataclass(frozen=True)
class ImageReference:
    """registry: `docker.io`, `ghcr.io`, `localhost:5000`. repository: `library/ubuntu`. digest: `sha256:…`, which
    counts where there is a tag as well; with neither it is the tag `latest`.
    """

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    @property
    def name(self) -> str:
        """As people write it, without tag and digest: `ubuntu`, `pytorch/pytorch`, `ghcr.io/acme/train`."""
        if self.registry != HUB:
            return f"{self.registry}/{self.repository}"
        short = self.repository.removeprefix(_OFFICIAL)
        return short if "/" not in short else self.repository

    @property
    def wanted(self) -> str:
        """What its registry is asked for: the digest, or the tag."""
        return self.digest or self.tag or _LATEST

    def at(self, digest: str) -> str:
        """Of this repository the one with that digest, as a workload names it."""
        return f"{self.name}@{digest}"

    def __str__(self) -> str:
        return self.at(self.digest) if self.digest else f"{self.name}:{self.tag or _LATEST}"


def parse_reference(text: str) -> ImageReference:
    """Such as `ubuntu`, `pytorch/pytorch:2.5`, `nvcr.io/nvidia/pytorch:24.10-py3`, `localhost:5000/a/b@sha256:…`.

    Raises:
        ImageNameInvalid: engines and registries would not take it either.
    """
    named, at, digest = text.partition("@")
    registry, path = _split(named)
    folders, slash, last = path.rpartition("/")
    last, colon, tag = last.partition(":")
    repository = _in_full(registry, folders + slash + last)
    well = (
        len(named) <= _LONGEST
        and is_server(registry)
        and _REPOSITORY.fullmatch(repository)
        and (not colon or _TAG.fullmatch(tag))
        and (not at or _DIGEST.fullmatch(digest))
        and not (registry == HUB and not slash and not at and not colon and _is_id(last))
    )
    if not well:
        raise ImageNameInvalid(text[:_LONGEST])
    return ImageReference(registry, repository, tag or None, digest or None)


def registry_of(image: str) -> str:
    """The registry that an engine would ask for `image`, as `host` or `host:port`."""
    return _split(image.partition("@")[0])[0]


def repository_of(image: str) -> str:
    """What that registry calls the repository of `image`, such as `library/debian`, without a tag."""
    registry, path = _split(image.partition("@")[0])
    folders, slash, last = path.rpartition("/")
    return _in_full(registry, folders + slash + last.partition(":")[0])


def server_of(registry: str) -> str:
    """A registry under the one name that its images' references have for it."""
    return _SAME.get(registry.lower(), registry.lower())


def is_server(text: str) -> bool:
    """Whether it is a registry as it stands in front of an image's name, in small letters."""
    return len(text) <= _LONGEST and _SERVER.fullmatch(text) is not None


def _split(named: str) -> tuple[str, str]:
    first, slash, rest = named.partition("/")
    is_registry = slash and ("." in first or ":" in first or first == "localhost" or first != first.lower())
    return (server_of(first), rest) if is_registry else (HUB, named)


def _in_full(registry: str, path: str) -> str:
    return f"{_OFFICIAL}{path}" if registry == HUB and "/" not in path else path


def _is_id(text: str) -> bool:
    """Engines take 64 digits in hexadecimal for an image's id, whatever registries have."""
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None
