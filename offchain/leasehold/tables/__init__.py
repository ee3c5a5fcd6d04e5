"""What people are shown of things: a table where there are several, names and values of one.

    from leasehold.client import leases_of
    from leasehold.tables import leases_table

    leases_table(await leases_of(pool), pool.money)   # a notebook draws it

The command line prints them, a page may draw the same; programs have `to_json` and the records themselves. Nothing
here decides, asks or waits, and no cell names a command: where a face has a word of its own for what is to be done, it
is handed in. Files stand in an order, from `_table` up:
_table, _machines, _leases, _uses, _costs, _statements, _faults, _agreements, _data, _people, _pools, _measuring,
_providing.
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.tables._agreements import delegates_table, names_table, offers_table
    from leasehold.tables._costs import BAR_WIDTH, bars, costs_chart, costs_table, spent_table, svg
    from leasehold.tables._data import checkpoints_table, outputs_table, volumes_table
    from leasehold.tables._faults import fault_next, fault_rows, faults_table, losses_table
    from leasehold.tables._leases import (
        lease_name,
        lease_rows,
        leases_table,
        past_leases_table,
    )
    from leasehold.tables._machines import MACHINE_COLUMNS, image_table, machine_rows, machines_table
    from leasehold.tables._measuring import (
        duties_table,
        duty_line,
        rounds_table,
        seats_table,
    )
    from leasehold.tables._people import (
        access_table,
        access_word,
        audit_table,
        beside_audit,
        shared_leases,
        tenants_table,
    )
    from leasehold.tables._pools import (
        changes_table,
        licence_term,
        licences_table,
        pool_rows,
        pools_table,
        powers_table,
        trust_rows,
    )
    from leasehold.tables._providing import (
        changing_table,
        duty_sentence,
        host_line,
        hosts_table,
        joining_rows,
        joining_table,
        own_leases_table,
        own_machines_table,
    )
    from leasehold.tables._statements import statements_table, what_follows
    from leasehold.tables._table import Pairs, Table
    from leasehold.tables._uses import readings_table, top_table

__all__ = [
    "BAR_WIDTH",
    "MACHINE_COLUMNS",
    "Pairs",
    "Table",
    "access_table",
    "access_word",
    "audit_table",
    "bars",
    "beside_audit",
    "changes_table",
    "changing_table",
    "checkpoints_table",
    "costs_chart",
    "costs_table",
    "delegates_table",
    "duties_table",
    "duty_line",
    "duty_sentence",
    "fault_next",
    "fault_rows",
    "faults_table",
    "host_line",
    "hosts_table",
    "image_table",
    "joining_rows",
    "joining_table",
    "lease_name",
    "lease_rows",
    "leases_table",
    "licence_term",
    "licences_table",
    "losses_table",
    "machine_rows",
    "machines_table",
    "names_table",
    "offers_table",
    "outputs_table",
    "own_leases_table",
    "own_machines_table",
    "past_leases_table",
    "pool_rows",
    "pools_table",
    "powers_table",
    "readings_table",
    "rounds_table",
    "seats_table",
    "shared_leases",
    "spent_table",
    "statements_table",
    "svg",
    "tenants_table",
    "top_table",
    "trust_rows",
    "volumes_table",
    "what_follows",
]

_PARTS = {
    "_agreements": ("delegates_table", "names_table", "offers_table"),
    "_costs": ("BAR_WIDTH", "bars", "costs_chart", "costs_table", "spent_table", "svg"),
    "_data": ("checkpoints_table", "outputs_table", "volumes_table"),
    "_faults": ("fault_next", "fault_rows", "faults_table", "losses_table"),
    "_leases": ("lease_name", "lease_rows", "leases_table", "past_leases_table"),
    "_machines": ("MACHINE_COLUMNS", "image_table", "machine_rows", "machines_table"),
    "_measuring": ("duties_table", "duty_line", "rounds_table", "seats_table"),
    "_people": (
        "access_table", "access_word", "audit_table", "beside_audit", "shared_leases", "tenants_table",
    ),
    "_pools": (
        "changes_table", "licence_term", "licences_table", "pool_rows", "pools_table", "powers_table",
        "trust_rows",
    ),
    "_providing": (
        "changing_table", "duty_sentence", "host_line", "hosts_table", "joining_rows", "joining_table",
        "own_leases_table", "own_machines_table",
    ),
    "_statements": ("statements_table", "what_follows"),
    "_table": ("Pairs", "Table"),
    "_uses": ("readings_table", "top_table"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
