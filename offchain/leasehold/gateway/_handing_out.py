"""A lease's published results, block by block, for browsers that have no IPFS node: `/api/v1/leases/{lease}/results`.

Whoever asks names the way from the results' root to what he wants, and each step of it is looked at: so the gateway's
node fetches what hangs from results that the chain names, and is nobody's way to the rest of IPFS. What comes is hashed
here, and again by the browser, which believes the chain's CID and no gateway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Protocol

from fastapi import APIRouter, Depends, Query, Request, Response

from leasehold.chain import InvalidCid
from leasehold.errors import DatasetCorrupt, DatasetUnavailable
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._reading import lease_number
from leasehold.gateway._refusals import BadRequest, NotHere
from leasehold.gateway._relaying import CallerOf
from leasehold.gateway._signing_in import TheSigningIn

MOST_AT_ONCE: Final = {"all": 32, "account": 4, "caller": 8}
"""caller: by network, since an account costs a signature."""
MOST_BLOCKS: Final = 8
"""In one answer, of up to 2 MiB each."""
MOST_DEPTH: Final = 34
WAIT_SECONDS: Final = 30.0  # without a byte
SECONDS: Final = 60.0
"""For all of an answer: whose blocks come one by one, each at the last moment, holds no place for longer."""


class BlockStore(Protocol):
    """The gateway's IPFS node. timeout: seconds without a byte, after which nobody is taken to have it."""

    async def get_block(
        self,
        cid: str,
        timeout: float,  # noqa: ASYNC109  # limits silence, not the whole
    ) -> bytes:
        """One block. Raises DatasetUnavailable, DatasetCorrupt."""
        ...

    async def blocks_below(
        self,
        chain: Sequence[str],
        cids: Sequence[str],
        *,
        timeout: float,  # noqa: ASYNC109  # limits silence, not the whole
    ) -> list[bytes]:
        """Blocks that hang from the last of `chain`. Raises DatasetCorrupt where they do not, DatasetUnavailable."""
        ...


@dataclass(frozen=True)
class Published:
    """A lease's results: on which machine they were made, and their CID."""

    machine: int
    cid: str


@dataclass
class HandingOut:
    """published: a lease's results, `None` where it has none. near: brings our node next to a machine's. caller_of: by
    what a caller is counted.
    """

    store: BlockStore
    published: Callable[[int], Awaitable[Published | None]]
    near: Callable[[int], Awaitable[None]]
    places: Places
    caller_of: CallerOf
    seconds: float = SECONDS


router = APIRouter(prefix="/api/v1", tags=["results"])
TheHandingOut = Annotated[HandingOut, Depends(PartOf(HandingOut))]
Cids = Annotated[str, Query(max_length=3_000, pattern=r"^[A-Za-z0-9,]*$")]


@router.get(
    "/leases/{lease}/results/blocks",
    summary="Blocks of a lease's published results, each behind its length in 4 bytes",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
async def result_blocks(
    handing_out: TheHandingOut,
    signing_in: TheSigningIn,
    request: Request,
    lease: str,
    cids: Cids = "",
    below: Cids = "",
) -> Response:
    """`cids` hang from the last of `below`, which begins with the root; without any, the root itself is meant."""
    account = (await signing_in.signed_in(request)).account
    wanted, chain = _listed(cids, MOST_BLOCKS), _listed(below, MOST_DEPTH)
    with handing_out.places.taken(account=account, caller=handing_out.caller_of(request)):
        published = await handing_out.published(lease_number(lease))
        if published is None:
            raise NotHere("That lease has published no results;", "they come when its job is done.")
        root = published.cid
        if not wanted or (chain or wanted)[0] != root or (not chain and len(wanted) > 1):
            raise BadRequest("The way to the blocks does not begin with the lease's results;", "begin there.")
        try:
            async with asyncio.timeout(handing_out.seconds):
                if not chain:
                    await handing_out.near(published.machine)
                blocks = await _blocks(handing_out.store, chain, wanted)
        except TimeoutError as error:
            raise NotHere(
                "That did not come in time;", "ask for fewer blocks, or try again later."
            ) from error
    framed = b"".join(len(block).to_bytes(4, "big") + block for block in blocks)
    headers = {"Cache-Control": "no-store", "Content-Disposition": "attachment"}
    return Response(framed, 200, headers, "application/octet-stream")


async def _blocks(store: BlockStore, chain: list[str], cids: list[str]) -> list[bytes]:
    try:
        if not chain:
            return [await store.get_block(cids[0], WAIT_SECONDS)]
        return await store.blocks_below(chain, cids, timeout=WAIT_SECONDS)
    except InvalidCid as error:
        raise BadRequest("The way to the blocks names what is no CID;", "correct it.") from error
    except DatasetCorrupt as error:
        raise NotHere("That does not hang from the lease's results;", "look at what they name.") from error
    except DatasetUnavailable as error:
        raise NotHere("Nobody has that now;", "ask the machine's provider, or try again later.") from error


def _listed(text: str, most: int) -> list[str]:
    parts = [part for part in text.split(",") if part]
    if len(parts) > most:
        raise BadRequest(f"At most {most} can be named at once;", "ask for fewer.")
    return parts
