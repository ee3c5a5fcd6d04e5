// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IPoolHooks} from "../../../contracts/interfaces/IPoolHooks.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice The thief, who submits everybody's proofs and tries every door.
abstract contract ThiefSteps is Steps {
    /// @dev Everything that is not his to do, with a lease that waits for its start and one that is further. None of it
    /// may work.
    function steal(uint256 seed) external {
        seed = _mix(seed);
        _steal(_waiting(seed), seed);
        _steal(_running(seed), seed);
    }

    function _steal(uint256 id, uint256 seed) private {
        uint32 m = _machine(seed);
        bytes[24] memory tries = [
            abi.encodeCall(pool.withdraw, (thief, 1)),
            abi.encodeCall(pool.transfer, (thief, 1)),
            abi.encodeCall(pool.start, (id, bytes32(seed))),
            abi.encodeCall(pool.decline, (id, "no-disk")),
            abi.encodeCall(pool.reject, (id)),
            abi.encodeCall(pool.setWorkload, (id, bytes32(seed))),
            abi.encodeCall(pool.terminate, (id)),
            abi.encodeCall(pool.publishResult, (id, hex"00")),
            abi.encodeCall(pool.setTerms, (m, _terms(seed))),
            abi.encodeCall(pool.setHardware, (m, bytes32(seed))),
            abi.encodeCall(pool.setContact, (m, bytes32(seed))),
            abi.encodeCall(pool.setOperator, (m, thief, _consent(_provider(m), thief, seed))),
            abi.encodeCall(pool.withhold, (m, type(uint64).max)),
            abi.encodeCall(pool.delist, (m)),
            abi.encodeCall(pool.retire, (m)),
            abi.encodeCall(pool.recover, (m)),
            abi.encodeCall(pool.proposeParams, (_params(seed))),
            abi.encodeCall(pool.setPaused, (true)),
            abi.encodeCall(pool.setTreasury, (thief)),
            abi.encodeCall(pool.transferOwnership, (thief)),
            abi.encodeCall(pool.setGated, (true)),
            abi.encodeCall(pool.resize, (id, 1, 0)),
            abi.encodeCall(pool.transferLease, (id, thief, type(uint256).max, "")),
            abi.encodeCall(pool.acceptOwnership, ())
        ];
        for (uint256 i = 0; i < tries.length; i++) {
            vm.prank(thief);
            (bool ok,) = address(pool).call(tries[i]);
            _expect(!ok, 7, "the thief did what is not his to do");
        }
        _stealAsCompanion(id, m, seed);
        Lease storage l = _leases[id];
        if (l.state == LeaseState.Active && vm.getBlockTimestamp() < l.end) {
            vm.prank(thief);
            (bool ok,) = address(pool).call(abi.encodeCall(pool.close, (id)));
            _expect(!ok, 7, "the thief closed a lease before its end");
        }
        _count(msg.sig);
    }

    /// @dev What only the pool's companions may do, and what these do for nobody.
    function _stealAsCompanion(uint256 id, uint32 m, uint256 seed) private {
        address[] memory to = new address[](1);
        uint96[] memory amounts = new uint96[](1);
        (to[0], amounts[0]) = (thief, 1);
        bytes[8] memory hooks = [
            abi.encodeCall(IPoolHooks.initialize, (thief, thief, _params(seed))),
            abi.encodeCall(IPoolHooks.charge, (people[seed % PEOPLE], 1)),
            abi.encodeCall(IPoolHooks.setVerified, (m, pool.machineOf(m).revision, true)),
            abi.encodeCall(IPoolHooks.moveStake, (m, to, amounts)),
            abi.encodeCall(IPoolHooks.setDown, (m, 1)),
            abi.encodeCall(IPoolHooks.hold, (m, 1, type(uint32).max, type(uint32).max)),
            abi.encodeCall(IPoolHooks.setPendingSlashes, (m, 0)),
            abi.encodeCall(IPoolHooks.pause, (id, 0, type(uint32).max))
        ];
        for (uint256 i = 0; i < hooks.length; i++) {
            vm.prank(thief);
            (bool ok,) = address(pool).call(hooks[i]);
            _expect(!ok, i == 3 || i == 6 ? 8 : 7, "the thief did what only a companion may");
        }
        bytes[4] memory tries = [
            abi.encodeCall(faults.reportOutage, (m)),
            abi.encodeCall(faults.challenge, (m, id)),
            abi.encodeCall(faults.recover, (m, uint64(vm.getBlockTimestamp()), "")),
            abi.encodeCall(faults.rule, (1 + seed % (faultCount + 1), true))
        ];
        for (uint256 i = 0; i < tries.length; i++) {
            vm.prank(thief);
            (bool ok,) = address(faults).call(tries[i]);
            _expect(!ok, 8, "the thief did what is not his to do with faults");
        }
    }
}
