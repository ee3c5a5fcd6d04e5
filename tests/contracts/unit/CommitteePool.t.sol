// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, RoundState} from "../../../contracts/interfaces/ICommittee.sol";
import {IPoolHooks} from "../../../contracts/interfaces/IPoolHooks.sol";
import {IReputation} from "../../../contracts/interfaces/IReputation.sol";
import {LeaseRequest, MachineStatus} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {CommitteeOfPool} from "./CommitteeOfPool.sol";

/// @notice Committee, reputation and directory on the pool that they belong to.
contract CommitteePoolTest is CommitteeOfPool {
    function test_a_verified_machine_is_rented_by_the_careful() external {
        _seats(6);
        LeaseRequest memory request = _request(machine, 8, 1 hours);
        request.allowUnverified = false;
        _refused(
            tenant, abi.encodeCall(pool.open, (request)), abi.encodeWithSelector(MachineUnverified.selector, machine)
        );
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, true);
        uint256 had = pool.balanceOf(address(0xdEaD));
        committee.finalize(round);
        vm.assertTrue(_status() == MachineStatus.Verified);
        vm.assertEq(pool.machineOf(machine).lastVerified, block.timestamp);
        // The silent one's fine, and his part of the fee.
        vm.assertEq(pool.balanceOf(address(0xdEaD)) - had, _params().seatStake / 10 + 0.95e18);
        _open(request);
        vm.assertEq(
            pool.balanceOf(address(committee)), 6 * uint256(_params().seatStake) * 11 / 10 - _params().seatStake / 10
        );
    }

    function test_a_machine_that_fails_is_unverified_again() external {
        _seats(6);
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, true);
        committee.finalize(round);
        skip(1 days);
        (round, seats) = _drawn();
        _agree(round, seats, false);
        committee.finalize(round);
        vm.assertTrue(_status() == MachineStatus.Unverified);
        vm.assertTrue(committee.roundOf(round).state == RoundState.Failed);
    }

    /// @dev The provider changes its hardware while it is measured: what was measured says nothing of what is there now.
    function test_hardware_changed_meanwhile() external {
        _seats(6);
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, true);
        vm.prank(PROVIDER);
        pool.setHardware(machine, "another");
        committee.finalize(round);
        vm.assertTrue(committee.roundOf(round).state == RoundState.Passed);
        vm.assertTrue(_status() == MachineStatus.Unverified);
    }

    function test_retired_meanwhile() external {
        _seats(6);
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, false);
        vm.prank(PROVIDER);
        pool.retire(machine);
        committee.finalize(round);
        vm.assertTrue(_status() == MachineStatus.Retired);
        vm.prank(tenant);
        vm.expectRevert(abi.encodeWithSelector(ICommittee.MachineNotInService.selector, machine));
        committee.requestVerification(machine, 1);
    }

    /// @dev The committee takes only from those who call it, and nobody passes for the committee.
    function test_nobody_else_charges_or_verifies() external {
        _notFor(THIEF, abi.encodeCall(IPoolHooks.charge, (tenant, 1)));
        _notFor(THIEF, abi.encodeCall(IPoolHooks.setVerified, (machine, 1, true)));
        _notFor(address(reputation), abi.encodeCall(IPoolHooks.charge, (tenant, 1)));
        vm.prank(address(0xB06));
        vm.expectRevert(abi.encodeWithSelector(InsufficientBalance.selector, address(0xB06), 0, 550e18));
        committee.join(1);
    }

    // ----------------------------------------------------------------------------------------------------- reputation

    function _leased(uint32 duration) private returns (uint256 lease) {
        lease = _running(machine, 8, duration);
        skip(duration);
        _close(lease);
    }

    function test_a_tenant_rates_what_it_paid_for() external {
        uint256 lease = _leased(2 hours);
        uint96 fee = uint96(8 * CELL_SECOND * 2 hours * 500 / 10_000);
        vm.expectEmit(true, true, true, true, address(reputation));
        emit IReputation.Rated(PROVIDER, lease, tenant, 5, "comment", fee);
        vm.prank(tenant);
        reputation.rate(lease, 5, "comment");
    }

    function test_neither_unpaid_nor_reused_leases_are_rated() external {
        uint256 lease = _open(machine, 8, 2 hours);
        bytes memory error_ = abi.encodeWithSelector(IReputation.NotRateable.selector, lease);
        _rateRefused(lease, error_); // opened
        vm.prank(OPERATOR);
        pool.decline(lease, "no-disk");
        _rateRefused(lease, error_); // cancelled
        lease = _running(machine, 8, 2 hours);
        error_ = abi.encodeWithSelector(IReputation.NotRateable.selector, lease);
        _rateRefused(lease, error_); // active
        vm.prank(tenant);
        pool.reject(lease);
        _rateRefused(lease, error_); // rejected

        lease = _leased(2 hours);
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        request.reuse = lease;
        _open(request);
        _rateRefused(lease, abi.encodeWithSelector(IReputation.NotRateable.selector, lease)); // its slot is used again
    }

    function _rateRefused(uint256 lease, bytes memory error_) private {
        vm.prank(tenant);
        vm.expectRevert(error_);
        reputation.rate(lease, 5, "");
    }

    /// @dev Washing: the provider leases to himself, to owe less stake. A GPU costs 100 of stake; with fees of 5 percent a
    /// score of 500 takes 2,000 of turnover and burns 100, and then a machine of one GPU needs 75: 25 saved, for 100 burnt.
    function test_washing_a_score_burns_more_than_one_gpu_saves() external {
        uint256 before = pool.balanceOf(PROVIDER);
        uint256 paid;
        uint256 burnt;
        while (burnt < STAKE) {
            uint256 lease = _running(machine, 16, 7 days);
            skip(7 days);
            _close(lease);
            burnt = pool.accountOf(PROVIDER).feesPaid;
            paid = pool.balanceOf(PROVIDER) - before + burnt;
        }
        vm.assertEq(burnt, paid * 500 / 10_000);
        uint256 discount = reputation.discountBpsOf(PROVIDER);
        uint256 saved = uint256(STAKE) * discount / 10_000;
        vm.assertTrue(discount >= 2500 && discount <= 5000);
        vm.assertTrue(saved < burnt, "it paid");
        uint256 held = pool.balanceOf(PROVIDER);
        _register(1);
        uint256 staked = held - pool.balanceOf(PROVIDER);
        vm.assertEq(staked, STAKE - saved);
    }

    function test_starting_late_lowers_a_score() external {
        _leased(7 days);
        uint256 score = reputation.scoreOf(PROVIDER);
        uint256 lease = _open(machine, 8, 2 hours);
        skip(_params().startWindow + 1);
        pool.cancelUnstarted(lease);
        vm.assertTrue(reputation.scoreOf(PROVIDER) < score);
    }

    // ------------------------------------------------------------------------------------------------------ directory

    function test_a_gated_pool_asks_for_a_licence() external {
        bytes memory call = abi.encodeCall(
            pool.register, (_terms(), 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER))
        );
        bytes memory unlicensed = abi.encodeWithSelector(Unlicensed.selector, PROVIDER);
        vm.prank(OWNER);
        pool.setGated(true);
        _refused(PROVIDER, call, unlicensed);
        uint40 until = uint40(block.timestamp + 30 days);
        vm.prank(OWNER);
        directory.issueLicence(PROVIDER, "provider", 0, until);
        _register(1);
        vm.warp(until);
        call = abi.encodeCall(
            pool.register, (_terms(), 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER))
        );
        _refused(PROVIDER, call, unlicensed); // expired; what is in stays in
        vm.assertTrue(_status() == MachineStatus.Unverified);
        _open(machine, 8, 1 hours);
        vm.prank(OWNER);
        pool.setGated(false);
        _register(1);
    }
}
