"""The companions' bindings against a real pool: each story once, and the index says what the contracts say."""

from pathlib import Path

import pytest
from eth_utils.crypto import keccak

from devnet.pool import PoolChain
from leasehold.chain import (
    AccountsContract,
    FaultKind,
    FaultState,
    Indexer,
    LeaseState,
    Lens,
    MachineStatus,
    OutageApplied,
    RoundState,
    backup_digest,
    commitment,
    decode_calls,
)
from leasehold.chain._contract import first_event
from leasehold.chain.typed import AcceptTransfer, Answer, Domain, Execute, Offer, Outage, Recover, sign
from leasehold.errors import (
    AppealOpen,
    CapExceeded,
    MachineDown,
    NoQuorum,
    NotAuthorized,
    NothingForQuorum,
    OfferUsed,
    ScopeExceeded,
    Unlicensed,
    WrongFaultState,
    WrongSignature,
)

from .indexing import (
    HOUR,
    OPERATOR,
    OTHER,
    PROVIDER,
    RENTER,
    UNIT,
    approve_all,
    check_against_chain,
    index_to_head,
    register,
    url_of,
    wants,
)

DAY = 24 * HOUR
VALIDATORS = (5, 6, 7, 8, 9)
SPEC, SALT = b"s" * 32, b"z" * 32


def domain(chain: PoolChain) -> Domain:
    return Domain(chain.deployment.chain_id, chain.deployment.controller)


def accounts_domain(chain: PoolChain) -> Domain:
    return Domain(chain.deployment.chain_id, chain.deployment.accounts)


async def credit(chain: PoolChain, *people: int, amount: int = 2_000 * UNIT) -> None:
    for person in people:
        await chain.token(person).approve(chain.deployment.controller)
        await chain.pool(person).deposit(chain.address(person), amount)


async def running_lease(chain: PoolChain, **changes: object) -> tuple[int, int]:
    machine = await register(chain)
    lease, _ = await chain.pool(RENTER).open(wants(machine, **changes))
    await chain.pool(OPERATOR).start(lease, bytes(32))
    return machine, lease


async def indexed(chain: PoolChain, folder: Path) -> Indexer:
    """The index at the head, which agrees with the chain. The caller closes it."""
    index = Indexer(url_of(folder / "index.db"), chain.deployment)
    await index.open()
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    return index


async def take_seats(chain: PoolChain) -> list[int]:
    await credit(chain, *VALIDATORS)
    seats = [(await (await chain.pool(each).committee()).join(1))[0] for each in VALIDATORS]
    chain.anvil.advance(3 * DAY + 1)
    chain.anvil.mine(1)
    return seats


@pytest.mark.slow
async def test_an_outage_that_the_operator_reports(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, PROVIDER, RENTER)
    machine, lease = await running_lease(chain)
    faults = await chain.pool(OPERATOR).faults()
    fault, _ = await faults.report_outage(machine)
    assert await faults.running_fault(machine) == fault == 1
    down = await chain.pool().machine_of(machine)
    assert down.down
    assert not down.open_for_leases
    with pytest.raises(MachineDown, match="has been down since"):
        await chain.pool(RENTER).open(wants(machine))
    chain.anvil.advance(HOUR)
    await faults.recover(machine)
    seen = await faults.fault_of(fault)
    assert (seen.kind, seen.state, seen.bps) == (FaultKind.SELF_REPORTED, FaultState.FILED, 400)
    receipt = await faults.apply_outage(fault, [lease])
    # A cell of two GPUs' sixteen has a sixteenth of half of what was slashed, for all the time that it was leased.
    assert first_event(faults.events(receipt), OutageApplied).part == seen.amount // 4
    assert (await chain.pool().lease_of(lease)).paused >= HOUR
    await (await chain.pool(PROVIDER).faults()).appeal(fault)
    with pytest.raises(WrongFaultState, match="is appealed,"):
        await (await chain.pool(PROVIDER).faults()).appeal(fault)
    arbiter = await chain.pool(0).faults()
    assert (await chain.pool().params(seen.rules)).arbiter == chain.address(0)
    await arbiter.rule(fault, True)
    with pytest.raises(AppealOpen):  # tenants still register what they lost
        await arbiter.execute(fault)
    chain.anvil.advance((await chain.pool().params(1)).appeal_window + 1)
    await arbiter.execute(fault)
    await arbiter.compensate(fault, [lease])
    window = await faults.window_of(machine)
    assert (window.charged_bps, window.downtime >= HOUR) == (400, True)
    assert await faults.slashed_of(chain.address(PROVIDER)) > 0
    index = await indexed(chain, tmp_path)
    (loss,) = await index.losses(tenant=chain.address(RENTER))
    assert loss.amount > 0
    assert await faults.controller() == chain.deployment.controller
    await index.aclose()


