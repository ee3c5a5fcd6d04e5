"""The index's tables.

Every row of what the chain says is a *version*: it is written once, under the place of the log that made it, and
never changed. `place = block << 24 | log index` orders them. What holds now is the newest version; undoing a block is
deleting the versions from its first place on; nothing else has to be undone. What is read from block 0 is therefore
row for row what was indexed as it happened.

A table has the columns of the record or version (`_records`, `_versions`) that its rows hold, and those of their
place. `pool` stands for chain id, genesis hash and controller, which are written out once in `chain_pools`.

All of it can be read from the chain again. So there is no way from one form of the tables to the next: an index of
another form than `SCHEMA` is emptied, and filled anew.
"""

from dataclasses import fields, is_dataclass
from enum import Enum, IntEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    UniqueConstraint,
    inspect,
    select,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from leasehold.chain._records import (
    ChallengeRecord,
    DelegateRecord,
    FaultRecord,
    GroupRecord,
    LicenceRecord,
    LossRecord,
    OfferRecord,
    ParamsRecord,
    PoolRecord,
    RatingRecord,
    RoundRecord,
    SeatRecord,
    ServiceRecord,
    VoteRecord,
)
from leasehold.chain._rows import LOG_INDEX_BITS
from leasehold.chain._types import Uint256
from leasehold.chain._versions import SCHEMA, LeaseVersion, MachineVersion


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

_TYPES: dict[Any, TypeEngine[Any]] = {
    int: BigInteger(),
    Uint256: Amount(),
    bool: Boolean(),
    str: String(42),  # an account
    bytes: LargeBinary(),
}
"""How a field of that type is kept."""


def _column(name: str, kind: Any, *, key: bool = False) -> Column[Any]:
    if isinstance(kind, type) and issubclass(kind, IntEnum):
        kind = int
    return Column(name, _TYPES[kind], primary_key=key, autoincrement=False, nullable=False)


def _columns(kind: type, /, **stored: type) -> list[Column[Any]]:
    """A column for each field of a dataclass; of a field that is one itself, for each of its fields.

    stored: types of fields that are kept as something else than they are.
    """
    columns = []
    for field in fields(kind):
        if is_dataclass(field.type) and isinstance(field.type, type):
            columns += _columns(field.type)
        else:
            columns.append(_column(field.name, stored.get(field.name, field.type)))
    return columns


def _pool() -> Column[int]:
    # No foreign key: PostgreSQL would look the pool up for every row, which takes as long as all the rest of the row.
    return Column("pool", Integer, primary_key=True, autoincrement=False)


def _versions(name: str, kind: type, subject: tuple[str, ...], /, **stored: type) -> Table:
    """A table of versions: keyed by place, found by subject, which `subject_of` gives back."""
    table = Table(
        name,
        metadata,
        _pool(),
        _column("place", int, key=True),
        *_columns(kind, **stored),
        Column("event", String(32), nullable=False),
        Column("tx_hash", LargeBinary(32), nullable=False),
        sqlite_with_rowid=False,
        info={"subject": subject},
    )
    if subject:
        _index(table, *subject, "place")
    return table


def _index(table: Table, *names: str) -> None:
    Index(None, table.c.pool, *(table.c[name] for name in names))


def subject_of(table: Table) -> tuple[str, ...]:
    """The columns whose values together name what a row of `table` is a version of."""
    names: tuple[str, ...] = table.info["subject"]
    return names


version = Table("chain_version", metadata, Column("version_num", String(32), primary_key=True))

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
    _column("number", int),
    Column("hash", String(66), nullable=False),
    _column("timestamp", int),
)

blocks = Table(
    "chain_blocks",
    metadata,
    _pool(),
    _column("number", int, key=True),
    Column("hash", String(66), nullable=False),
    _column("timestamp", int),
    sqlite_with_rowid=False,
)

