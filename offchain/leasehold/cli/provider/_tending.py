"""Who may look after a machine: its provider, and for some calls its operator."""

from __future__ import annotations

from leasehold.chain import Machine, MachineStatus
from leasehold.client import PoolClient
from leasehold.errors import UnknownMachine
from leasehold.market import MachineUnavailable


async def tended(session: PoolClient, machine: int, *, operator_only: bool = False) -> Machine:
    """The machine, if the account is its operator, or its provider where that is enough.

    Raises:
        UnknownMachine. MachineUnavailable: it is somebody else's.
    """
    found = await session.pool.machine_of(machine)
    if found.status is MachineStatus.NONE:
        raise UnknownMachine(machine)
    account = session.account.lower()
    if account == found.operator.lower() or (account == found.provider.lower() and not operator_only):
        return found
    who, how = f"its operator {found.operator}", "choose a wallet with --wallet"
    if operator_only:
        how = (
            "its key is on the host, where the agent answers challenges and `leasehold-agent report` reports"
        )
    else:
        who = f"its provider {found.provider} or {who}"
    raise MachineUnavailable(
        f"Only {who} does this for machine {machine}, and you are {session.account}: {how}."
    )
