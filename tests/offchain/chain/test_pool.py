"""The bindings against a real pool: every function once, what comes back, and what is refused under which name."""

import time

import pytest
from eth_account import Account

from devnet.pool import PoolChain
from leasehold.chain import (
    AccountsContract,
    FactoryContract,
    LeaseRequest,
    LeaseState,
    MachineStatus,
    Pool,
    Terms,
    Token,
    Withdrawn,
)
from leasehold.chain._contract import first_event
from leasehold.errors import (
    ChainError,
    ERC20InsufficientAllowance,
    InvalidProof,
    NotAuthorized,
    PriceTooHigh,
    UnknownLease,
    UnknownMachine,
    WalletError,
    WrongState,
)

UNIT = 10**18
PROVIDER, RENTER, OPERATOR = 1, 2, 4
TERMS = Terms(2 * UNIT, 0, 60, 30 * 86_400, 300, 60_000)


def wants(machine: int, **changes: object) -> LeaseRequest:
    fields: dict[str, object] = {
        "machine": machine,
        "revision": 1,
        "share": 8,
        "duration": 7_200,
        "max_price": 2 * UNIT,
        "workload": b"w" * 32,
        "allow_unverified": True,
    }
    return LeaseRequest(**{**fields, **changes})  # type: ignore[arg-type]  # named above


async def joined(chain: PoolChain) -> int:
    for account in (PROVIDER, RENTER):
        await chain.token(account).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 2, 2, b"h" * 32, b"c" * 32, chain.address(OPERATOR), consent
    )
    return machine


async def test_a_machine_as_it_is_read(chain: PoolChain) -> None:
    machine = await joined(chain)
    pool = chain.pool()
    seen = await pool.machine_of(machine)
    assert (seen.id, seen.provider, seen.operator) == (1, chain.address(PROVIDER), chain.address(OPERATOR))
    assert seen.status is MachineStatus.UNVERIFIED
    assert seen.terms == TERMS
    assert (seen.busy, seen.smallest_share) == (0, 2)
    assert seen.open_for_leases
    assert seen.stake == 2 * (await pool.params(await pool.params_version())).min_stake_per_gpu
    assert await pool.terms_of(machine, 1) == (TERMS, 1)
    assert await pool.machine_count() == 1
    provider = chain.pool(PROVIDER)
    await provider.withhold(machine, 0xFF)
    await provider.set_terms(machine, TERMS)
    await provider.set_hardware(machine, b"H" * 32)
    await provider.set_contact(machine, b"C" * 32)
    await provider.set_operator(machine, chain.address(5), await chain.consent(PROVIDER, chain.signer(5)))
    await provider.add_stake(machine, UNIT)
    await provider.delist(machine)
    changed = await pool.machine_of(machine)
    assert changed.busy == 0xFF
    assert not changed.open_for_leases
    assert (changed.revision, changed.operator, changed.stake) == (3, chain.address(5), seen.stake + UNIT)
    await provider.relist(machine)
    await provider.retire(machine)
    assert (await pool.machine_of(machine)).status is MachineStatus.RETIRED
    chain.anvil.advance(60 * 86_400)
    await provider.unstake(machine)
    assert await pool.balance_of(chain.address(PROVIDER)) == changed.stake


