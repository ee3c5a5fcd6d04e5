"""SSH by a certificate that the agent makes at a tenant's signed request, and every way not to get in by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import asyncssh
import pytest
from eth_utils.address import to_checksum_address

from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.serving import CHAIN, CONTROLLER, MACHINE, Chain, Clock, serve_context
from leasehold.chain import LocalSigner, parse_lease
from leasehold.chain.typed import Domain, Proof, ProofKind, Session, SessionKey
from leasehold.market import AgentClient
from leasehold.market._documents import Contact
from leasehold.market.wire import NotRunning, NotYourLease, SessionScope, SshCertificate
from leasehold_agent._runtime import LeaseHandle, ServeContext
from leasehold_agent.api import ApiServer
from leasehold_agent.ssh import Certificates, SshServer
from leasehold_agent.ssh import _certificates as module

from .conftest import Result, Ssh, public

LEASE, THEIRS = 12 << 16, 13 << 16
MINE, OTHER = LocalSigner(b"\1" * 32), LocalSigner(b"\2" * 32)
OPERATOR = LocalSigner(b"\3" * 32)


@dataclass
class House:
    """API and SSH of one agent, two tenants' leases without any SSH key, and OpenSSH's client."""

    folder: Path
    clock: Clock
    chain: Chain
    leases: LocalLeases
    context: ServeContext
    api: ApiServer
    server: SshServer
    port: int
    api_port: int
    door: Ssh
    made: int = field(default=0)

    def client(self, signer: LocalSigner | SessionKey = MINE) -> AgentClient:
        document = {
            "version": 1,
            "endpoints": [f"https://127.0.0.1:{self.api_port}"],
            "certificate": self.context.tls_certificate.read_text(),
            "age_recipient": "age1qqqq",
        }
        return AgentClient(
            Contact.model_validate(document), self.domain, MACHINE, OPERATOR.address, signer,
            now=self.clock,
        )  # fmt: skip

    @property
    def domain(self) -> Domain:
        return Domain(self.context.chain_id, self.context.controller)

    async def pass_of(self, client: AgentClient, lease: int = LEASE) -> SshCertificate:
        """A certificate for a new key, both where OpenSSH looks for them."""
        async with client:
            key = asyncssh.generate_private_key("ssh-ed25519")
            given = await client.ssh_certificate(lease, key.public_data[-32:])
        self.made += 1
        self.door.key = f"key-{self.made}"
        path = self.folder / self.door.key
        path.write_bytes(key.export_private_key())
        path.chmod(0o600)
        path.with_name(f"{path.name}-cert.pub").write_text(given.certificate + "\n")
        return given

    async def enter(self, user: str = "12") -> Result:
        return await self.door.ssh("echo in", user=user)

    async def shell(self, user: str = "12") -> asyncio.subprocess.Process:
        """A shell that is open, for as long as it is let be."""
        process = await self.door.start(
            "ssh", "-p", str(self.port), f"{user}@127.0.0.1", "echo in; exec sleep 98765"
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"in\n"
        return process


@pytest.fixture
async def house(tmp_path: Path, openssh: None) -> AsyncIterator[House]:
    root, agent = tmp_path / "leases", tmp_path / "agent"
    root.mkdir()
    agent.mkdir(mode=0o700)
    leases, clock, chain = LocalLeases(root), Clock(), Chain(set())
    context = serve_context(agent, leases, OPERATOR, clock, chain)
    for lease, tenant in ((LEASE, MINE), (THEIRS, OTHER)):
        leases.add(
            LeaseHandle(lease, tenant.address, MACHINE, "running", container_id="c", end=clock() + 3600)
        )
    api = await ApiServer.open(context)
    api.api.approval_seconds = 0
    server = SshServer(context, certificates=api.api.certificates, recheck_seconds=0.02)
    api_port, port = await api.start("127.0.0.1", 0), await server.start("127.0.0.1", 0)
    (tmp_path / "known_hosts").write_text(
        f"[127.0.0.1]:{port} {(await public(context.ssh_host_key)).strip()}\n"
    )
    door = Ssh(tmp_path, port, server, leases)
    yield House(tmp_path, clock, chain, leases, context, api, server, port, api_port, door)
    await server.close()
    await api.close()
    await leases.close()


async def refused(house: House, user: str = "12") -> None:
    found = await house.enter(user)
    assert found.code == 255
    assert b"Permission denied" in found.err, found.err


async def ends(process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(patient(30)):
        await process.communicate()
    assert process.returncode == 255


async def test_a_lease_without_a_key_is_entered_by_the_wallet(house: House) -> None:
    given = await house.pass_of(house.client())
    assert given.valid_until == house.clock() + 600
    found = await house.enter()
    assert (found.code, found.out) == (0, b"in\n"), found.err
    (house.folder / "f").write_bytes(b"x" * 100_000)
    copied = await house.door.sftp("put f f2\nget f2 back\n")
    assert copied.code == 0, copied.err
    assert (house.folder / "back").read_bytes() == b"x" * 100_000


async def test_a_port_through_it(house: House, unused_tcp_port: int) -> None:
    await house.pass_of(house.client())
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    house.leases.ports[LEASE, 8000] = server.sockets[0].getsockname()
    process = await house.door.start(
        "ssh", "-L", f"127.0.0.1:{unused_tcp_port}:localhost:8000", "-p", str(house.port), "12@127.0.0.1",
        "echo up; cat",
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"up\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", unused_tcp_port)
    assert await reader.read() == b""
    writer.close()
    await process.communicate(b"")
    server.close()


async def test_a_session_of_the_wallet_does(house: House) -> None:
    key = await SessionKey.grant(
        MINE.address, house.domain, MINE, private_key=b"\5" * 32, ops=("lease.ssh",), expires_at=house.clock() + 60
    )  # fmt: skip
    assert (await house.pass_of(house.client(key))).valid_until == house.clock() + 60
    shell = await house.shell()
    house.clock.at += 60
    await ends(shell)
    await refused(house)
    without = await SessionKey.grant(
        MINE.address, house.domain, MINE, private_key=b"\6" * 32, ops=("lease.exec",), expires_at=house.clock() + 60
    )  # fmt: skip
    with pytest.raises(SessionScope):
        await house.pass_of(house.client(without))


async def test_who_is_in_stays_when_the_certificate_has_run_out(house: House) -> None:
    await house.pass_of(house.client())
    shell = await house.shell()
    house.clock.at += 600
    await refused(house)
    assert shell.returncode is None
    house.leases.change(LEASE, phase="stopping")
    await ends(shell)


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "stopping"},
        {"phase": "ended"},
        {"phase": "declined"},
        {"end": 0},
        {"tenant": OTHER.address},  # a transfer
    ],
)
async def test_it_is_over_the_moment_the_lease_is(house: House, change: dict[str, object]) -> None:
    await house.pass_of(house.client())
    shell = await house.shell()
    house.leases.change(LEASE, **change)
    await ends(shell)
    await refused(house)
    if "tenant" not in change:
        with pytest.raises(NotRunning):
            await house.pass_of(house.client())


async def test_a_lease_that_comes_back_does_not_bring_old_passes_along(house: House) -> None:
    """Transferred and transferred back: whoever was let in before asks again."""
    await house.pass_of(house.client())
    shell = await house.shell()
    house.leases.change(LEASE, tenant=OTHER.address)
    await ends(shell)
    house.leases.change(LEASE, tenant=MINE.address)
    await refused(house)


async def test_an_approval_that_is_taken_back(house: House) -> None:
    """The tenant is a contract, which is asked anew while somebody is in by its word."""
    contract = to_checksum_address("0x" + "cc" * 20)
    house.leases.change(LEASE, tenant=contract)
    key = LocalSigner(b"\5" * 32)
    session = Session(contract, CHAIN, CONTROLLER, (), ("lease.ssh",), key.address, house.clock() + 3600)
    house.chain.approved.add((contract, session.digest(house.domain)))
    word = Proof(ProofKind.ERC1271, b"whatever it wants").encode()
    await house.pass_of(house.client(SessionKey(session, word, b"\5" * 32)))
    shell = await house.shell()
    house.chain.approved.clear()
    await ends(shell)
    await refused(house)


async def test_another_lease_and_another_tenant(house: House) -> None:
    await house.pass_of(house.client())
    await refused(house, "13")
    with pytest.raises(NotYourLease):
        await house.pass_of(house.client(), THEIRS)
    house.leases.add(replace(house.leases.handles[LEASE], lease=LEASE + 1))
    await refused(house, "12.1")  # of the same slot, whose lease is another
    for user in ("012", "12 ", "x"):
        await refused(house, user)


async def test_the_certificate_without_its_key_is_worth_nothing(house: House) -> None:
    await house.pass_of(house.client())
    stolen = (house.folder / "key-1-cert.pub").read_text()
    await house.pass_of(house.client(OTHER), THEIRS)
    (house.folder / "key-2-cert.pub").write_text(stolen)
    await refused(house)


async def test_what_another_authority_signed(house: House) -> None:
    """A thief's own, with the serial number of one that is out; and that of an agent before a restart."""
    await house.pass_of(house.client())
    thief = asyncssh.generate_private_key("ssh-ed25519")
    (serial,) = house.api.api.certificates._passes[LEASE]
    own = asyncssh.read_private_key(house.folder / "key-1")
    forged = thief.generate_user_certificate(
        own.convert_to_public(), "lease 12", serial=serial, principals=["12"]
    )
    (house.folder / "key-1-cert.pub").write_bytes(forged.export_certificate())
    await refused(house)
    await house.pass_of(house.client())
    house.server.certificates = Certificates(house.clock)
    await refused(house)


