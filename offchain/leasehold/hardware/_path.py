"""Derivation paths (BIP-32), as people and the app write them."""

from __future__ import annotations

import re
from typing import Final

from leasehold.hardware._errors import PathUnfit

USUAL_PATH: Final = "m/44'/60'/0'/0/0"
"""Of the first account of Ledger's own software, and of most wallets."""
_HARDENED = 1 << 31
_DEEPEST = 10  # as the app takes them
_STEP = re.compile(r"([0-9]{1,10})(['hH]?)")


def packed_path(path: str) -> bytes:
    """How the app takes it: the number of steps, then each in 4 bytes. Raises PathUnfit."""
    head, *steps = path.split("/")
    if head != "m" or not 1 <= len(steps) <= _DEEPEST:
        raise PathUnfit(path)
    return bytes([len(steps)]) + b"".join(_step(path, step).to_bytes(4, "big") for step in steps)


def _step(path: str, step: str) -> int:
    parts = _STEP.fullmatch(step)
    if parts is None or int(parts[1]) >= _HARDENED:
        raise PathUnfit(path)
    return int(parts[1]) + (_HARDENED if parts[2] else 0)
