"""Who gets in, and how much of the agent each may take: the same for the API and SSH.

Each file stands on none but those before it:

    _rates      how often
    _ration     the loop's time
    _turns      whose turn it is
    _hello      a connection's first words
    _known      where tenants came from lately
    _slots      descriptors, by lease
    _porch      those who have connected and were not let in yet
    _door       a listening port that nobody can shut for others
    _mounts     what the IPFS node leads to
    _admission  all of these bounds in one object
"""

from leasehold_agent.access._admission import Admission, Line
from leasehold_agent.access._door import StreetDoor
from leasehold_agent.access._mounts import ANSWER_SECONDS, Mounts
from leasehold_agent.access._porch import Visitor
from leasehold_agent.access._rates import Buckets
from leasehold_agent.access._ration import READ_BYTES, Ration
from leasehold_agent.access._slots import Slots

__all__ = [
    "ANSWER_SECONDS",
    "READ_BYTES",
    "Admission",
    "Buckets",
    "Line",
    "Mounts",
    "Ration",
    "Slots",
    "StreetDoor",
    "Visitor",
]
