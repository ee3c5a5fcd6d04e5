// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Fault, FaultKind, FaultState} from "../../interfaces/IFaults.sol";
import {Judging, Stake} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Slashing} from "../../libraries/Slashing.sol";
import {FaultsStorage} from "./FaultsStorage.sol";

/// @title How an outage begins and ends, and what it costs.
/// @dev What is filed is put aside out of the stake at once, and the machine is held so that tenants have the time to have it
/// taken off their bills.
abstract contract Filing is FaultsStorage {
    using SafeCast for uint256;

    /// @dev For whom it takes to see that a challenge was not answered, and to send `prove`.
    uint256 internal constant PROVE_TIME = 1 hours;

    // -------------------------------------------------------------------------------------------------------- it begins

    /// @dev An outage that runs from now on, or ended when the machine retired.
    function _begin(uint32 machine, FaultKind kind, uint256 from, uint16 version, bytes32 reporter, Stake memory seen)
        internal
        returns (uint256 id)
    {
        id = _create(machine, kind, from, version, reporter);
        Watch storage watch = _watches[machine];
        _faults[id].previous = watch.last;
        watch.running = watch.last = uint48(id); // as it is counted
        _setDown(machine, from);
        if (seen.retiredAt != 0) _end(id, seen);
    }

    function _create(uint32 machine, FaultKind kind, uint256 from, uint16 version, bytes32 reporter)
        internal
        returns (uint256 id)
    {
        id = ++_faultCount;
        Fault storage fault = _faults[id];
        fault.machine = machine;
        fault.kind = kind;
        fault.state = FaultState.Running;
        fault.from = from.toUint32();
        fault.rules = version;
        if (reporter != 0) fault.reporter = reporter;
        _tell(machine, ++_watches[machine].unsettled);
        emit OutageOpened(id, machine, kind, uint32(from), version, reporter);
    }

    function _lastEnd(uint32 machine) internal view returns (uint256) {
        Watch storage watch = _watches[machine];
        return _upSince(watch, watch.running);
    }

    /// @dev When the outage before `next` ended, or, with 0, the last of all.
    function _upSince(Watch storage watch, uint256 next) internal view returns (uint256) {
        return _faults[next == 0 ? watch.last : _faults[next].previous].to;
    }

    // ---------------------------------------------------------------------------------------------------------- it ends

    /// @dev The outage that runs ends now, or did when the machine retired.
    function _end(uint256 id, Stake memory seen) internal {
        uint32 machine = _faults[id].machine;
        uint256 to = _inService(block.timestamp, seen.retiredAt);
        Watch storage watch = _watches[machine];
        watch.running = 0;
        _setDown(machine, 0);
        _file(id, to, seen);
    }

    /// @dev Fixes what the fault costs, and holds up claims so that tenants have the time to have it applied.
    function _file(uint256 id, uint256 to, Stake memory seen) internal {
        Fault storage fault = _faults[id];
        uint32 machine = fault.machine;
        FaultKind kind = fault.kind;
        Watch storage watch = _watches[machine];
        Judging memory rules = _rules(fault.rules);
        uint32 deadline = (block.timestamp + rules.appealWindow).toUint32();
        fault.to = uint32(to); // at most now
        fault.filedAt = uint32(block.timestamp); // the deadline is later
        fault.deadline = deadline;

        (uint16 bps, uint256 charged) = _price(fault, watch, _today(seen.retiredAt), rules.maxSlashBps);
        // Effect. Of 96 bits. A stake is never less than what is put aside: while any is, nothing else takes from it.
        uint96 amount = uint96(Slashing.amount(seen.amount - watch.reserved, bps, charged));
        fault.bps = bps;
        fault.amount = amount;
        fault.state = FaultState.Filed;
        watch.reserved += amount;
        // Effect, Interact, Log. What others say of a machine may be appealed whatever it costs: it is taken off the bills, and they answer for it.
        if (amount == 0 && kind < FaultKind.Attested) _conclude(fault, FaultState.Executed);
        if (kind != FaultKind.FalseHardware) {
            uint32 from = fault.from;
            bool none = watch.heldUntil <= block.timestamp;
            if (none || from < watch.heldFrom) watch.heldFrom = from;
            if (none || to > watch.heldTo) watch.heldTo = uint32(to);
            if (watch.heldUntil < deadline) watch.heldUntil = deadline;
            _hold(machine);
        }
        emit FaultFiled(id, machine, kind, fault.from, uint32(to), bps, amount);
    }

    /// @dev Writes the outage, and what it costs, into the machine's window.
    /// @return bps that are charged @return charged before them
    function _price(Fault storage fault, Watch storage watch, uint256 today, uint256 most)
        private
        returns (uint16 bps, uint256 charged)
    {
        uint256 window = _window(watch, today);
        FaultKind kind = fault.kind;
        uint256 full = Slashing.BPS;
        if (kind != FaultKind.FalseHardware) {
            (uint256 from, uint256 to) = _counted(fault);
            window = Slashing.withDowntime(window, today, from, to);
            (uint256 downtime,) = Slashing.total(window);
            // What is filed late may lie before the window: it is as long as it is.
            downtime = _later(downtime, to - from);
            full = Slashing.tier(kind != FaultKind.SelfReported, kind == FaultKind.Challenged ? 0 : downtime);
        }
        (, charged) = Slashing.total(window);
        bps = uint16(Slashing.due(full, charged, most)); // at most 10000
        watch.lanes = Slashing.withCharge(window, bps);
        watch.day = uint16(today); // until the year 2149
    }

    /// @dev The part of an outage that counts as downtime. That a challenge was not answered shows no long outage.
    function _counted(Fault storage fault) internal view returns (uint256 from, uint256 to) {
        from = fault.from;
        to = fault.to;
        if (fault.kind == FaultKind.Challenged) to = Billing.min(to, from + Slashing.SHORT);
    }

    function _window(Watch storage watch, uint256 today) internal view returns (uint256) {
        return Slashing.advance(watch.lanes, today - watch.day);
    }

    /// @dev Nothing of the stake waits for the fault any more.
    function _conclude(Fault storage fault, FaultState state) internal {
        uint32 machine = fault.machine;
        Watch storage watch = _watches[machine];
        fault.state = state;
        watch.reserved -= fault.amount;
        _tell(machine, --watch.unsettled);
    }

    // -------------------------------------------------------------------------------------------- what the pool is told

    /// @dev Tells the pool the hold of ended outages together with that of the challenge that stands.
    function _hold(uint32 machine) internal {
        Watch storage watch = _watches[machine];
        uint256 from = block.timestamp;
        uint256 to = from;
        uint256 until = from; // holds nothing
        if (until < watch.heldUntil) (from, to, until) = (watch.heldFrom, watch.heldTo, watch.heldUntil);
        Standing memory standing = _asked(machine);
        if (standing.at != 0) {
            from = Billing.min(from, standing.at);
            uint256 proven = standing.until + PROVE_TIME;
            // What is asked about has no end yet; if nobody proves it, nothing later was ever in question.
            to = _later(to, proven);
            until = _later(until, proven);
        }
        _hooks().hold(machine, uint32(from), uint32(to), until.toUint32()); // in this order
    }

    /// @dev Tells the pool since when an outage runs, or, with 0, that none does.
    function _setDown(uint32 machine, uint256 since) internal {
        _hooks().setDown(machine, uint32(since)); // never later than now
    }

    /// @dev Tells the pool how many faults of the machine are to be settled.
    function _tell(uint32 machine, uint256 unsettled) private {
        _hooks().setPendingSlashes(machine, uint8(Billing.min(unsettled, type(uint8).max)));
    }
}
