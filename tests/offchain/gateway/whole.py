"""A whole gateway in this process: over a chain with a pool, an IPFS node, and a machine whose agent answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from fastapi import FastAPI

from devnet.edges import answers, edge
from devnet.kubo import Kubo
from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.pool import PoolChain
from devnet.serving import Chain, Clock, serve_context
from leasehold.agreements import (
    BroughtPurse,
    GaslessWish,
    Proposal,
    SignatureFile,
    SignedGasless,
    accounts_domain,
    said_calls,
)
from leasehold.chain import (
    GASLESS_KEY,
    GASLESS_SECONDS,
    AccountsContract,
    GaslessCalls,
    LeasePurse,
    LeaseRequest,
    LocalSigner,
    Pool,
    Terms,
    cid_of_digest,
    format_lease,
)
from leasehold.chain.typed import Call, Execute, Group
from leasehold.datasets import Ipfs
from leasehold.gateway import GaslessSettings, GatewaySettings, create_app
from leasehold.gateway._gateway import Gateway
from leasehold.gateway._hub import Listener
from leasehold.gateway._opened_parts import parts_of
from leasehold.gateway._opening import opened
from leasehold.gateway._signing_in import SigningIn
from leasehold_agent.api import ApiServer

from .conftest import hardware

ORIGIN = "https://gate.example"
UNIT = 10**18
TERMS = Terms(2 * UNIT, 0, 60, 30 * 86_400, 300, 60_000)
PROVIDER, RENTER, OPERATOR, CALLER, SENDER = 1, 2, 3, 4, 5
SEALED = b"sealed by the caller's browser"


@dataclass
class Caller:
    """Somebody with a wallet who is a signer of a group, too; and what he brings."""

    chain: PoolChain
    signing_in: SigningIn
    key: LocalAccount
    proposal: Proposal
    signers: tuple[LocalSigner, ...]
    lease: int

    async def session(self) -> str:
        """A new one, as a cookie."""
        token, _ = await self.signing_in._sessions.begin(self.key.address, ORIGIN, self.signing_in.now())
        return f"__Host-leasehold={token}"

    async def message(self) -> dict[str, Any]:
        """What signs him in."""
        now = self.signing_in.now()
        nonce = await self.signing_in.nonces.issue(now)
        text = (
            f"{ORIGIN.partition('://')[2]} wants you to sign in with your Ethereum account:\n{self.key.address}\n\n\n"
            f"URI: {ORIGIN}\nVersion: 1\nChain ID: {self.signing_in.chain_id}\nNonce: {nonce}\n"
            f"Issued At: {datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ}"
        )
        signature = self.key.sign_message(encode_defunct(text=text)).signature
        return {"message": text, "signature": "0x" + bytes(signature).hex()}

    async def proposed(self) -> dict[str, Any]:
        """The group's proposal, with its first signer's word."""
        first = self.signers[0]
        file = self.proposal.file({first.address: await self.proposal.sign(first)})
        return dict(file.model_dump(mode="json", exclude_none=True))

    def wish(self) -> dict[str, Any]:
        """Something that a gateway may send for him: a token's unit out of his ledger."""
        call = Call(self.chain.deployment.controller, Pool.encode("withdraw", self.key.address, 1))
        wish = GaslessWish(account=self.key.address, calls=said_calls([call]))
        return dict(wish.model_dump(mode="json"))

    async def gasless(self) -> dict[str, Any]:
        """The same, signed with a fee."""
        accounts = AccountsContract(self.chain.rpc, self.chain.deployment.accounts)
        made = GaslessCalls(
            account=self.key.address,
            controller=self.chain.deployment.controller,
            payee=self.chain.address(SENDER),
            fee=UNIT,
            calls=(Call(self.chain.deployment.controller, Pool.encode("withdraw", self.key.address, 1)),),
            nonce=await accounts.nonce_of(self.key.address, GASLESS_KEY),
            deadline=await self.chain.rpc.now() + GASLESS_SECONDS,
        )
        signed = await made.signed(accounts_domain(self.chain.deployment), LocalSigner(self.key))
        return dict(SignedGasless.of(signed).model_dump(mode="json"))

    async def purse(self) -> dict[str, Any]:
        """What extends his lease, by a key of its own."""
        key = LocalSigner("0x" + "6b" * 32)
        lease = await self.chain.pool().lease_of(self.lease)
        purse = LeasePurse(
            tenant=self.key.address,
            controller=self.chain.deployment.controller,
            lease=self.lease,
            key=key.address,
            payee=self.chain.address(SENDER),
            fee=100 * UNIT,
            seconds=3_600,
            most=2 * UNIT,
            count=1,
            deadline=lease.end + 86_400,
        )
        signed = await purse.signed(accounts_domain(self.chain.deployment), key)
        return dict(BroughtPurse.of(signed).model_dump(mode="json"))

    async def signature(self) -> dict[str, Any]:
        """What another of its signers brings."""
        signer = self.signers[1]
        proofs = tuple("0x" + proof.hex() for proof in await self.proposal.sign(signer))
        digests = tuple("0x" + digest.hex() for digest in self.proposal.digests)
        return dict(
            SignatureFile(digests=digests, signer=signer.address, proofs=proofs).model_dump(mode="json")
        )


@dataclass
class WholeGateway:
    """named: what there is, by what its own description calls it in paths and queries. hook: takes alerts."""

    app: FastAPI
    caller: Caller
    named: dict[str, list[str]]
    hook: str


