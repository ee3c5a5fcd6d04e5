"""What anybody may ask: that the agent lives, and which machines it runs."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from typing import Annotated, Final

import orjson
from fastapi import FastAPI, Path, Response

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
from leasehold_agent.api._shared import Api

HEARTBEAT_SECONDS: Final = 10
VERSION: Final = version("leasehold")
"""Read once: whoever asks would have the disk read each time."""


def public_routes(app: FastAPI, api: Api) -> None:
    @lru_cache(maxsize=1)
    def description() -> bytes:
        return orjson.dumps(app.openapi())

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def described() -> Response:
        return Ready(description())

    @app.get("/v1/health", operation_id="health")
    async def health() -> Health:
        """That the agent answers, its clock, and what a session with it may grant."""
        return Health(version=VERSION, time=api.context.now(), operations=list(OPS))

    introduced: dict[tuple[tuple[int, ...], bytes], bytes] = {}
    signing = asyncio.Lock()

    @app.get("/v1/machine", operation_id="machine", response_model=MachineInfo)
    async def machine() -> Response:
        """Which machines this agent runs, how to reach it, and what it has at hand: signed by its operator."""
        asked = tuple(api.context.machines()), api.context.contact()
        async with signing:  # of many who ask at once, the first has it signed
            if asked not in introduced:
                ready = await _introduction(api, *asked)
                introduced.clear()
                introduced[asked] = ready
        return Ready(introduced[asked])

    beats: dict[int, tuple[int, bytes]] = {}

    @app.get("/v1/machines/{machine}/heartbeat", operation_id="heartbeat", response_model=SignedStatement)
    async def heartbeat(machine: Annotated[int, Path(ge=0, lt=2**32)]) -> Response:
        """That the machine's agent lives: a `Heartbeat`, signed by its operator every ten seconds at most."""
        if machine not in api.context.machines():
            raise UnknownLease("This agent does not run that machine; look at /v1/machine.")
        async with signing:
            at, ready = beats.get(machine, (0, b""))
            if not 0 <= api.context.now() - at < HEARTBEAT_SECONDS:
                at, seen = api.context.now(), api.context.seen()
                said = Heartbeat(machine=machine, time=at, **asdict(seen))
                ready = (await stated(api, said)).model_dump_json().encode()
                beats[machine] = at, ready
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
