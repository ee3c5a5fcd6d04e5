"""Reasons for which cells are out of sale: none takes back what another said, and the provider's own word stays his."""

from __future__ import annotations

import json
import multiprocessing
import random
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path

import pytest

from devnet.pool import PoolChain
from leasehold.chain import Machine, MachineStatus, Receipt, Terms
from leasehold.errors import RpcUnavailable
from leasehold_agent.chain import REASONS, OutOfSale, Reason, Withholdings, send_withheld

PROVIDER, OPERATOR = 1, 4
TERMS = Terms(
    price=10**18, spot_price=0, min_duration=60, max_duration=86_400, trial=60, available_until_day=60_000
)
MACHINE = Machine(
    id=7, provider="0xa", operator="0xb", status=MachineStatus.UNVERIFIED, delisted=False, under_staked=False,
    stalled=False, gpus=2, revision=1, params=1, stake=1, busy=0, leased=0, withheld=0, retired_at=0, terms=TERMS,
)  # fmt: skip
LAG = 12
OWN = [reason for reason in REASONS if reason != "provider"]
ALL = (1 << 16) - 1


class Ledger:
    """Stands for the chain: a word that is sent, mined, lost on the way or taken back by a reorganisation."""

    def __init__(self) -> None:
        self.words, self.sent, self.block = [0], 0, 1

    async def machine_of(self, machine: int) -> Machine:
        return replace(MACHINE, withheld=self.words[-1])

    async def withhold(self, machine: int, cells: int) -> Receipt:
        self.sent += 1
        self.words.append(cells)
        return None  # type: ignore[return-value]  # nobody reads it

    def mined(self, blocks: int) -> None:
        self.block += blocks
        self.words = self.words[-1:]


class Lost(Ledger):
    async def withhold(self, machine: int, cells: int) -> Receipt:
        raise RpcUnavailable("gone")


async def told(chain: Ledger, kept: Withholdings) -> int:
    await send_withheld(chain, kept, 7, chain.block, LAG)
    return chain.words[-1]


async def test_what_one_reason_takes_out_of_sale_another_does_not_put_back(tmp_path: Path) -> None:
    chain, kept = Ledger(), Withholdings(tmp_path)
    kept.put(7, "ill", 0b0001)
    kept.put(7, "hours", 0b0111)
    assert await told(chain, kept) == 0b0111
    kept.put(7, "hours", 0)
    assert await told(chain, kept) == 0b0001
    kept.put(7, "ill", 0)
    assert await told(chain, kept) == 0


async def test_nothing_is_sent_where_nothing_changes(tmp_path: Path) -> None:
    chain, kept = Ledger(), Withholdings(tmp_path)
    for _ in range(3):
        kept.put(7, "hours", 0xFF)
        await told(chain, kept)
    kept.put(7, "ill", 0x0F)  # lies in what is out of sale already
    await told(chain, kept)
    assert chain.sent == 1


async def test_a_machine_has_the_cells_it_has(tmp_path: Path) -> None:
    """A reason that names others, as one made for eight cards may, does not have the contract refuse all."""
    chain, kept = Ledger(), Withholdings(tmp_path)
    kept.put(7, "paused", 2**64 - 1)
    assert await told(chain, kept) == ALL


async def test_what_the_provider_said_is_his_to_take_back(tmp_path: Path) -> None:
    chain, kept = Ledger(), Withholdings(tmp_path)
    chain.words.append(0xF000)
    kept.put(7, "hours", 0x00FF)
    assert await told(chain, kept) == 0xF0FF
    chain.mined(LAG)
    kept.put(7, "hours", 0)
    assert await told(chain, kept) == 0xF000
    chain.mined(LAG)
    assert await told(chain, kept) == 0xF000
    kept.put(7, "ill", 1)
    await told(chain, kept)
    chain.words.append(0)  # `provider withhold 7 none`
    assert await told(chain, kept) == 1, "the card is ill all the same"
    kept.put(7, "ill", 0)
    assert await told(chain, kept) == 0


async def test_a_word_that_comes_back_is_nobodys_new_one(tmp_path: Path) -> None:
    """The index is behind, or the block went with its branch: cells that were ours do not become the provider's."""
    chain, kept = Ledger(), Withholdings(tmp_path)
    kept.put(7, "hours", 0xFF)
    await told(chain, kept)
    chain.mined(LAG)
    kept.put(7, "hours", 0)
    await told(chain, kept)
    chain.words.pop()
    assert chain.words == [0xFF]
    assert await told(chain, kept) == 0
    assert kept.known(7).reasons == {}


async def test_a_process_that_dies_between_saying_and_sending(tmp_path: Path) -> None:
    chain, lost, kept = Ledger(), Lost(), Withholdings(tmp_path)
    kept.put(7, "hours", 0xFF)
    await told(chain, kept)
    lost.words = chain.words
    kept.put(7, "hours", 0)
    with pytest.raises(RpcUnavailable):
        await told(lost, kept)
    chain.mined(1_000_000)  # a night later, and nothing was mined
    assert await told(chain, Withholdings(tmp_path)) == 0
    chain.mined(1_000_000)
    assert await told(chain, Withholdings(tmp_path)) == 0


