"""The gateway's benchmark runs: a small one, whose figures say nothing but that each was taken."""

from pathlib import Path

import pytest

from bench_gateway import GatewayLoad, run

pytestmark = pytest.mark.slow


def test_every_row_of_a_small_gateway_is_taken(tmp_path: Path) -> None:
    small = GatewayLoad(machines=40, leases=200, listeners=20, rate=20, seconds=3.0, round_seconds=0.2)
    rows = {row["name"]: row for row in run(small, tmp_path / "kept")}
    assert list(rows) == [
        "gateway.search",
        "gateway.search_p99_ms",
        "gateway.update_s",
        "gateway.memory_mib",
    ]
    assert all(row["ours"] > 0 for row in rows.values())
