"""Why what people sign together is refused.

LeaseholdError
├── NotGasless                      a call that nobody else sends
└── FileRefused                     a proposal, signature, acceptance or offer
    ├── FileUnwritable
    ├── OfAnotherPool
    ├── NoSigner
    ├── SignaturesMissing
    └── NotOfThisLease
"""

from __future__ import annotations

from leasehold.errors import LeaseholdError, error_type


class FileRefused(LeaseholdError):
    """A proposal, signature, acceptance or offer that is damaged, for something else, over, or not signed enough."""

    code = "file-refused"
    exit_code = 12


@error_type("file-unwritable", problem="{path} cannot be written ({reason})", advice="name another.")
class FileUnwritable(FileRefused):
    """The disk refuses it."""

    path: str
    reason: str


@error_type(
    "of-another-pool",
    problem="The {what} is for pool {pool} on chain {chain}",
    advice="open that pool.",
)
class OfAnotherPool(FileRefused):
    """It was signed for another pool."""

    what: str
    pool: str
    chain: int


@error_type(
    "no-signer",
    problem="{signer} is no signer of this group",
    advice="choose the wallet of one of {listed}.",
)
class NoSigner(FileRefused):
    """The wallet is none of the group's."""

    signer: str
    signers: tuple[str, ...]

    @property
    def listed(self) -> str:
        return ", ".join(self.signers)


@error_type(
    "signatures-missing",
    problem="It has {have} of the {need} signatures it takes",
    advice="get {more} more of {listed}.",
)
class SignaturesMissing(FileRefused):
    """Too few have signed. missing: whose would do."""

    have: int
    need: int
    missing: tuple[str, ...]

    @property
    def more(self) -> int:
        return self.need - self.have

    @property
    def listed(self) -> str:
        return ", ".join(self.missing)


@error_type(
    "not-of-this-lease",
    problem="The acceptance is not of lease {lease:lease}",
    advice="ask {account} for one that is.",
)
class NotOfThisLease(FileRefused):
    """It is of other leases."""

    lease: int
    account: str


@error_type(
    "not-gasless",
    problem="This cannot be sent by somebody else ({reason})",
    advice="send it yourself, with some of the chain's coin for gas.",
)
class NotGasless(LeaseholdError):
    """A call that takes the wallet's tokens, asks a stranger's contract, or is none of this pool's."""

    exit_code = 12
    reason: str
