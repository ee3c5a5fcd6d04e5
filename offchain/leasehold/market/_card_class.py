"""What a card is called by everybody: its class, by a rule that anybody can look up, from what the card says of itself.

No provider types it. `docs/reference/hardware.md` has the rule in words, and a table of cards.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_GIB: Final = 1 << 30
NO_NAMES: Final = frozenset(
    (
        *("nvidia", "amd", "corporation", "geforce", "tesla", "quadro", "radeon", "instinct"),
        *("graphics", "gpu", "generation", "edition", "oam"),
    )
)
"""Words of a model's name that tell no two cards apart: makers, brands, and forms in which a card is usual."""
_SIZES_AND_FORMS: Final = re.compile(r"\d+gb?|hbm\d*e?|sxm\d*")
SOLD_WITH: Final = (
    *(1, 2, 3, 4, 6, 8, 10, 11, 12, 16, 20, 22, 24, 32, 40, 48, 64, 80, 94, 96),
    *(128, 141, 144, 180, 186, 192, 256, 288),
)
"""Memory that cards are sold with, in GiB. A card shows a little less: the driver keeps some, ECC a sixteenth."""


@lru_cache(512)  # of a machine's eight cards it is asked for each
def card_class(model: str, memory_bytes: int) -> str:
    """The class of a card, such as `h100-80g` or `rtx-4090-24g`. model: as its driver names it."""
    words = [word for word in re.split(r"[^a-z0-9]+", model.lower()) if word]
    named = [word for word in words if word not in NO_NAMES and not _SIZES_AND_FORMS.fullmatch(word)]
    return "-".join([*(named or ["gpu"]), f"{_gib(memory_bytes)}g"])


def _gib(memory_bytes: int) -> int:
    """The size that such a card is sold with; past the largest of these, whole GiB."""
    shown = memory_bytes / _GIB
    return next((size for size in SOLD_WITH if size >= shown), round(shown))
