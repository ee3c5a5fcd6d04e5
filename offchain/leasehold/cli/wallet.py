"""`leasehold wallet`: keys, and the money that moves with them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from leasehold import UNLIMITED
from leasehold.cli._carrying_out import carry_out, open_session, planned
from leasehold.cli._command import ANSWERS, PASSWORD_FILE, PROPOSES, SENDS, WALLET, Invocation, shared
from leasehold.cli._options import Account, AmountOrAll, Seconds, argument, option, unless
from leasehold.client import Approve, Deposit, PaidFromLedger, Withdraw, add_hardware_wallet
from leasehold.errors import KeyInDevice, WalletError
from leasehold.hardware import USB, USUAL_PATH
from leasehold.home import MOST_SECONDS
from leasehold.market import InvalidInput, Json, Money, format_amount, format_duration, funds_of

_HALF_AN_HOUR = 1800  # seconds
To = Annotated[Account, option("--to ADDRESS", "Another account than the wallet's own.")]


@shared(ANSWERS | PASSWORD_FILE)
async def new(
    call: Invocation,
    name: Annotated[str, argument("NAME")],
    key_file: Annotated[
        Path | None, option("--key-file FILE", "Take the private key (hex) in FILE, `-` for stdin.")
    ] = None,
) -> None:
    """Make a wallet, and the age key that its results are encrypted to."""
    key = _read_key(key_file) if key_file else None
    password = call.password(name, choose=True)
    signer = await call.home.keystore.new(name, password, key=key)
    recipient = await call.home.age_keys.new(name, password)
    rows = (
        ("address", signer.address),
        ("results are sealed to", recipient),
        ("folder", str(call.home.keys)),
    )
    call.out.sheet(
        {"name": name, "address": signer.address, "age_recipient": recipient}, f"Wallet {name}", rows
    )
    call.out.warn("Back up that folder and the password: nobody can restore either for you.")


@shared(ANSWERS | PASSWORD_FILE)
async def add_hardware(
    call: Invocation,
    name: Annotated[str, argument("NAME")],
    path: Annotated[str, option("--path PATH", "Where the device derives the key.")] = USUAL_PATH,
    at: Annotated[str, option("--at PLACE", "usb, or tcp://127.0.0.1:PORT of an emulator.")] = USB,
) -> None:
    """Take an account of a Ledger as a wallet: its key stays in the device, which asks you each time.

    Unlock it and open its Ethereum app. It shows the address: agree there only if it is the same as here. The password
    that you choose is of the key that results are sealed to, which is kept here.
    """
    wallet = await add_hardware_wallet(
        call.home,
        name,
        password=lambda word: call.password(word, choose=True),
        path=path,
        at=at,
        tell=call.out.warn,
    )
    recipient = call.home.age_keys.recipient(name)
    rows = (("address", wallet.address), ("in a Ledger at", path), ("results are sealed to", str(recipient)))
    document = {"name": name, "address": wallet.address, "path": path, "age_recipient": recipient}
    call.out.sheet(document, f"Wallet {name}", rows)
    call.out.warn("Back up your seed, the folder of keys and the password: nobody can restore them for you.")


@shared(ANSWERS, "list")
async def list_wallets(call: Invocation) -> None:
    """List the wallets, and which are open."""
    wallets = call.home.keystore.list()
    left = {wallet.name: int(wallet.seconds) for wallet in await call.home.unlocked.all()}
    call.out.listing(
        [
            {
                "name": wallet.name,
                "address": wallet.address,
                "open_seconds": left.get(wallet.name, 0),
                "device": wallet.device.path if wallet.device is not None else None,
            }
            for wallet in wallets
        ],
        ("name", "address", "open for"),
        [
            (
                wallet.name,
                wallet.address,
                "in its device" if wallet.device else _open_for(left.get(wallet.name)),
            )
            for wallet in wallets
        ],
        empty="There is no wallet yet: make one with `leasehold wallet new NAME`.",
    )


@shared(ANSWERS | WALLET | PASSWORD_FILE)
async def unlock(
    call: Invocation,
    seconds: Annotated[
        Seconds, argument("[DURATION]", "For how long, at most 12h; half an hour if left out.")
    ] = None,
) -> None:
    """Hold the wallet open, so that commands do not ask for its password, for half an hour or as long as you say.

    A process of your own keeps the key in its memory, never in a file, and signs for what you run; `leasehold wallet
    lock` ends it. Until then whatever runs as you can sign, so leave nothing open that you do not watch.
    """
    chosen, seconds = call.chosen(), _HALF_AN_HOUR if seconds is None else seconds
    if chosen.device is not None:
        raise KeyInDevice(chosen.name)
    if not 0 < seconds <= MOST_SECONDS:
        raise InvalidInput("A wallet is held open for up to 12 hours: choose a time such as 30m.")
    held = await call.home.unlocked.unlock(chosen.name, call.password(chosen.name), seconds)
    call.out.answer({"name": held.name, "address": held.address, "open_seconds": int(held.seconds)})
    call.out.say(f"Wallet {held.name} is open for {format_duration(int(held.seconds))}.")


@shared(ANSWERS)
async def lock(
    call: Invocation,
    name: Annotated[str | None, argument("[NAME]", "Which; all that are open where none is named.")] = None,
) -> None:
    """Ask for the password again, from now on."""
    names = [name] if name is not None else [wallet.name for wallet in await call.home.unlocked.all()]
    locked: list[Json] = [
        known for known in names if await call.home.unlocked.lock(call.known_wallet(known).name)
    ]
    call.out.answer({"locked": locked})
    call.out.say(f"Locked: {', '.join(map(str, locked))}." if locked else "No wallet was open.")


def _open_for(seconds: int | None) -> str:
    return format_duration(seconds) if seconds else "-"


@shared(ANSWERS | WALLET)
async def address(call: Invocation) -> None:
    """Print the wallet's address."""
    chosen = call.chosen()
    call.out.answer({"name": chosen.name, "address": chosen.address})
    if not call.out.as_json:
        call.out.say(chosen.address)


