"""What machines have at hand now: their agents are asked for the contact document as it stands, signed by the operator.

The chain names the document with which a machine came in, or which somebody paid to publish since. What changes daily
is asked of the agents themselves, when somebody searches by it: all of them together within one limit, each for a few
seconds, over TLS that trusts what the chain's document names and nothing else. An answer is kept for a minute, so is
the silence of one that gave none for ten, and what was signed last counts until something newer is.

Endpoints are a stranger's words: whoever searches so knocks where they point. Nothing is sent there before the other
side has shown the certificate that its document names, no redirect is followed, and no answer is read beyond its bound.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Final

import httpx

from leasehold._bounded import Unreadable, read_bounded
from leasehold.chain.typed import Contact as SignedContact
from leasehold.chain.typed import Domain, recover_signer
from leasehold.errors import AgentError, ProofError
from leasehold.files import write_private
from leasehold.market._agent_client import pinned
from leasehold.market._documents import Contact, canonical, parse_document
from leasehold.market._documents_cache import MAX_DOCUMENT_BYTES
from leasehold.market._errors import DocumentInvalid
from leasehold.market._listing import Listing
from leasehold.market.wire import MachineInfo

FRESH: Final = 60.0
"""Seconds for which an answer counts as what is so now."""
_REMEMBERED: Final = 600.0
_EACH: Final = 3.0
_PARALLEL: Final = 16
_MOST_ANSWER: Final = MAX_DOCUMENT_BYTES + (64 << 10)
_CLOCKS_APART: Final = 600
"""Seconds by which a host's clock may be ahead: what it says was issued later than that would outlive all to come."""

Ask = Callable[[Contact], Awaitable[bytes]]


@dataclass(frozen=True)
class Said:
    """What an operator signed: the document, and when. answered: unix seconds of the answer it came in."""

    operator: str
    document: bytes
    issued_at: int
    answered: float


