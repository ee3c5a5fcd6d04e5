"""Alembic's environment. It runs inside the connection that `Indexer` hands over, never on its own."""

from alembic import context

from leasehold.chain._tables import metadata

connection = context.config.attributes["connection"]
# A version table of its own: other parts of the project keep their tables in the same database.
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table="chain_version",
    render_as_batch=connection.dialect.name == "sqlite",
)
context.run_migrations()
