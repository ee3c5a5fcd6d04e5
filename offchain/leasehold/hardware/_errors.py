"""What a hardware wallet, or the way to it, does not do.

WalletError
└── HardwareError                   catching it is enough
    ├── PathUnfit                   no derivation path
    ├── PlaceUnfit                  no place where a device can be
    ├── UsbLibraryMissing
    ├── DeviceMissing
    ├── DeviceClosed                it is there, and the system does not let it be opened
    ├── SeveralDevices
    ├── DeviceBusy                  another command of the same user asks it
    ├── DeviceLocked
    ├── AppClosed
    ├── DeviceGone                  unplugged while it was asked
    ├── DeviceSilent
    ├── DeviceDeclined              its owner said no
    ├── BlindSigningOff
    ├── DeviceUnfit                 its app cannot do it
    ├── OtherDevice                 another seed, or another path
    └── AnswerFalse                 what came back is not what was asked for
"""

from __future__ import annotations

from leasehold.errors import WalletError, error_type


class HardwareError(WalletError):
    """Nothing was signed that is used. What a device may have shown can be declined there."""

    code = "hardware"


@error_type(
    "path-unfit", problem="`{path}` is no derivation path", advice="write it such as m/44'/60'/0'/0/0."
)
class PathUnfit(HardwareError):
    """BIP-32: up to ten numbers below 2^31, hardened by an apostrophe."""

    path: str


@error_type(
    "place-unfit",
    problem="`{place}` is no place where a hardware wallet is",
    advice="write usb, or tcp://127.0.0.1:9999 for an emulator on this computer.",
)
class PlaceUnfit(HardwareError):
    """What a device signs may be a key: it never goes over a network."""

    place: str


@error_type(
    "usb-library-missing",
    problem="The package that speaks to a Ledger over USB is not installed",
    advice="install leasehold[ledger], or hidapi.",
)
class UsbLibraryMissing(HardwareError):
    """hidapi is an extra: most have no device."""


@error_type(
    "device-missing",
    problem="No Ledger is there at {place}",
    advice="plug it in, unlock it and open its Ethereum app.",
)
class DeviceMissing(HardwareError):
    """Nothing of Ledger's is plugged in, or no emulator listens."""

    place: str


@error_type(
    "device-closed",
    problem="A Ledger is plugged in and cannot be opened",
    advice="close other wallets that use it, and on Linux install Ledger's udev rules.",
)
class DeviceClosed(HardwareError):
    """The system does not let this user open it."""


@error_type("several-devices", problem="{count} Ledgers are plugged in", advice="leave one, and try again.")
class SeveralDevices(HardwareError):
    """Which one is meant cannot be told before each has been asked."""

    count: int


@error_type(
    "device-busy",
    problem="Another command asks the hardware wallet at this moment",
    advice="answer that one first.",
)
class DeviceBusy(HardwareError):
    """One conversation at a time: two would take each other's answers."""


@error_type("device-locked", problem="The Ledger is locked", advice="enter its PIN, and try again.")
class DeviceLocked(HardwareError):
    """It waits for its PIN."""


@error_type(
    "app-closed",
    problem="The Ledger does not have its Ethereum app open",
    advice="open the app on the device, and try again.",
)
class AppClosed(HardwareError):
    """It shows its list of apps, or another app."""


@error_type(
    "device-gone",
    problem="The Ledger went away while it was asked",
    advice="plug it in again, open its Ethereum app, and try again.",
)
class DeviceGone(HardwareError):
    """Unplugged, or its emulator has ended."""


@error_type(
    "device-silent",
    problem="The Ledger has not answered within {seconds:.0f} s",
    advice="look whether it waits for you, decline there what it still shows, and try again.",
)
class DeviceSilent(HardwareError):
    """Nobody pressed anything, or what is between hangs."""

    seconds: float


@error_type("device-declined", problem="It was declined on the Ledger", advice="do it again if it should be.")
class DeviceDeclined(HardwareError):
    """Its owner said no."""


@error_type(
    "blind-signing-off",
    problem="The Ledger cannot show what this does, and does not sign what it cannot show",
    advice="turn on blind signing in the settings of its Ethereum app if you want to compare hashes instead.",
)
class BlindSigningOff(HardwareError):
    """The app knows neither the contract's calls nor the message."""


@error_type(
    "device-unfit",
    problem="The Ledger's Ethereum app {version} refused (status {status:#06x})",
    advice="update the app, and try again.",
)
class DeviceUnfit(HardwareError):
    """What it answered, as ISO 7816 writes it, and the app's version."""

    status: int
    version: str


@error_type(
    "other-device",
    problem="The Ledger has {has} at {path}, and the wallet is {address}",
    advice="plug in the one with the wallet's seed, or use another wallet.",
)
class OtherDevice(HardwareError):
    """Another seed, a passphrase more or less, or another path."""

    has: str
    path: str
    address: str


@error_type(
    "answer-false",
    problem="What came back from the Ledger is not what was asked for: {why};",
    advice="use another cable, computer or device, and approve nothing until you know why.",
)
class AnswerFalse(HardwareError):
    """A device or what lies between answers wrongly, or lies. What it gave is thrown away."""

    why: str
