"""What each of the contracts' errors means for the person who meets it, and what to do next.

Arguments stand in braces; `:utc` shows a time, `:span` a number of seconds, `:lease` a lease's id, `:state` a lease's
state. Amounts are in token units. A new custom error needs a sentence here before scripts/abi.py accepts it.
"""

# ruff: noqa: E501

SENTENCES: dict[str, str] = {
    # who and what
    "NotAuthorized": "{actor} may not do this: use the key of the tenant, provider or operator it belongs to.",
    "Unsupported": "This pool does not serve `{what}` yet: leave it out of the request.",
    "Paused": "The pool takes no new leases or machines for now: try again later; everything else still works.",
    "ZeroAddress": "The zero address cannot be used here: name a real account.",
    "ZeroAmount": "The amount is zero: name a positive one.",
    "InsufficientBalance": (
        "{account} has {balance} token units where {needed} are needed: deposit more, or approve the pool to take the rest."
    ),
    "TokenTakesFee": (
        "The token delivered {received} of {sent} units: tokens that take a fee on transfer cannot be used; choose another pool."
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
    "MachineNotStalled": "Machine {machine} is not stalled: there is nothing to recover.",
    "MachineUnverified": "Nobody has measured machine {machine}: pass --allow-unverified to rent it all the same.",
    "MachineBusy": "Machine {machine} still has leased cells ({leased:#x}): wait until its leases have ended.",
    "StakeLocked": "The stake of machine {machine} is locked until {until:utc}: unstake after that.",
    "RevisionChanged": "The machine's terms or hardware have changed (now revision {current}): look at them and rent again.",
    "ParamsOutdated": (
        "The machine accepted the pool's parameters {accepted} and {current} are in force: its provider has to set its terms again."
    ),
    # leases
    "UnknownLease": "There is no lease {lease:lease} in this pool: look it up with `leasehold leases`.",
    "WrongState": "Lease {lease:lease} is {state:state}, in which this cannot be done: see `leasehold show {lease:lease}`.",
    "InvalidShare": "A share is 1, 2 or 4 cells of a GPU, or 8 for each whole GPU, not {share}: choose one of these.",
    "InvalidPlacement": "Placement {placement:#06x} names no valid place on this machine: leave it out to let the pool choose.",
    "NoFreeCells": "Machine {machine} has no room for that share (busy cells {busy:#x}): take a smaller one or another machine.",
    "PriceTooHigh": (
        "The machine asks {price} token units per GPU-hour and your limit is {max_price}: raise it or choose another machine."
    ),
    "DurationOutOfRange": "{duration:span} is outside the machine's {min:span} to {max:span}: choose a duration between them.",
    "NotAvailableUntil": "The lease would end {end:utc}, after the machine leaves at {available_until:utc}: choose a shorter one.",
    "StartWindowPassed": "Lease {lease:lease} had to be started by {deadline:utc}: cancel it for a full refund and rent again.",
    "StartWindowOpen": "Lease {lease:lease} may still be started until {deadline:utc}: wait until then, or reject it.",
    "TrialOver": "The trial of lease {lease:lease} ended {deadline:utc}: close it instead, which pays for the seconds used.",
    "LeaseNotOver": "Lease {lease:lease} runs until {end:utc}: only its tenant can close it before.",
    "LeaseOver": "Lease {lease:lease} ended {end:utc}: close it and rent again.",
    "UnderNotice": "The provider gave notice on lease {lease:lease}: it cannot be extended; rent another machine in time.",
    "NothingToClaim": "Lease {lease:lease} has nothing to claim yet: try again later.",
    "WrongMachine": "Lease {lease:lease} is not on machine {machine}: leave it out of the leases to settle.",
    "SlotExhausted": "The slot of lease {lease:lease} has been used up: open the lease without `reuse`.",
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
    "Nested": "Signed calls cannot contain signed calls: put them into one list.",
    # the token and OpenZeppelin's libraries
    "ERC20InsufficientBalance": (
        "{sender} holds {balance} token units and {needed} are needed: get more of the token, then try again."
    ),
    "ERC20InsufficientAllowance": (
        "{spender} may take {allowance} token units from the wallet and {needed} are needed: run `leasehold wallet approve` first."
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
