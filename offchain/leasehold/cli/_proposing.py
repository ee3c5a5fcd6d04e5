"""Where a group's command ends: its calls as a proposal file, and what to do with that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.agreements import Proposal, write_file
from leasehold.cli._decoded import Reader
from leasehold.cli._hints import said
from leasehold.cli._invocation import Invocation
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import PoolClient, calls_of, refusal_of
from leasehold.errors import ContractError

if TYPE_CHECKING:
    from leasehold.chain import Call


async def file_proposal(call: Invocation, session: PoolClient, calls: Sequence[Call]) -> Path:
    """Write the proposal of `calls` for the group that the session acts for, and say what comes next."""
    return await present_proposal(call, session, await session.propose(calls))


async def present_proposal(call: Invocation, session: PoolClient, proposal: Proposal) -> Path:
    """Write a group's proposal, and say whether it would be refused and what comes next."""
    warn_of_refusal(call, await refusal_of(session, proposal))
    return await write_proposal(call, session, proposal)


async def write_proposal(
    call: Invocation, session: PoolClient, proposal: Proposal, path: Path | None = None
) -> Path:
    """Write it to `path`, else where the command was told to, or into a new file here."""
    digest = proposal.digests[0].hex()
    path = path or call.acting.proposal or Path(f"{call.name}-{digest[:8]}.json")
    write_file(path, proposal.file())
    answer: dict[str, Json] = {
        "proposal": str(path),
        "kind": proposal.kind,
        "account": proposal.account,
        "threshold": proposal.group.threshold,
        "signers": list(proposal.group.signers),
        "digests": ["0x" + each.hex() for each in proposal.digests],
        "deadline": proposal.deadline,
    }
    if proposal.kind == "execute":
        reader = Reader(session)
        answer["calls"] = [reader.json(each) for each in await calls_of(session, proposal)]
    call.out.answer(answer)
    need, of = proposal.group.threshold, len(proposal.group.signers)
    call.out.say(f"Proposed in {path}, until {utc(proposal.deadline)}: nothing was sent.")
    call.out.say(
        f"{need} of the {of} signers: leasehold group approve {path}; then anybody: leasehold group execute {path} "
        "SIGNATURE..."
    )
    return path


def warn_of_refusal(call: Invocation, refusal: ContractError | None) -> None:
    """Say if the pool would refuse a proposal as things stand."""
    if refusal is not None:
        call.out.warn(f"As things stand it would be refused: {said(refusal)}")
