"""What the host says of itself: to the chain, to renters, and to its owner.

Each file stands on none but those before it:

    _footing       settings that a host lacks
    _versions      parts that are too old to hold a container
    _machine       hardware, contact and endpoint
    _introduction  the contact as it stands
    _status        what the agent that runs sees
"""

from leasehold_agent.documents._footing import lacks
from leasehold_agent.documents._introduction import Introduction
from leasehold_agent.documents._machine import (
    canonical,
    contact_document,
    endpoint_document,
    hardware_document,
)
from leasehold_agent.documents._status import read_status, write_status
from leasehold_agent.documents._versions import concerns

__all__ = [
    "Introduction",
    "canonical",
    "concerns",
    "contact_document",
    "endpoint_document",
    "hardware_document",
    "lacks",
    "read_status",
    "write_status",
]
