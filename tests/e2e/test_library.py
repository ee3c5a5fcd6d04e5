"""The library as README shows it: word for word, in a process that has nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.patience import patient
from devnet.site import Site, make_site
from devnet.world import World
from leasehold.chain import Deployment, LeaseClosed
from leasehold.market import Money

from .test_reorg import another_chain

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    """The only machine of its pool: the example takes the cheapest."""
    with another_chain(world) as chain, make_site(chain) as site:
        yield site


def the_examples() -> list[str]:
    """README's blocks of Python, of which the first rents, and the guide's, by which a machine joins."""
    pages = (ROOT / "README.md", ROOT / "docs/guides/join-from-python.md")
    return [
        example
        for page in pages
        for example in re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)
    ]


def test_readmes_example(alone: Site, tmp_path: Path) -> None:
    site = alone
    keys = site.renter.home / "keys"
    for suffix in ("json", "age", "pub"):  # the wallet is called as README calls it
        (keys / f"me.{suffix}").write_bytes((keys / f"{site.renter.name}.{suffix}").read_bytes())
    try:
        said = subprocess.run(
            [sys.executable, "-c", the_examples()[0]],
            cwd=tmp_path,
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
    finally:
        for suffix in ("json", "age", "pub"):
            (keys / f"me.{suffix}").unlink()
    assert said.returncode == 0, said.stderr
    assert "into escrow: " in said.stdout
    assert "\ncounted\n" in said.stdout
    assert int((tmp_path / "build/cores/outputs/cores.txt").read_text()) > 0
    (closed,) = site.here(LeaseClosed)
    assert said.stdout.endswith(
        f"it cost: {Money.of(Deployment.load(site.world.deployment)).show(closed.paid + closed.fee)}\n"
    )
