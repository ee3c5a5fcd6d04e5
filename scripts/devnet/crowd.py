"""The people of a market that has been in use: accounts with money, and machines that their providers register.

Keys follow from what each is for, so that everybody knows them: they are for development chains alone.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from devnet.burst import Burst, Sending
from devnet.catalogue import DAY, PROVIDERS, OfferedMachine
from devnet.pool import consent_of
from devnet.serving import certificate
from devnet.world import World
from leasehold.chain import Committee, Deployment, LocalSigner, Pool, Terms
from leasehold.datasets import Ipfs, new_identity, recipient_of
from leasehold.market import canonical

TENANTS: Final = 14
VALIDATORS: Final = 7
_TRANSFER, _APPROVE = bytes.fromhex("a9059cbb"), bytes.fromhex("095ea7b3")
_COINS: Final = 10**21
_TOKENS: Final = 25_000
_LEDGER: Final = 800
"""Whole tokens that providers and validators have in the pool, for measurements and seats."""


@dataclass
class Standing:
    """A machine that is registered. number: the pool's, once it has one. hourly: what it asks now, hundredths of a
    token. contact: its contact document. leased, withheld: cells, as bits. down: since an outage began, and until it
    ends; closed: to new leases; short: of stake; measured: by a committee.
    """

    offered: OfferedMachine
    provider: str
    operator: str
    hourly: int
    contact: dict[str, Any] = field(default_factory=dict)
    number: int = 0
    revision: int = 1
    leased: int = 0
    withheld: int = 0
    down: bool = False
    closed: bool = False
    short: bool = False
    measured: bool = False

    @property
    def busy(self) -> int:
        """Cells in which no lease can be put."""
        return self.leased | self.withheld


@dataclass
class Crowd:
    """Providers by their place in `PROVIDERS`, tenants and validators, in a world's pool."""

    world: World
    documents: dict[bytes, bytes] = field(default_factory=dict)

    @cached_property
    def deployment(self) -> Deployment:
        return Deployment.load(self.world.deployment)

    @cached_property
    def unit(self) -> int:
        """A whole token, in its units."""
        return int(10**self.deployment.token_decimals)

    @cached_property
    def providers(self) -> list[str]:
        return [_signer("provider", place).address for place in range(len(PROVIDERS))]

    @cached_property
    def tenants(self) -> list[str]:
        return [_signer("tenant", place).address for place in range(TENANTS)]

    @cached_property
    def validators(self) -> list[str]:
        return [_signer("validator", place).address for place in range(VALIDATORS)]

    def key(self, kind: str, place: int) -> str:
        """The key of a `tenant`, `provider` or `validator`, in hexadecimal: for who acts as one of them."""
        return _key(kind, place)

    def come(self, burst: Burst, machines: Sequence[OfferedMachine], at: int) -> None:
        """Everybody gets money, lets the pool take it, and buys the seats that measure. at: unix seconds."""
        pool, token = self.deployment.controller, self.deployment.token
        payers = [*self.providers, *self.tenants, *self.validators]
        everybody = [*payers, *(_signer("operator", machine.number).address for machine in machines)]
        burst.anvil.requests([("anvil_setBalance", (account, hex(_COINS))) for account in everybody])
        bank, amount = burst.anvil.accounts[0].address, _TOKENS * self.unit
        burst.send([Sending(bank, token, _TRANSFER + _two(account, amount)) for account in payers], at)
        burst.send([Sending(account, token, _APPROVE + _two(pool, 2**255)) for account in payers], at + 60)
        ledgers = [*self.providers, *self.validators]
        deposits = [self.to_pool(account, "deposit", account, _LEDGER * self.unit) for account in ledgers]
        burst.send(deposits, at + 120)
        join = Committee.encode("join", 1)
        burst.send([Sending(account, self.committee, join) for account in self.validators], at + 180)

    def to_pool(self, sender: str, function: str, *values: object) -> Sending:
        """A call of the pool."""
        return Sending(sender, self.deployment.controller, Pool.encode(function, *values))

    @cached_property
    def companions(self) -> dict[str, str]:
        """Addresses of the pool's companions, by their names."""
        (answer,) = Burst(self.world.anvil).read([(self.deployment.controller, Pool.encode("companions"))])
        words = [f"0x{answer[place + 12 : place + 32].hex()}" for place in range(0, 128, 32)]
        return dict(zip(("committee", "faults", "reputation", "directory"), words, strict=True))

    @property
    def committee(self) -> str:
        return self.companions["committee"]

    def joining(self, machines: Sequence[OfferedMachine], at: int) -> list[tuple[Standing, Sending]]:
        """The machines' registrations. Their documents wait in `documents`."""
        return asyncio.run(self._joining(machines, at))

    async def _joining(self, machines: Sequence[OfferedMachine], at: int) -> list[tuple[Standing, Sending]]:
        return [await self._register(machine, at) for machine in machines]

    async def _register(self, machine: OfferedMachine, at: int) -> tuple[Standing, Sending]:
        provider, operator = self.providers[machine.place], _signer("operator", machine.number)
        consent = await consent_of(self.deployment, provider, operator)
        contact = machine.contact(recipient_of(new_identity()), self._certificate, at)
        standing = Standing(machine, provider, operator.address, machine.hourly, contact)
        sending = self.to_pool(
            *(provider, "register", self.terms(standing, at), machine.gpus, machine.share),
            *(self._document(machine.hardware()), self._document(contact), operator.address, consent),
        )
        return standing, sending

    def heard_of(self, standing: Standing, at: int) -> Sending:
        """Its operator names the contact document anew, as an agent does that goes on for weeks. at: unix seconds."""
        digest = self._document({**standing.contact, "issued_at": at})
        return self.to_pool(standing.operator, "setContact", standing.number, digest)

    def terms(self, standing: Standing, at: int) -> Terms:
        """What it asks at its present price."""
        number, price = standing.offered.number, standing.hourly * self.unit // 100
        return Terms(
            price=price,
            spot_price=price * (45 + number % 20) // 100 if standing.offered.spot else 0,
            min_duration=(600, 1_800, 3_600)[number % 3],
            max_duration=(7, 14, 30)[number % 3] * DAY,
            trial=(300, 600, 0, 900)[number % 4],
            available_until_day=at // DAY + 60 + number % 60,
        )

    def publish(self) -> None:
        """The documents of all machines that have joined, into the provider's IPFS node."""
        asyncio.run(self._publish())

    async def _publish(self) -> None:
        async with Ipfs(self.world.provider_ipfs.api) as ipfs:
            await asyncio.gather(*(ipfs.put_block(document) for document in self.documents.values()))

    def _document(self, document: dict[str, Any]) -> bytes:
        raw = canonical(document)
        digest = hashlib.sha256(raw).digest()
        self.documents[digest] = raw
        return digest

    @cached_property
    def _certificate(self) -> str:
        """Of a key that is thrown away: nobody can answer in its name."""
        with TemporaryDirectory() as folder:
            return certificate(Path(folder))[0].read_text()


def _signer(kind: str, place: int) -> LocalSigner:
    return LocalSigner(_key(kind, place))


def _key(kind: str, place: int) -> str:
    return "0x" + hashlib.sha256(f"a used market's {kind} {place}".encode()).hexdigest()


def _two(account: str, amount: int) -> bytes:
    return bytes.fromhex(account[2:]).rjust(32, b"\0") + amount.to_bytes(32, "big")
