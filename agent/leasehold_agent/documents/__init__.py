"""What the host says of itself: to the chain, to renters, and to its owner.

Each file stands on none but those before it:

    _footing       settings that a host lacks
    _versions      parts that are too old to hold a container
    _measured      what was measured last
    _reach         by which ways renters come
    _machine       hardware, contact and endpoint
    _introduction  the contact as it stands
    _status        what the agent that runs sees
    _metrics       and what Prometheus reads of it
"""

from leasehold_agent.documents._footing import lacks
from leasehold_agent.documents._introduction import Introduction
from leasehold_agent.documents._machine import (
    contact_document,
    endpoint_document,
    hardware_document,
)
from leasehold_agent.documents._measured import Measurements, Pace, keep_measured, last_measured
from leasehold_agent.documents._metrics import metrics
from leasehold_agent.documents._reach import reach_of
from leasehold_agent.documents._status import read_status, write_status
from leasehold_agent.documents._versions import concerns

__all__ = [
    "Introduction",
    "Measurements",
    "Pace",
    "concerns",
    "contact_document",
    "endpoint_document",
    "hardware_document",
    "keep_measured",
    "lacks",
    "last_measured",
    "metrics",
    "reach_of",
    "read_status",
    "write_status",
]
