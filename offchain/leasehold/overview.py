"""Many at a glance: which leases a word means, the same done with several, what they do and cost, whole machines;
and `examine`, what renting needs and whether it is there.

    from leasehold.overview import Choice, Together, choose_leases

    leases = await choose_leases(pool, Choice(labels={"project": "x"}))
    await pool.carry_out(Together([leasehold.Close(lease) for lease in leases]))

What things are called lies in the home: `pool.home.names(pool.deployment)`.
"""

from leasehold.client import (
    Choice,
    CostBy,
    CostRow,
    Costs,
    Diagnosis,
    LeaseUse,
    LogLine,
    MachineView,
    NamedThing,
    PastTerms,
    PoolLook,
    Setup,
    Together,
    TogetherDone,
    TopRow,
    Which,
    choose_lease,
    choose_leases,
    costs_of,
    examine,
    label_things,
    logs_of,
    name_things,
    named_things,
    pools_of,
    top_of,
    view_machine,
    watch_leases,
)

__all__ = [
    "Choice",
    "CostBy",
    "CostRow",
    "Costs",
    "Diagnosis",
    "LeaseUse",
    "LogLine",
    "MachineView",
    "NamedThing",
    "PastTerms",
    "PoolLook",
    "Setup",
    "Together",
    "TogetherDone",
    "TopRow",
    "Which",
    "choose_lease",
    "choose_leases",
    "costs_of",
    "examine",
    "label_things",
    "logs_of",
    "name_things",
    "named_things",
    "pools_of",
    "top_of",
    "view_machine",
    "watch_leases",
]
