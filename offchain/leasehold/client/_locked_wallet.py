"""A wallet whose password is asked for when it is needed, unless it is open already, or whose key is in a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from leasehold.chain import DeviceAccount, KeyInfo, Signer, TypedData
from leasehold.home import Home, UnlockedWallet

Password = str | Callable[[str], str]
"""A wallet's password, or what is asked for it by the wallet's name when something is first signed."""


class LockedWallet:
    """A wallet of a home that asks for its password when something is to be signed, and not before; where the wallet
    is held open, not at all. One in a hardware wallet asks its owner there each time.

    tell: is told what a hardware wallet asks its owner, and what it has to show.
    """

    def __init__(
        self, home: Home, wallet: KeyInfo, password: Password, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        self._home = home
        self._wallet = wallet
        self._password = password
        self.tell = tell
        self._opened: Signer | None = None

    @property
    def address(self) -> str:
        """The wallet's account."""
        return self._wallet.address

    @property
    def name(self) -> str:
        """What it is called in its keystore."""
        return self._wallet.name

    @property
    def asks_each_time(self) -> bool:
        """Whether its key is in a device, whose owner is asked for each signature."""
        return self._wallet.device is not None

    def password(self) -> str:
        """Its password, asked for once."""
        if callable(self._password):
            self._password = self._password(self.name)
        return self._password

    async def unlock(self) -> Signer:
        """What signs; the second time without asking. Raises WrongPassword, HardwareError."""
        if self._opened is None and self._wallet.device is not None:
            self._opened = await self._asked(self._wallet.device)
        if self._opened is None:
            self._opened = await self._held()
        if self._opened is None:
            self._opened = await self._home.keystore.unlock(self.name, self.password())
        return self._opened

    async def _asked(self, device: DeviceAccount) -> Signer:
        """The device, if it is there and has the wallet."""
        from leasehold.hardware import LedgerSigner, open_transport

        signer = LedgerSigner(
            self.address,
            device.path,
            lambda: open_transport(device.at, self._home.locks / "hardware"),
            tell=lambda text: self.tell(text),
        )
        await signer.check()
        return signer

    async def age_identity(self) -> str | None:
        """What opens the wallet's results, or `None` where it has no such key. Raises WrongPassword."""
        if self._home.age_keys.recipient(self.name) is None:
            return None
        if (held := await self._held()) is not None:
            return await held.identity()
        return await self._home.age_keys.identity(self.name, self.password())

    async def _held(self) -> UnlockedWallet | None:
        """The wallet where it is open, if it is the one that is meant."""
        held = await self._home.unlocked.find(self.name)
        return held if held is not None and held.address == self.address else None

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        """As `Signer`."""
        return await (await self.unlock()).sign_transaction(transaction)

    async def sign_typed_data(self, message: TypedData) -> bytes:
        """As `Signer`."""
        return await (await self.unlock()).sign_typed_data(message)
