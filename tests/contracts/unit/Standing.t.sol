// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IDirectory} from "../../../contracts/interfaces/IDirectory.sol";
import {IFaults} from "../../../contracts/interfaces/IFaults.sol";
import {IReputation} from "../../../contracts/interfaces/IReputation.sol";
import {LeaseRequest, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {Score} from "../../../contracts/libraries/Score.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice Who may register in a gated pool.
contract LicencesTest is Fixture {
    IDirectory private directory;

    function setUp() public override {
        super.setUp();
        (,,, address directory_) = pool.companions();
        directory = IDirectory(directory_);
    }

    function _gate(bool gated) private {
        vm.prank(OWNER);
        pool.setGated(gated);
    }

    function _license(address account, uint40 until) private {
        vm.prank(OWNER);
        directory.issueLicence(account, "provider", 0, until);
    }

    function _unlicensed() private {
        bytes memory call = abi.encodeCall(
            pool.register, (_terms(), 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER))
        );
        _refused(PROVIDER, call, abi.encodeWithSelector(Unlicensed.selector, PROVIDER));
    }

    function test_a_pool_is_gated_by_its_owner() external {
        vm.assertFalse(pool.gated());
        _notFor(THIEF, abi.encodeCall(pool.setGated, (true)));
        _notFor(PROVIDER, abi.encodeCall(pool.setGated, (true)));
        _expectEvent();
        emit GatedSet(true);
        _gate(true);
        vm.assertTrue(pool.gated());
        _unlicensed();
        _expectEvent();
        emit GatedSet(false);
        _gate(false);
        vm.assertFalse(pool.gated());
        _register(1);
    }

    function test_a_licence_opens_the_gate_until_it_ends() external {
        _gate(true);
        _license(THIEF, type(uint40).max); // another's
        _unlicensed();
        vm.prank(OWNER); // of another kind
        directory.issueLicence(PROVIDER, "matlab", 9, type(uint40).max);
        _unlicensed();
        _license(PROVIDER, uint40(NOW + 1 days));
        _register(1);
        skip(1 days - 1);
        _register(1);
        skip(1);
        _unlicensed();
        _license(PROVIDER, uint40(NOW + 2 days));
        _register(1);
        _license(PROVIDER, 0);
        _unlicensed();
    }

    /// @dev A licence is for coming in. Who is in stays, trades, and leaves with everything.
    function test_whoever_is_inside_stays() external {
        uint32 machine = _register(1);
        _gate(true);
        _unlicensed();
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        vm.prank(PROVIDER);
        pool.addStake(machine, 1);
        vm.prank(PROVIDER);
        pool.setHardware(machine, "other");
        vm.prank(tenant);
        uint256 lease = pool.open(_newest(machine));
        _start(lease);
        skip(1 hours);
        pool.close(lease);
        vm.prank(PROVIDER);
        pool.retire(machine);
        skip(14 days);
        pool.unstake(machine);
        uint256 balance = pool.balanceOf(PROVIDER);
        vm.prank(PROVIDER);
        pool.withdraw(PROVIDER, balance);
    }

    function _newest(uint32 machine) private pure returns (LeaseRequest memory request) {
        request = _request(machine, 8, 1 hours);
        request.revision = 3;
    }
}

