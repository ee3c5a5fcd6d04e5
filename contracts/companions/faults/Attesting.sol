// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Fault, FaultKind, IFaults} from "../../interfaces/IFaults.sol";
import {Stake} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Slashing} from "../../libraries/Slashing.sol";
import {Filing} from "./Filing.sol";

/// @title Outages that a quorum of seats attests: of one that runs, and late, of one that is over.
abstract contract Attesting is Filing {
    /// @dev What a running attestation says, it says without a date: an old one must not open an outage that is long over.
    uint256 private constant ATTESTATION = 1 days;
    /// @dev How far back a late word reaches: to where the scale ends. Further, whoever gives it would choose by which rules of
    /// long ago a machine is judged, and by whose seats.
    uint256 private constant REACH = Slashing.LONG + 1;

    /// @inheritdoc IFaults
    function attest(
        uint32 machine,
        uint256 next,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (uint256) {
        // Check
        (uint256 after_, uint256 begin, uint16 version) = _gap(machine, next, from, to);
        bytes32 quorum = _committee().witness(version, machine, from, to, seats, proofs);

        // Check, Effect, Interact, Log
        if (to == 0) return _attestRunning(machine, from, version, quorum);
        return _attestPast(machine, after_, begin, to, version, quorum);
    }

    // -------------------------------------------------------------------------------------------------------- inside it

    /// @dev The gap that a word on `[from, to)` is about, and the rules whose seats may give it: an outage that is known keeps
    /// those by which it began.
    /// @return after_ the outage right after the gap, 0 if none is @return begin of what lies in the gap
    function _gap(uint32 machine, uint256 next, uint256 from, uint256 to)
        private
        view
        returns (uint256 after_, uint256 begin, uint16 version)
    {
        Watch storage watch = _watches[machine];
        after_ = next == 0 || to == 0 ? watch.running : next;
        Fault storage known = _faults[after_];
        if (after_ != 0 && (known.machine != machine || known.kind == FaultKind.FalseHardware)) {
            revert UnknownFault(after_);
        }
        begin = _later(from, _upSince(watch, after_));
        uint256 end = _pastEnd(machine, after_, to); // 0 of one that runs
        if (end > begin + REACH) begin = end - REACH;
        version = after_ != 0 && to == 0 ? known.rules : _controller().acceptedAt(machine, begin);
    }

    /// @dev Where a late word that says `to` ends: before the outage `next`, and when the machine retired.
    function _pastEnd(uint32 machine, uint256 next, uint256 to) private view returns (uint256 end) {
        end = next == 0 ? to : Billing.min(to, _faults[next].from);
        return _inService(end, _seen(machine).retiredAt);
    }

    function _attestRunning(uint32 machine, uint256 from, uint16 version, bytes32 reporter)
        private
        returns (uint256 id)
    {
        // Check. From after the outage before, so that no word given before a recovery is good after it.
        uint256 most = Billing.min(ATTESTATION, _rules(version).filingWindow);
        Stake memory seen = _seen(machine);
        uint256 until = _inService(block.timestamp, seen.retiredAt);
        bool late = from > until || from == seen.retiredAt;
        if (late || from <= _lastEnd(machine) || from + most < block.timestamp) revert OutageOutOfRange(from, until);

        // Effect, Interact, Log
        id = _watches[machine].running;
        if (id == 0) {
            // Whoever waits for an answer was right.
            Standing memory standing = _asked(machine);
            delete _challenges[machine];
            id = _begin(machine, FaultKind.Attested, from, version, reporter, seen);
            _pay(standing.challenger, standing.bond);
            return id;
        }

        // A self-report keeps its price, or nobody would report; and the same word twice changes nothing.
        Fault storage fault = _faults[id];
        FaultKind kind = fault.kind;
        if (kind == FaultKind.SelfReported || (kind == FaultKind.Attested && from >= fault.from)) {
            _requireNotDown(machine); // it is, and so reverts
        }
        fault.kind = FaultKind.Attested;
        fault.reporter = reporter;
        if (from < fault.from) {
            fault.from = uint32(from);
            _setDown(machine, from);
        }
        emit OutageAttested(id, machine, fault.from, reporter);
    }

    /// @dev Files what of `[begin, to)` lies before the outage `next`, or the one that runs, or now. `begin` is in that gap.
    function _attestPast(uint32 machine, uint256 next, uint256 begin, uint256 to, uint16 version, bytes32 reporter)
        private
        returns (uint256 id)
    {
        // Check
        Stake memory seen = _seen(machine);
        Watch storage watch = _watches[machine];
        uint256 end = _pastEnd(machine, next, to);
        if (begin >= end || to > block.timestamp || end + _rules(version).filingWindow < block.timestamp) {
            revert OutageOutOfRange(begin, end);
        }

        // Effect, Interact, Log
        id = _create(machine, FaultKind.Attested, begin, version, reporter);
        Fault storage after_ = _faults[next];
        _faults[id].previous = next == 0 ? watch.last : after_.previous;
        if (next == 0) watch.last = uint48(id); // as it is counted
        else after_.previous = uint48(id);
        _file(id, end, seen);
    }
}
