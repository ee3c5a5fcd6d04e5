"""Makes tests/vectors/typed_data.json by hand: type strings typed out, members hashed one by one.

Nothing of Leasehold is used, so that the file can judge it, and the contracts, and the dApp. Run it again after a
change of a type: `python tests/vectors/typed_data.py`.
"""

import json
from pathlib import Path
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

FILE = Path(__file__).with_suffix(".json")
KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"  # Anvil's first account: public
ACCOUNT = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
OTHER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
ZERO = "0x" + "00" * 20
CHAIN = 31337
ACCOUNTS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
CONTROLLER = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
DIGEST = "0x" + "ab" * 32
NONCE = "0x" + "5c" * 32

DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
CALL_TYPE = "Call(address target,bytes data)"

# name, contract, type string, message (integers over 2**53 - 1 as decimal text, bytes as hexadecimal)
CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "Execute",
        ACCOUNTS,
        "Execute(address account,Call[] calls,uint256 nonce,uint256 deadline)" + CALL_TYPE,
        {
            "account": ACCOUNT,
            "calls": [{"target": CONTROLLER, "data": "0x12345678"}, {"target": OTHER, "data": "0x"}],
            "nonce": str(7 << 64 | 3),
            "deadline": 1_800_000_000,
        },
    ),
    (
        "Execute",
        ACCOUNTS,
        "Execute(address account,Call[] calls,uint256 nonce,uint256 deadline)" + CALL_TYPE,
        {"account": ACCOUNT, "calls": [], "nonce": 0, "deadline": str(2**256 - 1)},
    ),
    (
        "AcceptTransfer",
        ACCOUNTS,
        "AcceptTransfer(address account,address controller,uint256 lease,uint256 deadline)",
        {"account": ACCOUNT, "controller": CONTROLLER, "lease": 12 << 16 | 1, "deadline": 1_800_000_000},
    ),
    (
        "Offer",
        CONTROLLER,
        "Offer(address account,uint32 machine,uint16 revision,uint80 price,uint8 cells,uint32 duration,bool spot,"
        "address tenant,uint256 nonce,uint64 expiresAt)",
        {
            "account": ACCOUNT,
            "machine": 1,
            "revision": 2,
            "price": "2500000000000000000",
            "cells": 8,
            "duration": 86_400,
            "spot": True,
            "tenant": ZERO,
            "nonce": 9,
            "expiresAt": 1_800_000_000,
        },
    ),
    (
        "Operate",
        CONTROLLER,
        "Operate(uint256 chain,address controller,address provider,address operator,uint64 deadline)",
        {
            "chain": CHAIN,
            "controller": CONTROLLER,
            "provider": OTHER,
            "operator": ACCOUNT,
            "deadline": 1_800_000_000,
        },
    ),
    (
        "Request",
        CONTROLLER,
        "Request(address account,uint256 chain,address controller,uint32 machine,uint256 lease,string op,"
        "bytes32 paramsHash,uint64 issuedAt,uint64 expiresAt,bytes32 nonce)",
        {
            "account": ACCOUNT,
            "chain": CHAIN,
            "controller": CONTROLLER,
            "machine": 1,
            "lease": 12 << 16,
            "op": "lease.logs",
            "paramsHash": DIGEST,
            "issuedAt": 1_800_000_000,
            "expiresAt": 1_800_000_300,
            "nonce": NONCE,
        },
    ),
    (
        "Session",
        CONTROLLER,
        "Session(address account,uint256 chain,address controller,uint256[] leases,string[] ops,address key,"
        "uint64 expiresAt)",
        {
            "account": ACCOUNT,
            "chain": CHAIN,
            "controller": CONTROLLER,
            "leases": [12 << 16, 13 << 16 | 1],
            "ops": ["lease.logs", "lease.exec"],
            "key": OTHER,
            "expiresAt": 1_800_086_400,
        },
    ),
    (
        "Receipt",
        CONTROLLER,
        "Receipt(uint256 chain,address controller,uint32 machine,bytes32 digest,uint64 expiresAt)",
        {
            "chain": CHAIN,
            "controller": CONTROLLER,
            "machine": 1,
            "digest": DIGEST,
            "expiresAt": 1_800_000_600,
        },
    ),
    (
        "Contact",
        CONTROLLER,
        "Contact(uint32 machine,bytes32 digest,uint64 issuedAt)",
        {"machine": 1, "digest": DIGEST, "issuedAt": 1_800_000_000},
    ),
    (
        "Statement",
        CONTROLLER,
        "Statement(uint256 chain,address controller,uint32 machine,bytes32 digest,uint64 issuedAt)",
        {
            "chain": CHAIN,
            "controller": CONTROLLER,
            "machine": 1,
            "digest": DIGEST,
            "issuedAt": 1_800_000_000,
        },
    ),
    (
        "VolumeKey",
        CONTROLLER,
        "VolumeKey(address account,uint256 chain,address controller,string name)",
        {"account": ACCOUNT, "chain": CHAIN, "controller": CONTROLLER, "name": "models"},
    ),
    (
        "Answer",
        CONTROLLER,
        "Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)",
        {"account": ACCOUNT, "machine": 1, "fault": 5, "issuedAt": 1_800_000_000},
    ),
    (
        "Recover",
        CONTROLLER,
        "Recover(address account,uint32 machine,uint64 issuedAt)",
        {"account": ACCOUNT, "machine": 1, "issuedAt": 1_800_000_000},
    ),
    (
        "Outage",
        CONTROLLER,
        "Outage(address account,uint32 machine,uint64 from,uint64 to)",
        {"account": ACCOUNT, "machine": 1, "from": 1_800_000_000, "to": 1_800_000_420},
    ),
]


