"""What stands between wallet and device lies. Nothing that it makes is used, and nobody waits for ever."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from eth_keys.datatypes import PrivateKey

from devnet.hardware_app import LedgerApp
from devnet.hardware_emulator import Between, Device, Unplugged
from leasehold.hardware import (
    USUAL_PATH,
    AnswerFalse,
    DeviceBusy,
    DeviceDeclined,
    DeviceGone,
    DeviceSilent,
    HardwareError,
    LedgerSigner,
    OtherDevice,
    Transport,
    ask_address,
    open_transport,
)

from .conftest import PERMIT, TRANSACTION, Plug, signer_at

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
THIEF = PrivateKey(b"\x07" * 32)
SIGNS = (0x04, 0x08, 0x0C)
OTHERS = {**PERMIT["message"], "spender": THIEF.public_key.to_checksum_address(), "value": 2**255}  # type: ignore[dict-item]


def signing(change: Any) -> Between:
    """Changes what a signature's answer is: `change(answer)`."""

    def between(command: bytes, device: Device) -> bytes | None:
        answer = device(command)
        is_signature = command[1] in SIGNS and len(answer) == 67
        changed: bytes | None = change(answer) if is_signature else answer
        return changed

    return between


def of_thief(path_and_key: bytes) -> bytes:
    """The answer with another's public key and address."""
    key = THIEF.public_key
    written = key.to_checksum_address()[2:].encode()
    return bytes([65, 4]) + key.to_bytes() + bytes([40]) + written + b"\x90\x00"


def swapped_address(command: bytes, device: Device) -> bytes:
    return of_thief(command) if command[1] == 0x02 else device(command)


def false_address(command: bytes, device: Device) -> bytes:
    """The wallet's address beside a key that is not its own."""
    answer = device(command)
    return answer[:10] + bytes([answer[10] ^ 1]) + answer[11:] if command[1] == 0x02 else answer


def malleated(answer: bytes) -> bytes:
    """A second signature that anybody can make of the first."""
    s = ORDER - int.from_bytes(answer[33:65], "big")
    return (
        bytes([answer[0] ^ 1 if answer[0] < 2 else 55 - answer[0]])
        + answer[1:33]
        + s.to_bytes(32, "big")
        + answer[65:]
    )


def of_another_key(answer: bytes) -> bytes:
    signature = THIEF.sign_msg_hash(b"\x01" * 32)
    return answer[:1] + signature.r.to_bytes(32, "big") + signature.s.to_bytes(32, "big") + b"\x90\x00"


