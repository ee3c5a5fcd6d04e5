"""The guides about leases that change and about groups, typed word for word; what they show is what happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet import images
from devnet.desk import ROOT, Desk
from devnet.engine import Engine
from devnet.listeners import listening
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.transcript import blocks
from devnet.walkthrough import Walkthrough
from devnet.world import Party, World
from leasehold.chain import LeaseStarted

from .test_bad_input import address
from .test_reorg import another_chain

pytestmark = pytest.mark.slow

GUIDES = ROOT / "docs/guides"
SAVES = (
    "printf '#!/bin/sh\\necho checkpoint saved\\n' > /save-checkpoint; chmod +x /save-checkpoint; sleep 7200"
)
SIGNERS = ("ada", "bob", "cyd")


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    """The only machine of its pool, which sells parts of itself, and time that can be taken back."""
    with another_chain(world) as chain, make_site(chain, "--spot-price", "1.2", tick_seconds=0.5) as site:
        yield site


@contextlib.contextmanager
def another_machine(world: World) -> Iterator[Site]:
    """Another provider's, with an engine of its own."""
    with Engine() as engine:
        images.load(engine.url, images.tiny())
        with make_site(world, engine=engine, tick_seconds=0.5) as site:
            yield site


@pytest.fixture
def desk(nursery: Nursery, tmp_path: Path) -> Desk:
    return Desk(tmp_path, nursery)


def somebody(site: Site, name: str, tokens: int = 0) -> Party:
    """Somebody new who has a wallet, gas and so many tokens."""
    party = site.world.party(f"{name}-of-{site.renter.name}")
    site.world.fund(party.wallet(name), tokens=tokens)
    return party


def test_what_can_happen_to_a_lease(alone: Site, desk: Desk) -> None:
    spot = alone.rent("--spot", "--share", "1/2", "--for", "4h", command=["sh", "-c", SAVES])
    alone.rent("--share", "1/4", "--for", "4h")
    friend = somebody(alone, "friend")

    def notice() -> None:
        alone.provider("provider", "terminate", spot, "--yes")
        alone.until(
            lambda: (
                alone.renter.run("exec", spot, "--", "test", "-e", "/run/leasehold/notice.json").returncode
                == 0
            )
        )

    def down() -> None:
        second = undo.enter_context(another_machine(alone.world))
        alone.rent("--share", "1/8", "--backup", str(second.machine), "--for", "4h")
        terminals["host"].run("leasehold-agent report --yes")

    moments = {
        "the provider has given notice": notice,
        "the trial": lambda: alone.world.anvil.advance(601),
        "the machine of a lease with a standby is down": down,
    }
    terminals = {
        "": desk.of(alone.renter),
        "friend": desk.of(friend),
        "host": desk.terminal(alone.host.name, alone.host.environment),
    }
    inside = {"lease": ("", f'leasehold exec {spot} -- sh -c "$(cat {{}})"')}
    with Walkthrough(terminals, moments, inside) as reader, contextlib.ExitStack() as undo:
        reader.define(FRIEND=address(friend))
        reader.walk(GUIDES / "changes.md")


def test_leases_that_are_looked_after(alone: Site, desk: Desk) -> None:
    """With one lease that a rule extends, and one that ends within the hour."""
    party = somebody(alone, "looks-after", tokens=100)
    me = address(party)
    party("wallet", "deposit", "50", "--approve", "--yes")
    machine = ("--machine", str(alone.machine), "--allow-unverified", "--yes", "--share", "1/8")
    file = ("--file", str(alone.workload()))
    party("rent", *file, *machine, "--for", "45m", "--name", "night")
    party("rent", *file, *machine, "--for", "4h", "--label", "project=x")
    (toml, *_) = blocks(GUIDES / "guard.md", "toml")

    with listening() as listener:

        def written() -> None:
            topic = f'[guard.ntfy]\nurl = "http://127.0.0.1:{listener.http}/ntfy"'
            (party.home / "config.toml").write_text(toml.text.replace("[guard.ntfy]", topic))

        def hired() -> None:
            guard = party.wallet("guard")
            alone.world.fund(guard)
            terminals[""].run(f"export ME={me} GUARD={guard}")

        moments = {
            "that stands there": written,
            "the first alert has come": lambda: listener.until(
                lambda: "(night) ends" in str(listener.of("ntfy"))
            ),
            "the guard has a wallet with coins for gas": hired,
        }
        wallets = {**party.environment, "LEASEHOLD_WALLET": "looks-after"}
        terminals = {name: desk.terminal(name or "reader", wallets) for name in ("", "guard")}
        with Walkthrough(terminals, moments) as reader:
            reader.walk(GUIDES / "guard.md")
    said = str(listener.of("ntfy"))
    assert "night" in said
    unit = party.home / ".config/systemd/user/leasehold-guard.service"
    assert alone.world.anvil.url not in unit.read_text()


def test_three_people_two_of_whom_sign(alone: Site, desk: Desk) -> None:
    people = {name: somebody(alone, name, tokens=100 * (name == "cyd")) for name in (*SIGNERS, "dan", "eve")}
    with Walkthrough({name: desk.of(party) for name, party in people.items()}) as reader:

        def signed(kind: str, *signers: str) -> str:
            """The one proposal of that kind, approved by those; its name without an ending."""
            (proposal,) = desk.folder.glob(f"{kind}-????????.json")
            for name in signers:
                mine = str(proposal.with_suffix(f".{name}.sig.json"))
                people[name]("group", "approve", str(proposal), "--output", mine, "--yes")
            return str(proposal.with_suffix(""))

        def delegated() -> None:
            stem = signed("set", "ada", "bob")
            files = [f"{stem}.{name}.sig.json" for name in ("ada", "bob")]
            people["cyd"]("group", "execute", f"{stem}.json", *files, "--yes")

        def taken_over() -> None:
            addresses = [address(people[name]) for name in ("ada", "eve", "cyd")]
            arguments = [part for one in addresses for part in ("--signer", one)]
            people["eve"]("group", "create", "lab2", "--threshold", "2", *arguments)
            signed("rotate", "ada", "eve")

        def compared() -> None:
            (known,) = people["ada"]("group", "list")
            reader.define(LAB=str(known["address"]))

        reader.moments = {
            "all three have compared the address": compared,
            "ada and bob have approved the session": lambda: signed("session", "ada", "bob"),
            "the lease has started": lambda: alone.until(lambda: alone.events(LeaseStarted)),
            "the delegate was set": delegated,
            "two of the new group have approved": taken_over,
        }
        reader.define(IMAGE=alone.tiny, **{name.upper(): address(party) for name, party in people.items()})
        reader.walk(GUIDES / "two-signatures.md")
