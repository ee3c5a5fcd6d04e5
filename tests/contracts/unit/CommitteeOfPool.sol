// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee} from "../../../contracts/interfaces/ICommittee.sol";
import {IDirectory} from "../../../contracts/interfaces/IDirectory.sol";
import {IReputation} from "../../../contracts/interfaces/IReputation.sol";
import {MachineStatus} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice A real pool with a machine, its companions, and validators who have joined out of their ledger.
abstract contract CommitteeOfPool is Fixture {
    uint256 internal constant MATURITY = 3 days;
    uint256 internal constant COMMIT = 4 hours;
    uint256 internal constant REVEAL = 2 hours;
    bytes32 internal constant SPEC = keccak256("spec");
    bytes32 internal constant SALT = keccak256("salt");

    ICommittee internal committee;
    IReputation internal reputation;
    IDirectory internal directory;
    uint32 internal machine;

    function setUp() public virtual override {
        super.setUp();
        vm.roll(1000);
        (address committee_,, address reputation_, address directory_) = pool.companions();
        (committee, reputation, directory) = (ICommittee(committee_), IReputation(reputation_), IDirectory(directory_));
        machine = _register(2);
        vm.prank(tenant);
        pool.deposit(tenant, MINTED / 2);
        vm.prank(THIEF);
        pool.deposit(THIEF, MINTED);
    }

    function _join(address validator) internal {
        uint96 stake = _params().seatStake * 11 / 10;
        vm.prank(THIEF);
        pool.transfer(validator, stake);
        vm.prank(validator);
        committee.join(1);
    }

    function _seats(uint256 count) internal {
        for (uint256 i = 1; i <= count; ++i) {
            _join(vm.addr(i));
        }
        skip(MATURITY);
    }

    function _drawn() internal returns (uint256 round, uint32[] memory seats) {
        uint16 revision = pool.machineOf(machine).revision;
        vm.prank(tenant);
        round = committee.requestVerification(machine, revision);
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
        seats = committee.drawnFor(round);
    }

    function _commit(uint256 round, uint32 seat, bool pass) internal {
        bytes32 commitment =
            keccak256(abi.encode(block.chainid, address(pool), round, seat, pass, SPEC, uint16(900), SALT));
        address validator = committee.seatOf(seat).validator;
        vm.prank(validator);
        committee.commit(round, seat, commitment);
    }

    function _reveal(uint256 round, uint32 seat, bool pass) internal {
        address validator = committee.seatOf(seat).validator;
        vm.prank(validator);
        committee.reveal(round, seat, pass, SPEC, 900, SALT);
    }

    /// @dev All but the last of those drawn agree.
    function _agree(uint256 round, uint32[] memory seats, bool pass) internal {
        for (uint256 i = 0; i + 1 < seats.length; ++i) {
            _commit(round, seats[i], pass);
        }
        skip(COMMIT);
        for (uint256 i = 0; i + 1 < seats.length; ++i) {
            _reveal(round, seats[i], pass);
        }
        skip(REVEAL);
    }

    function _status() internal view returns (MachineStatus) {
        return pool.machineOf(machine).status;
    }
}
