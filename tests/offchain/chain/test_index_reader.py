"""The index read by hand says what `Indexer` says, or nothing."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from leasehold.chain import Deployment, Indexer, MachineStatus, read_machines
from leasehold.chain._tables import cursors, machines, place_of
from leasehold.chain._versions import MachineVersion, Uint256

from .indexing import url_of

DEPLOYMENT = Deployment(
    chain_id=31337,
    genesis="0x" + "0" * 64,
    factory="0x" + "1" * 40,
    accounts="0x" + "2" * 40,
    controller="0x" + "3" * 40,
    token="0x" + "4" * 40,
    block=1,
    token_symbol="TUSD",
    token_decimals=18,
)


def any_version(rng: random.Random, machine: int) -> dict[str, Any]:
    """A row of that machine, with values of every size."""
    kinds = {
        int: lambda: rng.getrandbits(rng.choice((1, 8, 62))),
        Uint256: lambda: rng.getrandbits(rng.choice((1, 64, 255))),
        bool: lambda: rng.random() < 0.5,
        str: lambda: f"0x{rng.randbytes(20).hex()}",
        bytes: lambda: rng.randbytes(32),
    }
    row = {name: kinds[kind]() for name, kind in MachineVersion.__annotations__.items()}
    return row | {"machine": machine, "status": rng.choice(list(MachineStatus))}


async def filled(path: Path, seed: int) -> None:
    """An index with machines of several pools, of which each has had several versions."""
    rng = random.Random(seed)
    other = Deployment(**{name: getattr(DEPLOYMENT, name) for name in DEPLOYMENT.__slots__} | {"chain_id": 7})
    for deployment in (other, DEPLOYMENT):
        async with Indexer(url_of(path), deployment):
            pass
    rows = [
        any_version(rng, rng.randint(1, 40))
        | {
            "pool": rng.randint(1, 2),
            "place": place_of(number, rng.getrandbits(8)),
            "event": "E",
            "tx_hash": bytes(32),
        }
        for number in rng.sample(range(10_000), 300)
    ]
    engine = sa.create_engine(url_of(path))
    with engine.begin() as connection:
        connection.execute(machines.insert(), rows)
        for pool in (1, 2):
            head = {"pool": pool, "number": 10_000, "hash": f"0x{pool}", "timestamp": 1}
            connection.execute(cursors.insert(), [head])
    engine.dispose()


@pytest.mark.parametrize("seed", range(5))
async def test_it_says_what_the_index_says(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "index.db"
    await filled(path, seed)
    known = read_machines(path, DEPLOYMENT)
    async with Indexer(url_of(path), DEPLOYMENT) as index:
        told = await index.machines()
    assert known is not None
    assert len(told) > 20
    assert [repr(record) for record in known.machines] == [repr(record) for record in told]  # types and all
    assert known.block == "0x2"


async def test_what_it_does_not_know_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    assert read_machines(path, DEPLOYMENT) is None
    assert not path.exists()
    path.write_text("no database")
    assert read_machines(path, DEPLOYMENT) is None
    path.unlink()
    await filled(path, 1)
    stranger = Deployment(
        **{name: getattr(DEPLOYMENT, name) for name in DEPLOYMENT.__slots__} | {"chain_id": 9}
    )
    assert read_machines(path, stranger) is None
    with closing(sqlite3.connect(path)) as index, index:
        index.execute("UPDATE chain_machines SET status = 99")
    assert read_machines(path, DEPLOYMENT) is None
    with closing(sqlite3.connect(path)) as index, index:
        index.execute("UPDATE chain_machines SET status = 1")
    assert read_machines(path, DEPLOYMENT) is not None
    with closing(sqlite3.connect(path)) as index, index:
        index.execute("UPDATE chain_version SET version_num = 'later'")
    assert read_machines(path, DEPLOYMENT) is None
