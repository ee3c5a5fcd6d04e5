"""Whether a host can serve: each part of it tried, in a time and with bytes that are bounded whatever is dead.

Each file stands on none but those before it:

    _finding    what one check found
    _disk       how fast a disk is
    _resolvers  whether a resolver answers
    _peer       a peer elsewhere, which others measure against
    _outside    what such a peer sees of this host
    _ports      that a host's ports can be listened on
    _parts      the checks by themselves
    _look       all of them, side by side
"""

from leasehold_agent.checks._finding import Finding, State, worst
from leasehold_agent.checks._look import Checkup, look
from leasehold_agent.checks._peer import MeasuringPeer, PeerLimits

__all__ = [
    "Checkup",
    "Finding",
    "MeasuringPeer",
    "PeerLimits",
    "State",
    "look",
    "worst",
]
