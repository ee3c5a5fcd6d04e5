"""`leasehold wallet`: keys, and the money that moves with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from leasehold.chain import UNLIMITED, Receipt
from leasehold.cli._invocation import Invocation
from leasehold.cli._opening import open_session
from leasehold.cli._options import AmountOrAll
from leasehold.cli._output import Json
from leasehold.cli._shared import ANSWERS, PASSWORD_FILE, PROPOSES, SENDS, WALLET, shared
from leasehold.cli._shown import transaction
from leasehold.client import PoolClient, parse_address
from leasehold.errors import WalletError
from leasehold.market import (
    AllowanceMissing,
    InvalidAmount,
    Money,
    NotEnoughFunds,
    format_amount,
    funds_of,
    parse_amount,
)

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
    async with open_session(call, signs=True) as session:
        units = UNLIMITED if amount == "unlimited" else parse_amount(amount, session.money.decimals)
        what = _allowance(units, session.money)
        if call.dry_run:
            call.out.say(f"Would let the pool {session.pool.address} take {what} from the wallet.")
            call.out.answer({"approved": amount, "dry_run": True})
            return
        call.out.confirm(f"Let the pool take {what} from the wallet?")
        with call.out.working("Waiting for the transaction"):
            receipt = await session.token.approve(session.pool.address, units)
        call.out.answer({"approved": amount, **transaction(receipt)})
        call.out.say(f"The pool may take {what} from the wallet.")


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
    target = parse_address(to) if to else None
    async with open_session(call, signs=True) as session:
        money, account = session.money, session.account
        target = target or account
        units = _positive(parse_amount(amount, money.decimals))
        funds = await funds_of(session.pool, session.token, account)
        if units > funds.wallet:
            raise NotEnoughFunds(
                f"The wallet holds {money.show(funds.wallet)}, not {money.show(units)}: deposit less, "
                "or get more of the token."
            )
        if units > funds.allowance and not approve_too:
            raise AllowanceMissing(
                f"The pool may not take {money.show(units)} from the wallet yet: run "
                f"`leasehold wallet approve {format_amount(units, money.decimals)}`, or pass --approve."
            )
        if call.dry_run:
            call.out.say(f"Would move {money.show(units)} into the ledger of {target}.")
            call.out.answer(_would(money, units, target))
            return
        call.out.confirm(f"Move {money.show(units)} from the wallet into the ledger of {target}?")
        with call.out.working("Waiting for the transaction"):
            if units > funds.allowance:
                await session.token.approve(session.pool.address, units)
            receipt = await session.pool.deposit(target, units)
        await _report(call, session, receipt, f"{money.show(units)} are in the ledger of {target}.")


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
    target = parse_address(to) if to else None
    async with open_session(call, signs=True) as session:
        money, account = session.money, session.account
        ledger = await session.pool.balance_of(account)
        if amount == "all" and ledger == 0:
            raise NotEnoughFunds("There is nothing in the ledger to pay out: see `leasehold wallet balance`.")
        units = _positive(ledger if amount == "all" else parse_amount(amount, money.decimals))
        if units > ledger:
            raise NotEnoughFunds(
                f"The ledger holds {money.show(ledger)}, not {money.show(units)}: withdraw less, or `all`."
            )
        target = target or account
        if call.dry_run:
            call.out.say(f"Would pay {money.show(units)} out to {target}.")
            call.out.answer(_would(money, units, target))
            return
        call.out.confirm(f"Pay {money.show(units)} out of the ledger to {target}?")
        with call.out.working("Waiting for the transaction"):
            receipt = await session.pool.withdraw(target, units)
        arrived = session.token.arrived(receipt, target)
        said = f"{money.show(arrived)} were paid to {target}."
        if arrived < units:
            said = f"{money.show(units)} left the ledger and {money.show(arrived)} arrived at {target}: the token kept "
            said += f"{money.show(units - arrived)}."
        await _report(call, session, receipt, said, arrived=format_amount(arrived, money.decimals))


def _would(money: Money, units: int, to: str) -> dict[str, Json]:
    return {"amount": format_amount(units, money.decimals), "to": to, "dry_run": True}


async def _report(call: Invocation, session: PoolClient, receipt: Receipt, said: str, **more: Json) -> None:
    ledger = await session.pool.balance_of(session.account)
    call.out.answer({"ledger": format_amount(ledger, session.money.decimals), **more, **transaction(receipt)})
    call.out.say(said)


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


def _positive(units: int) -> int:
    if units == 0:
        raise InvalidAmount("There is nothing to move: name an amount above zero.")
    return units


def _allowance(units: int, money: Money) -> str:
    return f"any amount of {money.symbol}" if units == UNLIMITED else money.show(units)
