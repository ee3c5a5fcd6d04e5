"""What operators sign of leases: whose word it is, what it owns up to, and which two words cannot both be true."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import pytest

from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain, Statement
from leasehold.market import (
    Span,
    StatementInvalid,
    canonical,
    checked,
    contradictions,
    owned_up,
    read_statements,
    write_statements,
)
from leasehold.market.wire import LeaseStanding, SignedStatement

DOMAIN = Domain(31337, "0x5FbDB2315678afecb367f032d93F642f64180aa3")
OPERATOR, THIEF = (LocalSigner(number.to_bytes(32, "big")) for number in (3, 9))
NOW = 1_800_000_000
CONTAINER = "ab" * 32


def says(time: int, block: int | None = None, **others: object) -> LeaseStanding:
    given = {
        "machine": 7, "lease": str(12 << 16), "time": NOW + time, "block": time if block is None else block,
        "block_hash": "0x" + "cd" * 32, "container": CONTAINER, "state": "running", "started_at": NOW, "ended_at": 0,
        "ended_by": "", "exit_code": None, "ends": 0, "kills": 0,
    }  # fmt: skip
    return LeaseStanding.model_validate(given | others)


def ended(time: int, at: int, **others: object) -> LeaseStanding:
    given: dict[str, object] = {
        "state": "exited",
        "ended_at": NOW + at,
        "ended_by": "command",
        "exit_code": 0,
        "ends": 1,
    }
    return says(time, **(given | others))


async def signed(
    said: LeaseStanding, signer: LocalSigner = OPERATOR, domain: Domain = DOMAIN, **wrong: Any
) -> SignedStatement:
    statement = said.model_dump(mode="json")
    message = Statement(
        domain.chain_id,
        domain.verifying_contract,
        said.machine,
        sha256(canonical(statement)).digest(),
        said.time,
    )
    signature = await signer.sign_typed_data(replace(message, **wrong).typed_data(domain))
    return SignedStatement(statement=statement, signature="0x" + signature.hex())


async def test_whose_word_it_is() -> None:
    good = await signed(says(1))
    assert checked(good, DOMAIN).signer == OPERATOR.address
    assert checked(good, DOMAIN).said == says(1)
    assert checked(await signed(says(1), THIEF), DOMAIN).signer == THIEF.address
    for other in (
        good.model_copy(update={"statement": {**good.statement, "kills": 1}}),
        await signed(says(1), domain=Domain(1, DOMAIN.verifying_contract)),
        await signed(says(1), machine=8),
        await signed(says(1), issued_at=NOW),
    ):
        assert signer_of(other) != OPERATOR.address


def signer_of(signed: SignedStatement) -> str | None:
    """Whose word it is taken for. A signature over other words is, if anything, an unknown key's."""
    try:
        return checked(signed, DOMAIN).signer
    except StatementInvalid:
        return None


@pytest.mark.parametrize(
    "wrong",
    [
        {"statement": {}},
        {"statement": {"kind": "lease"}},
        {"statement": {"kind": "lease", "machine": 2**33}},
        {"signature": "0x"},
        {"signature": "zz"},
        {"signature": "0x" + "00" * 65},
        {"statement": {"kind": "heartbeat", "x": float("nan")}},
    ],
)
async def test_what_is_no_statement(wrong: dict[str, Any]) -> None:
    with pytest.raises(StatementInvalid):
        checked((await signed(says(1))).model_copy(update=wrong), DOMAIN)


async def test_files_of_statements() -> None:
    many = [await signed(says(time)) for time in range(3)]
    assert read_statements(write_statements(many)) == many
    for raw in (
        b"",
        b"[]",
        b'{"statements": [{}]}',
        b"\xff",
        b" " * (1 << 20) + b"{}",
        b'{"statements":' + b"[" * 50_000,
    ):
        with pytest.raises(StatementInvalid):
            read_statements(raw)


