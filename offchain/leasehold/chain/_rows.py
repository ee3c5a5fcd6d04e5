"""From the index's rows to records. A row is a mapping of its columns, with the types that they have in Python."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from leasehold._addresses import checksummed
from leasehold.chain._records import (
    FaultRecord,
    GroupRecord,
    LeaseEvent,
    LeaseRecord,
    LedgerEntry,
    LicenceRecord,
    MachineRecord,
    ParamsRecord,
    RoundRecord,
    ServiceRecord,
)
from leasehold.chain._types import (
    FaultKind,
    FaultState,
    Lease,
    LeaseState,
    Machine,
    MachineStatus,
    Params,
    RoundState,
    Terms,
)

LOG_INDEX_BITS = 24
SEAT_BYTES = 4
ADDRESS_BYTES = 20
T = TypeVar("T", ServiceRecord, LicenceRecord)


def only(kind: type, row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that `kind` has fields for."""
    return {name: row[name] for name in _names(kind)}


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def machine_record(row: Mapping[str, Any]) -> MachineRecord:
    machine = Machine(
        id=row["machine"],
        status=MachineStatus(row["status"]),
        busy=row["leased"] | row["withheld"],
        terms=Terms(**only(Terms, row)),
        **{
            name: row[name]
            for name in (
                "provider",
                "operator",
                "delisted",
                "under_staked",
                "stalled",
                "gpus",
                "smallest_share",
                "revision",
                "params",
                "stake",
                "leased",
                "withheld",
                "retired_at",
                "down_since",
                "held_from",
                "held_to",
                "held_until",
                "last_verified",
                "pending_slashes",
            )
        },
    )
    return MachineRecord(machine, row["hardware"], row["contact"])


def lease_record(row: Mapping[str, Any]) -> LeaseRecord:
    lease = Lease(
        id=row["lease"],
        state=LeaseState(row["state"]),
        settled=row["paid"] + row["fee"],
        segment_start=row["segment_start"] or row["start"],
        **{
            name: row[name]
            for name in (
                "tenant",
                "machine",
                "placement",
                "spot",
                "noticed",
                "start",
                "end",
                "deposit",
                "price",
                "revision",
                "params",
                "backup",
                "paused",
                "segment_settled",
            )
        },
    )
    return LeaseRecord(
        lease=lease,
        opened_at=row["opened_at"],
        workload=row["workload"],
        endpoint=row["endpoint"],
        result=row["result"],
        reason=row["reason"].rstrip(b"\0").decode("ascii", "replace"),
        paid=row["paid"],
        fee=row["fee"],
        refunded=row["refunded"],
        backup_lease=row["backup_lease"],
        author=row["author"],
    )


def lease_event(row: Mapping[str, Any]) -> LeaseEvent:
    """Of a row with the time of its block."""
    return LeaseEvent(
        name=row["event"],
        block=row["place"] >> LOG_INDEX_BITS,
        time=row["timestamp"],
        tx_hash="0x" + row["tx_hash"].hex(),
        record=lease_record(row),
    )


def ledger_entry(row: Mapping[str, Any], account: str) -> LedgerEntry:
    place = row["place"]
    paid, received = row["debit"] == account, row["credit"] == account
    return LedgerEntry(
        block=place >> LOG_INDEX_BITS,
        log_index=place & ((1 << LOG_INDEX_BITS) - 1),
        kind=row["kind"],
        amount=row["amount"] * (received - paid),
        balance=row["credit_balance"] if received else row["debit_balance"],
        counterparty=row["debit"] if received else row["credit"],
        lease=row["lease"],
        machine=row["machine"],
        tx_hash="0x" + row["tx_hash"].hex(),
    )


def params_record(row: Mapping[str, Any]) -> ParamsRecord:
    return ParamsRecord(row["version"], row["in_force_at"], row["cancelled"], Params(**only(Params, row)))


def fault_record(row: Mapping[str, Any]) -> FaultRecord:
    values = only(FaultRecord, row)
    return FaultRecord(**{**values, "kind": FaultKind(values["kind"]), "state": FaultState(values["state"])})


def round_record(row: Mapping[str, Any]) -> RoundRecord:
    seats = row["seats"]
    drawn = tuple(
        int.from_bytes(seats[at : at + SEAT_BYTES], "big") for at in range(0, len(seats), SEAT_BYTES)
    )
    return RoundRecord(**{**only(RoundRecord, row), "state": RoundState(row["state"]), "seats": drawn})


def group_record(row: Mapping[str, Any]) -> GroupRecord:
    packed = row["signers"]
    signers = tuple(
        checksummed(packed[at : at + ADDRESS_BYTES].hex()) for at in range(0, len(packed), ADDRESS_BYTES)
    )
    return GroupRecord(**{**only(GroupRecord, row), "signers": signers})


def coded(record: type[T], row: Mapping[str, Any]) -> T:
    kind = row["kind"].rstrip(b"\0").decode("ascii", "replace")
    return record(**{**only(record, row), "kind": kind})
