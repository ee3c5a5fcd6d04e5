"""Which images this host's owner lets run here, by their names.

Patterns have `*` for any number of characters, slashes too, and `?` for one. They are held against the name in its
full form, so that nobody comes past by another spelling: `docker.io/library/debian`, and again with `@sha256:…` behind;
`ipfs:<CID>`; `sha256:<id>`. Where there is a list of what is allowed, what is not on it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from leasehold.images import registry_of, repository_of
from leasehold_agent._errors import Declined


@dataclass(frozen=True)
class ImageRules:
    """No list of what is allowed means that all is which is not denied."""

    allow: Sequence[str] = ()
    deny: Sequence[str] = ()

    def check(self, image: str) -> None:
        """Raises Declined("unsupported")."""
        names = spellings(image)
        if _any(names, self.deny):
            raise Declined("unsupported", f"image: this host's owner does not run {names[0]}.")
        if self.allow and not _any(names, self.allow):
            raise Declined("unsupported", f"image: this host's owner runs {', '.join(self.allow)} alone.")


def spellings(image: str) -> tuple[str, ...]:
    """What patterns are held against."""
    if image.startswith(("ipfs:", "sha256:")):
        return (image,)
    _, at, digest = image.partition("@")
    full = f"{registry_of(image)}/{repository_of(image)}"
    return full, f"{full}{at}{digest}"


def _any(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