@pytest.mark.slow
async def test_challenges_answered_and_not(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, PROVIDER, RENTER)
    machine, lease = await running_lease(chain)
    tenant, anyone = await chain.pool(RENTER).faults(), await chain.pool(OTHER).faults()
    bond = await tenant.bond_of(machine, chain.address(RENTER))
    first, _ = await tenant.challenge(machine, lease)
    standing = await tenant.challenge_of(machine)
    assert (standing.id, standing.bond, standing.challenger) == (first, bond, chain.address(RENTER))
    issued = chain.anvil.timestamp
    word = Answer(chain.address(OPERATOR), machine, first, issued)
    proof = await sign(word, domain(chain), chain.signer(RENTER))
    with pytest.raises(WrongSignature):
        await anyone.answer(machine, issued, proof)
    proof = await sign(word, domain(chain), chain.signer(OPERATOR))
    await anyone.answer(machine, issued, proof)
    assert await tenant.bond_of(machine, chain.address(RENTER)) == 2 * bond
    await tenant.challenge(machine, lease)
    index = await indexed(chain, tmp_path)
    chain.anvil.advance(HOUR)
    fault, _ = await anyone.prove(machine)
    assert (await anyone.fault_of(fault)).kind is FaultKind.CHALLENGED
    issued = chain.anvil.timestamp
    proof = await sign(
        Recover(chain.address(OPERATOR), machine, issued), domain(chain), chain.signer(OPERATOR)
    )
    await anyone.recover(machine, issued, proof)
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    _, second = await index.challenges(machine=machine)
    assert second.fault == fault
    await index.aclose()


@pytest.mark.slow
async def test_a_quorum_attests(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, PROVIDER, RENTER)
    seats = await take_seats(chain)
    machine, lease = await running_lease(chain)
    since = chain.anvil.timestamp
    chain.anvil.advance(HOUR)
    chain.anvil.mine(1)
    committee, faults = await chain.pool(OTHER).committee(), await chain.pool(OTHER).faults()
    proofs = [
        await sign(Outage(chain.address(each), machine, since, 0), domain(chain), chain.signer(each))
        for each in VALIDATORS
    ]
    assert await committee.matured_seats(1) == 5
    with pytest.raises(NoQuorum):
        await faults.attest(machine, since, 0, seats, [proofs[0]] * 5)
    fault, _ = await faults.attest(machine, since, 0, seats, proofs)
    seen = await faults.fault_of(fault)
    assert (seen.kind, seen.state, seen.from_) == (FaultKind.ATTESTED, FaultState.RUNNING, since)
    chain.anvil.advance(HOUR)
    await (await chain.pool(OPERATOR).faults()).recover(machine)
    await faults.apply_outage(fault, [lease])
    chain.anvil.advance(3 * DAY)
    await faults.execute(fault)
    await faults.compensate(fault, [lease])
    index = await indexed(chain, tmp_path)
    record = await index.fault(fault)
    assert record is not None
    assert record.state is FaultState.EXECUTED
    assert record.pot + record.reported + record.rest == record.amount
    signers = await committee.signers(seen.reporter, chain.deployment.block)
    assert signers is not None
    assert [each.seat for each in signers] == seats
    assert await committee.due_of(seen.reporter) == record.reported
    before = await chain.pool().balance_of(chain.address(VALIDATORS[0]))
    await committee.pay_quorum(signers)
    assert await chain.pool().balance_of(chain.address(VALIDATORS[0])) == before + record.reported // 5
    assert await committee.due_of(seen.reporter) == 0
    with pytest.raises(NothingForQuorum):
        await committee.fine_quorum(signers, "0x" + "00" * 20)  # its word stands
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    await index.aclose()


