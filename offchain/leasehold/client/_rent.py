"""Renting: which machines, at what price, the workload handed over, the leases opened and started.

Several leases (a gang) share one sealed workload and open in one transaction, all or none. The order makes a crash
harmless: the workload is with the agent (or on IPFS) before any money moves, opening is one transaction, and from then
on the leases are on chain, whatever becomes of this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from leasehold.agreements import FileRefused
from leasehold.chain import (
    ZERO_DIGEST,
    Lease,
    MachineRecord,
    MachineStatus,
    backup_digest,
    cost,
    format_lease,
)
from leasehold.client._closing_order import ClosingOrdered, order_closing
from leasehold.client._code import CodeHandedIn, hand_in, look_over, named, on_ipfs
from leasehold.client._errors import (
    CannotAct,
    DurationMissing,
    NoSuchMachine,
    OfferElsewhere,
    RentedSince,
    StandbyForItself,
    StillLive,
    WasElsewhere,
    WorkloadOfAnother,
)
from leasehold.client._images import PinnedWorkload
from leasehold.client._plan import Plan, Request, Sent, Step
from leasehold.client._set_workload import Delivered, note_workload
from leasehold.client._standbys import note_standby
from leasehold.client._volume_keys import own_workload
from leasehold.errors import AgentError, ContractError, DatasetError, RevisionChanged, SettingsError
from leasehold.home import KeptLease, Kind, check_label
from leasehold.images import NoSuchPlatform, ResolvedImage
from leasehold.market import (
    Delivery,
    DocumentUnavailable,
    InvalidInput,
    Json,
    Listing,
    MaintenanceNear,
    MarketError,
    Money,
    Opened,
    Opening,
    Payment,
    SignedOffer,
    Wish,
    capable,
    choose_gang,
    cold_start,
    format_duration,
    format_share,
    format_time,
    has_image,
    lists_image,
    parse_amount,
    parse_search,
    platform_of,
    runs_on,
    settleable,
)
from leasehold.market.wire import AgentUnreachable
from leasehold.workload import CodeContents, CodeFolder, Workload, WorkloadKind, seal

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

WHOLE_GPU = 8  # cells
STATUS_EVERY = 2.0  # seconds between questions to the agent while the lease starts


@dataclass(frozen=True)
class Rent(Request["Rented"]):
    """Rent machines, or parts of them, and run a workload on each.

    workload: `None` runs again what the lease `again` ran. code: a folder that goes in with it.
    seconds: for how long; `None` where an offer says it.
    share: cells of each machine, 1, 2 or 4 of a GPU's 8, or 8 for each whole one; `None` where an offer or the earlier
        lease says it, else one GPU.
    max_price: most whole tokens per GPU-hour.
    search: which machines, in the language of `PoolClient.search`. machines: these and no others. gang: how many.
    spot: at the lower price for leases that may be ended with notice. backup: the machine that takes over while this
        one is down. offer: terms that a provider has signed.
    again, reuse: an ended lease of one's own, whose machine and terms, or whose slot alone, are taken again; 0: none.
    allow_unverified: machines that nobody has measured, too.
    without_agent: also where the machine's agent does not answer, and finds the workload on IPFS.
    wait: until the leases have started.
    close_when_done: sign, once they are open, that they close when their command has ended by itself, which the agent
        sees to; `None`: where the workload is a batch job, or the lease `again` was ordered so. The wallet is asked for
        one more signature for each lease.
    labels: put on the leases here as they are open; the chain and the agents are told nothing.
    at_most: seconds for which a guard of this home keeps them, a time as long as the first after the other; what they
        cost until then is the most that they are let cost.
    """

    workload: Workload | None
    seconds: int | None = None
    share: int | None = None
    max_price: Decimal | str | None = None
    search: str = ""
    machines: tuple[int, ...] = ()
    gang: int = 1
    spot: bool = False
    backup: int | None = None
    offer: SignedOffer | None = None
    again: int = 0
    reuse: int = 0
    allow_unverified: bool = False
    without_agent: bool = False
    wait: bool = True
    close_when_done: bool | None = None
    code: CodeFolder | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    at_most: int | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself. Raises InvalidInput, BadLabel, DurationMissing, QueryError."""
        parse_search(self.search)
        for word, value in self.labels.items():
            check_label(word, value)
        if self.seconds is None and self.offer is None:
            raise DurationMissing()
        if len(set(self.machines)) < len(self.machines):
            raise InvalidInput("A machine is named twice: a gang has one lease on each, so name each once.")
        if self.gang > 1 and (self.backup or self.offer or self.again or self.reuse):
            raise InvalidInput(
                "A standby, an offer and an earlier lease are for one lease alone: open these one by one."
            )
        if self.at_most is not None and (self.offer or self.at_most <= (self.seconds or 0)):
            raise InvalidInput(
                "What is kept going lasts longer than what is paid first, and an offer cannot be extended",
                "name a shorter first time, or leave the longest, or the offer, away.",
            )
        if self.code is not None and self.workload is None:
            raise InvalidInput("A folder of code goes in with a workload that names it: give both.")
        if self.again and (self.reuse or self.offer):
            raise InvalidInput(
                "What an earlier lease had comes with its slot and its machine's terms: leave the other slot, or the "
                "offer, away."
            )

    async def plan(self, client: PoolClient) -> RentPlan:
        if client.other is not None and client.group is None and (self.gang > 1 or self.offer):
            raise InvalidInput(
                "A delegate opens one lease at a time, at listed terms: leave the gang or the offer away."
            )
        if self.at_most is not None and client.group is not None:
            raise CannotAct("A proposal opens nothing yet", "extend the lease once it is open.")
        if self.labels:
            client.home.names(client.deployment).all(Kind.LEASE)  # a damaged file is told before money moves
        renter, (closes, cannot) = client.renter(), _closes(client, self)
        pinned = None if self.workload is None else await client.pin(self.workload)
        wanted = self if pinned is None else replace(self, workload=pinned.workload)
        code = None if self.code is None else await look_over(client, self.code)
        asked, digest = await _as_before(client, wanted)
        asked = await _as_offered(client, asked)
        wish = _wish(client, asked)
        image = pinned.image if pinned is not None else None
        listings, cautions, able = await _choose(client, asked, wish, image)
        cautions = (*cautions, *cannot, *(pinned.cautions if pinned is not None else ()))
        index, openings = await client.index(), list[Opening]()
        for listing in listings:
            leases = [record.lease for record in await index.leases(machine=listing.id, live=True)]
            quote, settle = await renter.quote(listing, wish, leases)
            openings.append(Opening(quote, settle, asked.reuse or asked.again, signed=asked.offer))
        payment = await renter.total([opening.quote for opening in openings])
        backup = None if asked.backup is None else await _standby(client, asked, wish, listings)
        if digest is not None and client.home.sealed_workloads.get(digest) is None:
            cautions = (
                *cautions,
                "That workload is not on this computer: the machine has to have it still, or find it on IPFS.",
            )
        await renter.check_funds(payment)
        cautions = (*cautions, *await _leaving(client, asked, listings))
        return RentPlan(
            client,
            asked,
            wish,
            listings,
            tuple(openings),
            payment,
            backup,
            digest,
            cautions,
            closes,
            pinned,
            tuple(able),
            code,
        )


