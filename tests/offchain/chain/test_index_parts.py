"""What an index on PostgreSQL is made of, where no server is needed to see whether it is right."""

import asyncio
import random
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from leasehold.chain import (
    Applied,
    Block,
    IndexBroken,
    IndexChange,
    Indexer,
    IndexUnavailable,
    RolledBack,
)
from leasehold.chain import _index_engine as engines
from leasehold.chain import _tables as tables
from leasehold.chain._index_changes import IndexNews, read_notice
from leasehold.chain._index_election import Election
from leasehold.chain._index_writer import _FLUSH_ROWS, _in_parts, _in_runs
from leasehold.chain._index_writing import _written, insert_rows
from leasehold.errors import SettingsError
from market_of_size import MarketOfSize, fill

from .indexing import dump, url_of
from .test_projection import DEPLOYMENT, whole_story


def block(number: int) -> Block:
    return Block(number, f"0x{number}", number)


def applied(number: int, events: tuple[Any, ...] = ()) -> Applied:
    return Applied(block(number), events)


def undone(number: int) -> RolledBack:
    return RolledBack(block(number))


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        (sa.BigInteger(), [1, None, -7], ["1", "\\N", "-7"]),
        (tables.Amount(), [2**256 - 1, 0, 0], [str(2**256 - 1), "0", "0"]),
        (sa.Boolean(), [True, False, True], ["t", "f", "t"]),
        (sa.LargeBinary(), [b"\\\t\n", b"", None], ["\\\\x5c090a", "\\\\x", "\\N"]),
        (sa.String(9), ["\\N", "a\tb\nc\rd", None], ["\\\\N", "a\\tb\\nc\\rd", "\\N"]),
    ],
)
def test_no_value_can_be_taken_for_another_column_or_row(
    kind: Any, values: list[Any], texts: list[str]
) -> None:
    assert list(_written(kind, values)) == texts
    assert list(_written(kind, values * 9)) == texts * 9


def test_a_batch_is_taken_apart_where_something_is_taken_back() -> None:
    items = [undone(9), undone(8), applied(8), applied(9), undone(9), applied(10)]
    assert list(_in_runs(items)) == [([applied(8), applied(9)], 8), ([applied(10)], 9)]
    assert list(_in_runs([undone(3)])) == [([], 3)]
    assert list(_in_runs([applied(3)])) == [([applied(3)], None)]


