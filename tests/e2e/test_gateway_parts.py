"""A browser's way through a gateway that is really run: it signs in, brings what is sealed, asks the chain, and speaks
to a real agent about a real lease, at a terminal too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from websockets.asyncio.client import connect

from devnet.patience import patient
from devnet.site import Site
from devnet.world import PASSWORD
from leasehold.chain import Deployment, Keystore, LocalSigner, cid_of_digest, parse_lease
from leasehold.chain.typed import Domain, Request, sign_request
from leasehold.datasets import Ipfs
from leasehold.market import Dialling
from leasehold.market.wire import EXEC_PROTOCOL, AgentUnreachable, encode_authorization, params_hash

pytestmark = pytest.mark.slow


@dataclass
class Browser:
    """A page of the gateway, with a wallet."""

    url: str
    client: httpx.AsyncClient
    key: LocalAccount
    deployment: Deployment
    machine: int

    async def sign_in(self) -> str:
        nonce = (await self.client.get("/api/v1/session/nonce")).json()
        issued = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = (
            f"{self.url.partition('://')[2]} wants you to sign in with your Ethereum account:\n{self.key.address}\n\n\n"
            f"URI: {self.url}\nVersion: 1\nChain ID: {nonce['chain_id']}\nNonce: {nonce['nonce']}\nIssued At: {issued}"
        )
        signature = "0x" + bytes(self.key.sign_message(encode_defunct(text=text)).signature).hex()
        answer = await self.client.post("/api/v1/session", json={"message": text, "signature": signature})
        return str(answer.json()["account"])

    async def signed(self, method: str, path: str, op: str, lease: int) -> str:
        now = int(datetime.now(UTC).timestamp())
        domain = Domain(self.deployment.chain_id, self.deployment.controller)
        request = Request(
            account=self.key.address,
            chain=domain.chain_id,
            controller=domain.verifying_contract,
            machine=self.machine,
            lease=lease,
            op=op,
            params_hash=params_hash(method, path, "", hashlib.sha256(b"").digest()),
            issued_at=now,
            expires_at=now + 120,
            nonce=secrets.token_bytes(32),
        )
        return encode_authorization(request, await sign_request(request, domain, LocalSigner(self.key.key)))


@pytest.fixture
def lease(site: Site) -> str:
    """One that runs."""
    return site.rent()


@pytest.fixture
def key(site: Site) -> LocalAccount:
    """The renter's own, as his browser's wallet has it."""
    keys = Keystore(site.renter.home / "keys")
    (wallet,) = keys.list()
    signer = asyncio.run(keys.unlock(wallet.name, PASSWORD))
    return signer._account  # what a wallet has inside, since signing in signs a text and no typed data


@asynccontextmanager
async def browsing(site: Site, key: LocalAccount, home: Path, *more: str) -> AsyncIterator[Browser]:
    """A gateway in a process of its own, which has read the chain, and a page of it."""
    world = site.world
    command = [Path(sys.executable).with_name("leasehold"), "--home", home, "--deployment", world.deployment]
    command += ["--rpc", world.anvil.url, "--ipfs", world.renter_ipfs.api, "gateway", "run"]
    command += ["--listen", "127.0.0.1:0", "--json", *more]
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(patient(60)):
            written = b""
            while not (line := written.strip()) or not line.endswith(b"}"):
                written += await process.stdout.readuntil(b"\n")
        url = json.loads(written)["listening"]
        async with httpx.AsyncClient(
            base_url=url, headers={"origin": url}, timeout=patient(30), trust_env=False
        ) as client:
            await until_read(url, world.anvil.block_number)
            yield Browser(url, client, key, Deployment.load(world.deployment), site.machine)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def until_read(url: str, block: int) -> None:
    async with (
        asyncio.timeout(patient(60)),
        connect(url.replace("http", "ws") + "/api/v1/live", open_timeout=patient(10)) as socket,
    ):
        while True:
            frame = json.loads(await socket.recv())
            if frame["topic"] == "block" and frame["block"] is not None and frame["block"]["number"] >= block:
                return


async def test_a_browser_signs_in_brings_data_and_speaks_to_its_lease(
    site: Site, lease: str, key: LocalAccount, tmp_path: Path
) -> None:
    async with browsing(site, key, tmp_path / "home", "--agents-in", "127.0.0.0/8") as browser:
        assert await browser.sign_in() == key.address

        sealed = b"sealed by the browser"
        cid = cid_of_digest(hashlib.sha256(sealed).digest())
        assert (await browser.client.put(f"/api/v1/sealed/{cid}", content=sealed)).json() == {"cid": cid}
        data = bytes(range(256)) * 8192
        place = (await browser.client.post("/api/v1/uploads", json={"size": len(data)})).headers["location"]
        for begin in (0, 1 << 20):
            headers = {"upload-offset": str(begin), "content-type": "application/offset+octet-stream"}
            piece = data[begin : begin + (1 << 20)]
            standing = (await browser.client.patch(place, content=piece, headers=headers)).json()
        async with Ipfs(site.world.renter_ipfs.api) as ipfs:
            assert await ipfs.read_file(standing["cid"], len(data)) == data
            assert await ipfs.is_pinned(cid)

        asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        assert (await browser.client.post("/api/v1/rpc", json=asked)).json()["result"] == hex(31337)

        path, agents = f"/v1/leases/{lease}", f"/api/v1/agents/{site.machine}"
        signed = await browser.signed("GET", path, "lease.status", parse_lease(lease))
        answer = await browser.client.get(agents + path, headers={"authorization": signed})
        assert answer.json()["phase"] == "running"

        signed = await browser.signed("GET", path + "/exec", "lease.exec", parse_lease(lease))
        protocols = [EXEC_PROTOCOL, "leasehold.credential." + signed.removeprefix("Leasehold ")]
        url = browser.url.replace("http", "ws") + agents + path + "/exec"
        async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
            await terminal.send('{"command": ["echo", "hello"], "tty": false, "env": {}, "size": null}')
            assert await terminal.recv() == b"\1hello\n"
            assert json.loads(await terminal.recv()) == {"exit": 0}


async def test_an_agent_at_no_public_address_is_reached_through_its_ipfs_node(
    site: Site, key: LocalAccount, tmp_path: Path
) -> None:
    """Nobody has named the network of its address, so that this is not called."""
    direct = [endpoint for endpoint in site.contact.endpoints if endpoint.startswith("https://")]
    with pytest.raises(AgentUnreachable):
        await Dialling().addresses(direct[0])
    async with browsing(site, key, tmp_path / "home") as browser:
        answer = await browser.client.get(f"/api/v1/agents/{site.machine}/v1/machine")
        assert answer.json()["machines"] == [site.machine]
