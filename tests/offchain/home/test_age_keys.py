"""The age keys beside a wallet, also where the machine is too busy for age to measure it."""

from __future__ import annotations

from pathlib import Path

import pyrage
import pytest

from leasehold.errors import WalletError, WrongPassword
from leasehold.home import AgeKeys, _age_keys
from leasehold.home._errors import TooBusyToOpen

PASSWORD = "correct horse"
REFUSAL = "Excessive work parameter for passphrase.\nDecryption would take around \u206832\u2069 seconds."


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgeKeys:
    monkeypatch.setattr(_age_keys, "_MEASURED_ANEW_AFTER", (0.0,) * 6)
    return AgeKeys(tmp_path)


def refusing(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """age opens nothing so many times, as where another program has the processor while it measures."""
    opens, left = pyrage.passphrase.decrypt, [None] * times

    def decrypt(sealed: bytes, password: str) -> bytes:
        if left:
            left.pop()
            raise pyrage.DecryptError(REFUSAL)
        return bytes(opens(sealed, password))

    monkeypatch.setattr(pyrage.passphrase, "decrypt", decrypt)


@pytest.mark.slow
async def test_a_key_is_opened_by_its_password_alone(keys: AgeKeys) -> None:
    recipient = await keys.new("ada", PASSWORD)
    assert str(pyrage.x25519.Identity.from_str(await keys.identity("ada", PASSWORD)).to_public()) == recipient
    with pytest.raises(WrongPassword):
        await keys.identity("ada", "wrong")


async def test_a_machine_that_is_busy_for_a_moment_opens_it(
    keys: AgeKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keys.new("ada", PASSWORD)
    refusing(monkeypatch, 5)
    assert (await keys.identity("ada", PASSWORD)).startswith("AGE-SECRET-KEY-")


@pytest.mark.slow
async def test_a_machine_that_stays_busy_does_not_blame_the_password(
    keys: AgeKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keys.new("ada", PASSWORD)
    refusing(monkeypatch, 100)
    with pytest.raises(TooBusyToOpen, match="the password may be right"):
        await keys.identity("ada", PASSWORD)


@pytest.mark.parametrize(
    "sealed",
    [
        b"",
        b"\xff" * 300,
        b"age-encryption.org/v1\n-> X25519 abc\n",
        b"age-encryption.org/v1\n-> scrypt c2FsdA 40\n",
    ],
    ids=["empty", "noise", "to a key", "work without end"],
)
async def test_what_is_no_key_of_a_wallet_is_not_called_a_wrong_password(
    keys: AgeKeys, tmp_path: Path, sealed: bytes
) -> None:
    (tmp_path / "ada.age").write_bytes(sealed)
    with pytest.raises(WalletError, match="is no age key") as refused:
        await keys.identity("ada", PASSWORD)
    assert type(refused.value) is WalletError


@pytest.mark.parametrize(("measured", "kept"), [((10, 17), 17), ((18,), 18), ((9, 10, 8), 10)])
async def test_a_measurement_that_was_disturbed_does_not_make_a_weak_seal(
    keys: AgeKeys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: tuple[int, ...], kept: int
) -> None:
    works = iter(measured)

    def encrypt(text: bytes, password: str) -> bytes:
        return b"age-encryption.org/v1\n-> scrypt c2FsdA %d\n" % next(works)

    monkeypatch.setattr(pyrage.passphrase, "encrypt", encrypt)
    await keys.new("ada", PASSWORD)
    assert (tmp_path / "ada.age").read_bytes().endswith(b" %d\n" % kept)
    assert next(works, None) is None
