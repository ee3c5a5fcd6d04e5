"""The one path of every command: its client, its plan, dry run, allowance, confirmation, progress, answer.

What a group would send becomes a proposal file, and what to do with that is said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from leasehold.agreements import Proposal, write_file
from leasehold.cli._command import Invocation
from leasehold.cli._finishing import say_ordered
from leasehold.cli._hints import said as said_of
from leasehold.cli._output import Output
from leasehold.client import (
    GaslessBy,
    LockedWallet,
    Observer,
    Plan,
    Plannable,
    PoolClient,
    ProposalMade,
    Sent,
    Step,
    Update,
    connect,
    proposal_json,
    refusal_of,
)
from leasehold.errors import ContractError, SettingsError
from leasehold.market import Json, format_time

if TYPE_CHECKING:
    from leasehold.chain import Receipt

S = TypeVar("S", bound=Step)
P = TypeVar("P", bound=Plan[Any])


@asynccontextmanager
async def open_session(
    call: Invocation, *, signs: bool = False, account: bool = True
) -> AsyncIterator[PoolClient]:
    """Connect to the deployment's chain. Without `account` no wallet is needed, nor by a guest, who has none and looks
    at what others have shared.

    signs: the wallet's password is asked for at once, and the client may send. A dry run's may not.

    Raises:
        SettingsError: no deployment is named, or no such group is known. WrongChain, RpcUnavailable. WalletError.
    """
    signs = signs and not call.dry_run
    settings, deployment = call.settings, call.deployment
    wallet = None
    if signs or (account and not call.is_guest):
        wallet = LockedWallet(call.home, call.chosen(), call.password)
    opening = connect(
        deployment,
        wallet=wallet,
        rpc=settings.rpc,
        ipfs=settings.ipfs,
        home=call.home,
        group=call.group,
        account=call.account,
        observer=Narrator(call.out),
        sends=signs,
        documents_timeout=settings.documents_timeout,
        docker_config=settings.docker_config.expanduser(),
        gasless=gasless_by(call) if signs else None,
    )
    async with opening as client:
        if signs and client.group is None and wallet is not None:
            call.out.if_interrupted = "Interrupted: nothing was sent."
            await wallet.unlock()
        yield client


def gasless_by(call: Invocation) -> GaslessBy | None:
    """Which gateway sends, where one is named; a group sends nothing. Raises SettingsError."""
    gateway, most = call.settings.gasless, call.settings.most_fee
    if gateway is None or call.group is not None:
        return None
    if most is None:
        raise SettingsError(
            "A gateway that sends is named, and not for how much", "say --most-fee AMOUNT before the command."
        )
    return GaslessBy(gateway, most)


@asynccontextmanager
async def planned(call: Invocation, request: Plannable[P], *, signs: bool = True) -> AsyncIterator[P]:
    """The request's plan, for as long as its client is open. Raises as `open_session`, and why it cannot be done."""
    async with open_session(call, signs=signs) as client:
        yield await client.plan(request)


async def carry_out(
    call: Invocation,
    plan: Plan[S],
    question: str | None,
    said: str | Callable[[S], str | None] | None = None,
    *,
    also: Callable[[S], Mapping[str, Json]] = lambda outcome: {},
    document: Mapping[str, Json] | None = None,
    approve: bool = False,
    waiting: str | None = "Waiting for the transaction",
    on_step: Callable[[Step], None] = lambda step: None,
) -> S | None:
    """Carry a plan out once somebody has said yes; `None` if it was for show only.

    question: what is asked; `None` where the steps ask. said: what the outcome is for people, or what tells it.
    document: the plan for programs, a dry run's whole answer; by default what the plan tells. also: what only the
    command knows of the outcome, such as the file that it wrote. approve: the pool may be approved. on_step: told each
    step as it is made. waiting: `None` where the steps say themselves what is being waited for.
    A group's plan ends in a proposal, which is written.

    Raises:
        NotConfirmed: the answer was no. AllowanceMissing: the pool may not take what the plan needs.
    """
    client, document = plan.client, plan.to_json() if document is None else document
    for caution in plan.cautions:
        call.out.warn(caution)
    if call.dry_run:
        call.out.answer({**document, "dry_run": True})
        return None
    if plan.payment is not None and plan.payment.approve and not approve:
        approve = call.out.ask(f"Let the pool take {client.money.show(plan.payment.pulled)} from the wallet?")
    if plan.payment is not None and not approve:
        client.renter().check_allowance(plan.payment)
    if question is not None:
        call.out.confirm(question)
    last: Step | None = None
    with call.out.working(waiting) if waiting else nullcontext():
        async for last in client.steps(plan, approve=approve):
            say_ordered(call.out, last)
            on_step(last)
    if isinstance(last, ProposalMade):
        warn_of_refusal(call, await refusal_of(client, last.proposal))
        await write_proposal(call, client, last.proposal)
        return None
    outcome = cast("S", last)
    transaction = outcome.transaction() if isinstance(outcome, Sent) else {}
    call.out.answer({**document, **outcome.to_json(client.money), **also(outcome), **transaction})
    if sentence := said(outcome) if callable(said) else said:
        call.out.say(sentence)
    return outcome


async def write_proposal(
    call: Invocation, client: PoolClient, proposal: Proposal, path: Path | None = None
) -> Path:
    """Write it to `path`, else where the command was told to, or into a new file here; say what comes next."""
    path = path or call.proposal or Path(f"{call.name}-{proposal.digests[0].hex()[:8]}.json")
    write_file(path, proposal.file())
    call.out.answer({"proposal": str(path), **await proposal_json(client, proposal)})
    need, of = proposal.group.threshold, len(proposal.group.signers)
    call.out.say(f"Proposed in {path}, until {format_time(proposal.deadline)}: nothing was sent.")
    call.out.say(
        f"{need} of the {of} signers: leasehold group approve {path}; then anybody: leasehold group execute {path} "
        "SIGNATURE..."
    )
    return path


def warn_of_refusal(call: Invocation, refusal: ContractError | None) -> None:
    """Say if the pool would refuse a proposal as things stand."""
    if refusal is not None:
        call.out.warn(f"As things stand it would be refused: {said_of(refusal)}")


class Narrator(Observer):
    """Says on the terminal what is being waited for, and keeps in mind what Ctrl-C would leave behind."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._before = out.if_interrupted

    @contextmanager
    def working(self, what: str) -> Iterator[Update]:
        with self._out.working(what) as update:
            yield update

    def waiting(self, what: str) -> None:
        self._out.report(what)

    def asked_on_device(self, what: str) -> None:
        self._out.warn(what)

    def gasless_fee(self, amount: str, payee: str) -> None:
        self._out.say(f"Sending it costs {amount} out of your ledger, into that of {payee}.")

    def signed(self, transaction: str, nonce: int) -> None:
        self._before = self._out.if_interrupted
        self._out.if_interrupted = (
            f"Interrupted while transaction {transaction} (nonce {nonce}) was under way: it may be mined all the same, "
            "and does then what was asked for. Look before you send it again, with `leasehold leases` or `wallet "
            "balance`."
        )

    def mined(self, receipt: Receipt) -> None:
        self._out.if_interrupted = (
            f"Interrupted after transaction {receipt.tx_hash} was mined: what it did stands, and nothing more was "
            "sent. `leasehold leases` and `leasehold wallet balance` show how things are."
        )

    def refused(self) -> None:
        self._out.if_interrupted = self._before