def test_what_an_operator_owns_up_to() -> None:
    """A hand on the host had ended it: from its end to its start, or to the last word before that."""
    down = ended(20, 10, ended_by="hand", kills=1, exit_code=137)
    assert owned_up([down]) == [Span(str(12 << 16), NOW + 10, NOW + 20)]
    later = ended(30, 10, ended_by="hand", kills=1, exit_code=137)
    again = says(40, started_at=NOW + 35, ended_at=NOW + 10, ended_by="hand", ends=1, kills=1)
    assert owned_up([later, down]) == [Span(str(12 << 16), NOW + 10, NOW + 30)]
    assert owned_up([down, again, later]) == [Span(str(12 << 16), NOW + 10, NOW + 35)]
    for harmless in (
        ended(20, 10),
        ended(20, 10, ended_by="host"),
        ended(20, 10, ended_by=""),
        says(20),
        says(40, started_at=NOW + 35, ended_at=NOW + 10, ended_by="command"),
        says(40, started_at=NOW + 10, ended_at=NOW + 10, ended_by="hand"),  # within a second
    ):
        assert owned_up([harmless]) == []


def test_words_that_cannot_both_be_true() -> None:
    for earlier, later, why in (
        (ended(20, 10), says(30), "goes on"),
        (ended(20, 10), ended(30, 15), "two ways"),
        (ended(20, 10), ended(30, 10, exit_code=137), "two ways"),
        (says(30), ended(40, 10), "had ended"),
    ):
        for order in ([earlier, later], [later, earlier]):
            (found,) = contradictions(order)
            assert why in found.why
            assert (found.earlier, found.later) == (earlier, later)


def test_words_that_an_honest_host_says() -> None:
    """Whatever the command did; where notes are lost, and where clocks are set."""
    for words in (
        [says(10), says(20), says(30)],
        [says(10), ended(30, 20), ended(40, 20)],
        [ended(30, 20), says(50, started_at=NOW + 45, ends=1)],
        [says(10, ends=3, kills=2), says(20)],  # the state folder was lost
        [says(10, started_at=NOW + 3_600), says(20, started_at=NOW + 15)],  # the clock was an hour ahead
        [ended(30, 20), says(40, container="ef" * 32)],  # made anew for other GPUs
        [ended(30, 20), says(40, lease=str(13 << 16))],
        [ended(30, 20), says(40, machine=8)],
        [says(10, container="", state="none"), says(20)],
        [says(10, state="paused"), says(20)],
        [says(31), ended(40, 28)],  # two looks of one moment
        [says(10, state="dead", started_at=NOW, ended_at=NOW), says(20)],  # ended and begun within a second
    ):
        assert contradictions(words) == []


@dataclass
class Host:
    """A host that says what is so, with a clock that somebody sets now and then. True time goes on by itself."""

    rng: random.Random
    true: float = 0.0
    ahead: int = 0
    run: int = 0
    started: int = 0
    over: tuple[int, int] | None = None

    def clock(self) -> int:
        return int(self.true) + self.ahead

    def step(self) -> None:
        self.true += 1 + self.rng.random() * 20
        kind = self.rng.randrange(5)
        if kind == 0 and self.over is None:
            self.over = (self.clock(), self.rng.choice((0, 1, 137)))
        elif kind == 1 and self.over is not None:
            self.run, self.started, self.over = self.run + 1, self.clock(), None

    def word(self) -> LeaseStanding:
        state = "running" if self.over is None else "exited"
        at, code = self.over or (0, None)
        return says(
            self.clock(), block=int(self.true), state=state, started_at=NOW + self.started,
            ended_at=NOW + at if at else 0, exit_code=code,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_an_honest_host_never_contradicts_itself(seed: int) -> None:
    """Runs and ends at random, asked at random; its clock is right, as `look_at` has it before anything counts."""
    host, words = Host(random.Random(seed)), []
    for _ in range(60):
        host.step()
        words.append(host.word())
    assert contradictions(words) == []
    told = [word for word in words if word.over]
    if told:
        lie = told[0].model_copy(
            update={"state": "running", "time": words[-1].time + 9, "block": words[-1].block + 9}
        )
        assert contradictions([*words, lie])
