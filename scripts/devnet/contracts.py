"""The contracts on a development chain.

`deploy` goes the way a real deployment goes, `brownie run deploy`, in a home of Brownie's own that is gone
afterwards. `deploy_fast` sends the same transactions from the artifacts that forge has compiled, in about a
second, for tests.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import rlp
from eth_typing import ChecksumAddress
from web3 import HTTPProvider, Web3
from web3.contract import Contract
from web3.contract.contract import ContractConstructor, ContractFunction
from web3.logs import DISCARD
from web3.types import TxReceipt

_ROOT: Final = Path(__file__).resolve().parents[2]
_BUILD: Final = _ROOT / "build"
_ARTIFACTS: Final = _BUILD / "forge"
_COMPILER: Final = "solc-v0.8.30"

_RULES: Final = _ROOT / "scripts/pool.json"
_AMOUNTS: Final = frozenset({"minStakePerGpu", "bond", "seatStake", "verificationFee"})  # in whole tokens
_COMPANIONS: Final = ("Committee", "Faults", "Reputation", "Directory")
_DECIMALS: Final = 18
_MINTED: Final = 1_000_000 * 10**_DECIMALS


class DeploymentFailed(RuntimeError):
    """Compiling or deploying ended in an error; the message holds what the tool said."""


def deploy(rpc_url: str, out_dir: Path) -> Path:
    """Deploys through Brownie to the node at `rpc_url`, whose first account must be unlocked.

    Returns the deployment file, `<out_dir>/<chain id>.json`. Raises DeploymentFailed.
    """
    out_dir = out_dir.resolve()
    chain_id = _chain_id(rpc_url)
    _BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="brownie-home.", dir=_BUILD) as home:
        folder = Path(home) / ".brownie"
        folder.mkdir()
        # Of the kind "live", so that Brownie takes the chain as it is: it starts and kills nothing.
        network = {"name": "Leasehold", "id": "leasehold", "host": rpc_url, "chainid": chain_id}
        networks = {"live": [{"name": "Leasehold", "networks": [network]}], "development": []}
        (folder / "network-config.yaml").write_text(json.dumps(networks))
        # Brownie remembers what it deployed by chain id, and fails on what an earlier chain had.
        shutil.rmtree(_BUILD / "brownie/deployments" / str(chain_id), ignore_errors=True)
        environment = os.environ | {"HOME": home, "TMPDIR": home, "SOLCX_BINARY_PATH": str(_compilers())}
        command = [
            _ROOT / ".venv/bin/brownie",
            "run",
            "deploy",
            "main",
            out_dir,
            "--network",
            "leasehold",
            "-r",
        ]
        _run([str(part) for part in command], environment)
    return out_dir / f"{chain_id}.json"


def deploy_fast(rpc_url: str, out_dir: Path) -> Path:
    """Deploys what `deploy` deploys, from forge's artifacts.

    Compiles first what has changed. Returns the deployment file, `<out_dir>/<chain id>.json`.
    Raises DeploymentFailed.
    """
    # forge keeps a cache in the home: it gets one of its own.
    _run([str(_forge()), "build", "contracts"], os.environ | {"HOME": str(_BUILD / "forge-home")})
    chain = Web3(HTTPProvider(rpc_url))
    deployer = chain.eth.accounts[0]
    block = chain.eth.block_number + 1
    token = _create(chain, "TestToken", "Test Dollar", "TUSD", _DECIMALS)
    for account in chain.eth.accounts:
        _send(chain, token.functions.mint(account, _MINTED))

    # Accounts and the factory name each other: the factory's address follows from the deployer's nonce.
    nonce = chain.eth.get_transaction_count(deployer)
    predicted = _create_address(deployer, nonce + 4 + len(_COMPANIONS))
    accounts = _create(chain, "Accounts", predicted)
    moves = _create(chain, "ControllerMoves", accounts.address)
    extension = _create(chain, "ControllerExt", accounts.address, moves.address)
    implementation = _create(chain, "Controller", accounts.address, extension.address)
    companions = [_create(chain, name, accounts.address).address for name in _COMPANIONS]
    factory = _create(chain, "ControllerFactory", implementation.address, *companions)
    receipt = _send(chain, factory.functions.createPool(token.address, deployer, deployer, _rules(deployer)))
    (created,) = factory.events.PoolCreated().process_receipt(receipt, errors=DISCARD)
    lens = _create(chain, "Lens")

    deployment = {
        "chain_id": chain.eth.chain_id,
        "genesis": chain.eth.get_block(0)["hash"].to_0x_hex(),
        "factory": factory.address,
        "accounts": accounts.address,
        "controller": created["args"]["controller"],
        "lens": lens.address,
        "token": token.address,
        "block": block,
        "token_symbol": "TUSD",
        "token_decimals": _DECIMALS,
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    path = out_dir / f"{chain.eth.chain_id}.json"
    path.write_text(json.dumps(deployment, indent=2) + "\n")
    return path


def _forge() -> Path:
    """The binary itself: npm's wrapper around it ends with 0 whatever forge says."""
    found = sorted(_ROOT.glob("node_modules/@foundry-rs/forge-*/bin/forge"))
    if not found:
        raise DeploymentFailed("forge is missing: run `make setup`")
    return found[0]


def _rules(arbiter: str) -> tuple[int | str, ...]:
    rules: dict[str, int] = json.loads(_RULES.read_text())
    values = [value * 10**_DECIMALS if name in _AMOUNTS else value for name, value in rules.items()]
    return (*values, arbiter, "0x" + "0" * 40)


def _create(chain: Web3, name: str, *args: object) -> Contract:
    artifact = json.loads((_ARTIFACTS / f"{name}.sol" / f"{name}.json").read_text())
    contract = chain.eth.contract(abi=artifact["abi"], bytecode=artifact["bytecode"]["object"])
    receipt = _send(chain, contract.constructor(*args))
    return contract(receipt["contractAddress"])


def _send(chain: Web3, call: ContractConstructor | ContractFunction) -> TxReceipt:
    receipt = chain.eth.wait_for_transaction_receipt(call.transact({"from": chain.eth.accounts[0]}))
    if receipt["status"] != 1:
        raise DeploymentFailed(f"transaction {receipt['transactionHash'].to_0x_hex()} reverted")
    return receipt


def _create_address(deployer: ChecksumAddress, nonce: int) -> ChecksumAddress:
    return Web3.to_checksum_address(Web3.keccak(rlp.encode([bytes.fromhex(deployer[2:]), nonce]))[12:])


def _chain_id(rpc_url: str) -> int:
    return int(Web3(HTTPProvider(rpc_url)).eth.chain_id)


def _compilers() -> Path:
    """Where py-solc-x looks: the user's folder if it has the compiler, else one with the project's wrapper."""
    for folder in (os.environ.get("SOLCX_BINARY_PATH"), Path.home() / ".solcx"):
        if folder and (Path(folder) / _COMPILER).exists():
            return Path(folder)
    folder = _BUILD / "solcx"
    folder.mkdir(parents=True, exist_ok=True)
    wrapper = folder / _COMPILER
    if not wrapper.exists():
        wrapper.symlink_to(_ROOT / "scripts/toolchain/solc.mjs")
    return folder


def _run(command: list[str], environment: dict[str, str]) -> None:
    run = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise DeploymentFailed(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
