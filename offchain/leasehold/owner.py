"""What a pool's owner does: create it, propose rules, give licences, collect fees, rule where the rules name him.

    from leasehold.owner import ProposeRules, powers_of

What an owner can and cannot do is read from the chain by `powers_of`.
"""

from leasehold.client import (
    AcceptPool,
    CancelRules,
    CollectFees,
    CreatePool,
    ExecuteFault,
    FaultChanged,
    HandPoolOver,
    IssueLicence,
    Ordered,
    PoolMade,
    ProposeRules,
    RuleOnFault,
    RulesProposed,
    SetGated,
    SetPaused,
    SetTreasury,
    powers_of,
)
from leasehold.market import Power, table_of_powers

__all__ = [
    "AcceptPool",
    "CancelRules",
    "CollectFees",
    "CreatePool",
    "ExecuteFault",
    "FaultChanged",
    "HandPoolOver",
    "IssueLicence",
    "Ordered",
    "PoolMade",
    "Power",
    "ProposeRules",
    "RuleOnFault",
    "RulesProposed",
    "SetGated",
    "SetPaused",
    "SetTreasury",
    "powers_of",
    "table_of_powers",
]
