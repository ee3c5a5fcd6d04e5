"""Windows in which a host's owner will work on it, announced so that no lease is there by then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

MOST_WINDOWS: Final = 16
LONGEST: Final = 7 * 86_400  # seconds


@dataclass(frozen=True, order=True)
class MaintenanceWindow:
    """From `begins_at` until `ends_at`, unix seconds."""

    begins_at: int
    ends_at: int

    def meets(self, begin: int, end: int) -> bool:
        """Whether some of [begin, end) lies in it."""
        return begin < self.ends_at and self.begins_at < end


def parse_windows(texts: Iterable[str]) -> tuple[MaintenanceWindow, ...]:
    """Windows as they are written, `2026-12-01T02:00Z/2026-12-01T03:30Z`, in order. Raises ValueError."""
    windows = tuple(sorted(_window(text) for text in texts))
    if len(windows) > MOST_WINDOWS:
        raise ValueError(f"{len(windows)} windows are more than the {MOST_WINDOWS} that may be announced")
    return windows


def _window(text: str) -> MaintenanceWindow:
    begin, _, end = text.partition("/")
    window = MaintenanceWindow(_moment(begin, text), _moment(end, text))
    if not 0 < window.ends_at - window.begins_at <= LONGEST:
        raise ValueError(f"'{text}' ends before it begins, or is longer than seven days")
    return window


def _moment(text: str, whole: str) -> int:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"'{whole}' is no window: write its begin and its end, as 2026-12-01T02:00Z/2026-12-01T03:30Z"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