class FreshContacts:
    """Kept in `folder`, a file for each machine. timeout: seconds for all of them together. clock: unix seconds."""

    def __init__(
        self,
        folder: Path,
        domain: Domain,
        *,
        timeout: float = 10.0,
        clock: Callable[[], float] = time.time,
        ask: Ask | None = None,
    ) -> None:
        self._folder = folder / f"{domain.chain_id}-{domain.verifying_contract.lower()[2:]}"
        self._domain, self._timeout, self._clock = domain, timeout, clock
        self._ask = ask or asked

    async def refreshed(self, listings: Sequence[Listing]) -> list[Listing]:
        """The same machines, each with the newest contact document that its operator has signed."""
        known = {listing.id: self._kept(listing) for listing in listings}
        wanted = [listing for listing in listings if self._stale(listing, known[listing.id])]
        missed = [listing for listing in wanted if self._missed(listing.id)]
        hopeful = [listing for listing in wanted if not self._missed(listing.id)]
        silent: set[int] = set()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timeout):
                for some in (hopeful, missed):
                    await self._gather(some, known, silent)
        for machine in silent:
            self._miss(machine)  # whoever was not even asked comes first the next time
        return [self._newest(listing, known[listing.id]) for listing in listings]

    async def answering(self, listings: Sequence[Listing]) -> list[int]:
        """The machines whose agents answer now at an address, whatever is remembered of them."""
        known = [listing for listing in listings if listing.contact is not None]
        said = await asyncio.gather(*map(self._said, known))
        return [listing.id for listing, answer in zip(known, said, strict=True) if answer is not None]

    def _stale(self, listing: Listing, said: Said | None) -> bool:
        if listing.contact is None:
            return False  # nobody knows whom to ask
        return said is None or not 0 <= self._clock() - said.answered < FRESH

    async def _gather(
        self, listings: Sequence[Listing], known: dict[int, Said | None], silent: set[int]
    ) -> None:
        """Asks for some at a time. silent: who was asked and has not answered; what came goes into `known`."""
        slots = asyncio.Semaphore(_PARALLEL)

        async def one(listing: Listing) -> None:
            async with slots:
                silent.add(listing.id)
                if (said := await self._said(listing)) is None:
                    return
                silent.discard(listing.id)
                kept = known[listing.id]
                if kept is None or said.issued_at >= kept.issued_at:
                    known[listing.id] = said
                    self._keep(listing.id, said)

        async with asyncio.TaskGroup() as tasks:
            for listing in listings:
                tasks.create_task(one(listing))

    async def _said(self, listing: Listing) -> Said | None:
        """What the agent answers, if its operator has signed that. One that never ends, or lies, is none."""
        assert listing.contact is not None
        try:
            async with asyncio.timeout(_EACH):
                info = MachineInfo.model_validate_json(await self._ask(listing.contact))
        except (AgentError, httpx.HTTPError, httpx.InvalidURL, OSError, Unreadable, ValueError):
            return None
        return signed_contact(info, listing, self._domain, self._clock())

    def _newest(self, listing: Listing, said: Said | None) -> Listing:
        if said is None or (listing.contact is not None and said.issued_at < listing.contact.issued_at):
            return listing
        return replace(listing, contact=_parsed(said.document))

    # ------------------------------------------------------------------------------------------------- what is kept

    def _kept(self, listing: Listing) -> Said | None:
        try:
            path = self._path(listing.id)
            kept = json.loads(path.read_bytes())
            document = canonical(kept["contact"])
            said = Said(str(kept["operator"]), document, int(kept["issued_at"]), path.stat().st_mtime)
            return said if said.operator == listing.machine.operator and _parsed(document) else None
        except (OSError, ValueError, TypeError, KeyError, DocumentInvalid):
            return None

    def _keep(self, machine: int, said: Said) -> None:
        kept = {"operator": said.operator, "issued_at": said.issued_at, "contact": json.loads(said.document)}
        path = self._path(machine)
        with suppress(OSError):  # a full disk: it is asked again the next time
            write_private(path, json.dumps(kept))
            os.utime(path, (said.answered, said.answered))
            path.with_suffix(".missed").unlink(missing_ok=True)

    def _missed(self, machine: int) -> bool:
        try:
            at = self._path(machine).with_suffix(".missed").stat().st_mtime
        except OSError:
            return False
        return 0 <= self._clock() - at < _REMEMBERED

    def _miss(self, machine: int) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self._path(machine).with_suffix(".missed")
            path.touch()
            os.utime(path, (self._clock(), self._clock()))

    def _path(self, machine: int) -> Path:
        return self._folder / f"{machine}.json"


def signed_contact(info: MachineInfo, listing: Listing, domain: Domain, now: float) -> Said | None:
    """The document in an agent's answer, if the machine's operator has signed it for this machine in this pool, and
    says so itself.
    """
    signed = next((one for one in info.signatures if one.machine == listing.id), None)
    if signed is None or signed.issuedAt > now + _CLOCKS_APART:
        return None
    try:
        document, operator = canonical(info.contact), listing.machine.operator
        said = SignedContact(listing.id, sha256(document).digest(), signed.issuedAt)
        signer = recover_signer(said.digest(domain), bytes.fromhex(signed.signature.removeprefix("0x")))
        same = _parsed(document).issued_at == signed.issuedAt
    except (ValueError, ProofError, DocumentInvalid):
        return None
    if signer.lower() != operator.lower() or not same:
        return None
    return Said(operator, document, signed.issuedAt, now)


async def asked(contact: Contact) -> bytes:
    """What the first of the agent's endpoints that answers says of itself. Raises AgentError, httpx.HTTPError, OSError
    or Unreadable where none does.
    """
    trouble: Exception = AgentError("It names no endpoint;", "choose another machine.")
    async with httpx.AsyncClient(
        verify=pinned(contact.certificate), trust_env=False, headers={"accept-encoding": "identity"}
    ) as client:
        for endpoint in contact.endpoints:
            if not endpoint.startswith("https://"):
                continue
            try:
                async with client.stream("GET", endpoint.rstrip("/") + "/v1/machine") as response:
                    response.raise_for_status()
                    return await read_bounded(response, _MOST_ANSWER)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                trouble = error
    raise trouble


def _parsed(document: bytes) -> Contact:
    return parse_document(Contact, document, "The contact document")
