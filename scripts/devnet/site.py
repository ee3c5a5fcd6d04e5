"""A registered machine with its owner, its agent and a renter, in a `World`: what end-to-end tests act upon."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, overload

import docker

from devnet import images
from devnet.account import Account
from devnet.engine import Engine
from devnet.patience import patient
from devnet.world import PASSWORD, Host, Party, World
from leasehold.chain import Deployment, Event, Keystore, LocalSigner, Pool, Rpc, decode_log, parse_lease
from leasehold.chain.typed import Domain, SessionKey
from leasehold.market import AgentClient, Contact, canonical, parse_document
from leasehold.workload import Workload, seal

LABEL = "leasehold.lease"
GENESIS = "leasehold.genesis"
E = TypeVar("E", bound=Event)
T = TypeVar("T")
_numbers = itertools.count(1)


@dataclass
class Site:
    """A registered machine with its owner and its agent, and a renter who may pay for it."""

    world: World
    provider: Party
    renter: Party
    host: Host
    machine: int
    engine: Engine

    def seal(self, workload: Workload) -> bytes:
        """The workload as only this machine's agent can read it."""
        return seal(workload, self.contact.age_recipient)

    @cached_property
    def contact(self) -> Contact:
        """How the agent is reached, as the chain names it."""
        file = json.loads((self.host.folder / "machine.json").read_text())
        return parse_document(Contact, canonical(file["contact"]), "The contact document")

    def agent(self, act: Callable[[AgentClient], Awaitable[T]], signer: LocalSigner | SessionKey) -> T:
        """What `act` gives, with a client of this machine's agent."""

        async def go() -> T:
            facts = self.world.facts
            domain = Domain(facts["chain_id"], facts["controller"])
            async with AgentClient(
                self.contact, domain, self.machine, self.operator.address, signer
            ) as client:
                return await act(client)

        return asyncio.run(go())

    @cached_property
    def operator(self) -> Account:
        """The machine's agent's key, beside the agent."""
        key = (self.host.folder / "state" / "operator.key").read_text().strip()
        return Account(self.world, LocalSigner(key))

    @cached_property
    def owner(self) -> Account:
        """The provider, where a test wants one transaction and no command line."""
        keys = Keystore(self.provider.home / "keys")
        (wallet,) = keys.list()
        return Account(self.world, asyncio.run(keys.unlock(wallet.name, PASSWORD)))

    @property
    def tiny(self) -> str:
        return images.tiny().id

    def workload(self, **fields: Any) -> Path:
        """A workload file: busybox that sleeps, unless `fields` say otherwise."""
        document = {
            "version": 1,
            "image": self.tiny,
            "command": ["sleep", "3600"],
            "egress": "none",
            **fields,
        }
        path = self.renter.home / f"workload-{next(_numbers)}.json"
        path.write_text(json.dumps(document))
        return path

    def rent_arguments(self, *more: str, **fields: Any) -> tuple[str, ...]:
        """What to type for renting this machine for an hour."""
        file = str(self.workload(**fields))
        flags = () if "--for" in more else ("--for", "1h")
        return (
            "rent",
            "--file",
            file,
            "--machine",
            str(self.machine),
            *flags,
            "--allow-unverified",
            "--yes",
            *more,
        )

    def rent(self, *more: str, **fields: Any) -> str:
        """Rents and waits until it runs; the lease as people write it."""
        return str(self.renter(*self.rent_arguments(*more, **fields))["lease"])

    # ------------------------------------------------------------------------------------------- what is so

    def containers(self, lease: str | None = None) -> list[dict[str, Any]]:
        """The engine's containers, running or not, of that lease of this machine, or of all of its leases.

        Those of another chain that has the same addresses are not among them: several share an engine.
        """
        labels = [LABEL, f"{GENESIS}={self.world.facts['genesis'].lower()}"]
        with self.engine.client() as client:
            found = [
                each.attrs
                for each in client.containers.list(all=True, filters={"label": labels}, ignore_removed=True)
            ]
        mark = f"/{'' if lease is None else parse_lease(lease)}"
        return [
            each
            for each in found
            if each["Config"]["Labels"][LABEL].endswith(f"@{self.machine}")
            and (lease is None or f"{mark}@" in each["Config"]["Labels"][LABEL])
        ]

    @property
    def serves(self) -> bool:
        """Whether the agent has said that it knows its machine."""
        status = self.host.folder / "state" / "status.json"
        return status.exists() and self.machine in [
            each["machine"] for each in json.loads(status.read_text())["machines"]
        ]

    def logs(self, lease: str) -> str:
        """What the lease's container has written; nothing while there is none, or one makes way for the next."""
        written = ""
        with self.engine.client() as client:
            for container in self.containers(lease):
                with contextlib.suppress(docker.errors.APIError):  # it is gone, or about to be
                    written = client.containers.get(container["Id"]).logs().decode()
        return written

    @overload
    def events(self, kind: None = None, lease: str | None = None) -> list[Event]: ...

    @overload
    def events(self, kind: type[E], lease: str | None = None) -> list[E]: ...

    def events(self, kind: type[Event] | None = None, lease: str | None = None) -> list[Any]:
        """Events of the pool and its companions on the canonical chain, oldest first."""
        query = {"address": self.sources, "fromBlock": "0x0", "toBlock": "latest"}
        found = [decode_log(raw) for raw in self.world.anvil.request("eth_getLogs", query)]
        number = None if lease is None else parse_lease(lease)
        return [
            event
            for event in found
            if event is not None
            and (kind is None or isinstance(event, kind))
            and (number is None or getattr(event, "lease", None) == number)
        ]

    def here(self, kind: type[E]) -> list[E]:
        """Those of `events` that are about this machine."""
        return [event for event in self.events(kind) if getattr(event, "machine", None) == self.machine]

    @cached_property
    def sources(self) -> list[str]:
        """The contracts whose events count: the pool's and its companions'."""

        async def go() -> list[str]:
            async with Rpc([self.world.anvil.url]) as rpc:
                return await Pool(rpc, Deployment.load(self.world.deployment)).event_sources()

        return asyncio.run(go())

    def until(self, holds: Callable[[], Any], seconds: float = patient(60)) -> Any:
        """Looks again whenever the agent's log grows, or ten times a second, until `holds()`; returns what it gave."""
        return self.host.until(holds, seconds)


