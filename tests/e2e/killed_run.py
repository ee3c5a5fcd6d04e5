"""`leasehold` that is killed at its MOMENT-th moment: before and after each note of a run or of a guard, as a
transaction is signed and not sent yet, and as it is mined and nobody knows.

    MOMENT=3 python killed_run.py run …

Without that many moments it ends as it would.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping

from leasehold.chain import Receipt
from leasehold.cli import main
from leasehold.client import _connect
from leasehold.home import GuardNotes, Remembered, RunRecord, Runs

_left = int(os.environ["MOMENT"])
_note = GuardNotes.keep
_keep, _sign, _send = Runs.keep, _connect._Observed.sign_transaction, _connect._Counting.send


def moment() -> None:
    global _left
    _left -= 1
    if _left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def keep(runs: Runs, record: RunRecord) -> None:
    moment()
    _keep(runs, record)
    moment()


def note(notes: GuardNotes, remembered: Remembered) -> None:
    moment()
    _note(notes, remembered)
    moment()


async def sign_transaction(
    observed: _connect._Observed, transaction: Mapping[str, int | str | bytes]
) -> bytes:
    raw = await _sign(observed, transaction)
    moment()
    return raw


async def send(counting: _connect._Counting, to: str, data: bytes = b"", value: int = 0) -> Receipt:
    receipt = await _send(counting, to, data, value)
    moment()
    return receipt


Runs.keep = keep  # type: ignore[method-assign]
GuardNotes.keep = note  # type: ignore[method-assign]
_connect._Observed.sign_transaction = sign_transaction  # type: ignore[method-assign]
_connect._Counting.send = send  # type: ignore[method-assign]
sys.argv[0] = "leasehold"
main()
