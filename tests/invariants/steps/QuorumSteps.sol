// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {FaultSteps} from "./FaultSteps.sol";

/// @notice What a quorum's word brings it, and what it costs when an arbiter takes it back.
abstract contract QuorumSteps is FaultSteps {
    function payQuorum(uint256 seed) external {
        seed = _mix(seed);
        for (uint256 i = 0; i < quorums.length; i++) {
            bytes32 quorum = quorums[(seed % quorums.length + i) % quorums.length];
            if (_quorums[quorum].due == 0) continue;
            bytes memory call = abi.encodeCall(committee.payQuorum, (_quorums[quorum].signers));
            _doOn(address(committee), _person(seed >> 24), call, seed >> 8);
            return;
        }
    }

    /// @dev A quorum's word, which the arbiter takes back whom the machine's rules name: mostly one of the owner's own.
    function overrule(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _inService(seed);
        if (seed >> 32 & 3 != 0) _acceptOwners(id);
        uint256 from = vm.getBlockTimestamp();
        skip(1 hours);
        if (!_attest(id, from, vm.getBlockTimestamp(), seed)) return;
        uint256 fault_ = faultCount;
        _appeal(fault_, seed);
        if (!_rule(fault_, false)) return;
        bytes32 quorum = faults.faultOf(fault_).reporter;
        address arbiter = pool.params(_faults[fault_].rules).arbiter;
        bytes memory call = abi.encodeCall(committee.fineQuorum, (_quorums[quorum].signers, arbiter));
        if (!_doOn(address(committee), _person(seed >> 24), call, seed >> 8)) return;
        vm.prank(thief);
        (bool again,) = address(committee).call(call);
        _expect(!again, 22, "a quorum is fined twice for one word");
    }

    /// @dev The first rules with another arbiter come into force, and the machine's provider accepts them.
    function _acceptOwners(uint32 id) private {
        Params memory p = pool.params(1);
        p.arbiter = OWNERS_ARBITER;
        if (!_do(owner, abi.encodeCall(pool.proposeParams, (p)), 1)) return;
        skip(2 days);
        _do(_provider(id), abi.encodeCall(pool.setTerms, (id, _terms(1))), 1);
        skip(1);
    }
}
