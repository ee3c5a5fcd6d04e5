"""Wallets whose key is in a device: a Ledger's Ethereum app, over USB or from an emulator.

opening = lambda: open_transport("usb")
address = await ask_address(opening, "m/44'/60'/0'/0/0", tell=print)
signer = LedgerSigner(address, "m/44'/60'/0'/0/0", opening, tell=print)

A `LedgerSigner` is handed to `connect` as its wallet. Neither the device nor the way to it is believed.
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.hardware._app import AppConfiguration, DeviceSignature, EthereumApp, Patience
    from leasehold.hardware._errors import (
        AnswerFalse,
        AppClosed,
        BlindSigningOff,
        DeviceBusy,
        DeviceClosed,
        DeviceDeclined,
        DeviceGone,
        DeviceLocked,
        DeviceMissing,
        DeviceSilent,
        DeviceUnfit,
        HardwareError,
        OtherDevice,
        PathUnfit,
        PlaceUnfit,
        SeveralDevices,
        UsbLibraryMissing,
    )
    from leasehold.hardware._path import USUAL_PATH, packed_path
    from leasehold.hardware._signer import LedgerSigner, ask_address
    from leasehold.hardware._transport import USB, Transport, check_place, open_transport

__all__ = [
    "USB",
    "USUAL_PATH",
    "AnswerFalse",
    "AppClosed",
    "AppConfiguration",
    "BlindSigningOff",
    "DeviceBusy",
    "DeviceClosed",
    "DeviceDeclined",
    "DeviceGone",
    "DeviceLocked",
    "DeviceMissing",
    "DeviceSignature",
    "DeviceSilent",
    "DeviceUnfit",
    "EthereumApp",
    "HardwareError",
    "LedgerSigner",
    "OtherDevice",
    "PathUnfit",
    "Patience",
    "PlaceUnfit",
    "SeveralDevices",
    "Transport",
    "UsbLibraryMissing",
    "ask_address",
    "check_place",
    "open_transport",
    "packed_path",
]

_PARTS = {
    "_app": ("AppConfiguration", "DeviceSignature", "EthereumApp", "Patience"),
    "_errors": (
        "AnswerFalse", "AppClosed", "BlindSigningOff", "DeviceBusy", "DeviceClosed", "DeviceDeclined",
        "DeviceGone", "DeviceLocked", "DeviceMissing", "DeviceSilent", "DeviceUnfit", "HardwareError",
        "OtherDevice", "PathUnfit", "PlaceUnfit", "SeveralDevices", "UsbLibraryMissing",
    ),
    "_path": ("USUAL_PATH", "packed_path"),
    "_signer": ("LedgerSigner", "ask_address"),
    "_transport": ("USB", "Transport", "check_place", "open_transport"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