@pytest.mark.slow
async def test_a_machine_is_verified(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, PROVIDER)
    seats = await take_seats(chain)
    machine = await register(chain)
    committee = await chain.pool(PROVIDER).committee()
    round_, _ = await committee.request_verification(machine, 1)
    chain.anvil.mine(10)
    await committee.draw(round_)
    assert sorted(await committee.drawn_for(round_)) == seats
    where = (chain.deployment.chain_id, chain.deployment.controller, round_)
    for seat, validator in zip(seats, VALIDATORS, strict=True):
        own = await chain.pool(validator).committee()
        await own.commit(round_, seat, commitment(*where, seat, True, SPEC, 900 + seat, SALT))
    index = await indexed(chain, tmp_path)
    chain.anvil.advance(4 * HOUR)
    for seat, validator in zip(seats, VALIDATORS, strict=True):
        await (await chain.pool(validator).committee()).reveal(round_, seat, True, SPEC, 900 + seat, SALT)
    chain.anvil.advance(2 * HOUR)
    await committee.finalize(round_)
    seen = await committee.round_of(round_)
    assert (seen.state, seen.spec, seen.score) == (RoundState.PASSED, SPEC, 903)
    verified = await chain.pool().machine_of(machine)
    assert verified.status is MachineStatus.VERIFIED
    own = await chain.pool(VALIDATORS[0]).committee()
    await own.leave(seats[0])
    chain.anvil.advance(21 * DAY)
    await own.exit(seats[0])
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    assert [vote.score for vote in await index.votes(round_)] == [901, 902, 903, 904, 905]
    assert (await index.seats())[0].exited
    await index.aclose()


@pytest.mark.slow
async def test_reputation_and_directory(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, PROVIDER, RENTER)
    _, lease = await running_lease(chain)
    chain.anvil.advance(HOUR)
    await chain.pool(RENTER).close(lease)
    reputation = await chain.pool(RENTER).reputation()
    await reputation.rate(lease, 5, keccak(text="quick"))
    assert await reputation.is_rated(lease)
    score = await reputation.score_of(chain.address(PROVIDER))
    assert await reputation.discount_bps_of(chain.address(PROVIDER)) == score * 5
    directory = await chain.pool(OTHER).directory()
    await directory.announce("gateway", b"e" * 32, b"peer")
    await chain.pool(0).set_gated(True)
    with pytest.raises(Unlicensed):
        await register(chain)
    owners = await chain.pool(0).directory()
    await owners.issue_licence(chain.address(PROVIDER), "provider", 0, chain.anvil.timestamp + DAY)
    assert await directory.is_licensed(chain.address(PROVIDER))
    assert (await directory.licence_of(chain.address(PROVIDER), "provider")).seats == 0
    await register(chain)
    with pytest.raises(ValueError, match="more than 32"):
        await directory.licence_of(chain.address(PROVIDER), "x" * 33)
    index = await indexed(chain, tmp_path)
    (rating,) = await index.ratings(provider=chain.address(PROVIDER))
    account = await chain.pool().account_of(chain.address(PROVIDER))
    assert (rating.stars, rating.fee) == (5, account.fees_due)
    assert [service.account for service in await index.services(kind="gateway")] == [chain.address(OTHER)]
    await index.aclose()


