// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {skip, vm} from "./Check.sol";
import {CommitteeOfPool} from "./CommitteeOfPool.sol";

/// @notice What the committee's calls cost among a thousand seats, each a transaction of its own. None of them may grow
/// with the number of seats but by the steps of a binary search.
/// forge-config: default.isolate = true
/// forge-config: deep.isolate = true
contract CommitteeGasTest is CommitteeOfPool {
    function setUp() public override {
        super.setUp();
        for (uint256 i = 0; i < 1000; ++i) {
            _join(vm.addr(1 + i % 100));
            skip(1);
        }
        skip(MATURITY);
    }

    function _log(string memory name, uint256 ceiling) private {
        vm.assertLe(vm.snapshotGasLastCall("committee", name), ceiling, name);
    }

    function test_round() external {
        vm.prank(THIEF);
        committee.join(1);
        _log("join", 200_000);
        uint256 round = _requestOnce();
        _log("requestVerification", 240_000);
        _drawOnce(round);
        _log("draw_5_of_1000", 240_000);
        uint32[] memory seats = committee.drawnFor(round);
        for (uint256 i = 0; i < 4; ++i) {
            _commit(round, seats[i], true);
        }
        _log("commit", 70_000);
        skip(COMMIT);
        for (uint256 i = 0; i < 4; ++i) {
            _reveal(round, seats[i], true);
        }
        _log("reveal", 70_000);
        skip(REVEAL);
        committee.finalize(round);
        _log("finalize", 400_000);
    }

    function _requestOnce() private returns (uint256) {
        vm.prank(tenant);
        return committee.requestVerification(machine, 1);
    }

    function _drawOnce(uint256 round) private {
        vm.roll(vm.getBlockNumber() + 2);
        vm.prank(THIEF);
        committee.draw(round);
    }

    function _leaves(uint32 seat) private {
        address validator = committee.seatOf(seat).validator;
        vm.prank(validator);
        committee.leave(seat);
    }

    /// @dev Flooding: 900 of the thousand seats leave, so that nine of ten looked at are excluded. The draw costs more, and
    /// has an end.
    function test_draw_among_holes() external {
        for (uint32 seat = 1; seat <= 900; ++seat) {
            _leaves(seat);
        }
        skip(1);
        uint256 round = _requestOnce();
        _drawOnce(round);
        _log("draw_5_of_1000_nine_of_ten_leaving", 1_000_000);
        vm.assertEq(committee.drawnFor(round).length, 5);
    }

    function test_draw_among_none() external {
        for (uint32 seat = 1; seat <= 1000; ++seat) {
            _leaves(seat);
        }
        skip(1);
        uint256 round = _requestOnce();
        _drawOnce(round);
        _log("draw_of_none", 1_250_000);
        vm.assertEq(committee.roundOf(round).misses, 1);
    }
}

/// forge-config: default.isolate = true
/// forge-config: deep.isolate = true
contract CommitteeQuorumGasTest is CommitteeOfPool {
    function _outage(uint256 key) private view returns (bytes32) {
        bytes32 type_ = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        bytes32 domain =
            keccak256(abi.encode(type_, keccak256("Leasehold"), keccak256("1"), block.chainid, address(pool)));
        bytes32 outage = keccak256("Outage(address account,uint32 machine,uint64 from,uint64 to)");
        bytes32 said = keccak256(abi.encode(outage, vm.addr(key), machine, uint64(1), uint64(2)));
        return keccak256(abi.encodePacked(hex"1901", domain, said));
    }

    function _measure(uint256 count, string memory name) private {
        _seats(count);
        uint32[] memory seats = new uint32[](count);
        bytes[] memory proofs = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            seats[i] = uint32(i + 1);
            (uint8 v, bytes32 r, bytes32 s) = vm.sign(i + 1, _outage(i + 1));
            proofs[i] = abi.encodePacked(bytes1(0x01), r, s, v);
        }
        committee.witness(1, machine, 1, 2, seats, proofs);
        vm.snapshotGasLastCall("committee", name);
    }

    function test_quorum_of_5() external {
        _measure(5, "witness_5");
    }

    function test_quorum_of_20() external {
        _measure(20, "witness_20");
    }

    /// @dev Linear: what four hundred signers cost is forty times what ten do, and less than a third of a block.
    function test_quorum_of_400() external {
        _measure(400, "witness_400");
    }

    /// @dev As many as there may be.
    function test_quorum_of_512() external {
        _measure(512, "witness_512");
    }
}
