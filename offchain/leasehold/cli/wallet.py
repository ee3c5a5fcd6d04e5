"""`leasehold wallet`: keys, and the money that moves with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold import UNLIMITED
from leasehold.cli._carrying_out import carry_out
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AmountOrAll
from leasehold.cli._shared import ANSWERS, PASSWORD_FILE, PROPOSES, SENDS, WALLET, shared
from leasehold.client import Approve, Deposit, PaidFromLedger, Withdraw
from leasehold.errors import WalletError
from leasehold.market import Money, format_amount, funds_of

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Make keys; see, approve, deposit and withdraw money.",
)

To = Annotated[
    str | None, typer.Option("--to", metavar="ADDRESS", help="Another account than the wallet's own.")
]
Amount = Annotated[str, typer.Argument(metavar="AMOUNT", help="Whole tokens with decimals, such as 2.5.")]


@app.command()
@shared(ANSWERS | PASSWORD_FILE)
async def new(
    call: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="Take the private key (hex) in FILE, `-` for stdin."),
    ] = None,
) -> None:
    """Make a wallet, and the age key that its results are encrypted to."""
    key = read_key(key_file) if key_file else None
    password = call.password(name, choose=True)
    signer = await call.keystore.new(name, password, key=key)
    recipient = await call.age_keys.new(name, password)
    call.out.answer({"name": name, "address": signer.address, "age_recipient": recipient})
    if not call.out.as_json:
        call.out.pairs(
            f"Wallet {name}",
            (
                ("address", signer.address),
                ("results are sealed to", recipient),
                ("folder", str(call.keys)),
            ),
        )
    call.out.warn("Back up that folder and the password: nobody can restore either for you.")


@app.command("list")
@shared(ANSWERS)
async def list_wallets(call: Invocation) -> None:
    """List the wallets."""
    wallets = call.keystore.list()
    call.out.answer([{"name": each.name, "address": each.address} for each in wallets])
    call.out.table(
        ("name", "address"),
        [(each.name, each.address) for each in wallets],
        empty="There is no wallet yet: make one with `leasehold wallet new NAME`.",
    )


@app.command()
@shared(ANSWERS | WALLET)
async def address(call: Invocation) -> None:
    """Print the wallet's address."""
    chosen = call.chosen()
    call.out.answer({"name": chosen.name, "address": chosen.address})
    if not call.out.as_json:
        call.out.say(chosen.address)


@app.command()
@shared(ANSWERS | WALLET)
async def balance(call: Invocation) -> None:
    """Show what the wallet holds, what lies in the pool, and what the pool may take."""
    async with open_session(call) as session:
        account = session.account
        funds = await funds_of(session.pool, session.token, account)
        wei = await session.rpc.balance(account)
        money = session.money
        call.out.answer(
            {
                "address": account,
                "token": money.symbol,
                "wallet": format_amount(funds.wallet, money.decimals),
                "ledger": format_amount(funds.ledger, money.decimals),
                "allowance": "unlimited"
                if funds.allowance == UNLIMITED
                else format_amount(funds.allowance, money.decimals),
                "gas": format_amount(wei, 18),
            }
        )
        if not call.out.as_json:
            call.out.pairs(
                account,
                (
                    ("in the wallet", money.show(funds.wallet)),
                    ("in the pool's ledger", money.show(funds.ledger)),
                    ("the pool may take", _allowance(funds.allowance, money)),
                    ("for gas", f"{format_amount(wei, 18, places=6)} (the chain's own coin)"),
                ),
            )


@app.command()
@shared(SENDS)
async def approve(
    call: Invocation,
    amount: Annotated[
        str, typer.Argument(metavar="AMOUNT", help="Whole tokens, `unlimited`, or 0 to revoke.")
    ],
) -> None:
    """Let the pool take tokens from the wallet when a lease is opened or extended, or a machine staked."""
    async with open_session(call, signs=True) as client:
        plan = await Approve(None if amount == "unlimited" else amount).plan(client)
        what = _allowance(plan.amount, client.money)
        if call.dry_run:
            call.out.say(f"Would let the pool {client.pool.address} take {what} from the wallet.")
        await carry_out(
            call,
            client,
            plan,
            question=f"Let the pool take {what} from the wallet?",
            document={"approved": amount},
            said=lambda done: f"The pool may take {what} from the wallet.",
        )


@app.command()
@shared(SENDS)
async def deposit(
    call: Invocation,
    amount: Amount,
    to: To = None,
    approve_too: Annotated[
        bool, typer.Option("--approve", help="Approve the amount first where needed.")
    ] = False,
) -> None:
    """Move tokens from the wallet into the pool's ledger."""
    async with open_session(call, signs=True) as client:
        plan, money = await Deposit(amount, to).plan(client), client.money
        shown = money.show(plan.payment.amount)
        if call.dry_run:
            call.out.say(f"Would move {shown} into the ledger of {plan.to}.")
        await carry_out(
            call,
            client,
            plan,
            question=f"Move {shown} from the wallet into the ledger of {plan.to}?",
            document={"amount": format_amount(plan.payment.amount, money.decimals), "to": plan.to},
            answer=lambda done: {"ledger": format_amount(done.ledger, money.decimals)},
            said=lambda done: f"{shown} are in the ledger of {plan.to}.",
            approve=approve_too,
        )


@app.command()
@shared(SENDS | PROPOSES)
async def withdraw(
    call: Invocation,
    amount: AmountOrAll,
    to: To = None,
) -> None:
    """Move tokens from the pool's ledger to the wallet."""
    await withdraw_from_ledger(call, amount, to)


async def withdraw_from_ledger(call: Invocation, amount: str, to: str | None) -> None:
    """What both `wallet withdraw` and `provider withdraw` do."""
    async with open_session(call, signs=True) as client:
        plan, money = await Withdraw(None if amount == "all" else amount, to).plan(client), client.money
        shown = money.show(plan.amount)
        if call.dry_run:
            call.out.say(f"Would pay {shown} out to {plan.to}.")

        def said(paid: PaidFromLedger) -> str:
            arrived = money.show(paid.arrived)
            if paid.arrived == plan.amount:
                return f"{arrived} were paid to {plan.to}."
            return (
                f"{shown} left the ledger and {arrived} arrived at {plan.to}: the token kept "
                f"{money.show(plan.amount - paid.arrived)}."
            )

        await carry_out(
            call,
            client,
            plan,
            question=f"Pay {shown} out of the ledger to {plan.to}?",
            document={"amount": format_amount(plan.amount, money.decimals), "to": plan.to},
            answer=lambda paid: {
                "ledger": format_amount(paid.ledger, money.decimals),
                "arrived": format_amount(paid.arrived, money.decimals),
            },
            said=said,
        )


def read_key(path: Path) -> bytes:
    """A private key written in hex.

    Raises:
        WalletError: it cannot be read.
    """
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text()
    except OSError as error:
        raise WalletError(f"{path}: {error.strerror}; name another file with --key-file.") from None
    except ValueError:
        text = ""
    try:
        return bytes.fromhex(text.strip().removeprefix("0x"))
    except ValueError:  # without the reason, which would quote the key
        raise WalletError(f"{path} holds no private key: it should be 64 hex digits.") from None


def _allowance(units: int, money: Money) -> str:
    return f"any amount of {money.symbol}" if units == UNLIMITED else money.show(units)
