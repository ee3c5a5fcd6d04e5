"""Closing orders on the real contracts: one call, one lease, one row of nonces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devnet.pool import PoolChain
from leasehold.chain import AccountsContract, Call, ClosingOrder, closing_key
from leasehold.chain.typed import Domain, Execute, Group, sign
from leasehold.errors import InvalidNonce, ProofError, ProofWrongKey

LEASE = 7 << 16
FAR = 1 << 40


def accounts_of(chain: PoolChain) -> AccountsContract:
    return AccountsContract(chain.rpc, chain.deployment.accounts, chain.sender(5))


def domain_of(chain: PoolChain) -> Domain:
    return Domain(chain.deployment.chain_id, chain.deployment.accounts)


async def made(chain: PoolChain, account: str, **fields: int) -> ClosingOrder:
    controller = chain.deployment.controller
    nonce = await accounts_of(chain).nonce_of(account, closing_key(controller, LEASE))
    return replace(ClosingOrder(account, controller, LEASE, nonce, FAR), **fields)  # type: ignore[arg-type]


def test_a_row_is_of_one_lease_of_one_pool() -> None:
    """What it is made of stays: orders that wait would be good for nothing after an update."""
    pool, other = "0x" + "5F" * 20, "0x" + "5E" * 20
    assert closing_key(pool, LEASE) == 0xD759AC6F8E1238D00217101C32617DE23BE05529D061F189
    assert len({closing_key(pool, LEASE), closing_key(other, LEASE), closing_key(pool, LEASE + 1)}) == 3
    assert closing_key(pool, LEASE) < 1 << 192


async def test_the_chain_signs_the_same(chain: PoolChain) -> None:
    """The digest, and whose it is; nothing of another account, lease, nonce or deadline passes for it."""
    tenant, domain = chain.signer(2), domain_of(chain)
    order = await (await made(chain, tenant.address)).signed(domain, tenant)
    contract = accounts_of(chain)
    digest = await contract.execute_digest(order.account, order.calls, order.nonce, order.deadline)
    assert digest == order.message.digest(domain)
    assert order.in_its_row
    await order.verify(domain, contract.is_authorized)
    for other in (
        replace(order, lease=LEASE + 1),
        replace(order, account=chain.address(3)),
        replace(order, nonce=order.nonce + 1),
        replace(order, deadline=FAR + 1),
        replace(order, controller=chain.deployment.accounts),
        replace(order, proof=b""),
    ):
        with pytest.raises(ProofError):
            await other.verify(domain, contract.is_authorized)
    assert not replace(order, lease=LEASE + 1).in_its_row


async def test_a_groups_signatures_make_one_too(chain: PoolChain) -> None:
    domain, signers = domain_of(chain), [chain.signer(number) for number in (6, 7, 8)]
    group = Group.of(2, [signer.address for signer in signers])
    order = await made(chain, group.address(chain.deployment.accounts))
    digest = order.message.digest(domain)
    signatures = {signer.address: await sign(order.message, domain, signer) for signer in signers[:2]}
    signed = replace(order, proof=group.prove(digest, signatures))
    await signed.verify(domain, accounts_of(chain).is_authorized)
    with pytest.raises(ProofWrongKey):
        await replace(signed, lease=LEASE + 1).verify(domain, accounts_of(chain).is_authorized)


async def test_it_waits_behind_nothing_and_nothing_waits_behind_it(chain: PoolChain) -> None:
    """Signatures of the common row, and the account's own transactions, leave it as it was; once spent it is over."""
    tenant, domain, contract = chain.signer(2), domain_of(chain), accounts_of(chain)
    order = await made(chain, tenant.address)
    nothing = Call(
        contract.address, contract.encode("setDelegate", order.controller, "0x" + "00" * 20, 0, 0, 0)
    )

    async def spend(nonce: int) -> None:
        message = Execute(account=order.account, calls=(nothing,), nonce=nonce, deadline=FAR)
        await contract.execute(order.account, (nothing,), nonce, FAR, await sign(message, domain, tenant))

    await spend(0)
    await chain.token(2).approve(order.controller)
    assert (await made(chain, tenant.address)).nonce == order.nonce
    await spend(order.nonce)
    assert (await made(chain, tenant.address)).nonce == order.nonce + 1
    await spend(1)
    with pytest.raises(InvalidNonce):
        await spend(order.nonce)