@pytest.mark.slow
async def test_a_lease_by_an_offer_moves(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, PROVIDER, RENTER)
    machine, standby = await register(chain), await register(chain)
    now = chain.anvil.timestamp
    offer = Offer(
        chain.address(PROVIDER),
        machine,
        1,
        UNIT,
        16,
        5 * HOUR,
        False,
        chain.address(RENTER),
        1 << 8 | 7,
        now + DAY,
    )
    pool = chain.pool(RENTER)
    assert await pool.offer_digest(offer) == offer.digest(domain(chain))
    proof = await sign(offer, domain(chain), chain.signer(PROVIDER))
    wish = wants(machine, backup=backup_digest(standby, 1, 0, b"v" * 32), duration=5 * HOUR)
    lease, _ = await pool.open_with_offer(wish, offer, proof)
    with pytest.raises(OfferUsed):
        await pool.open_with_offer(wish, offer, proof)
    await chain.pool(PROVIDER).cancel_offers(0, 0b110)
    assert await pool.offers_of(chain.address(PROVIDER), 0) == 0b110
    assert (await pool.lease_of(lease)).price == UNIT
    await chain.pool(OPERATOR).start(lease, bytes(32))
    chain.anvil.advance(HOUR)
    await pool.resize(lease, 4)
    index = await indexed(chain, tmp_path)
    await (await chain.pool(OPERATOR).faults()).report_outage(machine)
    backup, _ = await chain.pool(OTHER).failover(lease, standby, 1, 0, b"v" * 32)
    assert (await pool.lease_of(lease)).state is LeaseState.ENDED
    moved = await pool.lease_of(backup)
    assert (moved.machine, moved.tenant) == (standby, chain.address(RENTER))
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    deadline = chain.anvil.timestamp + HOUR
    accepts = AcceptTransfer(chain.address(OTHER), chain.deployment.controller, backup, deadline)
    accounts = AccountsContract(chain.rpc, chain.deployment.accounts)
    digest = await accounts.accept_transfer_digest(
        chain.address(OTHER), chain.deployment.controller, backup, deadline
    )
    assert digest == accepts.digest(accounts_domain(chain))
    proof = await sign(accepts, accounts_domain(chain), chain.signer(OTHER))
    await pool.transfer_lease(backup, chain.address(OTHER), deadline, proof)
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    old, new = await index.lease(lease), await index.lease(backup)
    assert old is not None
    assert new is not None
    assert old.backup_lease == backup
    assert (new.lease.tenant, new.author) == (chain.address(OTHER), chain.address(RENTER))
    await index.aclose()


@pytest.mark.slow
async def test_delegates(chain: PoolChain, tmp_path: Path) -> None:
    await approve_all(chain)
    await credit(chain, RENTER)
    machine = await register(chain)
    me, student, pool = chain.address(RENTER), chain.address(OTHER), chain.pool()
    own = AccountsContract(chain.rpc, chain.deployment.accounts, chain.sender(RENTER))
    delegated = AccountsContract(chain.rpc, chain.deployment.accounts, chain.sender(OTHER))
    expiry = chain.anvil.timestamp + 60 * DAY
    await own.set_delegate(pool.address, student, 5 * UNIT, 30 * DAY, expiry)
    receipt = await delegated.execute_as_delegate(me, pool.address, pool.encode("open", wants(machine)))
    assert [type(event).__name__ for event in pool.events(receipt)] == ["LeaseOpened"]
    assert (await own.delegation_of(me, pool.address, student)).spent == 4 * UNIT
    with pytest.raises(CapExceeded):
        await delegated.execute_as_delegate(me, pool.address, pool.encode("open", wants(machine)))
    with pytest.raises(ScopeExceeded, match="0xa9059cbb"):
        await delegated.execute_as_delegate(me, pool.address, pool.encode("transfer", student, 1))
    index = await indexed(chain, tmp_path)
    chain.anvil.advance(31 * DAY)
    await delegated.execute_as_delegate(me, pool.address, pool.encode("open", wants(machine, share=4)))
    await index_to_head(chain, index)
    await check_against_chain(chain, index)
    (delegate,) = await index.delegates(account=me)
    assert (delegate.delegate, delegate.spent) == (student, 2 * UNIT)
    await own.set_delegate(pool.address, student, 0, 0, 0)
    await index_to_head(chain, index)
    assert await index.delegates(account=me) == []
    await index.aclose()


