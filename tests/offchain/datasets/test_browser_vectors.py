"""What a browser seals and what the library seals is one format: each opens the other's, a node calls it the same."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from leasehold.datasets import FilePart, Ipfs
from leasehold.errors import DatasetCorrupt

FOLDER = Path(__file__).parents[2] / "vectors"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dataset_vectors", FOLDER / "datasets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def vectors(maker: ModuleType) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(maker.FILE.read_text())
    return document


def test_the_vectors_are_what_the_library_makes(maker: ModuleType, vectors: dict[str, Any]) -> None:
    assert maker.document(vectors) == vectors, "run tests/vectors/datasets.py"


async def test_a_node_calls_files_as_the_browser_works_out(
    publisher: Ipfs, maker: ModuleType, vectors: dict[str, Any]
) -> None:
    for file in vectors["cids"]["sizes"]:
        assert await publisher.add_stream([FilePart("dataset", [maker.pattern(file["size"])])]) == file["cid"]


async def test_what_a_browser_sealed_is_fetched_as_a_dataset(
    publisher: Ipfs, fetcher: Ipfs, maker: ModuleType, tmp_path: Path
) -> None:
    sealed = json.loads((FOLDER / "dataset_by_browser.json").read_text())
    cid = await publisher.add_stream([FilePart("dataset", [bytes.fromhex(sealed["sealed"])])])
    assert cid == sealed["cid"]
    await fetcher.fetch(cid, tmp_path / "data", key=sealed["key"])
    written = {
        path.relative_to(tmp_path / "data").as_posix(): None if path.is_dir() else path.read_text()
        for path in (tmp_path / "data").rglob("*")
    }
    assert {path: content for path, content in written.items() if content is not None} == {
        path: content for path, content in maker.FOLDERS[1].items() if content is not None
    }


async def test_blocks_are_given_along_a_way_that_hangs_together(publisher: Ipfs, maker: ModuleType) -> None:
    root = await publisher.add_stream([FilePart("dataset", [maker.pattern(3 << 20)])])
    other = await publisher.add_stream([FilePart("dataset", [b"another"])])
    chunk = maker.pattern(3 << 20)[: 1 << 20]
    leaf = await publisher.add_stream([FilePart("dataset", [chunk])])
    assert await publisher.blocks_below([root], [leaf]) == [chunk]
    for chain, cids in (([root], [other]), ([root, other], []), ([other], [leaf])):
        with pytest.raises(DatasetCorrupt):
            await publisher.blocks_below(chain, cids)