@dataclass
class RentPlan(Plan["Rented"]):
    """What will be opened, where, and what it takes together. digest: of a workload that is there already. closes: it
    will be signed that the leases close when their jobs are done. pinned: the workload, with what its image's tag
    stands for; `None` where it is there already. able: all machines that could have been taken. code: what of a folder
    goes in.
    """

    from_ledger = True
    client: PoolClient
    request: Rent
    wish: Wish
    listings: tuple[Listing, ...]
    openings: tuple[Opening, ...]
    payment: Payment
    backup: Listing | None = None
    digest: bytes | None = None
    cautions: tuple[str, ...] = ()
    closes: bool = False
    pinned: PinnedWorkload | None = None
    able: tuple[Listing, ...] = ()
    code: CodeContents | None = None
    _delivery: Delivery | None = None

    def to_json(self) -> dict[str, Json]:
        """The quote; of a gang the first one's, with what all take together."""
        money = self.client.money
        document = self.openings[0].quote.to_json(money)
        if len(self.openings) > 1:
            document["machines"] = [listing.id for listing in self.listings]
            document["together"] = money.exact(self.payment.amount)
        if self.backup is not None:
            document["backup"] = self.backup.id
        if self.request.at_most is not None:
            document["at_most"], document["cost_at_most"] = self.request.at_most, money.exact(self.most)
        if self.code is not None:
            document["code_files"], document["code_bytes"] = self.code.tree.files, self.code.tree.size
        return document | (self.pinned.to_json() if self.pinned is not None else {})

    @property
    def most(self) -> int:
        """What all of it may come to, token units: no extension goes beyond."""
        return sum(self._most_of(opening) for opening in self.openings)

    def _most_of(self, opening: Opening) -> int:
        quote = opening.quote
        return cost(quote.price, quote.share, self.request.at_most or quote.duration, up=True)

    def image_rows(self) -> tuple[tuple[str, str], ...]:
        """What the image's tag stands for, who has it, and how long it takes where it is not: rows for people."""
        if self.pinned is None or (image := self.pinned.image) is None:
            return ()
        having = sum(has_image(listing, image) for listing in self.able)
        said = (
            ("at hand", f"on {having} of the {len(self.able)} machines that match, as far as they have said"),
        )
        waits = tuple(
            (f"machine {listing.id}", _wait(cold_start(listing, image))) for listing in self.listings
        )
        return (*self.pinned.rows(), *said, *waits)

    async def prepare(self) -> AsyncIterator[Step]:
        """Hand the workload over: before any money moves."""
        machines = [*self.listings, *([self.backup] if self.backup else [])]
        sealed = self.client.home.sealed_workloads.get(self.digest) if self.digest else None
        if self.digest is not None and sealed is None:
            self._delivery = Delivery(self.digest, "ipfs")
            return
        workload = None
        if sealed is None:
            assert self.request.workload is not None
            workload = await own_workload(self.client, await self._with_code(self.request.workload))
            sealed = seal(workload, *map(_recipient, machines))
        with self.client.observer.working("Handing over the workload"):
            needed = () if self.request.without_agent else self.listings
            handed = await hand_over(self.client, machines, sealed, needed=needed)
        self._delivery = handed.delivery
        if self.request.workload is not None:
            note_workload(self.client, handed.delivery.digest, self.request.workload)
        if self.backup is not None and workload is not None:
            note_standby(self.client, handed.delivery.digest, workload)
        yield handed

    async def _with_code(self, workload: Workload) -> Workload:
        """It goes to IPFS where nobody may be there to hand it in: for a standby, a group, or without the agent."""
        if self.code is None:
            return workload
        later = self.backup is not None or self.client.other is not None or self.request.without_agent
        return workload.with_code(await on_ipfs(self.client, self.code) if later else named(self.code))

    async def steps(self) -> AsyncIterator[Step]:
        assert self._delivery is not None
        digest, backup = self._delivery.digest, ZERO_DIGEST
        if self.backup is not None:
            backup = backup_digest(self.backup.id, self.backup.machine.revision, 0, digest)
        with self.client.observer.working("Opening the lease"):
            sent_at = time.time()
            openings = [replace(opening, backup=backup) for opening in self.openings]
            opened = await self.client.renter().open_all(openings, digest)
            mined_at = time.time()
        made = LeasesOpened(opened[0].receipt, opened, self._delivery, sent_at, mined_at)
        yield made
        self._label(opened)
        self._note_kept(opened)
        orders = list[ClosingOrdered]()
        for one in opened if self.closes else ():
            lease = await self.client.lease(one.lease)
            orders.append(await order_closing(self.client, lease, digest))
            yield orders[-1]
        handed = list[CodeHandedIn]()
        async for code in self._hand_in(opened):
            handed.append(code)
            yield code
        leases = list[Lease]()
        if self.request.wait:
            for one, listing in zip(opened, self.listings, strict=True):
                leases.append(await _started(self.client, one, listing))
                yield Started(leases[-1])
        yield Rented(made.receipt, made, tuple(leases), tuple(orders), tuple(handed))

    def _label(self, opened: Sequence[Opened]) -> None:
        """What cannot be labelled any more is open all the same, and goes on."""
        names = self.client.home.names(self.client.deployment)
        for one in opened if self.request.labels else ():
            with contextlib.suppress(SettingsError):
                names.label(Kind.LEASE, one.lease, self.request.labels)

    def _note_kept(self, opened: Sequence[Opened]) -> None:
        """From here on a guard extends them. Whoever dies before this has leases that end after their first time."""
        asked, kept = self.request, self.client.home.kept_leases(self.client.deployment)
        if asked.at_most is None or asked.seconds is None:
            return
        for one, opening in zip(opened, self.openings, strict=True):
            rule = KeptLease(opening.quote.machine, asked.seconds, asked.at_most, self._most_of(opening))
            with contextlib.suppress(OSError):  # as with labels: it is open all the same, and costs no more
                kept.keep(one.lease, rule)

    async def _hand_in(self, opened: Sequence[Opened]) -> AsyncIterator[CodeHandedIn]:
        """Give the agents the code, which wait for it; whoever is not the tenant leaves it to IPFS."""
        if self.code is None or self.client.other is not None:
            return
        for one in opened:
            try:
                yield await hand_in(self.client, one.lease, self.code)
            except AgentUnreachable:
                if not self.request.without_agent:
                    raise


