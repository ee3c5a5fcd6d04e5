"""What each of the contracts' errors means for the person who meets it, and what to do next.

Arguments stand in braces; `:utc` shows a time, `:span` a number of seconds, `:lease` a lease's id, `:state` a lease's
state, `:fault` a fault's, `:round` a verification's, `:money` an amount: in token units, unless whoever shows the error
knows the token. A new custom error needs a sentence here before scripts/abi.py accepts it.
"""

# ruff: noqa: E501

SENTENCES: dict[str, str] = {
    # who and what
    "NotAuthorized": "{actor} may not do this: use the key of the tenant, provider or operator it belongs to.",
    "Paused": "The pool takes no new leases or machines for now: try again later; everything else still works.",
    "ZeroAddress": "The zero address cannot be used here: name a real account.",
    "ZeroAmount": "The amount is zero: name a positive one.",
    "InsufficientBalance": (
        "{account} has {balance:money} where {needed:money} are needed: deposit more, or approve the pool to take the rest."
    ),
    "TokenTakesFee": (
        "The token delivered {received:money} of {sent:money}: tokens that take a fee on transfer cannot be used; choose another pool."
    ),
    "SelfTransfer": "That transfer goes back to the pool itself: name another account.",
    # machines
    "UnknownMachine": "There is no machine {machine} in this pool: look it up with `leasehold machines`.",
    "InvalidGpuCount": "A machine has 1 to 8 GPUs, not {gpus}: register a larger host as several machines.",
    "InvalidCells": "The machine has not all of the cells {cells:#x}: name cells of its own GPUs, bit 8 × gpu + cell.",
    "InvalidTerms": "The terms' `{field}` is out of bounds: correct it and send them again.",
    "InvalidParams": "The parameters' `{field}` is out of bounds: correct it and propose them again.",
    "MachineRetiredAlready": "Machine {machine} has retired: choose another, or register it anew.",
    "MachineNotRetired": "Machine {machine} has not retired: run `leasehold provider retire {machine}` first.",
    "MachineDelisted": "Machine {machine} is delisted and takes no new lease: choose another.",
    "MachineUnderStaked": (
        "Machine {machine} has less stake than it needs: choose another; its provider can run `leasehold provider stake {machine}`."
    ),
    "MachineStalled": (
        "Machine {machine} left a lease unstarted and takes none until `leasehold provider recover {machine}`: choose another."
    ),
    "MachineNotDown": "Machine {machine} is not down: there is nothing to fail over from.",
    "MachineNotStalled": "Machine {machine} is not stalled: there is nothing to recover.",
    "MachineUnverified": "Nobody has measured machine {machine}: pass --allow-unverified to rent it all the same.",
    "MachineBusy": "Machine {machine} still has leased cells ({leased:#x}): wait until its leases have ended.",
    "SlashPending": "Machine {machine} has {count} faults that are not settled yet: unstake once they are.",
    "StakeLocked": "The stake of machine {machine} is locked until {until:utc}: unstake after that.",
    "RevisionChanged": "The machine's terms or hardware have changed (now revision {current}): look at them and rent again.",
    "ParamsOutdated": (
        "The machine accepted the pool's parameters {accepted} and {current} are in force: its provider has to set its terms again."
    ),
    # leases
    "UnknownLease": "There is no lease {lease:lease} in this pool: look it up with `leasehold leases`.",
    "WrongState": "Lease {lease:lease} is {state:state}, in which this cannot be done: see `leasehold show {lease:lease}`.",
    "InvalidShare": "A share is 1, 2 or 4 cells of a GPU, or 8 for each whole GPU, not {share}: choose one of these.",
    "ShareTooSmall": "The machine leases no less than {smallest} cells, not {share}: take that, or another machine.",
    "InvalidPlacement": "Placement {placement:#06x} names no valid place on this machine: leave it out to let the pool choose.",
    "NoFreeCells": "Machine {machine} has no room for that share (busy cells {busy:#x}): take a smaller one or another machine.",
    "PriceTooHigh": (
        "The machine asks {price:money} per GPU-hour and your limit is {max_price:money}: raise it or choose another machine."
    ),
    "DurationOutOfRange": "{duration:span} is outside the machine's {min:span} to {max:span}: choose a duration between them.",
    "NotAvailableUntil": "The lease would end {end:utc}, after the machine leaves at {available_until:utc}: choose a shorter one.",
    "StartWindowPassed": "Lease {lease:lease} had to be started by {deadline:utc}: close it for a full refund and rent again.",
    "StartWindowOpen": "Lease {lease:lease} may still be started until {deadline:utc}: wait until then, or reject it.",
    "TrialOver": "The trial of lease {lease:lease} ended {deadline:utc}: close it instead, which pays for the seconds used.",
    "LeaseNotOver": "Lease {lease:lease} runs until {end:utc}: only its tenant can close it before.",
    "LeaseOver": "Lease {lease:lease} ended {end:utc}: close it and rent again.",
    "UnderNotice": "The provider gave notice on lease {lease:lease}: it cannot be extended; rent another machine in time.",
    "NothingToClaim": "Lease {lease:lease} has nothing to claim yet: try again later.",
    "WrongMachine": "Lease {lease:lease} is not on machine {machine}: leave it out of the leases to settle.",
    "SlotExhausted": "The slot of lease {lease:lease} has been used up: open the lease without `reuse`.",
    "MachineDown": "Machine {machine} has been down since {since:utc}: wait until it is back, or choose another.",
    "NotSpot": "Machine {machine} sells no spot leases: leave `spot` out, or choose another machine.",
    "WrongBackup": (
        "That is not the backup that lease {lease:lease} named when it was opened: give its machine, revision, placement and workload exactly."
    ),
    "NothingLeftFor": (
        "Lease {lease:lease} has {left:money} left and its backup needs {needed:money} for its shortest lease: rent another machine instead."
    ),
    "TrialRunning": "The trial of lease {lease:lease} runs until {until:utc}: resize after that, or reject it and rent another share.",
    "OfferExpired": "The offer expired {deadline:utc}: ask the provider for a new one.",
    "OfferUsed": "The offer with nonce {nonce} is used up or was cancelled: ask the provider for a new one.",
    "OfferMismatch": "The offer does not cover what is asked for (`{field}`): stay inside the offer, or ask for another.",
    "AcceptanceUsed": "That acceptance ({digest}) has been used once: let the new tenant sign again with another deadline.",
    "ConsentExpired": (
        "The operator's consent expired {deadline:utc}: have the host describe itself again (`leasehold-agent describe`)."
    ),
    "InvalidSmallestShare": "The smallest share is 1, 2, 4 or 8 cells, not {share}: choose one of these.",
    "Unlicensed": "{provider} has no licence for this pool: ask its owner for one, or join a pool that is open to all.",
    "WrongProof": "The signature is not one of {account}, over exactly this: let it sign again.",
    # the pool
    "NoProposal": "No parameters are proposed: there is nothing to cancel.",
    "ProposalPending": "Parameters are already proposed, in force at {in_force_at:utc}: cancel them first, or wait.",
    "TokenDecimals": "The token has {decimals} decimals and a pool takes 6 to 18: choose another token.",
    "AlreadyInitialized": "The contract is set up already: there is nothing to do.",
    "WrongAccounts": "{accounts} is not the Accounts contract of this factory: deploy the contracts together.",
    # acting for an account
    "ExpiredDeadline": "The signed calls had to be sent by {deadline:utc}: sign them again.",
    "InvalidNonce": "The signed calls carry nonce {nonce} where {expected} is next: sign them again with that.",
    "InvalidProof": "The signature is not one of {account}: sign with its key, over exactly these calls.",
    "InvalidTarget": "{target} is not a pool of this factory: signed calls reach only pools.",
    "NoCalls": "There are no calls to make: name at least one.",
    "MalformedProof": "The proof cannot be read: put the signatures together again with `leasehold group execute`.",
    "InvalidThreshold": "{threshold} of {signers} signers make no group: name 1 to 16 signers, and a threshold of at most so many.",
    "InvalidSigners": "Signer {index} of the group is zero, named twice or out of order: name each signer once, in ascending order.",
    "WrongGroup": "These signers make the group {derived}, not {account}: check the threshold, the signers and the salt.",
    "UnorderedSignatures": "Signature {index} is out of order: put the signatures in the order of the group's signers.",
    "DuplicateSignature": "Signature {index} is of a signer who has signed before: collect one of another signer.",
    "MalleableSignature": "The signature of {signer} has a high s, which could be altered: let it sign again with an up-to-date wallet.",
    "WrongSignature": "The signature is not one of {signer}, over exactly this: let it sign again.",
    "NotDeployed": "The account {account} is not deployed yet: run `leasehold group deploy` first.",
    "ScopeExceeded": (
        "A delegate may not make the call {selector}: only open, extend, close, reject, resize and setWorkload; let the account itself make it."
    ),
    "CapExceeded": (
        "The delegate would have spent {spent:money} of the {cap:money} it may: wait for the next period, or let the account raise the cap."
    ),
    "DelegationExpired": "The delegation ended {expiry:utc}: let the account set it anew with `leasehold delegate set`.",
    "Nested": "Signed calls cannot contain signed calls: put them into one list.",
    # verification by committee
    "UnknownVersion": "Version {version} of the parameters is not in force and never was: buy a seat for one that is, see `leasehold pool params`.",
    "TooManyLevels": "Seats have been sold at 32 prices, and at no other: buy one for an earlier version of the parameters.",
    "NothingForQuorum": "These signers have nothing coming, or to lose: name those of one attestation, in their order.",
    "UnknownSeat": "There is no seat {seat} in this pool: see `leasehold validator list`.",
    "SeatNotMatured": "Seat {seat} matures {matures_at:utc}: try again after that.",
    "SeatLeavingAlready": "Seat {seat} is leaving already: take its stake out with `exit` once its time is up.",
    "SeatNotLeaving": "Seat {seat} has not begun to leave: run `leave` first.",
    "SeatLocked": "The stake of seat {seat} is locked until {until:utc}: exit after that.",
    "UnknownRound": "There is no verification {round} in this pool: check its number.",
    "WrongRoundState": "Verification {round} is {state:round}, in which this cannot be done: look at it again.",
    "TooSoon": "Machine {machine} was verified lately: ask again after {next_at:utc}.",
    "WrongRevision": "The machine is at revision {current} now: look at it and ask again for that one.",
    "MachineNotInService": "Machine {machine} is not in service, so there is nothing to measure: choose another.",
    "RoundRunning": "Machine {machine} is being verified already (verification {round}): wait until it has ended.",
    "BlockNotMined": "The committee is drawn with the hash of block {block_}: try again once it is mined.",
    "TooFewSeats": "There are {seats} seats that may be drawn and {needed} are needed: try again when more validators have joined.",
    "NotDrawn": "Seat {seat} is not of the committee of verification {round}: use the seat that was drawn.",
    "CommitOver": "Verification {round} took commitments until {until:utc}: there is nothing left to commit.",
    "RevealNotOpen": "Verification {round} takes reveals from {from_:utc} on: reveal then.",
    "RevealOver": "Verification {round} took reveals until {until:utc}: it is too late to reveal.",
    "RoundOpen": "Verification {round} runs until {until:utc}: finalize it after that.",
    "AlreadyCommitted": "Seat {seat} has committed in verification {round} already: reveal that commitment.",
    "WrongReveal": "That is not what seat {seat} committed in verification {round}: reveal the very values and salt.",
    "InvalidScore": "A score is 0 to 1000, not {score}: correct it.",
    # outages and faults
    "UnknownFault": "There is no fault {fault} in this pool: check its number.",
    "WrongFaultState": "Fault {fault} is {state:fault}, in which this cannot be done: look at it again.",
    "AlreadyDown": "Machine {machine} is down already (fault {fault}): there is nothing to report.",
    "NotDown": "Machine {machine} is not down: there is nothing to end or to roll.",
    "ChallengeStands": "Machine {machine} is challenged until {until:utc}: its operator answers first, or anybody proves it in the hour after that.",
    "NoChallenge": "Machine {machine} is not challenged: there is nothing to answer or to prove.",
    "ChallengeLapsed": "The challenge of machine {machine} had to be answered by {deadline:utc}: for an hour after that anybody may prove it, then it is over.",
    "NotATenant": "{actor} has no running lease {lease:lease}: only a tenant of the machine challenges it.",
    "WrongLease": "Lease {lease:lease} is not on machine {machine}: name one of that machine.",
    "NoQuorum": "Too few validators have signed: collect more than two thirds of the matured seats, of at least five validators.",
    "OutageOutOfRange": "An outage from {from_:utc} to {to:utc} cannot be filed: name a time after the last one and inside the filing window.",
    "OutageTooShort": "The outage has not reached the highest tier: file it after {until:utc}, or let it end.",
    "AppealOver": "Fault {fault} could be appealed until {deadline:utc}: it stands now.",
    "AppealOpen": "Fault {fault} may be appealed or ruled on, and tenants register what they lost, until {deadline:utc}: execute it after that.",
    "RulingOver": "Fault {fault} could be ruled on until {deadline:utc}: it stands now.",
    "ReportedAlready": "What verification {round} found was reported already: see `leasehold faults`.",
    "NobodyRules": "The rules that judge fault {fault} name no arbiter: there is no appeal, and it stands.",
    "NothingToApply": "Fault {fault} takes nothing off these leases: name leases that ran during the outage.",
    "NoFalseHardware": "Verification {round} found no other hardware than declared: there is nothing to report.",
    # reputation and directory
    "InvalidStars": "A rating has 1 to 5 stars, not {stars}: correct it.",
    "NotRateable": "Lease {lease:lease} cannot be rated: rate leases of your own that have ended and were paid.",
    "RatedAlready": "Lease {lease:lease} has been rated: a lease is rated once.",
    "UnknownKind": "There is no service of the kind `{kind}`: use access, scheduler, gateway, ipfs or seed.",
    # the token and OpenZeppelin's libraries
    "ERC20InsufficientBalance": (
        "{sender} holds {balance:money} and {needed:money} are needed: get more of the token, then try again."
    ),
    "ERC20InsufficientAllowance": (
        "{spender} may take {allowance:money} from the wallet and {needed:money} are needed: run `leasehold wallet approve` first."
    ),
    "ERC2612ExpiredSignature": "The permit expired {deadline:utc}: sign a new one.",
    "ERC2612InvalidSigner": "The permit is signed by {signer}, not by {owner}: sign it with the owner's key.",
    "SafeERC20FailedOperation": "The token {token} refused the transfer: check the wallet's balance and its approval of the pool.",
    "SafeCastOverflowedUintDowncast": "{value} does not fit into {bits} bits: use a smaller amount or duration.",
    "ReentrancyGuardReentrantCall": "The pool was called from inside one of its own calls: send the calls one after another.",
    # anything else
    "Reverted": "The contract refused, saying: {reason}",
    "Panicked": "The contract stopped with panic code {code:#x}, which is a bug: please report the call that caused it.",
    "UnknownRevert": (
        "The contract refused with data this version does not know ({data}): check the deployment file and update leasehold."
    ),
}