# Double entry: `amount` goes from `debit` to `credit`; where one of them is missing, it comes from or goes to a
# wallet, an escrow, a stake. The balances are those after it.
ledger = Table(
    "chain_ledger",
    metadata,
    _pool(),
    _column("place", int, key=True),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("debit", String(42)),
    Column("credit", String(42)),
    _column("amount", Uint256),
    Column("debit_balance", Amount),
    Column("credit_balance", Amount),
    Column("lease", BigInteger),
    Column("machine", BigInteger),
    Column("tx_hash", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
)
_index(ledger, "debit", "place", "entry")
_index(ledger, "credit", "place", "entry")

machines = _versions("chain_machines", MachineVersion, ("machine",))
leases = _versions("chain_leases", LeaseVersion, ("lease",))
_index(leases, "tenant", "lease")
_index(leases, "machine", "lease")
params = _versions("chain_params", ParamsRecord, ("version",))
states = _versions("chain_states", PoolRecord, ())

# ------------------------------------------------------------------------------------------- companions, delegates

faults = _versions("chain_faults", FaultRecord, ("fault",))
_index(faults, "machine", "fault")

# What a fault cost the tenant of a lease, and what it got.
losses = _versions("chain_losses", LossRecord, ("fault", "lease"))
_index(losses, "tenant", "place")

# Found by machine, on which one challenge stands at a time.
challenges = _versions("chain_challenges", ChallengeRecord, ("machine",))
_index(challenges, "challenge", "place")
seats = _versions("chain_seats", SeatRecord, ("seat",))
rounds = _versions("chain_rounds", RoundRecord, ("round",), seats=bytes)  # four bytes each
_index(rounds, "machine", "round")
votes = _versions("chain_votes", VoteRecord, ("round", "seat"))
ratings = _versions("chain_ratings", RatingRecord, ("lease",))
_index(ratings, "provider", "lease")
services = _versions("chain_services", ServiceRecord, ("account", "kind"), kind=bytes)
licences = _versions("chain_licences", LicenceRecord, ("account", "kind"), kind=bytes)
delegates = _versions("chain_delegates", DelegateRecord, ("account", "delegate"))
groups = _versions("chain_groups", GroupRecord, ("account",), signers=bytes)  # twenty bytes each

# Who signs for which group: of one log as many rows as the group has signers.
members = Table(
    "chain_members",
    metadata,
    _pool(),
    _column("place", int, key=True),
    Column("entry", Integer, primary_key=True, autoincrement=False),
    _column("member", str),
    _column("account", str),
    Column("event", String(32), nullable=False),
    Column("tx_hash", LargeBinary(32), nullable=False),
    sqlite_with_rowid=False,
    info={"subject": ("account", "member")},
)
_index(members, "member", "place")

# Bits of offers that are used or cancelled, and by which lease if the version is of a use.
offers = _versions("chain_offers", OfferRecord, ("provider", "word"))

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
    groups,
    members,
    offers,
)
VERSIONED = (ledger, machines, leases, params, states, *COMPANIONS)
EVERYTHING = (pools, cursors, blocks, *VERSIONED)


class Form(Enum):
    """What the tables that lie in a database are to this program. MISSING: all of them, or some."""

    MISSING, ANOTHER, OURS = range(3)


def form(connection: Connection) -> Form:
    """Which of these they are."""
    there = set(inspect(connection).get_table_names())
    if version.name not in there:
        return Form.MISSING
    if connection.scalars(select(version.c.version_num)).all() != [SCHEMA]:
        return Form.ANOTHER
    return Form.OURS if there >= metadata.tables.keys() else Form.MISSING


def make_anew(connection: Connection) -> None:
    """Make the tables, in place of those of another form and all that is in them. Others' tables stay as they are.

    Only the names tell whose a table is, and every form so far has had the same. Whoever takes a table out of the form
    has it dropped here still.
    """
    there = set(inspect(connection).get_table_names())  # once: a server is not asked for each
    # The pools last: in forms before, other tables' rows refer to them.
    for table in sorted(metadata.tables.values(), key=lambda table: table is pools):
        if table.name in there:
            table.drop(connection, checkfirst=False)
    metadata.create_all(connection, checkfirst=False)
    connection.execute(version.insert().values(version_num=SCHEMA))
