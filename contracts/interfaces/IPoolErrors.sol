// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title Why a pool refuses.
interface IPoolErrors {
    /// @notice {actor} may not do this: use the key of the tenant, provider or operator it belongs to.
    error NotAuthorized(address actor);
    /// @notice The pool takes no new leases or machines for now: try again later; everything else still works.
    error Paused();
    /// @notice The zero address cannot be used here: name a real account.
    error ZeroAddress();
    /// @notice The amount is zero: name a positive one.
    error ZeroAmount();
    /// @notice {account} has {balance:money} where {needed:money} are needed: deposit more, or approve the pool to take
    /// the rest.
    error InsufficientBalance(address account, uint256 balance, uint256 needed);
    /// @notice The token delivered {received:money} of {sent:money}: tokens that take a fee on transfer cannot be used;
    /// choose another pool.
    error TokenTakesFee(uint256 sent, uint256 received);
    /// @notice That transfer goes back to the pool itself: name another account.
    error SelfTransfer();
    /// @notice The contract is set up already: there is nothing to do.
    error AlreadyInitialized();

    /// @notice There is no machine {machine} in this pool: look for it among the pool's machines.
    error UnknownMachine(uint32 machine);
    /// @notice A machine has 1 to 8 GPUs, not {gpus}: register a larger host as several machines.
    error InvalidGpuCount(uint8 gpus);
    /// @notice The smallest share is 1, 2, 4 or 8 cells, not {share}: choose one of these.
    error InvalidSmallestShare(uint8 share);
    /// @notice The operator's consent expired {deadline:utc}: have the host describe itself again.
    error ConsentExpired(uint256 deadline);
    /// @notice The machine has not all of the cells {cells:#x}: name cells of its own GPUs, bit 8 × gpu + cell.
    error InvalidCells(uint64 cells);
    /// @notice The terms' `{field}` is out of bounds: correct it and send them again.
    error InvalidTerms(bytes32 field);
    /// @notice The parameters' `{field}` is out of bounds: correct it and propose them again.
    error InvalidParams(bytes32 field);
    /// @notice Machine {machine} has retired: choose another, or register it anew.
    error MachineRetiredAlready(uint32 machine);
    /// @notice Machine {machine} has not retired: retire it first.
    error MachineNotRetired(uint32 machine);
    /// @notice Machine {machine} is delisted and takes no new lease: choose another.
    error MachineDelisted(uint32 machine);
    /// @notice Machine {machine} has less stake than it needs: choose another; its provider can add stake.
    error MachineUnderStaked(uint32 machine);
    /// @notice Machine {machine} left a lease unstarted and takes none until it is recovered: choose another.
    error MachineStalled(uint32 machine);
    /// @notice Machine {machine} is not stalled: there is nothing to recover.
    error MachineNotStalled(uint32 machine);
    /// @notice Nobody has measured machine {machine}: allow an unverified machine, to rent it all the same.
    error MachineUnverified(uint32 machine);
    /// @notice Machine {machine} still has leased cells ({leased:#x}): wait until its leases have ended.
    error MachineBusy(uint32 machine, uint64 leased);
    /// @notice The stake of machine {machine} is locked until {until:utc}: unstake after that.
    error StakeLocked(uint32 machine, uint256 until);
    /// @notice Machine {machine} has {count} faults that are not settled yet: unstake once they are.
    error SlashPending(uint32 machine, uint8 count);
    /// @notice The machine's terms or hardware have changed (now revision {current}): look at them and rent again.
    error RevisionChanged(uint16 current);
    /// @notice The machine accepted the pool's parameters {accepted} and {current} are in force: its provider has to
    /// set its terms again.
    error ParamsOutdated(uint16 accepted, uint16 current);

