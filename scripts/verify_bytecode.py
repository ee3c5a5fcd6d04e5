"""Rebuilds the contracts from this checkout and compares them, byte by byte, with what a pool runs on.

    python scripts/verify_bytecode.py [DEPLOYMENT_FILE] [--rpc URL]

It starts at the factory and the pool that the deployment file names and goes wherever their code leads: the pool's
three parts, its companions, `Accounts`, the groups' accounts and the lens. Of each it compares the code without the
compiler's trailing metadata, and each address that the constructor put into the code with the one that belongs there.
Without a file it deploys to a chain of its own and verifies that. Exits with 1 if anything differs.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from web3 import HTTPProvider, Web3

from devnet.anvil import Anvil
from devnet.contracts import deploy_fast
from leasehold.chain import Deployment
from leasehold.errors import LeaseholdError
from solidity import compiled

ROOT = Path(__file__).resolve().parents[1]
COMPANIONS = ("Committee", "Faults", "Reputation", "Directory")
SOURCES = {
    "Accounts": "contracts/Accounts.sol",
    "GroupAccount": "contracts/GroupAccount.sol",
    "Controller": "contracts/Controller.sol",
    "ControllerExt": "contracts/ControllerExt.sol",
    "ControllerMoves": "contracts/ControllerMoves.sol",
    "ControllerFactory": "contracts/ControllerFactory.sol",
    "Lens": "contracts/Lens.sol",
} | {name: f"contracts/companions/{name}.sol" for name in COMPANIONS}
# A clone with arguments behind its code: OpenZeppelin's `Clones.cloneWithImmutableArgs`, less what only creation runs.
CLONE_HEAD = bytes.fromhex("363d3d373d3d3d363d73")
CLONE_TAIL = bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
WORD = 32


class Mismatch(Exception):
    """What is deployed is not what this checkout builds. The message says where."""


@dataclass(frozen=True)
class Built:
    """A contract as the compiler leaves it: code with zeros where the constructor writes, and these places by name."""

    code: bytes
    holes: dict[str, tuple[int, ...]]

    def filled(self, name: str, code: bytes) -> dict[str, bytes]:
        """The words that the constructor wrote into the deployed `code`. Raises Mismatch if anything else differs."""
        ours, theirs = without_metadata(self.code), without_metadata(code)
        if len(ours) != len(theirs):
            raise Mismatch(f"{name}: {len(theirs)} bytes of code, {len(ours)} were built.")
        blank = bytearray(theirs)
        values: dict[str, bytes] = {}
        for hole, starts in self.holes.items():
            for start in starts:
                word = theirs[start : start + WORD]
                if values.setdefault(hole, word) != word:
                    raise Mismatch(f"{name}: `{hole}` has two values.")
                blank[start : start + WORD] = bytes(WORD)
        for i, (a, b) in enumerate(zip(ours, blank, strict=True)):
            if a != b:
                raise Mismatch(f"{name}: the code differs from byte {i} on.")
        return values


def without_metadata(code: bytes) -> bytes:
    """Code less the CBOR that the compiler appends, whose length its last two bytes say."""
    if len(code) < 2:
        return code
    length = int.from_bytes(code[-2:], "big") + 2
    return code[:-length] if length <= len(code) else code


def build() -> dict[str, Built]:
    """Compiles every contract with the settings of foundry.toml."""
    job = {
        "language": "Solidity",
        "sources": {path: {"content": (ROOT / path).read_text()} for path in SOURCES.values()},
        "settings": {
            "remappings": ["@openzeppelin/contracts/=node_modules/@openzeppelin/contracts/"],
            "optimizer": {"enabled": True, "runs": 200},
            "evmVersion": "cancun",
            "metadata": {"bytecodeHash": "none"},
            "outputSelection": {"*": {"*": ["evm.deployedBytecode"], "": ["ast"]}},
        },
    }
    output = compiled(job)
    names = {
        str(node["id"]): str(node["name"])
        for source in output["sources"].values()
        for node in _nodes(source["ast"])
        if node.get("mutability") == "immutable"
    }
    built = {}
    for name, path in SOURCES.items():
        deployed = output["contracts"][path][name]["evm"]["deployedBytecode"]
        holes = {
            names[key]: tuple(int(place["start"]) for place in places)
            for key, places in deployed["immutableReferences"].items()
        }
        built[name] = Built(bytes.fromhex(deployed["object"]), holes)
    return built


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for branch in tree.values():
            yield from _nodes(branch)
    elif isinstance(tree, list):
        for branch in tree:
            yield from _nodes(branch)


def split_clone(name: str, code: bytes) -> tuple[str, bytes]:
    """The implementation and the arguments of a clone. Raises Mismatch for other code."""
    at = len(CLONE_HEAD)
    args = at + 20 + len(CLONE_TAIL)
    if code[:at] != CLONE_HEAD or code[at + 20 : args] != CLONE_TAIL:
        raise Mismatch(f"{name}: no clone with arguments.")
    return Web3.to_checksum_address(code[at : at + 20]), code[args:]


def verify(
    deployment: Deployment,
    built: dict[str, Built],
    code_at: Callable[[str], bytes],
    say: Callable[[str, str], None],
) -> None:
    """Raises Mismatch at the first contract that is not what was built, or leads to one that does not belong to it."""

    def look(
        name: str, address: str, own: dict[str, str | bytes], follow: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """Compares one contract. `own` is what must stand in it; what `follow` names leads on, and is returned."""
        values = built[name].filled(name, code_at(address))
        if not set(values) <= {*own, *follow}:
            raise Mismatch(f"{name}: this program does not know what all of {', '.join(sorted(values))} are.")
        for hole, expected in own.items():
            word = expected if isinstance(expected, bytes) else bytes.fromhex(expected[2:]).rjust(WORD, b"\0")
            if values.get(hole, word) != word:
                raise Mismatch(
                    f"{name} at {address}: `{hole}` is 0x{values[hole].hex()}, not 0x{word.hex()}."
                )
        if any(any(values[hole][:-20]) for hole in follow):
            raise Mismatch(f"{name} at {address}: an address in it has more than 20 bytes.")
        say(name, address)
        return {hole: str(Web3.to_checksum_address(values[hole][-20:])) for hole in follow}

    accounts, factory = deployment.accounts, deployment.factory
    companions = tuple(f"_{name.lower()}" for name in COMPANIONS)
    made = look("ControllerFactory", factory, {"accounts": accounts}, ("implementation", *companions))
    word = built["Accounts"].filled("Accounts", code_at(accounts))["groupImplementation"]
    group = str(Web3.to_checksum_address(word[-20:]))
    look("Accounts", accounts, _written_into_accounts(deployment, group))
    look("GroupAccount", group, {"_accounts": accounts})

    main = made["implementation"]
    parts = look("Controller", main, {"_accounts": accounts, "_self": main}, ("extension",))
    further = look("ControllerExt", parts["extension"], {"_accounts": accounts}, ("moves",))
    look("ControllerMoves", further["moves"], {"_accounts": accounts})

    implementation, args = split_clone("the pool", code_at(deployment.controller))
    if implementation != main:
        raise Mismatch(f"the pool is a clone of {implementation}, not of the factory's Controller {main}.")
    addresses = [Web3.to_checksum_address(args[i : i + 20]) for i in range(0, len(args), 20)]
    if len(addresses) != 1 + len(COMPANIONS) or addresses[0] != Web3.to_checksum_address(deployment.token):
        raise Mismatch("the pool's code names another token, or other parts.")
    say("pool", deployment.controller)
    for name, address in zip(COMPANIONS, addresses[1:], strict=True):
        implementation, args = split_clone(name, code_at(address))
        if implementation != made[f"_{name.lower()}"]:
            raise Mismatch(f"{name} is a clone of {implementation}, which is not the factory's.")
        if args != bytes.fromhex(deployment.controller[2:]):
            raise Mismatch(f"{name} at {address} belongs to another pool.")
        look(name, implementation, {"_accounts": accounts} if built[name].holes else {})
        say(f"the pool's {name}", address)
    if deployment.lens is not None:
        look("Lens", deployment.lens, {})


def _written_into_accounts(deployment: Deployment, group: str) -> dict[str, str | bytes]:
    """What the constructors of `Accounts` and of OpenZeppelin's `EIP712` leave in its code."""
    name, version = bytes(Web3.keccak(text="Leasehold")), bytes(Web3.keccak(text="1"))
    chain = deployment.chain_id.to_bytes(WORD, "big")
    domain = Web3.keccak(
        text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    )
    own = bytes.fromhex(deployment.accounts[2:]).rjust(WORD, b"\0")
    return {
        "factory": deployment.factory,
        "groupImplementation": group,
        "_groupCodeHash": bytes(Web3.keccak(CLONE_HEAD + bytes.fromhex(group[2:]) + CLONE_TAIL)),
        "_cachedThis": deployment.accounts,
        "_cachedChainId": chain,
        "_cachedDomainSeparator": bytes(Web3.keccak(domain + name + version + chain + own)),
        "_hashedName": name,
        "_hashedVersion": version,
        "_name": b"Leasehold".ljust(WORD - 1, b"\0") + bytes([9]),
        "_version": b"1".ljust(WORD - 1, b"\0") + bytes([1]),
    }