@shared(ANSWERS | WALLET)
async def balance(call: Invocation) -> None:
    """Show what the wallet holds, what lies in the pool, and what the pool may take."""
    async with open_session(call) as client:
        account, money = client.account, client.money
        funds, wei = await funds_of(client.pool, client.token, account), await client.rpc.balance(account)
        document = {"address": account, **funds.to_json(money), "gas": format_amount(wei, 18)}
        rows = (
            ("in the wallet", money.show(funds.wallet)),
            ("in the pool's ledger", money.show(funds.ledger)),
            ("the pool may take", _allowance(funds.allowance, money)),
            ("for gas", f"{format_amount(wei, 18, places=6)} (the chain's own coin)"),
        )
        call.out.sheet(document, account, rows)


@shared(SENDS)
async def approve(
    call: Invocation,
    amount: Annotated[
        str | None, argument("AMOUNT", "Whole tokens, `unlimited`, or 0 to revoke."), unless("unlimited")
    ],
) -> None:
    """Let the pool take tokens from the wallet when a lease is opened or extended, or a machine staked."""
    async with planned(call, Approve(amount)) as plan:
        what = f"{_allowance(plan.amount, plan.client.money)} from the wallet"
        if call.dry_run:
            call.out.say(f"Would let the pool {plan.client.pool.address} take {what}.")
        await carry_out(call, plan, f"Let the pool take {what}?", f"The pool may take {what}.")


@shared(SENDS)
async def deposit(
    call: Invocation,
    amount: Annotated[str, argument("AMOUNT", "Whole tokens with decimals, such as 2.5.")],
    to: To = None,
    approve_too: Annotated[bool, option("--approve", "Approve the amount first where needed.")] = False,
) -> None:
    """Move tokens from the wallet into the pool's ledger."""
    async with planned(call, Deposit(amount, to)) as plan:
        shown, where = plan.client.money.show(plan.payment.amount), f"the ledger of {plan.to}"
        if call.dry_run:
            call.out.say(f"Would move {shown} into {where}.")
        question = f"Move {shown} from the wallet into {where}?"
        await carry_out(call, plan, question, f"{shown} are in {where}.", approve=approve_too)


@shared(SENDS | PROPOSES)
async def withdraw(call: Invocation, amount: AmountOrAll, to: To = None) -> None:
    """Move tokens from the pool's ledger to the wallet."""
    await withdraw_from_ledger(call, amount, to)


async def withdraw_from_ledger(call: Invocation, amount: str | None, to: str | None) -> None:
    """What both `wallet withdraw` and `provider withdraw` do."""
    async with planned(call, Withdraw(amount, to)) as plan:
        money = plan.client.money
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

        await carry_out(call, plan, f"Pay {shown} out of the ledger to {plan.to}?", said)


def _read_key(path: Path) -> bytes:
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
