"""What anybody may ask: that the agent lives, and which machines it runs."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Path, Request, Response

from leasehold.chain.typed import Contact
from leasehold.market.wire import (
    OPS,
    ContactSignature,
    Health,
    Heartbeat,
    MachineInfo,
    SignedStatement,
    UnknownLease,
)
from leasehold_agent.api._answers import stated
from leasehold_agent.api._gate import Ready
from leasehold_agent.api._shared import Api, api_of

HEARTBEAT_SECONDS: Final = 10
VERSION: Final = version("leasehold")
"""Read once: whoever asks would have the disk read each time."""

router = APIRouter()


@dataclass
class Announced:
    """Answers that are ready: each is made, and signed, once for many who ask."""

    signing: asyncio.Lock = field(default_factory=asyncio.Lock)
    description: bytes = b""
    introduced: dict[tuple[tuple[int, ...], bytes], bytes] = field(default_factory=dict)
    beats: dict[int, tuple[int, bytes]] = field(default_factory=dict)


def _announced(request: Request) -> Announced:
    announced: Announced = request.app.state.announced
    return announced


@router.get("/v1/openapi.json", include_in_schema=False)
async def described(request: Request) -> Response:
    announced = _announced(request)
    announced.description = announced.description or orjson.dumps(request.app.openapi())
    return Ready(announced.description)


@router.get("/v1/health", operation_id="health")
async def health(request: Request) -> Health:
    """That the agent answers, its clock, and what a session with it may grant."""
    api = api_of(request)
    return Health(version=VERSION, time=api.context.now(), operations=list(OPS))


@router.get("/v1/machine", operation_id="machine", response_model=MachineInfo)
async def machine(request: Request) -> Response:
    """Which machines this agent runs, how to reach it, and what it has at hand: signed by its operator."""
    api = api_of(request)
    asked = tuple(api.context.machines()), api.context.contact()
    announced = _announced(request)
    async with announced.signing:  # of many who ask at once, the first has it signed
        if asked not in announced.introduced:
            ready = await _introduction(api, *asked)
            announced.introduced = {asked: ready}
        return Ready(announced.introduced[asked])


@router.get("/v1/machines/{machine}/heartbeat", operation_id="heartbeat", response_model=SignedStatement)
async def heartbeat(request: Request, machine: Annotated[int, Path(ge=0, lt=2**32)]) -> Response:
    """That the machine's agent lives: a `Heartbeat`, signed by its operator every ten seconds at most."""
    api = api_of(request)
    if machine not in api.context.machines():
        raise UnknownLease("This agent does not run that machine; look at /v1/machine.")
    announced = _announced(request)
    async with announced.signing:
        at, ready = announced.beats.get(machine, (0, b""))
        if not 0 <= api.context.now() - at < HEARTBEAT_SECONDS:
            at, seen = api.context.now(), api.context.seen()
            said = Heartbeat(machine=machine, time=at, **asdict(seen))
            ready = (await stated(api, said)).model_dump_json().encode()
            announced.beats[machine] = at, ready
    return Ready(ready)


async def _introduction(api: Api, machines: tuple[int, ...], contact: bytes) -> bytes:
    """The bytes of the answer, made and signed anew when something in it changes."""
    document, digest = orjson.loads(contact), hashlib.sha256(contact).digest()
    signatures = []
    for machine in machines:
        said = Contact(machine=machine, digest_=digest, issued_at=document.get("issued_at", 0))
        signature = await api.context.operator.sign_typed_data(said.typed_data(api.domain))
        signatures.append(
            ContactSignature(machine=machine, issuedAt=said.issued_at, signature="0x" + signature.hex())
        )
    info = MachineInfo(
        chain=api.domain.chain_id,
        controller=api.domain.verifying_contract,
        operator=api.context.operator.address,
        machines=list(machines),
        contact=document,
        signatures=signatures,
    )
    return info.model_dump_json().encode()
