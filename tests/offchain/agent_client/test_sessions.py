"""Sessions: signed once, kept for their owner alone, renewed before they end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain, TypedData
from leasehold.errors import WalletError
from leasehold.market._agent_sessions import SESSION_SECONDS, SessionCache
from leasehold.market.wire import OPS, SessionScope

from .conftest import DOMAIN, LEASE, World

NOW = 1_800_000_000


class Wallet(LocalSigner):
    """Counts how often its owner is asked."""

    asked = 0

    async def sign_typed_data(self, message: TypedData) -> bytes:  # type: ignore[override]
        self.asked += 1
        return await super().sign_typed_data(message)


@pytest.fixture
def wallet() -> Wallet:
    return Wallet(b"\1" * 32)


@pytest.fixture
def cache(tmp_path: Path) -> SessionCache:
    return SessionCache(tmp_path / "sessions")


def file_of(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "sessions").iterdir()
    return found


async def test_a_wallet_is_asked_once(wallet: Wallet, cache: SessionCache, tmp_path: Path) -> None:
    first = await cache.session(wallet, DOMAIN, now=NOW)
    second = await SessionCache(tmp_path / "sessions").session(wallet, DOMAIN, now=NOW + 3600)
    assert wallet.asked == 1
    assert first == second
    assert first.session.expires_at == NOW + SESSION_SECONDS
    assert first.session.ops == OPS


async def test_nobody_else_can_read_it(wallet: Wallet, cache: SessionCache, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        await cache.session(wallet, DOMAIN, now=NOW)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "sessions").stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(tmp_path).stat().st_mode) == 0o600


async def test_the_key_does_not_show(wallet: Wallet, cache: SessionCache) -> None:
    made = await cache.session(wallet, DOMAIN, now=NOW)
    assert made.private_key.hex() not in repr(made)


async def test_one_that_others_could_read_is_not_used(
    wallet: Wallet, cache: SessionCache, tmp_path: Path
) -> None:
    first = await cache.session(wallet, DOMAIN, now=NOW)
    file_of(tmp_path).chmod(0o640)
    assert await cache.session(wallet, DOMAIN, now=NOW) != first
    assert wallet.asked == 2


@pytest.mark.parametrize(
    "damage", ["", "{}", "[]", '{"session": {}, "session_proof": "", "private_key": ""}']
)
async def test_a_damaged_file_costs_a_signature(
    wallet: Wallet, cache: SessionCache, tmp_path: Path, damage: str
) -> None:
    await cache.session(wallet, DOMAIN, now=NOW)
    file_of(tmp_path).write_text(damage)
    await cache.session(wallet, DOMAIN, now=NOW)
    assert wallet.asked == 2


async def test_it_is_renewed_before_it_ends(wallet: Wallet, cache: SessionCache) -> None:
    first = await cache.session(wallet, DOMAIN, now=NOW)
    later = await cache.session(wallet, DOMAIN, now=first.session.expires_at - 600)
    assert wallet.asked == 2
    assert later.private_key != first.private_key


async def test_pools_accounts_and_rights_are_kept_apart(wallet: Wallet, cache: SessionCache) -> None:
    await cache.session(wallet, DOMAIN, now=NOW, ops=["lease.status"])
    await cache.session(wallet, Domain(1, DOMAIN.verifying_contract), now=NOW)
    other = Wallet(b"\2" * 32)
    await cache.session(other, DOMAIN, now=NOW)
    assert (wallet.asked, other.asked) == (2, 1)
    await cache.session(wallet, DOMAIN, now=NOW, ops=["lease.logs"])
    assert wallet.asked == 3


async def test_one_put_in_another_s_place_is_not_used(
    wallet: Wallet, cache: SessionCache, tmp_path: Path
) -> None:
    await cache.session(wallet, DOMAIN, now=NOW)
    mine = file_of(tmp_path)
    other = Wallet(b"\2" * 32)
    mine.rename(mine.with_name(mine.name.replace(wallet.address.lower(), other.address.lower())))
    made = await cache.session(other, DOMAIN, now=NOW)
    assert (made.session.account, other.asked) == (other.address, 1)


async def test_forgetting(wallet: Wallet, cache: SessionCache, tmp_path: Path) -> None:
    await cache.session(wallet, DOMAIN, now=NOW)
    cache.forget(wallet.address, DOMAIN)
    cache.forget(wallet.address, DOMAIN)
    assert list((tmp_path / "sessions").iterdir()) == []


async def test_a_wallet_whose_owner_refuses(cache: SessionCache, tmp_path: Path) -> None:
    class Unwilling(Wallet):
        async def sign_typed_data(self, message: TypedData) -> bytes:  # type: ignore[override]
            raise WalletError("The owner refused.")

    with pytest.raises(WalletError):
        await cache.session(Unwilling(b"\1" * 32), DOMAIN, now=NOW)
    assert not (tmp_path / "sessions").exists()


async def test_a_disk_that_fails_leaves_no_draft(
    wallet: Wallet, cache: SessionCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        await cache.session(wallet, DOMAIN, now=NOW)
    assert list((tmp_path / "sessions").iterdir()) == []


async def test_the_agent_takes_it(world: World, cache: SessionCache) -> None:
    wallet = Wallet(b"\1" * 32)
    session = await cache.session(wallet, DOMAIN, now=world.clock())
    async with world.client(signer=session) as client:
        assert (await client.status(LEASE)).phase == "running"
        await client.put_workload(b"x")
        async with client.exec(LEASE, ["true"]) as stream:
            assert await stream.wait() == 0
    assert wallet.asked == 1


async def test_the_agent_holds_it_to_what_it_grants(world: World, cache: SessionCache) -> None:
    session = await cache.session(world.wallet, DOMAIN, now=world.clock(), ops=["lease.logs"])
    async with world.client(signer=session) as client:
        with pytest.raises(SessionScope):
            await client.status(LEASE)
