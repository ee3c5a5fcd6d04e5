"""The contracts' custom errors. Made by scripts/abi.py: do not edit."""

from typing import ClassVar

from leasehold._errors import ContractError, error_type

__all__ = [
    "AcceptanceUsed",
    "AlreadyCommitted",
    "AlreadyDown",
    "AlreadyInitialized",
    "AppealOpen",
    "AppealOver",
    "BlockNotMined",
    "CapExceeded",
    "ChallengeLapsed",
    "ChallengeStands",
    "CommitOver",
    "ConsentExpired",
    "DelegationExpired",
    "DuplicateSignature",
    "DurationOutOfRange",
    "ERC20InsufficientAllowance",
    "ERC20InsufficientBalance",
    "ERC2612ExpiredSignature",
    "ERC2612InvalidSigner",
    "ExpiredDeadline",
    "InsufficientBalance",
    "InvalidCells",
    "InvalidGpuCount",
    "InvalidNonce",
    "InvalidParams",
    "InvalidPlacement",
    "InvalidProof",
    "InvalidScore",
    "InvalidShare",
    "InvalidSigners",
    "InvalidSmallestShare",
    "InvalidStars",
    "InvalidTarget",
    "InvalidTerms",
    "InvalidThreshold",
    "LeaseNotOver",
    "LeaseOver",
    "MachineBusy",
    "MachineDelisted",
    "MachineDown",
    "MachineNotDown",
    "MachineNotInService",
    "MachineNotRetired",
    "MachineNotStalled",
    "MachineRetiredAlready",
    "MachineStalled",
    "MachineUnderStaked",
    "MachineUnverified",
    "MalformedProof",
    "MalleableSignature",
    "Nested",
    "NoCalls",
    "NoChallenge",
    "NoFalseHardware",
    "NoFreeCells",
    "NoProposal",
    "NoQuorum",
    "NobodyRules",
    "NotATenant",
    "NotAuthorized",
    "NotAvailableUntil",
    "NotDeployed",
    "NotDown",
    "NotDrawn",
    "NotRateable",
    "NotSpot",
    "NothingForQuorum",
    "NothingLeftFor",
    "NothingToApply",
    "NothingToClaim",
    "OfferExpired",
    "OfferMismatch",
    "OfferUsed",
    "OutageOutOfRange",
    "OutageTooShort",
    "ParamsOutdated",
    "Paused",
    "PriceTooHigh",
    "ProposalPending",
    "RatedAlready",
    "ReentrancyGuardReentrantCall",
    "ReportedAlready",
    "RevealNotOpen",
    "RevealOver",
    "RevisionChanged",
    "RoundOpen",
    "RoundRunning",
    "RulingOver",
    "SafeCastOverflowedUintDowncast",
    "SafeERC20FailedOperation",
    "ScopeExceeded",
    "SeatLeavingAlready",
    "SeatLocked",
    "SeatNotLeaving",
    "SeatNotMatured",
    "SelfTransfer",
    "ShareTooSmall",
    "SlashPending",
    "SlotExhausted",
    "StakeLocked",
    "StartWindowOpen",
    "StartWindowPassed",
    "TokenDecimals",
    "TokenTakesFee",
    "TooFewSeats",
    "TooManyLevels",
    "TooSoon",
    "TrialOver",
    "TrialRunning",
    "UnderNotice",
    "UnknownFault",
    "UnknownKind",
    "UnknownLease",
    "UnknownMachine",
    "UnknownRound",
    "UnknownSeat",
    "UnknownVersion",
    "Unlicensed",
    "UnorderedSignatures",
    "WrongAccounts",
    "WrongBackup",
    "WrongFaultState",
    "WrongGroup",
    "WrongLease",
    "WrongMachine",
    "WrongProof",
    "WrongReveal",
    "WrongRevision",
    "WrongRoundState",
    "WrongSignature",
    "WrongState",
    "ZeroAddress",
    "ZeroAmount",
]


@error_type(
    "acceptance-used",
    problem="That acceptance ({digest}) has been used once",
    advice="let the new tenant sign again with another deadline.",
)
class AcceptanceUsed(ContractError):
    """`AcceptanceUsed(bytes32 digest)`."""

    signature: ClassVar[str] = "AcceptanceUsed(bytes32)"
    digest: bytes


@error_type(
    "already-committed",
    problem="Seat {seat} has committed in verification {round} already",
    advice="reveal that commitment.",
)
class AlreadyCommitted(ContractError):
    """`AlreadyCommitted(uint256 round, uint32 seat)`."""

    signature: ClassVar[str] = "AlreadyCommitted(uint256,uint32)"
    round: int
    seat: int


@error_type(
    "already-down",
    problem="Machine {machine} is down already (fault {fault})",
    advice="there is nothing to report.",
)
class AlreadyDown(ContractError):
    """`AlreadyDown(uint32 machine, uint256 fault)`."""

    signature: ClassVar[str] = "AlreadyDown(uint32,uint256)"
    machine: int
    fault: int


@error_type(
    "already-initialized",
    problem="The contract is set up already",
    advice="there is nothing to do.",
)
class AlreadyInitialized(ContractError):
    """`AlreadyInitialized()`."""

    signature: ClassVar[str] = "AlreadyInitialized()"


@error_type(
    "appeal-open",
    problem="Fault {fault} may be appealed or ruled on, and tenants register what they lost, until {deadline:utc}",
    advice="execute it after that.",
)
class AppealOpen(ContractError):
    """`AppealOpen(uint256 fault, uint256 deadline)`."""

    signature: ClassVar[str] = "AppealOpen(uint256,uint256)"
    fault: int
    deadline: int


@error_type(
    "appeal-over",
    problem="Fault {fault} could be appealed until {deadline:utc}",
    advice="it stands now.",
)
class AppealOver(ContractError):
    """`AppealOver(uint256 fault, uint256 deadline)`."""

    signature: ClassVar[str] = "AppealOver(uint256,uint256)"
    fault: int
    deadline: int