@contextlib.contextmanager
def make_site(world: World, *terms: str, engine: Engine | None = None, **settings: Any) -> Iterator[Site]:
    """A new machine, its agent serving. `terms` are more of `provider join`'s arguments, `settings` the agent's.

    engine: its own, where another machine's agent runs meanwhile.
    """
    number = next(_numbers)
    provider = world.party(f"provider-{number}", world.provider_ipfs)
    renter = world.party(f"renter-{number}")
    addresses: dict[str, str] = {}
    for party in (provider, renter):
        addresses[party.name] = party.wallet(party.name)
        world.fund(addresses[party.name], tokens=10_000)
    renter("wallet", "approve", "unlimited", "--yes")
    host = world.host(f"host-{number}", engine, **({"owner": addresses[provider.name]} | settings))
    described = str(host.describe())
    joined = provider("provider", "join", described, "--price", "2.40", *terms, "--approve", "--yes")
    site = Site(world, provider, renter, host, joined["machine"], engine or world.engine)
    with world.running(host):
        try:
            host.serving()
            yield site
        finally:
            host.kill()
            with site.engine.client() as client:
                for container in site.containers():
                    with contextlib.suppress(docker.errors.NotFound):
                        client.containers.get(container["Id"]).remove(force=True)
            unmount_below(host.folder)


def unmount_below(folder: Path) -> None:
    """What an agent that was killed in the middle of a lease has left mounted: the volumes of its tenants."""
    places = [line.split(" ")[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in sorted((place for place in places if place.startswith(f"{folder}/")), reverse=True):
        subprocess.run(["umount", place], check=True)
