// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Billing} from "../libraries/Billing.sol";
import {LeaseBill, LeaseBody, LeaseHead, MachineHead} from "../libraries/Slots.sol";
import {Registry} from "./Registry.sol";

/// @title What an outage does to a machine and to its leases: the one place that reads and writes `DOWN` and `HELD`.
/// @dev A machine is *down* since `downSince` while an outage runs. After it, until `heldUntil`, the time `[heldFrom, heldTo)`
/// is *held*, so that anyone can have Faults take the outage off the bills (`pause`). A lease is *disputed* while some of the
/// time that it ran (its present segment, for what lies before is settled) is down or held. No other lease is stopped by
/// anything: who opened after the outage, or was over before it, is closed and claimed as ever.
///
/// | who may                           | of a machine that is down     | of a lease that is disputed       | of any other   |
/// |-----------------------------------|-------------------------------|-----------------------------------|----------------|
/// | open, openWithOffer, be a standby | nobody                        |                                   | as ever        |
/// | recover (a stall)                 | nobody: Faults.recover does   |                                   | as ever        |
/// | resize                            | nobody                        | its tenant, who pays what is held | its tenant     |
/// | start, decline, cancel, retire    | as ever                       | as ever                           | as ever        |
/// | close or reject, its tenant       | billed up to `downSince`      | billed for what is held           | as ever        |
/// | close past its end, its provider  | billed up to `downSince`      | billed for nothing that is held   | as ever        |
/// | close past its end, anyone else   | not while it is disputed      | nobody                            | as ever        |
/// | claim, anyone                     | up to `downSince`             | up to `heldFrom`                  | as ever        |
/// | failover, its tenant              | billed up to `downSince`      | billed for what is held           |                |
/// | failover, anyone else             | billed up to `downSince`      | nobody                            |                |
///
/// So nobody's exit waits for another's outage: a tenant's never does, and a provider who forgoes what is held has his cells
/// back at once. What he forgoes is the whole of it, whatever was taken off the bill before: he alone chooses to.
abstract contract Outages is Registry {
    function _goDown(uint32 id, uint32 from) internal {
        (Machine storage machine, MachineHead head) = _machine(id);
        machine.care.downSince = from;
        machine.head = head.withStatus(head.status() | DOWN);
        emit MachineWentDown(id, from);
    }

    /// @dev What is up again is no longer stalled either.
    function _comeUp(uint32 id) internal {
        (Machine storage machine, MachineHead head) = _machine(id);
        machine.care.downSince = 0;
        uint8 status = head.status() & ~(DOWN | STALLED);
        if (head.status() & STALLED != 0) _setStatus(id, machine, head, status);
        else machine.head = head.withStatus(status);
        emit MachineCameUp(id, SafeCast.toUint32(block.timestamp));
    }

    function _hold(uint32 id, uint32 from, uint32 to, uint32 until) internal {
        (Machine storage machine, MachineHead head) = _machine(id);
        MachineCare storage care = machine.care;
        (care.heldFrom, care.heldTo, care.heldUntil) = (from, to, until);
        machine.head = head.withStatus(head.status() | HELD);
        emit MachineHeld(id, from, to, until);
    }

    function _notDown(uint32 id, Machine storage machine, MachineHead head) internal view {
        if (_isDown(head)) revert MachineDown(id, machine.care.downSince);
    }

    function _isDown(MachineHead head) internal pure returns (bool) {
        return head.hasAny(DOWN);
    }

    /// @dev Whether the machine is down, or was of late: all that is asked of the many that never are.
    function _isTouched(MachineHead head) internal pure returns (bool) {
        return head.hasAny(DOWN | HELD);
    }

    /// @dev Since when an outage runs. Later than any lease where none does.
    function _downSince(MachineCare storage care, MachineHead seen) internal view returns (uint256) {
        return _isDown(seen) ? care.downSince : type(uint32).max;
    }

    /// @dev Whether what ran in `[since, end)` has some of what is held in it. Of a time that is both, the outage that runs
    /// says what becomes of it.
    function _isHeld(MachineCare storage care, MachineHead seen, uint256 since, uint256 end)
        internal
        view
        returns (bool)
    {
        if (block.timestamp >= care.heldUntil) return false;
        uint256 to = Billing.min(Billing.min(care.heldTo, _downSince(care, seen)), end);
        return since < to && care.heldFrom < to;
    }

    /// @dev Until when nobody but its tenant, or its provider who forgoes what is disputed, ends the lease; 0 for one that
    /// is not disputed.
    function _disputedUntil(LeaseHead head, LeaseBody body, LeaseBill bill) internal view returns (uint256) {
        Machine storage machine = _machines[head.machine()];
        MachineHead seen = machine.head;
        if (!_isTouched(seen)) return 0;
        MachineCare storage care = machine.care;
        if (body.end() > _downSince(care, seen)) return type(uint256).max;
        return _isHeld(care, seen, Billing.began(bill, head.start()), body.end()) ? care.heldUntil : 0;
    }

    /// @dev Up to when claims reach, of a machine that is touched.
    function _claimableUntil(Machine storage machine, MachineHead seen, uint256 since, uint256 until)
        internal
        view
        returns (uint256)
    {
        MachineCare storage care = machine.care;
        bool held = _isHeld(care, seen, since, until);
        until = Billing.min(until, _downSince(care, seen));
        return held ? Billing.min(until, care.heldFrom) : until;
    }

    /// @dev The bill less the outage that runs and, for a provider who forgoes it, less what is held.
    function _undisputed(LeaseHead head, LeaseBody body, LeaseBill bill, bool forgoes)
        internal
        view
        returns (LeaseBill)
    {
        Machine storage machine = _machines[head.machine()];
        MachineHead seen = machine.head;
        if (!_isDown(seen) && !forgoes) return bill;
        MachineCare storage care = machine.care;
        uint256 down = _downSince(care, seen);
        if (forgoes && block.timestamp < care.heldUntil) {
            bill = Billing.without(bill, head.start(), body.end(), care.heldFrom, Billing.min(care.heldTo, down));
        }
        return Billing.without(bill, head.start(), body.end(), down, type(uint32).max);
    }
}
