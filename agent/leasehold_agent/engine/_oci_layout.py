"""Which of an OCI layout's blobs make its image (`index.json`, as skopeo, podman and buildx write it).

What is said here was written by a stranger; whoever asks takes what is raised for an archive that cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from leasehold_agent.host import architecture

INDEX: Final = "index.json"
_DEEPEST: Final = 3
_OF_NOTHING: Final = "unknown"
"""What descriptions of how an image was made, which stand beside it, have for a platform."""


def image_of_layout(index: bytes, blobs: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """What `manifest.json` would say of it: one image, for this host's processor. blobs: what is small, by name.

    Raises ValueError, LookupError, TypeError, AttributeError.
    """
    described: Any = json.loads(index)
    for _ in range(_DEEPEST):
        if "manifests" not in described:
            break
        described = json.loads(blobs[_name(_ours(described["manifests"]))])
    return [{"Config": _name(described["config"]), "Layers": [_name(layer) for layer in described["layers"]]}]


def _ours(manifests: Any) -> Any:
    """The one of several that runs here."""
    images = [one for one in manifests if _platform(one).get("architecture") != _OF_NOTHING]
    here = architecture()
    fitting = [
        one
        for one in images
        if _platform(one).get("architecture", here) == here and _platform(one).get("os", "linux") == "linux"
    ]
    if len(fitting) != 1:
        raise ValueError(f"it holds {len(fitting)} images for linux/{here}, not one")
    return fitting[0]


def _platform(described: Any) -> Any:
    return described.get("platform") or {}


def _name(described: Any) -> str:
    algorithm, _, digest = str(described["digest"]).partition(":")
    return f"blobs/{algorithm}/{digest}"
