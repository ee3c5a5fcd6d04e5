// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params, Terms} from "./PoolTypes.sol";

/// @title What a pool says. Events carry the state after the change, so that an index never asks the chain.
interface IPoolEvents {
    // ------------------------------------------------------------------------------------------------ events: ledger

    /// @notice `from` paid `amount` into the ledger of `account`, which then held `balance`. Token units.
    event Deposited(address indexed account, address indexed from, uint256 amount, uint256 balance);
    /// @notice `amount` left the ledger of `account` for the wallet `to`; `balance` stayed. Token units.
    event Withdrawn(address indexed account, address indexed to, uint256 amount, uint256 balance);
    /// @notice `amount` went from one ledger to another inside the pool.
    event Transferred(address indexed from, address indexed to, uint256 amount);
    /// @notice The fees on what a provider had been paid went into the ledger of the pool's treasury.
    event FeesPulled(address indexed provider, address indexed treasury, uint256 amount);

    // ---------------------------------------------------------------------------------------------- events: machines

    /// @notice A provider staked and registered a machine, under the pool's rules of version `params`.
    /// @param smallestShare cells
    /// @param pulled what was taken from the provider's wallet by allowance; the rest of `stake` came from its ledger
    event MachineRegistered(
        uint32 indexed machine,
        address indexed provider,
        address indexed operator,
        uint8 gpus,
        uint8 smallestShare,
        uint96 stake,
        uint256 pulled
    );
    /// @notice A machine has new terms from this revision on, and has accepted the pool's rules of version `params`.
    event TermsSet(uint32 indexed machine, uint16 revision, uint16 params, Terms terms);
    /// @notice The terms of the revision before hold for this one too; the machine is Unverified again.
    /// @param digest SHA-256 of the hardware document; its CID is CIDv1(raw, sha2-256, digest)
    event HardwareSet(uint32 indexed machine, uint16 revision, bytes32 digest);
    /// @notice Where the machine's agent is reached has changed.
    /// @param digest SHA-256 of the contact document; its CID is CIDv1(raw, sha2-256, digest)
    event ContactSet(uint32 indexed machine, bytes32 digest);
    /// @notice Another key starts, declines and reports for the machine.
    event OperatorSet(uint32 indexed machine, address indexed operator);
    /// @notice The provider keeps `cells` from new leases, and no others; running leases keep theirs.
    event Withheld(uint32 indexed machine, uint64 cells);
    /// @notice One of the bits that decide whether the machine takes new leases has changed.
    event MachineStatusSet(uint32 indexed machine, uint8 status, bool delisted, bool underStaked, bool stalled);
    /// @notice `from` added `amount` to the machine's stake, which then was `stake`; `pulled` of it came from its
    /// wallet.
    event StakeAdded(uint32 indexed machine, address indexed from, uint256 amount, uint256 pulled, uint96 stake);
    /// @notice An outage runs since `from`: what accrues after it is not billed while it does.
    event MachineWentDown(uint32 indexed machine, uint32 from);
    /// @notice The outage is over: from `since` on the machine's leases are billed again.
    event MachineCameUp(uint32 indexed machine, uint32 since);
    /// @notice Until `until`, claims of leases that lived through some of `[from, to)` stop at `from`, and nobody but the
    /// tenant, or the provider who forgoes that time, closes them. Leases of later, or that were over before, are free.
    event MachineHeld(uint32 indexed machine, uint32 from, uint32 to, uint32 until);
    /// @notice So many faults of the machine are not settled: none of its stake leaves before they are.
    event PendingSlashesSet(uint32 indexed machine, uint8 count);
    /// @notice The machine takes no lease any more. Its stake is free once the unstake delay has passed.
    event MachineRetired(uint32 indexed machine, uint32 retiredAt);
    /// @notice A fault, or a ruling on one, has given `amount` of the machine's stake to the ledger of `to`.
    event StakeMoved(uint32 indexed machine, address indexed to, uint256 amount, uint96 stake);
    /// @notice What was left of a retired machine's stake went into its provider's ledger.
    event Unstaked(uint32 indexed machine, address indexed provider, uint256 amount);

    // ------------------------------------------------------------------------------------------------ events: leases

