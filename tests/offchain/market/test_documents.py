"""Documents from strangers: bounded, checked against their digests, cached."""

from __future__ import annotations

import asyncio
import gc
import json
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devnet.patience import patient
from leasehold.chain import cid_of_digest
from leasehold.cli._hints import said
from leasehold.errors import DatasetUnavailable
from leasehold.market import (
    Contact,
    DocumentCache,
    DocumentInvalid,
    DocumentUnavailable,
    Hardware,
    Listing,
    MachineFile,
    Machines,
    Money,
    canonical,
    kept_document,
    parse_document,
)

HARDWARE = {
    "version": 1,
    "gpus": [{"model": "NVIDIA H100 80GB HBM3", "memory_bytes": 85_520_809_984, "uuid_hash": "ab" * 32}],
    "cpu_units": 0,
    "cpu": {"model": "AMD EPYC 9454", "cores": 48},
    "memory_bytes": 1_080_000_000_000,
    "disk": {"bytes": 3_800_000_000_000, "quota": True},
    "network": {"interfaces": []},
    "runtimes": ["runc", "runsc"],
    "driver": "570.86",
    "kernel": "6.12",
}
CONTACT = {
    "version": 1,
    "endpoints": ["https://203.0.113.7:8443"],
    "certificate": "-----BEGIN CERTIFICATE-----\n",
    "ssh": {"host": "203.0.113.7", "port": 2222, "host_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"},
    "age_recipient": "age1qqqq",
    "peer_id": None,
    "ipfs": ["/ip4/203.0.113.7/tcp/4001"],
    "images": [{"id": "sha256:" + "ab" * 32, "name": "cuda 12.4"}],
    "datasets": ["bafkreia"],
    "location": {"country": "DE"},
    "operator": "0x" + "22" * 20,
    "issued_at": 1_800_000_000,
}
MACHINE_FILE: dict[str, Any] = {
    "hardware": HARDWARE,
    "contact": CONTACT,
    "operator": "0x" + "22" * 20,
    "suggested": {"gpus": 1, "smallest_share": 8},
    "consent": {
        "provider": "0x" + "33" * 20,
        "controller": "0x" + "44" * 20,
        "chain": 31337,
        "deadline": 2_000_000_000,
        "proof": "0x01" + "55" * 65,
    },
}


class Blocks:
    """One node's raw blocks, held in memory: the edge where the network would be."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}
        self.asked: list[str] = []

    async def put_block(self, data: bytes) -> str:
        cid = cid_of_digest(sha256(data).digest())
        self.held[cid] = data
        return cid

    async def get_block(self, cid: str, timeout: float) -> bytes:  # noqa: ASYNC109  # the protocol's
        self.asked.append(cid)
        await asyncio.sleep(0)
        if cid not in self.held:
            raise DatasetUnavailable(cid)
        return self.held[cid]


def test_documents_of_version_1_are_read() -> None:
    hardware = parse_document(Hardware, canonical(HARDWARE), "hardware")
    contact = parse_document(Contact, canonical(CONTACT), "contact")
    assert hardware.gpus[0].memory_bytes == 85_520_809_984
    assert contact.ssh is not None
    assert contact.ssh.port == 2222
    assert contact.location.country == "DE"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, "version"),
        ({"cpu": {"model": "x\x1b[31m", "cores": 4}}, "cpu.model"),
        ({"memory_bytes": -1}, "memory_bytes"),
        ({"gpus": [{"model": "x"}]}, "gpus.0.memory_bytes"),
    ],
)
def test_a_document_of_another_form_names_its_first_wrong_field(change: dict[str, object], says: str) -> None:
    with pytest.raises(DocumentInvalid, match=says):
        parse_document(Hardware, json.dumps({**HARDWARE, **change}).encode(), "hardware of machine 3")


@pytest.mark.parametrize("mark", ["\x1b", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2067"])
def test_no_text_turns_what_stands_beside_it(mark: str) -> None:
    """A model's name is shown in one line with its price, on pages that take it as it is."""
    hardware = {**HARDWARE, "cpu": {"model": f"x{mark}", "cores": 4}}
    with pytest.raises(DocumentInvalid, match=r"cpu\.model"):
        parse_document(Hardware, canonical(hardware), "hardware")
    with pytest.raises(DocumentInvalid, match=r"location\.country"):
        parse_document(Contact, canonical({**CONTACT, "location": {"country": mark}}), "contact")


def test_names_of_any_script_are_names() -> None:
    hardware = {**HARDWARE, "cpu": {"model": "Байкал-М ™ 飛騰 שבב", "cores": 4}}
    assert parse_document(Hardware, canonical(hardware), "hardware").cpu.cores == 4


def test_an_ssh_host_that_would_be_an_option_is_refused() -> None:
    bad = {**CONTACT, "ssh": {"host": "-oProxyCommand=x", "port": 22, "host_key": "ssh-ed25519 AAAA"}}
    with pytest.raises(DocumentInvalid, match=r"ssh\.host"):
        parse_document(Contact, json.dumps(bad).encode(), "contact")


def test_a_document_over_a_mebibyte_is_refused() -> None:
    with pytest.raises(DocumentInvalid, match="larger than 1 MiB"):
        parse_document(Hardware, b" " * (2**20 + 1), "hardware")


def test_canonical_json_is_one_form() -> None:
    assert canonical({"b": 1, "a": "ä"}) == '{"a":"ä","b":1}'.encode()


