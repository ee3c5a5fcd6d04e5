"""A chain that goes on from another's state is that chain."""

from __future__ import annotations

import json
from pathlib import Path

from devnet.anvil import Anvil


def test_what_was_saved_twice_begins_where_the_first_began(tmp_path: Path) -> None:
    """Anvil makes a block 0 before it takes a state, and which of the two was read back was a matter of luck."""
    with Anvil(args=["--timestamp", "1700000000"]) as first:
        first.mine(2)
        began, state = first.genesis, first.save(tmp_path / "first.json")
    for at in ("1710000000", "1720000000"):
        later = Anvil(args=["--timestamp", at])
        later.start(state=state)
        try:
            assert (later.genesis, later.block_number) == (began, 2)
            state = later.save(tmp_path / f"{at}.json")
        finally:
            later.stop()
        numbers = sorted(
            int(block["header"]["number"], 16) for block in json.loads(state.read_text())["blocks"]
        )
        assert numbers == [0, 1, 2]
