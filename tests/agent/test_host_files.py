"""What the agent keeps on disk: settings, keys, uploads, notes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import asyncssh
import pytest

from devnet.patience import patient
from leasehold.datasets import decrypt, encrypt
from leasehold.errors import SettingsError
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent._errors import AlreadyRunning, UploadsFull
from leasehold_agent._serve import _only_here, _only_one
from leasehold_agent.chain import GasState
from leasehold_agent.chain._gas import ANSWERS_KEPT, GAS_PER_ANSWER, GAS_PER_LEASE
from leasehold_agent.host import load_identity
from leasehold_agent.store import LeaseDir, Notes, UploadedWorkloads, lease_dirs


def _named(*digests: bytes) -> Callable[[Collection[bytes]], Awaitable[Collection[bytes]]]:
    async def named(asked: Collection[bytes]) -> Collection[bytes]:
        return set(asked) & set(digests)

    return named


class TestSettings:
    @pytest.fixture(autouse=True)
    def _clean(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("LEASEHOLD_AGENT_CONFIG", raising=False)
        monkeypatch.setenv("LEASEHOLD_HOME", str(tmp_path))

    def test_the_environment_over_the_file_over_the_defaults(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "agent.toml").write_text('confirmations = 3\ncountry = "IS"\nrpc = ["http://a"]\n')
        monkeypatch.setenv("LEASEHOLD_AGENT_CONFIRMATIONS", "7")
        settings = load_settings()
        assert (settings.confirmations, settings.country, settings.rpc) == (7, "IS", ("http://a",))
        assert settings.api_port == 8701

    @pytest.mark.parametrize(
        "text",
        [
            "nonsense = 1\n",
            "api_port = 0\n",
            'dns = ["example.org"]\n',
            "first_port = 30000\n",
            "retention_min = 999999999\n",
        ],
    )
    def test_what_is_wrong_is_named(self, text: str, tmp_path: Path) -> None:
        (tmp_path / "agent.toml").write_text(text)
        with pytest.raises(SettingsError, match=str(tmp_path / "agent.toml")):
            load_settings()

    def test_nothing_can_be_changed_afterwards(self) -> None:
        settings = AgentSettings.model_validate({})
        with pytest.raises(ValueError, match="frozen"):
            settings.api_port = 1  # type: ignore[misc]  # which is the point


class TestKeys:
    def test_made_once_and_for_the_owner_only(self, tmp_path: Path) -> None:
        folder = tmp_path / "state"
        first, again = load_identity(folder), load_identity(folder)
        assert first.operator.address == again.operator.address
        assert first.age_recipient == again.age_recipient
        assert first.certificate_pem == again.certificate_pem
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}

    def test_each_serves_its_purpose(self, tmp_path: Path) -> None:
        identity = load_identity(tmp_path)
        sealed = encrypt(b"x", [identity.age_recipient])
        assert decrypt(sealed, identity.age_identity, "x") == b"x"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(identity.tls_certificate, identity.tls_key)
        key = asyncssh.read_private_key(str(identity.ssh_host_key))
        assert key.export_public_key().decode().startswith(identity.ssh_public_key)

    def test_no_secret_is_shown(self, tmp_path: Path) -> None:
        identity = load_identity(tmp_path)
        assert identity.age_identity not in repr(identity)
        assert (tmp_path / "operator.key").read_text().strip().removeprefix("0x") not in repr(identity)

    def test_a_certificate_without_its_key_is_made_anew(self, tmp_path: Path) -> None:
        before = load_identity(tmp_path).certificate_pem
        (tmp_path / "tls.key").unlink()
        assert load_identity(tmp_path).certificate_pem != before

    def test_one_agent_for_each_folder(self, tmp_path: Path) -> None:
        with _only_one(tmp_path), pytest.raises(AlreadyRunning, match="Another agent"), _only_one(tmp_path):
            pass
        with _only_one(tmp_path):
            pass

    def test_one_agent_for_each_key_beside_an_engine(self, tmp_path: Path) -> None:
        """A copy of the state folder holds no lock that the original has."""
        first, other, copy = (_only_here(tmp_path, operator) for operator in ("0xA", "0xb", "0xa"))
        with first, other, pytest.raises(AlreadyRunning, match="key of 0xa"), copy:
            pass
        with _only_here(tmp_path, "0xa"), _only_here(tmp_path / "elsewhere", "0xa"):
            pass

    def test_what_fails_beside_the_engine_is_not_taken_for_its_lock(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="a fault of its own"), _only_here(tmp_path, "0xa"):
            raise OSError("a fault of its own")


class TestUploads:
    def store(self, tmp_path: Path, **options: float) -> UploadedWorkloads:
        self.now = 1_000_000_000.0
        return UploadedWorkloads(tmp_path / "uploads", clock=lambda: self.now, **options)  # type: ignore[arg-type]

    async def test_kept_by_digest(self, tmp_path: Path) -> None:
        store = UploadedWorkloads(tmp_path / "uploads")
        digest = hashlib.sha256(b"sealed").digest()
        assert await store.get(digest) is None
        await store.put(digest, b"sealed")
        assert await store.get(digest) == b"sealed"

    async def test_other_bytes_are_refused(self, tmp_path: Path) -> None:
        store = UploadedWorkloads(tmp_path)
        with pytest.raises(ValueError, match="digest"):
            await store.put(bytes(32), b"sealed")
        large = bytes((1 << 20) + 1)
        with pytest.raises(ValueError, match="at most"):
            await store.put(hashlib.sha256(large).digest(), large)

    async def test_bytes_that_rotted_are_not_served(self, tmp_path: Path) -> None:
        store = UploadedWorkloads(tmp_path / "u")
        digest = hashlib.sha256(b"sealed").digest()
        await store.put(digest, b"sealed")
        (tmp_path / "u" / digest.hex()).write_bytes(b"other!")
        assert await store.get(digest) is None

    async def test_what_no_lease_claims_goes_after_an_hour(self, tmp_path: Path) -> None:
        clock = [0.0]
        store = UploadedWorkloads(tmp_path, clock=lambda: clock[0])
        digest = hashlib.sha256(b"sealed").digest()
        await store.put(digest, b"sealed")
        clock[0] = (tmp_path / digest.hex()).stat().st_mtime + 3_599
        await store.sweep(_named())
        assert await store.get(digest) == b"sealed"
        clock[0] += 2
        await store.sweep(_named())
        assert await store.get(digest) is None

    async def test_who_waits_in_vain_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """Anybody may open leases with digests that nobody will ever deliver."""
        store = UploadedWorkloads(tmp_path)
        digest = hashlib.sha256(b"sealed").digest()
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(store.wait(bytes(32)), 0.01)
        both = [asyncio.create_task(store.wait(digest)) for _ in range(2)]
        await asyncio.sleep(0)
        await store.put(digest, b"sealed")
        assert await asyncio.gather(*both) == [b"sealed", b"sealed"]
        assert not store._awaited

    async def test_one_address_cannot_fill_the_store(self, tmp_path: Path) -> None:
        store = UploadedWorkloads(tmp_path / "uploads", room=8_000, of_source=6_000)
        hog = [bytes([number]) * 1000 for number in range(8)]
        for sealed in hog[:6]:
            await store.put(hashlib.sha256(sealed).digest(), sealed, "hog")
        with pytest.raises(UploadsFull):
            await store.put(hashlib.sha256(hog[6]).digest(), hog[6], "hog")
        others = [bytes([100 + number]) * 1000 for number in range(4)]
        for sealed in others:
            await store.put(hashlib.sha256(sealed).digest(), sealed, "other")
        # Two of the one who holds most gave way, and nobody's who holds less.
        assert len([sealed for sealed in hog if await store.get(hashlib.sha256(sealed).digest())]) == 4
        assert all([await store.get(hashlib.sha256(sealed).digest()) for sealed in others])
        with pytest.raises(UploadsFull):
            await store.put(hashlib.sha256(hog[7]).digest(), hog[7], "other")

    async def test_what_a_standby_would_run_is_kept_as_long_as_its_lease_lives(self, tmp_path: Path) -> None:
        clock = [0.0]
        store = UploadedWorkloads(tmp_path, clock=lambda: clock[0])
        digest = hashlib.sha256(b"sealed").digest()
        await store.put(digest, b"sealed")
        clock[0] = (tmp_path / digest.hex()).stat().st_mtime + 86_400
        await store.sweep(_named(digest))
        assert await store.get(digest) == b"sealed"
        await store.sweep(_named())
        assert await store.get(digest) == b"sealed", "the chain is not asked at every pass"
        clock[0] += 360
        await store.sweep(_named())
        assert await store.get(digest) is None

    async def test_standbys_have_a_room_of_their_own(self, tmp_path: Path) -> None:
        """They keep nobody's upload out, and what does not fit into their room goes, the newest first."""
        clock = [0.0]
        store = UploadedWorkloads(tmp_path, room=10, clock=lambda: clock[0])
        digests = [hashlib.sha256(sealed).digest() for sealed in (b"12345678", b"87654321")]
        for age, digest in enumerate(digests):
            await store.put(digest, (b"12345678", b"87654321")[age])
            os.utime(tmp_path / digest.hex(), (age, age))
            clock[0] = 4_000.0
        await store.sweep(_named(*digests))
        assert [await store.get(digest) is not None for digest in digests] == [True, False]
        await store.put(digests[1], b"87654321")

    async def test_uploads_share_a_small_room(self, tmp_path: Path) -> None:
        store = UploadedWorkloads(tmp_path, room=10)
        await store.put(hashlib.sha256(b"12345678").digest(), b"12345678")
        with pytest.raises(UploadsFull, match="later"):
            await store.put(hashlib.sha256(b"abc").digest(), b"abc")

    async def test_who_waits_is_woken(self, tmp_path: Path) -> None:
        store = UploadedWorkloads(tmp_path)
        digest = hashlib.sha256(b"sealed").digest()
        waiting = asyncio.create_task(store.wait(digest))
        await asyncio.sleep(0)
        await store.put(digest, b"sealed")
        assert await asyncio.wait_for(waiting, patient(5)) == b"sealed"


