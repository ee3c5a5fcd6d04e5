"""The index's tables.

Every row of what the chain says is a *version*: it is written once, under the place of the log that made it, and
never changed. `place = block << 24 | log index` orders them. What holds now is the newest version; undoing a block is
deleting the versions from its first place on; nothing else has to be undone. What is read from block 0 is therefore
row for row what was indexed as it happened.

`pool` stands for chain id, genesis hash and controller, which are written out once in `chain_pools`.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from leasehold.chain._rows import LOG_INDEX_BITS


def place_of(block: int, log_index: int = 0) -> int:
    """Where a log stands among all logs of the chain."""
    return block << LOG_INDEX_BITS | log_index


class Amount(TypeDecorator[int]):
    """An integer of up to 256 bits: NUMERIC where there is one, decimal digits in SQLite, whose integers have 64."""

    impl = String(79)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(Numeric(78, 0))
        return dialect.type_descriptor(String(79))

    def process_bind_param(self, value: int | None, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return str(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        return None if value is None else int(value)


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _pool(*, primary_key: bool = True) -> Column[int]:
    return Column("pool", Integer, ForeignKey("chain_pools.id"), primary_key=primary_key, autoincrement=False)


def _versions(name: str, subject: str | tuple[str, ...] | None, columns: Sequence[Column[Any]]) -> Table:
    """A table of versions: keyed by place, found by subject, which `subject_of` gives back."""
    table = Table(
        name,
        metadata,
        _pool(),
        Column("place", BigInteger, primary_key=True, autoincrement=False),
        *columns,
        Column("event", String(32), nullable=False),
        Column("tx_hash", LargeBinary(32), nullable=False),
        sqlite_with_rowid=False,
    )
    if subject is not None:
        names = (subject,) if isinstance(subject, str) else subject
        table.info["subject"] = names
        Index(None, table.c.pool, *(table.c[each] for each in names), table.c.place)
    return table


def subject_of(table: Table) -> tuple[str, ...]:
    """The columns whose values together name what a row of `table` is a version of."""
    names: tuple[str, ...] = table.info["subject"]
    return names


def _integer(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


def _amount(name: str) -> Column[int]:
    return Column(name, Amount, nullable=False)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


def _account(name: str) -> Column[str]:
    return Column(name, String(42), nullable=False)


def _digest(name: str) -> Column[bytes]:
    return Column(name, LargeBinary(32), nullable=False)


pools = Table(
    "chain_pools",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("chain_id", BigInteger, nullable=False),
    Column("genesis", String(66), nullable=False),
    Column("controller", String(42), nullable=False),
    UniqueConstraint("chain_id", "genesis", "controller"),
)

cursors = Table(
    "chain_cursors",
    metadata,
    _pool(),
    _integer("number"),
    Column("hash", String(66), nullable=False),
    _integer("timestamp"),
)

blocks = Table(
    "chain_blocks",
    metadata,
    _pool(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", String(66), nullable=False),
    _integer("timestamp"),
    sqlite_with_rowid=False,
)

# Double entry: `amount` goes from `debit` to `credit`; where one of them is missing, it comes from or goes to a
# wallet, an escrow, a stake. The balances are those after it.
ledger = Table(
    "chain_ledger",
    metadata,
    _pool(),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("debit", String(42)),
    Column("credit", String(42)),
    _amount("amount"),
    Column("debit_balance", Amount),
    Column("credit_balance", Amount),
    Column("lease", BigInteger),
    Column("machine", BigInteger),
    Column("tx_hash", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
)
Index(None, ledger.c.pool, ledger.c.debit, ledger.c.place, ledger.c.entry)
Index(None, ledger.c.pool, ledger.c.credit, ledger.c.place, ledger.c.entry)

machines = _versions(
    "chain_machines",
    "machine",
    [
        _integer("machine"),
        _account("provider"),
        _account("operator"),
        _integer("status"),
        _flag("delisted"),
        _flag("under_staked"),
        _flag("stalled"),
        _integer("gpus"),
        _integer("smallest_share"),
        _integer("revision"),
        _integer("params"),
        _amount("stake"),
        _amount("leased"),
        _amount("withheld"),
        _integer("retired_at"),
        _amount("price"),
        _amount("spot_price"),
        _integer("min_duration"),
        _integer("max_duration"),
        _integer("trial"),
        _integer("available_until_day"),
        _digest("hardware"),
        _digest("contact"),
        _integer("down_since"),
        _integer("held_from"),
        _integer("held_to"),
        _integer("held_until"),
        _integer("last_verified"),
        _integer("pending_slashes"),
    ],
)

leases = _versions(
    "chain_leases",
    "lease",
    [
        _integer("lease"),
        _account("tenant"),
        _integer("machine"),
        _integer("placement"),
        _integer("state"),
        _flag("spot"),
        _flag("noticed"),
        _integer("opened_at"),
        _integer("start"),
        _integer("end"),
        _amount("deposit"),
        _amount("price"),
        _integer("revision"),
        _integer("params"),
        _digest("backup"),
        _digest("workload"),
        _digest("endpoint"),
        Column("result", LargeBinary, nullable=False),
        _digest("reason"),
        _amount("paid"),
        _amount("fee"),
        _amount("refunded"),
        _integer("paused"),
        _integer("segment_start"),
        _amount("segment_settled"),
        _integer("backup_lease"),
        _account("author"),
    ],
)
Index(None, leases.c.pool, leases.c.tenant, leases.c.lease)
Index(None, leases.c.pool, leases.c.machine, leases.c.lease)

params = _versions(
    "chain_params",
    "version",
    [
        _integer("version"),
        _integer("in_force_at"),
        _flag("cancelled"),
        _amount("min_stake_per_gpu"),
        *(
            _integer(name)
            for name in (
                "fee_bps",
                "hold_fee_bps",
                "max_slash_bps",
                "start_window",
                "notice_seconds",
                "penalty_seconds",
                "claim_lag",
                "challenge_window",
                "filing_window",
                "appeal_window",
                "ruling_window",
                "unstake_delay",
                "reverify_interval",
                "committee_size",
            )
        ),
        _amount("bond"),
        _amount("seat_stake"),
        _amount("verification_fee"),
        _account("arbiter"),
        _account("sink"),
    ],
)

states = _versions(
    "chain_states",
    None,
    [
        _flag("paused"),
        _flag("gated"),
        _account("treasury"),
        _account("owner"),
        _account("pending_owner"),
    ],
)

# ------------------------------------------------------------------------------------------- companions, delegates

faults = _versions(
    "chain_faults",
    "fault",
    [
        _integer("fault"),
        _integer("machine"),
        _integer("kind"),
        _integer("state"),
        _integer("from_"),
        _integer("to"),
        _integer("opened_at"),
        _integer("filed_at"),
        _integer("deadline"),
        _integer("bps"),
        _amount("amount"),
        _amount("pot"),
        _amount("reported"),
        _amount("rest"),
        _account("sink"),
        _amount("compensated"),
        _integer("rules"),
    ],
)
Index(None, faults.c.pool, faults.c.machine, faults.c.fault)

# What a fault cost the tenant of a lease, and what it got.
losses = _versions(
    "chain_losses",
    ("fault", "lease"),
    [_integer("fault"), _integer("lease"), _account("tenant"), _amount("part"), _amount("amount")],
)
Index(None, losses.c.pool, losses.c.tenant, losses.c.place)

# Found by machine, on which one challenge stands at a time.
challenges = _versions(
    "chain_challenges",
    "machine",
    [
        _integer("challenge"),
        _integer("machine"),
        _account("challenger"),
        _integer("lease"),
        _amount("bond"),
        _integer("at"),
        _integer("answered_at"),
        _integer("ended_at"),
        _integer("fault"),
    ],
)
Index(None, challenges.c.pool, challenges.c.challenge, challenges.c.place)

seats = _versions(
    "chain_seats",
    "seat",
    [
        _integer("seat"),
        _account("validator"),
        _amount("stake"),
        _amount("level"),
        _integer("joined_at"),
        _integer("leaves_at"),
        _flag("exited"),
    ],
)

rounds = _versions(
    "chain_rounds",
    "round",
    [
        _integer("round"),
        _integer("machine"),
        _integer("revision"),
        _account("requester"),
        _integer("state"),
        _integer("requested_at"),
        _integer("block"),
        _integer("misses"),
        _amount("fee"),
        Column("seats", LargeBinary, nullable=False),  # four bytes each
        _integer("commit_until"),
        _integer("reveal_until"),
        _digest("spec"),
        _integer("score"),
        _integer("agreed"),
    ],
)
Index(None, rounds.c.pool, rounds.c.machine, rounds.c.round)

votes = _versions(
    "chain_votes",
    ("round", "seat"),
    [
        _integer("round"),
        _integer("seat"),
        _digest("commitment"),
        _flag("revealed"),
        _flag("passed"),
        _digest("spec"),
        _integer("score"),
    ],
)

ratings = _versions(
    "chain_ratings",
    "lease",
    [
        _integer("lease"),
        _account("provider"),
        _account("tenant"),
        _integer("stars"),
        _digest("comment"),
        _amount("fee"),
        _integer("at"),
    ],
)
Index(None, ratings.c.pool, ratings.c.provider, ratings.c.lease)

services = _versions(
    "chain_services",
    ("account", "kind"),
    [
        _account("account"),
        _digest("kind"),
        _digest("endpoint"),
        Column("peer_id", LargeBinary, nullable=False),
        _integer("at"),
    ],
)

licences = _versions(
    "chain_licences",
    ("account", "kind"),
    [_account("account"), _digest("kind"), _integer("seats"), _integer("expires_at")],
)

delegates = _versions(
    "chain_delegates",
    ("account", "delegate"),
    [
        _account("account"),
        _account("delegate"),
        _amount("cap"),
        _integer("period"),
        _integer("expiry"),
        _integer("since"),
        _amount("spent"),
    ],
)

# Bits of offers that are used or cancelled, and by which lease if the version is of a use.
offers = _versions(
    "chain_offers",
    ("provider", "word"),
    [_account("provider"), _amount("word"), _amount("mask"), _amount("nonce"), _integer("lease")],
)

COMPANIONS = (
    faults,
    losses,
    challenges,
    seats,
    rounds,
    votes,
    ratings,
    services,
    licences,
    delegates,
    offers,
)
VERSIONED = (ledger, machines, leases, params, states, *COMPANIONS)
EVERYTHING = (pools, cursors, blocks, *VERSIONED)
