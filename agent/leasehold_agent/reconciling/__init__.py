"""From what the chain wants to what runs here.

Each file stands on none but those before it:

    _plan            what to do next: a pure function
    _container       from a workload to a container
    _host            what the steps work with
    _bring_up        fetch, create, start, wait until ready
    _finish          the steps of the end
    _reconciler      the one loop
    _docker_runtime  leases as the API and SSH see them
"""

from leasehold_agent.reconciling._container import Names
from leasehold_agent.reconciling._docker_runtime import DockerRuntime
from leasehold_agent.reconciling._host import Host, boot_id
from leasehold_agent.reconciling._reconciler import Reconciler

__all__ = [
    "DockerRuntime",
    "Host",
    "Names",
    "Reconciler",
    "boot_id",
]
