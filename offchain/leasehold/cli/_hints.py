"""What an error's advice is at the prompt: by its code, in commands and options, filled with the error's data.

The library names none of these, since a notebook or a gateway has none. What is not listed here is told as the library
tells it. A hint that begins otherwise than the library's sentence says the problem anew, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leasehold.errors import LeaseholdError, sentence


@dataclass(frozen=True)
class Hint:
    """advice: instead of the error's own. problem: the same, where a command stands in that."""

    advice: str
    problem: str | None = None


_MACHINES = Hint("choose another with `leasehold machines`.")
_APPROVE = Hint("run `leasehold wallet approve {needed:tokens}`, or pass --approve.")
_SHARE = Hint("take a smaller --share or another machine.")
_DESCRIBE = "`leasehold-agent describe`"

HINTS: Final[dict[str, Hint]] = {
    # what a contract refuses
    "unknown-machine": Hint("look it up with `leasehold machines`."),
    "machine-not-retired": Hint("run `leasehold provider retire {machine}` first."),
    "machine-under-staked": Hint(
        "choose another; its provider can run `leasehold provider stake {machine}`."
    ),
    "machine-stalled": Hint(
        "choose another.",
        problem="Machine {machine} left a lease unstarted and takes none until `leasehold provider recover {machine}`",
    ),
    "machine-unverified": Hint("pass --allow-unverified to rent it all the same."),
    "unknown-lease": Hint("look it up with `leasehold leases`."),
    "wrong-state": Hint("see `leasehold show {lease:lease}`."),
    "consent-expired": Hint(f"have the host describe itself again ({_DESCRIBE})."),
    "malformed-proof": Hint("put the signatures together again with `leasehold group execute`."),
    "not-deployed": Hint("run `leasehold group deploy` first."),
    "delegation-expired": Hint("let the account set it anew with `leasehold delegate set`."),
    "unknown-version": Hint("buy a seat for one that is, see `leasehold pool params`."),
    "unknown-seat": Hint("see `leasehold validator list`."),
    "seat-not-leaving": Hint("run `leave` first."),
    "reported-already": Hint("see `leasehold faults`."),
    "erc20-insufficient-allowance": Hint("run `leasehold wallet approve` first."),
    # the chain, keys
    "transaction-cancelled": Hint("Nothing was done; run the command again if it should be."),
    "key-missing": Hint("see `leasehold wallet list`, or run `leasehold wallet new`."),
    "deployment-missing": Hint("get the pool's file and set LEASEHOLD_DEPLOYMENT to it."),
    "invalid-lease-id": Hint("write it as `leasehold leases` shows it, such as 12 or 12.1."),
    # renting
    "none-matches": Hint("widen the search, or see all with `leasehold machines`."),
    "machine-gone": _MACHINES,
    "machine-closed": _MACHINES,
    "nobody-measured": Hint("pass --allow-unverified to rent it all the same."),
    "no-spot-price": Hint("leave --spot away, or choose another machine."),
    "price-above-maximum": Hint("raise --max-price or choose another machine."),
    "duration-not-served": Hint("choose --for between them."),
    "share-not-served": Hint("choose a smaller --share."),
    "share-not-sold": Hint("choose that --share, or another machine."),
    "share-taken": _SHARE,
    "resize-taken": Hint("take another share, or move the lease with `leasehold move`."),
    "ledger-too-low": Hint("run `leasehold wallet deposit {missing:tokens} --to {account}` first."),
    "allowance-too-low": _APPROVE,
    "nothing-opened": Hint("Choose another machine, or pass --without-agent to open the lease all the same."),
    "not-started-in-time": Hint(
        "take {deposit:money} back with `leasehold close {lease:lease}`, which refunds all of it."
    ),
    "rejected-unstarted": Hint("see `leasehold show {lease:lease}`."),
    "already-there": Hint("see `leasehold resize`."),
    "no-standby": Hint(
        "move it with `leasehold move`, or close it with `leasehold close`, which pays up to the begin of the outage."
    ),
    "standby-unknown": Hint("move it with `leasehold move` instead."),
    # providing
    "somebody-elses": Hint("choose its wallet with --wallet."),
    "operator-taken": Hint(
        "change its terms with `leasehold provider terms`, or describe the machine with a new key."
    ),
    "rules-change": Hint("read it with `leasehold pool params`, and try again then."),
    "penalty-not-covered": Hint("run `leasehold wallet deposit {missing:tokens}` first."),
    "no-price": Hint("pass --price with whole tokens per GPU-hour."),
    "share-not-kept-apart": Hint("pass --smallest-share {least} or more."),
    "describes-another": Hint("run `leasehold provider operator {machine} MACHINE.JSON` first."),
    "not-its-keeper": Hint("choose a wallet with --wallet."),
    "operator-only": Hint(
        "its key is on the host, where the agent answers challenges and `leasehold-agent report` reports."
    ),
    "price-not-positive": Hint("set --price to whole tokens per GPU-hour."),
    "no-such-span": Hint(
        "{shortest:duration} to {longest:duration} is no such span.",
        problem="Leases last from --min to --max, at most {most:duration}",
    ),
    "trial-too-long": Hint("set --trial to that or less."),
    "leaves-too-early": Hint("set --until to a later day."),
    "machine-file-invalid": Hint(f"write it anew with {_DESCRIBE}."),
    "machine-file-unreadable": Hint(f"write it with {_DESCRIBE}."),
    "consent-unfit": Hint("run `leasehold-agent describe --owner {provider}` on the host again."),
    # owning a pool
    "changes-nothing": Hint("name parameters as NAME=VALUE."),
    "amounts-missing": Hint("name all parameters with --params."),
    # measuring
    "no-score": Hint("pass --score with 0 to 1000."),
    "other-hardware": Hint("use --fail."),
    "not-on-committee": Hint("see `leasehold validator status`."),
    "vote-not-here": Hint("run this where you committed, with the same --home."),
    "bad-outage": Hint("correct --from and --to."),
    "not-attested": Hint("see `leasehold fault {fault}`."),
    "revision-unknown": Hint("say what you measured with --spec and --fail, or nothing."),
    "no-logs": Hint("name another one with --rpc."),
    # acting for others, agreements, the home
    "duration-missing": Hint("Say --for 2h."),
    "not-live": Hint("see `leasehold show {lease:lease}`."),
    "still-live": Hint("`leasehold extend {lease:lease} DURATION` keeps it longer."),
    "was-elsewhere": Hint("leave --machine away, or --again."),
    "workload-of-another": Hint("name a workload with --file or --image."),
    "offer-elsewhere": Hint("leave --machine away."),
    "standby-for-itself": Hint("name another with --backup."),
    "no-such-machine": Hint("see `leasehold machines`."),
    "pays-from-ledger": Hint(
        "put what it needs into the ledger first, with `leasehold wallet deposit AMOUNT --to {account}`."
    ),
    "no-group-session": Hint("get one with `leasehold group session {group}`."),
    "no-delegate": Hint("ask for `leasehold delegate set {delegate} --cap AMOUNT`."),
    "wallet-needed": Hint("make one with `leasehold wallet new NAME`."),
    "results-not-in-time": Hint(
        "they come when the job is done or the lease closed; see `leasehold show {lease:lease}`, or wait longer with "
        "--wait."
    ),
    "no-blocks": Hint("wait until it has, or use another with --rpc."),
    "file-unwritable": Hint("name another with --proposal or --output."),
    "of-another-pool": Hint("name that pool's file with --deployment."),
    "no-signer": Hint("choose the wallet of one of {listed} with --wallet."),
    "signatures-missing": Hint("get {more} more of {listed}, by `leasehold group approve`."),
    "not-of-this-lease": Hint("ask {account} for `leasehold accept-transfer {lease:lease}`."),
    "no-groups": Hint("name one with `leasehold group create`."),
    "two-actors": Hint("say --as-group or --for-account, not both."),
    "not-the-tenant": Hint("choose its wallet with --wallet, or --as-group."),
    "not-a-delegate": Hint("see `leasehold delegate list`."),
    "nothing-allowed": Hint("name one, or `leasehold delegate revoke`."),
    "price-not-named": Hint("Say --price in whole tokens per GPU-hour."),
    "no-running-lease": Hint("see `leasehold leases`."),
    "lease-not-there": Hint("see `leasehold leases`."),
    "nothing-to-withdraw": Hint("see `leasehold wallet balance`."),
    "nothing-strayed": Hint(
        "rescue what is there. Its ledger is for `leasehold wallet withdraw --as-group`."
    ),
    "proposal-expired": Hint("have the same proposed again with `leasehold group renew`."),
    "proposal-overtaken": Hint("if it is still wanted, make it anew with `leasehold group renew`."),
    "no-ssh": Hint("use `leasehold exec {lease:lease} sh` instead."),
    "kept-no-longer": Hint("its tenant can extend it, or raise the cap with `leasehold delegate set`."),
    "no-age-key": Hint("results that were sealed to another key need that one, with --identity."),
}

# The same for the codes with which an agent declines.
_DECLINED: Final = {
    "image-unknown": (
        "the machine does not have the image and could not get it: name one of its own (`leasehold machines --json` "
        "lists them) or one that a registry or IPFS serves."
    ),
    "dataset-missing": (
        "nobody whom the machine can reach has one of the datasets: keep it pinned on a node that runs "
        "(`leasehold dataset pin`), then rent again."
    ),
}


def said(error: LeaseholdError) -> str:
    """The error as the command line tells it."""
    hint = _hint(error)
    problem = hint.problem if hint is not None and hint.problem is not None else error.problem_template
    advice = hint.advice if hint is not None else error.advice_template
    return sentence(error.fill(problem, said), error.fill(advice, said))


def why_declined(reason: str) -> str:
    """Why a machine declined a lease, and what to do at the prompt."""
    from leasehold.market import declined  # here: help says nothing of leases, and is to answer at once

    return _DECLINED.get(reason, declined(reason))


def _hint(error: LeaseholdError) -> Hint | None:
    if error.code == "declined-unstarted":
        return Hint(
            why_declined(str(vars(error)["reason"])).replace("{", "{{").replace("}", "}}")
        )  # no template
    return HINTS.get(error.code)
