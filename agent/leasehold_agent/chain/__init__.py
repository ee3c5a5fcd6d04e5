"""The chain, as the operator of some machines sees it: what it wants of this host, and what is said to it.

Each file stands on none but those before it:

    _desired      what is wanted of this host, and all that may be asked of the chain
    _gas          what is left of the operator's coins, and what it is kept for
    _standbys     what leases of other machines would run here
    _witnesses    what several nodes say, each asked by itself
    _owner        whose machines this host serves
    _withholding  which cells are out of sale, for which reasons together
    _sale         what is out of sale at this hour, kept so on the chain
    _pool_gate    the index, and the node before anything that cannot be undone
    _duties       signs of life, and word that an outage is over
    _restarter    a process that starts that which gives a sign of life anew
    _sentinel     a process that gives a sign of life where the agent does not get to it
"""

from leasehold_agent.chain._desired import BEHIND, PROVE_TIME, ChainGate, ChainSnapshot, Desired
from leasehold_agent.chain._duties import Duties
from leasehold_agent.chain._gas import GasState
from leasehold_agent.chain._owner import consent, owner_of, remember_owner
from leasehold_agent.chain._pool_gate import PoolGate, authorizer, follow
from leasehold_agent.chain._sale import Sale
from leasehold_agent.chain._sentinel import Told, begin_again, sentinel_beside
from leasehold_agent.chain._withholding import (
    REASONS,
    OutOfSale,
    Reason,
    Withholdings,
    all_cells,
    send_withheld,
)
from leasehold_agent.chain._witnesses import Witnesses

__all__ = [
    "BEHIND",
    "PROVE_TIME",
    "REASONS",
    "ChainGate",
    "ChainSnapshot",
    "Desired",
    "Duties",
    "GasState",
    "OutOfSale",
    "PoolGate",
    "Reason",
    "Sale",
    "Told",
    "Withholdings",
    "Witnesses",
    "all_cells",
    "authorizer",
    "begin_again",
    "consent",
    "follow",
    "owner_of",
    "remember_owner",
    "send_withheld",
    "sentinel_beside",
]
