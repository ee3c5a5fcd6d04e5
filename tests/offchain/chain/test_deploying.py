"""Deploying, the real way through Brownie and the fast way, leaves the same world and nothing in the home."""

import json
from pathlib import Path

import pytest

from devnet import contracts
from devnet.anvil import Anvil
from leasehold.chain import Deployment, Pool, Rpc


@pytest.mark.slow
def test_both_ways_come_to_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    written = []
    # Brownie comes second: it must not mind what an earlier chain with the same id had.
    for number, way in enumerate((contracts.deploy, contracts.deploy, contracts.deploy_fast)):
        with Anvil() as chain:
            path = way(chain.url, tmp_path / str(number))
        assert path.name == "31337.json"
        written.append(json.loads(path.read_text()))
    for deployment in written:
        assert len(deployment.pop("genesis")) == 66
    assert written[0] == written[1] == written[2]
    assert list(home.iterdir()) == []


@pytest.mark.slow
async def test_the_pool_runs_by_the_rules_of_the_file(anvil: Anvil, tmp_path: Path) -> None:
    path = contracts.deploy_fast(anvil.url, tmp_path)
    rules = json.loads((Path(contracts.__file__).parents[1] / "pool.json").read_text())
    async with Rpc([anvil.url]) as rpc:
        params = await Pool(rpc, Deployment.load(path), None).params(1)
    assert params.min_stake_per_gpu == rules["minStakePerGpu"] * 10**18
    assert (params.fee_bps, params.claim_lag) == (rules["feeBps"], rules["claimLag"])
    assert params.unstake_delay == rules["unstakeDelay"]


@pytest.mark.slow
def test_an_error_says_what_the_tool_said(tmp_path: Path) -> None:
    with Anvil() as chain:
        blocked = tmp_path / "file"
        blocked.touch()
        with pytest.raises(contracts.DeploymentFailed, match=r"NotADirectoryError|FileExistsError"):
            contracts.deploy(chain.url, blocked)
