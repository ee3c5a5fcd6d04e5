// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IFaults} from "../interfaces/IFaults.sol";
import {MachineStatus, Params} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Score} from "../libraries/Score.sol";
import {Account, AccountSlots, LeaseBill, LeaseBody, LeaseHead, MachineHead, Rulebook} from "../libraries/Slots.sol";
import {Ledger} from "./Ledger.sol";

/// @title What all parts of a pool know about machines: by which rules they go, whose they are, what they have staked, and
/// whether one is down. Nothing else says what `DOWN` and `HELD` mean.
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
abstract contract Registry is Ledger {
    // ----------------------------------------------------------------------------------------------------- parameters

    /// @dev A proposal comes into force by time alone; nobody need send a transaction.
    function _versionInForce() internal view returns (uint16 version) {
        Pool storage pool = _pool;
        version = pool.paramsVersion;
        uint256 inForceAt = pool.inForceAt;
        if (inForceAt != 0 && block.timestamp >= inForceAt) ++version;
    }

    /// @dev What leases need of a version's rules, in one read.
    function _rulebook(uint16 version) internal view returns (Rulebook rules) {
        Params storage params_ = _params[version];
        assembly ("memory-safe") {
            rules := sload(params_.slot)
        }
    }

    // ------------------------------------------------------------------------------------------------------- machines

    function _machine(uint32 id) internal view returns (Machine storage machine, MachineHead head) {
        machine = _machines[id];
        head = machine.head;
        if (head.revision() == 0) revert UnknownMachine(id);
    }

    /// @dev The machine, for a call that only its provider may make.
    function _owned(uint32 id) internal view returns (Machine storage machine, MachineHead head) {
        (machine, head) = _machine(id);
        _only(head.provider());
    }

    /// @dev The machine, for a call that its provider and its operator may make.
    function _tended(uint32 id) internal view returns (Machine storage machine, MachineHead head) {
        (machine, head) = _machine(id);
        address actor = _actor();
        if (actor != head.provider() && actor != machine.operator) revert NotAuthorized(actor);
    }

    function _only(address who) internal view {
        address actor = _actor();
        if (actor != who) revert NotAuthorized(actor);
    }

    function _requireNotRetired(uint32 id, MachineHead head) internal pure {
        if (_statusOf(head.status()) == MachineStatus.Retired) revert MachineRetiredAlready(id);
    }

    function _statusOf(uint8 status) internal pure returns (MachineStatus) {
        return MachineStatus(status & STATUS_MASK);
    }

    function _setStatus(uint32 id, Machine storage machine, MachineHead head, uint8 status) internal {
        machine.head = head.withStatus(status);
        emit MachineStatusSet(
            id, status & STATUS_MASK, status & DELISTED != 0, status & UNDER_STAKED != 0, status & STALLED != 0
        );
    }

    /// @dev The rules that the machine's present terms accept.
    function _rulesOf(uint32 id, MachineHead head) internal view returns (Params storage) {
        return _params[_terms[id][head.revision()].params()];
    }

    /// @dev What a provider must stake for `gpus`: less with a good name (`Score`), never under half. A provider who has
    /// paid no fees has no name yet, and nobody is asked. The same that Reputation says, at a third of the gas.
    /// Warning: calls Faults, a view. So no exit may need it.
    function _minimumStake(address provider, uint8 gpus, uint96 perGpu) internal view returns (uint256 minimum) {
        minimum = uint256(perGpu) * gpus;
        Account account = _providers[provider];
        uint256 fees = account.feesPaid();
        if (fees == 0) return minimum;
        uint256 slashed = IFaults(_arg(FAULTS)).slashedOf(provider);
        uint256 broken = uint256(account.count(AccountSlots.TERMINATED)) + account.count(AccountSlots.UNSTARTED);
        minimum -= Billing.portion(minimum, Score.discountBps(Score.compute(fees, slashed, broken, perGpu)));
    }

    /// @dev Sets or clears `UNDER_STAKED`.
    function _weighStake(uint32 id, Machine storage machine, MachineHead head) internal {
        uint256 minimum = _minimumStake(head.provider(), head.gpus(), _rulesOf(id, head).minStakePerGpu);
        uint8 weighed = machine.stake < minimum ? head.status() | UNDER_STAKED : head.status() & ~UNDER_STAKED;
        if (weighed != head.status()) _setStatus(id, machine, head, weighed);
    }

    // ---------------------------------------------------------------------------------------------------------- outages

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

    function _requireNotDown(uint32 id, Machine storage machine, MachineHead head) internal view {
        if (head.hasAny(DOWN)) revert MachineDown(id, machine.care.downSince);
    }

    function _isDown(MachineHead head) internal pure returns (bool) {
        return head.hasAny(DOWN);
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
        if (!seen.hasAny(DOWN | HELD)) return 0;
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
