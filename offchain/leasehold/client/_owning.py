"""What a pool's owner and arbiter do, what anybody does for them, and a pool of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from leasehold.chain import (
    Deployment,
    FactoryContract,
    Fault,
    FaultState,
    Params,
    PoolView,
    ProposedParams,
    Receipt,
    Token,
)
from leasehold.client._address import parse_address
from leasehold.client._errors import AmountsMissing, ChangesNothing, NothingToDo, PlanStale
from leasehold.client._faults import arbiter_of
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._powers import powers_of
from leasehold.errors import (
    NoProposal,
    NotAuthorized,
    ProposalPending,
    RulingOver,
    TokenDecimals,
    WrongFaultState,
)
from leasehold.market import (
    AMOUNTS,
    TIMELOCK,
    InvalidInput,
    Json,
    Money,
    changed_params,
    changes_json,
    check_params,
    params_json,
)

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

FOREVER = 2**40 - 1
MOST_PROVIDERS = 200  # that one transaction pulls fees from, about 2 million gas


# ------------------------------------------------------------------------------------------------------- orders


@dataclass(frozen=True)
class OrderPlan(Plan["Ordered"]):
    """One call of the owner's. The pool refuses it to everybody else."""

    client: PoolClient
    send: Callable[[], Awaitable[Receipt]] = field(repr=False)
    told: Mapping[str, Json] = field(default_factory=dict, kw_only=True)

    def to_json(self) -> dict[str, Json]:
        return {**self.told}

    async def steps(self) -> AsyncIterator[Step]:
        yield Ordered(await self.send())


@dataclass(frozen=True)
class Ordered(Sent):
    """It is so from now on."""


@dataclass(frozen=True)
class SetPaused(Request["Ordered"]):
    """Stop opening leases and registering machines, or allow it again. Every way out stays open."""

    paused: bool

    async def plan(self, client: PoolClient) -> OrderPlan:
        return OrderPlan(client, lambda: client.pool.set_paused(self.paused), told={"paused": self.paused})


@dataclass(frozen=True)
class SetGated(Request["Ordered"]):
    """Say whether registering a machine takes a licence. Machines that are in stay in."""

    gated: bool

    async def plan(self, client: PoolClient) -> OrderPlan:
        return OrderPlan(client, lambda: client.pool.set_gated(self.gated), told={"gated": self.gated})


@dataclass(frozen=True)
class SetTreasury(Request["Ordered"]):
    """Say whose ledger fees go to from now on."""

    account: str

    async def plan(self, client: PoolClient) -> OrderPlan:
        """Raises InvalidInput: no account's address."""
        account = parse_address(self.account)
        return OrderPlan(client, lambda: client.pool.set_treasury(account), told={"treasury": account})


@dataclass(frozen=True)
class HandPoolOver(Request["Ordered"]):
    """Offer the pool to another account, which becomes its owner with `AcceptPool`."""

    account: str

    async def plan(self, client: PoolClient) -> OrderPlan:
        """Raises InvalidInput: no account's address."""
        account = parse_address(self.account)
        return OrderPlan(
            client, lambda: client.pool.transfer_ownership(account), told={"pending_owner": account}
        )


@dataclass(frozen=True)
class AcceptPool(Request["Ordered"]):
    """Become the owner of a pool that its owner has offered."""

    async def plan(self, client: PoolClient) -> OrderPlan:
        return OrderPlan(client, client.pool.accept_ownership)


@dataclass(frozen=True)
class IssueLicence(Request["Ordered"]):
    """Grant an account a licence, change it, or take it back, with `seats` of 0.

    kind: ``provider``, which a gated pool asks for, or a software's, to 32 plain characters. seats: at a time, for
    software. until: last day (UTC); `None` is for ever.
    """

    account: str
    kind: str = "provider"
    seats: int = 1
    until: date | None = None

    @property
    def expires_at(self) -> int:
        """Unix seconds."""
        if not self.seats:
            return 0
        if self.until is None:
            return FOREVER
        return int(datetime.combine(self.until, time(23, 59, 59), UTC).timestamp())

    async def plan(self, client: PoolClient) -> OrderPlan:
        """Raises InvalidInput: no account's address, or no kind."""
        account, directory = parse_address(self.account), await client.pool.directory()
        if not self.kind.isascii() or not 0 < len(self.kind) <= 32:
            raise InvalidInput(f"'{self.kind}' is no kind of licence", "write up to 32 plain characters.")
        return OrderPlan(
            client, lambda: directory.issue_licence(account, self.kind, self.seats, self.expires_at)
        )


# ------------------------------------------------------------------------------------------------------- parameters


