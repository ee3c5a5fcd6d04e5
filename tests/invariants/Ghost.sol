// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IPoolEvents} from "../../contracts/interfaces/IPoolEvents.sol";
import {Cheats, vm} from "./Cheats.sol";
import {FaultEvents} from "./ghost/FaultEvents.sol";
import {LeaseEvents} from "./ghost/LeaseEvents.sol";
import {PoolEvents} from "./ghost/PoolEvents.sol";
import {RoundEvents} from "./ghost/RoundEvents.sol";

/// @notice What an index knows that reads nothing but events, with the arithmetic of docs/contracts.md done over again. The
/// invariants hold it against the chain, so an event that lies is found as surely as a sum that is wrong. A sentence that an
/// event contradicts is kept in `broken`, under its invariant's number.
abstract contract Ghost is PoolEvents, LeaseEvents, FaultEvents, RoundEvents {
    /// @dev Takes in what happened since `vm.recordLogs`, if it came to pass: forge also records what was reverted.
    /// @return opened how many leases were opened
    function _absorb(bool ok) internal returns (uint256 opened) {
        Cheats.Log[] memory logs = vm.getRecordedLogs();
        if (!ok) return 0;
        for (uint256 i = 0; i < logs.length; i++) {
            address emitter = logs[i].emitter;
            if (emitter == address(pool)) opened += _absorbPool(logs[i]);
            else if (emitter == address(faults)) _absorbFault(logs[i]);
            else if (emitter == address(committee)) _absorbRound(logs[i]);
            else if (emitter == address(reputation)) _absorbRating(logs[i]);
        }
        _expect(_stakeMoved == 0, 8, "stake went to others without a fault");
        _stakeMoved = 0;
        _expect(_fines.length == 0, 22, "a seat was fined for nothing");
        delete _fines;
    }

    function _absorbPool(Cheats.Log memory log) private returns (uint256 opened) {
        bytes32 kind = log.topics[0];
        if (kind == IPoolEvents.LeaseOpened.selector) opened = 1;
        _absorbLedger(log);
        _absorbRules(log);
        _absorbMachine(log);
        _absorbLease(log);
        _absorbEnding(log);
    }
}
