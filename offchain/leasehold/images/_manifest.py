"""What registries keep under a tag or a digest: an image, or a list with one for each platform. Strangers write it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

MOST_BYTES: Final = 4 << 20
"""The most that registries have to keep of one manifest."""
ACCEPTED: Final = ", ".join(
    (
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    )
)
_MOST_PARTS: Final = 4_096
_LARGEST: Final = 2**50
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_NOTHING: Final = "unknown"
"""What descriptions of how an image was made, which stand beside it, have for a platform."""
_PLAIN: Final = {"arm64": ("", "v8"), "amd64": ("", "v1")}


class NotAnImage(ValueError):
    """Why a manifest is none that could be used."""


@dataclass(frozen=True)
class ImageManifest:
    """One image. config: the digest by which most engines know it. sizes: its layers by digest, packed bytes."""

    config: str
    sizes: Mapping[str, int]

    @property
    def download(self) -> int:
        """Packed bytes of all layers; one that comes twice is sent once."""
        return sum(self.sizes.values())


@dataclass(frozen=True)
class ImageIndex:
    """A list of images: the digest of each, by its platform."""

    images: tuple[tuple[str, str], ...]

    @property
    def platforms(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(platform for platform, _ in self.images))

    def of(self, platform: str) -> str | None:
        """The digest of the image for a platform such as `linux/amd64`, which of several takes the plainest."""
        return next((digest for name, digest in sorted(self.images, key=_rank) if name == platform), None)


def parse_manifest(body: bytes) -> ImageManifest | ImageIndex:
    """Raises NotAnImage, which says why."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise NotAnImage("it is no JSON") from None
    if not isinstance(data, dict):
        raise NotAnImage("it is no manifest")
    if "fsLayers" in data:
        raise NotAnImage("it is in the first format of 2014, which engines take no more")
    if "manifests" in data and ("layers" in data or "config" in data):
        raise NotAnImage("it is an image and a list of images at once")
    return _index(_parts(data, "manifests")) if "manifests" in data else _image(data)


def _index(parts: Sequence[Mapping[str, Any]]) -> ImageIndex:
    images = tuple((_platform(part), _digest(part)) for part in parts)
    return ImageIndex(tuple(image for image in images if _NOTHING not in image[0]))


def _image(data: Mapping[str, Any]) -> ImageManifest:
    config, layers = data.get("config"), _parts(data, "layers")
    if not isinstance(config, dict):
        raise NotAnImage("it is no manifest")
    return ImageManifest(_digest(config), {_digest(layer): _size(layer) for layer in layers})


def _parts(data: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    parts = data.get(name)
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise NotAnImage("it is no manifest")
    if len(parts) > _MOST_PARTS:
        raise NotAnImage(f"it has more than {_MOST_PARTS} parts")
    return parts


def _platform(part: Mapping[str, Any]) -> str:
    """`os/architecture`, with the variant behind where it is more than the plain one."""
    platform = part.get("platform")
    platform = platform if isinstance(platform, dict) else {}
    system, processor, variant = (platform.get(key, "") for key in ("os", "architecture", "variant"))
    words = (
        [system, processor] if variant in _PLAIN.get(str(processor), ("",)) else [system, processor, variant]
    )
    text = "/".join(str(word) for word in words)
    return text if re.fullmatch(r"[a-z0-9/._-]{3,64}", text) else _NOTHING


def _rank(image: tuple[str, str]) -> int:
    return len(image[0])


def _digest(part: Mapping[str, Any]) -> str:
    digest = part.get("digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise NotAnImage("a part of it has no digest by SHA-256")
    return digest


def _size(part: Mapping[str, Any]) -> int:
    size = part.get("size")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _LARGEST:
        raise NotAnImage("a layer of it has no size")
    return size
