"""An agent serves its owner's machines and nobody else's, whatever names its key."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agent.conftest import OTHER, TENANT, TERMS, Rig

from leasehold.chain import LeaseState
from leasehold.errors import SettingsError
from leasehold_agent._config import AgentSettings
from leasehold_agent.chain import owner_of, remember_owner
from leasehold_agent.documents import read_status, write_status

OWNER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


async def test_a_strangers_machine_is_not_served(rig: Rig) -> None:
    """The key has consented to another once, and that other registers a machine with it."""
    chain = rig.chain
    await chain.token(OTHER).approve(chain.deployment.controller, 10**30)
    consent = await chain.consent(OTHER, rig.identity.operator)
    stranger, _ = await chain.pool(OTHER).register(
        TERMS, 1, 1, bytes(32), bytes(32), rig.identity.operator.address, consent
    )
    await rig.until(lambda: rig.host.snapshot.strangers == (stranger,))
    own = rig.machine
    rig.machine = stranger
    unserved = await rig.open()
    rig.machine = own
    lease = await rig.open()
    await rig.reaches(lease, LeaseState.ACTIVE)
    assert (await chain.pool(TENANT).lease_of(unserved)).state is LeaseState.OPENED
    assert unserved not in rig.host.snapshot.leases
    await write_status(rig.host, rig.runtime, None)
    status = read_status(rig.settings.state_dir)
    assert status is not None
    assert (status["strangers"], [each["machine"] for each in status["machines"]]) == ([stranger], [own])


def test_whose_machines_a_host_serves(tmp_path: Path) -> None:
    named = AgentSettings.model_validate({"state_dir": tmp_path, "owner": OWNER.lower()})
    assert owner_of(named) == OWNER
    settings = AgentSettings.model_validate({"state_dir": tmp_path})
    with pytest.raises(SettingsError, match="--owner"):
        owner_of(settings)
    with pytest.raises(SettingsError, match="hexadecimal"):
        remember_owner(settings, "0x12")
    remember_owner(settings, OWNER.lower())
    assert owner_of(settings) == OWNER
    with pytest.raises(SettingsError, match="The settings name"):
        remember_owner(named, "0x" + 40 * "1")
