// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

/// @notice Whose the hold after an outage is: the leases' that lived through it, and no others'. Nobody's exit waits for
/// another's outage.
contract HoldsTest is LeasesFixture {
    uint256 private constant MINUTE = 60 * CELL_SECOND; // of one cell
    uint256 private constant UP = NOW + 40 minutes; // down since ten minutes before that

    /// @dev An outage of ten minutes has ended at `UP`, and is held for two days.
    function _outage() private {
        vm.warp(UP);
        _down(UP - 10 minutes);
        _up();
        _hold(UP - 10 minutes, UP, UP + 2 days);
    }

    function _closeAs(address who, uint256 lease) private {
        vm.prank(who);
        pool.close(lease);
    }

    function _notOverFor(address who, uint256 lease, uint256 until) private {
        _refused(who, abi.encodeCall(pool.close, (lease)), abi.encodeWithSelector(LeaseNotOver.selector, lease, until));
    }

    /// @dev Eight GPUs once stood empty for 47 h 58 min of a machine that had been down for a minute, for 64 cells × 60 s.
    function test_leases_of_after_an_outage_block_nobody() external {
        _outage();
        uint256[] memory leases = new uint256[](16);
        for (uint256 i = 0; i < 16; ++i) {
            leases[i] = i % 8 == 7 ? 0 : _running(machine, 1, 60);
        }
        skip(60);
        for (uint256 i = 0; i < 16; ++i) {
            if (leases[i] != 0) _closeAs(THIEF, leases[i]);
        }
        LeaseRequest memory request = _request(machine, 16, 1 hours);
        _open(request);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(14 * MINUTE));
    }

    function test_one_of_after_is_settled_to_make_room_and_claimed_as_ever() external {
        _outage();
        uint256 lease = _running(machine, 8, 2 hours);
        skip(1 hours);
        _claim(lease);
        vm.assertEq(pool.leaseOf(lease).settled, 8 * 40 * MINUTE);
        skip(1 hours);
        LeaseRequest memory request = _request(machine, 16, 1 hours);
        request.settle = _one(lease);
        _open(request);
        _assertState(lease, LeaseState.Ended);
    }

    /// @dev Over before it began: nothing of it is in the hold.
    function test_a_lease_of_before_an_outage_is_free_too() external {
        uint256 lease = _running(machine, 1, 20 minutes);
        _outage();
        _closeAs(THIEF, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 20 * MINUTE);
    }

    /// @dev What was settled by a change of share is nobody's to hold any more.
    function test_a_segment_of_after_is_free() external {
        uint256 lease = _running(machine, 2, 2 hours);
        _outage();
        vm.prank(tenant);
        pool.resize(lease, 1, 0);
        vm.warp(NOW + 2 hours);
        _closeAs(THIEF, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 2 * 40 * MINUTE + 80 * MINUTE);
    }

    function test_a_lease_of_during_is_held_for_its_tenant() external {
        uint256 lease = _running(machine, 1, 1 hours);
        _outage();
        vm.warp(UP + 2 hours);
        _notOverFor(THIEF, lease, UP + 2 days);
        _notOverFor(OPERATOR, lease, UP + 2 days);
        _claim(lease);
        vm.assertEq(pool.leaseOf(lease).settled, 30 * MINUTE);
    }

    /// @dev The tenant has back what of the outage he was billed, and no more; the cells are free, and the machine may go.
    function test_a_provider_who_forgoes_has_his_cells_at_once() external {
        uint256 one = _running(machine, 1, 1 hours);
        uint256 two = _running(machine, 8, 35 minutes);
        _outage();
        vm.warp(UP + 2 hours);
        bytes memory retire = abi.encodeCall(pool.retire, (machine));
        _refused(PROVIDER, retire, abi.encodeWithSelector(MachineBusy.selector, machine, 0xFF01));
        _closeAs(PROVIDER, one);
        _closeAs(PROVIDER, two);
        vm.assertEq(pool.leaseOf(one).settled, 50 * MINUTE);
        vm.assertEq(pool.leaseOf(two).settled, 8 * 30 * MINUTE);
        vm.assertEq(pool.balanceOf(tenant), 10 * MINUTE + 8 * 5 * MINUTE);
        vm.prank(PROVIDER);
        pool.retire(machine);
        _assertSolvent(0);
    }

    /// @dev What has been taken off already he gives once more: that is his choice, and nobody else's. He makes it by `close`:
    /// a call that only opens a lease in his name, as a delegate may, settles nothing that is disputed.
    function test_forgoing_is_the_providers_alone() external {
        uint256 lease = _running(machine, 1, 1 hours);
        _outage();
        vm.warp(UP + 2 hours);
        _pause(lease, UP - 10 minutes, UP);
        LeaseRequest memory request = _request(machine, 16, 1 hours);
        request.settle = _one(lease);
        _refusedOpen(request, abi.encodeWithSelector(LeaseNotOver.selector, lease, UP + 2 days));
        vm.prank(PROVIDER);
        vm.expectRevert(abi.encodeWithSelector(LeaseNotOver.selector, lease, UP + 2 days));
        pool.open(request);
        _closeAs(PROVIDER, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 40 * MINUTE);
    }

    /// @dev While an outage runs nothing of it is his anyway, so what has ended may be cleared away, and the machine may go.
    function test_a_provider_clears_his_machine_while_it_is_down() external {
        uint256 lease = _running(machine, 1, 1 hours);
        uint256 over = _running(machine, 1, 20 minutes);
        skip(30 minutes);
        _down(NOW + 25 minutes);
        _closeAs(THIEF, over); // before it began
        skip(30 minutes);
        _notOverFor(THIEF, lease, type(uint256).max);
        _closeAs(PROVIDER, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 25 * MINUTE);
        vm.prank(PROVIDER);
        pool.retire(machine);
    }

    /// @dev Two outages, and what is held of the first ends where the second begins: no second is given back twice.
    function test_forgoing_in_a_second_outage() external {
        uint256 lease = _running(machine, 1, 1 hours);
        _outage();
        _hold(UP - 10 minutes, UP + 30 minutes, UP + 2 days);
        vm.warp(NOW + 1 hours);
        _down(UP + 10 minutes);
        _closeAs(PROVIDER, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 30 * MINUTE);
    }

    /// @dev Also of a lease that was over before the second outage, but not before the first.
    function test_a_second_outage_does_not_end_the_hold_of_the_first() external {
        uint256 lease = _running(machine, 1, 45 minutes);
        _outage();
        vm.warp(NOW + 1 hours);
        _down(NOW + 50 minutes);
        _notOverFor(THIEF, lease, UP + 2 days);
        _closeAs(PROVIDER, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 35 * MINUTE);
    }

    function test_a_hold_that_has_passed_costs_nobody() external {
        uint256 lease = _running(machine, 1, 1 hours);
        _outage();
        vm.warp(UP + 2 days);
        _closeAs(PROVIDER, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 60 * MINUTE);
    }

    /// @dev Whatever the times, who forgoes is paid for no second of the hold, and a lease that has none in it is free.
    function testFuzz_forgoing(uint16 from, uint16 length, uint16 start, uint16 duration) external {
        duration = duration % 7200 + 60;
        skip(start);
        uint256 lease = _running(machine, 1, duration);
        uint256 begin = NOW + start;
        (uint256 heldFrom, uint256 heldTo) = (NOW + from, NOW + uint256(from) + length);
        vm.warp((heldTo > begin + duration ? heldTo : begin + duration) + 1);
        _hold(heldFrom, heldTo, vm.getBlockTimestamp() + 1 days);
        uint256 low = heldFrom > begin ? heldFrom : begin;
        uint256 high = heldTo < begin + duration ? heldTo : begin + duration;
        uint256 overlap = low < high ? high - low : 0;
        vm.prank(overlap == 0 ? THIEF : PROVIDER);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, (duration - overlap) * CELL_SECOND);
    }
}
