"""A tenant's order that his job's end ends its bill, as the command line signs it and hands it to the agent."""

from __future__ import annotations

from devnet.tenant import Tenant
from leasehold.chain import ClosingOrder, closing_key
from leasehold.chain.typed import Domain
from leasehold.errors import LeaseholdError
from leasehold.market import AgentClient

_DAY = 86_400


def order_close(tenant: Tenant, lease: int, workload: bytes) -> str:
    """Orders the lease closed as that workload (a digest) ends; returns why its agent has not taken the order."""
    site, deployment = tenant.site, tenant.deployment
    key = closing_key(deployment.controller, lease)
    nonce = tenant.accounts(lambda accounts: accounts.nonce_of(tenant.address, key))
    deadline = site.world.anvil.timestamp + _DAY
    order = ClosingOrder(tenant.address, deployment.controller, lease, nonce, deadline)

    async def give(client: AgentClient) -> None:
        domain = Domain(deployment.chain_id, deployment.accounts)
        await client.put_closing_order(lease, await order.signed(domain, tenant.signer), workload)

    try:
        site.agent(give, tenant.signer)
    except LeaseholdError as error:  # it has not taken the lease on yet
        return str(error)
    return ""
