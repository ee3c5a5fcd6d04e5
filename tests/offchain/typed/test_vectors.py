"""The vectors were made by hand; what Leasehold computes must be the same, in both directions."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from devnet.patience import patient
from leasehold.chain import typed
from leasehold.chain.typed import Domain, Struct, recover_signer

FILE = Path(__file__).parents[2] / "vectors/typed_data.json"
VECTORS: list[dict[str, Any]] = json.loads(FILE.read_text())["vectors"]


def _struct(vector: dict[str, Any]) -> Struct:
    kind: type[Struct] = getattr(typed, vector["name"])
    return kind.from_json(vector["message"])


def _domain(vector: dict[str, Any]) -> Domain:
    return Domain(vector["domain"]["chainId"], vector["domain"]["verifyingContract"])


def test_every_type_has_a_vector() -> None:
    kinds = {kind.__name__ for kind in Struct.__subclasses__()} - {"Call"}
    assert kinds == {vector["name"] for vector in VECTORS}


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_digest_is_the_vectors(vector: dict[str, Any]) -> None:
    assert "0x" + _struct(vector).digest(_domain(vector)).hex() == vector["digest"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_json_goes_round(vector: dict[str, Any]) -> None:
    assert _struct(vector).to_json() == vector["message"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_layout_spells_the_type(vector: dict[str, Any]) -> None:
    members = ",".join(f"{field.type} {field.name}" for field in type(_struct(vector)).layout())
    assert vector["type"].removesuffix("Call(address target,bytes data)") == f"{vector['name']}({members})"


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_signature_recovers_its_signer(vector: dict[str, Any]) -> None:
    digest, signature = (bytes.fromhex(vector[name][2:]) for name in ("digest", "signature"))
    assert recover_signer(digest, signature) == vector["signer"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_a_wallet_signs_the_same(vector: dict[str, Any]) -> None:
    message = dict(_struct(vector).typed_data(_domain(vector)))
    key = json.loads(FILE.read_text())["key"]
    signed = Account.from_key(key).sign_typed_data(full_message=message)
    assert "0x" + bytes(signed.signature).hex() == vector["signature"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_another_pool_or_chain_gives_another_digest(vector: dict[str, Any]) -> None:
    message, domain = _struct(vector), _domain(vector)
    other_chain = Domain(domain.chain_id + 1, domain.verifying_contract)
    other_pool = Domain(domain.chain_id, "0x" + "11" * 20)
    assert len({message.digest(d) for d in (domain, other_chain, other_pool)}) == 3


def test_the_file_holds_nothing_private() -> None:
    assert not re.search(r"/(home|root|work|tmp)/", FILE.read_text())


def test_the_dapp_computes_the_same() -> None:
    """The same file, read by viem."""
    node = shutil.which("node")
    assert node is not None, "node is missing: make setup"
    checked = subprocess.run(
        [node, FILE.with_name("check.mjs")], capture_output=True, text=True, timeout=patient(60)
    )
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith(f"{len(VECTORS)} typed messages")
