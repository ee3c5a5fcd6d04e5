"""Operators' statements as the library keeps them, and holds them against a chain."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain, Statement
from leasehold.client import look_at
from leasehold.home import Home
from leasehold.market import StatementInvalid, canonical
from leasehold.market.wire import LeaseStanding, SignedStatement
from leasehold.provider import AskedTerms, Join

from .conftest import Opening

LEASE = 1 << 16
PROVIDER, OPERATOR = 2, 3


async def said(
    chain: PoolChain, signer: LocalSigner, *, block: int | None = None, apart: int = 0, **fields: object
) -> SignedStatement:
    """What an operator signs at the head of the chain, by a clock that is so far from the block's."""
    header = await chain.rpc.header("latest" if block is None else block)
    assert header is not None
    given = {
        "machine": 1, "lease": str(LEASE), "time": header.timestamp + apart, "block": header.number,
        "block_hash": header.hash, "container": "ab" * 32, "state": "running", "started_at": 100, "ended_at": 0,
        "ended_by": "", "exit_code": None, "ends": 0, "kills": 0,
    }  # fmt: skip
    statement = LeaseStanding.model_validate(given | fields).model_dump(mode="json")
    controller, chain_id = chain.deployment.controller, chain.deployment.chain_id
    message = Statement(chain_id, controller, 1, sha256(canonical(statement)).digest(), statement["time"])
    signature = await signer.sign_typed_data(message.typed_data(Domain(chain_id, controller)))
    return SignedStatement(statement=statement, signature="0x" + signature.hex())


async def test_what_counts_of_what_was_signed(chain: PoolChain, opened: Opening, machine_file: Path) -> None:
    """The operator's word, of a block of this chain, by a clock that is right."""
    pool, operator = await opened(PROVIDER), chain.signer(OPERATOR)
    await pool.carry_out(Join(machine_file, AskedTerms("1")), approve=True)
    killed = {"ended_at": 50, "ended_by": "hand", "kills": 1, "ends": 1}
    good = await said(chain, operator, apart=12, **killed)
    view = await look_at(pool, [good])
    assert [(one.by_operator, one.apart, one.counts) for one in view.seen] == [(True, 12, True)]
    assert [(span.from_, span.to) for span in view.owned_up] == [(50, 100)]
    for doubtful in (
        await said(chain, chain.signer(4), **killed),
        await said(chain, operator, apart=-4_000, **killed),
        await said(chain, operator, block_hash="0x" + "ab" * 32, **killed),
        await said(chain, operator, block_hash="", **killed),
        await said(chain, operator, block=1, apart=400, **killed),
    ):
        seen = await look_at(pool, [doubtful])
        assert not seen.seen[0].counts
        assert (seen.owned_up, seen.contradictions) == ((), ())
    future = good.model_copy(update={"statement": {**good.statement, "block": 2**40}})
    assert (await look_at(pool, [future])).seen[0].apart is None
    with pytest.raises(StatementInvalid):
        await look_at(pool, [good.model_copy(update={"signature": "0x"})])


async def test_two_words_of_one_run_are_held_against_each_other(
    chain: PoolChain, opened: Opening, machine_file: Path
) -> None:
    pool, operator = await opened(PROVIDER), chain.signer(OPERATOR)
    await pool.carry_out(Join(machine_file, AskedTerms("1")), approve=True)
    over = {"state": "exited", "ended_at": 110, "ended_by": "command", "exit_code": 0, "ends": 1}
    first = await said(chain, operator, **over)
    chain.anvil.mine(1)
    second = await said(chain, operator)
    view = await look_at(pool, [second, first])
    assert [pair.why for pair in view.contradictions] == ["a run that had ended goes on"]
    assert json.loads(json.dumps(view.to_json()))["contradictions"][0]["lease"] == str(LEASE)


def spoil(home: Path) -> None:
    (file,) = (home / "statements").rglob("*.json")
    file.write_text("{")


async def test_what_is_kept_of_a_lease(chain: PoolChain, tmp_path: Path) -> None:
    """The first and the last of each state; what cannot be read is asked for again, and no other pool's is mixed in."""
    kept, operator = Home(tmp_path).statements(chain.deployment), chain.signer(OPERATOR)
    words = [await said(chain, operator, apart=number) for number in range(5)]
    for word in words:
        held = kept.keep(LEASE, word)
    assert held == kept.of(LEASE) == [words[0], words[4]]
    restarted = await said(chain, operator, apart=9, started_at=200, ends=1)
    assert kept.keep(LEASE, restarted) == [words[0], words[4], restarted]
    assert kept.of(LEASE + 1) == []
    spoil(tmp_path)
    assert kept.keep(LEASE, restarted) == [restarted]