async def test_a_lease_as_it_is_read(chain: PoolChain) -> None:
    machine = await joined(chain)
    pool, renter, operator = chain.pool(), chain.pool(RENTER), chain.pool(OPERATOR)
    lease, receipt = await renter.open(wants(machine))
    assert lease == 1 << 16
    assert receipt.gas_used > 50_000
    opened = await pool.lease_of(lease)
    assert (opened.state, opened.tenant, opened.cells) == (LeaseState.OPENED, chain.address(RENTER), 8)
    assert opened.deposit == 4 * UNIT
    await operator.start(lease, b"e" * 32)
    await renter.extend(lease, 3_600)
    await renter.set_workload(lease, b"x" * 32)
    await operator.publish_result(lease, b"\x01\x55")
    assert (await pool.lease_of(lease)).deposit == 6 * UNIT
    chain.anvil.advance(3_600)
    await chain.pool(PROVIDER).claim([lease])
    await renter.close(lease)
    assert (await pool.lease_of(lease)).state is LeaseState.ENDED
    again, _ = await renter.open(wants(machine, reuse=lease))
    assert again == lease | 1
    await operator.decline(again, "no-disk")
    third, _ = await renter.open(wants(machine))
    await renter.reject(third)
    fourth, _ = await renter.open(wants(machine))
    chain.anvil.advance(3_600)
    await chain.pool(PROVIDER).cancel_unstarted(fourth)
    assert (await pool.machine_of(machine)).stalled
    await operator.recover(machine)
    assert not (await pool.machine_of(machine)).stalled
    fifth, _ = await renter.open(wants(machine))
    await operator.start(fifth, b"e" * 32)
    await chain.pool(PROVIDER).deposit(chain.address(PROVIDER), 5 * UNIT)  # for the penalty
    await chain.pool(PROVIDER).terminate(fifth)
    assert (await pool.lease_of(fifth)).noticed
    account = await pool.account_of(chain.address(PROVIDER))
    assert (account.declined, account.unstarted, account.terminated) == (1, 1, 1)
    assert account.fees_due > 0
    await renter.pull_fees([chain.address(PROVIDER)])
    assert (await pool.account_of(chain.address(PROVIDER))).fees_due == 0
    assert await pool.slot_count() == 4


async def test_the_ledger(chain: PoolChain) -> None:
    await joined(chain)
    renter, me, other = chain.pool(RENTER), chain.address(RENTER), chain.address(6)
    await renter.deposit(me, 10 * UNIT)
    await renter.transfer(other, UNIT)
    receipt = await renter.withdraw(me, 2 * UNIT)
    assert first_event(renter.events(receipt), Withdrawn).balance == 7 * UNIT
    await renter.multicall([Pool.encode("transfer", other, UNIT), Pool.encode("transfer", other, UNIT)])
    assert await renter.balance_of(me) == 5 * UNIT
    assert await renter.balance_of(other) == 3 * UNIT
    with pytest.raises(ChainError, match="left no Withdrawn"):
        first_event([], Withdrawn)


async def test_a_permit_needs_no_approval(chain: PoolChain) -> None:
    token, me, controller = chain.token(RENTER), chain.address(RENTER), chain.deployment.controller
    deadline = int(time.time()) + 10**6
    message = {
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Permit": [
                {"name": "owner", "type": "address"},
                {"name": "spender", "type": "address"},
                {"name": "value", "type": "uint256"},
                {"name": "nonce", "type": "uint256"},
                {"name": "deadline", "type": "uint256"},
            ],
        },
        "primaryType": "Permit",
        "domain": {
            "name": "Test Dollar",
            "version": "1",
            "chainId": chain.deployment.chain_id,
            "verifyingContract": token.address,
        },
        "message": {
            "owner": me,
            "spender": controller,
            "value": UNIT,
            "nonce": await token.nonce(me),
            "deadline": deadline,
        },
    }
    signature = await chain.signer(RENTER).sign_typed_data(message)
    r, s, v = signature[:32], signature[32:64], signature[64]
    await chain.pool(RENTER).deposit_with_permit(me, UNIT, deadline, v, r, s)
    assert await chain.pool().balance_of(me) == UNIT


async def test_the_token(chain: PoolChain) -> None:
    token = chain.token(RENTER)
    assert (await token.symbol(), await token.decimals()) == (
        chain.deployment.token_symbol,
        chain.deployment.token_decimals,
    )
    before = await token.balance(chain.address(RENTER))
    await token.transfer(chain.address(6), UNIT)
    assert await token.balance(chain.address(RENTER)) == before - UNIT
    await token.approve(chain.address(6), 5)
    assert await token.allowance(chain.address(RENTER), chain.address(6)) == 5
    # mstore(0, "MKR"); return(0, 32): an old token, whose symbol is a bytes32
    chain.anvil.request(
        "anvil_setCode", "0x" + "77" * 20, "0x7f" + b"MKR".ljust(32, b"\0").hex() + "5f5260205ff3"
    )
    assert await Token(chain.rpc, "0x" + "77" * 20).symbol() == "MKR"


