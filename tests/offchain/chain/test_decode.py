"""Decoding by hand against web3.py's, for every event and random values."""

import dataclasses
import json
import random
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from web3 import Web3

from leasehold.chain import InvalidLeaseId, cost, decode_log, format_lease, parse_lease
from leasehold.chain._abi import CONTRACTS, canonical, load_abi, snake
from leasehold.chain._decode import decode_logs, topic_of
from leasehold.chain._generated import events as _events

EVENTS = [entry for contract in CONTRACTS for entry in load_abi(contract) if entry["type"] == "event"]


def value_of(item: dict[str, Any], rng: random.Random) -> Any:
    kind: str = item["type"]
    if kind == "tuple":
        return tuple(value_of(part, rng) for part in item["components"])
    if kind.endswith("[]"):
        return [value_of({**item, "type": kind[:-2]}, rng) for _ in range(rng.choice((0, 1, 5)))]
    if str(item["internalType"]).startswith("enum "):
        return rng.randrange(5)
    if kind == "address":
        return "0x" + rng.randbytes(20).hex()
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "bytes":
        return rng.randbytes(rng.choice((0, 1, 31, 32, 33, 100)))
    if kind == "bytes32":
        return rng.randbytes(32)
    bits = int(kind.removeprefix("uint"))
    return rng.choice((0, 1, 2**bits - 1, rng.getrandbits(bits)))


def log_of(entry: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    signature = f"{entry['name']}({','.join(canonical(i) for i in entry['inputs'])})"
    values = [(item, value_of(item, rng)) for item in entry["inputs"]]
    indexed = [encode([canonical(i)], [v]) for i, v in values if i["indexed"]]
    plain = [(canonical(i), v) for i, v in values if not i["indexed"]]
    data = encode([kind for kind, _ in plain], [value for _, value in plain])
    return {
        "address": "0x8e80ffe6dc044f4a766afd6e5a8732fe0977a493",
        "topics": ["0x" + topic.hex() for topic in (keccak(text=signature), *indexed)],
        "data": "0x" + data.hex(),
        "blockHash": "0x" + rng.randbytes(32).hex(),
        "blockNumber": hex(rng.getrandbits(32)),
        "blockTimestamp": hex(rng.getrandbits(32)),
        "transactionHash": "0x" + rng.randbytes(32).hex(),
        "transactionIndex": "0x1",
        "logIndex": hex(rng.getrandbits(10)),
        "removed": False,
    }


def plain(item: dict[str, Any], value: Any) -> Any:
    """A structure of ours as a dictionary with Solidity's names; anything else as it is."""
    if not item["type"].startswith("tuple"):
        return value
    return {part["name"]: getattr(value, snake(part["name"])) for part in item["components"]}


def reference_of(item: dict[str, Any], value: Any) -> Any:
    return dict(value) if item["type"].startswith("tuple") else value


@pytest.mark.parametrize("entry", EVENTS, ids=lambda entry: entry["name"])
def test_every_event_decodes_as_web3_does(entry: dict[str, Any]) -> None:
    rng = random.Random(entry["name"])
    reference = getattr(Web3().eth.contract(abi=[entry]).events, entry["name"])()
    for _ in range(20):
        raw = log_of(entry, rng)
        event = decode_log(raw)
        assert type(event) is getattr(_events, entry["name"])
        expected = reference.process_log({**raw, **{k: bytes.fromhex(raw[k][2:]) for k in ("blockHash",)}})
        for item in entry["inputs"]:
            got, wanted = getattr(event, snake(item["name"])), expected["args"][item["name"]]
            if item["type"].endswith("[]"):
                assert [plain(item, each) for each in got] == [reference_of(item, each) for each in wanted]
            else:
                assert plain(item, got) == reference_of(item, wanted)
        meta = event.log
        assert meta.block_number == int(raw["blockNumber"], 16)
        assert meta.timestamp == int(raw["blockTimestamp"], 16)
        assert (meta.block_hash, meta.tx_hash) == (raw["blockHash"], raw["transactionHash"])
        assert meta.log_index == int(raw["logIndex"], 16)
        assert meta.address == to_checksum_address(raw["address"])
        assert topic_of(type(event)) == raw["topics"][0]
        with pytest.raises(dataclasses.FrozenInstanceError):
            event.log = meta  # type: ignore[misc]  # that is the point


def test_what_is_not_ours_is_passed_over() -> None:
    rng = random.Random(1)
    entry = next(e for e in EVENTS if e["name"] == "Transferred")
    raw = log_of(entry, rng)
    assert decode_log({**raw, "topics": []}) is None
    assert decode_log({**raw, "topics": ["0x" + "00" * 32]}) is None
    assert decode_log({**raw, "topics": raw["topics"][:2]}) is None, "the same signature, indexed otherwise"
    assert decode_log({**raw, "data": "0x"}) is None
    without = {k: v for k, v in raw.items() if k != "blockTimestamp"}
    event = decode_log(without)
    assert event is not None
    assert event.log.timestamp == 0


def test_many_of_all_kinds_come_in_their_order() -> None:
    rng = random.Random(2)
    logs = [log_of(entry, rng) for entry in EVENTS for _ in range(3)]
    for at in range(0, len(logs), 7):
        logs[at] = {**logs[at], "topics": rng.choice(([], ["0x" + "00" * 32], logs[at]["topics"][:1] * 4))}
    rng.shuffle(logs)
    expected = [event for log in logs if (event := decode_log(log)) is not None]
    assert decode_logs(logs) == expected
    alike = [log for log in logs if log["topics"] and log["topics"][0] == topic_of(type(expected[0]))]
    assert decode_logs(alike) == [event for event in expected if type(event) is type(expected[0])]
    assert decode_logs([]) == []


@pytest.mark.parametrize("address", ["", "0x12", "0x" + "g" * 40, "0x" + "1" * 41])
def test_an_emitter_that_is_no_address_is_not_taken_for_one(address: str) -> None:
    raw = log_of(next(e for e in EVENTS if e["name"] == "Transferred"), random.Random(3))
    with pytest.raises(ValueError, match="no address"):
        decode_log({**raw, "address": address})


@pytest.mark.parametrize(
    ("lease", "shown"), [(12 << 16, "12"), (12 << 16 | 1, "12.1"), (1 << 16 | 65535, "1.65535")]
)
def test_leases_are_shown_and_read(lease: int, shown: str) -> None:
    assert format_lease(lease) == shown
    assert parse_lease(shown) == lease
    assert parse_lease(f" {shown}\n") == lease


@pytest.mark.parametrize("text", ["", "0", "x", "-1", "1.", ".1", "1.70000", "1.2.3", "01", "１"])
def test_texts_that_name_no_lease(text: str) -> None:
    with pytest.raises(InvalidLeaseId, match="is not a lease"):
        parse_lease(text)


def test_cost_rounds_for_the_one_who_holds_the_money() -> None:
    assert cost(28_800, 1, 1) == cost(28_800, 1, 1, up=True) == 1
    assert cost(1, 1, 1) == 0
    assert cost(1, 1, 1, up=True) == 1
    assert json.dumps(cost(10**24, 64, 10**7)) == str(10**24 * 64 * 10**7 // 28_800)
