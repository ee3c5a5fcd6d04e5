// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IPoolHooks} from "../interfaces/IPoolHooks.sol";
import {LeaseState, MachineStatus} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {LeaseBill, LeaseBody, LeaseHead, LeaseId, MachineHead} from "../libraries/Slots.sol";
import {Lifecycle} from "./Lifecycle.sol";

/// @title What the companions may do to a pool.
/// @dev Together they reach: the ledger of an account that has called one of them, the stake of a machine, whether a machine
/// takes leases, and when its leases are billed and ended by others than their tenants. No ledger else, and no escrow.
abstract contract Hooks is Lifecycle, IPoolHooks {
    /// @dev A companion calls in its own name. Zero is nobody.
    modifier onlyCompanion(uint256 index) {
        if (msg.sender != _arg(index)) revert NotAuthorized(msg.sender);
        _;
    }

    /// @inheritdoc IPoolHooks
    function charge(address from, uint256 amount) external nonReentrant {
        // Check
        if (msg.sender != _arg(COMMITTEE) && msg.sender != _arg(FAULTS)) revert NotAuthorized(msg.sender);

        // Effect, Log
        uint256 left = _debit(from, amount);
        _credit(msg.sender, amount);
        emit Charged(from, msg.sender, amount, left);
    }

    /// @inheritdoc IPoolHooks
    function setVerified(uint32 id, uint16 revision, bool verified) external nonReentrant onlyCompanion(COMMITTEE) {
        (Machine storage machine, MachineHead head) = _machine(id);
        _requireNotRetired(id, head);
        if (revision != head.revision()) revert RevisionChanged(head.revision());
        if (verified) machine.care.lastVerified = SafeCast.toUint32(block.timestamp);
        MachineStatus status = verified ? MachineStatus.Verified : MachineStatus.Unverified;
        _setStatus(id, machine, head, (head.status() & ~STATUS_MASK) | uint8(status));
    }

    /// @inheritdoc IPoolHooks
    /// @dev The one function that gives stake to anybody but its owner. It reaches no ledger and no escrow, and no more
    /// than the one machine's stake.
    function moveStake(uint32 id, address[] calldata to, uint96[] calldata amounts)
        external
        nonReentrant
        onlyCompanion(FAULTS)
    {
        // Check
        (Machine storage machine, MachineHead head) = _machine(id);
        uint96 stake = machine.stake;

        // Check, Effect, Log of each part
        for (uint256 i = 0; i < to.length; ++i) {
            _requireReceiver(to[i]);
            uint96 amount = amounts[i];
            if (amount > stake) revert InsufficientBalance(head.provider(), stake, amount);
            stake -= amount;
            _credit(to[i], amount);
            emit StakeMoved(id, to[i], amount, stake);
        }
        machine.stake = stake;
        _weighStake(id, machine, head);
    }

    /// @inheritdoc IPoolHooks
    function setDown(uint32 id, uint32 from) external nonReentrant onlyCompanion(FAULTS) {
        if (from == 0) _comeUp(id);
        else _goDown(id, from);
    }

    /// @inheritdoc IPoolHooks
    function hold(uint32 id, uint32 from, uint32 to, uint32 until) external nonReentrant onlyCompanion(FAULTS) {
        _hold(id, from, to, until);
    }

    /// @inheritdoc IPoolHooks
    function setPendingSlashes(uint32 id, uint8 count) external nonReentrant onlyCompanion(FAULTS) {
        (Machine storage machine,) = _machine(id);
        machine.care.pendingSlashes = count;
        emit PendingSlashesSet(id, count);
    }

    /// @inheritdoc IPoolHooks
    /// @dev A lease that does not run has no bill to stop, and is passed over: so nobody can spoil a batch by closing one.
    function pause(uint256 id, uint32 from, uint32 to) external nonReentrant onlyCompanion(FAULTS) {
        // Check
        Lease storage lease = _leases[LeaseId.wrap(id).slot()];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (!body.isOf(LeaseId.wrap(id)) || head.state() != uint8(LeaseState.Active)) return;
        LeaseBill bill = _bill(lease, head);
        uint256 end = Billing.min(body.end(), block.timestamp);
        LeaseBill paused_ = Billing.without(bill, head.start(), end, from, to);
        if (LeaseBill.unwrap(paused_) == LeaseBill.unwrap(bill)) return;

        // Effect, Log
        lease.head = _storeBill(lease, head, paused_);
        emit LeasePaused(id, head.machine(), paused_.paused());
    }
}