def rules_with(base: Params, values: Mapping[str, str], money: Money) -> Params:
    """`base` with what is given, inside the bounds: ``{"fee_bps": "2.5%", "unstake_delay": "21d", "bond": "10"}``.

    Raises:
        InvalidInput: something cannot be read, or is out of its bounds.
    """
    rules = changed_params(base, values, money)
    check_params(rules, money)
    return rules


@dataclass(frozen=True)
class ProposeRules(Request["RulesProposed"]):
    """As the owner, propose the pool's next parameters. What is not named stays as it is.

    They come into force in two days, for no lease that is open and for no machine before its provider sets terms.
    values: as for `rules_with`.
    """

    values: Mapping[str, str]

    async def plan(self, client: PoolClient) -> ProposeRulesPlan:
        """Raises InvalidInput, ProposalPending."""
        view = await powers_of(client)
        rules = rules_with(view.params, self.values, client.money)
        if rules == view.params:
            raise ChangesNothing()
        now = await client.now()
        if view.proposed is not None and now < view.in_force_at:
            raise ProposalPending(in_force_at=view.in_force_at)
        return ProposeRulesPlan(client, view, rules, now + TIMELOCK)


@dataclass(frozen=True)
class ProposeRulesPlan(Plan["RulesProposed"]):
    """Rules that would be in force at about `when` (unix seconds), in place of those of `view`."""

    client: PoolClient
    view: PoolView
    rules: Params
    when: int

    def to_json(self) -> dict[str, Json]:
        return {"changes": changes_json(self.view.params, self.rules, self.client.money)}

    async def check(self) -> None:
        """Raises PlanStale: others are in force since, which this would undo where it names nothing."""
        if await self.client.pool.params_version() != self.view.params_version:
            raise PlanStale()

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.client.pool.propose_params(self.rules)
        yield RulesProposed(receipt, await self.client.pool.proposed_params())


@dataclass(frozen=True)
class RulesProposed(Sent):
    """They wait for their time. proposed: their version, and when."""

    proposed: ProposedParams

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"version": self.proposed.version, "in_force_at": self.proposed.in_force_at}


@dataclass(frozen=True)
class CancelRules(Request["Ordered"]):
    """As the owner, take a proposal back before it is in force."""

    async def plan(self, client: PoolClient) -> CancelRulesPlan:
        """Raises NoProposal."""
        version = (await client.pool.proposed_params()).version
        if not version:
            raise NoProposal
        return CancelRulesPlan(client, client.pool.cancel_params, version)


@dataclass(frozen=True)
class CancelRulesPlan(OrderPlan):
    """A version that would not come into force."""

    version: int

    def to_json(self) -> dict[str, Json]:
        return {"version": self.version}

    async def check(self) -> None:
        """Raises PlanStale: another one is proposed since."""
        if (await self.client.pool.proposed_params()).version != self.version:
            raise PlanStale()


# ----------------------------------------------------------------------------------------------------------- faults


@dataclass(frozen=True)
class RuleOnFault(Request["FaultChanged"]):
    """As its arbiter, rule on a fault that was appealed against. stands: else it is dropped."""

    fault: int
    stands: bool

    async def plan(self, client: PoolClient) -> FaultPlan:
        """Raises UnknownFault, WrongFaultState, NotAuthorized, RulingOver."""
        fault = await client.fault(self.fault)
        if fault.state is not FaultState.APPEALED:
            raise WrongFaultState(fault=fault.id, state=fault.state)
        arbiter = await arbiter_of(client, fault)
        if arbiter is None or arbiter.lower() != client.account.lower():
            raise NotAuthorized(actor=client.account)
        if await client.now() > fault.deadline:
            raise RulingOver(fault=fault.id, deadline=fault.deadline)
        faults = await client.pool.faults()
        return FaultPlan(client, fault, lambda: faults.rule(fault.id, self.stands), self.stands)


@dataclass(frozen=True)
class ExecuteFault(Request["FaultChanged"]):
    """Carry out a fault whose time has come: tenants and reporters have their parts. Anyone may."""

    fault: int

    async def plan(self, client: PoolClient) -> FaultPlan:
        """Raises UnknownFault."""
        fault, faults = await client.fault(self.fault), await client.pool.faults()
        return FaultPlan(client, fault, lambda: faults.execute(fault.id))


@dataclass(frozen=True)
class FaultPlan(Plan["FaultChanged"]):
    """Something that would be done about a fault. stands: how its arbiter would rule."""

    client: PoolClient
    fault: Fault
    send: Callable[[], Awaitable[Receipt]] = field(repr=False)
    stands: bool | None = None

    def to_json(self) -> dict[str, Json]:
        stands: dict[str, Json] = {} if self.stands is None else {"stands": self.stands}
        return {"fault": self.fault.id, **stands}

    async def steps(self) -> AsyncIterator[Step]:
        receipt = await self.send()
        yield FaultChanged(receipt, await self.client.fault(self.fault.id))


