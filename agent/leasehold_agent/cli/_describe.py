"""`describe`: what this host is, how it is reached, and whom its key serves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Annotated

import typer

from leasehold.datasets import Ipfs
from leasehold.errors import DatasetError
from leasehold.files import replace_file
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent._serve import disk_for_sale
from leasehold_agent.chain import consent, remember_owner
from leasehold_agent.cli._console import terminal
from leasehold_agent.documents import (
    canonical,
    concerns,
    contact_document,
    hardware_document,
    lacks,
    reach_of,
)
from leasehold_agent.engine import Engine
from leasehold_agent.host import load_identity, take_inventory
from leasehold_agent.store import DatasetCache


def describe(
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", metavar="ADDRESS", help="The provider whose machines this host serves from now on."
        ),
    ] = None,
) -> None:
    """Print machine.json: what this host is, how it is reached, and that its key serves its owner. Makes the host's
    keys at the first call.
    """
    settings = load_settings()
    if owner is not None:
        remember_owner(settings, owner)
    print(json.dumps(asyncio.run(_describe(settings)), indent=2, sort_keys=True))


async def _describe(settings: AgentSettings) -> dict[str, object]:
    identity, inventory, engine = load_identity(settings.state_dir), take_inventory(), Engine(settings.docker)
    try:
        signed = await consent(settings, identity, int(time.time()))
        async with Ipfs(settings.ipfs) as ipfs:
            facts = await engine.facts()
            for sentence in lacks(facts):
                terminal(stderr=True).print(sentence, style="yellow", markup=False)
            cache = DatasetCache(settings.state_dir / "datasets", ipfs, room=0, reserve=0, wait=0)
            disk = disk_for_sale(facts, settings)
            hardware = hardware_document(inventory, facts, settings, disk)
            for concern in await asyncio.to_thread(concerns, facts, gpus=bool(inventory.gpus)):
                terminal(stderr=True).print(concern, style="yellow", markup=False)
            contact = await contact_document(
                settings, identity, ipfs, images=await engine.images(), datasets=cache.public()
            )
            terminal(stderr=True).print((await reach_of(settings, ipfs)).sentence, markup=False)
            replace_file(settings.state_dir / "contact.json", canonical(contact))
            for document in (hardware, contact):
                with contextlib.suppress(DatasetError):  # `leasehold provider join` pins them as well
                    await ipfs.put_block(canonical(document))
    finally:
        await engine.aclose()
    return {
        "hardware": hardware,
        "contact": contact,
        "operator": identity.operator.address,
        "suggested": {
            "gpus": inventory.units(settings.cpu_units),
            "smallest_share": inventory.smallest_share,
        },
        "consent": signed,
    }