class TestNotes:
    def test_blank_until_written(self, tmp_path: Path) -> None:
        folder = LeaseDir(tmp_path, 7)
        assert folder.load() == Notes()
        assert not folder.exists

    def test_back_as_written(self, tmp_path: Path) -> None:
        notes = Notes(
            tenant="0xA", machine=2, workload="ab", failure="no-disk", datasets=("a", "b"), gone_at=5
        )
        LeaseDir(tmp_path, 7).save(notes)
        assert LeaseDir(tmp_path, 7).load() == notes
        assert lease_dirs(tmp_path).keys() == {7}

    def test_a_later_versions_fields_are_left_out(self, tmp_path: Path) -> None:
        folder = LeaseDir(tmp_path, 7)
        folder.save(Notes(machine=3))
        file = folder.path / "notes.json"
        file.write_text(file.read_text().replace('"machine": 3', '"machine": 3, "telepathy": true'))
        assert folder.load().machine == 3

    def test_all_of_it_goes_the_notes_last(self, tmp_path: Path) -> None:
        folder = LeaseDir(tmp_path, 7)
        folder.save(Notes(machine=3))
        folder.sealed.write_bytes(b"x")
        (folder.outputs / "deep").mkdir(parents=True)
        folder.clear()
        assert [path.name for path in folder.path.iterdir()] == ["notes.json"]
        folder.remove()
        folder.remove()
        assert lease_dirs(tmp_path) == {}

    def test_no_folder_at_all(self, tmp_path: Path) -> None:
        assert lease_dirs(tmp_path / "none") == {}


