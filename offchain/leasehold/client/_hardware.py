"""An account of a hardware wallet taken into a home: where its key is, and a key of its own for results."""

from __future__ import annotations

from collections.abc import Callable

from leasehold.chain import DeviceAccount, KeyInfo
from leasehold.client._locked_wallet import Password
from leasehold.errors import WalletError
from leasehold.hardware import USB, USUAL_PATH, ask_address, check_place, open_transport, packed_path
from leasehold.home import Home


async def add_hardware_wallet(
    home: Home,
    name: str,
    *,
    password: Password,
    path: str = USUAL_PATH,
    at: str = USB,
    tell: Callable[[str], None] = lambda text: None,
) -> KeyInfo:
    """Take the account at a path of the device into a home's wallets. Its owner compares the address on the device.

    password: of the age key that results are sealed to, since a device opens no files; asked for last. at: `usb`, or
    `tcp://127.0.0.1:PORT` of an emulator. tell: is told what the device has to show.

    Raises:
        KeyExists, HardwareError, WalletError. Nothing is kept then.
    """
    home.keystore.check_free(name)
    packed_path(path)
    check_place(at)
    address = await ask_address(lambda: open_transport(at, home.locks / "hardware"), path, tell=tell)
    word = password(name) if callable(password) else password
    if not word:
        raise WalletError("The password is empty", "choose one, since it is all that protects your results.")
    if home.age_keys.recipient(name) is None:
        await home.age_keys.new(name, word)
    return home.keystore.add_device(name, address, DeviceAccount(path, at))
