"""What somebody sources who goes on by hand in a world that runs: of `make demo-live`, and of the documents' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from devnet.world import Host, Party, World

_OF_THE_RUN = ("LEASEHOLD_PASSWORD", "LEASEHOLD_CACHE", "LEASEHOLD_AGENT_CONFIG")


def live_environment(newcomer: Party, host: Host, image: str, commands: Path) -> str:
    """A newcomer's settings, those of a host of theirs, an image that machines have, and where the commands are."""
    settings = {**newcomer.environment, **host.environment}
    lines = [
        f"export {key}='{value}'"
        for key, value in sorted(settings.items())
        if key.startswith("LEASEHOLD_") and key not in _OF_THE_RUN
    ]
    return "\n".join([*lines, f"export IMAGE='{image}'", f"PATH={commands}:$PATH", ""])


def who_can_be_played(world: World) -> Iterator[str]:
    """Whom a browser's wallet can be in a market that has been used, by keys that everybody knows. Imported here: the
    documents' tests do without.
    """
    from devnet.crowd import Crowd

    crowd = Crowd(world)
    yield "To be somebody there, import one of these keys into your wallet; they are for this chain alone:"
    yield f"    a renter with leases, money and gas   {crowd.key('tenant', 0)}"
    yield f"    a provider with machines              {crowd.key('provider', 0)}"
    yield "The page has your wallet add the network. An account of your own gets gas and test dollars by"
    yield "    . build/live.env && python scripts/faucet.py ADDRESS"


def others(machine: int) -> tuple[str, str]:
    """What is so about the machines that came before the one that is real."""
    return (
        f"Machine {machine}, the cheapest, is this host: it can be rented. The {machine - 1} others are made up:",
        "they stand on the chain like any, but no agent answers for them, and their pages say so.",
    )