class TestGas:
    def test_enough(self) -> None:
        gas = GasState("0xA", GAS_PER_LEASE * 10 * 50, 10)
        assert (gas.leases, gas.warning, gas.alarming) == (50, None, False)

    def test_little(self) -> None:
        gas = GasState("0xA", GAS_PER_LEASE * 10 * 6, 10)
        assert gas.warning is not None
        assert "about 6 more leases" in gas.warning
        assert not gas.alarming

    def test_none(self) -> None:
        gas = GasState("0xA", 1, 10)
        assert gas.warning is not None
        assert "cannot start another lease" in gas.warning
        assert gas.alarming

    def test_what_is_kept_for_answers_serves_no_lease(self) -> None:
        kept = GasState("0xA", 0, 10, machines=2).kept
        assert kept == 2 * ANSWERS_KEPT * GAS_PER_ANSWER * 10
        gas = GasState("0xA", kept + GAS_PER_LEASE * 10 - 1, 10, machines=2)
        assert gas.leases == 0
        assert GasState("0xA", kept + GAS_PER_LEASE * 10, 10, machines=2).leases == 1

    def test_a_chain_whose_gas_is_free(self) -> None:
        assert GasState("0xA", 0, 0).warning is None


def test_the_results_that_are_remembered_are_few() -> None:
    """A tenant may set as many workloads as he likes, each of which publishes."""
    notes = Notes()
    for number in range(1_000):
        forgotten = notes.remember(f"bafy{number}")
        assert notes.remember(f"bafy{number}") == ()
        assert forgotten == ((f"bafy{number - 64}",) if number >= 64 else ())
    assert len(notes.results) == 64
    assert notes.results[-1] == "bafy999"