@error_type(
    "block-not-mined",
    problem="The committee is drawn with the hash of block {block_}",
    advice="try again once it is mined.",
)
class BlockNotMined(ContractError):
    """`BlockNotMined(uint256 block_)`."""

    signature: ClassVar[str] = "BlockNotMined(uint256)"
    block_: int


@error_type(
    "cap-exceeded",
    problem="The delegate would have spent {spent:money} of the {cap:money} it may",
    advice="wait for the next period, or let the account raise the cap.",
)
class CapExceeded(ContractError):
    """`CapExceeded(uint256 spent, uint256 cap)`."""

    signature: ClassVar[str] = "CapExceeded(uint256,uint256)"
    spent: int
    cap: int


@error_type(
    "challenge-lapsed",
    problem="The challenge of machine {machine} had to be answered by {deadline:utc}",
    advice="for an hour after that anybody may prove it, then it is over.",
)
class ChallengeLapsed(ContractError):
    """`ChallengeLapsed(uint32 machine, uint256 deadline)`."""

    signature: ClassVar[str] = "ChallengeLapsed(uint32,uint256)"
    machine: int
    deadline: int


@error_type(
    "challenge-stands",
    problem="Machine {machine} is challenged until {until:utc}",
    advice="its operator answers first, or anybody proves it in the hour after that.",
)
class ChallengeStands(ContractError):
    """`ChallengeStands(uint32 machine, uint256 until)`."""

    signature: ClassVar[str] = "ChallengeStands(uint32,uint256)"
    machine: int
    until: int


@error_type(
    "commit-over",
    problem="Verification {round} took commitments until {until:utc}",
    advice="there is nothing left to commit.",
)
class CommitOver(ContractError):
    """`CommitOver(uint256 round, uint256 until)`."""

    signature: ClassVar[str] = "CommitOver(uint256,uint256)"
    round: int
    until: int


@error_type(
    "consent-expired",
    problem="The operator's consent expired {deadline:utc}",
    advice="have the host describe itself again.",
)
class ConsentExpired(ContractError):
    """`ConsentExpired(uint256 deadline)`."""

    signature: ClassVar[str] = "ConsentExpired(uint256)"
    deadline: int


@error_type(
    "delegation-expired",
    problem="The delegation ended {expiry:utc}",
    advice="let the account set it anew.",
)
class DelegationExpired(ContractError):
    """`DelegationExpired(uint256 expiry)`."""

    signature: ClassVar[str] = "DelegationExpired(uint256)"
    expiry: int


@error_type(
    "duplicate-signature",
    problem="Signature {index} is of a signer who has signed before",
    advice="collect one of another signer.",
)
class DuplicateSignature(ContractError):
    """`DuplicateSignature(uint256 index)`."""

    signature: ClassVar[str] = "DuplicateSignature(uint256)"
    index: int


@error_type(
    "duration-out-of-range",
    problem="{duration:span} is outside the machine's {min:span} to {max:span}",
    advice="choose a duration between them.",
)
class DurationOutOfRange(ContractError):
    """`DurationOutOfRange(uint256 duration, uint256 min, uint256 max)`."""

    signature: ClassVar[str] = "DurationOutOfRange(uint256,uint256,uint256)"
    duration: int
    min: int
    max: int


@error_type(
    "erc20-insufficient-allowance",
    problem="{spender} may take {allowance:money} from the wallet and {needed:money} are needed",
    advice="let it take that first.",
)
class ERC20InsufficientAllowance(ContractError):
    """`ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)`."""

    signature: ClassVar[str] = "ERC20InsufficientAllowance(address,uint256,uint256)"
    spender: str
    allowance: int
    needed: int


@error_type(
    "erc20-insufficient-balance",
    problem="{sender} holds {balance:money} and {needed:money} are needed",
    advice="get more of the token, then try again.",
)
class ERC20InsufficientBalance(ContractError):
    """`ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)`."""

    signature: ClassVar[str] = "ERC20InsufficientBalance(address,uint256,uint256)"
    sender: str
    balance: int
    needed: int


@error_type(
    "erc2612-expired-signature",
    problem="The permit expired {deadline:utc}",
    advice="sign a new one.",
)
class ERC2612ExpiredSignature(ContractError):
    """`ERC2612ExpiredSignature(uint256 deadline)`."""

    signature: ClassVar[str] = "ERC2612ExpiredSignature(uint256)"
    deadline: int


@error_type(
    "erc2612-invalid-signer",
    problem="The permit is signed by {signer}, not by {owner}",
    advice="sign it with the owner's key.",
)
class ERC2612InvalidSigner(ContractError):
    """`ERC2612InvalidSigner(address signer, address owner)`."""

    signature: ClassVar[str] = "ERC2612InvalidSigner(address,address)"
    signer: str
    owner: str


@error_type(
    "expired-deadline",
    problem="The signed calls had to be sent by {deadline:utc}",
    advice="sign them again.",
)
class ExpiredDeadline(ContractError):
    """`ExpiredDeadline(uint256 deadline)`."""

    signature: ClassVar[str] = "ExpiredDeadline(uint256)"
    deadline: int


@error_type(
    "insufficient-balance",
    problem="{account} has {balance:money} where {needed:money} are needed",
    advice="deposit more, or approve the pool to take the rest.",
)
class InsufficientBalance(ContractError):
    """`InsufficientBalance(address account, uint256 balance, uint256 needed)`."""

    signature: ClassVar[str] = "InsufficientBalance(address,uint256,uint256)"
    account: str
    balance: int
    needed: int


@error_type(
    "invalid-cells",
    problem="The machine has not all of the cells {cells:#x}",
    advice="name cells of its own GPUs, bit 8 × gpu + cell.",
)
class InvalidCells(ContractError):
    """`InvalidCells(uint64 cells)`."""

    signature: ClassVar[str] = "InvalidCells(uint64)"
    cells: int


