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
from leasehold.market import canonical
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent._serve import disk_for_sale, mps_host
from leasehold_agent.cards import Asked, HardwareFiles, Mig, choose_part, fences_of
from leasehold_agent.chain import consent, owner_of, remember_owner
from leasehold_agent.checks import look
from leasehold_agent.cli._check import show
from leasehold_agent.cli._console import terminal
from leasehold_agent.cli._pool import parts_in_service
from leasehold_agent.documents import contact_document, hardware_document, keep_measured, reach_of
from leasehold_agent.engine import Engine
from leasehold_agent.host import Disks, load_identity, take_inventory
from leasehold_agent.store import DatasetCache


def describe(
    owner: Annotated[
        str | None,
        typer.Option(
            "--owner", metavar="ADDRESS", help="The provider whose machines this host serves from now on."
        ),
    ] = None,
    cards: Annotated[
        str | None,
        typer.Option(
            "--cards", metavar="UUID,…", help="The machine's cards. By default those that no machine has."
        ),
    ] = None,
    units: Annotated[
        int | None,
        typer.Option("--units", help="How many of a host's CPU units the machine has, where it has no card."),
    ] = None,
    machine: Annotated[
        int | None,
        typer.Option("--machine", help="Describe this machine, which is in service, once more."),
    ] = None,
) -> None:
    """Print machine.json: what a machine of this host is, how it is reached, and that its key serves its owner. Makes
    the host's keys at the first call.
    """
    settings = load_settings()
    if owner is not None:
        remember_owner(settings, owner)
    asked = Asked(tuple(filter(None, (cards or "").split(","))), units, machine)
    print(json.dumps(asyncio.run(_describe(settings, asked)), indent=2, sort_keys=True))


async def _describe(settings: AgentSettings, asked: Asked) -> dict[str, object]:
    identity, inventory, engine = load_identity(settings.state_dir), take_inventory(), Engine(settings.docker)
    try:
        signed = await consent(settings, identity, int(time.time()))
        async with Ipfs(settings.ipfs) as ipfs:
            facts = await engine.facts()
            looked = await look(settings, inventory, facts)
            keep_measured(settings.state_dir, looked.measured)
            for finding in looked.findings:
                if finding.state != "ok":
                    show(finding, stderr=True)
            cache = DatasetCache(settings.state_dir / "datasets", ipfs, room=0, reserve=0, wait=0)
            disk = disk_for_sale(facts, settings)
            sold = await parts_in_service(settings, identity, owner_of(settings), ipfs)
            part = choose_part(inventory, asked, sold, settings.cpu_units)
            fences = await fences_of(
                part, settings.isolation, Mig(), mps=mps_host(inventory, facts, identity)
            )
            for caution in fences.cautions:
                terminal(stderr=True).print(caution, style="yellow", markup=False)
            hardware = hardware_document(
                inventory,
                part,
                facts,
                disk,
                fences.isolation,
                Disks().holding(facts.root),
                fault_domain=fences.fault_domain,
            )
            contact = await contact_document(
                settings, identity, ipfs, images=await engine.images(), datasets=cache.public()
            )
            terminal(stderr=True).print((await reach_of(settings, ipfs)).sentence, markup=False)
            replace_file(settings.state_dir / "contact.json", canonical(contact))
            HardwareFiles(settings.hardware_dir).keep(canonical(hardware))
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
            "gpus": part.units,
            "smallest_share": fences.smallest_share,
        },
        "consent": signed,
        "check": [finding.document() for finding in looked.findings],
    }