async def test_no_gas_for_it_is_no_word_said(tmp_path: Path) -> None:
    chain, kept = Ledger(), Withholdings(tmp_path)

    async def empty() -> None:
        raise RpcUnavailable("no gas")

    kept.put(7, "hours", 0xFF)
    with pytest.raises(RpcUnavailable):
        await send_withheld(chain, kept, 7, 1, LAG, spare=empty)
    assert chain.sent == 0
    assert [word for word, _ in kept.known(7).said] == [0]


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"reasons": {"ill": 3}, "said": []}', b'{"said": [1]}', b"\xff"]
)
async def test_a_file_that_cannot_be_read_sells_nothing_that_was_out_of_sale(
    tmp_path: Path, raw: bytes
) -> None:
    chain, kept = Ledger(), Withholdings(tmp_path)
    kept.put(7, "ill", 0xFF)
    await told(chain, kept)
    (tmp_path / "7.json").write_bytes(raw)
    assert await told(chain, kept) == 0xFF
    assert kept.known(7).reasons == {"provider": 0xFF}


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    known = OutOfSale({"ill": 2**63, "provider": 1}, ((2**63, 5), (0, 9)))
    kept = Withholdings(tmp_path / "a" / "b")
    kept.change(7, lambda _: known)
    assert kept.known(7) == known
    assert kept.known(8) == OutOfSale()
    assert (tmp_path / "a" / "b" / "7.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((tmp_path / "a" / "b" / "7.json").read_text())["reasons"]["ill"] == hex(2**63)


def _put_often(folder: Path, reason: Reason, cell: int) -> None:
    kept = Withholdings(folder)
    for bit in range(20):
        kept.change(
            7, lambda known, bit=bit: known.put(reason, known.reasons.get(reason, 0) | 1 << (cell + bit))
        )  # type: ignore[misc]


@pytest.mark.slow
def test_a_command_and_the_agent_write_at_once(tmp_path: Path) -> None:
    """Neither loses what the other said."""
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=_put_often, args=(tmp_path, r, c)) for r, c in (("paused", 0), ("ill", 32))
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert Withholdings(tmp_path).known(7).cells == (1 << 20) - 1 | ((1 << 20) - 1) << 32


def either(words: Mapping[str, int]) -> int:
    return reduce(or_, words.values(), 0)


@pytest.mark.parametrize("seed", range(200))
def test_at_rest_the_chain_has_every_reason_and_nothing_else(seed: int) -> None:
    """Words of ours and of the provider's, of which some of ours are lost, and some taken back by a reorganisation."""
    rng = random.Random(seed)
    known, block, wanted, theirs = OutOfSale(), 0, dict[str, int](), 0
    chain = [0]  # words, the last of them in force; those that may still be taken back follow the first

    def look(*, mined: bool) -> None:
        nonlocal known
        known = known.heard(chain[-1], block, LAG)
        if known.cells != chain[-1]:
            known = known.saying(known.cells, block)
            if mined:
                chain.append(known.cells)

    for _ in range(60):
        word = rng.getrandbits(16) & rng.getrandbits(16)
        match rng.choice(("put", "said", "back", "rest", "lost", "mined")):
            case "put":
                reason = rng.choice(OWN)
                wanted[reason] = word
                known = known.put(reason, word)
            case "said" if len(known.said) <= 1 and word != chain[-1]:
                theirs, chain = word & ~either(wanted), [word]
                look(mined=True)
            case "back" if len(chain) > 1:
                chain.pop()
            case "rest":
                block, chain = block + LAG, chain[-1:]
                look(mined=True)
            case "lost":
                look(mined=False)
            case _:
                look(mined=True)
    look(mined=True)
    assert chain[-1] == either(wanted) | theirs
    assert known.reasons.get("provider", 0) == theirs


async def test_on_a_chain(chain: PoolChain, tmp_path: Path) -> None:
    """The operator's key sends; the provider's word beside it; leased cells stay leased."""
    await chain.token(PROVIDER).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 2, 1, bytes(32), bytes(32), chain.address(OPERATOR), consent
    )
    agent, kept = chain.pool(OPERATOR), Withholdings.of(tmp_path, chain.deployment)
    await chain.pool(PROVIDER).withhold(machine, 0xF000)
    kept.put(machine, "hours", 0xFF)
    await send_withheld(agent, kept, machine, chain.anvil.block_number, LAG)
    assert (await agent.machine_of(machine)).withheld == 0xF0FF
    before = chain.anvil.block_number
    await send_withheld(agent, kept, machine, before, LAG)
    assert chain.anvil.block_number == before
    await chain.pool(PROVIDER).withhold(machine, 0)
    await send_withheld(agent, kept, machine, chain.anvil.block_number, LAG)
    assert (await agent.machine_of(machine)).withheld == 0xFF
