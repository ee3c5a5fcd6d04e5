"""What a Ledger is asked, what it shows its owner, and what comes of it."""

from __future__ import annotations

from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from devnet.hardware_app import LedgerApp, Screen
from devnet.hardware_emulator import Device
from leasehold.chain.typed import Call, Domain, Execute, Session
from leasehold.errors import WalletError
from leasehold.hardware import (
    AppClosed,
    BlindSigningOff,
    DeviceDeclined,
    DeviceLocked,
    DeviceMissing,
    DeviceUnfit,
    HardwareError,
    LedgerSigner,
    OtherDevice,
    PathUnfit,
    PlaceUnfit,
    ask_address,
    check_place,
    open_transport,
    packed_path,
)

from .conftest import PERMIT, TRANSACTION, Plug, signer_at


def no(screen: Screen) -> bool:
    return False


async def test_a_transaction_is_shown_and_signed(plug: Plug) -> None:
    device, told = plug(), list[str]()
    raw = await signer_at(device, told).sign_transaction(TRANSACTION)
    fields = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    assert Account.recover_transaction(raw) == device.app.address()
    for name, value in TRANSACTION.items():
        assert HexBytes(fields[name]) == HexBytes(value), name
    (screen,) = device.app.screens
    shown = dict(screen.shows)
    assert (shown["To"], shown["Nonce"], shown["Chain"], screen.blind) == (
        TRANSACTION["to"],
        "7",
        "31337",
        True,
    )
    assert len(told) == 1
    assert shown["Transaction hash"] in told[0]
    assert len([command for command in device.commands if command[1] == 4]) == 3, "in chunks of 255"


@pytest.mark.parametrize("chain", [1, 2**31 - 1, 2**31, 2**32 + 1, 2**40 + 1, 2**63])
async def test_a_chains_number_may_be_large(plug: Plug, chain: int) -> None:
    """`v` of an older transaction would not fit into the answer's byte: of this kind it is a parity."""
    device = plug()
    for nonce in range(4):
        raw = await signer_at(device).sign_transaction(
            {**TRANSACTION, "chainId": chain, "nonce": nonce, "data": "0x"}
        )
        assert Account.recover_transaction(raw) == device.app.address()
        assert TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["chainId"] == chain


@pytest.mark.parametrize("size", [0, 1, 100, 181, 182, 183, 254, 255, 256, 510, 4000])
async def test_calls_of_every_length_arrive_whole(plug: Plug, size: int) -> None:
    device, data = plug(), bytes(place % 251 for place in range(size))
    raw = await signer_at(device).sign_transaction({**TRANSACTION, "data": data})
    assert Account.recover_transaction(raw) == device.app.address()
    assert HexBytes(TypedTransaction.from_bytes(HexBytes(raw)).as_dict()["data"]) == data


async def test_other_kinds_of_transactions_are_refused_before_anything_is_asked(plug: Plug) -> None:
    device = plug()
    for wrong in ({"type": 0}, {"type": 1}, {"type": 4}, {"accessList": [("0x" + "11" * 20, [])]}):
        with pytest.raises(WalletError, match="EIP-1559"):
            await signer_at(device).sign_transaction({**TRANSACTION, **wrong})  # type: ignore[arg-type]
    assert device.commands == []


@pytest.mark.parametrize("message", [b"foo", b"", b"\xff\x00" * 300, "Grüße, 3 €".encode()])
async def test_a_message_is_shown_and_signed(plug: Plug, message: bytes) -> None:
    device = plug()
    signature = await signer_at(device).sign_message(message)
    assert (
        Account.recover_message(encode_defunct(primitive=message), signature=signature)
        == device.app.address()
    )
    assert [screen.kind for screen in device.app.screens] == ["message"]


# ----------------------------------------------------------------------------------------------------- typed data

