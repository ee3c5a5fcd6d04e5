"""Keystores: V3 files of eth-account, opened again, and everything that can go wrong with them."""

import json
import stat
from pathlib import Path

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from leasehold.chain import Keystore, LocalSigner
from leasehold.errors import KeyExists, KeyMissing, WalletError, WrongPassword

LIGHT = 2  # scrypt's n for tests; the default takes a second
KEY = b"\x11" * 32


@pytest.fixture
def keystore(tmp_path: Path) -> Keystore:
    return Keystore(tmp_path / "keys", iterations=LIGHT)


async def test_a_new_wallet_opens_with_its_password(keystore: Keystore, tmp_path: Path) -> None:
    made = await keystore.new("renter", "pass phrase")
    opened = await keystore.unlock("renter", "pass phrase")
    assert opened.address == made.address
    (info,) = keystore.list()
    assert (info.name, info.address) == ("renter", made.address)
    assert stat.S_IMODE(info.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(info.path.parent.stat().st_mode) == 0o700
    assert [p.name for p in info.path.parent.iterdir()] == ["renter.json"], "nothing else is left"
    document = json.loads(info.path.read_text())
    assert document["version"] == 3
    assert document["crypto"]["kdf"] == "scrypt"


async def test_keys_are_random_and_existing_ones_can_be_taken_in(keystore: Keystore) -> None:
    addresses = {(await keystore.new(f"w{n}", "p")).address for n in range(5)}
    assert len(addresses) == 5
    taken = await keystore.new("known", "p", key=KEY)
    assert taken.address == Account.from_key(KEY).address
    assert "0x1111" not in repr(taken)
    fixed = await Keystore(
        keystore.list()[0].path.parent, iterations=LIGHT, random=lambda n: b"\x22" * n
    ).new("fixed", "p")
    assert fixed.address == Account.from_key(b"\x22" * 32).address


async def test_a_file_of_another_program_opens(keystore: Keystore, tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    folder.mkdir()
    document = Account.encrypt(KEY, "geth", kdf="pbkdf2", iterations=LIGHT)
    (folder / "theirs.json").write_text(json.dumps(document))
    assert (await keystore.unlock("theirs", "geth")).address == Account.from_key(KEY).address


async def test_refusals(keystore: Keystore, tmp_path: Path) -> None:
    assert keystore.list() == []
    await keystore.new("me", "right")
    with pytest.raises(WrongPassword, match="does not open"):
        await keystore.unlock("me", "wrong")
    with pytest.raises(KeyExists, match="choose another name"):
        await keystore.new("me", "x")
    with pytest.raises(KeyMissing, match="no wallet `you`"):
        await keystore.unlock("you", "x")
    with pytest.raises(WalletError, match="password is empty"):
        await keystore.new("you", "")
    for name in ("", "../me", "a/b", ".hidden", "x" * 65):
        with pytest.raises(WalletError, match="cannot name a wallet"):
            await keystore.new(name, "x")
    for key in (bytes(32), b"\xff" * 32, b"short"):
        with pytest.raises(WalletError, match="no private key"):
            await keystore.new("you", "x", key=key)
    (tmp_path / "keys/broken.json").write_text("{}")
    (tmp_path / "keys/worse.json").write_text("not json")
    for name in ("broken", "worse"):
        with pytest.raises(WalletError, match="not a V3 keystore"):
            await keystore.unlock(name, "x")
    assert [info.name for info in keystore.list()] == ["me"]


async def test_two_that_make_the_same_name_at_once(keystore: Keystore) -> None:
    path = keystore.list
    await keystore.new("first", "p")
    document = path()[0].path.read_text()
    with pytest.raises(KeyExists):
        keystore._write(path()[0].path, "first", "overwritten")
    assert path()[0].path.read_text() == document


async def test_typed_data_is_signed_as_eth_account_does() -> None:
    message = {
        "types": {
            "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
            "Note": [{"name": "text", "type": "string"}],
        },
        "primaryType": "Note",
        "domain": {"name": "Leasehold", "chainId": 1},
        "message": {"text": "hello"},
    }
    signer = LocalSigner(KEY)
    signature = await signer.sign_typed_data(message)
    assert len(signature) == 65
    signable = encode_typed_data(full_message=message)
    assert Account.recover_message(signable, signature=signature) == signer.address