@error_type(
    "invalid-gpu-count",
    problem="A machine has 1 to 8 GPUs, not {gpus}",
    advice="register a larger host as several machines.",
)
class InvalidGpuCount(ContractError):
    """`InvalidGpuCount(uint8 gpus)`."""

    signature: ClassVar[str] = "InvalidGpuCount(uint8)"
    gpus: int


@error_type(
    "invalid-nonce",
    problem="The signed calls carry nonce {nonce} where {expected} is next",
    advice="sign them again with that.",
)
class InvalidNonce(ContractError):
    """`InvalidNonce(uint256 nonce, uint256 expected)`."""

    signature: ClassVar[str] = "InvalidNonce(uint256,uint256)"
    nonce: int
    expected: int


@error_type(
    "invalid-params",
    problem="The parameters' `{field}` is out of bounds",
    advice="correct it and propose them again.",
)
class InvalidParams(ContractError):
    """`InvalidParams(bytes32 field)`."""

    signature: ClassVar[str] = "InvalidParams(bytes32)"
    field: bytes


@error_type(
    "invalid-placement",
    problem="Placement {placement:#06x} names no valid place on this machine",
    advice="leave it out to let the pool choose.",
)
class InvalidPlacement(ContractError):
    """`InvalidPlacement(uint16 placement)`."""

    signature: ClassVar[str] = "InvalidPlacement(uint16)"
    placement: int


@error_type(
    "invalid-proof",
    problem="The signature is not one of {account}",
    advice="sign with its key, over exactly these calls.",
)
class InvalidProof(ContractError):
    """`InvalidProof(address account)`."""

    signature: ClassVar[str] = "InvalidProof(address)"
    account: str


@error_type(
    "invalid-score",
    problem="A score is 0 to 1000, not {score}",
    advice="correct it.",
)
class InvalidScore(ContractError):
    """`InvalidScore(uint16 score)`."""

    signature: ClassVar[str] = "InvalidScore(uint16)"
    score: int


@error_type(
    "invalid-share",
    problem="A share is 1, 2 or 4 cells of a GPU, or 8 for each whole GPU, not {share}",
    advice="choose one of these.",
)
class InvalidShare(ContractError):
    """`InvalidShare(uint8 share)`."""

    signature: ClassVar[str] = "InvalidShare(uint8)"
    share: int


@error_type(
    "invalid-signers",
    problem="Signer {index} of the group is zero, named twice or out of order",
    advice="name each signer once, in ascending order.",
)
class InvalidSigners(ContractError):
    """`InvalidSigners(uint256 index)`."""

    signature: ClassVar[str] = "InvalidSigners(uint256)"
    index: int


@error_type(
    "invalid-smallest-share",
    problem="The smallest share is 1, 2, 4 or 8 cells, not {share}",
    advice="choose one of these.",
)
class InvalidSmallestShare(ContractError):
    """`InvalidSmallestShare(uint8 share)`."""

    signature: ClassVar[str] = "InvalidSmallestShare(uint8)"
    share: int


@error_type(
    "invalid-stars",
    problem="A rating has 1 to 5 stars, not {stars}",
    advice="correct it.",
)
class InvalidStars(ContractError):
    """`InvalidStars(uint8 stars)`."""

    signature: ClassVar[str] = "InvalidStars(uint8)"
    stars: int


@error_type(
    "invalid-target",
    problem="{target} is not a pool of this factory",
    advice="signed calls reach only pools.",
)
class InvalidTarget(ContractError):
    """`InvalidTarget(address target)`."""

    signature: ClassVar[str] = "InvalidTarget(address)"
    target: str


@error_type(
    "invalid-terms",
    problem="The terms' `{field}` is out of bounds",
    advice="correct it and send them again.",
)
class InvalidTerms(ContractError):
    """`InvalidTerms(bytes32 field)`."""

    signature: ClassVar[str] = "InvalidTerms(bytes32)"
    field: bytes


@error_type(
    "invalid-threshold",
    problem="{threshold} of {signers} signers make no group",
    advice="name 1 to 16 signers, and a threshold of at most so many.",
)
class InvalidThreshold(ContractError):
    """`InvalidThreshold(uint8 threshold, uint256 signers)`."""

    signature: ClassVar[str] = "InvalidThreshold(uint8,uint256)"
    threshold: int
    signers: int


@error_type(
    "lease-not-over",
    problem="Lease {lease:lease} runs until {end:utc}",
    advice="only its tenant can close it before.",
)
class LeaseNotOver(ContractError):
    """`LeaseNotOver(uint256 lease, uint256 end)`."""

    signature: ClassVar[str] = "LeaseNotOver(uint256,uint256)"
    lease: int
    end: int


@error_type(
    "lease-over",
    problem="Lease {lease:lease} ended {end:utc}",
    advice="close it and rent again.",
)
class LeaseOver(ContractError):
    """`LeaseOver(uint256 lease, uint256 end)`."""

    signature: ClassVar[str] = "LeaseOver(uint256,uint256)"
    lease: int
    end: int


@error_type(
    "machine-busy",
    problem="Machine {machine} still has leased cells ({leased:#x})",
    advice="wait until its leases have ended.",
)
class MachineBusy(ContractError):
    """`MachineBusy(uint32 machine, uint64 leased)`."""

    signature: ClassVar[str] = "MachineBusy(uint32,uint64)"
    machine: int
    leased: int


@error_type(
    "machine-delisted",
    problem="Machine {machine} is delisted and takes no new lease",
    advice="choose another.",
)
class MachineDelisted(ContractError):
    """`MachineDelisted(uint32 machine)`."""

    signature: ClassVar[str] = "MachineDelisted(uint32)"
    machine: int


@error_type(
    "machine-down",
    problem="Machine {machine} has been down since {since:utc}",
    advice="wait until it is back, or choose another.",
)
class MachineDown(ContractError):
    """`MachineDown(uint32 machine, uint256 since)`."""

    signature: ClassVar[str] = "MachineDown(uint32,uint256)"
    machine: int
    since: int