NESTED: dict[str, Any] = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "salt", "type": "bytes32"}],
        "Person": [{"name": "name", "type": "string"}, {"name": "wallets", "type": "address[]"}],
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person[]"},
            {"name": "grid", "type": "uint16[2][]"},
            {"name": "signs", "type": "int16[]"},
            {"name": "largest", "type": "int256"},
            {"name": "seen", "type": "bool"},
            {"name": "four", "type": "bytes4"},
            {"name": "attached", "type": "bytes"},
            {"name": "contents", "type": "string"},
        ],
    },
    "primaryType": "Mail",
    "domain": {"name": "Ether Mail", "salt": "0x" + "5a" * 32},
    "message": {
        "from": {"name": "Cow", "wallets": ["0x" + "ab" * 20, "0x" + "cd" * 20]},
        "to": [{"name": "Bob", "wallets": []}, {"name": "Älice", "wallets": ["0x" + "ef" * 20]}],
        "grid": [[1, 2], [300, 65535], [0, 0]],
        "signs": [-1, 0, 1, -32768, 32767, -256],
        "largest": -(2**255),
        "seen": True,
        "four": "0xdeadbeef",
        "attached": "0x" + "77" * 700,
        "contents": "x" * 508,
    },
}  # fmt: skip
DOMAIN = Domain(31337, "0x" + "22" * 20)
SESSION = Session(
    "0x" + "33" * 20,
    31337,
    DOMAIN.verifying_contract,
    (1, 2**60, 2**200),
    ("logs", "exec"),
    "0x" + "44" * 20,
    1_800_000_000,
)
CALLS = Execute(
    "0x" + "33" * 20,
    (Call("0x" + "55" * 20, b"\x01" * 1000), Call("0x" + "66" * 20, b"")),
    3,
    1_800_000_000,
)


def _checks(device_address: str, message: dict[str, Any], signature: bytes) -> None:
    encoded = encode_typed_data(full_message=message)
    assert Account.recover_message(encoded, signature=signature) == device_address


@pytest.mark.parametrize(
    "message",
    [PERMIT, NESTED, dict(SESSION.typed_data(DOMAIN)), dict(CALLS.typed_data(DOMAIN))],
    ids=["permit", "nested", "session", "calls"],
)
async def test_typed_data_is_shown_field_by_field(plug: Plug, message: dict[str, Any]) -> None:
    """The app hashes by itself what it has shown: only equal words give an equal hash."""
    device, told = plug(), list[str]()
    _checks(device.app.address(), message, await signer_at(device, told).sign_typed_data(message))
    (screen,) = device.app.screens
    assert screen.kind == "fields"
    assert f"`{message['primaryType']}` with its fields" in told[0]


async def test_a_small_device_shows_the_domain_and_a_hash(plug: Plug) -> None:
    """Unless its owner has set that it shows all: the hash is told beforehand."""
    device, told = plug(LedgerApp(verbose=False)), list[str]()
    await signer_at(device, told).sign_typed_data(PERMIT)
    *domain, (name, shown) = device.app.screens[0].shows
    assert (dict(domain)["name"], name) == ("Dollar", "Message hash")
    assert f"0x{shown}" in told[0]


async def test_words_that_somebody_gave_up_are_forgotten(plug: Plug) -> None:
    """The app refuses the first word that follows them, once."""
    refused = list[bytes]()

    def between(command: bytes, device: Device) -> bytes:
        if command[1] == 0x1A and not refused:
            refused.append(command)
            return bytes.fromhex("6a00")
        return device(command)

    device = plug(between=between)
    _checks(device.app.address(), PERMIT, await signer_at(device).sign_typed_data(PERMIT))
    assert device.app.screens[0].kind == "fields"


async def test_what_is_shown_is_what_is_meant(plug: Plug) -> None:
    device = plug()
    await signer_at(device).sign_typed_data(PERMIT)
    shown = dict(device.app.screens[0].shows)
    assert shown["spender"] == "0x" + "44" * 20
    assert (shown["value"], shown["deadline"]) == (str(10**19), "1800000000")


@pytest.mark.parametrize(
    "app",
    [
        {"version": (1, 9, 18)},
        {"by_fields": False},
    ],
    ids=["an older app", "the smallest device"],
)
async def test_where_it_can_only_show_hashes_these_are_told_first(plug: Plug, app: dict[str, Any]) -> None:
    device, told = plug(LedgerApp(**app)), list[str]()
    _checks(device.app.address(), PERMIT, await signer_at(device, told).sign_typed_data(PERMIT))
    (screen,) = device.app.screens
    assert (screen.kind, screen.blind) == ("hashes", True)
    for _, shown in screen.shows:
        assert f"0x{shown}" in told[-1]
    assert "cannot show what `Permit` says" in told[-1]