@dataclass(frozen=True)
class FaultChanged(Sent):
    """It is done. fault: as it is now."""

    fault: Fault

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"state": self.fault.state.name.lower()}


# ------------------------------------------------------------------------------------------------------------- fees


@dataclass(frozen=True)
class CollectFees(Request["Ordered"]):
    """Move the fees that providers' claims have left to the treasury's ledger. Anyone may."""

    async def plan(self, client: PoolClient) -> CollectFeesPlan:
        index = await client.index(again=True)
        providers = sorted({record.machine.provider for record in await index.machines()})
        accounts = await asyncio.gather(*map(client.pool.account_of, providers))
        owed = zip(providers, accounts, strict=True)
        due = sorted(
            ((who, account.fees_due) for who, account in owed if account.fees_due), key=lambda row: -row[1]
        )
        cautions: tuple[str, ...] = ()
        if len(due) > MOST_PROVIDERS:
            cautions = (f"The first {MOST_PROVIDERS} of {len(due)} providers: do this again for the rest.",)
        return CollectFeesPlan(client, dict(due[:MOST_PROVIDERS]), await client.pool.treasury(), cautions)


@dataclass(frozen=True)
class CollectFeesPlan(Plan["Ordered"]):
    """Fees that would move. due: token units, by provider."""

    client: PoolClient
    due: Mapping[str, int]
    treasury: str
    cautions: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All of it, token units."""
        return sum(self.due.values())

    def to_json(self) -> dict[str, Json]:
        return {
            "treasury": self.treasury,
            "providers": len(self.due),
            "amount": self.client.money.exact(self.total),
        }

    async def check(self) -> None:
        if not self.due:
            raise NothingToDo()

    async def steps(self) -> AsyncIterator[Step]:
        yield Ordered(await self.client.pool.pull_fees(list(self.due)))


# ----------------------------------------------------------------------------------------------------------- a pool


@dataclass(frozen=True)
class CreatePool(Request["PoolMade"]):
    """Make a pool with its companions, by the factory and with the parameters of the pool at hand where nothing else is
    named.

    values: as for `rules_with`. token: an address, by default that of the pool at hand. owner: by default the account.
    treasury: by default the owner.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    token: str | None = None
    owner: str | None = None
    treasury: str | None = None

    async def plan(self, client: PoolClient) -> CreatePoolPlan:
        """Raises InvalidInput, TokenDecimals, AmountsMissing: the token has other decimals than that at hand."""
        token = parse_address(self.token) if self.token else client.deployment.token
        coin = Token(client.rpc, token)
        money = Money(await coin.symbol(), await coin.decimals())
        if not 6 <= money.decimals <= 18:
            raise TokenDecimals(decimals=money.decimals)
        rules = await client.pool.params(await client.pool.params_version())
        if money.decimals != client.money.decimals:
            rules = replace(rules, **dict.fromkeys(AMOUNTS, -1))  # type: ignore[arg-type]  # those are numbers
        rules = changed_params(rules, self.values, money)
        if any(getattr(rules, name) < 0 for name in AMOUNTS):
            raise AmountsMissing(money.symbol, money.decimals, client.money.decimals)
        check_params(rules, money)
        owner = parse_address(self.owner) if self.owner else client.account
        treasury = parse_address(self.treasury) if self.treasury else owner
        return CreatePoolPlan(client, token, money, owner, treasury, rules)


@dataclass(frozen=True)
class CreatePoolPlan(Plan["PoolMade"]):
    """A pool that would be made. money: how amounts of its token are written."""

    client: PoolClient
    token: str
    money: Money
    owner: str
    treasury: str
    rules: Params

    def to_json(self) -> dict[str, Json]:
        return {
            "token": self.token,
            "owner": self.owner,
            "treasury": self.treasury,
            "params": params_json(self.rules, self.money),
        }

    async def steps(self) -> AsyncIterator[Step]:
        client = self.client
        factory = FactoryContract(client.rpc, client.deployment.factory, client.sender)
        controller, receipt = await factory.create_pool(self.token, self.owner, self.treasury, self.rules)
        made = replace(
            client.deployment, controller=controller, token=self.token, block=receipt.block_number,
            token_symbol=self.money.symbol, token_decimals=self.money.decimals,
        )  # fmt: skip
        yield PoolMade(receipt, made)


@dataclass(frozen=True)
class PoolMade(Sent):
    """The pool is there. deployment: what everybody who uses it needs."""

    deployment: Deployment

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"controller": self.deployment.controller, "deployment": self.file()}

    def file(self) -> dict[str, Json]:
        """What the deployment file holds."""
        return {name: value for name, value in asdict(self.deployment).items() if value is not None}
