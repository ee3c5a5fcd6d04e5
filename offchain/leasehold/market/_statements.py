"""What machines' operators have signed of leases, checked, kept as files, and held one against another.

A statement shows what its operator said, and nothing of what was so. What follows from two of one run is what no honest
host could have said: that it had ended, and goes on (docs/decisions/0194). And what an operator owns up to follows from
one: that a hand on the host ended the container, and for how long it did not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel, ValidationError

from leasehold.chain.typed import Domain, Statement, recover_signer
from leasehold.errors import ProofError
from leasehold.market._documents import canonical
from leasehold.market._errors import InvalidInput, StatementInvalid
from leasehold.market.wire import Heartbeat, LeaseStanding, SignedStatement

CLOCK = 5
"""Seconds by which two looks of one host may be apart in what they say of one moment."""


@dataclass(frozen=True)
class Signed:
    """A statement whose signature is good. signer: whose it is; whether that was the machine's operator then is the
    chain's to say.
    """

    said: LeaseStanding | Heartbeat
    signer: str


def checked(signed: SignedStatement, domain: Domain) -> Signed:
    """What was said, and by whom. Raises StatementInvalid for what nobody signed for this pool."""
    kind: type[LeaseStanding | Heartbeat] = (
        LeaseStanding if signed.statement.get("kind") == "lease" else Heartbeat
    )
    try:
        said = kind.model_validate(signed.statement)
        digest = sha256(canonical(signed.statement)).digest()
        message = Statement(domain.chain_id, domain.verifying_contract, said.machine, digest, said.time)
        signer = recover_signer(message.digest(domain), bytes.fromhex(signed.signature.removeprefix("0x")))
    except (ValueError, ProofError, RecursionError) as error:
        raise StatementInvalid(_first_line(error)) from error
    return Signed(said, signer)


def read_statements(raw: bytes) -> list[SignedStatement]:
    """A file of statements. Raises StatementInvalid for one of another form, or of more than a megabyte."""
    if len(raw) > 1 << 20:
        raise StatementInvalid("it is larger than 1 MiB")
    try:
        return list(_File.model_validate_json(raw).statements)
    except ValidationError as error:
        raise StatementInvalid(_first_line(error)) from error


def load_statements(path: Path) -> list[SignedStatement]:
    """Raises InvalidInput: the file cannot be read, or holds something else."""
    try:
        return read_statements(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read ({error.strerror or error}): leave it out.") from error
    except StatementInvalid as error:
        raise InvalidInput(f"{path}: {error}") from error


def write_statements(statements: Sequence[SignedStatement]) -> bytes:
    """The same as a file, which `read_statements` reads."""
    return canonical({"statements": [one.model_dump(mode="json") for one in statements]}) + b"\n"


class _File(BaseModel):
    statements: tuple[SignedStatement, ...]


@dataclass(frozen=True)
class Span:
    """Time in which a lease's container did not run by a hand on the host, as its operator signed: [from_, to)."""

    lease: str
    from_: int
    to: int


def owned_up(standings: Iterable[LeaseStanding]) -> list[Span]:
    """When containers did not run because a hand on the host had ended them. A span that has not ended ends with the
    statement.
    """
    spans: dict[tuple[str, int], Span] = {}
    for said in standings:
        if said.ended_by != "hand" or not said.ended_at:
            continue
        to = said.started_at if said.runs and said.started_at >= said.ended_at else said.time
        known = spans.get((said.lease, said.ended_at))
        if to > said.ended_at and (known is None or known.to < to):
            spans[said.lease, said.ended_at] = Span(said.lease, said.ended_at, to)
    return sorted(spans.values(), key=lambda span: (span.lease, span.from_))


@dataclass(frozen=True)
class Contradiction:
    """Two statements of one lease that cannot both be true. why: as a clause."""

    earlier: LeaseStanding
    later: LeaseStanding
    why: str


def contradictions(standings: Iterable[LeaseStanding]) -> list[Contradiction]:
    """Pairs of statements of one run of one container of which one is not true, whatever the tenant's command did."""
    ordered = sorted(standings, key=lambda said: (said.block, said.time))
    return [
        Contradiction(earlier, later, why)
        for earlier, later in combinations(ordered, 2)
        if _run_of(earlier) == _run_of(later) and (why := _against(earlier, later)) is not None
    ]


def _run_of(said: LeaseStanding) -> tuple[int, str, str, int]:
    """What one start of one container is known by: no engine gives two runs the same."""
    return said.machine, said.lease, said.container, said.started_at


def _against(earlier: LeaseStanding, later: LeaseStanding) -> str | None:
    """Neither how often something ended, nor when another run began, is any use: notes are lost, and clocks are set."""
    if not earlier.container or not earlier.over:
        ended = earlier.runs and later.over and later.ended_at < earlier.time - CLOCK
        return (
            "it was said to run when, by the later word, it had ended, unless the host's clock was set back"
            * ended
            or None
        )
    if later.runs:
        return "a run that had ended goes on"
    if later.over and (later.ended_at, later.exit_code) != (earlier.ended_at, earlier.exit_code):
        return "one run has ended in two ways"
    return None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
