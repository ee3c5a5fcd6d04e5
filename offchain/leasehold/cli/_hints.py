"""What an error's advice is at the prompt: by its code, in commands and options, filled with the error's data.

The library names none of these, since a notebook or a gateway has none. What is not listed here is told as the library
tells it.
"""

from __future__ import annotations

from typing import Final

from leasehold.errors import LeaseholdError, sentence

_MACHINES = "choose another with `leasehold machines`."
_APPROVE = "run `leasehold wallet approve {needed:tokens}`, or pass --approve."
_SHARE = "take a smaller --share or another machine."
_DESCRIBE = "`leasehold-agent describe`"

HINTS: Final[dict[str, str]] = {
    # what a contract refuses
    "unknown-machine": "look it up with `leasehold machines`.",
    "machine-not-retired": "run `leasehold provider retire {machine}` first.",
    "machine-under-staked": "choose another; its provider can run `leasehold provider stake {machine}`.",
    "machine-stalled": "choose another.",
    "machine-unverified": "pass --allow-unverified to rent it all the same.",
    "unknown-lease": "look it up with `leasehold leases`.",
    "wrong-state": "see `leasehold show {lease:lease}`.",
    "consent-expired": f"have the host describe itself again ({_DESCRIBE}).",
    "malformed-proof": "put the signatures together again with `leasehold group execute`.",
    "not-deployed": "`leasehold group rescue` brings it into being, and sends on what lies there.",
    "delegation-expired": "let the account set it anew with `leasehold delegate set`.",
    "unknown-version": "buy a seat for one that is, see `leasehold pool params`.",
    "unknown-seat": "see `leasehold validator list`.",
    "seat-not-leaving": "run `leave` first.",
    "reported-already": "see `leasehold faults`.",
    "erc20-insufficient-allowance": "run `leasehold wallet approve` first.",
    # the chain, keys
    "transaction-cancelled": "Nothing was done; run the command again if it should be.",
    "key-missing": "see `leasehold wallet list`, or run `leasehold wallet new`.",
    "deployment-missing": "get the pool's file and set LEASEHOLD_DEPLOYMENT to it.",
    "invalid-lease-id": "write it as `leasehold leases` shows it, such as 12 or 12.1.",
    "streams-off": "run `ipfs config --json Experimental.Libp2pStreamMounting true`, and start it again.",
    "ipfs-elsewhere": "run one here, and set LEASEHOLD_IPFS to its address.",
    # renting
    "none-matches": "widen the search, or see all with `leasehold machines`.",
    "machine-gone": _MACHINES,
    "machine-closed": _MACHINES,
    "nobody-measured": "pass --allow-unverified to rent it all the same.",
    "no-spot-price": "leave --spot away, or choose another machine.",
    "price-above-maximum": "raise --max-price or choose another machine.",
    "duration-not-served": "choose --for between them.",
    "share-not-served": "choose a smaller --share.",
    "share-not-sold": "choose that --share, or another machine.",
    "share-taken": _SHARE,
    "share-withheld": _SHARE,
    "resize-taken": "take another share, or move the lease with `leasehold move`.",
    "ledger-too-low": "run `leasehold wallet deposit {missing:tokens} --to {account}` first.",
    "allowance-too-low": _APPROVE,
    "gasless-fee-too-high": "raise --most-fee, or leave --gasless away.",
    "not-gasless": "leave --gasless away, and have some of the chain's coin for gas.",
    "nothing-opened": "Choose another machine, or pass --without-agent to open the lease all the same.",
    "not-started-in-time": "take {deposit:money} back with `leasehold close {lease:lease}`, which refunds all of it.",
    "rejected-unstarted": "see `leasehold show {lease:lease}`.",
    "already-there": "see `leasehold resize`.",
    "no-standby": (
        "move it with `leasehold move`, or close it with `leasehold close`, which pays up to the begin of the outage."
    ),
    "standby-unknown": "move it with `leasehold move` instead.",
    # a workload's parts as they are typed
    "port-unreadable": "write --port 8080, 8080:18080 or 53/udp.",
    "dataset-unreadable": "write --dataset CID:/data/name.",
    "volume-unreadable": "write --volume NAME:/data or NAME:/data:100GiB.",
    "source-unreadable": "write --volume-from NAME=CID beside --volume NAME:/data.",
    "ulimit-unreadable": "write --ulimit nofile=65536 or memlock=unlimited.",
    "quote-open": "",
    # results
    "results-unasked": "take what it asked for with --only PATH, and do not trust the machine that published them.",
    "result-in-git": "fetch them into a new folder, without --force.",
    # images
    "image-not-found": "check the name and the tag; for a private one run `leasehold registry login {registry}`.",
    "registry-busy": "wait, run `leasehold registry login {registry}`, or name the image by its digest.",
    "login-stays-here": "run `leasehold registry login {server}` with a token that may read and nothing else.",
    "login-unreadable": "run `leasehold registry login {server}`.",
    # providing
    "somebody-elses": "choose its wallet with --wallet.",
    "cards-taken": "change its terms with `leasehold provider terms`, or describe the cards that no machine has.",
    "operator-taken": "change its terms with `leasehold provider terms`, or describe the machine with a new key.",
    "rules-change": "read it with `leasehold pool params`, and try again then.",
    "penalty-not-covered": "run `leasehold wallet deposit {missing:tokens}` first.",
    "no-price": "pass --price with whole tokens per GPU-hour.",
    "share-not-kept-apart": "pass --smallest-share {least} or more.",
    "describes-another": "run `leasehold provider operator {machine} MACHINE.JSON` first.",
    "not-its-keeper": "choose a wallet with --wallet.",
    "operator-only": "its key is on the host, where the agent answers challenges and `leasehold-agent report` reports.",
    "price-not-positive": "set --price to whole tokens per GPU-hour.",
    "no-such-span": "{shortest:duration} to {longest:duration} is no such span.",
    "trial-too-long": "set --trial to that or less.",
    "leaves-too-early": "set --until to a later day.",
    "machine-file-invalid": f"write it anew with {_DESCRIBE}.",
    "machine-file-unreadable": f"write it with {_DESCRIBE}.",
    "consent-unfit": "run `leasehold-agent describe --owner {provider}` on the host again.",
    # owning a pool
    "changes-nothing": "name parameters as NAME=VALUE.",
    "amounts-missing": "name all parameters with --params.",
    # measuring
    "no-score": "pass --score with 0 to 1000.",
    "other-hardware": "use --fail.",
    "not-on-committee": "see `leasehold validator status`.",
    "vote-not-here": "run this where you committed, with the same --home.",
    "bad-outage": "correct --from and --to.",
    "not-attested": "see `leasehold fault {fault}`.",
    "revision-unknown": "say what you measured with --spec and --fail, or nothing.",
    "no-logs": "name another one with --rpc.",
    # acting for others, agreements, the home
    "duration-missing": "Say --for 2h.",
    "not-live": "see `leasehold show {lease:lease}`.",
    "still-live": "`leasehold extend {lease:lease} DURATION` keeps it longer.",
    "rented-since": "rent that one again, see `leasehold show {later:lease}`.",
    "was-elsewhere": "leave --machine away, or --again.",
    "workload-of-another": "name a workload with --file or --image.",
    "offer-elsewhere": "leave --machine away.",
    "standby-for-itself": "name another with --backup.",
    "no-such-machine": "see `leasehold machines`.",
    "pays-from-ledger": (
        "put what it needs into the ledger first, with `leasehold wallet deposit AMOUNT --to {account}`."
    ),
    "no-such-service": "see `leasehold services`.",
    "not-shared": "see `leasehold access list`, or name the key.",
    "access-over": "ask for `leasehold access share LEASE --to KEY` again.",
    "no-group-session": "get one with `leasehold group session {group}`.",
    "no-delegate": "ask for `leasehold delegate set {delegate} --cap AMOUNT`.",
    "holder-refused": "open it again with `leasehold wallet unlock`, or lock it with `leasehold wallet lock`.",
    "wallet-needed": "make one with `leasehold wallet new NAME`.",
    "path-unfit": "write it such as --path \"m/44'/60'/0'/0/0\".",
    "place-unfit": "pass --at usb, or --at tcp://127.0.0.1:9999 for an emulator on this computer.",
    "results-not-in-time": (
        "they come when the job is done or the lease closed; see `leasehold show {lease:lease}`, or wait longer with "
        "--wait."
    ),
    "no-blocks": "wait until it has, or use another with --rpc.",
    "file-unwritable": "name another with --proposal or --output.",
    "of-another-pool": "name that pool's file with --deployment.",
    "no-signer": "choose the wallet of one of {listed} with --wallet.",
    "signatures-missing": "get {more} more of {listed}, by `leasehold group approve`.",
    "not-of-this-lease": "ask {account} for `leasehold accept-transfer {lease:lease}`.",
    "run-is-another": "`leasehold run --attach {name}` goes on with it; give this one another --name.",
    "results-in-the-way": "name another with --results, or move it away.",
    "budget-missing": "name the most that it may spend in all with --budget.",
    "budget-too-small": "raise --budget, or take a smaller --share.",
    "no-pool-named": "run `leasehold init`, or pass --deployment FILE before the command.",
    "pool-may-take-nothing": "run `leasehold wallet approve AMOUNT` with what you mean to spend.",
    "nothing-to-pay-with": "send {address} some.",
    "no-groups": "name one with `leasehold group create`.",
    "two-actors": "say --as-group or --for-account, not both.",
    "not-the-tenant": "choose its wallet with --wallet, or --as-group.",
    "not-a-delegate": "see `leasehold delegate list`.",
    "nothing-allowed": "name one, or `leasehold delegate revoke`.",
    "price-not-named": "Say --price in whole tokens per GPU-hour.",
    "no-running-lease": "see `leasehold leases`.",
    "lease-not-there": "see `leasehold leases`.",
    "nothing-to-withdraw": "see `leasehold wallet balance`.",
    "nothing-strayed": "rescue what is there. Its ledger is for `leasehold wallet withdraw --as-group`.",
    "proposal-expired": "have the same proposed again with `leasehold group renew`.",
    "proposal-overtaken": "if it is still wanted, make it anew with `leasehold group renew`.",
    "no-ssh": "use `leasehold exec {lease:lease} sh` instead.",
    "kept-no-longer": "its tenant can extend it, or raise the cap with `leasehold delegate set`.",
    "no-age-key": "results that were sealed to another key need that one, with --identity.",
}

PROBLEMS: Final[dict[str, str]] = {
    "machine-stalled": (
        "Machine {machine} left a lease unstarted and takes none until `leasehold provider recover {machine}`"
    ),
    "quote-open": "--{field}: '{text}' has a quote without its other end.",
    "no-such-span": "Leases last from --min to --max, at most {most:duration}",
}
"""The problem itself, where a command or an option stands in that."""

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
    problem = PROBLEMS.get(error.code, error.problem_template)
    return sentence(error.fill(problem, said), error.fill(_advice(error), said))


def why_declined(reason: str) -> str:
    """Why a machine declined a lease, and what to do at the prompt."""
    from leasehold.market import declined  # here: help says nothing of leases, and is to answer at once

    return _DECLINED.get(reason, declined(reason))


def _advice(error: LeaseholdError) -> str:
    if error.code == "declined-unstarted":
        why = why_declined(str(vars(error)["reason"]))
        return why.replace("{", "{{").replace("}", "}}")  # no template
    return HINTS.get(error.code, error.advice_template)
