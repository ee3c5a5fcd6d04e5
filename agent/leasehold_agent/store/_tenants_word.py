"""What a tenant has said of his container while the lease runs on: that it stands still, or begins anew.

A file of its own beside the notes: the API writes it while an action of the loop may be holding those. It is there
before anything is done, so that whoever is started next does the same; and it holds for the workload that it was said
of, until another one is set.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Literal

from leasehold.files import write_private
from leasehold_agent.store._last_read import LastRead

Word = Literal["", "stop", "restart"]
"""Nothing, that it stands still until he wants it otherwise, or that it is stopped once and started again."""
_WORDS: tuple[Word, ...] = ("stop", "restart")


def read_word(file: Path, workload: str) -> Word:
    """What was said of the container of that workload (its digest in hex). What cannot be read was not said."""
    said = _said.of(file)
    return next((word for word in _WORDS if (word, workload) == said), "")


def write_word(file: Path, word: Word, workload: str) -> None:
    """Remember it; an empty one forgets what was said before. Raises OSError."""
    if word:
        write_private(file, json.dumps({"word": word, "workload": workload}).encode())
    else:
        file.unlink(missing_ok=True)


def _read(file: Path) -> tuple[object, object] | None:
    with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        said = json.loads(file.read_text())
        return said["word"], said["workload"]
    return None


_said = LastRead(_read)
