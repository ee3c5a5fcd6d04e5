"""Who is told of his leases, and where: `/api/v1/alerts`, for the account that is signed in.

A gateway that sends wherever it is told would be a cannon. So a place gets one message with a code, and nothing else
until its account has brought that; how many such messages there are is bounded by the account, the caller's network,
the place, whose computer that is, and the day. Each message has a link that ends them; a place that ends what it never
confirmed gets no more of them from anybody. Where an address leads is looked at when something is sent
(`leasehold.guarding.AlertReach`).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from leasehold.errors import error_type
from leasehold.gateway._bodies import json_body, read_json
from leasehold.gateway._errors import GatewayRefusal
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._recipients import MOST_EACH, HeldRecipient, Recipients
from leasehold.gateway._refusals import BadRequest, Busy, NotHere
from leasehold.gateway._relaying import CallerOf
from leasehold.gateway._signing_in import TheSigningIn
from leasehold.gateway._watching import Ways, sent
from leasehold.guarding import (
    WATCHED_KINDS,
    AlertKind,
    AlertRecipient,
    AlertWay,
    AlertWishes,
    confirmation,
)
from leasehold.rates import RateLimit, TokenBuckets

DAY: Final = 86_400
LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Of a code: none that is taken for another."""
CODE_LETTERS: Final = 10
MOST_AT_ONCE: Final = {"all": 16, "caller": 2}
_MOST_BODY: Final = 8 * 1024
_KEYS: Final = 65_536

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{22}$")]
StopToken = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{43}$")]


@error_type(
    "nothing-sent",
    problem="Nothing could be sent there: {why}",
    advice="look at the address, and add it again.",
)
class NothingSent(GatewayRefusal):
    """The message with the code was not taken. why: nothing of the address is in it."""

    status = 409
    why: str


class WishedAlerts(BaseModel):
    """Of what somebody is told. before: seconds before a lease's end at which it is near."""

    model_config = ConfigDict(extra="forbid")

    kinds: Annotated[list[AlertKind], Field(min_length=1, max_length=len(WATCHED_KINDS))]
    before: Annotated[int, Field(ge=60, le=7 * DAY)] = 3_600

    def wishes(self) -> AlertWishes:
        """Raises BadRequest for what no gateway knows of."""
        if unknown := set(self.kinds) - set(WATCHED_KINDS):
            raise BadRequest(
                f"A gateway does not see {', '.join(sorted(unknown))};", "a guard of your own does."
            )
        return AlertWishes(frozenset(self.kinds), self.before)


class NewRecipient(WishedAlerts):
    """Where, and of what."""

    to: AlertRecipient


class BroughtCode(BaseModel):
    """What the place was sent."""

    model_config = ConfigDict(extra="forbid")

    code: Annotated[str, StringConstraints(max_length=40)]


class ToldRecipient(BaseModel):
    """One place. shown: as much of it as its account knows it by. Unix seconds; 0: never. failing: why it takes
    nothing, if so. waiting: alerts that it has not taken yet. secret: signs what a webhook gets; said once, when it is
    added.
    """

    id: str
    way: AlertWay
    shown: str
    kinds: list[AlertKind]
    before: int
    created_at: int
    confirmed_at: int
    sent_at: int
    failing: str
    waiting: int
    secret: str | None = None

    @classmethod
    def of(cls, held: HeldRecipient, secret: str | None = None) -> ToldRecipient:
        return cls(
            id=held.id,
            way=held.recipient.way,
            shown=held.recipient.shown,
            kinds=sorted(held.wishes.kinds),
            before=held.wishes.before,
            created_at=held.created_at,
            confirmed_at=held.confirmed_at,
            sent_at=held.sent_at,
            failing=held.failing,
            waiting=len(held.remembered.pending),
            secret=secret,
        )


class AllRecipients(BaseModel):
    """An account's places, the ways that this gateway has, and of what it can tell."""

    account: str
    recipients: list[ToldRecipient]
    ways: list[AlertWay]
    kinds: list[AlertKind]
    most: int