LIES = {
    "another v": lambda answer: bytes([answer[0] ^ 1]) + answer[1:],
    "v of another kind": lambda answer: bytes([(answer[0] + 27) % 54]) + answer[1:],
    "v far off": lambda answer: b"\xff" + answer[1:],
    "another s": lambda answer: answer[:64] + bytes([answer[64] ^ 1]) + answer[65:],
    "s in the upper half": malleated,
    "no r": lambda answer: answer[:1] + b"\0" * 32 + answer[33:],
    "r beyond the curve": lambda answer: answer[:1] + b"\xff" * 32 + answer[33:],
    "another's signature": of_another_key,
    "too short": lambda answer: answer[:64] + b"\x90\x00",
    "too long": lambda answer: answer[:65] + b"\0" + answer[65:],
    "nothing": lambda answer: b"\x90\x00",
    "no status": lambda answer: answer[:1],
    "longer than any": lambda answer: b"\0" * 70_000,
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("what", ["sign_transaction", "sign_typed_data", "sign_message"])
async def test_a_signature_that_was_changed(plug: Plug, lie: str, what: str) -> None:
    device = plug(between=signing(LIES[lie]))
    asked: Any = {"sign_transaction": TRANSACTION, "sign_typed_data": PERMIT, "sign_message": b"words"}[what]
    with pytest.raises((AnswerFalse, DeviceGone)):
        await getattr(signer_at(device), what)(asked)


async def test_an_address_that_was_swapped(plug: Plug) -> None:
    device = plug(between=swapped_address)
    with pytest.raises(OtherDevice, match=THIEF.public_key.to_checksum_address()):
        await signer_at(device).sign_transaction(TRANSACTION)
    assert device.app.screens == [], "it is found before anybody is asked"


@pytest.mark.parametrize(
    "change", [false_address, lambda command, device: device(command)[:-42] + b"\x90\x00"]
)
async def test_an_address_that_is_not_its_keys(plug: Plug, change: Between) -> None:
    between = lambda command, device: change(command, device) if command[1] == 2 else device(command)  # noqa: E731
    with pytest.raises(AnswerFalse):
        await signer_at(plug(between=between)).check()


async def test_a_wallet_is_added_with_the_thiefs_address(plug: Plug) -> None:
    """The computer believes it; its owner sees another one on the device, and says no."""
    told = list[str]()
    device = plug(
        LedgerApp(owner=lambda screen: screen.shows[0][1] in told[-1]),
        lambda command, device: of_thief(command) if command[1:3] == b"\x02\x00" else device(command),
    )
    with pytest.raises(DeviceDeclined):
        await ask_address(lambda: open_transport(device.place), tell=told.append)
    device.app.owner = lambda screen: True  # who does not look
    with pytest.raises(AnswerFalse, match="two addresses"):
        await ask_address(lambda: open_transport(device.place), tell=told.append)


async def test_another_transaction_than_was_asked_for(plug: Plug) -> None:
    """The device signs what the way has made of it, which its owner sees there; here it is thrown away."""

    def pays_the_thief(command: bytes, device: Device) -> bytes:
        return device(command.replace(b"\x11" * 20, b"\x66" * 20))

    device = plug(between=pays_the_thief)
    with pytest.raises(AnswerFalse, match="something else"):
        await signer_at(device).sign_transaction({**TRANSACTION, "data": "0x"})
    assert dict(device.app.screens[0].shows)["To"] == "0x" + "66" * 20


async def test_words_that_were_changed_on_the_way(plug: Plug) -> None:
    thief = bytes.fromhex(THIEF.public_key.to_address()[2:])
    device = plug(between=lambda command, device: device(command.replace(b"\x44" * 20, thief)))
    with pytest.raises(AnswerFalse, match="something else"):
        await signer_at(device).sign_typed_data(PERMIT)
    assert dict(device.app.screens[0].shows)["spender"] == "0x" + thief.hex()


async def test_hashes_that_were_changed_are_not_those_that_were_told(plug: Plug) -> None:
    """Blind, all that its owner has is the comparison: the device shows what it signs, and the prompt what is meant."""

    def another_digest(command: bytes, device: Device) -> bytes:
        return device(command[:-32] + b"\x99" * 32 if command[1:4] == b"\x0c\x00\x00" else command)

    told = list[str]()
    device = plug(LedgerApp(version=(1, 9, 0)), another_digest)
    device.app.owner = lambda screen: all(f"0x{shown}" in told[-1] for _, shown in screen.shows)
    with pytest.raises(DeviceDeclined):
        await signer_at(device, told).sign_typed_data(PERMIT)
    device.app.owner = lambda screen: True  # who does not compare
    with pytest.raises(AnswerFalse, match="something else"):
        await signer_at(device, told).sign_typed_data(PERMIT)


@pytest.mark.parametrize("how", ["an old app", "no such command", "no memory"])
async def test_a_device_that_is_made_blind_is_told_so(plug: Plug, how: str) -> None:
    """What stands between makes a good device look like one that can show nothing. It is said, with the hashes that
    the device has to show: a thief's are others.
    """

    def worse(command: bytes, device: Device) -> bytes:
        if how == "an old app" and command[1] == 0x06:
            return bytes.fromhex("0301090090 00".replace(" ", ""))
        if how != "an old app" and command[1] == 0x1A:
            return bytes.fromhex("6d00" if how == "no such command" else "6a84")
        return device(command)

    told = list[str]()
    device = plug(between=worse)
    assert len(await signer_at(device, told).sign_typed_data(PERMIT)) == 65
    assert "cannot show what `Permit` says: approve it there only if the domain hash is 0x" in told[-1]
    assert device.app.screens[0].kind == "hashes"


async def test_an_answer_of_before_is_no_answer_now(plug: Plug) -> None:
    """The signature of a transaction that was given up, handed over for the next one."""
    kept = list[bytes]()

    def late(command: bytes, device: Device) -> bytes:
        answer = device(command)
        if command[1] in SIGNS and len(answer) == 67:
            kept.append(answer)
            return kept[0]
        return answer

    signer = signer_at(plug(between=late))
    await signer.sign_transaction(TRANSACTION)
    with pytest.raises(AnswerFalse, match="something else"):
        await signer.sign_transaction({**TRANSACTION, "nonce": 8})


@pytest.mark.parametrize("instruction", [0x06, 0x02, 0x04, 0x1A, 0x1C, 0x0C])
async def test_one_that_never_answers(plug: Plug, instruction: int) -> None:
    hangs: Between = lambda command, device: None if command[1] == instruction else device(command)  # noqa: E731
    device = plug(between=hangs)

    class Hurried:
        """Waits for what will not come for a moment, and for the rest as long as it takes."""

        def __init__(self, way: Transport) -> None:
            self.exchanges, self.close = way.exchange, way.close

        async def exchange(self, command: bytes, patience: float) -> bytes:
            return await self.exchanges(command, 0.01 if command[1] == instruction else patience)

    @contextlib.asynccontextmanager
    async def opening() -> AsyncIterator[Transport]:
        async with open_transport(device.place) as way:
            yield Hurried(way)

    signer = LedgerSigner(device.app.address(), USUAL_PATH, opening)
    with pytest.raises(DeviceSilent, match="has not answered"):
        await (signer.sign_transaction(TRANSACTION) if instruction == 4 else signer.sign_typed_data(PERMIT))


@pytest.mark.parametrize("instruction", [0x06, 0x02, 0x04, 0x1C, 0x0C])
async def test_one_that_is_unplugged_meanwhile(plug: Plug, instruction: int) -> None:
    def cut(command: bytes, device: Device) -> bytes:
        if command[1] == instruction:
            raise Unplugged
        return device(command)

    signer = signer_at(plug(between=cut))
    with pytest.raises(DeviceGone, match="plug it in again"):
        await (signer.sign_transaction(TRANSACTION) if instruction == 4 else signer.sign_typed_data(PERMIT))


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_comes_back_it_is_an_error_of_the_wallet(plug: Plug, seed: int) -> None:
    import random

    source = random.Random(seed)

    def noise(command: bytes, device: Device) -> bytes:
        answer = device(command)
        if source.random() < 0.5:
            return answer
        return source.randbytes(source.choice((2, 3, 4, 6, 67, 110, 258)) - 2) + source.choice(
            (b"\x90\0", b"\x6a\x80")
        )

    signer = signer_at(plug(between=noise))
    for ask in (lambda: signer.sign_transaction(TRANSACTION), lambda: signer.sign_typed_data(PERMIT)):
        with contextlib.suppress(HardwareError):
            await ask()


async def test_two_commands_do_not_take_each_others_answers(plug: Plug, tmp_path: Path) -> None:
    device, lock = plug(), tmp_path / "locks" / "hardware"
    async with open_transport(device.place, lock):
        with pytest.raises(DeviceBusy, match="answer that one first"):
            async with open_transport(device.place, lock):
                pass
    async with open_transport(device.place, lock):
        pass
