"""Two of three signers rent a machine and use it: an account like any other, on the chain and at the agent."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import asyncssh
import httpx
import pytest

from devnet.account import TOKEN, Account
from devnet.site import Site, make_site
from devnet.tenant import Tenant
from devnet.world import World
from leasehold.chain import (
    Call,
    LeaseClosed,
    LeaseOpened,
    LeaseState,
    Pool,
    ResultPublished,
    cost,
    format_lease,
)
from leasehold.chain.typed import Domain, Execute, Group, Request, Session, SessionKey, Struct, sign
from leasehold.errors import ProofMalformed
from leasehold.market.wire import EMPTY_BODY, OPS, NotYourLease, encode_authorization, params_hash

T = TypeVar("T")
HOUR = 3_600
PRICE = 24 * 10**17
FUNDS = 100 * TOKEN


@pytest.fixture(scope="module")
def site(world: World) -> Iterator[Site]:
    with make_site(world, tick_seconds=0.5) as made:
        yield made


@dataclass
class Lab:
    """A 2-of-3 group. Its signers share nothing but what they sign, and whoever likes sends it."""

    site: Site
    signers: tuple[Account, Account, Account]

    @property
    def group(self) -> Group:
        return Group.of(2, [signer.address for signer in self.signers])

    @property
    def address(self) -> str:
        return self.group.address(str(self.site.world.facts["accounts"]))

    def approve(self, message: Struct, domain: Domain, *by: int) -> bytes:
        """The group's proof, from what each of those signs for itself."""

        async def go() -> dict[str, bytes]:
            each = [self.signers[index] for index in by]
            return {account.address: await sign(message, domain, account.signer) for account in each}

        return self.group.prove(message.digest(domain), asyncio.run(go()))

    def call(self, function: str, *values: object) -> Call:
        """A call of the pool that the group might make."""
        return Call(str(self.site.world.facts["controller"]), Pool.encode(function, *values))

    def execute(self, sender: Account, calls: list[Call], *by: int) -> None:
        """The calls, approved and sent."""
        nonce = sender.accounts(lambda accounts: accounts.nonce_of(self.address))
        deadline = self.site.world.anvil.timestamp + HOUR
        message = Execute(self.address, tuple(calls), nonce, deadline)
        proof = self.approve(message, self._domain("accounts"), *by)
        sender.accounts(lambda accounts: accounts.execute(self.address, calls, nonce, deadline, proof))

    @property
    def pool(self) -> Domain:
        return self._domain("controller")

    def session(self, *by: int) -> SessionKey:
        """A throw-away key that the group lets talk to agents."""
        key = Account(self.site.world)
        facts = self.site.world.facts
        session = Session(
            account=self.address,
            chain=facts["chain_id"],
            controller=facts["controller"],
            leases=(),
            ops=tuple(OPS),
            key=key.address,
            expires_at=int(time.time()) + HOUR,
        )
        return SessionKey(session, self.approve(session, self.pool, *by), bytes.fromhex(key.key[2:]))

    def ask(self, lease: int, prove: Callable[[Request], bytes]) -> httpx.Response:
        """The lease's status, by one request with that proof and no session."""
        now, path = int(time.time()), f"/v1/leases/{format_lease(lease)}"
        request = Request(
            account=self.address,
            chain=self.pool.chain_id,
            controller=self.pool.verifying_contract,
            machine=self.site.machine,
            lease=lease,
            op="lease.status",
            params_hash=params_hash("GET", path, "", EMPTY_BODY),
            issued_at=now,
            expires_at=now + 60,
            nonce=secrets.token_bytes(32),
        )
        tls = ssl.create_default_context(cadata=self.site.contact.certificate)
        tls.check_hostname = False
        with httpx.Client(verify=tls, trust_env=False) as http:
            headers = {"Authorization": encode_authorization(request, prove(request))}
            return http.get(self.site.contact.endpoints[0] + path, headers=headers)

    def _domain(self, contract: str) -> Domain:
        facts = self.site.world.facts
        return Domain(facts["chain_id"], facts[contract])


@pytest.fixture
def lab(site: Site) -> Lab:
    return Lab(site, (Account(site.world), Account(site.world), Account(site.world)))