async def test_a_group_acts_and_rescues(chain: PoolChain) -> None:
    signers = sorted((PROVIDER, RENTER, OTHER), key=lambda each: chain.address(each).lower())
    addresses = [chain.address(each) for each in signers]
    accounts = AccountsContract(chain.rpc, chain.deployment.accounts, chain.sender(OPERATOR))
    group = await accounts.group_address(2, addresses, SALT)
    pool = chain.pool()
    await chain.token(RENTER).approve(pool.address)
    await chain.pool(RENTER).deposit(group, 10 * UNIT)
    await chain.token(RENTER).transfer(group, 3 * UNIT)
    await accounts.deploy_group(2, addresses, SALT)
    calls = (
        pool.call("transfer", chain.address(OTHER), UNIT),
        accounts.rescue(chain.deployment.token, chain.address(OPERATOR), 3 * UNIT),
    )
    shown = decode_calls(calls, await pool.contracts())
    assert [call.function for call in shown] == ["transfer", "rescue"]
    deadline = chain.anvil.timestamp + HOUR
    nonce = await accounts.nonce_of(group, 7)
    message = Execute(group, calls, nonce, deadline)
    digest = await accounts.execute_digest(group, calls, nonce, deadline)
    assert digest == message.digest(accounts_domain(chain))
    packed = b"\x03" + bytes((2, 3)) + b"".join(bytes.fromhex(a[2:]) for a in addresses) + SALT
    for index, signer in enumerate(signers[:2]):
        signature = await chain.signer(signer).sign_typed_data(message.typed_data(accounts_domain(chain)))
        packed += bytes((index, 1)) + signature
    assert await accounts.is_authorized(group, digest, packed)
    before = await chain.token().balance(chain.address(OPERATOR))
    await accounts.execute(group, calls, nonce, deadline, packed)
    assert await pool.balance_of(group) == 9 * UNIT
    assert await chain.token().balance(chain.address(OPERATOR)) == before + 3 * UNIT


async def test_the_lens_sees_what_the_pool_says(chain: PoolChain) -> None:
    assert chain.deployment.lens is not None
    await approve_all(chain)
    await credit(chain, PROVIDER, RENTER)
    machine, lease = await running_lease(chain)
    pool, lens = chain.pool(), Lens(chain.rpc, chain.deployment.lens)
    powers = await lens.pool(pool.address)
    assert (powers.owner, powers.treasury) == (await pool.owner(), await pool.treasury())
    assert powers.companions == await pool.companions()
    assert (powers.params, powers.proposed) == (await pool.params(1), None)
    assert (powers.machine_count, powers.slot_count, powers.seat_count) == (1, 1, 0)
    await chain.pool(0).propose_params(powers.params)
    changed = await lens.pool(pool.address)
    assert (changed.proposed, changed.proposed_version) == (powers.params, 2)
    (listed,) = await lens.machines(pool.address, 0, 10)
    assert (listed.machine, listed.score) == (await pool.machine_of(machine), 0)
    assert await lens.leases(pool.address, [1]) == [await pool.lease_of(lease)]
    provider = await lens.provider(pool.address, chain.address(PROVIDER))
    assert provider.account == await pool.account_of(chain.address(PROVIDER))
    assert provider.balance == await pool.balance_of(chain.address(PROVIDER))


async def test_nobody_else_may(chain: PoolChain) -> None:
    faults = await chain.pool(OTHER).faults()
    machine = await register_approved(chain)
    with pytest.raises(NotAuthorized):
        await faults.report_outage(machine)


async def register_approved(chain: PoolChain) -> int:
    await approve_all(chain)
    return await register(chain)