async def test_a_host_certificate_lets_nobody_in(house: House) -> None:
    await house.pass_of(house.client())
    own = asyncssh.read_private_key(house.folder / "key-1").convert_to_public()
    authority = house.server.certificates._authority
    made = authority.generate_host_certificate(own, "lease 12", principals=["12"])
    (house.folder / "key-1-cert.pub").write_bytes(made.export_certificate())
    await refused(house)


async def test_plain_keys_stay(house: House) -> None:
    """Beside a certificate; and a connection that showed one first and came in by a key stands on the key alone."""
    await house.pass_of(house.client())
    process = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(house.folder / "plain")
    )
    assert await process.wait() == 0
    house.leases.change(LEASE, ssh_keys=((house.folder / "plain.pub").read_text(),))
    house.door.key = "plain"
    shell = await house.shell()
    house.api.api.certificates._passes.clear()
    found = await house.enter()
    assert found.code == 0
    house.leases.change(LEASE, ssh_keys=())
    await ends(shell)


@pytest.mark.slow
async def test_of_very_many_the_oldest_give_way_and_other_leases_keep_theirs(house: House) -> None:
    await house.pass_of(house.client(OTHER), THEIRS)
    first = await house.pass_of(house.client())
    assert first.certificate
    certificates = house.api.api.certificates
    async with house.client() as client:
        for number in range(module.OF_LEASE):
            await client.ssh_certificate(LEASE, bytes((number,)) * 32)
    assert len(certificates._passes[LEASE]) == module.OF_LEASE
    await refused(house)
    house.door.key = "key-1"
    assert (await house.enter("13")).code == 0
    house.clock.at += 600
    async with house.client() as client:
        await client.ssh_certificate(LEASE, b"\1" * 32)
    assert {lease: len(passes) for lease, passes in certificates._passes.items()} == {LEASE: 1}


async def test_a_certificate_is_asked_for_once(house: House) -> None:
    """The signed request that brought one is not served again, and is for no other key."""
    async with house.client() as client:
        path = f"/v1/leases/12/ssh/{'01' * 32}"
        headers = await client._sign("PUT", path, "", "lease.ssh", parse_lease("12"), EMPTY)
        base = f"https://127.0.0.1:{house.api_port}"
        codes = []
        for place in (path.replace("01", "02"), path, path):
            response, _ = await client._asked("PUT", base + place, headers, b"")
            codes.append(response.status_code)
    assert codes == [401, 201, 401]


EMPTY = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