@dataclass(frozen=True)
class LeasesOpened(Sent):
    """They are on chain. sent_at, mined_at: this computer's clock, unix seconds."""

    opened: tuple[Opened, ...]
    delivery: Delivery
    sent_at: float
    mined_at: float


@dataclass(frozen=True)
class Started(Step):
    """A lease has started, and is billed from now on."""

    lease: Lease


@dataclass(frozen=True)
class Rented(Sent):
    """The leases are open. leases: as they have started, in the machines' order; none where nobody waited. orders: that
    they close when their jobs are done; none where nobody wanted that.
    """

    opening: LeasesOpened
    leases: tuple[Lease, ...]
    orders: tuple[ClosingOrdered, ...] = ()
    handed: tuple[CodeHandedIn, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The leases' ids."""
        return tuple(one.lease for one in self.opening.opened)

    def to_json(self, money: Money) -> dict[str, Json]:
        """How each lease stands; of a gang a list of that."""
        leases: list[dict[str, Json]] = [
            {"lease": format_lease(number), "number": str(number), "state": "opened"}
            for number in self.numbers
        ]
        for told, lease in zip(leases, self.leases, strict=False):
            told |= {"state": "active", "start": lease.start, "end": lease.end}
        for told, ordered in zip(leases, self.orders, strict=False):
            told |= ordered.to_json(money)
        for told, code in zip(leases, self.handed, strict=False):
            told |= code.to_json(money)
        return {
            **(leases[0] if len(leases) == 1 else {"leases": leases}),
            "delivered_by": self.opening.delivery.by,
            "sent_at": f"{self.opening.sent_at:.3f}",
            "mined_at": f"{self.opening.mined_at:.3f}",
        }


# ----------------------------------------------------------------------------------------------------------- planning


def _wish(client: PoolClient, asked: Rent) -> Wish:
    if asked.seconds is None:
        raise DurationMissing()
    most = None if asked.max_price is None else parse_amount(str(asked.max_price), client.money.decimals)
    price = asked.offer.offer.price if asked.offer else None
    return Wish(asked.share or WHOLE_GPU, asked.seconds, most, asked.allow_unverified, asked.spot, price)


def first_time(at_most: int) -> int:
    """Seconds that are paid first of a lease that may last so long, and at a time later, where nobody says."""
    return max(1, min(3_600, at_most // 2))


async def _leaving(client: PoolClient, asked: Rent, listings: Sequence[Listing]) -> tuple[str, ...]:
    """Of the machines that take no lease for as long as these may last."""
    if asked.at_most is None:
        return ()
    now, day = await client.now(), 86_400
    ends = [(listing.id, (listing.machine.terms.available_until_day + 1) * day) for listing in listings]
    return tuple(
        f"Machine {machine} takes no lease beyond {format_time(end)}: it may end then."
        for machine, end in ends
        if now + asked.at_most > end
    )


def _wait(seconds: float | None) -> str:
    if seconds is None:
        return "has not said how fast it fetches"
    return f"takes about {format_duration(math.ceil(seconds))} to fetch it" if seconds else "has it"


def _closes(client: PoolClient, asked: Rent) -> tuple[bool, tuple[str, ...]]:
    """Whether the leases are to close when their jobs are done, and what has to be said of it.

    Raises:
        CannotAct: it is wished for, and the account signs nothing here.
    """
    if (wanted := asked.close_when_done) is None and asked.workload is not None:
        wanted = asked.workload.kind is WorkloadKind.BATCH
    elif wanted is None:
        wanted = client.home.closing_orders(client.deployment).get(asked.again) is not None
    if client.other is None or not wanted:
        return wanted, ()
    advice = "order it once the lease is open." if client.group else "close the lease when its job is done."
    if asked.close_when_done:
        raise CannotAct("Whom you act for signs nothing as the lease is opened", advice)
    return False, (f"The job's end does not end the bill, since the account signs nothing here: {advice}",)


async def _as_before(client: PoolClient, asked: Rent) -> tuple[Rent, bytes | None]:
    """What is taken over from an earlier lease: machine, share, spot and, unless another is given, the workload."""
    if not asked.again:
        return asked, None
    record = await (await client.index()).lease(asked.again)
    lease, shown = await client.known_lease(asked.again), format_lease(asked.again)
    if lease.tenant != client.account or record is None:
        raise InvalidInput(f"Lease {shown} was {lease.tenant}'s: only its tenant rents it again.")
    if lease.state.live:
        raise StillLive(lease.id, lease.state.word)
    if (later := await client.newest_in_slot(lease.id)) != lease.id:
        raise RentedSince(lease.id, later)
    if asked.machines not in ((), (lease.machine,)):
        raise WasElsewhere(lease.id, lease.machine)
    if asked.workload is None and record.author != client.account:
        raise WorkloadOfAnother(lease.id, record.author)
    taken = replace(
        asked, machines=(lease.machine,), share=asked.share or lease.cells, spot=asked.spot or lease.spot
    )
    return taken, record.workload if asked.workload is None else None


async def _as_offered(client: PoolClient, asked: Rent) -> Rent:
    """What an offer says, checked against what is wished.

    Raises:
        FileRefused, InvalidInput: it cannot be used, or not so. RevisionChanged.
    """
    if asked.offer is None:
        return asked
    offer, money = asked.offer.offer, client.money
    if offer.expires_at < await client.now():
        raise FileRefused(f"The offer stood until {format_time(offer.expires_at)}: ask for another.")
    if int(offer.tenant, 16) and offer.tenant != client.account:
        raise FileRefused(
            f"The offer is for {offer.tenant} alone: choose its wallet, or ask for one of your own."
        )
    if asked.machines not in ((), (offer.machine,)):
        raise OfferElsewhere(offer.machine)
    machine = await client.pool.machine_of(offer.machine)
    if machine.revision != offer.revision:
        raise RevisionChanged(current=machine.revision)
    if await client.pool.offers_of(machine.provider, offer.nonce >> 8) >> (offer.nonce & 0xFF) & 1:
        raise FileRefused("The offer was used, or its provider has cancelled it: ask for another.")
    share, seconds = asked.share or offer.cells, asked.seconds or offer.duration
    if share > offer.cells or seconds > offer.duration:
        raise InvalidInput(
            f"The offer is of {format_share(offer.cells)} GPU for {format_duration(offer.duration)} at most, at "
            f"{money.show(offer.price)} per GPU-hour: take that or less."
        )
    return replace(asked, machines=(offer.machine,), share=share, seconds=seconds, spot=offer.spot)


async def _choose(
    client: PoolClient, asked: Rent, wish: Wish, image: ResolvedImage | None
) -> tuple[tuple[Listing, ...], tuple[str, ...], tuple[Listing, ...]]:
    """The machines that are taken, what speaks against them, and all that could be."""
    index = await client.index()
    records = await _asked_records(asked, await index.machines())
    with client.observer.working("Looking at the machines"):
        local = asked.workload is not None and asked.workload.image.startswith("sha256:")
        listings = await client.listings(records, parse_search(asked.search), at_hand=local)
        if not asked.machines:
            listings = [listing for listing in listings if listing.contact is not None] or listings
        now = await client.now()
        leases = [record.lease for record in await index.leases(live=True)]
        roomy = [
            replace(listing, machine=settleable(listing.machine, leases, wish, now)[0])
            for listing in listings
        ]
        version = await client.pool.params_version()
        able = _made_for(capable(roomy, asked.workload, wish.share), image)
        chosen, cautions = await _undisturbed(client, able, asked, wish, version, now)
        return chosen, cautions, tuple(able)


def _made_for(able: list[Listing], image: ResolvedImage | None) -> list[Listing]:
    """Those on whose processors the image runs. Raises NoSuchPlatform: it runs on none of them."""
    fit = [listing for listing in able if image is None or runs_on(listing, image)]
    if able and not fit and image is not None:
        raise NoSuchPlatform(image.named, platform_of(able[0]), image.platforms)
    return fit


async def _undisturbed(
    client: PoolClient, able: list[Listing], asked: Rent, wish: Wish, version: int, now: int
) -> tuple[tuple[Listing, ...], tuple[str, ...]]:
    """Of those that are able, the best that nobody will work on before the lease ends: those that would be taken are
    asked, since their documents on the chain are as old as they are.
    """
    while True:
        chosen, cautions = _best(able, asked, wish, version, now)
        fresh = await client.contacts().refreshed(chosen)
        near = {listing.id: why for listing in fresh if (why := _maintenance(listing, wish, now))}
        if not near:
            return tuple(fresh), (*cautions, *_fenced(fresh, asked.workload))
        able = [listing for listing in able if listing.id not in near]
        if not able:
            raise next(iter(near.values()))


def _maintenance(listing: Listing, wish: Wish, now: int) -> MaintenanceNear | None:
    """Why its agent would decline the lease, if it says that somebody will work on it."""
    window = listing.contact.maintenance_in(now, now + wish.duration) if listing.contact else None
    return None if window is None else MaintenanceNear(listing.id, *window)


def _fenced(listings: Sequence[Listing], workload: Workload | None) -> tuple[str, ...]:
    """What the hosts' owners keep from a lease on their networks, where its workload has use for one."""
    if workload is not None and workload.egress.mode == "none":
        return ()
    return tuple(
        f"On machine {listing.id}'s network: {'; '.join(words)}."
        for listing in listings
        if listing.contact and listing.contact.egress and (words := listing.contact.egress.words)
    )


def _best(
    able: Sequence[Listing], asked: Rent, wish: Wish, version: int, now: int
) -> tuple[tuple[Listing, ...], tuple[str, ...]]:
    """The machines that are taken of those that are able, and what speaks against them."""
    has = [listing for listing in able if asked.workload is None or lists_image(listing, asked.workload)]
    with contextlib.suppress(MarketError, ContractError):  # then one that may not have the image is taken
        return choose_gang(has, wish, version, now, asked.gang), ()
    chosen = choose_gang(able, wish, version, now, asked.gang)
    return chosen, tuple(
        f"Machine {listing.id} does not list that image: unless it was added since, it declines the lease, and all "
        "but the gas comes back."
        for listing in chosen
    )


async def _asked_records(asked: Rent, everything: Sequence[MachineRecord]) -> list[MachineRecord]:
    if not asked.machines:
        return [record for record in everything if record.machine.status is not MachineStatus.RETIRED]
    by_id = {record.machine.id: record for record in everything}
    for machine in asked.machines:
        if machine not in by_id:
            raise NoSuchMachine(machine)
    return [by_id[machine] for machine in asked.machines]


async def _standby(client: PoolClient, asked: Rent, wish: Wish, listings: Sequence[Listing]) -> Listing:
    """The machine that takes the lease over when its own goes down. It has to sell such a lease now, too."""
    if asked.backup in [listing.id for listing in listings]:
        raise StandbyForItself()
    record = await (await client.index()).machine(asked.backup or 0)
    if record is None:
        raise NoSuchMachine(asked.backup or 0)
    listing = replace((await client.machines().listings([record]))[0], machine=record.machine)
    capable([listing], asked.workload, wish.share)
    listed = replace(wish, offered=None)
    choose_gang([listing], listed, await client.pool.params_version(), await client.now(), 1)
    return listing


# ------------------------------------------------------------------------------------------------------ handing over


@dataclass(frozen=True)
class HandedOver(Delivered):
    """The sealed workload waits for every machine that may run it. unpinned: no IPFS node of one's own has it, though a
    group's proposal may be executed long after the machine has dropped it.
    """

    unpinned: bool = False


async def hand_over(
    client: PoolClient, machines: Sequence[Listing], sealed: bytes, *, needed: Sequence[Listing] = ()
) -> HandedOver:
    """Give each machine the sealed workload, and keep a copy. What a group rents may open days later: IPFS, too.

    needed: machines whose agents have to answer, since they are to start at once what is paid for.

    Raises:
        AgentUnreachable: one of these does not. DocumentUnavailable: one machine can have it neither from us nor from
        IPFS.
    """
    client.home.sealed_workloads.keep(sealed)
    at_once = {listing.id for listing in needed} if client.group is None else set[int]()
    deliveries = [
        await client.renter().deliver(listing, sealed, without_agent=listing.id not in at_once)
        for listing in machines
    ]
    pinned = [delivery for delivery in deliveries if delivery.by == "ipfs"]
    unpinned = False
    if client.group is not None and not pinned:
        try:
            await client.ipfs.put_block(sealed)
        except DatasetError:
            unpinned = True
    return HandedOver(pinned[0] if pinned else deliveries[0], unpinned)


def _recipient(listing: Listing) -> str:
    if listing.contact is None:
        raise DocumentUnavailable(f"Machine {listing.id} cannot be given a workload: {listing.missing}")
    return listing.contact.age_recipient


async def _started(client: PoolClient, opened: Opened, listing: Listing) -> Lease:
    """Waits until it has started, saying what the agent is doing. The lease is safe if this is interrupted."""
    shown = format_lease(opened.lease)
    asked_at = 0.0
    with client.observer.working(f"Waiting for machine {listing.id} to start lease {shown}") as update:

        async def report(lease: Lease) -> None:
            nonlocal asked_at
            if client.other is not None:
                return  # the agent tells the tenant alone
            if listing.contact is None or time.monotonic() - asked_at < STATUS_EVERY:
                return
            asked_at = time.monotonic()
            try:
                async with asyncio.timeout(STATUS_EVERY):
                    async with client.agent(listing.id, listing.machine.operator, listing.contact) as agent:
                        status = await agent.status(lease.id)
            except (AgentError, TimeoutError):
                return  # the chain says when it has started, whether the agent answers or not
            update(f"Lease {shown} is {status.phase}" + (f": {status.progress}" if status.progress else ""))

        return await client.renter().started(opened, report)
