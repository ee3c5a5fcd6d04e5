"""A folder of code on its way into a lease: looked at, named in the workload, handed to the agent before its start.

What an agent has of this account's files already is not sent again. Where no agent can be reached when the lease is
opened, or the lease may be opened or taken over later, the folder goes to IPFS, sealed to a key that only the workload
holds.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from leasehold.chain import format_lease
from leasehold.client._plan import Step
from leasehold.errors import AgentError
from leasehold.files import replace_file
from leasehold.market import AgentClient, Json, Money
from leasehold.market.wire import (
    ChainUnreachable,
    CodeWanted,
    NotRunning,
    StoreFull,
    TooManyRequests,
    UnknownLease,
)
from leasehold.workload import Code, CodeContents, CodeFolder, fold, packs, survey

if TYPE_CHECKING:
    from leasehold.client._client import PoolClient

HANDING_SECONDS: Final = 120.0
"""How long an agent that does not know the lease yet, or has no room now, is asked again."""
ASK_EVERY: Final = 0.3
AT_ONCE: Final = 2
"""Packs on their way: one travels while the next is made."""
ROUNDS: Final = 3
FAST: Final = 20e6
"""Bytes a second of a pack's way: a link that takes these takes what is not compressed, sooner than it is."""
FAST_AT_FIRST: Final = 5e6
"""The same of the first pack: most of its way is a connection's beginning, so that the next, a full one, tells."""
_NOT_YET = (UnknownLease, NotRunning, TooManyRequests, ChainUnreachable, StoreFull)


@dataclass(frozen=True)
class CodeHandedIn(Step):
    """A lease's agent has the whole folder. size: bytes of its files; sent: of what was new to the agent, packed."""

    lease: int
    files: int
    size: int
    sent: int

    def to_json(self, money: Money) -> dict[str, Json]:
        return {"code": {"files": self.files, "bytes": self.size, "sent": self.sent}}


async def look_over(client: PoolClient, folder: CodeFolder) -> CodeContents:
    """What of a folder goes along. What has not changed since the last look is not read again. Raises CodeInvalid."""

    def look() -> CodeContents:
        memory = client.home.code_memory(folder.path)
        known = memory.load()
        contents = survey(folder, known)
        memory.save(known)
        return contents

    with client.observer.working(f"Looking at {folder.path}"):
        return await asyncio.to_thread(look)


def named(contents: CodeContents) -> Code:
    """How a workload names the folder that its tenant hands over himself."""
    return Code(digest=contents.tree.digest.hex(), path=contents.folder.at)


async def on_ipfs(client: PoolClient, contents: CodeContents) -> Code:
    """How a workload names it that finds it on IPFS; it is added to the client's own node. Raises DatasetError."""
    with tempfile.TemporaryDirectory(prefix="leasehold-code-") as name:
        await asyncio.to_thread(_write_packs, contents, Path(name))
        with client.observer.working(f"Adding {contents.folder.path} to IPFS"):
            added = await client.ipfs.add_folder(Path(name), encrypt=True)
    return Code(digest=contents.tree.digest.hex(), path=contents.folder.at, cid=added.cid, key=added.key)


def _write_packs(contents: CodeContents, folder: Path) -> None:
    replace_file(folder / "tree", fold(contents.tree.encoded))
    for number, pack in enumerate(packs(contents.pieces(contents.tree.chunks))):
        replace_file(folder / f"{number:06}.pack", pack)


async def hand_in(client: PoolClient, lease: int, contents: CodeContents) -> CodeHandedIn:
    """Give a lease's agent what it lacks of the folder that its workload names.

    Raises:
        CodeRefused, StoreFull, AgentError, MarketError: it does not take it. CodeInvalid: the folder has changed since.
    """
    sent, shown = 0, format_lease(lease)
    with client.observer.working(f"Handing the code to lease {shown}") as update:
        await client.index()
        async with client.agent_of(lease) as agent:
            for _ in range(ROUNDS):  # what was dropped in between for want of room is sent again
                wanted = await _offered(agent, lease, contents)
                if left := wanted.left:
                    bits = wanted.bits(len(contents.tree.chunks))
                    lacking = {
                        chunk for chunk, lacks in zip(contents.tree.chunks, bits, strict=True) if lacks
                    }
                    update(
                        f"Handing the code to lease {shown}: {len(lacking)} of {len(bits)} pieces are new to it"
                    )
                    some, left = await _sent(agent, lease, contents, lacking)
                    sent += some
                if not left:
                    return CodeHandedIn(lease, contents.tree.files, contents.tree.size, sent)
    raise AgentError(f"The agent of lease {shown} does not keep the code it is given;", "tell its provider.")


async def _offered(agent: AgentClient, lease: int, contents: CodeContents) -> CodeWanted:
    """What the agent lacks, once it has taken the lease on."""
    until = time.monotonic() + HANDING_SECONDS
    while True:
        try:
            return await agent.offer_code(lease, contents.tree)
        except _NOT_YET:
            if time.monotonic() >= until:
                raise
        await asyncio.sleep(ASK_EVERY)


async def _sent(
    agent: AgentClient, lease: int, contents: CodeContents, lacking: Collection[bytes]
) -> tuple[int, int]:
    """Bytes that were sent, and how many pieces the agent lacks then. One pack is made while others travel. They go as
    they are, without compressing, while they go fast; the first one, which is small, goes so too, and before the
    others, to find out.
    """
    fast, total, left, under_way = True, 0, len(lacking), set[asyncio.Task[None]]()

    async def send(pack: bytes) -> None:
        nonlocal fast, left
        began, enough = time.monotonic(), FAST if total else FAST_AT_FIRST
        left = min(left, (await agent.put_code(lease, pack)).left)  # the answers may come in another order
        fast = len(pack) * len(under_way) / (time.monotonic() - began) > enough

    made = packs(contents.pieces(lacking), lambda: not fast)
    try:
        while (pack := await asyncio.to_thread(next, made, None)) is not None:
            if len(under_way) >= AT_ONCE:
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            under_way.add(asyncio.create_task(send(pack)))
            if not total:
                await asyncio.wait(under_way)
            total += len(pack)
        for task in under_way:
            await task
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
    return total, left
