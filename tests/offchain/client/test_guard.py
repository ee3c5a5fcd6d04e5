"""A guard over a real chain, by the library alone: operators act by hand, and no agent answers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import leasehold
from devnet.patience import patient
from devnet.pool import PoolChain
from leasehold import Rent, Run
from leasehold.chain import Challenged, Event, Lease, LeaseExtended, LeaseOpened, LeaseState, decode_log
from leasehold.client import AllowDelegate, Deposit, Extended, PoolClient, _keeping
from leasehold.guard import Guard, GuardDeposed, GuardLooked, GuardSettings
from leasehold.guarding import NotDelivered, _looking
from leasehold.guarding._acting import Performer
from leasehold.guarding._deeds import Deed, GuardDo
from leasehold.provider import AskedTerms, Join
from leasehold.runs import Word

from .conftest import Opening, described

RENTER, PROVIDER, OPERATOR, OTHER_PROVIDER, OTHER_OPERATOR, DELEGATE = 1, 2, 3, 4, 5, 6
LEASE = 1 << 16
JOB = {"version": 1, "kind": "batch", "image": "sha256:" + "0" * 64, "egress": "none", "command": ["true"]}
SILENT = {LEASE: (float("-1e6"), 5)}
"""What a guard remembers that has heard nothing for long."""
KEEP = {"by": "1h", "at_most": "3h", "budget": "100"}


@dataclass
class Told:
    """A channel that hears everything, or nothing."""

    name: str = "webhook"
    heard: list[Mapping[str, Any]] = field(default_factory=list)
    away: bool = False
    hangs: bool = False

    async def send(self, alert: Mapping[str, Any]) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.away:
            raise NotDelivered(self.name, "it is away")
        self.heard.append(alert)

    @property
    def kinds(self) -> list[str]:
        return [str(alert["kind"]) for alert in self.heard]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look that finds an agent silent is enough, and what can be settled is looked for each time."""
    monkeypatch.setattr(_looking, "SILENT_LOOKS", 1)
    monkeypatch.setattr(_looking, "SEARCH_EVERY", 0.0)


@pytest.fixture
async def renter(opened: Opening, machine_file: Path, chain: PoolChain) -> PoolClient:
    """Who may pay for the one machine that there is."""
    provider = await opened(PROVIDER)
    terms = AskedTerms(price="1", spot_price="0.5")
    await provider.carry_out(await provider.plan(Join(machine_file, terms)), approve=True)
    await chain.token(RENTER).approve(chain.deployment.controller)
    client = await opened(RENTER)
    client._ipfs = provider._ipfs
    await client.carry_out(Deposit("1000"))
    return client


@pytest.fixture
async def elsewhere(chain: PoolChain, tmp_path: Path, renter: PoolClient) -> AsyncIterator[PoolClient]:
    """The same wallet, from a home that knows nothing of the first."""
    async with leasehold.connect(
        chain.deployment, wallet=chain.signer(RENTER), rpc=chain.anvil.url, home=tmp_path / "elsewhere"
    ) as client:
        client._ipfs = renter._ipfs
        yield client


async def rented(chain: PoolChain, renter: PoolClient, **more: Any) -> Lease:
    """A lease for an hour that runs."""
    rent = Rent(
        renter.workload(JOB), seconds=3_600, allow_unverified=True, without_agent=True, wait=False,
        close_when_done=False, **more,
    )  # fmt: skip
    await renter.rent(rent)
    await chain.pool(OPERATOR).start(LEASE, bytes(32))
    return await renter.lease(LEASE)


def settings(**table: Any) -> GuardSettings:
    return GuardSettings.of({"every": 1, "cheaper_by": 0, "silent_after": 1, "end_near": 0, **table})


def events(chain: PoolChain, kind: type[Event]) -> list[Event]:
    query = {"address": chain.deployment.controller, "fromBlock": "0x0", "toBlock": "latest"}
    logs = [decode_log(raw) for raw in chain.anvil.request("eth_getLogs", query)]
    return [event for event in logs if isinstance(event, kind)]


def sent(chain: PoolChain, account: int = RENTER) -> int:
    """How many transactions of the account were mined."""
    return int(chain.anvil.request("eth_getTransactionCount", chain.address(account), "latest"), 16)


def files_held(word: str) -> int:
    """How many files of this process have the word in their names."""
    return sum(word in os.path.realpath(file) for file in Path("/proc/self/fd").glob("*"))


async def looked(guard: Guard) -> GuardLooked:
    async with guard.term_begun():
        return await guard.once()


