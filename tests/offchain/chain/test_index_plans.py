"""SQLite finds what is asked of an index by its indices: nothing that is asked of one subject reads the whole pool."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from leasehold.chain import Indexer, LeaseState
from leasehold.chain._index_engine import engine_of

from .indexing import url_of
from .test_projection import DEPLOYMENT, whole_story

_WHOLE = re.compile(r"(SCAN chain_|SEARCH chain_(?!states)\w+ .*\(pool=\?\))")
ACCOUNT = "0x" + "11" * 20
ASKED: dict[str, Callable[[Indexer], Awaitable[object]]] = {
    "a lease": lambda index: index.lease(65_536),
    "leases by id": lambda index: index.leases(ids=[65_536, 131_072]),
    "leases of machines": lambda index: index.leases(machines=[1, 2, 3]),
    "live leases of an account": lambda index: index.leases(tenant=ACCOUNT, live=True),
    "a page of an account": lambda index: index.leases_page(tenant=ACCOUNT, states=[LeaseState.ACTIVE]),
    "a page of machines": lambda index: index.leases_page(machines=[1, 2]),
    "how many an account has": lambda index: index.leases_count(tenant=ACCOUNT),
    "a lease's past": lambda index: index.lease_history(65_536),
    "a lease's events": lambda index: index.lease_events(65_536),
    "a machine": lambda index: index.machine(1),
    "machines by id": lambda index: index.machines(ids=[1, 2]),
    "a machine's terms": lambda index: index.terms_history(1),
    "faults of machines": lambda index: index.faults(machines=[1, 2]),
    "ratings of leases": lambda index: index.ratings(leases=[65_536]),
}


def _plans(path: Path, said: list[tuple[str, Any]]) -> list[str]:
    """Steps in which a whole table is read."""
    engine = engine_of(url_of(path))
    with engine.connect() as connection:
        steps = [
            f"{step[3]}: {statement}"
            for statement, values in said
            for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)
        ]
    engine.dispose()
    return [step for step in steps if _WHOLE.match(step)]


@pytest.mark.parametrize("name", ASKED)
async def test_what_is_asked_of_one_subject_reads_no_whole_table(tmp_path: Path, name: str) -> None:
    said: list[tuple[str, Any]] = []
    async with Indexer(url_of(tmp_path / "index.db"), DEPLOYMENT) as index:

        @sa.event.listens_for(index._engine, "before_cursor_execute")
        def executed(_c: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
            if statement.startswith("SELECT"):
                said.append((statement, values))

        await ASKED[name](index)
    assert said
    assert _plans(tmp_path / "index.db", said) == []


async def test_what_an_event_is_applied_to_is_found_without_reading_all(tmp_path: Path) -> None:
    """The past of an index that has just been opened is in the database alone."""
    path, said = tmp_path / "index.db", list[tuple[str, Any]]()
    blocks = whole_story().blocks
    half = len(blocks) // 2
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        await index.apply(blocks[:half])
    async with Indexer(url_of(path), DEPLOYMENT) as index:

        @sa.event.listens_for(index._engine, "before_cursor_execute")
        def executed(_c: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
            if statement.startswith("SELECT") and " LIMIT " in statement:
                said.append((statement, values))

        await index.apply(blocks[half:])
    assert said
    assert _plans(path, said) == []


async def test_what_has_come_since_a_block_is_read_from_there_on(tmp_path: Path) -> None:
    """Every block is asked for: over 297,000 versions it had been half of what a block costs a gateway."""
    path, said = tmp_path / "index.db", list[tuple[str, Any]]()
    blocks = whole_story().blocks
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        await index.apply(blocks)
        first = next(block.block for block in blocks if block.events)

        @sa.event.listens_for(index._engine, "before_cursor_execute")
        def executed(_c: object, _cursor: object, statement: str, values: Any, *_: object) -> None:
            if "place >=" in statement:
                said.append((statement, values))

        assert (await index.changes_since([first])).since == first
        await index.changed(first.number)
    assert len(said) == 6
    assert _plans(path, said) == []


async def test_an_index_from_before_is_told_of_once(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    engine = engine_of(url_of(path))
    try:
        async with Indexer(url_of(path), DEPLOYMENT):
            pass
        with engine.begin() as connection:
            first = connection.exec_driver_sql("SELECT * FROM sqlite_stat1").all()
            connection.exec_driver_sql("DELETE FROM sqlite_stat1")
        for _ in range(2):
            async with Indexer(url_of(path), DEPLOYMENT):
                pass
        with engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT * FROM sqlite_stat1").all() == first
    finally:
        engine.dispose()