@asynccontextmanager
async def whole_gateway(chain: PoolChain, kubo: Kubo, folder: Path) -> AsyncIterator[WholeGateway]:
    """It has read the chain, and what its machine's documents say. Callers are counted, but not bounded."""
    async with edge(answers("204 No Content")) as hook, _whole(chain, kubo, folder, hook.url) as whole:
        yield whole


@asynccontextmanager
async def _whole(chain: PoolChain, kubo: Kubo, folder: Path, hook: str) -> AsyncIterator[WholeGateway]:
    settings = GatewaySettings(
        chain.deployment,
        folder / "home",
        rpc=(chain.anvil.url,),
        ipfs=kubo.api,
        agents_in=("127.0.0.0/8",),
        sites=(ORIGIN,),
        calls=10**9,
        documents_timeout=patient(60),
        gasless=GaslessSettings(chain.signer(SENDER), 2_000 * UNIT),
        alerts_to=(hook.split("/")[2],),
    )
    async with _agent(chain, folder / "agent") as contact:
        documents = hardware(), contact
        async with Ipfs(kubo.api) as ipfs:
            cids = [await ipfs.put_block(document) for document in documents]
        machine, lease = await _rented(chain, *(sha256(document).digest() for document in documents))
        async with opened(settings) as gateway, parts_of(gateway) as parts:
            app = create_app(settings)
            app.state.gateway, app.state.parts = gateway, parts
            async with asyncio.timeout(patient(60)):
                await _read(gateway, chain.anvil.block_number, machine)
            signing_in = parts[SigningIn]
            assert isinstance(signing_in, SigningIn)
            caller = _caller(chain, signing_in, lease)
            yield WholeGateway(app, caller, _names(chain, caller, machine, lease, cids), hook)


@asynccontextmanager
async def _agent(chain: PoolChain, folder: Path) -> AsyncIterator[bytes]:
    """An agent that answers, at the loopback; its contact document."""
    await asyncio.to_thread(folder.mkdir, 0o700)
    await asyncio.to_thread((folder / "leases").mkdir)
    leases = LocalLeases(folder / "leases")
    context = serve_context(folder, leases, chain.signer(OPERATOR), Clock(), Chain(set()))
    server = await ApiServer.open(context)
    port = await server.start("127.0.0.1", 0)
    document = {**orjson.loads(context.contact()), "endpoints": [f"https://127.0.0.1:{port}"]}
    try:
        yield orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    finally:
        await server.close()
        await leases.close()


async def _rented(chain: PoolChain, described: bytes, reached: bytes) -> tuple[int, int]:
    """A machine of those documents, and the caller's lease of it."""
    for account in (PROVIDER, RENTER, CALLER):
        await chain.token(account).approve(chain.deployment.controller)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    machine, _ = await chain.pool(PROVIDER).register(
        TERMS, 2, 1, described, reached, chain.address(OPERATOR), consent
    )
    wish = LeaseRequest(machine, 1, 8, 7_200, 2 * UNIT, b"w" * 32, allow_unverified=True)
    lease, _ = await chain.pool(CALLER).open(wish)
    await chain.pool(RENTER).deposit(chain.address(CALLER), 100 * UNIT)
    return machine, lease


async def _read(gateway: Gateway, block: int, machine: int) -> None:
    """Until it has read so far, and the machine's documents are there."""
    listener = Listener()
    gateway.hub.hear(listener, ("block", "machines"))
    while not _knows(gateway, block, machine):
        await listener.frame()
    gateway.hub.leave(listener)


def _knows(gateway: Gateway, block: int, machine: int) -> bool:
    head, placed = gateway.market.head, gateway.market.board.get(machine)
    return head is not None and head.number >= block and placed is not None and not placed.listing.missing


def _caller(chain: PoolChain, signing_in: SigningIn, lease: int) -> Caller:
    made = (LocalSigner(bytes([number]) * 32) for number in (1, 2, 3))
    signers = tuple(sorted(made, key=lambda signer: signer.address.lower()))
    group = Group.of(2, [signer.address for signer in signers])
    execution = Execute(
        account=group.address(chain.deployment.accounts),
        calls=(Call(target=chain.deployment.controller, data=b"\x12\x34"),),
        nonce=0,
        deadline=int(time.time()) + 86_400,
    )
    proposal = Proposal("execute", chain.deployment, group, (execution,))
    key: LocalAccount = Account.from_key(chain.anvil.accounts[CALLER].key)
    return Caller(chain, signing_in, key, proposal, signers, lease)


def _names(
    chain: PoolChain, caller: Caller, machine: int, lease: int, cids: list[str]
) -> dict[str, list[str]]:
    return {
        "machine": [str(machine)],
        "lease": [format_lease(lease)],
        "controller": [chain.deployment.controller],
        "provider": [chain.address(PROVIDER)],
        "address": [caller.proposal.account],
        "digest": ["0x" + caller.proposal.digests[0].hex()],
        "cid": [*cids, cid_of_digest(sha256(SEALED).digest())],
        "upload": [],
        "recipient": [],
        "token": ["x" * 43],
        "number": ["0", "1"],
        "path": ["v1/health", "v1/machine", "v1/machines/7/heartbeat", "v1/leases/12", "v1/leases/12/logs"],
    }