@error_type(
    "machine-not-down",
    problem="Machine {machine} is not down",
    advice="there is nothing to fail over from.",
)
class MachineNotDown(ContractError):
    """`MachineNotDown(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotDown(uint32)"
    machine: int


@error_type(
    "machine-not-in-service",
    problem="Machine {machine} is not in service, so there is nothing to measure",
    advice="choose another.",
)
class MachineNotInService(ContractError):
    """`MachineNotInService(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotInService(uint32)"
    machine: int


@error_type(
    "machine-not-retired",
    problem="Machine {machine} has not retired",
    advice="retire it first.",
)
class MachineNotRetired(ContractError):
    """`MachineNotRetired(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotRetired(uint32)"
    machine: int


@error_type(
    "machine-not-stalled",
    problem="Machine {machine} is not stalled",
    advice="there is nothing to recover.",
)
class MachineNotStalled(ContractError):
    """`MachineNotStalled(uint32 machine)`."""

    signature: ClassVar[str] = "MachineNotStalled(uint32)"
    machine: int


@error_type(
    "machine-retired-already",
    problem="Machine {machine} has retired",
    advice="choose another, or register it anew.",
)
class MachineRetiredAlready(ContractError):
    """`MachineRetiredAlready(uint32 machine)`."""

    signature: ClassVar[str] = "MachineRetiredAlready(uint32)"
    machine: int


@error_type(
    "machine-stalled",
    problem="Machine {machine} left a lease unstarted and takes none until it is recovered",
    advice="choose another.",
)
class MachineStalled(ContractError):
    """`MachineStalled(uint32 machine)`."""

    signature: ClassVar[str] = "MachineStalled(uint32)"
    machine: int


@error_type(
    "machine-under-staked",
    problem="Machine {machine} has less stake than it needs",
    advice="choose another; its provider can add stake.",
)
class MachineUnderStaked(ContractError):
    """`MachineUnderStaked(uint32 machine)`."""

    signature: ClassVar[str] = "MachineUnderStaked(uint32)"
    machine: int


@error_type(
    "machine-unverified",
    problem="Nobody has measured machine {machine}",
    advice="allow an unverified machine, to rent it all the same.",
)
class MachineUnverified(ContractError):
    """`MachineUnverified(uint32 machine)`."""

    signature: ClassVar[str] = "MachineUnverified(uint32)"
    machine: int


@error_type(
    "malformed-proof",
    problem="The proof cannot be read",
    advice="put the signatures together again.",
)
class MalformedProof(ContractError):
    """`MalformedProof()`."""

    signature: ClassVar[str] = "MalformedProof()"


@error_type(
    "malleable-signature",
    problem="The signature of {signer} has a high s, which could be altered",
    advice="let it sign again with an up-to-date wallet.",
)
class MalleableSignature(ContractError):
    """`MalleableSignature(address signer)`."""

    signature: ClassVar[str] = "MalleableSignature(address)"
    signer: str


@error_type(
    "nested",
    problem="Signed calls cannot contain signed calls",
    advice="put them into one list.",
)
class Nested(ContractError):
    """`Nested()`."""

    signature: ClassVar[str] = "Nested()"


@error_type(
    "no-calls",
    problem="There are no calls to make",
    advice="name at least one.",
)
class NoCalls(ContractError):
    """`NoCalls()`."""

    signature: ClassVar[str] = "NoCalls()"


@error_type(
    "no-challenge",
    problem="Machine {machine} is not challenged",
    advice="there is nothing to answer or to prove.",
)
class NoChallenge(ContractError):
    """`NoChallenge(uint32 machine)`."""

    signature: ClassVar[str] = "NoChallenge(uint32)"
    machine: int


@error_type(
    "no-false-hardware",
    problem="Verification {round} found no other hardware than declared",
    advice="there is nothing to report.",
)
class NoFalseHardware(ContractError):
    """`NoFalseHardware(uint256 round)`."""

    signature: ClassVar[str] = "NoFalseHardware(uint256)"
    round: int


@error_type(
    "no-free-cells",
    problem="Machine {machine} has no room for that share (busy cells {busy:#x})",
    advice="take a smaller one or another machine.",
)
class NoFreeCells(ContractError):
    """`NoFreeCells(uint32 machine, uint64 busy)`."""

    signature: ClassVar[str] = "NoFreeCells(uint32,uint64)"
    machine: int
    busy: int


@error_type(
    "no-proposal",
    problem="No parameters are proposed",
    advice="there is nothing to cancel.",
)
class NoProposal(ContractError):
    """`NoProposal()`."""

    signature: ClassVar[str] = "NoProposal()"


@error_type(
    "no-quorum",
    problem="Too few validators have signed",
    advice="collect more than two thirds of the matured seats, of at least five validators.",
)
class NoQuorum(ContractError):
    """`NoQuorum()`."""

    signature: ClassVar[str] = "NoQuorum()"


@error_type(
    "nobody-rules",
    problem="The rules that judge fault {fault} name no arbiter",
    advice="there is no appeal, and it stands.",
)
class NobodyRules(ContractError):
    """`NobodyRules(uint256 fault)`."""

    signature: ClassVar[str] = "NobodyRules(uint256)"
    fault: int


@error_type(
    "not-a-tenant",
    problem="{actor} has no running lease {lease:lease}",
    advice="only a tenant of the machine challenges it.",
)
class NotATenant(ContractError):
    """`NotATenant(uint256 lease, address actor)`."""

    signature: ClassVar[str] = "NotATenant(uint256,address)"
    lease: int
    actor: str


@error_type(
    "not-authorized",
    problem="{actor} may not do this",
    advice="use the key of the tenant, provider or operator it belongs to.",
)
class NotAuthorized(ContractError):
    """`NotAuthorized(address actor)`."""

    signature: ClassVar[str] = "NotAuthorized(address)"
    actor: str


@error_type(
    "not-available-until",
    problem="The lease would end {end:utc}, after the machine leaves at {available_until:utc}",
    advice="choose a shorter one.",
)
class NotAvailableUntil(ContractError):
    """`NotAvailableUntil(uint256 end, uint256 availableUntil)`."""

    signature: ClassVar[str] = "NotAvailableUntil(uint256,uint256)"
    end: int
    available_until: int


@error_type(
    "not-deployed",
    problem="The account {account} is not deployed yet",
    advice="deploy it first.",
)
class NotDeployed(ContractError):
    """`NotDeployed(address account)`."""

    signature: ClassVar[str] = "NotDeployed(address)"
    account: str


@error_type(
    "not-down",
    problem="Machine {machine} is not down",
    advice="there is nothing to end or to roll.",
)
class NotDown(ContractError):
    """`NotDown(uint32 machine)`."""

    signature: ClassVar[str] = "NotDown(uint32)"
    machine: int


@error_type(
    "not-drawn",
    problem="Seat {seat} is not of the committee of verification {round}",
    advice="use the seat that was drawn.",
)
class NotDrawn(ContractError):
    """`NotDrawn(uint256 round, uint32 seat)`."""

    signature: ClassVar[str] = "NotDrawn(uint256,uint32)"
    round: int
    seat: int


@error_type(
    "not-rateable",
    problem="Lease {lease:lease} cannot be rated",
    advice="rate leases of your own that have ended and were paid.",
)
class NotRateable(ContractError):
    """`NotRateable(uint256 lease)`."""

    signature: ClassVar[str] = "NotRateable(uint256)"
    lease: int


@error_type(
    "not-spot",
    problem="Machine {machine} sells no spot leases",
    advice="leave `spot` out, or choose another machine.",
)
class NotSpot(ContractError):
    """`NotSpot(uint32 machine)`."""

    signature: ClassVar[str] = "NotSpot(uint32)"
    machine: int


@error_type(
    "nothing-for-quorum",
    problem="These signers have nothing coming, or to lose",
    advice="name those of one attestation, in their order.",
)
class NothingForQuorum(ContractError):
    """`NothingForQuorum(bytes32 quorum)`."""

    signature: ClassVar[str] = "NothingForQuorum(bytes32)"
    quorum: bytes


@error_type(
    "nothing-left-for",
    problem="Lease {lease:lease} has {left:money} left and its backup needs {needed:money} for its shortest lease",
    advice="rent another machine instead.",
)
class NothingLeftFor(ContractError):
    """`NothingLeftFor(uint256 lease, uint256 needed, uint256 left)`."""

    signature: ClassVar[str] = "NothingLeftFor(uint256,uint256,uint256)"
    lease: int
    needed: int
    left: int


@error_type(
    "nothing-to-apply",
    problem="Fault {fault} takes nothing off these leases",
    advice="name leases that ran during the outage.",
)
class NothingToApply(ContractError):
    """`NothingToApply(uint256 fault)`."""

    signature: ClassVar[str] = "NothingToApply(uint256)"
    fault: int


@error_type(
    "nothing-to-claim",
    problem="Lease {lease:lease} has nothing to claim yet",
    advice="try again later.",
)
class NothingToClaim(ContractError):
    """`NothingToClaim(uint256 lease)`."""

    signature: ClassVar[str] = "NothingToClaim(uint256)"
    lease: int


@error_type(
    "offer-expired",
    problem="The offer expired {deadline:utc}",
    advice="ask the provider for a new one.",
)
class OfferExpired(ContractError):
    """`OfferExpired(uint256 deadline)`."""

    signature: ClassVar[str] = "OfferExpired(uint256)"
    deadline: int


@error_type(
    "offer-mismatch",
    problem="The offer does not cover what is asked for (`{field}`)",
    advice="stay inside the offer, or ask for another.",
)
class OfferMismatch(ContractError):
    """`OfferMismatch(bytes32 field)`."""

    signature: ClassVar[str] = "OfferMismatch(bytes32)"
    field: bytes


@error_type(
    "offer-used",
    problem="The offer with nonce {nonce} is used up or was cancelled",
    advice="ask the provider for a new one.",
)
class OfferUsed(ContractError):
    """`OfferUsed(uint256 nonce)`."""

    signature: ClassVar[str] = "OfferUsed(uint256)"
    nonce: int


@error_type(
    "outage-out-of-range",
    problem="An outage from {from_:utc} to {to:utc} cannot be filed",
    advice="name a time after the last one and inside the filing window.",
)
class OutageOutOfRange(ContractError):
    """`OutageOutOfRange(uint256 from, uint256 to)`."""

    signature: ClassVar[str] = "OutageOutOfRange(uint256,uint256)"
    from_: int
    to: int


@error_type(
    "outage-too-short",
    problem="The outage has not reached the highest tier",
    advice="file it after {until:utc}, or let it end.",
)
class OutageTooShort(ContractError):
    """`OutageTooShort(uint256 until)`."""

    signature: ClassVar[str] = "OutageTooShort(uint256)"
    until: int


@error_type(
    "params-outdated",
    problem="The machine accepted the pool's parameters {accepted} and {current} are in force",
    advice="its provider has to set its terms again.",
)
class ParamsOutdated(ContractError):
    """`ParamsOutdated(uint16 accepted, uint16 current)`."""

    signature: ClassVar[str] = "ParamsOutdated(uint16,uint16)"
    accepted: int
    current: int


@error_type(
    "paused",
    problem="The pool takes no new leases or machines for now",
    advice="try again later; everything else still works.",
)
class Paused(ContractError):
    """`Paused()`."""

    signature: ClassVar[str] = "Paused()"


@error_type(
    "price-too-high",
    problem="The machine asks {price:money} per GPU-hour and your limit is {max_price:money}",
    advice="raise it or choose another machine.",
)
class PriceTooHigh(ContractError):
    """`PriceTooHigh(uint80 price, uint80 maxPrice)`."""

    signature: ClassVar[str] = "PriceTooHigh(uint80,uint80)"
    price: int
    max_price: int


@error_type(
    "proposal-pending",
    problem="Parameters are already proposed, in force at {in_force_at:utc}",
    advice="cancel them first, or wait.",
)
class ProposalPending(ContractError):
    """`ProposalPending(uint256 inForceAt)`."""

    signature: ClassVar[str] = "ProposalPending(uint256)"
    in_force_at: int


@error_type(
    "rated-already",
    problem="Lease {lease:lease} has been rated",
    advice="a lease is rated once.",
)
class RatedAlready(ContractError):
    """`RatedAlready(uint256 lease)`."""

    signature: ClassVar[str] = "RatedAlready(uint256)"
    lease: int


@error_type(
    "reentrancy-guard-reentrant-call",
    problem="The pool was called from inside one of its own calls",
    advice="send the calls one after another.",
)
class ReentrancyGuardReentrantCall(ContractError):
    """`ReentrancyGuardReentrantCall()`."""

    signature: ClassVar[str] = "ReentrancyGuardReentrantCall()"


@error_type(
    "reported-already",
    problem="What verification {round} found was reported already",
    advice="look at the pool's faults.",
)
class ReportedAlready(ContractError):
    """`ReportedAlready(uint256 round)`."""

    signature: ClassVar[str] = "ReportedAlready(uint256)"
    round: int


@error_type(
    "reveal-not-open",
    problem="Verification {round} takes reveals from {from_:utc} on",
    advice="reveal then.",
)
class RevealNotOpen(ContractError):
    """`RevealNotOpen(uint256 round, uint256 from)`."""

    signature: ClassVar[str] = "RevealNotOpen(uint256,uint256)"
    round: int
    from_: int


@error_type(
    "reveal-over",
    problem="Verification {round} took reveals until {until:utc}",
    advice="it is too late to reveal.",
)
class RevealOver(ContractError):
    """`RevealOver(uint256 round, uint256 until)`."""

    signature: ClassVar[str] = "RevealOver(uint256,uint256)"
    round: int
    until: int


@error_type(
    "revision-changed",
    problem="The machine's terms or hardware have changed (now revision {current})",
    advice="look at them and rent again.",
)
class RevisionChanged(ContractError):
    """`RevisionChanged(uint16 current)`."""

    signature: ClassVar[str] = "RevisionChanged(uint16)"
    current: int


@error_type(
    "round-open",
    problem="Verification {round} runs until {until:utc}",
    advice="finalize it after that.",
)
class RoundOpen(ContractError):
    """`RoundOpen(uint256 round, uint256 until)`."""

    signature: ClassVar[str] = "RoundOpen(uint256,uint256)"
    round: int
    until: int


@error_type(
    "round-running",
    problem="Machine {machine} is being verified already (verification {round})",
    advice="wait until it has ended.",
)
class RoundRunning(ContractError):
    """`RoundRunning(uint32 machine, uint256 round)`."""

    signature: ClassVar[str] = "RoundRunning(uint32,uint256)"
    machine: int
    round: int


@error_type(
    "ruling-over",
    problem="Fault {fault} could be ruled on until {deadline:utc}",
    advice="it stands now.",
)
class RulingOver(ContractError):
    """`RulingOver(uint256 fault, uint256 deadline)`."""

    signature: ClassVar[str] = "RulingOver(uint256,uint256)"
    fault: int
    deadline: int


@error_type(
    "safe-cast-overflowed-uint-downcast",
    problem="{value} does not fit into {bits} bits",
    advice="use a smaller amount or duration.",
)
class SafeCastOverflowedUintDowncast(ContractError):
    """`SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)`."""

    signature: ClassVar[str] = "SafeCastOverflowedUintDowncast(uint8,uint256)"
    bits: int
    value: int


@error_type(
    "safe-erc20-failed-operation",
    problem="The token {token} refused the transfer",
    advice="check the wallet's balance and its approval of the pool.",
)
class SafeERC20FailedOperation(ContractError):
    """`SafeERC20FailedOperation(address token)`."""

    signature: ClassVar[str] = "SafeERC20FailedOperation(address)"
    token: str


@error_type(
    "scope-exceeded",
    problem="A delegate may not make the call {selector}",
    advice="only open, extend, close, reject, resize and setWorkload; let the account itself make it.",
)
class ScopeExceeded(ContractError):
    """`ScopeExceeded(bytes4 selector)`."""

    signature: ClassVar[str] = "ScopeExceeded(bytes4)"
    selector: bytes


@error_type(
    "seat-leaving-already",
    problem="Seat {seat} is leaving already",
    advice="take its stake out with `exit` once its time is up.",
)
class SeatLeavingAlready(ContractError):
    """`SeatLeavingAlready(uint32 seat)`."""

    signature: ClassVar[str] = "SeatLeavingAlready(uint32)"
    seat: int


@error_type(
    "seat-locked",
    problem="The stake of seat {seat} is locked until {until:utc}",
    advice="exit after that.",
)
class SeatLocked(ContractError):
    """`SeatLocked(uint32 seat, uint256 until)`."""

    signature: ClassVar[str] = "SeatLocked(uint32,uint256)"
    seat: int
    until: int


@error_type(
    "seat-not-leaving",
    problem="Seat {seat} has not begun to leave",
    advice="call `leave` first.",
)
class SeatNotLeaving(ContractError):
    """`SeatNotLeaving(uint32 seat)`."""

    signature: ClassVar[str] = "SeatNotLeaving(uint32)"
    seat: int


@error_type(
    "seat-not-matured",
    problem="Seat {seat} matures {matures_at:utc}",
    advice="try again after that.",
)
class SeatNotMatured(ContractError):
    """`SeatNotMatured(uint32 seat, uint256 maturesAt)`."""

    signature: ClassVar[str] = "SeatNotMatured(uint32,uint256)"
    seat: int
    matures_at: int


@error_type(
    "self-transfer",
    problem="That transfer goes back to the pool itself",
    advice="name another account.",
)
class SelfTransfer(ContractError):
    """`SelfTransfer()`."""

    signature: ClassVar[str] = "SelfTransfer()"


@error_type(
    "share-too-small",
    problem="The machine leases no less than {smallest} cells, not {share}",
    advice="take that, or another machine.",
)
class ShareTooSmall(ContractError):
    """`ShareTooSmall(uint8 share, uint8 smallest)`."""

    signature: ClassVar[str] = "ShareTooSmall(uint8,uint8)"
    share: int
    smallest: int


@error_type(
    "slash-pending",
    problem="Machine {machine} has {count} faults that are not settled yet",
    advice="unstake once they are.",
)
class SlashPending(ContractError):
    """`SlashPending(uint32 machine, uint8 count)`."""

    signature: ClassVar[str] = "SlashPending(uint32,uint8)"
    machine: int
    count: int


@error_type(
    "slot-exhausted",
    problem="The slot of lease {lease:lease} has been used up",
    advice="open the lease without `reuse`.",
)
class SlotExhausted(ContractError):
    """`SlotExhausted(uint256 lease)`."""

    signature: ClassVar[str] = "SlotExhausted(uint256)"
    lease: int


@error_type(
    "stake-locked",
    problem="The stake of machine {machine} is locked until {until:utc}",
    advice="unstake after that.",
)
class StakeLocked(ContractError):
    """`StakeLocked(uint32 machine, uint256 until)`."""

    signature: ClassVar[str] = "StakeLocked(uint32,uint256)"
    machine: int
    until: int


@error_type(
    "start-window-open",
    problem="Lease {lease:lease} may still be started until {deadline:utc}",
    advice="wait until then, or reject it.",
)
class StartWindowOpen(ContractError):
    """`StartWindowOpen(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "StartWindowOpen(uint256,uint256)"
    lease: int
    deadline: int


@error_type(
    "start-window-passed",
    problem="Lease {lease:lease} had to be started by {deadline:utc}",
    advice="close it for a full refund and rent again.",
)
class StartWindowPassed(ContractError):
    """`StartWindowPassed(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "StartWindowPassed(uint256,uint256)"
    lease: int
    deadline: int


@error_type(
    "token-decimals",
    problem="The token has {decimals} decimals and a pool takes 6 to 18",
    advice="choose another token.",
)
class TokenDecimals(ContractError):
    """`TokenDecimals(uint8 decimals)`."""

    signature: ClassVar[str] = "TokenDecimals(uint8)"
    decimals: int


@error_type(
    "token-takes-fee",
    problem="The token delivered {received:money} of {sent:money}",
    advice="tokens that take a fee on transfer cannot be used; choose another pool.",
)
class TokenTakesFee(ContractError):
    """`TokenTakesFee(uint256 sent, uint256 received)`."""

    signature: ClassVar[str] = "TokenTakesFee(uint256,uint256)"
    sent: int
    received: int


@error_type(
    "too-few-seats",
    problem="There are {seats} seats that may be drawn and {needed} are needed",
    advice="try again when more validators have joined.",
)
class TooFewSeats(ContractError):
    """`TooFewSeats(uint256 seats, uint256 needed)`."""

    signature: ClassVar[str] = "TooFewSeats(uint256,uint256)"
    seats: int
    needed: int


@error_type(
    "too-many-levels",
    problem="Seats have been sold at 32 prices, and at no other",
    advice="buy one for an earlier version of the parameters.",
)
class TooManyLevels(ContractError):
    """`TooManyLevels()`."""

    signature: ClassVar[str] = "TooManyLevels()"


@error_type(
    "too-soon",
    problem="Machine {machine} was verified lately",
    advice="ask again after {next_at:utc}.",
)
class TooSoon(ContractError):
    """`TooSoon(uint32 machine, uint256 nextAt)`."""

    signature: ClassVar[str] = "TooSoon(uint32,uint256)"
    machine: int
    next_at: int


@error_type(
    "trial-over",
    problem="The trial of lease {lease:lease} ended {deadline:utc}",
    advice="close it instead, which pays for the seconds used.",
)
class TrialOver(ContractError):
    """`TrialOver(uint256 lease, uint256 deadline)`."""

    signature: ClassVar[str] = "TrialOver(uint256,uint256)"
    lease: int
    deadline: int


@error_type(
    "trial-running",
    problem="The trial of lease {lease:lease} runs until {until:utc}",
    advice="resize after that, or reject it and rent another share.",
)
class TrialRunning(ContractError):
    """`TrialRunning(uint256 lease, uint256 until)`."""

    signature: ClassVar[str] = "TrialRunning(uint256,uint256)"
    lease: int
    until: int


@error_type(
    "under-notice",
    problem="The provider gave notice on lease {lease:lease}",
    advice="it cannot be extended; rent another machine in time.",
)
class UnderNotice(ContractError):
    """`UnderNotice(uint256 lease)`."""

    signature: ClassVar[str] = "UnderNotice(uint256)"
    lease: int


@error_type(
    "unknown-fault",
    problem="There is no fault {fault} in this pool",
    advice="check its number.",
)
class UnknownFault(ContractError):
    """`UnknownFault(uint256 fault)`."""

    signature: ClassVar[str] = "UnknownFault(uint256)"
    fault: int


@error_type(
    "unknown-kind",
    problem="There is no service of the kind `{kind}`",
    advice="use access, scheduler, gateway, ipfs or seed.",
)
class UnknownKind(ContractError):
    """`UnknownKind(bytes32 kind)`."""

    signature: ClassVar[str] = "UnknownKind(bytes32)"
    kind: bytes


@error_type(
    "unknown-lease",
    problem="There is no lease {lease:lease} in this pool",
    advice="look for it among your leases.",
)
class UnknownLease(ContractError):
    """`UnknownLease(uint256 lease)`."""

    signature: ClassVar[str] = "UnknownLease(uint256)"
    lease: int


@error_type(
    "unknown-machine",
    problem="There is no machine {machine} in this pool",
    advice="look for it among the pool's machines.",
)
class UnknownMachine(ContractError):
    """`UnknownMachine(uint32 machine)`."""

    signature: ClassVar[str] = "UnknownMachine(uint32)"
    machine: int


@error_type(
    "unknown-round",
    problem="There is no verification {round} in this pool",
    advice="check its number.",
)
class UnknownRound(ContractError):
    """`UnknownRound(uint256 round)`."""

    signature: ClassVar[str] = "UnknownRound(uint256)"
    round: int


@error_type(
    "unknown-seat",
    problem="There is no seat {seat} in this pool",
    advice="look for it among the pool's seats.",
)
class UnknownSeat(ContractError):
    """`UnknownSeat(uint32 seat)`."""

    signature: ClassVar[str] = "UnknownSeat(uint32)"
    seat: int


@error_type(
    "unknown-version",
    problem="Version {version} of the parameters is not in force and never was",
    advice="buy a seat for one that is.",
)
class UnknownVersion(ContractError):
    """`UnknownVersion(uint16 version)`."""

    signature: ClassVar[str] = "UnknownVersion(uint16)"
    version: int


@error_type(
    "unlicensed",
    problem="{provider} has no licence for this pool",
    advice="ask its owner for one, or join a pool that is open to all.",
)
class Unlicensed(ContractError):
    """`Unlicensed(address provider)`."""

    signature: ClassVar[str] = "Unlicensed(address)"
    provider: str


@error_type(
    "unordered-signatures",
    problem="Signature {index} is out of order",
    advice="put the signatures in the order of the group's signers.",
)
class UnorderedSignatures(ContractError):
    """`UnorderedSignatures(uint256 index)`."""

    signature: ClassVar[str] = "UnorderedSignatures(uint256)"
    index: int


@error_type(
    "wrong-accounts",
    problem="{accounts} is not the Accounts contract of this factory",
    advice="deploy the contracts together.",
)
class WrongAccounts(ContractError):
    """`WrongAccounts(address accounts)`."""

    signature: ClassVar[str] = "WrongAccounts(address)"
    accounts: str


@error_type(
    "wrong-backup",
    problem="That is not the backup that lease {lease:lease} named when it was opened",
    advice="give its machine, revision, placement and workload exactly.",
)
class WrongBackup(ContractError):
    """`WrongBackup(uint256 lease)`."""

    signature: ClassVar[str] = "WrongBackup(uint256)"
    lease: int


@error_type(
    "wrong-fault-state",
    problem="Fault {fault} is {state:fault}, in which this cannot be done",
    advice="look at it again.",
)
class WrongFaultState(ContractError):
    """`WrongFaultState(uint256 fault, uint8 state)`."""

    signature: ClassVar[str] = "WrongFaultState(uint256,uint8)"
    fault: int
    state: int


@error_type(
    "wrong-group",
    problem="These signers make the group {derived}, not {account}",
    advice="check the threshold, the signers and the salt.",
)
class WrongGroup(ContractError):
    """`WrongGroup(address account, address derived)`."""

    signature: ClassVar[str] = "WrongGroup(address,address)"
    account: str
    derived: str


@error_type(
    "wrong-lease",
    problem="Lease {lease:lease} is not on machine {machine}",
    advice="name one of that machine.",
)
class WrongLease(ContractError):
    """`WrongLease(uint256 lease, uint32 machine)`."""

    signature: ClassVar[str] = "WrongLease(uint256,uint32)"
    lease: int
    machine: int


@error_type(
    "wrong-machine",
    problem="Lease {lease:lease} is not on machine {machine}",
    advice="leave it out of the leases to settle.",
)
class WrongMachine(ContractError):
    """`WrongMachine(uint256 lease, uint32 machine)`."""

    signature: ClassVar[str] = "WrongMachine(uint256,uint32)"
    lease: int
    machine: int


@error_type(
    "wrong-proof",
    problem="The signature is not one of {account}, over exactly this",
    advice="let it sign again.",
)
class WrongProof(ContractError):
    """`WrongProof(address account)`."""

    signature: ClassVar[str] = "WrongProof(address)"
    account: str


@error_type(
    "wrong-reveal",
    problem="That is not what seat {seat} committed in verification {round}",
    advice="reveal the very values and salt.",
)
class WrongReveal(ContractError):
    """`WrongReveal(uint256 round, uint32 seat)`."""

    signature: ClassVar[str] = "WrongReveal(uint256,uint32)"
    round: int
    seat: int


@error_type(
    "wrong-revision",
    problem="The machine is at revision {current} now",
    advice="look at it and ask again for that one.",
)
class WrongRevision(ContractError):
    """`WrongRevision(uint16 current)`."""

    signature: ClassVar[str] = "WrongRevision(uint16)"
    current: int


@error_type(
    "wrong-round-state",
    problem="Verification {round} is {state:round}, in which this cannot be done",
    advice="look at it again.",
)
class WrongRoundState(ContractError):
    """`WrongRoundState(uint256 round, uint8 state)`."""

    signature: ClassVar[str] = "WrongRoundState(uint256,uint8)"
    round: int
    state: int


@error_type(
    "wrong-signature",
    problem="The signature is not one of {signer}, over exactly this",
    advice="let it sign again.",
)
class WrongSignature(ContractError):
    """`WrongSignature(address signer)`."""

    signature: ClassVar[str] = "WrongSignature(address)"
    signer: str


@error_type(
    "wrong-state",
    problem="Lease {lease:lease} is {state:state}, in which this cannot be done",
    advice="look at the lease again.",
)
class WrongState(ContractError):
    """`WrongState(uint256 lease, uint8 state)`."""

    signature: ClassVar[str] = "WrongState(uint256,uint8)"
    lease: int
    state: int


@error_type(
    "zero-address",
    problem="The zero address cannot be used here",
    advice="name a real account.",
)
class ZeroAddress(ContractError):
    """`ZeroAddress()`."""

    signature: ClassVar[str] = "ZeroAddress()"


@error_type(
    "zero-amount",
    problem="The amount is zero",
    advice="name a positive one.",
)
class ZeroAmount(ContractError):
    """`ZeroAmount()`."""

    signature: ClassVar[str] = "ZeroAmount()"
