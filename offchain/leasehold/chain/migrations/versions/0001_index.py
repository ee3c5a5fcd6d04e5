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
        "chain_challenges",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("challenge", sa.BigInteger(), nullable=False),
        sa.Column("machine", sa.BigInteger(), nullable=False),
        sa.Column("challenger", sa.String(length=42), nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("bond", AMOUNT, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("fault", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_challenges_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_challenges")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_challenges_pool_challenge_place"),
        "chain_challenges",
        ["pool", "challenge", "place"],
        unique=False,
    )
    op.create_index(
        op.f("ix_chain_challenges_pool_machine_place"),
        "chain_challenges",
        ["pool", "machine", "place"],
        unique=False,
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
        "chain_delegates",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=42), nullable=False),
        sa.Column("delegate", sa.String(length=42), nullable=False),
        sa.Column("cap", AMOUNT, nullable=False),
        sa.Column("period", sa.BigInteger(), nullable=False),
        sa.Column("expiry", sa.BigInteger(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("spent", AMOUNT, nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_delegates_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_delegates")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_delegates_pool_account_delegate_place"),
        "chain_delegates",
        ["pool", "account", "delegate", "place"],
        unique=False,
    )
    op.create_table(
        "chain_faults",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fault", sa.BigInteger(), nullable=False),
        sa.Column("machine", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.BigInteger(), nullable=False),
        sa.Column("from_", sa.BigInteger(), nullable=False),
        sa.Column("to", sa.BigInteger(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("filed_at", sa.BigInteger(), nullable=False),
        sa.Column("deadline", sa.BigInteger(), nullable=False),
        sa.Column("bps", sa.BigInteger(), nullable=False),
        sa.Column("amount", AMOUNT, nullable=False),
        sa.Column("pot", AMOUNT, nullable=False),
        sa.Column("reported", AMOUNT, nullable=False),
        sa.Column("rest", AMOUNT, nullable=False),
        sa.Column("sink", sa.String(length=42), nullable=False),
        sa.Column("compensated", AMOUNT, nullable=False),
        sa.Column("rules", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_faults_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_faults")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_faults_pool_fault_place"), "chain_faults", ["pool", "fault", "place"], unique=False
    )
    op.create_index(
        op.f("ix_chain_faults_pool_machine_fault"), "chain_faults", ["pool", "machine", "fault"], unique=False
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
        sa.Column("paused", sa.BigInteger(), nullable=False),
        sa.Column("segment_start", sa.BigInteger(), nullable=False),
        sa.Column("segment_settled", AMOUNT, nullable=False),
        sa.Column("backup_lease", sa.BigInteger(), nullable=False),
        sa.Column("author", sa.String(length=42), nullable=False),
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
        "chain_licences",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=42), nullable=False),
        sa.Column("kind", sa.LargeBinary(length=32), nullable=False),
        sa.Column("seats", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_licences_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_licences")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_licences_pool_account_kind_place"),
        "chain_licences",
        ["pool", "account", "kind", "place"],
        unique=False,
    )
    op.create_table(
        "chain_losses",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fault", sa.BigInteger(), nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("tenant", sa.String(length=42), nullable=False),
        sa.Column("part", AMOUNT, nullable=False),
        sa.Column("amount", AMOUNT, nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_losses_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_losses")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_losses_pool_fault_lease_place"),
        "chain_losses",
        ["pool", "fault", "lease", "place"],
        unique=False,
    )
    op.create_index(
        op.f("ix_chain_losses_pool_tenant_place"), "chain_losses", ["pool", "tenant", "place"], unique=False
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
        sa.Column("smallest_share", sa.BigInteger(), nullable=False),
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
        sa.Column("down_since", sa.BigInteger(), nullable=False),
        sa.Column("held_from", sa.BigInteger(), nullable=False),
        sa.Column("held_to", sa.BigInteger(), nullable=False),
        sa.Column("held_until", sa.BigInteger(), nullable=False),
        sa.Column("last_verified", sa.BigInteger(), nullable=False),
        sa.Column("pending_slashes", sa.BigInteger(), nullable=False),
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
        "chain_offers",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("provider", sa.String(length=42), nullable=False),
        sa.Column("word", AMOUNT, nullable=False),
        sa.Column("mask", AMOUNT, nullable=False),
        sa.Column("nonce", AMOUNT, nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_offers_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_offers")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_offers_pool_provider_word_place"),
        "chain_offers",
        ["pool", "provider", "word", "place"],
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
        sa.Column("reverify_interval", sa.BigInteger(), nullable=False),
        sa.Column("committee_size", sa.BigInteger(), nullable=False),
        sa.Column("bond", AMOUNT, nullable=False),
        sa.Column("seat_stake", AMOUNT, nullable=False),
        sa.Column("verification_fee", AMOUNT, nullable=False),
        sa.Column("arbiter", sa.String(length=42), nullable=False),
        sa.Column("sink", sa.String(length=42), nullable=False),
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
        "chain_ratings",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("lease", sa.BigInteger(), nullable=False),
        sa.Column("provider", sa.String(length=42), nullable=False),
        sa.Column("tenant", sa.String(length=42), nullable=False),
        sa.Column("stars", sa.BigInteger(), nullable=False),
        sa.Column("comment", sa.LargeBinary(length=32), nullable=False),
        sa.Column("fee", AMOUNT, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_ratings_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_ratings")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_ratings_pool_lease_place"), "chain_ratings", ["pool", "lease", "place"], unique=False
    )
    op.create_index(
        op.f("ix_chain_ratings_pool_provider_lease"),
        "chain_ratings",
        ["pool", "provider", "lease"],
        unique=False,
    )
    op.create_table(
        "chain_rounds",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("machine", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("requester", sa.String(length=42), nullable=False),
        sa.Column("state", sa.BigInteger(), nullable=False),
        sa.Column("requested_at", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("misses", sa.BigInteger(), nullable=False),
        sa.Column("fee", AMOUNT, nullable=False),
        sa.Column("seats", sa.LargeBinary(), nullable=False),
        sa.Column("commit_until", sa.BigInteger(), nullable=False),
        sa.Column("reveal_until", sa.BigInteger(), nullable=False),
        sa.Column("spec", sa.LargeBinary(length=32), nullable=False),
        sa.Column("score", sa.BigInteger(), nullable=False),
        sa.Column("agreed", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_rounds_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_rounds")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_rounds_pool_machine_round"), "chain_rounds", ["pool", "machine", "round"], unique=False
    )
    op.create_index(
        op.f("ix_chain_rounds_pool_round_place"), "chain_rounds", ["pool", "round", "place"], unique=False
    )
    op.create_table(
        "chain_seats",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seat", sa.BigInteger(), nullable=False),
        sa.Column("validator", sa.String(length=42), nullable=False),
        sa.Column("stake", AMOUNT, nullable=False),
        sa.Column("level", AMOUNT, nullable=False),
        sa.Column("joined_at", sa.BigInteger(), nullable=False),
        sa.Column("leaves_at", sa.BigInteger(), nullable=False),
        sa.Column("exited", sa.Boolean(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_seats_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_seats")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_seats_pool_seat_place"), "chain_seats", ["pool", "seat", "place"], unique=False
    )
    op.create_table(
        "chain_services",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("account", sa.String(length=42), nullable=False),
        sa.Column("kind", sa.LargeBinary(length=32), nullable=False),
        sa.Column("endpoint", sa.LargeBinary(length=32), nullable=False),
        sa.Column("peer_id", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_services_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_services")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_services_pool_account_kind_place"),
        "chain_services",
        ["pool", "account", "kind", "place"],
        unique=False,
    )
    op.create_table(
        "chain_states",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("gated", sa.Boolean(), nullable=False),
        sa.Column("treasury", sa.String(length=42), nullable=False),
        sa.Column("owner", sa.String(length=42), nullable=False),
        sa.Column("pending_owner", sa.String(length=42), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_states_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_states")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "chain_votes",
        sa.Column("pool", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("seat", sa.BigInteger(), nullable=False),
        sa.Column("commitment", sa.LargeBinary(length=32), nullable=False),
        sa.Column("revealed", sa.Boolean(), nullable=False),
        sa.Column("passed", sa.Boolean(), nullable=False),
        sa.Column("spec", sa.LargeBinary(length=32), nullable=False),
        sa.Column("score", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.String(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["pool"], ["chain_pools.id"], name=op.f("fk_chain_votes_pool")),
        sa.PrimaryKeyConstraint("pool", "place", name=op.f("pk_chain_votes")),
        sqlite_with_rowid=False,
    )
    op.create_index(
        op.f("ix_chain_votes_pool_round_seat_place"),
        "chain_votes",
        ["pool", "round", "seat", "place"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_chain_votes_pool_round_seat_place"), table_name="chain_votes")
    op.drop_table("chain_votes")
    op.drop_table("chain_states")
    op.drop_index(op.f("ix_chain_services_pool_account_kind_place"), table_name="chain_services")
    op.drop_table("chain_services")
    op.drop_index(op.f("ix_chain_seats_pool_seat_place"), table_name="chain_seats")
    op.drop_table("chain_seats")
    op.drop_index(op.f("ix_chain_rounds_pool_round_place"), table_name="chain_rounds")
    op.drop_index(op.f("ix_chain_rounds_pool_machine_round"), table_name="chain_rounds")
    op.drop_table("chain_rounds")
    op.drop_index(op.f("ix_chain_ratings_pool_provider_lease"), table_name="chain_ratings")
    op.drop_index(op.f("ix_chain_ratings_pool_lease_place"), table_name="chain_ratings")
    op.drop_table("chain_ratings")
    op.drop_index(op.f("ix_chain_params_pool_version_place"), table_name="chain_params")
    op.drop_table("chain_params")
    op.drop_index(op.f("ix_chain_offers_pool_provider_word_place"), table_name="chain_offers")
    op.drop_table("chain_offers")
    op.drop_index(op.f("ix_chain_machines_pool_machine_place"), table_name="chain_machines")
    op.drop_table("chain_machines")
    op.drop_index(op.f("ix_chain_losses_pool_tenant_place"), table_name="chain_losses")
    op.drop_index(op.f("ix_chain_losses_pool_fault_lease_place"), table_name="chain_losses")
    op.drop_table("chain_losses")
    op.drop_index(op.f("ix_chain_licences_pool_account_kind_place"), table_name="chain_licences")
    op.drop_table("chain_licences")
    op.drop_index(op.f("ix_chain_ledger_pool_debit_place_entry"), table_name="chain_ledger")
    op.drop_index(op.f("ix_chain_ledger_pool_credit_place_entry"), table_name="chain_ledger")
    op.drop_table("chain_ledger")
    op.drop_index(op.f("ix_chain_leases_pool_tenant_lease"), table_name="chain_leases")
    op.drop_index(op.f("ix_chain_leases_pool_machine_lease"), table_name="chain_leases")
    op.drop_index(op.f("ix_chain_leases_pool_lease_place"), table_name="chain_leases")
    op.drop_table("chain_leases")
    op.drop_index(op.f("ix_chain_faults_pool_machine_fault"), table_name="chain_faults")
    op.drop_index(op.f("ix_chain_faults_pool_fault_place"), table_name="chain_faults")
    op.drop_table("chain_faults")
    op.drop_index(op.f("ix_chain_delegates_pool_account_delegate_place"), table_name="chain_delegates")
    op.drop_table("chain_delegates")
    op.drop_table("chain_cursors")
    op.drop_index(op.f("ix_chain_challenges_pool_machine_place"), table_name="chain_challenges")
    op.drop_index(op.f("ix_chain_challenges_pool_challenge_place"), table_name="chain_challenges")
    op.drop_table("chain_challenges")
    op.drop_table("chain_blocks")
    op.drop_table("chain_pools")
