"""What the app itself answered, byte for byte: to what is sent here, and as the stand-in does with the same seed.

`recorded.json` holds conversations of `LedgerSigner` with Ledger's Ethereum app 1.10.3 for the Nano S Plus, which ran
in the emulator Speculos 0.9.5 with the seed of Anvil's accounts; a hand at its buttons agreed, or declined where a name
says so.
The others are of a real device, published by MyCrypto's wallets with its seed, and of the app's own tests.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from devnet.hardware_app import LedgerApp, Screen
from leasehold.hardware import (
    BlindSigningOff,
    DeviceDeclined,
    EthereumApp,
    HardwareError,
    LedgerSigner,
    Patience,
    Transport,
    ask_address,
)

from .conftest import PERMIT, TRANSACTION
from .test_signer import CALLS, DOMAIN, NESTED, SESSION

RECORDED = {
    conversation["name"]: conversation
    for conversation in json.loads(Path(__file__).with_name("recorded.json").read_text())
}
PATH = "m/44'/60'/0'/0/0"
PLAIN = {**TRANSACTION, "data": "0x"}
ASKED: dict[str, Any] = {
    "address": lambda signer, opening: signer.check(),
    "address compared": lambda signer, opening: ask_address(opening, PATH),
    "address declined": lambda signer, opening: ask_address(opening, PATH),
    "transaction": lambda signer, opening: signer.sign_transaction(PLAIN),
    "transaction on a large chain": lambda signer, opening: signer.sign_transaction(
        {**PLAIN, "chainId": 2**40 + 1, "nonce": 8}
    ),
    "transaction declined": lambda signer, opening: signer.sign_transaction(PLAIN),
    "message": lambda signer, opening: signer.sign_message(b"foo bar"),
    "message declined": lambda signer, opening: signer.sign_message(b"foo bar"),
    "call while blind signing is off": lambda signer, opening: signer.sign_transaction(TRANSACTION),
    "call": lambda signer, opening: signer.sign_transaction(TRANSACTION),
    "typed data": lambda signer, opening: signer.sign_typed_data(PERMIT),
    "typed data declined": lambda signer, opening: signer.sign_typed_data(PERMIT),
    "typed data, nested": lambda signer, opening: signer.sign_typed_data(NESTED),
    "a session": lambda signer, opening: signer.sign_typed_data(dict(SESSION.typed_data(DOMAIN))),
    "a group's calls": lambda signer, opening: signer.sign_typed_data(dict(CALLS.typed_data(DOMAIN))),
}


class Player:
    """Answers what was answered, to what was asked and nothing else."""

    def __init__(self, exchanges: list[list[str]]) -> None:
        self.left = list(exchanges)

    async def exchange(self, command: bytes, patience: float) -> bytes:
        asked, answered = self.left.pop(0)
        assert command.hex() == asked
        return bytes.fromhex(answered)

    async def close(self) -> None:
        assert self.left == []


@pytest.mark.parametrize("name", ASKED)
async def test_the_app_is_asked_as_it_was_and_answers(name: str) -> None:
    conversation = RECORDED[name]

    @contextlib.asynccontextmanager
    async def opening() -> AsyncIterator[Transport]:
        player = Player(conversation["exchanges"])
        yield player
        await player.close()

    signer = LedgerSigner(LedgerApp().address(), PATH, opening)
    refused = {"declined": DeviceDeclined, "off": BlindSigningOff}.get(name.split()[-1])
    if refused is not None:
        with pytest.raises(HardwareError) as error:
            await ASKED[name](signer, opening)
        assert type(error.value) is refused
        return
    came = await ASKED[name](signer, opening)
    assert (came.hex() if isinstance(came, bytes) else str(came)) == conversation["result"]


@pytest.mark.parametrize("name", [*ASKED, "typed data by hashes"])
def test_the_stand_in_answers_what_the_app_did(name: str) -> None:
    def declines(screen: Screen) -> bool:
        return not name.endswith("declined")

    flags = bytes.fromhex(RECORDED[name]["exchanges"][0][1])[0]
    app = LedgerApp(version=(1, 10, 3), flags=flags & ~1, blind=bool(flags & 1), owner=declines)
    for asked, answered in RECORDED[name]["exchanges"]:
        assert app.answer(bytes.fromhex(asked)).hex() == answered


# ------------------------------------------------------------------------------------------------- others' recordings

BALL = "test test test test test test test test test test test ball"
OF_A_DEVICE = (
    (  # an address
        "e002000015058000002c8000003c800000000000000000000000",
        "4104b884d0c53b60fb8aafba20ca84870f20428082863f1d39a402c36c2de356cb0c6c0a582f54ee29911ca6f1823d34405623f4a7418d"
        "b8ebb0203bc3acba08ba64286336443561336339384543393037334235344641303936393935374264353832653844383734626690"
        "00",
    ),
    (  # EIP-1559
        "e004000046058000002c8000003c80000000000000000000000002ef0306843b9aca008504a817c80082520894b2bb2b958afa2e96dab3"
        "f3ce7162b87daea39017872386f26fc1000080c0",
        "01884850dc596eac6b74175d2c62deedd9295570808882b0cd9adf47e5ac8b3b3d68881b0ef002d48ef78374d6842ee4987a222a4726af"
        "47b5a0a4bcb8f38e2cf39000",
    ),
    (  # the same that calls a contract
        "e00400008c058000002c8000003c80000000000000000000000002f8740106843b9aca008504a817c80082520894e41d2489571d322189"
        "246dafa5ebde1f4699f498872386f26fc10000b844095ea7b3000000000000000000000000221657776846890989a759ba2973e427dff5"
        "c9bb0000000000000000000000000000000000000000000000004563918244f40000c0",
        "00d6814aa5db69de910824b14462af006fde864224c616ab93e30f646e7309a93f0312ac6e580e918ce6e39e5f910cb95ba7b68167f4d7"
        "1e581dec2495a198ecc09000",
    ),
    (  # a message
        "e00800001c058000002c8000003c80000000000000000000000000000003666f6f",
        "1b16f672a12220dc4d9e27671ef580cfc1397a9a4d5ee19eadea46c0f350b2f72a4922be7c1f16ed9b03ef1d3351eac469e33accf5a361"
        "94b1d88923701c2b163f9000",
    ),
)
"""github.com/MyCryptoHQ/wallets: made with that seed."""


@pytest.mark.parametrize(
    ("asked", "answered"), OF_A_DEVICE, ids=["address", "transaction", "call", "message"]
)
def test_a_real_device_answered_the_same(asked: str, answered: str) -> None:
    assert LedgerApp(seed=BALL).answer(bytes.fromhex(asked)).hex() == answered


async def test_a_real_device_was_asked_the_same() -> None:
    address, transaction, _, message = (list(exchange) for exchange in OF_A_DEVICE)
    app = EthereumApp(Player([address, transaction, message]), Patience())
    assert await app.address(PATH) == "0xc6D5a3c98EC9073B54FA0969957Bd582e8D874bf"
    payload = bytes.fromhex(transaction[0][10 + 42 :])
    assert (await app.sign_transaction(PATH, payload)).v == 1
    assert (await app.sign_message(PATH, b"foo")).v == 27


def test_typed_data_by_hashes_as_the_apps_own_tests_have_it() -> None:
    """LedgerHQ/app-ethereum, its former tests under Speculos, by that one's usual seed."""
    seed = (
        "glory promote mansion idle axis finger extra february uncover one trip resource lawn turtle enact monster "
        "seven myth punch hobby comfort wild raise skin"
    )
    path = "058000002c8000003c800000008000000000000000"
    hashes = (
        "c24f499b8c957196651b13edd64aaccc3980009674b2aea0966c8a56ba81278e"
        "9d96be8a7cca396e711a3ba356bd9878df02a726d753ddb6cda3c507d888bc77"
    )
    answer = LedgerApp(seed=seed).answer(bytes.fromhex(f"e00c000055{path}{hashes}"))
    assert answer.hex() == (
        "1bb1cf3dd6f2902ae9b181e158cc07f6ee6e6c456360b18842ece0b947dec89f07"
        "5372a9b1a495b76ccd75347b6f591867859fb73aa05a546b79c81073ddff5e8a9000"
    )