@pytest.mark.slow
def test_a_2_of_3_group_rents_a_machine_and_uses_it(site: Site, lab: Lab) -> None:
    # Somebody pays into the group's ledger. There is no contract at its address, and there need not be.
    patron, anyone = Tenant(site), Account(site.world)
    patron.deposit(FUNDS // TOKEN, to=lab.address)
    assert site.world.anvil.request("eth_getCode", lab.address, "latest") == "0x"

    # Two of three sign the rental; anyone sends it. One alone cannot even make a proof.
    ssh_key = asyncssh.generate_private_key("ssh-ed25519")
    public = ssh_key.export_public_key().decode().strip()
    workload = patron.workload(patron.dataset("an answer"), ssh_keys=[public])
    sealed = site.seal(workload)
    patron.deliver(sealed)
    opening = lab.call("open", patron.request(sealed, duration=2 * HOUR))
    with pytest.raises(ProofMalformed):
        lab.execute(anyone, [opening], 0)
    lab.execute(anyone, [opening], 0, 2)
    opened = site.events(LeaseOpened)[-1]
    assert opened.tenant == lab.address
    lease = opened.lease
    site.until(lambda: patron.lease(lease).state is LeaseState.ACTIVE)
    began = patron.lease(lease).start

    # Two signatures make a session, and with its key one member works for a week: commands, logs.
    session = lab.session(1, 2)
    assert site.agent(lambda agent: agent.status(lease), session) is not None
    done = site.agent(lambda agent: _output(agent.exec(lease, ["cat", "/data/set/answer"])), session)
    assert done == (b"an answer", 0)
    site.agent(lambda agent: _output(agent.exec(lease, ["sh", "-c", "echo here > /proc/1/fd/1"])), session)
    site.until(lambda: "here" in site.logs(format_lease(lease)))
    assert b"here\n" in site.agent(lambda agent: _all(agent.logs(lease)), session)

    # Without a session the group's own proof is good for one request; a member's own signature for none.
    assert lab.ask(lease, lambda request: lab.approve(request, lab.pool, 0, 1)).status_code == 200
    alone = lab.ask(lease, lambda request: asyncio.run(sign(request, lab.pool, lab.signers[0].signer)))
    assert (alone.status_code, alone.json()["type"]) == (401, "invalid-request-proof")
    with pytest.raises(NotYourLease):
        site.agent(lambda agent: agent.status(lease), lab.signers[0].signer)

    # SSH knows the keys that the workload names, whoever the tenant is.
    assert asyncio.run(_by_ssh(site, lease, ssh_key, "cat /results/answer")) == "an answer"

    # They extend and close it in one go; results and money are the group's.
    lab.execute(anyone, [lab.call("extend", lease, HOUR), lab.call("close", lease)], 1, 2)
    (closed,) = site.events(LeaseClosed, format_lease(lease))
    used = cost(PRICE, 8, closed.end - began)
    assert closed.paid + closed.fee == used
    assert patron.ledger(lab.address) == FUNDS - used
    site.until(lambda: site.events(ResultPublished, format_lease(lease)))
    (published,) = site.events(ResultPublished, format_lease(lease))
    assert patron.result(published.cid, format_lease(lease))["answer"] == "an answer"


async def _output(exec_: object) -> tuple[bytes, int]:
    async with exec_ as stream:  # type: ignore[attr-defined]
        output = b"".join([data async for _, data in stream])
        return output, await stream.wait()


async def _all(pieces: object) -> bytes:
    return b"".join([piece async for piece in pieces])  # type: ignore[attr-defined]


async def _by_ssh(site: Site, lease: int, key: asyncssh.SSHKey, command: str) -> str:
    ssh = site.contact.ssh
    assert ssh is not None
    known = asyncssh.import_known_hosts(f"[{ssh.host}]:{ssh.port} {ssh.host_key}\n")
    async with asyncssh.connect(
        ssh.host,
        ssh.port,
        username=format_lease(lease),
        client_keys=[key],
        known_hosts=known,
        config=None,
        agent_path=None,
    ) as connection:
        return str((await connection.run(command, check=True)).stdout)
