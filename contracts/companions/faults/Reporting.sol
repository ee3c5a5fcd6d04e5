// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Fault, FaultKind, IFaults} from "../../interfaces/IFaults.sol";
import {IPoolErrors} from "../../interfaces/IPoolErrors.sol";
import {Stake} from "../../interfaces/PoolTypes.sol";
import {Slashing} from "../../libraries/Slashing.sol";
import {Challenging} from "./Challenging.sol";

/// @title What the operator says of the machine, what a committee has found of it, and the end of an outage.
abstract contract Reporting is Challenging {
    uint256 private constant ROLL_AFTER = Slashing.LONG;
    /// @dev Of a machine whose hardware is not what it was said to be, so much counts before it was asked for.
    uint256 private constant FALSE_TIME = 7 days;
    bytes32 private constant RECOVER_TYPE = keccak256("Recover(address account,uint32 machine,uint64 issuedAt)");

    /// @inheritdoc IFaults
    function reportOutage(uint32 machine) external returns (uint256 fault) {
        // Check
        Stake memory seen = _seen(machine);
        _only(seen.operator);
        _requireNotDown(machine);
        // What is not in service cannot fail; and an operator's key must not hold up a stake on its way out.
        if (seen.retiredAt != 0) revert IPoolErrors.MachineRetiredAlready(machine);
        _requireNoChallenge(machine);

        // Effect, Interact, Log
        fault = _begin(machine, FaultKind.SelfReported, block.timestamp, seen.params, 0, seen);
    }

    /// @inheritdoc IFaults
    function reportFalseHardware(uint256 round) external returns (uint256 id) {
        // Check
        if (_reported[round]) revert ReportedAlready(round);
        (uint32 machine, uint16 revision, uint32 requestedAt, uint256 event_) = _committee().falseHardwareOf(round);
        Stake memory seen = _seen(machine);
        (, uint16 version) = _controller().termsOf(machine, revision);
        event_ = _inService(event_, seen.retiredAt);
        if (event_ + _rules(version).filingWindow < block.timestamp) revert OutageOutOfRange(event_, block.timestamp);

        // Effect, Interact. Who leases once it is asked for, or after it was found, shares in nothing.
        _reported[round] = true;
        id = _create(machine, FaultKind.FalseHardware, requestedAt - FALSE_TIME, version, 0);
        _faults[id].round = uint48(round); // a round's number has its own transaction
        _file(id, requestedAt, seen);
    }

    /// @inheritdoc IFaults
    function recover(uint32 machine, uint64 issuedAt, bytes calldata proof) external {
        // Check
        uint256 id = _running(machine);
        Stake memory seen = _seen(machine);
        address actor = _actor();
        if (actor != seen.operator && actor != seen.provider) {
            bytes32 hash = keccak256(abi.encode(RECOVER_TYPE, seen.operator, machine, issuedAt));
            _requireIssued(seen.operator, issuedAt, _faults[id].from, hash, proof);
        }

        // Effect, Interact, Log
        _end(id, seen);
    }

    /// @inheritdoc IFaults
    function roll(uint32 machine) external {
        // Check
        uint256 id = _running(machine);
        Stake memory seen = _seen(machine);
        if (seen.retiredAt != 0) return _end(id, seen);
        Fault storage fault = _faults[id];
        uint256 until = fault.from + ROLL_AFTER;
        if (block.timestamp <= until) revert OutageTooShort(until);

        // Effect, Interact, Log
        _file(id, block.timestamp, seen);
        _begin(machine, fault.kind, block.timestamp, fault.rules, fault.reporter, seen);
    }
}
