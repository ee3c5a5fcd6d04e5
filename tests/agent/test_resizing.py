"""A lease that gets other cells while its host cannot tell which cards those are: nothing is noted as done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold.workload import digest, load_workload, seal
from leasehold_agent._errors import Declined
from leasehold_agent.cards import LeaseShare
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._changes import Changes
from leasehold_agent.reconciling._leases import LeaseBook
from leasehold_agent.store import Notes

LEASE, BEFORE, AFTER = 65_536, 0x01FF, 0x03FF
WORKLOAD = {"version": 1, "image": "sha256:" + "0" * 64, "command": ["sleep", "600"]}
DESIRED = Desired(LEASE, 1, "0xt", LeaseState.ACTIVE, AFTER, b"", 0, 3_600, 60, "0xt")
WELL = LeaseShare(4.0, 1 << 30, 1 << 30, ("GPU-1",))
LOST = LeaseShare(
    4.0, 1 << 30, 1 << 30, (), problem="GPU 0 does not answer, or is not in this host any more."
)


@dataclass
class Engine:
    """Notes what it is asked."""

    asked: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def ask(*_: object) -> None:
            self.asked.append(name)

        return ask


@dataclass
class OneContainer:
    engine: Engine
    names: Any = field(
        default_factory=lambda: type("Names", (), {"container": lambda _, lease: str(lease)})()
    )


@pytest.fixture
def book(tmp_path: Path) -> LeaseBook:
    """What is noted of a lease whose container was made for one card."""
    identity = new_identity()
    sealed, made = seal(load_workload(WORKLOAD), recipient_of(identity)), LeaseBook(tmp_path, identity)
    folder = made.folder(LEASE)
    folder.save(Notes(tenant="0xt", workload=digest(sealed).hex(), placement=BEFORE, launched=True))
    folder.sealed.write_bytes(sealed)
    return made


@pytest.mark.parametrize("before", [LOST, WELL])
async def test_a_lease_that_grows_while_a_card_is_lost_waits_for_it(
    book: LeaseBook, before: LeaseShare
) -> None:
    """Or it would pay for two cards and compute on one, since its container would count as made for both."""
    engine = Engine()
    changes = Changes(
        cast(Any, None), cast(Any, OneContainer(engine)), book, *(cast(Any, None) for _ in range(6))
    )
    with pytest.raises(Declined, match="does not answer"):
        await changes.resize(DESIRED, before, LOST)
    assert engine.asked == []
    assert book.folder(LEASE).load().placement == BEFORE
    assert not book.folder(LEASE).load().stopped
