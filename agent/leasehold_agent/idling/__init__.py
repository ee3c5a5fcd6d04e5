"""What the owner has his cards do while nobody leases them.

Each file stands on none but those before it:

    _job        the owner's workload for them
    _plan       which containers of it are to be: a pure function
    _idle_jobs  these containers, run and ended
"""

from leasehold_agent.idling._idle_jobs import IdleJobs
from leasehold_agent.idling._job import load_job

__all__ = [
    "IdleJobs",
    "load_job",
]
