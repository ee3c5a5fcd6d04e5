"""The gates of the contracts see what they are there to see."""

import os
from pathlib import Path

import pytest

import bench_gas
import contract_coverage
import contract_sizes

ROOT = Path(__file__).parents[2]

WHOLE = """TN:
SF:contracts/A.sol
DA:3,7
FN:3,A.f
FNDA:7,A.f
DA:4,1
BRDA:4,0,0,1
BRDA:4,0,1,6
FNF:1
end_of_record
"""


def test_a_report_with_everything_reached() -> None:
    assert contract_coverage.misses(WHOLE, ["contracts/A.sol"]) == []


@pytest.mark.parametrize(
    ("line", "changed", "miss"),
    [
        ("DA:4,1", "DA:4,0", "contracts/A.sol:4 line"),
        ("BRDA:4,0,1,6", "BRDA:4,0,1,0", "contracts/A.sol:4 branch 1"),
        ("BRDA:4,0,1,6", "BRDA:4,0,1,-", "contracts/A.sol:4 branch 1"),
        ("FNDA:7,A.f", "FNDA:0,A.f", "contracts/A.sol:3 function A.f"),
        ("SF:contracts/A.sol", "SF:contracts/B.sol", "contracts/A.sol altogether"),
    ],
)
def test_each_kind_of_miss_is_named(line: str, changed: str, miss: str) -> None:
    assert contract_coverage.misses(WHOLE.replace(line, changed), ["contracts/A.sol"]) == [miss]


def test_other_files_count_nothing() -> None:
    foreign = WHOLE.replace("contracts/A.sol", "node_modules/B.sol").replace("DA:4,1", "DA:4,0")
    assert contract_coverage.misses(WHOLE + foreign, ["contracts/A.sol"]) == []
    assert contract_coverage.misses(foreign + WHOLE, ["contracts/A.sol"]) == []


def test_every_contract_with_code_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    expected = contract_coverage.sources()
    assert {"contracts/Controller.sol", "contracts/base/Leases.sol", "contracts/libraries/Slots.sol"} <= set(
        expected
    )
    assert not [path for path in expected if "interfaces" in path or "/test/" in path]


def test_the_ceiling_itself_is_too_large() -> None:
    sizes = {"Small": 22_527, "Large": 22_528, "Faults": 20_499}
    assert contract_sizes.too_large(sizes) == ["Large: 22,528 bytes, not under 22,528"]
    assert contract_sizes.too_large({"Faults": 20_500}) == ["Faults: 20,500 bytes, not under 20,500"]
    deployed = contract_sizes.ours(ROOT / "contracts")
    assert {"Controller", "Faults", "GroupAccount"} <= set(deployed)
    assert not {"TestToken", "ControllerStorage", "Billing"} & set(deployed)


def test_a_row_of_the_gas_table() -> None:
    row = bench_gas.row("open_new", 110, 100, 120)
    assert (row["name"], row["ratio"], row["ok"]) == ("gas.open_new", 1.1, True)
    assert not bench_gas.row("open_new", 121, 100, 120)["ok"]
    assert bench_gas.row("close_warm", 1, None, 1)["ratio"] is None


def test_what_the_compiler_is_no_longer_asked_is_forgotten(tmp_path: Path) -> None:
    for name, used in (("before", 100), ("now", 200)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (used, used))
    contract_coverage.forget(tmp_path, 200)
    assert [kept.name for kept in tmp_path.iterdir()] == ["now"]
