"""Ill cards: how a container hears that a card of its lease is ill, and that it is well again.

While one is, there is a file `health.json` beside `notice.json`, `{"cards": [{"uuid_hash", "cause", "detail"}, …]}`.
After each change of it the container's first process gets SIGURG, which ends no program: whoever did not ask for it
does not notice. What has been told is noted apart, after the signal: one that may not have been sent is sent again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from leasehold.files import replace_file
from leasehold_agent.host import Ailment
from leasehold_agent.store._last_read import LastRead
from leasehold_agent.store._lease_dir import LeaseDir
from leasehold_agent.store._notice import readable_folder

CARD_SIGNAL: Final = "SIGURG"
_NAME: Final = "health.json"
_NOTED: Final = "told-of-cards.json"


def told_of_cards(folder: LeaseDir) -> bytes:
    """What the container has been told; what cannot be read is as good as nothing, and is told again."""
    return _told.of(f"{folder.path}/{_NOTED}")


def words_on(ailments: Mapping[str, Ailment]) -> bytes:
    """What a container should hear, by the SHA-256 of each card's UUID: nothing where all are well."""
    if not ailments:
        return b""
    cards = [{"uuid_hash": card, **asdict(ailments[card])} for card in sorted(ailments)]
    return json.dumps({"cards": cards}, ensure_ascii=False).encode() + b"\n"


def write_card_notice(folder: LeaseDir, words: bytes) -> None:
    """Put the file in place, or take it away. It is there whole or not at all."""
    if words:
        replace_file(readable_folder(folder.told) / _NAME, words, mode=0o644)
        return
    with contextlib.suppress(FileNotFoundError):
        (folder.told / _NAME).unlink()


def note_told_of_cards(folder: LeaseDir, words: bytes) -> None:
    """The container has had its signal."""
    if words:
        replace_file(_noted(folder), words)
    else:
        _noted(folder).unlink(missing_ok=True)


def _noted(folder: LeaseDir) -> Path:
    return folder.path / _NOTED


def _read(file: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return file.read_bytes()
    return b""


_told = LastRead(_read)
