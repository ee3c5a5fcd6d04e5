"""The library as README shows it: word for word, in a process that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.transcript import blocks
from devnet.world import World
from leasehold.chain import Deployment, LeaseClosed
from leasehold.market import Money

from .test_reorg import another_chain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def alone(world: World) -> Iterator[Site]:
    """The only machine of its pool: the examples take the cheapest. Its renter's wallet is called as they call it."""
    with another_chain(world) as chain, make_site(chain) as site:
        keys = site.renter.home / "keys"
        for suffix in ("json", "age", "pub"):
            (keys / f"me.{suffix}").write_bytes((keys / f"{site.renter.name}.{suffix}").read_bytes())
        yield site


def blocks_of(document: Path) -> list[str]:
    """Its blocks of Python."""
    return [block.text for block in blocks(document, "python")]


def the_examples() -> list[str]:
    """README's, of which the first rents, and the guide's, by which a machine joins."""
    return [*blocks_of(ROOT / "README.md"), *blocks_of(ROOT / "docs/guides/join-from-python.md")]


def said_by(code: str, site: Site, folder: Path) -> str:
    """What a process with nothing else says while it runs `code`, as a notebook would."""
    notebook = (
        "import ast, asyncio, inspect, sys\n"
        "cells = compile(sys.argv[1], 'cells', 'exec', flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)\n"
        "made = eval(cells, {'__name__': '__main__'})\n"
        "asyncio.run(made) if inspect.iscoroutine(made) else None\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", notebook, code],
        cwd=folder,
        env={
            **os.environ,
            **site.renter.environment,
            "LEASEHOLD_PASSWORD": site.renter.password_file.read_text().strip(),
            "IMAGE": site.tiny,
        },
        capture_output=True,
        text=True,
        timeout=patient(180),
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


@pytest.mark.slow
def test_readmes_example(alone: Site, tmp_path: Path) -> None:
    said = said_by(the_examples()[0], alone, tmp_path)
    assert "into escrow: " in said
    assert "\ncounted\n" in said
    assert int((tmp_path / "build/cores/outputs/cores.txt").read_text()) > 0
    closed = alone.here(LeaseClosed)[-1]
    money = Money.of(Deployment.load(alone.world.deployment))
    assert said.endswith(f"exit code 0 at {money.show(closed.paid + closed.fee)}\n")


@pytest.mark.slow
def test_the_tutorial_cell_by_cell(alone: Site, tmp_path: Path) -> None:
    cells = blocks_of(ROOT / "docs/tutorials/python.md")
    assert len(cells) == 8
    said = said_by("\n".join(cells), alone, tmp_path)
    assert " per GPU-hour\n" in said
    assert "\ncounted\n" in said
    cores = (tmp_path / "build/tutorial/outputs/cores.txt").read_text().strip()
    assert f"\ncores: {cores}\n" in said
    assert "\nnot-live - " in said
