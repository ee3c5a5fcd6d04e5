"""A device on this computer, and a wallet in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from devnet.hardware_app import LedgerApp
from devnet.hardware_emulator import Between, LedgerEmulator, honest
from devnet.patience import patient
from leasehold.hardware import USUAL_PATH, LedgerSigner, Patience, open_transport

LONG = Patience(at_once=patient(30), a_person=patient(30))
TRANSACTION = {
    "type": 2, "chainId": 31337, "nonce": 7, "to": "0x" + "11" * 20, "value": 5, "data": "0x" + "c0de" * 300,
    "gas": 121_000, "maxFeePerGas": 9_000_000_000, "maxPriorityFeePerGas": 1_000_000_000,
}  # fmt: skip
PERMIT = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "Permit": [
            {"name": "owner", "type": "address"},
            {"name": "spender", "type": "address"},
            {"name": "value", "type": "uint256"},
            {"name": "nonce", "type": "uint256"},
            {"name": "deadline", "type": "uint256"},
        ],
    },
    "primaryType": "Permit",
    "domain": {"name": "Dollar", "version": "1", "chainId": 31337, "verifyingContract": "0x" + "22" * 20},
    "message": {
        "owner": "0x" + "33" * 20, "spender": "0x" + "44" * 20, "value": 10**19, "nonce": 0, "deadline": 1_800_000_000,
    },
}  # fmt: skip

Plug = Callable[..., LedgerEmulator]


@pytest.fixture
def plug() -> Iterator[Plug]:
    """Plugs a device in, with what stands between."""
    plugged = list[LedgerEmulator]()

    def plugs(app: LedgerApp | None = None, between: Between = honest) -> LedgerEmulator:
        emulator = LedgerEmulator(app, between)
        plugged.append(emulator.__enter__())
        return emulator

    yield plugs
    for emulator in plugged:
        emulator.__exit__(None, None, None)


def signer_at(
    emulator: LedgerEmulator, told: list[str] | None = None, patience: Patience = LONG
) -> LedgerSigner:
    """The wallet of the app's first account."""
    tell = told.append if told is not None else lambda text: None
    return LedgerSigner(
        emulator.app.address(),
        USUAL_PATH,
        lambda: open_transport(emulator.place),
        tell=tell,
        patience=patience,
    )