async def test_it_tells_each_cause_once_and_extends_once(chain: PoolChain, renter: PoolClient) -> None:
    lease, told = await rented(chain, renter), Told()
    guard = Guard(renter, settings(keep={"all": KEEP}), (told,))
    first = await looked(guard)
    assert (first.deeds, told.kinds) == ((), [])
    chain.anvil.advance(lease.end - chain.anvil.timestamp - 600)
    before = sent(chain)
    for _ in range(3):
        guard._recollection.silent = SILENT
        await looked(guard)
    assert (await renter.lease(LEASE)).end == lease.end + 3_600
    assert len(events(chain, LeaseExtended)) == 1
    assert sent(chain) == before + 1
    assert told.kinds.count("acted") == 1
    assert told.kinds.count("outage") == 1  # no agent answers


@pytest.mark.slow
async def test_two_guards_of_one_wallet_in_two_homes_send_one_transaction(
    chain: PoolChain, renter: PoolClient, elsewhere: PoolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither knows of the other, and both have decided before either sends: the account's own count on the chain
    decides between them.
    """
    extend, decided, both = _keeping._extend, list[PoolClient](), asyncio.Event()

    async def extend_late(client: PoolClient, lease: Lease, seconds: int) -> Extended:
        decided.append(client)
        if len(decided) == 2:
            both.set()
        await both.wait()
        return await extend(client, lease, seconds)

    monkeypatch.setattr(_keeping, "_extend", extend_late)
    lease = await rented(chain, renter)
    chain.anvil.advance(lease.end - chain.anvil.timestamp - 600)
    guards = [Guard(client, settings(keep={"all": KEEP})) for client in (renter, elsewhere)]
    before = sent(chain)
    for _ in range(3):
        await asyncio.gather(*map(looked, guards))
    assert (len(events(chain, LeaseExtended)), sent(chain)) == (1, before + 1)
    assert (await renter.lease(LEASE)).end == lease.end + 3_600


@pytest.mark.slow
async def test_what_the_budget_does_not_pay_for_is_not_extended(chain: PoolChain, renter: PoolClient) -> None:
    lease, told = await rented(chain, renter), Told()
    chain.anvil.advance(lease.end - chain.anvil.timestamp - 600)
    before = sent(chain)
    budget = renter.money.exact(lease.deposit)
    await looked(Guard(renter, settings(keep={"all": {**KEEP, "budget": budget}}), (told,)))
    assert (sent(chain), "acted" in told.kinds) == (before, False)


@pytest.mark.slow
async def test_a_silent_machine_is_challenged_proven_and_settled(
    chain: PoolChain, renter: PoolClient
) -> None:
    lease, told = await rented(chain, renter), Told()
    guard = Guard(renter, settings(challenge=True), (told,))
    await looked(guard)
    guard._recollection.silent = SILENT
    for _ in range(2):
        await looked(guard)
    faults = await renter.pool.faults()
    standing = await faults.challenge_of(lease.machine)
    assert standing.challenger.lower() == chain.address(RENTER).lower()
    until = await renter.pool.answer_until(lease.machine, standing.at)
    chain.anvil.advance(until + 1 - chain.anvil.timestamp)
    await looked(guard)
    assert (await renter.pool.machine_of(lease.machine)).down
    assert not (await faults.challenge_of(lease.machine)).at
    guard._recollection.silent = SILENT
    await looked(guard)  # it is down: nobody asks it again
    assert not (await faults.challenge_of(lease.machine)).at
    assert sum("was challenged" in str(alert["said"]) for alert in told.heard) == 1


@pytest.mark.slow
async def test_who_answers_is_not_asked_again_the_same_day(chain: PoolChain, renter: PoolClient) -> None:
    """Whoever is silent to his tenant and answers on the chain would collect bonds."""
    lease = await rented(chain, renter)
    guard = Guard(renter, settings(challenge=True))
    for _ in range(3):
        guard._recollection.silent = SILENT
        await looked(guard)
        faults = await chain.pool(OPERATOR).faults()
        if (await faults.challenge_of(lease.machine)).at:
            await faults.answer(lease.machine)
    receipts = chain.anvil.request(
        "eth_getLogs",
        {"address": (await renter.pool.companions()).faults, "fromBlock": "0x0", "toBlock": "latest"},
    )
    assert sum(isinstance(decode_log(raw), Challenged) for raw in receipts) == 1


@pytest.mark.slow
async def test_a_guard_that_dies_between_note_and_send_leaves_its_alert_to_the_next(
    chain: PoolChain, renter: PoolClient
) -> None:
    await rented(chain, renter)
    hangs, told = Told(hangs=True), Told()
    dying = Guard(renter, settings(), (hangs,))
    dying._recollection.silent = SILENT
    async with dying.term_begun():
        await dying._look()
    assert [entry.alert["kind"] for entry in dying.notes.load().pending] == ["outage"]
    next_ = Guard(renter, settings(), (told,))
    next_._recollection.silent = SILENT
    await looked(next_)
    await looked(next_)
    assert told.kinds == ["outage"]


async def test_a_channel_that_is_away_hinders_no_other(chain: PoolChain, renter: PoolClient) -> None:
    await rented(chain, renter)
    away, told = Told("mail", away=True), Told("webhook")
    guard = Guard(renter, settings(), (away, told))
    guard._recollection.silent = SILENT
    await looked(guard)
    assert told.kinds == ["outage"]
    (waits,) = guard.notes.load().pending
    assert (waits.channel, waits.tries) == ("mail", 1)
    guard.notes.keep(replace(guard.notes.load(), pending=(replace(waits, due=0),)))
    away.away = False
    guard._recollection.silent = SILENT
    await looked(guard)
    assert (away.kinds, told.kinds) == (["outage"], ["outage"])
    assert away.heard[0]["id"] == told.heard[0]["id"]


@pytest.mark.slow
async def test_one_is_at_work_and_another_takes_over(chain: PoolChain, renter: PoolClient) -> None:
    await rented(chain, renter)
    first, second = Guard(renter, settings()), Guard(renter, settings())
    async with first.term_begun():
        async with second.term_begun(waits=False) as begun:
            assert not begun
        with pytest.raises(GuardDeposed):
            await second.once()
        waiting = asyncio.create_task(looked(second))
        await asyncio.sleep(0)
        assert not waiting.done()
    async with asyncio.timeout(patient(30)):
        await waiting
    assert first.notes.load().term == 2


@pytest.mark.slow
async def test_one_whose_lock_was_deleted_stops_before_it_sends(chain: PoolChain, renter: PoolClient) -> None:
    """`rm -r locks`: a second one begins, and the first finds a later term than its own."""
    lease = await rented(chain, renter)
    rules = settings(keep={"all": KEEP})
    first, second = Guard(renter, rules), Guard(renter, rules)
    async with first.term_begun():
        (lock,) = renter.home.path.glob("guard/*.lock")
        lock.unlink()
        chain.anvil.advance(lease.end - chain.anvil.timestamp - 600)
        before = sent(chain)
        async with second.term_begun():
            with pytest.raises(GuardDeposed):
                await first.once()
            assert sent(chain) == before
            await second.once()
    assert sent(chain) == before + 1


@pytest.mark.slow
async def test_a_chain_that_is_away_is_told_once_and_nothing_else_is_over(
    chain: PoolChain, renter: PoolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rented(chain, renter)
    told = Told()
    guard = Guard(renter, settings(), (told,))
    guard._recollection.silent = SILENT
    await looked(guard)
    with monkeypatch.context() as patched:

        async def away(*arguments: object) -> None:
            raise leasehold.errors.RpcUnavailable(("no node",))

        patched.setattr("leasehold.guarding._guard.look", away)
        for _ in range(3):
            assert (await looked(guard)).trouble
    guard._recollection.silent = SILENT
    await looked(guard)
    assert told.kinds == ["outage", "trouble"]


async def test_a_look_alone_changes_nothing(chain: PoolChain, renter: PoolClient) -> None:
    lease = await rented(chain, renter)
    chain.anvil.advance(lease.end - chain.anvil.timestamp - 600)
    before, told = sent(chain), Told()
    guard = Guard(renter, settings(keep={"all": KEEP}), (told,))
    seen = await guard.seen()
    assert [str(deed.do) for deed in seen.deeds] == ["extend"]
    assert (sent(chain), told.heard, guard.notes.load().term) == (before, [], 0)
    assert seen.to_json(renter.money)["deeds"] == [
        {"do": "extend", "lease": "1", "machine": None, "seconds": 3_600, "run": None}
    ]


@pytest.mark.slow
async def test_a_delegate_extends_within_its_cap_and_says_where_that_ends(
    chain: PoolChain, renter: PoolClient, tmp_path: Path
) -> None:
    lease, told = await rented(chain, renter), Told()
    hour = renter.money.exact(lease.hourly)
    await renter.carry_out(AllowDelegate(chain.address(DELEGATE), hour))
    async with AsyncExitStack() as stack:
        acting, plain = [
            await stack.enter_async_context(
                leasehold.connect(
                    chain.deployment,
                    wallet=chain.signer(DELEGATE),
                    rpc=chain.anvil.url,
                    home=tmp_path / "delegate",
                    account=account,
                )
            )
            for account in (chain.address(RENTER), None)
        ]
        guard = Guard(acting, settings(keep={"all": KEEP}), (told,), plain)
        for _ in range(2):
            end = (await renter.lease(LEASE)).end
            chain.anvil.advance(end - chain.anvil.timestamp - 600)
            await looked(guard)
    assert len(events(chain, LeaseExtended)) == 1
    assert (await renter.lease(LEASE)).end == lease.end + 3_600
    assert "escrow-low" in told.kinds
    assert "trouble" not in told.kinds


# ----------------------------------------------------------------------------------------------------------- runs


@pytest.fixture
async def second_machine(opened: Opening, chain: PoolChain, renter: PoolClient, tmp_path: Path) -> None:
    """Another machine, a little dearer."""
    path = tmp_path / "second.json"
    file = await described(chain, path, provider=OTHER_PROVIDER, operator=chain.signer(OTHER_OPERATOR))
    provider = await opened(OTHER_PROVIDER)
    provider._ipfs = renter._ipfs
    terms = AskedTerms(price="1.2", spot_price="0.6")
    await provider.carry_out(await provider.plan(Join(file, terms)), approve=True)


async def begun(renter: PoolClient, tmp_path: Path, **more: Any) -> None:
    """A run that is left to a guard as soon as its lease is open."""
    rent = Rent(
        renter.workload(JOB), seconds=3_600, allow_unverified=True, without_agent=True, share=8, spot=True
    )
    run = Run(rent, "train", tmp_path / "results", **{"recover": True, "budget": "10", **more})
    plan = await renter.plan(run)
    plan.control.say(Word.LEAVE)
    assert (await renter.carry_out(plan)).outcome == "left"


async def taken_back(chain: PoolChain, lease: int, operator: int, provider: int) -> None:
    """The lease starts, its provider gives notice, and it is over."""
    await chain.pool(operator).start(lease, bytes(32))
    await chain.pool(provider).terminate(lease)
    end = (await chain.pool().lease_of(lease)).end
    chain.anvil.advance(end + 1 - chain.anvil.timestamp)
    await chain.pool(provider).close(lease)


@pytest.mark.slow
async def test_a_spot_run_that_was_taken_back_goes_on_elsewhere(
    chain: PoolChain, renter: PoolClient, second_machine: None, tmp_path: Path
) -> None:
    """With nobody there, once, and within the price of the first: at most a quarter more."""
    await begun(renter, tmp_path)
    await taken_back(chain, LEASE, OPERATOR, PROVIDER)
    told = Told()
    guard = Guard(renter, settings(), (told,))
    for _ in range(3):
        await looked(guard)
    opened = [event.lease for event in events(chain, LeaseOpened) if isinstance(event, LeaseOpened)]
    assert len(opened) == 2
    second = await renter.lease(opened[1])
    assert (second.state, second.machine, second.spot) == (LeaseState.OPENED, 2, True)
    assert sum("goes on as lease" in str(alert["said"]) for alert in told.heard) == 1
    record = renter.home.runs(chain.deployment).get("train")
    assert record is not None
    assert [(tried.machine, tried.lease) for tried in record.tries] == [(1, LEASE), (2, opened[1])]


@pytest.mark.slow
async def test_a_thousand_looks_leave_no_more_open_than_one(
    chain: PoolChain, renter: PoolClient, second_machine: None, tmp_path: Path
) -> None:
    """Threads and files: each index that is opened has both."""
    await begun(renter, tmp_path)
    guard, open_, plans = Guard(renter, settings()), list[tuple[int, int]](), len(renter._begun)
    for _ in range(5):
        await looked(guard)
        open_.append((threading.active_count(), files_held("index-")))
    assert open_[-1] == open_[1]
    assert len(renter._begun) == plans
    assert len(guard.quiet._begun) <= 1


@pytest.mark.slow
async def test_two_guards_of_one_home_recover_it_once(
    chain: PoolChain, renter: PoolClient, second_machine: None, tmp_path: Path
) -> None:
    """Even with the lock of their home gone: the run's own, its note and the wallet's turn hold."""
    await begun(renter, tmp_path)
    await taken_back(chain, LEASE, OPERATOR, PROVIDER)
    async with leasehold.connect(
        chain.deployment, wallet=chain.signer(RENTER), rpc=chain.anvil.url, home=renter.home
    ) as again:
        again._ipfs = renter._ipfs
        performers = [Guard(client, settings()) for client in (renter, again)]

        async def perform(guard: Guard) -> None:
            await Performer(guard.quiet, guard.settings).perform(Deed(GuardDo.CARRY, run="train"), None)

        for _ in range(2):
            await asyncio.gather(*map(perform, performers))
    assert len(events(chain, LeaseOpened)) == 2


@pytest.mark.slow
async def test_a_price_that_rose_meanwhile_is_not_paid(
    chain: PoolChain, renter: PoolClient, second_machine: None, opened: Opening, tmp_path: Path
) -> None:
    """The other machine asks more than a quarter more by now: the run waits, and says so once."""
    await begun(renter, tmp_path)
    await taken_back(chain, LEASE, OPERATOR, PROVIDER)
    terms, _ = await chain.pool().terms_of(2, (await chain.pool().machine_of(2)).revision)
    await chain.pool(OTHER_PROVIDER).set_terms(2, replace(terms, spot_price=5 * 10**18))
    told = Told()
    guard = Guard(renter, settings(), (told,))
    for _ in range(3):
        await looked(guard)
    assert len(events(chain, LeaseOpened)) == 1
    assert told.kinds.count("job") == 1
    await chain.pool(OTHER_PROVIDER).set_terms(2, replace(terms, spot_price=4 * 10**17))
    await looked(guard)
    assert len(events(chain, LeaseOpened)) == 2


@pytest.mark.slow
async def test_a_budget_that_is_used_up_ends_it(
    chain: PoolChain, renter: PoolClient, second_machine: None, tmp_path: Path
) -> None:
    await begun(renter, tmp_path, budget="0.5")
    await chain.pool(OPERATOR).start(LEASE, bytes(32))
    chain.anvil.advance(3_500)
    await chain.pool(PROVIDER).terminate(LEASE)
    end = (await renter.lease(LEASE)).end
    chain.anvil.advance(end + 1 - chain.anvil.timestamp)
    await chain.pool(PROVIDER).close(LEASE)
    told = Told()
    await looked(Guard(renter, settings(), (told,)))
    record = renter.home.runs(chain.deployment).get("train")
    assert record is not None
    held = sum(tried.escrow if tried.cost is None else tried.cost for tried in record.tries)
    assert 0 < held <= 5 * 10**17
    assert len(events(chain, LeaseOpened)) == 1


@pytest.mark.slow
async def test_a_reorganisation_that_takes_the_next_lease_back_leaves_one(
    chain: PoolChain, renter: PoolClient, second_machine: None, tmp_path: Path
) -> None:
    """The node forgets it: it is opened anew, and there is never a second."""
    await begun(renter, tmp_path)
    await taken_back(chain, LEASE, OPERATOR, PROVIDER)
    guard = Guard(renter, settings())
    before = sent(chain)
    await looked(guard)
    opened = events(chain, LeaseOpened)
    assert len(opened) == 2
    chain.anvil.rollback(chain.anvil.block_number - opened[1].log.block_number + 1)
    assert len(events(chain, LeaseOpened)) == 1
    assert sent(chain) == before
    for _ in range(3):
        chain.anvil.mine()
        await looked(guard)
    assert len(events(chain, LeaseOpened)) == 2
    record = renter.home.runs(chain.deployment).get("train")
    assert record is not None
    (live,) = [tried.lease for tried in record.tries if not tried.over]
    assert live is not None
    assert (await renter.lease(live)).state is LeaseState.OPENED


@pytest.mark.slow
@pytest.mark.parametrize("text", ["{", "{}", '{"workload": 3}'])
async def test_a_run_whose_note_was_damaged_is_told_and_stops_no_other(
    chain: PoolChain, renter: PoolClient, second_machine: None, tmp_path: Path, text: str
) -> None:
    lease, told = await rented(chain, renter), Told()
    plan = Run(
        Rent(renter.workload(JOB), seconds=3_600, allow_unverified=True, without_agent=True, share=8, spot=True),
        "train", tmp_path / "results", recover=True, budget="10",
    )  # fmt: skip
    planned = await renter.plan(plan)
    planned.control.say(Word.LEAVE)
    await renter.carry_out(planned)
    (note,) = renter.home.path.glob("jobs/*/train.json")
    note.write_text(text)
    chain.anvil.advance(lease.end - chain.anvil.timestamp - 600)
    guard = Guard(renter, settings(keep={"all": KEEP}), (told,))
    await looked(guard)
    await looked(guard)
    assert (await renter.lease(LEASE)).end > lease.end
    assert told.kinds.count("trouble") == 1
