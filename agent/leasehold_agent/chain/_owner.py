"""Whose machines this host serves: nobody else's provider is answered for, started for or paid for here."""

from __future__ import annotations

from pathlib import Path

from eth_utils.address import is_address, to_checksum_address

from leasehold.chain import Deployment
from leasehold.chain.typed import Domain, Operate, sign
from leasehold.errors import SettingsError
from leasehold.files import replace_file
from leasehold_agent._config import AgentSettings
from leasehold_agent.host import Identity

CONSENT_SECONDS = 7 * 86_400  # for whoever reads machine.json to register


def owner_of(settings: AgentSettings) -> str:
    """The provider's address. Raises SettingsError where nobody is named."""
    owner = settings.owner or _remembered(settings.state_dir)
    if not owner:
        raise SettingsError(
            "Whose machines does this host serve? Name the provider's account: `leasehold-agent describe --owner 0x…`, "
            "or `owner` in the settings."
        )
    return to_checksum_address(owner)


def remember_owner(settings: AgentSettings, owner: str) -> None:
    """Serve this provider from the next start on. Raises SettingsError for what is no address, or not the setting's."""
    if not is_address(owner):
        raise SettingsError(f"{owner} is no account's address: --owner takes 0x and 40 hexadecimal digits.")
    if settings.owner and settings.owner.lower() != owner.lower():
        raise SettingsError(
            f"The settings name {settings.owner} as this host's owner: change `owner` there first."
        )
    settings.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(settings.state_dir / "owner", to_checksum_address(owner).encode())


async def consent(settings: AgentSettings, identity: Identity, now: int) -> dict[str, object]:
    """What the operator signs for its owner, and for nobody else."""
    if settings.deployment is None:
        raise SettingsError("Name the pool's deployment file: `deployment`.")
    deployment, owner = Deployment.load(settings.deployment), owner_of(settings)
    chain, controller = deployment.chain_id, deployment.controller
    operate = Operate(chain, controller, owner, identity.operator.address, now + CONSENT_SECONDS)
    proof = await sign(operate, Domain(chain, controller), identity.operator)
    return {
        "provider": owner,
        "controller": controller,
        "chain": chain,
        "deadline": operate.deadline,
        "proof": "0x" + proof.hex(),
    }


def _remembered(state_dir: Path) -> str:
    try:
        return (state_dir / "owner").read_text().strip()
    except FileNotFoundError:
        return ""
