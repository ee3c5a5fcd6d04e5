"""From what the chain wants to what runs here.

Each file stands on none but those before it:

    _renewed            which lease another one renews: a pure function
    _plan               what to do next: a pure function
    _names              what containers, networks and bridges are called
    _container_spec     from a workload to a container: pure functions
    _host_facts         what this host is and has
    _leases             what is known here of each lease
    _containers         the engine's side of leases
    _supplies           where workloads, images and datasets come from, and results go
    _fair_places        a few places for what lasts
    _carrying           volumes on their way
    _checkpoint_folder  the folder of a lease's checkpoints, as a volume: pure functions
    _checkpoint_due     when a checkpoint is due: pure functions
    _checkpoints        checkpoints, taken, kept and let go
    _committing         a container as an image
    _host               all of these, as the loop has them
    _intake             a sealed workload, fetched and opened
    _renewal            what a lease wrote goes on in the one that renews it
    _code               a folder of code, until it is whole
    _code_unpacking     and until it is in its container
    _restoring          which checkpoint the folder of its checkpoints begins with
    _attaching          its volumes, that folder among them
    _making_way         cards that a lease has which is over
    _creation           a container, made and started
    _readiness          whether it answers yet
    _bring_up           workload, container and readiness, one after the other
    _start_or_decline   what the chain is told of a lease that has not begun
    _results            outputs, packed and published
    _changes            another workload, tenant, size or end
    _closing            closed for its tenant, who has ordered that
    _ending             stopped, cleared away, deleted
    _lost_cells         cells that nobody could be given, out of sale
    _card_health        which cards are ill, seen and said
    _reconciler         the one loop
    _usage              what each lease uses
    _phases             how far a lease is
    _docker_runtime     leases as the API and SSH see them
"""

from leasehold_agent.reconciling._card_health import SECONDS_TO_SAY, CardHealth
from leasehold_agent.reconciling._carrying import Carrying
from leasehold_agent.reconciling._checkpoints import Checkpoints
from leasehold_agent.reconciling._committing import Committing
from leasehold_agent.reconciling._container_spec import Called, check_fits, fenced_spec, policy_of
from leasehold_agent.reconciling._containers import Containers
from leasehold_agent.reconciling._docker_runtime import DockerRuntime
from leasehold_agent.reconciling._host import Host
from leasehold_agent.reconciling._host_facts import HostFacts, boot_id
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.reconciling._lost_cells import LostCells
from leasehold_agent.reconciling._names import NO_LEASE, Names
from leasehold_agent.reconciling._reconciler import Reconciler
from leasehold_agent.reconciling._supplies import Supplies
from leasehold_agent.reconciling._usage import UsageWatch

__all__ = [
    "NO_LEASE",
    "SECONDS_TO_SAY",
    "Called",
    "CardHealth",
    "Carrying",
    "Checkpoints",
    "Committing",
    "Containers",
    "DockerRuntime",
    "Host",
    "HostFacts",
    "LeaseBook",
    "LostCells",
    "Names",
    "Reconciler",
    "Supplies",
    "UsageWatch",
    "boot_id",
    "check_fits",
    "fenced_spec",
    "log_step",
    "policy_of",
]
