"""The index's tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

AMOUNT = sa.String(79).with_variant(sa.Numeric(78, 0), "postgresql")


def upgrade() -> None:
    op.create_table(
        "chain_pools",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("genesis", sa.String(length=66), nullable=False),
        sa.Column("controller", sa.String(length=42), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chain_pools")),
        sa.UniqueConstraint(
            "chain_id", "genesis", "controller", name=op.f("uq_chain_pools_chain_id_genesis_controller")
        ),
    )
    op.create_table(
        "chain_blocks",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=66), nullable=False),
        sa.Column("timestamp", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_blocks_pool")),
        sa.PrimaryKeyConstraint("pool", "number", name=op.f("pk_chain_blocks")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "chain_cursors",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(length=66), nullable=False),
        sa.Column("timestamp", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_cursors_pool")),
        sa.PrimaryKeyConstraint("pool", name=op.f("pk_chain_cursors")),
    )
    op.create_table(
        "chain_leases",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.String(length=42), nullable=False),
        sa.Column("machine", sa.BigInteger(), nullable=False),
        sa.Column("placement", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.BigInteger(), nullable=False),
        sa.Column("spot", sa.Boolean(), nullable=False),
        sa.Column("noticed", sa.Boolean(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("start", sa.BigInteger(), nullable=False),
        sa.Column("end", sa.BigInteger(), nullable=False),
        sa.Column("deposit", AMOUNT, nullable=False),
        sa.Column("price", AMOUNT, nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("params", sa.BigInteger(), nullable=False),
        sa.Column("backup", sa.LargeBinary(length=32), nullable=False),
        sa.Column("workload", sa.LargeBinary(length=32), nullable=False),
        sa.Column("endpoint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=False),
        sa.Column("reason", sa.LargeBinary(length=32), nullable=False),
        sa.Column("paid", AMOUNT, nullable=False),
        sa.Column("fee", AMOUNT, nullable=False),
        sa.Column("refunded", AMOUNT, nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_leases_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_leases")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_leases_pool_lease_place"), "chain_leases", ["pool", "lease", "place"], unique=False
    )
    op.create_index(
        op.f("ix_chain_leases_pool_machine_lease"), "chain_leases", ["pool", "machine", "lease"], unique=False
    )
    op.create_index(
        op.f("ix_chain_leases_pool_tenant_lease"), "chain_leases", ["pool", "tenant", "lease"], unique=False
    )
    op.create_table(
        "chain_ledger",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("entry", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("debit", sa.String(length=42), nullable=True),
        sa.Column("credit", sa.String(length=42), nullable=True),
        sa.Column("amount", AMOUNT, nullable=False),
        sa.Column("debit_balance", AMOUNT, nullable=True),
        sa.Column("credit_balance", AMOUNT, nullable=True),
        sa.Column("lease", sa.BigInteger(), nullable=True),
        sa.Column("machine", sa.BigInteger(), nullable=True),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_ledger_pool")),
        sa.PrimaryKeyConstraint("pool", "place", "entry", name=op.f("pk_chain_ledger")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_ledger_pool_credit_place_entry"),
        "chain_ledger",
        ["pool", "credit", "place", "entry"],
        unique=False,
    )
    op.create_index(
        op.f("ix_chain_ledger_pool_debit_place_entry"),
        "chain_ledger",
        ["pool", "debit", "place", "entry"],
        unique=False,
    )
    op.create_table(
        "chain_machines",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("machine", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.String(length=42), nullable=False),
        sa.Column("operator", sa.String(length=42), nullable=False),
        sa.Column("status", sa.BigInteger(), nullable=False),
        sa.Column("delisted", sa.Boolean(), nullable=False),
        sa.Column("under_staked", sa.Boolean(), nullable=False),
        sa.Column("stalled", sa.Boolean(), nullable=False),
        sa.Column("gpus", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("params", sa.BigInteger(), nullable=False),
        sa.Column("stake", AMOUNT, nullable=False),
        sa.Column("leased", AMOUNT, nullable=False),
        sa.Column("withheld", AMOUNT, nullable=False),
        sa.Column("retired_at", sa.BigInteger(), nullable=False),
        sa.Column("price", AMOUNT, nullable=False),
        sa.Column("spot_price", AMOUNT, nullable=False),
        sa.Column("min_duration", sa.BigInteger(), nullable=False),
        sa.Column("max_duration", sa.BigInteger(), nullable=False),
        sa.Column("trial", sa.BigInteger(), nullable=False),
        sa.Column("available_until_day", sa.BigInteger(), nullable=False),
        sa.Column("hardware", sa.LargeBinary(length=32), nullable=False),
        sa.Column("contact", sa.LargeBinary(length=32), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_machines_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_machines")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_machines_pool_machine_place"),
        "chain_machines",
        ["pool", "machine", "place"],
        unique=False,
    )
    op.create_table(
        "chain_params",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("in_force_at", sa.BigInteger(), nullable=False),
        sa.Column("cancelled", sa.Boolean(), nullable=False),
        sa.Column("min_stake_per_gpu", AMOUNT, nullable=False),
        sa.Column("fee_bps", sa.BigInteger(), nullable=False),
        sa.Column("hold_fee_bps", sa.BigInteger(), nullable=False),
        sa.Column("max_slash_bps", sa.BigInteger(), nullable=False),
        sa.Column("start_window", sa.BigInteger(), nullable=False),
        sa.Column("notice_seconds", sa.BigInteger(), nullable=False),
        sa.Column("penalty_seconds", sa.BigInteger(), nullable=False),
        sa.Column("claim_lag", sa.BigInteger(), nullable=False),
        sa.Column("challenge_window", sa.BigInteger(), nullable=False),
        sa.Column("filing_window", sa.BigInteger(), nullable=False),
        sa.Column("appeal_window", sa.BigInteger(), nullable=False),
        sa.Column("ruling_window", sa.BigInteger(), nullable=False),
        sa.Column("unstake_delay", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_params_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_params")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_params_pool_version_place"), "chain_params", ["pool", "version", "place"], unique=False
    )
    op.create_table(
        "chain_states",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("treasury", sa.String(length=42), nullable=False),
        sa.Column("owner", sa.String(length=42), nullable=False),
        sa.Column("pending_owner", sa.String(length=42), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_states_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_states")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("chain_states")
    op.drop_index(op.f("ix_chain_params_pool_version_place"), table_name="chain_params")
    op.drop_table("chain_params")
    op.drop_index(op.f("ix_chain_machines_pool_machine_place"), table_name="chain_machines")
    op.drop_table("chain_machines")
    op.drop_index(op.f("ix_chain_ledger_pool_debit_place_entry"), table_name="chain_ledger")
    op.drop_index(op.f("ix_chain_ledger_pool_credit_place_entry"), table_name="chain_ledger")
    op.drop_table("chain_ledger")
    op.drop_index(op.f("ix_chain_leases_pool_tenant_lease"), table_name="chain_leases")
    op.drop_index(op.f("ix_chain_leases_pool_machine_lease"), table_name="chain_leases")
    op.drop_index(op.f("ix_chain_leases_pool_lease_place"), table_name="chain_leases")
    op.drop_table("chain_leases")
    op.drop_table("chain_cursors")
    op.drop_table("chain_blocks")
    op.drop_table("chain_pools")
