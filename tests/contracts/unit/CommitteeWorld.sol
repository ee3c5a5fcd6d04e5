// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Committee} from "../../../contracts/companions/Committee.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ICommittee, Round, RoundState, Seat} from "../../../contracts/interfaces/ICommittee.sol";
import {MachineStatus, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {AccountsDouble, PoolDouble, cloneFor} from "./PoolDouble.sol";

/// @notice A pool with a machine, and validators who have joined.
abstract contract CommitteeWorld {
    uint256 internal constant NOW = 1_800_000_000;
    uint256 internal constant MATURITY = 3 days;
    uint256 internal constant LEAVE_DELAY = 21 days;
    uint256 internal constant COMMIT = 4 hours;
    uint256 internal constant REVEAL = 2 hours;
    uint96 internal constant LEVEL = 500e18;
    uint96 internal constant STAKE = 550e18; // with a tenth for fines
    uint96 internal constant PENALTY = 50e18;
    uint96 internal constant FEE = 5e18;
    uint96 internal constant REWARD = 0.25e18;
    uint32 internal constant MACHINE = 1;
    bytes32 internal constant SPEC = keccak256("spec");
    bytes32 internal constant SALT = keccak256("salt");
    address internal constant PROVIDER = address(0x9807);
    address internal constant REQUESTER = address(0x4E9);
    address internal constant DRAWER = address(0xD4A);
    address internal constant BURNT = address(0xdEaD);
    address internal constant TREASURY = address(0x77EA5);
    address internal constant THIEF = address(0x7417EF);

    AccountsDouble internal accounts;
    PoolDouble internal pool;
    Committee internal committee;

    function setUp() public virtual {
        vm.warp(NOW);
        vm.roll(1000);
        accounts = new AccountsDouble();
        pool = new PoolDouble(address(0x03E4), TREASURY, _params());
        committee = Committee(cloneFor(address(new Committee(IAccounts(address(accounts)))), address(pool)));
        pool.connect(address(committee), address(pool), address(0), address(0));
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Unverified, 1);
        pool.deposit(REQUESTER, 1000e18);
    }

    function _params() internal pure returns (Params memory params) {
        params.seatStake = LEVEL;
        params.verificationFee = FEE;
        params.committeeSize = 5;
        params.reverifyInterval = 1 days;
    }

    function _validator(uint256 index) internal pure returns (address) {
        return vm.addr(index);
    }

    function _join(address validator) internal returns (uint32) {
        pool.deposit(validator, STAKE);
        vm.prank(validator);
        return committee.join(1);
    }

    /// @dev Seats 1 to `count` of as many validators, matured.
    function _seats(uint256 count) internal {
        for (uint256 i = 1; i <= count; ++i) {
            _join(_validator(i));
        }
        skip(MATURITY);
    }

    function _leave(uint32 seat) internal {
        vm.prank(_holder(seat));
        committee.leave(seat);
    }

    function _holder(uint32 seat) internal view returns (address) {
        return committee.seatOf(seat).validator;
    }

    function _request() internal returns (uint256) {
        vm.prank(REQUESTER);
        return committee.requestVerification(MACHINE, 1);
    }

    function _mine() internal {
        vm.roll(vm.getBlockNumber() + 2);
    }

    function _draw(uint256 round) internal returns (uint32[] memory) {
        _mine();
        vm.prank(DRAWER);
        committee.draw(round);
        return committee.drawnFor(round);
    }

    function _drawn() internal returns (uint256 round, uint32[] memory seats) {
        round = _request();
        seats = _draw(round);
    }

    function _commitment(uint256 round, uint32 seat, bool pass, bytes32 spec, uint16 score)
        internal
        view
        returns (bytes32)
    {
        return keccak256(abi.encode(block.chainid, address(pool), round, seat, pass, spec, score, SALT));
    }

    function _commit(uint256 round, uint32 seat, bool pass, bytes32 spec, uint16 score) internal {
        vm.prank(_holder(seat));
        committee.commit(round, seat, _commitment(round, seat, pass, spec, score));
    }

    function _reveal(uint256 round, uint32 seat, bool pass, bytes32 spec, uint16 score) internal {
        vm.prank(_holder(seat));
        committee.reveal(round, seat, pass, spec, score, SALT);
    }

    /// @dev The first `count` of those drawn commit to the same and reveal it.
    function _agree(uint256 round, uint32[] memory seats, uint256 count, bool pass, bytes32 spec) internal {
        for (uint256 i = 0; i < count; ++i) {
            _commit(round, seats[i], pass, spec, 900);
        }
        skip(COMMIT);
        for (uint256 i = 0; i < count; ++i) {
            _reveal(round, seats[i], pass, spec, 900);
        }
        skip(REVEAL);
    }

    function _state(uint256 round) internal view returns (RoundState) {
        return committee.roundOf(round).state;
    }

    function _assertState(uint256 round, RoundState state) internal view {
        vm.assertEq(uint256(_state(round)), uint256(state), "state");
    }

    /// @dev What the committee holds is every seat's stake and what is left of the fees, to the unit.
    function _assertSolvent() internal view {
        uint256 owed;
        for (uint32 seat = 1; seat <= committee.seatCount(); ++seat) {
            owed += committee.seatOf(seat).stake;
        }
        for (uint256 round = 1; round <= committee.roundCount(); ++round) {
            RoundState state = _state(round);
            bool over = state == RoundState.Passed || state == RoundState.Failed;
            if (!over) owed += committee.roundOf(round).fee;
        }
        vm.assertEq(pool.balanceOf(address(committee)), owed, "solvent");
    }

    function _expect(bytes memory error_) internal {
        vm.expectRevert(error_);
    }

    function _event() internal {
        vm.expectEmit(true, true, true, true, address(committee));
    }

    function _sign(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }
}