@pytest.mark.parametrize(
    "change",
    [
        {"words": [{"name": "list", "type": "uint8[]"}], "list": [1] * 256},
        {"words": [{"name": "text", "type": "string"}], "text": "x" * 65536},
        {"words": [{"name": "n" * 256, "type": "bool"}], "n" * 256: True},
    ],
    ids=["a long list", "a long text", "a long name"],
)
async def test_what_the_app_has_no_words_for_goes_by_hashes(plug: Plug, change: dict[str, Any]) -> None:
    fields = change.pop("words")
    message = {
        **PERMIT, "types": {"EIP712Domain": PERMIT["types"]["EIP712Domain"], "Words": fields},  # type: ignore[index]
        "primaryType": "Words", "message": change,
    }  # fmt: skip
    device = plug()
    _checks(device.app.address(), message, await signer_at(device).sign_typed_data(message))
    assert [screen.kind for screen in device.app.screens] == ["hashes"]


# ------------------------------------------------------------------------------------------ what its owner has to do


@pytest.mark.parametrize(
    ("app", "error", "says"),
    [
        ({"locked": True}, DeviceLocked, "enter its PIN"),
        ({"open": False}, AppClosed, "open the app on the device"),
        ({"owner": no}, DeviceDeclined, "declined on the Ledger"),
        ({"blind": False}, BlindSigningOff, "turn on blind signing"),
        ({"seed": "test " * 11 + "ball"}, OtherDevice, "the wallet's seed"),
    ],
    ids=["locked", "closed", "declined", "blind", "another seed"],
)
@pytest.mark.parametrize("what", ["sign_transaction", "sign_typed_data"])
async def test_one_sentence_says_what_to_do(
    plug: Plug, app: dict[str, Any], error: type[HardwareError], says: str, what: str
) -> None:
    device = plug(LedgerApp(**app))
    signer = LedgerSigner(LedgerApp().address(), "m/44'/60'/0'/0/0", lambda: open_transport(device.place))
    with pytest.raises(error, match=says):
        await getattr(signer, what)(TRANSACTION if what == "sign_transaction" else PERMIT)


async def test_after_a_no_it_can_be_asked_again(plug: Plug) -> None:
    device = plug(LedgerApp(owner=no))
    signer = signer_at(device)
    for _ in range(2):
        with pytest.raises(DeviceDeclined):
            await signer.sign_typed_data(PERMIT)
    device.app.owner = lambda screen: True
    assert len(await signer.sign_typed_data(PERMIT)) == 65


async def test_one_that_is_not_plugged_in(plug: Plug) -> None:
    device = plug()
    signer = signer_at(device)
    device.__exit__(None, None, None)
    with pytest.raises(DeviceMissing, match=r"plug it in, unlock it and open its Ethereum app\."):
        await signer.check()


async def test_an_app_that_refuses_for_reasons_of_its_own(plug: Plug) -> None:
    device = plug(
        between=lambda command, device: bytes.fromhex("6f01") if command[1] == 4 else device(command)
    )
    with pytest.raises(DeviceUnfit, match=r"app 1\.22\.0 refused \(status 0x6f01\): update the app"):
        await signer_at(device).sign_transaction(TRANSACTION)


async def test_an_address_is_compared_on_the_device(plug: Plug) -> None:
    device, told = plug(), list[str]()
    address = await ask_address(lambda: open_transport(device.place), "m/44'/60'/0'/0/3", tell=told.append)
    assert address == device.app.address("m/44'/60'/0'/0/3")
    assert device.app.screens == [Screen("address", (("Address", address),))]
    assert address in told[0]
    device.app.owner = no
    with pytest.raises(DeviceDeclined):
        await ask_address(lambda: open_transport(device.place))


@pytest.mark.parametrize(
    "path", ["", "m", "44'/60'", "m/", "m/x", "m/2147483648", "m/-1", "m/1" * 11, "m//1", "m/1''"]
)
def test_no_derivation_path(path: str) -> None:
    with pytest.raises(PathUnfit):
        packed_path(path)


@pytest.mark.parametrize(
    "place",
    [
        "",
        "USB",
        "tcp://example.org:9999",
        "tcp://192.168.1.2:9999",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:99999",
    ],
)
def test_what_a_device_signs_never_goes_over_a_network(place: str) -> None:
    with pytest.raises(PlaceUnfit):
        check_place(place)
