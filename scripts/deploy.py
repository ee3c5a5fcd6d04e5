"""Deploys the factory with what it needs and one pool, through Brownie, and writes where everything is.

    brownie run deploy main OUT_DIR

OUT_DIR (or LEASEHOLD_DEPLOYMENTS, or build/deployments) receives `<chain id>.json`, which the SDK reads.
LEASEHOLD_TOKEN is the ERC-20 that the pool runs on; without it, on a development chain only, a test token
with permit is made and every account of the node gets some. LEASEHOLD_DEPLOYER names an account of Brownie's
keystore; without it the node's first account deploys. LEASEHOLD_OWNER and LEASEHOLD_TREASURY are the
deployer unless set.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

from brownie import (
    Accounts,
    Committee,
    Contract,
    Controller,
    ControllerExt,
    ControllerFactory,
    ControllerMoves,
    Directory,
    Faults,
    Lens,
    Reputation,
    TestToken,
    accounts,
    chain,
    web3,
)

DEVELOPMENT_CHAINS: Final = frozenset({1337, 31337})
MINTED: Final = 1_000_000  # whole tokens for each account of a development chain
# The pool's first rules, in the order of `Params` in contracts/interfaces/PoolTypes.sol, which explains
# them; amounts are in whole tokens. Arbiter and sink come from the environment.
RULES: Final = Path("scripts/pool.json")
AMOUNTS: Final = frozenset({"minStakePerGpu", "bond", "seatStake", "verificationFee"})
NOBODY: Final = "0x" + "0" * 40  # as a sink: what nobody has coming is burnt
# Between `Accounts` and the factory that it names: the pool's three parts and its four companions.
PARTS: Final = 7


def main(out_dir: str | None = None) -> None:
    """Deploys everything and writes the deployment file."""
    name = os.environ.get("LEASEHOLD_DEPLOYER")
    deployer = accounts.load(name) if name else accounts[0]
    block = len(chain)
    token = _token(deployer)
    factory = _factory(deployer)
    pool = _pool(factory, token, deployer)
    lens = deployer.deploy(Lens)
    chain_id = web3.eth.chain_id
    deployment = {
        "chain_id": chain_id,
        "genesis": "0x" + bytes(web3.eth.get_block(0)["hash"]).hex(),
        "factory": factory.address,
        "accounts": factory.accounts(),
        "controller": pool,
        "lens": lens.address,
        "token": token.address,
        "block": block,
        "token_symbol": token.symbol(),
        "token_decimals": token.decimals(),
    }
    folder = Path(out_dir or os.environ.get("LEASEHOLD_DEPLOYMENTS") or "build/deployments")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{chain_id}.json"
    path.write_text(json.dumps(deployment, indent=2) + "\n")
    print(f"Deployed to chain {chain_id}: {path}")


def _token(deployer: Any) -> Any:
    address = os.environ.get("LEASEHOLD_TOKEN")
    if address:
        return Contract.from_abi("Token", address, TestToken.abi)
    if web3.eth.chain_id not in DEVELOPMENT_CHAINS:
        raise SystemExit(
            "LEASEHOLD_TOKEN must name the token of the pool: test tokens are for development chains."
        )
    token = deployer.deploy(TestToken, "Test Dollar", "TUSD", 18)
    for account in web3.eth.accounts:
        token.mint(account, MINTED * 10**18, {"from": deployer})
    return token


def _factory(deployer: Any) -> Any:
    """Accounts and the factory name each other, so the factory's address is worked out before it is there.

    The factory's constructor checks it.
    """
    factory_address = deployer.get_deployment_address(deployer.nonce + PARTS + 1)
    accounts_contract = deployer.deploy(Accounts, factory_address)
    moves = deployer.deploy(ControllerMoves, accounts_contract)
    extension = deployer.deploy(ControllerExt, accounts_contract, moves)
    implementation = deployer.deploy(Controller, accounts_contract, extension)
    companions = [
        deployer.deploy(part, accounts_contract) for part in (Committee, Faults, Reputation, Directory)
    ]
    factory = deployer.deploy(ControllerFactory, implementation, *companions)
    assert factory.address == factory_address
    return factory


def _pool(factory: Any, token: Any, deployer: Any) -> str:
    owner = os.environ.get("LEASEHOLD_OWNER", deployer.address)
    treasury = os.environ.get("LEASEHOLD_TREASURY", deployer.address)
    unit = 10 ** token.decimals()
    rules = json.loads(RULES.read_text())
    params = tuple(value * unit if name in AMOUNTS else value for name, value in rules.items())
    params += (os.environ.get("LEASEHOLD_ARBITER", owner), os.environ.get("LEASEHOLD_SINK", NOBODY))
    transaction = factory.createPool(token, owner, treasury, params, {"from": deployer})
    return str(transaction.events["PoolCreated"]["controller"])