@dataclass(frozen=True)
class ConfirmationBounds:
    """How many messages with codes go out in a day: for an account, a caller's network, a place, a computer or mail
    domain, all accounts that never had a lease, and all.
    """

    account: int = 10
    network: int = 20
    place: int = 3
    site: int = 100
    strangers: int = 500
    altogether: int = 1_000


class Alerting:
    """What the routes need. has_leased: whether an account ever had a lease. sites: the gateway's own addresses, of
    which the first stands in links. caller_of: by what a caller is counted. clock: unix seconds.
    """

    def __init__(
        self,
        held: Recipients,
        ways: Ways,
        has_leased: Callable[[str], Awaitable[bool]],
        *,
        caller_of: CallerOf,
        sites: tuple[str, ...] = (),
        bounds: ConfirmationBounds = ConfirmationBounds(),  # it is not changed
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.caller_of = caller_of
        self.held = held
        self._ways = ways
        self._has_leased = has_leased
        self._sites = sites
        self._clock = clock
        self._places = Places(MOST_AT_ONCE)
        self._counts = {
            name: TokenBuckets(RateLimit(most, DAY), clock, _KEYS) for name, most in vars(bounds).items()
        }

    async def all_of(self, account: str) -> AllRecipients:
        """What there is of an account's, and what could be."""
        ways = [way for way in AlertWay if way is not AlertWay.MAIL or self._ways.server is not None]
        held = await self.held.of(account)
        return AllRecipients(
            account=account,
            recipients=[ToldRecipient.of(one) for one in held],
            ways=ways,
            kinds=list(WATCHED_KINDS),
            most=MOST_EACH,
        )

    async def add(self, account: str, said: NewRecipient, *, network: str, here: str) -> ToldRecipient:
        """Keeps a place unconfirmed, and sends its code there. here: the gateway's own address, where none is named.

        Raises:
            BadRequest, InvalidInput, Conflicting, QuotaUsed, KeepsNoMore, Busy, NothingSent: nothing is kept.
        """
        wishes, to = said.wishes(), said.to.checked(self._ways.reach)
        if to.way is AlertWay.MAIL and self._ways.server is None:
            raise BadRequest("This gateway sends no letters;", "name a webhook or a topic of ntfy.")
        now = int(self._clock())
        stranger = not await self._has_leased(account)
        await self.held.check(account, to, now, stranger=stranger)
        with self._places.taken(caller=network):
            self._count(account, network, to, stranger)
            code = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
            site = (self._sites[0] if self._sites else here).rstrip("/")
            made = HeldRecipient(
                id=secrets.token_urlsafe(16),
                account=account,
                recipient=to,
                secret=secrets.token_urlsafe(32),
                site=site,
                stop=secrets.token_urlsafe(32),
                wishes=wishes,
                created_at=now,
            )
            await self.held.add(made, code, stranger=stranger)  # before it is sent: its link ends it
            if problem := await sent(self._ways, made, confirmation(account, site, code, now)):
                await self.held.remove(account, made.id)
                raise NothingSent(problem)
        return ToldRecipient.of(made, made.secret if to.way is AlertWay.WEBHOOK else None)

    async def confirm(self, account: str, recipient: str, code: str) -> ToldRecipient:
        """From now on it is told. Raises NotHere, Conflicting, BadRequest."""
        held = await self._one(account, recipient)
        now, plain = int(self._clock()), code.strip().replace("-", "").replace(" ", "").upper()
        if not await self.held.confirm(account, recipient, plain, now):
            raise BadRequest("That is not the code that was sent there;", "look at it again.")
        return ToldRecipient.of(replace(held, confirmed_at=now))

    async def wish(self, account: str, recipient: str, said: WishedAlerts) -> ToldRecipient:
        """Has it told of other things. Raises NotHere, BadRequest."""
        if not await self.held.wish(account, recipient, said.wishes()):
            raise _none()
        return ToldRecipient.of(await self._one(account, recipient))

    async def remove(self, account: str, recipient: str) -> None:
        """Has it told of nothing more; nothing is kept of it. Raises NotHere."""
        if not await self.held.remove(account, recipient):
            raise _none()

    async def stop(self, token: str) -> None:
        """Ends what has a link with that token, if anything has."""
        await self.held.stop(token, int(self._clock()))

    async def _one(self, account: str, recipient: str) -> HeldRecipient:
        held = next((one for one in await self.held.of(account) if one.id == recipient), None)
        if held is None:
            raise _none()
        return held

    def _count(self, account: str, network: str, to: AlertRecipient, stranger: bool) -> None:
        """Raises Busy. The caller's own bounds first: what he has used up costs nobody else anything."""
        keys = {"account": account, "network": network, "place": to.key}
        # Webhooks at a mail domain's own host use up none of its letters.
        keys["site"] = f"{'mail' if to.way is AlertWay.MAIL else 'web'} {to.site}"
        keys |= {"strangers": ""} if stranger else {}
        for name, key in (keys | {"altogether": ""}).items():
            if wait := self._counts[name].wait(key):
                raise Busy("As many places were asked for a code today as may be;", "try again later.", wait)


def _none() -> NotHere:
    return NotHere("This account is not told there;", "look at the list.")


router = APIRouter(prefix="/api/v1/alerts", tags=["alerts"])
TheAlerting = Annotated[Alerting, Depends(PartOf(Alerting))]


@router.get("")
async def recipients(
    alerting: TheAlerting, signing_in: TheSigningIn, request: Request, response: Response
) -> AllRecipients:
    """Where the account is told of its leases."""
    response.headers["Cache-Control"] = "no-store"
    return await alerting.all_of((await signing_in.signed_in(request)).account)


@router.post("", status_code=201, openapi_extra=json_body(NewRecipient))
async def add_recipient(
    alerting: TheAlerting, signing_in: TheSigningIn, request: Request, response: Response
) -> ToldRecipient:
    """Sends a code to a place; what is told there begins when the account has brought it."""
    response.headers["Cache-Control"] = "no-store"
    account = (await signing_in.signed_in(request)).account
    here = signing_in.here(request)
    said = await read_json(request, NewRecipient, _MOST_BODY)
    return await alerting.add(account, said, network=alerting.caller_of(request), here=here)


@router.post("/stop/{token}", status_code=204)
async def stop(alerting: TheAlerting, token: StopToken) -> None:
    """Ends what is told at a place, for whoever has the link of a message that came there. Nobody need be signed in,
    and no answer says whether there was anything.
    """
    await alerting.stop(token)


@router.post("/{recipient}/code", openapi_extra=json_body(BroughtCode))
async def confirm_recipient(
    alerting: TheAlerting, signing_in: TheSigningIn, request: Request, recipient: Id
) -> ToldRecipient:
    """Brings the code that a place was sent: it is told from now on."""
    session = await signing_in.signed_in(request)
    said = await read_json(request, BroughtCode, _MOST_BODY)
    return await alerting.confirm(session.account, recipient, said.code)


@router.put("/{recipient}/kinds", openapi_extra=json_body(WishedAlerts))
async def wish_alerts(
    alerting: TheAlerting, signing_in: TheSigningIn, request: Request, recipient: Id
) -> ToldRecipient:
    """Of what a place is told."""
    session = await signing_in.signed_in(request)
    said = await read_json(request, WishedAlerts, _MOST_BODY)
    return await alerting.wish(session.account, recipient, said)


@router.delete("/{recipient}", status_code=204)
async def remove_recipient(
    alerting: TheAlerting, signing_in: TheSigningIn, request: Request, recipient: Id
) -> None:
    """Has a place told of nothing more, and forgets it."""
    await alerting.remove((await signing_in.signed_in(request)).account, recipient)
