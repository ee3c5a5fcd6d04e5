"""What a guard remembers: whole, bounded, and no reason to fail where it is damaged; and who of several it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.home import Home, Pending, Remembered, ToldCause
from leasehold.home._guard_notes import MOST_CAUSES, MOST_PENDING

ACCOUNT = "0x" + "aB" * 20


def test_what_was_noted_comes_back(chain: PoolChain, tmp_path: Path) -> None:
    notes = Home(tmp_path).guard_notes(chain.deployment, ACCOUNT)
    assert notes.load() == Remembered()
    whole = Remembered(
        3,
        100,
        {"notice:1": ToldCause(5, 6)},
        (Pending("mail", {"id": "x"}, 5, 1, 7),),
        (1, 2),
        {7: 99},
        4,
        "away",
    )
    notes.keep(whole)
    assert Home(tmp_path).guard_notes(chain.deployment, ACCOUNT.upper().replace("0X", "0x")).load() == whole
    (path,) = tmp_path.glob("guard/*.json")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"term": "x"}', '{"term": 1, "told": 3}'])
def test_a_damaged_one_is_a_guard_that_remembers_nothing(chain: PoolChain, tmp_path: Path, text: str) -> None:
    notes = Home(tmp_path).guard_notes(chain.deployment, ACCOUNT)
    notes.keep(Remembered(term=5))
    (path,) = tmp_path.glob("guard/*.json")
    path.write_text(text)
    assert notes.load() == Remembered()


def test_it_is_bounded(chain: PoolChain, tmp_path: Path) -> None:
    notes = Home(tmp_path).guard_notes(chain.deployment, ACCOUNT)
    told = {f"notice:{number}": ToldCause(number) for number in range(MOST_CAUSES + 5)}
    pending = tuple(Pending("mail", {"id": str(number)}, number) for number in range(MOST_PENDING + 3))
    notes.keep(Remembered(told=told, pending=pending))
    kept = notes.load()
    assert (len(kept.told), len(kept.pending), kept.dropped) == (MOST_CAUSES, MOST_PENDING, 3)
    assert "notice:4" not in kept.told
    assert kept.pending[0].first == 3


def test_one_holds_it_at_a_time(chain: PoolChain, tmp_path: Path) -> None:
    notes, again = (Home(tmp_path).guard_notes(chain.deployment, ACCOUNT) for _ in range(2))
    assert not notes.held
    with notes.hold() as first, again.hold() as second:
        assert (first, second) == (True, False)
        assert again.held
    with again.hold() as free:
        assert free


def test_the_lock_dies_with_its_process(chain: PoolChain, tmp_path: Path) -> None:
    notes = Home(tmp_path).guard_notes(chain.deployment, ACCOUNT)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with notes.hold() as held:
            os.write(writing, b"1" if held else b"0")
            os.kill(os.getpid(), 9)
    assert os.read(reading, 1) == b"1"
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    with notes.hold() as free:
        assert free