def test_parts_hold_every_block_once() -> None:
    rng = random.Random(1)
    blocks = [applied(n, (None,) * rng.choice((0, 1, _FLUSH_ROWS, _FLUSH_ROWS // 2))) for n in range(50)]
    parts = list(_in_parts(blocks))
    assert [item for part in parts for item in part] == blocks
    assert all(sum(len(item.events) for item in part[:-1]) < _FLUSH_ROWS for part in parts)
    assert list(_in_parts([])) == []


@pytest.mark.parametrize("text", ["", "x", "7", "[]", "[1, [2], 3, 4]", '[1, null, "x", true]', "{}"])
def test_a_notice_that_none_of_us_wrote_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no notice of an index"):
        read_notice(text)


async def test_what_comes_meanwhile_comes_as_one() -> None:
    changes = IndexNews()
    with changes.consumer() as consumer:
        for items in ([applied(5)], [undone(4)], [applied(7)]):
            changes.tell(IndexChange.of(items, items[-1].block))
        assert await consumer.next() == IndexChange(block(7), 4, True)
        changes.tell(IndexChange.of([applied(8)], block(8)))
        assert await consumer.next() == IndexChange(block(8), 8, False)
    changes.tell(IndexChange.of([applied(9)], block(9)))
    assert changes.head == block(9)


async def test_an_index_tells_what_it_commits(tmp_path: Path) -> None:
    blocks = whole_story().blocks
    async with Indexer(url_of(tmp_path / "index.db"), DEPLOYMENT) as index:
        await index.apply(blocks[:20])
        async with aclosing(index.changes()) as changes:
            assert await anext(changes) == IndexChange(blocks[19].block, 0, True)
            coming = asyncio.create_task(anext(changes))
            await asyncio.sleep(0)
            await index.apply(blocks[20:])
            change = await coming
            assert change == IndexChange(blocks[-1].block, 21, False)
        changed = await index.changed(1)
        assert (changed.machines, changed.leases) == ([1], [1 << 16, 2 << 16])
        assert (await index.changed(len(blocks) + 1)).machines == []
        assert await index.machines(ids=changed.machines) == await index.machines()
        assert await index.leases(ids=[*changed.leases, 9]) == await index.leases()
        assert await index.machines(ids=[]) == []
        assert not index.elected


async def test_tables_of_which_one_is_gone_are_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    blocks = whole_story().blocks
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        await index.apply(blocks)
    before = dump(path)
    engine = engines.engine_of(url_of(path))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE chain_ledger")
    engine.dispose()
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        assert await index.head() is None
        await index.apply(blocks)
    assert dump(path) == before


async def test_tables_whose_rows_refer_to_the_pool_are_made_anew(tmp_path: Path) -> None:
    """As they did in forms before: SQLite drops no table to which rows refer."""
    path = tmp_path / "index.db"
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        await index.apply(whole_story().blocks)
    engine = engines.engine_of(url_of(path))
    with engine.begin() as connection:
        for name in ("chain_blocks", "chain_votes", "chain_machines", "chain_ledger"):
            connection.exec_driver_sql(f"DROP TABLE {name}")
        for name in ("chain_blocks", "chain_votes"):
            connection.exec_driver_sql(f"CREATE TABLE {name} (pool INTEGER REFERENCES chain_pools (id))")
            connection.exec_driver_sql(f"INSERT INTO {name} VALUES (1)")
    engine.dispose()
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        await index.apply(whole_story().blocks)
        assert len(await index.machines()) == 1


def test_a_server_s_errors_are_ours_and_a_disk_s_are_not() -> None:
    postgres = engines.engine_of("postgres://somebody:secret@127.0.0.1:1/index")
    assert engines.is_postgres(postgres)
    lost = sa.exc.OperationalError(
        "SELECT 1", None, OSError("the server closed the connection\nunexpectedly")
    )
    with pytest.raises(IndexUnavailable) as caught, engines.in_our_words(postgres):
        raise lost
    assert caught.value.reason == "the server closed the connection"
    with pytest.raises(IndexBroken), engines.in_our_words(postgres):
        raise sa.exc.IntegrityError("INSERT", None, OSError("twice"))
    with pytest.raises(sa.exc.OperationalError), engines.in_our_words(sa.create_engine("sqlite://")):
        raise lost


async def test_a_server_that_is_not_there_is_unavailable_and_its_password_is_not_told() -> None:
    index = Indexer("postgresql://somebody:secret@127.0.0.1:1/index", DEPLOYMENT)
    for ask in (index.open, index.machines):
        with pytest.raises(IndexUnavailable) as caught:
            await ask()
        assert "secret" not in str(caught.value)
    await index.aclose()


def test_who_was_not_elected_cannot_write() -> None:
    election = Election(sa.create_engine("sqlite://"))
    assert not election.held
    election.resign()
    with pytest.raises(IndexUnavailable, match="lost"), election.transaction():
        pass


def test_an_address_without_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("psycopg")

    monkeypatch.setattr(engines.sa, "create_engine", missing)
    with pytest.raises(SettingsError, match=r"leasehold\[postgres\]"):
        engines.engine_of("postgresql://somebody@localhost/index")


async def test_a_market_of_size_is_one_that_a_pool_could_have(tmp_path: Path) -> None:
    from leasehold.market import Contact, Hardware, parse_document

    path = tmp_path / "index.db"
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        documents = await fill(index, DEPLOYMENT, machines=12, leases=150)
        machines, leases = await index.machines(), await index.leases()
        balances = await index.balances()
        assert (len(machines), len(leases)) == (12, 150)
        for record in machines:
            parse_document(Hardware, documents[record.hardware], "hardware")
            parse_document(Contact, documents[record.contact], "contact")
            live = await index.leases(machine=record.machine.id, live=True)
            assert record.machine.leased.bit_count() == 8 * len(live)
            assert len(live) <= record.machine.gpus
        for lease in leases:
            if not lease.lease.state.live:
                assert lease.paid + lease.fee + lease.refunded == lease.lease.deposit
        assert min(balances.values()) >= 0
        assert await index.ratings()
    again = MarketOfSize(DEPLOYMENT, 12, 150)
    assert list(again.blocks()) == list(MarketOfSize(DEPLOYMENT, 12, 150).blocks())


def test_rows_come_in_pieces_and_all_of_them_or_none(postgres_url: str) -> None:
    """What cannot be written, or what the server refuses, may stand behind pieces that it has already."""
    engine, metadata = engines.engine_of(postgres_url), sa.MetaData()
    table = sa.Table("pieces", metadata, sa.Column("number", sa.Integer), sa.Column("text", sa.String))
    with engine.begin() as connection:
        metadata.create_all(connection)

    def count() -> int:
        with engine.connect() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()

    for odd in ("\ud800", "a\0b"):
        rows = [{"number": number, "text": odd if number == 2_500 else "x"} for number in range(3_000)]
        with pytest.raises((UnicodeEncodeError, sa.exc.DataError)), engine.begin() as connection:
            insert_rows(connection, table, rows)
        assert count() == 0
    with engine.begin() as connection:
        insert_rows(connection, table, [{"number": number, "text": "a\t\\\n"} for number in range(2_000)])
    assert count() == 2_000, "the last piece is whole"
    engine.dispose()