def _check(deployment: Deployment, rpc: str) -> None:
    chain = Web3(HTTPProvider(rpc))
    if not chain.is_connected():
        raise SystemExit(f"No node answers at {rpc}: name one of the pool's chain with RPC=url.")
    if chain.eth.chain_id != deployment.chain_id:
        raise SystemExit(
            f"{rpc} is chain {chain.eth.chain_id}, and the file is of chain {deployment.chain_id}."
        )
    print(f"Building {len(SOURCES)} contracts …", flush=True)
    built = build()
    try:
        verify(
            deployment,
            built,
            lambda address: bytes(chain.eth.get_code(Web3.to_checksum_address(address))),
            lambda name, address: print(f"  same  {name:<22} {address}"),
        )
    except Mismatch as difference:
        sys.exit(f"NOT THE SAME: {difference}")
    print("What is deployed is what this checkout builds.")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument(
        "deployment", nargs="?", type=Path, help="the deployment file; without it a fresh deployment"
    )
    parser.add_argument(
        "--rpc", default="http://127.0.0.1:8545", help="a node of its chain (default: %(default)s)"
    )
    arguments = parser.parse_args()
    if arguments.deployment is not None:
        _check(Deployment.load(arguments.deployment), arguments.rpc)
        return
    with Anvil() as anvil, tempfile.TemporaryDirectory() as folder:
        _check(Deployment.load(deploy_fast(anvil.url, Path(folder))), anvil.url)


if __name__ == "__main__":
    try:
        main()
    except LeaseholdError as error:
        sys.exit(str(error))
