"""What a call can take out of an account's ledger, for whoever is asked to sign it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.chain import DecodedCall, cost, format_lease
from leasehold.market import accrued, extension_cost, format_duration

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

# What moves none of the ledger's money out, whatever the arguments.
_FREE = {
    "close", "reject", "cancelUnstarted", "claim", "setWorkload", "cancelOffers", "delist", "relist", "withhold",
    "setContact", "setOperator", "setHardware", "setTerms", "recover", "retire", "unstake", "rate", "announce",
    "deployGroup", "failover", "pullFees", "setDelegate",
}  # fmt: skip


@dataclass(frozen=True)
class Outflow:
    """What calls can take out of the ledger: token units at most, and whether anything could not be priced.

    besides: what they give away or allow that is not in the ledger, in words.
    """

    units: int
    unknown: bool = False
    besides: tuple[str, ...] = ()

    def __add__(self, other: Outflow) -> Outflow:
        return Outflow(self.units + other.units, self.unknown or other.unknown, self.besides + other.besides)


async def outflow(client: PoolClient, call: DecodedCall) -> Outflow:
    """What the call can take out of the account's ledger at most, as things stand."""
    total = Outflow(0)
    for inner in call.inner:
        total += await outflow(client, inner)
    if call.inner:
        return total
    given, name = call.arguments, call.function
    if call.contract == "Controller" and name in ("transfer", "withdraw", "addStake"):
        return Outflow(int(given["amount"]))
    if name in ("open", "openWithOffer"):
        request = given["request"]
        price = min(int(request["max_price"]), int(given["offer"]["price"]) if "offer" in given else 1 << 80)
        if "offer" not in given:
            terms, _ = await client.pool.terms_of(request["machine"], request["revision"])
            price = min(price, terms.spot_price if request["spot"] else terms.price)
        return Outflow(cost(price, request["share"], request["duration"], up=True))
    if name in ("extend", "resize", "terminate", "transferLease"):
        return await _of_lease(client, name, given)
    if name == "setDelegate" and (given["cap"] or given["expiry"]):
        return _of_delegate(client, given)
    if name == "rescue":
        return Outflow(0, besides=("tokens that lie at the address itself, not in the ledger, go out",))
    return Outflow(0, unknown=name not in _FREE)


def _of_delegate(client: PoolClient, given: Mapping[str, Any]) -> Outflow:
    """What a delegate may do, who changes and closes leases also where he may spend nothing."""
    who = given["delegate"]
    if given["pool"].lower() != client.pool.address.lower():  # whose money is another than this one's
        elsewhere = f"{who} may then act for it in another pool, {given['pool']}"
        return Outflow(0, unknown=True, besides=(elsewhere,))
    span = f"in each {format_duration(given['period'])}" if given["period"] else "altogether"
    spends = f"spend {client.money.show(given['cap'])} {span}" if given["cap"] else "spend nothing"
    return Outflow(0, besides=(f"{who} may then {spends}, and change and close what it rents",))


async def _of_lease(client: PoolClient, name: str, given: Mapping[str, Any]) -> Outflow:
    lease, now = await client.pool.lease_of(int(given["lease"])), await client.now()
    if name == "extend":
        return Outflow(extension_cost(lease, int(given["duration"])))
    if name == "resize":
        left = max(0, lease.end - now)
        deposit = accrued(lease, now) + cost(lease.price, int(given["share"]), left, up=True)
        return Outflow(max(0, deposit - lease.deposit))
    if name == "transferLease":
        rest = client.money.show(lease.deposit - lease.settled)
        gone = f"lease {format_lease(lease.id)} goes to {given['to']}, and {rest} of escrow with it"
        return Outflow(0, besides=(gone,))
    params = await client.pool.params(lease.params)
    return Outflow(0 if lease.spot else cost(lease.price, lease.cells, params.penalty_seconds))