    /// @notice A lease was paid for and has its cells. Nothing is billed before its machine's operator starts it.
    /// @param pulled what was taken from the payer's wallet by allowance; the rest of `deposit` came from its ledger
    /// @param flags bit 0: spot
    event LeaseOpened(
        uint256 indexed lease,
        uint32 indexed machine,
        address indexed tenant,
        uint16 placement,
        uint16 revision,
        uint16 params,
        uint80 price,
        uint32 duration,
        uint96 deposit,
        uint256 pulled,
        bytes32 workload,
        uint8 flags,
        bytes32 backup
    );
    /// @notice What was asked for answers, and billing begins. `endpoint` says where, as the agent put it.
    event LeaseStarted(uint256 indexed lease, uint32 indexed machine, uint32 start, uint32 end, bytes32 endpoint);
    /// @notice The operator cannot run it: the whole deposit went back into the tenant's ledger.
    /// @param reason a short ASCII code, such as "image-unknown"
    event LeaseDeclined(uint256 indexed lease, uint32 indexed machine, bytes32 reason, uint96 refunded);
    /// @notice It was not started in time: the whole deposit went back, and the machine is stalled until it recovers.
    event LeaseCancelled(uint256 indexed lease, uint32 indexed machine, uint96 refunded);
    /// @notice The tenant gave it back within its trial, for the hold fee alone: `paid` and `fee`.
    event LeaseRejected(uint256 indexed lease, uint32 indexed machine, uint96 paid, uint96 fee, uint96 refunded);
    /// @notice The lease ends later; `payer` paid for it, `pulled` of that from its wallet. `deposit` is the whole
    /// escrow.
    event LeaseExtended(
        uint256 indexed lease, uint32 indexed machine, address indexed payer, uint32 end, uint96 deposit, uint256 pulled
    );
    /// @notice A new share, from now on. `deposit` is what the lease holds for its whole life, as everywhere.
    /// @param settled total billed so far, all of it credited; `paid + fee == settled`
    /// @param pulled what was taken from the tenant's wallet by allowance
    /// @param refunded what came back to the tenant's ledger
    event LeaseResized(
        uint256 indexed lease,
        uint32 indexed machine,
        uint16 placement,
        uint96 settled,
        uint96 paid,
        uint96 fee,
        uint96 deposit,
        uint256 pulled,
        uint96 refunded
    );
    /// @notice An outage's time was taken off the lease's bill. `paused` is the segment's total.
    event LeasePaused(uint256 indexed lease, uint32 indexed machine, uint32 paused);
    /// @notice The lease ended (`LeaseClosed`) and its standby opened in its place (`LeaseOpened`).
    event FailedOver(uint256 indexed lease, uint256 indexed backup);
    /// @notice The lease, its escrow and its rights have another tenant.
    event LeaseTransferred(uint256 indexed lease, address indexed from, address indexed to);
    /// @notice The lease is to run the workload of this digest from now on.
    event WorkloadSet(uint256 indexed lease, uint32 indexed machine, bytes32 workload);
    /// @notice The provider gave notice: the lease ends at `end`, and `penalty` went to its tenant.
    event LeaseTerminated(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 penalty);
    /// @notice The lease is over and settled: what was not used went back into the tenant's ledger.
    /// @param paid total the provider has had from this lease, net of `fee`; paid + fee + refunded == deposit
    event LeaseClosed(
        uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 paid, uint96 fee, uint96 refunded
    );
    /// @notice What a running lease had cost so far was credited to its provider.
    /// @param settled total billed so far; `paid + fee == settled`, both totals too
    event LeaseClaimed(uint256 indexed lease, uint32 indexed machine, uint96 settled, uint96 paid, uint96 fee);
    /// @notice The operator says where the lease's results are.
    /// @param cid the output's CID in its binary form
    event ResultPublished(uint256 indexed lease, uint32 indexed machine, bytes cid);

    // ------------------------------------------------------------------------------------------------- events: pool

    /// @notice Of the 256 nonces from `256 * word` on, those in `mask` are used up or cancelled.
    event OffersCancelled(address indexed provider, uint256 indexed word, uint256 mask);
    /// @notice A provider's signed offer became a lease. Its nonce is used up.
    event OfferTaken(address indexed provider, uint256 indexed nonce, uint256 indexed lease);
    /// @notice A companion took `amount` from the ledger of `from`, which then held `balance`: a fee, a bond or a
    /// stake.
    event Charged(address indexed from, address indexed companion, uint256 amount, uint256 balance);
    /// @notice Whether a provider needs a licence to register machines from now on.
    event GatedSet(bool gated);
    /// @notice The owner proposed rules, which come into force at `inForceAt` unless they are cancelled before.
    event ParamsProposed(uint16 indexed version, uint40 inForceAt, Params params);
    /// @notice The rules that had been proposed under this version do not come into force.
    event ParamsCancelled(uint16 indexed version);
    /// @notice Whether the pool takes no new leases and machines from now on. Nothing else is ever stopped.
    event PausedSet(bool paused);
    /// @notice Fees go into the ledger of another account from now on.
    event TreasurySet(address indexed treasury);
    /// @notice The owner named its successor, who has to accept.
    event OwnershipTransferStarted(address indexed owner, address indexed pendingOwner);
    /// @notice The pool has this owner from now on.
    event OwnershipTransferred(address indexed owner);
}
