"""Offering a machine: stake, register, set terms, collect, leave.

Joining is several steps and may stop between any two. Documents are pinned first (harmless twice), then the
allowance, then `register` (the only step that takes money), then gas for the operator. `AlreadyJoined` keeps
a second run from staking twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from leasehold.chain import (
    Lease,
    Machine,
    MachineStatus,
    Params,
    Pool,
    Receipt,
    Rpc,
    Terms,
    Token,
    format_lease,
)
from leasehold.errors import UnknownMachine
from leasehold.market._documents import Hardware, MachineFile, canonical
from leasehold.market._earning import (
    JoinQuote,
    NoticeTerms,
    check_terms,
    claimable,
    join_quote,
    notice,
    overdue,
    stake_shortfall,
)
from leasehold.market._errors import (
    AllowanceTooLow,
    OperatorTaken,
    RulesChange,
)
from leasehold.market._machine_errors import SomebodyElses
from leasehold.market._money import Money
from leasehold.market._money_errors import PenaltyNotCovered
from leasehold.market._neighbours import Neighbour, check_apart_from
from leasehold.market._quote import Funds
from leasehold.market._renter import Blocks, Clock, funds_of

# What an operator sends for one lease: start or decline, publishResult, now and then setContact and recover.
GAS_PER_LEASE = 200_000
GAS_LEASES = 200
RULES_SECONDS = (
    3600  # a transaction may wait so long; it accepts the version that is in force when it is mined
)


@dataclass(frozen=True)
class Due:
    """What can be collected now. `overdue`: leases that are closed for good, which pays and frees their cells.

    claimable: token units by running lease, before the fee. disputed: leases that are over, whose tenants may still
    have an outage taken off their bills: the provider closes them now by forgoing that time.
    """

    overdue: tuple[int, ...]
    claimable: dict[int, int]
    disputed: tuple[int, ...] = ()

    def forgoing(self) -> Due:
        """The same, with what is disputed closed too."""
        claimed = {lease: units for lease, units in self.claimable.items() if lease not in self.disputed}
        return Due(self.overdue + self.disputed, claimed)

    @property
    def empty(self) -> bool:
        return not self.overdue and not self.claimable

    def sentences(self, money: Money) -> list[str]:
        """The same for people."""
        claims = [
            f"Lease {format_lease(lease)}: {money.show(units)} to claim, before the fee."
            for lease, units in self.claimable.items()
        ]
        over = [
            f"Lease {format_lease(lease)} is past its end: closing it pays what is left."
            for lease in self.overdue
        ]
        return claims + over or ["There is nothing to collect now."]


class Provider:
    """The provider's side of one pool, for the account that owns the machines.

    now: unix seconds at the head of the chain. blocks: the provider's IPFS node. ledger_only: somebody else acts for
    the account, and nothing can be pulled from its wallet.
    """

    def __init__(
        self,
        pool: Pool,
        token: Token,
        rpc: Rpc,
        account: str,
        *,
        blocks: Blocks,
        now: Clock,
        ledger_only: bool = False,
    ) -> None:
        self._pool = pool
        self._token = token
        self._rpc = rpc
        self.account = account
        self._blocks = blocks
        self._now = now
        self._ledger_only = ledger_only

    @property
    def money(self) -> Money:
        return Money.of(self._pool.deployment)

    async def funds(self) -> Funds:
        """What the account can stake with now."""
        funds = await funds_of(self._pool, self._token, self.account)
        return replace(funds, wallet=0, allowance=0) if self._ledger_only else funds

    # ------------------------------------------------------------------------------------------------ joining

    async def quote(
        self, described: MachineFile, gpus: int, terms: Terms, neighbours: Iterable[Neighbour]
    ) -> JoinQuote:
        """What joining would take and bring; `neighbours` are the machines that the operator's key serves.

        Raises:
            InvalidInput, AlreadyJoined, NotEnoughFunds: why it cannot be done; nothing was sent. DocumentInvalid: the
            host serves another.
        """
        described.consent_for(self.account, self._pool.deployment.controller, await self._now())
        check_terms(terms, await self._now())
        self.check_neighbours(described.facts, gpus, neighbours)
        await self.check_rules()
        version = await self._pool.params_version()
        funds = await self.funds()
        discount = await (await self._pool.reputation()).discount_bps_of(self.account)
        offer = join_quote(gpus, terms, await self._pool.params(version), funds, discount)
        problem = stake_shortfall(offer.pulled, funds, self.money)
        if problem is not None:
            raise problem
        return offer

    def check_neighbours(self, hardware: Hardware, gpus: int, neighbours: Iterable[Neighbour]) -> None:
        """Raises OperatorTaken: the key serves another provider, or a machine that has some of what is described."""
        own = list(neighbours)
        for neighbour in own:
            if neighbour.machine.provider.lower() != self.account.lower():
                raise OperatorTaken(neighbour.machine.operator, neighbour.machine.id)
        check_apart_from(hardware, gpus, own)

    async def check_rules(self) -> None:
        """Raises RulesChange where others come into force so soon that a transaction could accept them unread."""
        proposed, now = await self._pool.proposed_params(), await self._now()
        if now < proposed.in_force_at <= now + RULES_SECONDS:
            raise RulesChange(proposed.in_force_at - now, proposed.version)

    def check_allowance(self, pulled: int, missing: int) -> None:
        """Raises AllowanceTooLow if the pool may not take `pulled` from the wallet: `missing` more is needed."""
        if missing:
            raise AllowanceTooLow(pulled).in_money(self.money)

    async def approve(self, amount: int) -> Receipt:
        """Let the pool take `amount` token units from the wallet."""
        return await self._token.approve(self._pool.deployment.controller, amount)

    async def operator_gas(self, operator: str) -> int:
        """Wei that the operator lacks for its next `GAS_LEASES` leases at twice today's gas price."""
        price = int(await self._rpc.call("eth_gasPrice"), 16)
        wanted = price * 2 * GAS_PER_LEASE * GAS_LEASES
        return max(0, wanted - await self._rpc.balance(operator))

    async def pin(self, described: MachineFile) -> None:
        """Keep both documents on the provider's node. Raises DatasetError."""
        await self._blocks.put_block(canonical(described.hardware))
        await self._blocks.put_block(canonical(described.contact))

    async def register(
        self, described: MachineFile, gpus: int, smallest_share: int, terms: Terms
    ) -> tuple[int, Receipt]:
        """Stake, and bring the machine into the pool; gives its number. Raises ContractError: the pool refuses."""
        consent = described.consent_for(self.account, self._pool.deployment.controller, await self._now())
        return await self._pool.register(
            terms,
            gpus,
            smallest_share,
            sha256(canonical(described.hardware)).digest(),
            sha256(canonical(described.contact)).digest(),
            described.operator,
            consent,
        )

    # ----------------------------------------------------------------------------------------------- managing

    async def own(self, machine: int) -> Machine:
        """The machine, if it is this account's.

        Raises:
            SomebodyElses: it is another provider's. UnknownMachine.
        """
        record = await self._pool.machine_of(machine)
        if record.status is MachineStatus.NONE:
            raise UnknownMachine(machine)
        if record.provider.lower() != self.account.lower():
            raise SomebodyElses(machine, record.provider, self.account)
        return record

    async def due(self, leases: Sequence[Lease]) -> Due:
        """What can be collected of these leases (the provider's own) now."""
        now = await self._now()
        running: dict[int, int] = {}
        late: list[int] = []
        disputed: list[int] = []
        machines = {
            number: await self._pool.machine_of(number) for number in {lease.machine for lease in leases}
        }
        for lease in leases:
            params, trial = await self._rules(lease)
            machine = machines[lease.machine]
            if overdue(lease, params, now, machine):
                late.append(lease.id)
                continue
            if overdue(lease, params, now):
                disputed.append(lease.id)
            if amount := claimable(lease, params, trial, now, machine):
                running[lease.id] = amount
        return Due(tuple(late), running, tuple(disputed))

    async def collect(self, due: Due) -> Receipt:
        """Close what is overdue and claim the rest, in one transaction."""
        calls = [self._pool.encode("close", lease) for lease in due.overdue]
        if due.claimable:
            calls.append(self._pool.encode("claim", list(due.claimable)))
        return await self._pool.multicall(calls)

    async def notice(self, lease: Lease) -> NoticeTerms:
        """What ending the lease early would mean.

        Raises:
            NotEnoughFunds: the ledger does not cover the penalty.
        """
        params, _ = await self._rules(lease)
        given = notice(lease, params, await self._now())
        ledger = await self._pool.balance_of(self.account)
        if given.penalty > ledger:
            raise PenaltyNotCovered(given.penalty, ledger, given.penalty - ledger).in_money(self.money)
        return given

    async def _rules(self, lease: Lease) -> tuple[Params, int]:
        params, (terms, _) = await asyncio.gather(
            self._pool.params(lease.params), self._pool.terms_of(lease.machine, lease.revision)
        )
        return params, terms.trial