    /// @notice There is no lease {lease:lease} in this pool: look for it among your leases.
    error UnknownLease(uint256 lease);
    /// @notice Lease {lease:lease} is {state:state}, in which this cannot be done: look at the lease again.
    error WrongState(uint256 lease, uint8 state);
    /// @notice A share is 1, 2 or 4 cells of a GPU, or 8 for each whole GPU, not {share}: choose one of these.
    error InvalidShare(uint8 share);
    /// @notice The machine leases no less than {smallest} cells, not {share}: take that, or another machine.
    error ShareTooSmall(uint8 share, uint8 smallest);
    /// @notice Placement {placement:#06x} names no valid place on this machine: leave it out to let the pool choose.
    error InvalidPlacement(uint16 placement);
    /// @notice Machine {machine} has no room for that share (busy cells {busy:#x}): take a smaller one or another
    /// machine.
    error NoFreeCells(uint32 machine, uint64 busy);
    /// @notice The machine asks {price:money} per GPU-hour and your limit is {maxPrice:money}: raise it or choose
    /// another machine.
    error PriceTooHigh(uint80 price, uint80 maxPrice);
    /// @notice {duration:span} is outside the machine's {min:span} to {max:span}: choose a duration between them.
    error DurationOutOfRange(uint256 duration, uint256 min, uint256 max);
    /// @notice The lease would end {end:utc}, after the machine leaves at {availableUntil:utc}: choose a shorter one.
    error NotAvailableUntil(uint256 end, uint256 availableUntil);
    /// @notice Lease {lease:lease} had to be started by {deadline:utc}: close it for a full refund and rent again.
    error StartWindowPassed(uint256 lease, uint256 deadline);
    /// @notice Lease {lease:lease} may still be started until {deadline:utc}: wait until then, or reject it.
    error StartWindowOpen(uint256 lease, uint256 deadline);
    /// @notice The trial of lease {lease:lease} ended {deadline:utc}: close it instead, which pays for the seconds
    /// used.
    error TrialOver(uint256 lease, uint256 deadline);
    /// @notice Lease {lease:lease} runs until {end:utc}: only its tenant can close it before.
    error LeaseNotOver(uint256 lease, uint256 end);
    /// @notice Lease {lease:lease} ended {end:utc}: close it and rent again.
    error LeaseOver(uint256 lease, uint256 end);
    /// @notice The provider gave notice on lease {lease:lease}: it cannot be extended; rent another machine in time.
    error UnderNotice(uint256 lease);
    /// @notice Lease {lease:lease} has nothing to claim yet: try again later.
    error NothingToClaim(uint256 lease);
    /// @notice Lease {lease:lease} is not on machine {machine}: leave it out of the leases to settle.
    error WrongMachine(uint256 lease, uint32 machine);
    /// @notice The slot of lease {lease:lease} has been used up: open the lease without `reuse`.
    error SlotExhausted(uint256 lease);
    /// @notice Machine {machine} has been down since {since:utc}: wait until it is back, or choose another.
    error MachineDown(uint32 machine, uint256 since);
    /// @notice Machine {machine} is not down: there is nothing to fail over from.
    error MachineNotDown(uint32 machine);
    /// @notice Machine {machine} sells no spot leases: leave `spot` out, or choose another machine.
    error NotSpot(uint32 machine);
    /// @notice That is not the backup that lease {lease:lease} named when it was opened: give its machine, revision,
    /// placement and workload exactly.
    error WrongBackup(uint256 lease);
    /// @notice Lease {lease:lease} has {left:money} left and its backup needs {needed:money} for its shortest lease:
    /// rent another machine instead.
    error NothingLeftFor(uint256 lease, uint256 needed, uint256 left);
    /// @notice The offer expired {deadline:utc}: ask the provider for a new one.
    error OfferExpired(uint256 deadline);
    /// @notice The offer with nonce {nonce} is used up or was cancelled: ask the provider for a new one.
    error OfferUsed(uint256 nonce);
    /// @notice The offer does not cover what is asked for (`{field}`): stay inside the offer, or ask for another.
    error OfferMismatch(bytes32 field);
    /// @notice That acceptance ({digest}) has been used once: let the new tenant sign again with another deadline.
    error AcceptanceUsed(bytes32 digest);
    /// @notice The trial of lease {lease:lease} runs until {until:utc}: resize after that, or reject it and rent
    /// another share.
    error TrialRunning(uint256 lease, uint256 until);
    /// @notice {provider} has no licence for this pool: ask its owner for one, or join a pool that is open to all.
    error Unlicensed(address provider);
    /// @notice The signature is not one of {account}, over exactly this: let it sign again.
    error WrongProof(address account);
    /// @notice No parameters are proposed: there is nothing to cancel.
    error NoProposal();
    /// @notice Parameters are already proposed, in force at {inForceAt:utc}: cancel them first, or wait.
    error ProposalPending(uint256 inForceAt);
}
