"""What people want done with a pool: a request in, a plan to look at, steps out.

async with connect("pool.json", wallet="me", password="…") as pool:
    plan = await pool.plan(Extend(lease=12, seconds=3600))
    extended = await pool.carry_out(plan, approve=True)

Nothing here prints, asks, or reads the environment: the command line is one face of it.
"""

from leasehold.client._address import parse_address
from leasehold.client._client import PoolClient, ProposalMade
from leasehold.client._connect import (
    DEFAULT_HOME,
    DEFAULT_IPFS,
    DEFAULT_RPC,
    Connecting,
    LockedWallet,
    connect,
)
from leasehold.client._faults import (
    PROVE_TIME,
    ROLL_AFTER,
    answer_until,
    applicable,
    arbiter_of,
    current,
    executable,
)
from leasehold.client._index import alone
from leasehold.client._observer import Observer, Update
from leasehold.client._on_behalf import AsDelegate, CannotAct, NoDelegate, Proposed, Proposing
from leasehold.client._outages import Outages, outages_of, take_off
from leasehold.client._outflow import Outflow, outflow
from leasehold.client._plan import Approved, Plan, Request, Sent, Step
from leasehold.client._powers import QUORUM_VALIDATORS, powers_of, quorum_of

__all__ = [
    "DEFAULT_HOME",
    "DEFAULT_IPFS",
    "DEFAULT_RPC",
    "PROVE_TIME",
    "QUORUM_VALIDATORS",
    "ROLL_AFTER",
    "Approved",
    "AsDelegate",
    "CannotAct",
    "Connecting",
    "LockedWallet",
    "NoDelegate",
    "Observer",
    "Outages",
    "Outflow",
    "Plan",
    "PoolClient",
    "ProposalMade",
    "Proposed",
    "Proposing",
    "Request",
    "Sent",
    "Step",
    "Update",
    "alone",
    "answer_until",
    "applicable",
    "arbiter_of",
    "connect",
    "current",
    "executable",
    "outages_of",
    "outflow",
    "parse_address",
    "powers_of",
    "quorum_of",
    "take_off",
]
