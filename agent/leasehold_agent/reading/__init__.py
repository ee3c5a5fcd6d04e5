"""What leases that are over have left, read by their tenants.

Each file stands on none but those before it:

    _readers  containers in which that is done
"""

from leasehold_agent.reading._readers import Readers

__all__ = [
    "Readers",
]
