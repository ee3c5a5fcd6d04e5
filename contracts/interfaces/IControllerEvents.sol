// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params, Terms} from "./IControllerTypes.sol";

/// @title What a pool says. Events carry the state after the change, so that an index never asks the chain.
interface IControllerEvents {
    // ------------------------------------------------------------------------------------------------ events: ledger

    event Deposited(address indexed account, address indexed from, uint256 amount, uint256 balance);
    event Withdrawn(address indexed account, address indexed to, uint256 amount, uint256 balance);
    event Transferred(address indexed from, address indexed to, uint256 amount);
    event FeesPulled(address indexed provider, address indexed treasury, uint256 amount);

    // ---------------------------------------------------------------------------------------------- events: machines

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
    event TermsSet(uint32 indexed machine, uint16 revision, uint16 params, Terms terms);
    /// @notice The terms of the revision before hold for this one too; the machine is Unverified again.
    /// @param digest SHA-256 of the hardware document; its CID is CIDv1(raw, sha2-256, digest)
    event HardwareSet(uint32 indexed machine, uint16 revision, bytes32 digest);
    /// @param digest SHA-256 of the contact document; its CID is CIDv1(raw, sha2-256, digest)
    event ContactSet(uint32 indexed machine, bytes32 digest);
    event OperatorSet(uint32 indexed machine, address indexed operator);
    event Withheld(uint32 indexed machine, uint64 cells);
    /// @notice One of the bits that decide whether the machine takes new leases has changed.
    event MachineStatusSet(uint32 indexed machine, uint8 status, bool delisted, bool underStaked, bool stalled);
    event StakeAdded(uint32 indexed machine, address indexed from, uint256 amount, uint256 pulled, uint96 stake);
    /// @notice An outage runs since `from`: what accrues after it is not billed while it does.
    event MachineWentDown(uint32 indexed machine, uint32 from);
    event MachineCameUp(uint32 indexed machine, uint32 since);
    /// @notice Until `until`, claims of leases that lived through some of `[from, to)` stop at `from`, and nobody but the
    /// tenant, or the provider who forgoes that time, closes them. Leases of later, or that were over before, are free.
    event MachineHeld(uint32 indexed machine, uint32 from, uint32 to, uint32 until);
    event PendingSlashesSet(uint32 indexed machine, uint8 count);
    event MachineRetired(uint32 indexed machine, uint32 retiredAt);
    /// @notice A fault, or a ruling on one, has given `amount` of the machine's stake to the ledger of `to`.
    event StakeMoved(uint32 indexed machine, address indexed to, uint256 amount, uint96 stake);
    event Unstaked(uint32 indexed machine, address indexed provider, uint256 amount);

    // ------------------------------------------------------------------------------------------------ events: leases

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
    event LeaseStarted(uint256 indexed lease, uint32 indexed machine, uint32 start, uint32 end, bytes32 endpoint);
    /// @param reason a short ASCII code, such as "image-unknown"
    event LeaseDeclined(uint256 indexed lease, uint32 indexed machine, bytes32 reason, uint96 refunded);
    event LeaseCancelled(uint256 indexed lease, uint32 indexed machine, uint96 refunded);
    event LeaseRejected(uint256 indexed lease, uint32 indexed machine, uint96 paid, uint96 fee, uint96 refunded);
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
    event LeaseTransferred(uint256 indexed lease, address indexed from, address indexed to);
    event WorkloadSet(uint256 indexed lease, uint32 indexed machine, bytes32 workload);
    event LeaseTerminated(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 penalty);
    /// @param paid total the provider has had from this lease, net of `fee`; paid + fee + refunded == deposit
    event LeaseClosed(
        uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 paid, uint96 fee, uint96 refunded
    );
    /// @param settled total billed so far; `paid + fee == settled`, both totals too
    event LeaseClaimed(uint256 indexed lease, uint32 indexed machine, uint96 settled, uint96 paid, uint96 fee);
    /// @param cid the output's CID in its binary form
    event ResultPublished(uint256 indexed lease, uint32 indexed machine, bytes cid);

    // ------------------------------------------------------------------------------------------------- events: pool

    event OffersCancelled(address indexed provider, uint256 indexed word, uint256 mask);
    event OfferTaken(address indexed provider, uint256 indexed nonce, uint256 indexed lease);
    event Charged(address indexed from, address indexed companion, uint256 amount, uint256 balance);
    event GatedSet(bool gated);
    event ParamsProposed(uint16 indexed version, uint40 inForceAt, Params params);
    event ParamsCancelled(uint16 indexed version);
    event PausedSet(bool paused);
    event TreasurySet(address indexed treasury);
    event OwnershipTransferStarted(address indexed owner, address indexed pendingOwner);
    event OwnershipTransferred(address indexed owner);
}
