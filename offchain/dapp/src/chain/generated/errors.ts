// Made by scripts/dapp.py: do not edit.
export const contractErrors = {
 "AcceptanceUsed": {
  "code": "acceptance-used",
  "problem": "That acceptance ({digest}) has been used once",
  "advice": "let the new tenant sign again with another deadline.",
  "fields": [
   "digest"
  ]
 },
 "AlreadyInitialized": {
  "code": "already-initialized",
  "problem": "The contract is set up already",
  "advice": "there is nothing to do.",
  "fields": []
 },
 "ConsentExpired": {
  "code": "consent-expired",
  "problem": "The operator's consent expired {deadline:utc}",
  "advice": "have the host describe itself again.",
  "fields": [
   "deadline"
  ]
 },
 "DurationOutOfRange": {
  "code": "duration-out-of-range",
  "problem": "{duration:span} is outside the machine's {min:span} to {max:span}",
  "advice": "choose a duration between them.",
  "fields": [
   "duration",
   "min",
   "max"
  ]
 },
 "InsufficientBalance": {
  "code": "insufficient-balance",
  "problem": "{account} has {balance:money} where {needed:money} are needed",
  "advice": "deposit more, or approve the pool to take the rest.",
  "fields": [
   "account",
   "balance",
   "needed"
  ]
 },
 "InvalidCells": {
  "code": "invalid-cells",
  "problem": "The machine has not all of the cells {cells:#x}",
  "advice": "name cells of its own GPUs, bit 8 × gpu + cell.",
  "fields": [
   "cells"
  ]
 },
 "InvalidGpuCount": {
  "code": "invalid-gpu-count",
  "problem": "A machine has 1 to 8 GPUs, not {gpus}",
  "advice": "register a larger host as several machines.",
  "fields": [
   "gpus"
  ]
 },
 "InvalidParams": {
  "code": "invalid-params",
  "problem": "The parameters' `{field}` is out of bounds",
  "advice": "correct it and propose them again.",
  "fields": [
   "field"
  ]
 },
 "InvalidPlacement": {
  "code": "invalid-placement",
  "problem": "Placement {placement:#06x} names no valid place on this machine",
  "advice": "leave it out to let the pool choose.",
  "fields": [
   "placement"
  ]
 },
 "InvalidShare": {
  "code": "invalid-share",
  "problem": "A share is 1, 2 or 4 cells of a GPU, or 8 for each whole GPU, not {share}",
  "advice": "choose one of these.",
  "fields": [
   "share"
  ]
 },
 "InvalidSmallestShare": {
  "code": "invalid-smallest-share",
  "problem": "The smallest share is 1, 2, 4 or 8 cells, not {share}",
  "advice": "choose one of these.",
  "fields": [
   "share"
  ]
 },
 "InvalidTerms": {
  "code": "invalid-terms",
  "problem": "The terms' `{field}` is out of bounds",
  "advice": "correct it and send them again.",
  "fields": [
   "field"
  ]
 },
 "LeaseNotOver": {
  "code": "lease-not-over",
  "problem": "Lease {lease:lease} runs until {end:utc}",
  "advice": "only its tenant can close it before.",
  "fields": [
   "lease",
   "end"
  ]
 },
 "LeaseOver": {
  "code": "lease-over",
  "problem": "Lease {lease:lease} ended {end:utc}",
  "advice": "close it and rent again.",
  "fields": [
   "lease",
   "end"
  ]
 },
 "MachineBusy": {
  "code": "machine-busy",
  "problem": "Machine {machine} still has leased cells ({leased:#x})",
  "advice": "wait until its leases have ended.",
  "fields": [
   "machine",
   "leased"
  ]
 },
 "MachineDelisted": {
  "code": "machine-delisted",
  "problem": "Machine {machine} is delisted and takes no new lease",
  "advice": "choose another.",
  "fields": [
   "machine"
  ]
 },
 "MachineDown": {
  "code": "machine-down",
  "problem": "Machine {machine} has been down since {since:utc}",
  "advice": "wait until it is back, or choose another.",
  "fields": [
   "machine",
   "since"
  ]
 },
 "MachineNotDown": {
  "code": "machine-not-down",
  "problem": "Machine {machine} is not down",
  "advice": "there is nothing to fail over from.",
  "fields": [
   "machine"
  ]
 },
 "MachineNotRetired": {
  "code": "machine-not-retired",
  "problem": "Machine {machine} has not retired",
  "advice": "retire it first.",
  "fields": [
   "machine"
  ]
 },
 "MachineNotStalled": {
  "code": "machine-not-stalled",
  "problem": "Machine {machine} is not stalled",
  "advice": "there is nothing to recover.",
  "fields": [
   "machine"
  ]
 },
 "MachineRetiredAlready": {
  "code": "machine-retired-already",
  "problem": "Machine {machine} has retired",
  "advice": "choose another, or register it anew.",
  "fields": [
   "machine"
  ]
 },
 "MachineStalled": {
  "code": "machine-stalled",
  "problem": "Machine {machine} left a lease unstarted and takes none until it is recovered",
  "advice": "choose another.",
  "fields": [
   "machine"
  ]
 },
 "MachineUnderStaked": {
  "code": "machine-under-staked",
  "problem": "Machine {machine} has less stake than it needs",
  "advice": "choose another; its provider can add stake.",
  "fields": [
   "machine"
  ]
 },
 "MachineUnverified": {
  "code": "machine-unverified",
  "problem": "Nobody has measured machine {machine}",
  "advice": "allow an unverified machine, to rent it all the same.",
  "fields": [
   "machine"
  ]
 },
 "NoFreeCells": {
  "code": "no-free-cells",
  "problem": "Machine {machine} has no room for that share (busy cells {busy:#x})",
  "advice": "take a smaller one or another machine.",
  "fields": [
   "machine",
   "busy"
  ]
 },
 "NoProposal": {
  "code": "no-proposal",
  "problem": "No parameters are proposed",
  "advice": "there is nothing to cancel.",
  "fields": []
 },
 "NotAuthorized": {
  "code": "not-authorized",
  "problem": "{actor} may not do this",
  "advice": "use the key of the tenant, provider or operator it belongs to.",
  "fields": [
   "actor"
  ]
 },
 "NotAvailableUntil": {
  "code": "not-available-until",
  "problem": "The lease would end {end:utc}, after the machine leaves at {available_until:utc}",
  "advice": "choose a shorter one.",
  "fields": [
   "end",
   "available_until"
  ]
 },
 "NotSpot": {
  "code": "not-spot",
  "problem": "Machine {machine} sells no spot leases",
  "advice": "leave `spot` out, or choose another machine.",
  "fields": [
   "machine"
  ]
 },
 "NothingLeftFor": {
  "code": "nothing-left-for",
  "problem": "Lease {lease:lease} has {left:money} left and its backup needs {needed:money} for its shortest lease",
  "advice": "rent another machine instead.",
  "fields": [
   "lease",
   "needed",
   "left"
  ]
 },
 "NothingToClaim": {
  "code": "nothing-to-claim",
  "problem": "Lease {lease:lease} has nothing to claim yet",
  "advice": "try again later.",
  "fields": [
   "lease"
  ]
 },
 "OfferExpired": {
  "code": "offer-expired",
  "problem": "The offer expired {deadline:utc}",
  "advice": "ask the provider for a new one.",
  "fields": [
   "deadline"
  ]
 },
 "OfferMismatch": {
  "code": "offer-mismatch",
  "problem": "The offer does not cover what is asked for (`{field}`)",
  "advice": "stay inside the offer, or ask for another.",
  "fields": [
   "field"
  ]
 },
 "OfferUsed": {
  "code": "offer-used",
  "problem": "The offer with nonce {nonce} is used up or was cancelled",
  "advice": "ask the provider for a new one.",
  "fields": [
   "nonce"
  ]
 },
 "ParamsOutdated": {
  "code": "params-outdated",
  "problem": "The machine accepted the pool's parameters {accepted} and {current} are in force",
  "advice": "its provider has to set its terms again.",
  "fields": [
   "accepted",
   "current"
  ]
 },
 "Paused": {
  "code": "paused",
  "problem": "The pool takes no new leases or machines for now",
  "advice": "try again later; everything else still works.",
  "fields": []
 },
 "PriceTooHigh": {
  "code": "price-too-high",
  "problem": "The machine asks {price:money} per GPU-hour and your limit is {max_price:money}",
  "advice": "raise it or choose another machine.",
  "fields": [
   "price",
   "max_price"
  ]
 },
 "ProposalPending": {
  "code": "proposal-pending",
  "problem": "Parameters are already proposed, in force at {in_force_at:utc}",
  "advice": "cancel them first, or wait.",
  "fields": [
   "in_force_at"
  ]
 },
 "RevisionChanged": {
  "code": "revision-changed",
  "problem": "The machine's terms or hardware have changed (now revision {current})",
  "advice": "look at them and rent again.",
  "fields": [
   "current"
  ]
 },
 "SelfTransfer": {
  "code": "self-transfer",
  "problem": "That transfer goes back to the pool itself",
  "advice": "name another account.",
  "fields": []
 },
 "ShareTooSmall": {
  "code": "share-too-small",
  "problem": "The machine leases no less than {smallest} cells, not {share}",
  "advice": "take that, or another machine.",
  "fields": [
   "share",
   "smallest"
  ]
 },
 "SlashPending": {
  "code": "slash-pending",
  "problem": "Machine {machine} has {count} faults that are not settled yet",
  "advice": "unstake once they are.",
  "fields": [
   "machine",
   "count"
  ]
 },
 "SlotExhausted": {
  "code": "slot-exhausted",
  "problem": "The slot of lease {lease:lease} has been used up",
  "advice": "open the lease without `reuse`.",
  "fields": [
   "lease"
  ]
 },
 "StakeLocked": {
  "code": "stake-locked",
  "problem": "The stake of machine {machine} is locked until {until:utc}",
  "advice": "unstake after that.",
  "fields": [
   "machine",
   "until"
  ]
 },
 "StartWindowOpen": {
  "code": "start-window-open",
  "problem": "Lease {lease:lease} may still be started until {deadline:utc}",
  "advice": "wait until then, or reject it.",
  "fields": [
   "lease",
   "deadline"
  ]
 },
 "StartWindowPassed": {
  "code": "start-window-passed",
  "problem": "Lease {lease:lease} had to be started by {deadline:utc}",
  "advice": "close it for a full refund and rent again.",
  "fields": [
   "lease",
   "deadline"
  ]
 },
 "TokenTakesFee": {
  "code": "token-takes-fee",
  "problem": "The token delivered {received:money} of {sent:money}",
  "advice": "tokens that take a fee on transfer cannot be used; choose another pool.",
  "fields": [
   "sent",
   "received"
  ]
 },
 "TrialOver": {
  "code": "trial-over",
  "problem": "The trial of lease {lease:lease} ended {deadline:utc}",
  "advice": "close it instead, which pays for the seconds used.",
  "fields": [
   "lease",
   "deadline"
  ]
 },
 "TrialRunning": {
  "code": "trial-running",
  "problem": "The trial of lease {lease:lease} runs until {until:utc}",
  "advice": "resize after that, or reject it and rent another share.",
  "fields": [
   "lease",
   "until"
  ]
 },
 "UnderNotice": {
  "code": "under-notice",
  "problem": "The provider gave notice on lease {lease:lease}",
  "advice": "it cannot be extended; rent another machine in time.",
  "fields": [
   "lease"
  ]
 },
 "UnknownLease": {
  "code": "unknown-lease",
  "problem": "There is no lease {lease:lease} in this pool",
  "advice": "look for it among your leases.",
  "fields": [
   "lease"
  ]
 },
 "UnknownMachine": {
  "code": "unknown-machine",
  "problem": "There is no machine {machine} in this pool",
  "advice": "look for it among the pool's machines.",
  "fields": [
   "machine"
  ]
 },
 "Unlicensed": {
  "code": "unlicensed",
  "problem": "{provider} has no licence for this pool",
  "advice": "ask its owner for one, or join a pool that is open to all.",
  "fields": [
   "provider"
  ]
 },
 "WrongBackup": {
  "code": "wrong-backup",
  "problem": "That is not the backup that lease {lease:lease} named when it was opened",
  "advice": "give its machine, revision, placement and workload exactly.",
  "fields": [
   "lease"
  ]
 },
 "WrongMachine": {
  "code": "wrong-machine",
  "problem": "Lease {lease:lease} is not on machine {machine}",
  "advice": "leave it out of the leases to settle.",
  "fields": [
   "lease",
   "machine"
  ]
 },
 "WrongProof": {
  "code": "wrong-proof",
  "problem": "The signature is not one of {account}, over exactly this",
  "advice": "let it sign again.",
  "fields": [
   "account"
  ]
 },
 "WrongState": {
  "code": "wrong-state",
  "problem": "Lease {lease:lease} is {state:state}, in which this cannot be done",
  "advice": "look at the lease again.",
  "fields": [
   "lease",
   "state"
  ]
 },
 "ZeroAddress": {
  "code": "zero-address",
  "problem": "The zero address cannot be used here",
  "advice": "name a real account.",
  "fields": []
 },
 "ZeroAmount": {
  "code": "zero-amount",
  "problem": "The amount is zero",
  "advice": "name a positive one.",
  "fields": []
 },
 "CapExceeded": {
  "code": "cap-exceeded",
  "problem": "The delegate would have spent {spent:money} of the {cap:money} it may",
  "advice": "wait for the next period, or let the account raise the cap.",
  "fields": [
   "spent",
   "cap"
  ]
 },
 "DelegationExpired": {
  "code": "delegation-expired",
  "problem": "The delegation ended {expiry:utc}",
  "advice": "let the account set it anew.",
  "fields": [
   "expiry"
  ]
 },
 "DuplicateSignature": {
  "code": "duplicate-signature",
  "problem": "Signature {index} is of a signer who has signed before",
  "advice": "collect one of another signer.",
  "fields": [
   "index"
  ]
 },
 "ExpiredDeadline": {
  "code": "expired-deadline",
  "problem": "The signed calls had to be sent by {deadline:utc}",
  "advice": "sign them again.",
  "fields": [
   "deadline"
  ]
 },
 "InvalidNonce": {
  "code": "invalid-nonce",
  "problem": "The signed calls carry nonce {nonce} where {expected} is next",
  "advice": "sign them again with that.",
  "fields": [
   "nonce",
   "expected"
  ]
 },
 "InvalidProof": {
  "code": "invalid-proof",
  "problem": "The signature is not one of {account}",
  "advice": "sign with its key, over exactly these calls.",
  "fields": [
   "account"
  ]
 },
 "InvalidSigners": {
  "code": "invalid-signers",
  "problem": "Signer {index} of the group is zero, named twice or out of order",
  "advice": "name each signer once, in ascending order.",
  "fields": [
   "index"
  ]
 },
 "InvalidTarget": {
  "code": "invalid-target",
  "problem": "{target} is not a pool of this factory",
  "advice": "signed calls reach only pools.",
  "fields": [
   "target"
  ]
 },
 "InvalidThreshold": {
  "code": "invalid-threshold",
  "problem": "{threshold} of {signers} signers make no group",
  "advice": "name 1 to 16 signers, and a threshold of at most so many.",
  "fields": [
   "threshold",
   "signers"
  ]
 },
 "MalformedProof": {
  "code": "malformed-proof",
  "problem": "The proof cannot be read",
  "advice": "put the signatures together again.",
  "fields": []
 },
 "MalleableSignature": {
  "code": "malleable-signature",
  "problem": "The signature of {signer} has a high s, which could be altered",
  "advice": "let it sign again with an up-to-date wallet.",
  "fields": [
   "signer"
  ]
 },
 "Nested": {
  "code": "nested",
  "problem": "Signed calls cannot contain signed calls",
  "advice": "put them into one list.",
  "fields": []
 },
 "NoCalls": {
  "code": "no-calls",
  "problem": "There are no calls to make",
  "advice": "name at least one.",
  "fields": []
 },
 "NotDeployed": {
  "code": "not-deployed",
  "problem": "The account {account} is not deployed yet",
  "advice": "deploy it first.",
  "fields": [
   "account"
  ]
 },
 "ScopeExceeded": {
  "code": "scope-exceeded",
  "problem": "A delegate may not make the call {selector}",
  "advice": "only open, extend, close, reject, resize and setWorkload; let the account itself make it.",
  "fields": [
   "selector"
  ]
 },
 "UnorderedSignatures": {
  "code": "unordered-signatures",
  "problem": "Signature {index} is out of order",
  "advice": "put the signatures in the order of the group's signers.",
  "fields": [
   "index"
  ]
 },
 "WrongGroup": {
  "code": "wrong-group",
  "problem": "These signers make the group {derived}, not {account}",
  "advice": "check the threshold, the signers and the salt.",
  "fields": [
   "account",
   "derived"
  ]
 },
 "WrongSignature": {
  "code": "wrong-signature",
  "problem": "The signature is not one of {signer}, over exactly this",
  "advice": "let it sign again.",
  "fields": [
   "account"
  ]
 },
 "ERC20InsufficientBalance": {
  "code": "erc20-insufficient-balance",
  "problem": "{sender} holds {balance:money} and {needed:money} are needed",
  "advice": "get more of the token, then try again.",
  "fields": [
   "sender",
   "balance",
   "needed"
  ]
 },
 "ERC20InsufficientAllowance": {
  "code": "erc20-insufficient-allowance",
  "problem": "{spender} may take {allowance:money} from the wallet and {needed:money} are needed",
  "advice": "let it take that first.",
  "fields": [
   "spender",
   "allowance",
   "needed"
  ]
 },
 "ERC2612ExpiredSignature": {
  "code": "erc2612-expired-signature",
  "problem": "The permit expired {deadline:utc}",
  "advice": "sign a new one.",
  "fields": [
   "deadline"
  ]
 },
 "ERC2612InvalidSigner": {
  "code": "erc2612-invalid-signer",
  "problem": "The permit is signed by {signer}, not by {owner}",
  "advice": "sign it with the owner's key.",
  "fields": [
   "signer",
   "owner"
  ]
 },
 "SafeERC20FailedOperation": {
  "code": "safe-erc20-failed-operation",
  "problem": "The token {token} refused the transfer",
  "advice": "check the wallet's balance and its approval of the pool.",
  "fields": [
   "token"
  ]
 },
 "SafeCastOverflowedUintDowncast": {
  "code": "safe-cast-overflowed-uint-downcast",
  "problem": "{value} does not fit into {bits} bits",
  "advice": "use a smaller amount or duration.",
  "fields": [
   "bits",
   "value"
  ]
 },
 "ReentrancyGuardReentrantCall": {
  "code": "reentrancy-guard-reentrant-call",
  "problem": "The pool was called from inside one of its own calls",
  "advice": "send the calls one after another.",
  "fields": []
 },
 "AlreadyDown": {
  "code": "already-down",
  "problem": "Machine {machine} is down already (fault {fault})",
  "advice": "there is nothing to report.",
  "fields": [
   "machine",
   "fault"
  ]
 },
 "AppealOpen": {
  "code": "appeal-open",
  "problem": "Fault {fault} may be appealed or ruled on, and tenants register what they lost, until {deadline:utc}",
  "advice": "execute it after that.",
  "fields": [
   "fault",
   "deadline"
  ]
 },
 "AppealOver": {
  "code": "appeal-over",
  "problem": "Fault {fault} could be appealed until {deadline:utc}",
  "advice": "it stands now.",
  "fields": [
   "fault",
   "deadline"
  ]
 },
 "ChallengeLapsed": {
  "code": "challenge-lapsed",
  "problem": "The challenge of machine {machine} had to be answered by {deadline:utc}",
  "advice": "for an hour after that anybody may prove it, then it is over.",
  "fields": [
   "machine",
   "deadline"
  ]
 },
 "ChallengeStands": {
  "code": "challenge-stands",
  "problem": "Machine {machine} is challenged until {until:utc}",
  "advice": "its operator answers first, or anybody proves it in the hour after that.",
  "fields": [
   "machine",
   "until"
  ]
 },
 "NoChallenge": {
  "code": "no-challenge",
  "problem": "Machine {machine} is not challenged",
  "advice": "there is nothing to answer or to prove.",
  "fields": [
   "machine"
  ]
 },
 "NobodyRules": {
  "code": "nobody-rules",
  "problem": "The rules that judge fault {fault} name no arbiter",
  "advice": "there is no appeal, and it stands.",
  "fields": [
   "fault"
  ]
 },
 "NotATenant": {
  "code": "not-a-tenant",
  "problem": "{actor} has no running lease {lease:lease}",
  "advice": "only a tenant of the machine challenges it.",
  "fields": [
   "lease",
   "actor"
  ]
 },
 "NotDown": {
  "code": "not-down",
  "problem": "Machine {machine} is not down",
  "advice": "there is nothing to end or to roll.",
  "fields": [
   "machine"
  ]
 },
 "NothingToApply": {
  "code": "nothing-to-apply",
  "problem": "Fault {fault} takes nothing off these leases",
  "advice": "name leases that ran during the outage.",
  "fields": [
   "fault"
  ]
 },
 "OutageOutOfRange": {
  "code": "outage-out-of-range",
  "problem": "An outage from {from_:utc} to {to:utc} cannot be filed",
  "advice": "name a time after the last one and inside the filing window.",
  "fields": [
   "from_",
   "to"
  ]
 },
 "OutageTooShort": {
  "code": "outage-too-short",
  "problem": "The outage has not reached the highest tier",
  "advice": "file it after {until:utc}, or let it end.",
  "fields": [
   "until"
  ]
 },
 "ReportedAlready": {
  "code": "reported-already",
  "problem": "What verification {round} found was reported already",
  "advice": "look at the pool's faults.",
  "fields": [
   "round"
  ]
 },
 "RulingOver": {
  "code": "ruling-over",
  "problem": "Fault {fault} could be ruled on until {deadline:utc}",
  "advice": "it stands now.",
  "fields": [
   "fault",
   "deadline"
  ]
 },
 "UnknownFault": {
  "code": "unknown-fault",
  "problem": "There is no fault {fault} in this pool",
  "advice": "check its number.",
  "fields": [
   "fault"
  ]
 },
 "WrongFaultState": {
  "code": "wrong-fault-state",
  "problem": "Fault {fault} is {state:fault}, in which this cannot be done",
  "advice": "look at it again.",
  "fields": [
   "fault",
   "state"
  ]
 },
 "WrongLease": {
  "code": "wrong-lease",
  "problem": "Lease {lease:lease} is not on machine {machine}",
  "advice": "name one of that machine.",
  "fields": [
   "lease",
   "machine"
  ]
 }
};