/// @notice What a good name takes off the stake: the pool and Reputation say the same.
contract DiscountTest is Fixture {
    IReputation private reputation;
    address private faults;
    uint32 private machine;

    /// @dev A week of eight GPUs: 1344 GPU-hours, of which a twentieth is the fee.
    uint256 private constant FEES = 1344 * uint256(PRICE) / 20;

    function setUp() public override {
        super.setUp();
        address reputation_;
        (, faults, reputation_,) = pool.companions();
        reputation = IReputation(reputation_);
        machine = _register(8);
        uint256 lease = _running(machine, 64, 7 days);
        skip(7 days);
        pool.close(lease);
        vm.assertEq(pool.accountOf(PROVIDER).feesPaid, FEES);
    }

    /// @dev Of `gpus`, rounded as the pool rounds: the discount down.
    function _least(uint256 gpus, uint256 perGpu) private view returns (uint96) {
        return uint96(gpus * perGpu - gpus * perGpu * reputation.discountBpsOf(PROVIDER) / 10_000);
    }

    function _slashed(uint256 amount) private {
        vm.mockCall(faults, abi.encodeCall(IFaults.slashedOf, (PROVIDER)), abi.encode(amount));
    }

    function _propose(uint96 perGpu) private {
        Params memory params = _params();
        (params.minStakePerGpu, params.seatStake) = (perGpu, 5 * perGpu);
        vm.prank(OWNER);
        pool.proposeParams(params);
        skip(2 days);
    }

    function _moveStake(uint96 amount) private {
        address[] memory to = new address[](1);
        uint96[] memory amounts = new uint96[](1);
        (to[0], amounts[0]) = (TREASURY, amount);
        _asFaults().moveStake(machine, to, amounts);
    }

    function test_registering_costs_less() external {
        uint256 score = 1000 * FEES / (FEES + STAKE);
        vm.assertEq(score, 659);
        vm.assertEq(reputation.scoreOf(PROVIDER), score);
        uint256 least = 3 * uint256(STAKE) - 3 * uint256(STAKE) * 659 * 5 / 10_000;
        vm.assertEq(least, _least(3, STAKE));
        uint256 had = pool.balanceOf(PROVIDER);
        uint32 second = _register(3);
        vm.assertEq(pool.machineOf(second).stake, least);
        vm.assertEq(pool.balanceOf(PROVIDER), had - least);
        vm.assertFalse(pool.machineOf(second).underStaked);
    }

    /// @dev Whoever has paid nothing yet has no name, and is not even asked about.
    function test_a_newcomer_pays_in_full() external {
        vm.etch(faults, hex"fe");
        vm.prank(THIEF);
        uint32 his = pool.register(_terms(), 2, 1, "hardware", "contact", OPERATOR, _consent(address(pool), THIEF));
        vm.assertEq(pool.machineOf(his).stake, 2 * STAKE);
        vm.expectRevert();
        _register(1);
    }

    function test_a_slash_weighs_ten_times() external {
        _slashed(FEES / 10);
        uint256 score = 1000 * FEES / (FEES + STAKE + FEES / 10 * 10);
        vm.assertEq(reputation.scoreOf(PROVIDER), score);
        vm.assertEq(pool.machineOf(_register(1)).stake, _least(1, STAKE));
        _slashed(type(uint128).max);
        vm.assertEq(pool.machineOf(_register(1)).stake, STAKE);
    }

    function test_broken_leases_weigh_a_hundredth_of_a_stake_each() external {
        uint32 second = _register(1);
        uint256 first = _running(second, 8, 2 days);
        vm.prank(PROVIDER);
        pool.terminate(first);
        uint256 other = _open(machine, 1, 2 days);
        skip(30 minutes + 1);
        pool.cancelUnstarted(other);
        vm.assertEq(reputation.scoreOf(PROVIDER), 1000 * FEES / (FEES + STAKE + STAKE / 50));
        vm.assertEq(pool.machineOf(_register(2)).stake, _least(2, STAKE));
    }

    /// @dev However much has been paid.
    function test_never_under_half() external {
        // The least significant part of a provider's slot is what he has paid.
        bytes32 slot = keccak256(abi.encode(PROVIDER, 5));
        vm.store(address(pool), slot, bytes32(uint256(type(uint96).max)));
        vm.assertEq(pool.accountOf(PROVIDER).feesPaid, type(uint96).max);
        vm.assertEq(pool.machineOf(_register(1)).stake, STAKE - uint256(STAKE) * 4995 / 10_000);
        vm.assertEq(Score.discountBps(Score.MAX), 5000);
    }

    /// @dev Also with what each call below weighs again.
    function test_new_rules_ask_for_the_discounted_stake() external {
        uint96 twice = 2 * STAKE;
        _propose(twice);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        uint96 least = _least(8, twice);
        vm.assertTrue(least > 8 * STAKE && least < 8 * twice);
        vm.assertTrue(pool.machineOf(machine).underStaked);
        vm.prank(THIEF);
        pool.addStake(machine, least - 8 * STAKE - 1);
        vm.assertTrue(pool.machineOf(machine).underStaked);
        vm.prank(THIEF);
        pool.addStake(machine, 1);
        vm.assertFalse(pool.machineOf(machine).underStaked);
    }

    /// @dev A stake above what a good name is asked for may shrink to it, and no further.
    function test_a_slash_down_to_the_discounted_stake_and_below() external {
        uint96 least = _least(8, STAKE);
        _moveStake(8 * STAKE - least);
        vm.assertFalse(pool.machineOf(machine).underStaked);
        _moveStake(1);
        vm.assertTrue(pool.machineOf(machine).underStaked);
        bytes memory call = abi.encodeCall(pool.open, (_request(machine, 1, 1 hours)));
        _refused(tenant, call, abi.encodeWithSelector(MachineUnderStaked.selector, machine));
        vm.prank(PROVIDER);
        pool.addStake(machine, 1);
        vm.assertFalse(pool.machineOf(machine).underStaked);
        _open(machine, 1, 1 hours);
    }

    /// @dev What the discount rests on may go: then the next weighing says so, and leases that run go on.
    function test_a_name_lost_is_a_stake_too_small() external {
        uint32 second = _register(1);
        uint256 lease = _running(second, 8, 1 hours);
        _slashed(type(uint128).max);
        vm.assertFalse(pool.machineOf(second).underStaked);
        vm.prank(PROVIDER);
        pool.setTerms(second, _terms());
        vm.assertTrue(pool.machineOf(second).underStaked);
        skip(1 hours);
        pool.close(lease);
    }

    /// @dev No exit asks a companion anything: with all of them broken every one still works.
    function test_no_exit_asks_about_anybody() external {
        uint256 running = _running(machine, 1, 2 hours);
        uint256 rejected = _running(machine, 1, 2 hours);
        uint256 unstarted = _open(machine, 1, 2 hours);
        (address committee,, address reputation_, address directory) = pool.companions();
        vm.etch(committee, hex"fe");
        vm.etch(faults, hex"fe");
        vm.etch(reputation_, hex"fe");
        vm.etch(directory, hex"fe");
        vm.prank(tenant);
        pool.reject(rejected);
        skip(1 hours);
        _claim(running);
        pool.cancelUnstarted(unstarted);
        _close(running);
        vm.prank(PROVIDER);
        pool.retire(machine);
        skip(14 days);
        pool.unstake(machine);
        uint256 balance = pool.balanceOf(PROVIDER);
        vm.prank(PROVIDER);
        pool.withdraw(PROVIDER, balance);
        balance = pool.balanceOf(tenant);
        vm.prank(tenant);
        pool.withdraw(tenant, balance);
    }
}