async def test_the_pool_and_its_owner(chain: PoolChain) -> None:
    pool, owner = chain.pool(), chain.pool(0)
    assert await pool.owner() == chain.address(0)
    assert await pool.token() == chain.deployment.token
    assert await pool.accounts() == chain.deployment.accounts
    params = await pool.params(1)
    await owner.propose_params(params)
    proposed = await pool.proposed_params()
    assert proposed.version == 2
    assert proposed.in_force_at > chain.anvil.timestamp
    await owner.cancel_params()
    assert (await pool.proposed_params()).version == 0
    await owner.set_paused(True)
    assert await pool.paused()
    await owner.set_treasury(chain.address(7))
    assert await pool.treasury() == chain.address(7)
    await owner.transfer_ownership(chain.address(8))
    assert await pool.pending_owner() == chain.address(8)
    await chain.pool(8).accept_ownership()
    assert await pool.owner() == chain.address(8)
    assert len(await pool.extsload([bytes(32), bytes(31) + b"\x01"])) == 2
    assert chain.deployment.controller in repr(pool)


async def test_the_factory(chain: PoolChain) -> None:
    factory = FactoryContract(chain.rpc, chain.deployment.factory, chain.sender(0))
    assert await factory.pools(0, 10) == (chain.deployment.controller,)
    assert await factory.is_pool(chain.deployment.controller)
    assert not await factory.is_pool(chain.deployment.token)
    assert await factory.accounts() == chain.deployment.accounts
    me = chain.address(0)
    await factory.create_pool(chain.deployment.token, me, me, await chain.pool().params(1))
    assert await factory.pool_count() == 2


async def test_acting_for_an_account(chain: PoolChain) -> None:
    await joined(chain)
    me = chain.address(RENTER)
    await chain.pool(RENTER).deposit(me, 5 * UNIT)
    accounts = AccountsContract(chain.rpc, chain.deployment.accounts, chain.sender(6))
    calls = [chain.pool().call("transfer", chain.address(7), UNIT)]
    nonce, deadline = await accounts.nonce_of(me), chain.anvil.timestamp + 600
    digest = await accounts.execute_digest(me, calls, nonce, deadline)
    signed = Account.unsafe_sign_hash(digest, chain.anvil.accounts[RENTER].key)
    proof = b"\x01" + bytes(signed.signature)
    assert await accounts.is_authorized(me, digest, proof)
    assert not await accounts.is_authorized(chain.address(7), digest, proof)
    assert int(await accounts.actor(), 16) == 0
    with pytest.raises(InvalidProof):
        await accounts.execute(me, calls, nonce, deadline, b"\x01" + bytes(65))
    await accounts.execute(me, calls, nonce, deadline, proof)
    assert await chain.pool().balance_of(chain.address(7)) == UNIT
    assert await accounts.nonce_of(me) == nonce + 1


async def test_refusals_have_the_contracts_names(chain: PoolChain) -> None:
    machine = await joined(chain)
    pool, renter = chain.pool(), chain.pool(RENTER)
    assert (await pool.machine_of(9)).status is MachineStatus.NONE
    assert (await pool.lease_of(9 << 16)).state is LeaseState.NONE
    with pytest.raises(UnknownMachine) as unknown:
        await chain.pool(PROVIDER).retire(9)
    assert unknown.value.machine == 9
    with pytest.raises(UnknownLease, match="no lease 9 "):
        await renter.close(9 << 16)
    with pytest.raises(PriceTooHigh) as high:
        await renter.open(wants(machine, max_price=UNIT))
    assert (high.value.price, high.value.max_price) == (2 * UNIT, UNIT)
    with pytest.raises(NotAuthorized) as who:
        await renter.delist(machine)
    assert who.value.actor == chain.address(RENTER)
    lease, _ = await renter.open(wants(machine))
    with pytest.raises(WrongState, match="is opened"):
        await renter.extend(lease, 60)
    await chain.token(RENTER).approve(chain.deployment.controller, 0)
    with pytest.raises(ERC20InsufficientAllowance, match="let it take that first"):
        await renter.open(wants(machine))
    with pytest.raises(WalletError, match="name a wallet"):
        await pool.open(wants(machine))
    with pytest.raises(WalletError, match="name a wallet"):
        await chain.token().approve(chain.address(1))