# name, threshold, number of signers, salt, who signs and how: 1 a key, 2 a contract, whose signature may be anything
SALT = "0x" + "5a" * 32
GROUPS: list[tuple[str, int, int, str, list[tuple[int, int]]]] = [
    ("two of three", 2, 3, SALT, [(0, 1), (2, 1)]),
    ("the same signers, another salt", 2, 3, "0x" + "00" * 32, [(0, 1), (2, 1)]),
    ("the same signers, another threshold", 3, 3, SALT, [(0, 1), (1, 1), (2, 1)]),
    ("alone", 1, 1, SALT, [(0, 1)]),
    ("with a contract", 2, 4, SALT, [(1, 1), (3, 2)]),
    ("sixteen", 16, 16, SALT, [(index, 1) for index in range(16)]),
]
CONTRACT_SIGNATURE = bytes(range(130))  # what a Safe of two owners would take, in length


def vectors() -> list[dict[str, Any]]:
    return [_vector(*case) for case in CASES]


def _vector(name: str, contract: str, type_string: str, message: dict[str, Any]) -> dict[str, Any]:
    separator = keccak(
        encode(
            ["bytes32", "bytes32", "bytes32", "uint256", "address"],
            [keccak(text=DOMAIN_TYPE), keccak(text="Leasehold"), keccak(text="1"), CHAIN, contract],
        )
    )
    type_hash = keccak(text=type_string)
    struct_hash = keccak(type_hash + b"".join(_members(type_string, message)))
    digest = keccak(b"\x19\x01" + separator + struct_hash)
    signature = Account.unsafe_sign_hash(digest, KEY).signature
    return {
        "name": name,
        "domain": {"name": "Leasehold", "version": "1", "chainId": CHAIN, "verifyingContract": contract},
        "domain_separator": "0x" + separator.hex(),
        "type": type_string,
        "type_hash": "0x" + type_hash.hex(),
        "message": message,
        "struct_hash": "0x" + struct_hash.hex(),
        "digest": "0x" + digest.hex(),
        "signer": ACCOUNT,
        "signature": "0x" + bytes(signature).hex(),
    }


def _members(type_string: str, message: dict[str, Any]) -> list[bytes]:
    members = type_string[type_string.index("(") + 1 : type_string.index(")")].split(",")
    return [_word(kind, message[name]) for kind, name in (member.split(" ") for member in members)]


def _word(kind: str, value: Any) -> bytes:
    """The 32 bytes that a member contributes."""
    if kind == "Call[]":
        return keccak(
            b"".join(
                keccak(
                    keccak(text=CALL_TYPE)
                    + encode(["address"], [call["target"]])
                    + keccak(hexstr=call["data"])
                )
                for call in value
            )
        )
    if kind.endswith("[]"):
        return keccak(b"".join(_word(kind[:-2], item) for item in value))
    if kind == "string":
        return keccak(text=value)
    if kind == "bytes32":
        return bytes.fromhex(value[2:])
    return encode([kind], [int(value) if kind.startswith("uint") else value])


def groups() -> list[dict[str, Any]]:
    return [_group(*case) for case in GROUPS]


def _group(name: str, threshold: int, count: int, salt: str, signed: list[tuple[int, int]]) -> dict[str, Any]:
    keys = sorted((keccak(text=f"signer {i}") for i in range(count)), key=lambda key: int(_address(key), 16))
    signers = [_address(key) for key in keys]
    packed = (
        bytes([threshold, count]) + b"".join(bytes.fromhex(s[2:]) for s in signers) + bytes.fromhex(salt[2:])
    )
    accounts = bytes.fromhex(ACCOUNTS[2:])
    implementation = keccak(b"\xd6\x94" + accounts + b"\x01")[12:]  # CREATE, nonce 1
    code = bytes.fromhex("3d602d80600a3d3981f3363d3d373d3d3d363d73") + implementation
    code += bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
    account = keccak(b"\xff" + accounts + keccak(packed) + keccak(code))[12:]  # CREATE2
    message = {"account": to_checksum_address(account), "calls": [], "nonce": 0, "deadline": 1_800_000_000}
    execute = _vector("Execute", ACCOUNTS, CASES[0][2], message)
    digest = bytes.fromhex(execute["digest"][2:])
    proof = b"\x03" + packed
    for index, kind in signed:
        proof += bytes([index, kind])
        if kind == 1:
            proof += bytes(Account.unsafe_sign_hash(digest, keys[index]).signature)
        else:
            proof += len(CONTRACT_SIGNATURE).to_bytes(2) + CONTRACT_SIGNATURE
    return {
        "name": name,
        "accounts": ACCOUNTS,
        "threshold": threshold,
        "signers": signers,
        "salt": salt,
        "account": to_checksum_address(account),
        "message": message,
        "digest": execute["digest"],
        "signed": [{"index": index, "kind": kind} for index, kind in signed],
        "keys_only": all(kind == 1 for _, kind in signed),
        "proof": "0x" + proof.hex(),
    }


def _address(key: bytes) -> str:
    return str(Account.from_key(key).address)


if __name__ == "__main__":
    FILE.write_text(json.dumps({"key": KEY, "vectors": vectors(), "groups": groups()}, indent=2) + "\n")