def test_machine_json_keeps_its_documents_as_written(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(MACHINE_FILE))
    loaded = MachineFile.load(path)
    assert loaded.hardware == HARDWARE
    assert loaded.suggested.gpus == 1
    with pytest.raises(DocumentInvalid) as missing:
        MachineFile.load(tmp_path / "none.json")
    assert "leasehold-agent describe" in said(missing.value), "at the prompt"
    path.write_text(json.dumps({**MACHINE_FILE, "contact": {**CONTACT, "age_recipient": "nope"}}))
    with pytest.raises(DocumentInvalid, match="age_recipient"):
        MachineFile.load(path)


async def test_a_document_is_fetched_once_and_then_kept(tmp_path: Path) -> None:
    blocks = Blocks()
    await blocks.put_block(canonical(HARDWARE))
    cache = DocumentCache(tmp_path / "documents", blocks)
    digest = sha256(canonical(HARDWARE)).digest()
    assert await cache.get(digest) == canonical(HARDWARE)
    assert await cache.get(digest) == canonical(HARDWARE)
    assert len(blocks.asked) == 1
    (tmp_path / "documents" / f"{digest.hex()}.json").write_bytes(b"torn")
    assert await cache.get(digest) == canonical(HARDWARE)
    assert len(blocks.asked) == 2


def test_what_cannot_be_read_is_not_kept(tmp_path: Path) -> None:
    digest = sha256(b"{}").digest()
    path = tmp_path / f"{digest.hex()}.json"
    assert kept_document(tmp_path, digest) is None
    path.mkdir()
    assert kept_document(tmp_path, digest) is None
    path.rmdir()
    path.write_text("{}")
    assert kept_document(tmp_path, digest) == b"{}"


async def test_what_nobody_has_or_somebody_forged_is_reported_beside_the_rest(tmp_path: Path) -> None:
    blocks = Blocks()
    await blocks.put_block(b"good")
    forged = sha256(b"asked for").digest()
    blocks.held[cid_of_digest(forged)] = b"something else"
    cache = DocumentCache(tmp_path, blocks)
    good, missing, bad = await cache.get_all([sha256(b"good").digest(), bytes(32), forged])
    assert good == b"good"
    assert isinstance(missing, DocumentUnavailable)
    assert "IPFS node runs" in str(missing)
    assert isinstance(bad, DocumentUnavailable)
    assert "something else" in str(bad)


class Gone(Blocks):
    """Nobody has some of the documents, and the node looks for them for as long as it may."""

    async def get_block(self, cid: str, timeout: float) -> bytes:  # noqa: ASYNC109  # the protocol's
        self.asked.append(cid)
        if cid not in self.held:
            await asyncio.Event().wait()
        return self.held[cid]


def _digests(count: int) -> list[bytes]:
    return [sha256(number.to_bytes(4, "big")).digest() for number in range(count)]


async def test_documents_that_nobody_serves_take_one_limit_together(tmp_path: Path) -> None:
    cache = DocumentCache(tmp_path, Gone(), timeout=0.5, parallel=2)
    async with asyncio.timeout(patient(2)):  # 20 s, were each waited for
        missing = await cache.get_all(_digests(80))
    assert all(isinstance(each, DocumentUnavailable) for each in missing)
    assert "within 0.5 s" in str(missing[0])


async def test_what_nobody_gave_comes_last_the_next_time(tmp_path: Path) -> None:
    now = 1_000.0
    blocks = Gone()
    await blocks.put_block(b"served")
    cache = DocumentCache(tmp_path, blocks, timeout=0.5, parallel=2, clock=lambda: now)
    gone, served = _digests(2), sha256(b"served").digest()
    assert (await cache.get_all([*gone, served]))[-1] != b"served", "both slots waited for what is gone"
    assert (await cache.get_all([*gone, served]))[-1] == b"served"
    blocks.held |= {cid_of_digest(gone[0]): (0).to_bytes(4, "big")}
    assert (await cache.get_all(gone))[0] == (0).to_bytes(4, "big"), "it is asked for all the same"
    assert not (tmp_path / f"{gone[0].hex()}.missed").exists()


async def test_a_served_document_waits_a_moment_for_those_that_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leasehold.market._documents_cache._MOMENT", 0.02)
    blocks = Gone()
    await blocks.put_block(b"served")
    cache = DocumentCache(tmp_path, blocks, timeout=3, parallel=4)
    found = await cache.get_all([*_digests(40), sha256(b"served").digest()])
    assert found[-1] == b"served"


async def test_of_many_machines_those_that_are_not_wanted_are_not_held(tmp_path: Path) -> None:
    """Ten thousand machines took hundreds of megabytes for a search that finds three."""
    records: list[Any] = [
        SimpleNamespace(machine=SimpleNamespace(id=number), hardware=bytes(32), contact=bytes(32))
        for number in range(50)
    ]
    most = 0

    def third(listing: Listing) -> bool:
        nonlocal most
        most = max(most, _listings_alive())
        return listing.id == 3

    machines = Machines(DocumentCache(tmp_path, Gone(), timeout=0.01), Money("TUSD", 18))
    gc.freeze()  # what was alive before is not looked through at each look
    assert [each.id for each in await machines.listings(records, third)] == [3]
    assert most <= 3


def _listings_alive() -> int:
    return sum(isinstance(each, Listing) for each in gc.get_objects())
