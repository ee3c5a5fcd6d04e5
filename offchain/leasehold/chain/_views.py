"""What the contracts' reads return, as the SDK's own types."""

from typing import Any

from leasehold.chain._types import Lease, LeaseState, Machine, MachineStatus, Terms


def machine_of_view(machine: int, view: dict[str, Any]) -> Machine:
    """A `MachineView`."""
    status, terms = MachineStatus(view["status"]), Terms(**view["terms"])
    return Machine(id=machine, **{**view, "status": status, "terms": terms})


def lease_of_view(lease: int, view: dict[str, Any]) -> Lease:
    """A `LeaseView`."""
    return Lease(id=lease, **{**view, "state": LeaseState(view["state"])})
