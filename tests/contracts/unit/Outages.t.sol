// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState, LeaseView} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

/// @notice How an outage stops a bill: while it runs, while it is held, and once it is taken off.
abstract contract OutagesFixture is LeasesFixture {
    uint256 internal constant MINUTE = 60 * CELL_SECOND; // of one cell
    uint256 internal lease;

    function setUp() public virtual override {
        super.setUp();
        lease = _running(machine, 1, 2 hours);
    }

    function _settled() internal view returns (uint256) {
        return pool.leaseOf(lease).settled;
    }

    function _nothingToClaim() internal {
        bytes memory nothing = abi.encodeWithSelector(NothingToClaim.selector, lease);
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(lease))), nothing);
    }

    function _notOverFor(address who, uint256 until) internal {
        bytes memory error_ = abi.encodeWithSelector(LeaseNotOver.selector, lease, until);
        _refused(who, abi.encodeCall(pool.close, (lease)), error_);
    }
}

contract ClaimInOutageTest is OutagesFixture {
    function test_claim_stops_where_the_outage_begins() external {
        skip(1 hours); // the lag alone would allow 40 minutes
        _down(NOW + 30 minutes);
        _claim(lease);
        vm.assertEq(_settled(), 30 * MINUTE);
        _nothingToClaim();
        skip(1 days);
        _nothingToClaim();
        vm.assertEq(pool.balanceOf(PROVIDER), _net(30 * MINUTE));
    }

    function test_claim_keeps_its_lag_before_an_outage() external {
        skip(1 hours);
        _down(NOW + 50 minutes);
        _claim(lease);
        vm.assertEq(_settled(), 40 * MINUTE);
        skip(10 minutes);
        _claim(lease);
        vm.assertEq(_settled(), 50 * MINUTE);
    }

    function test_claim_of_a_lease_that_began_in_the_outage() external {
        skip(1 hours);
        _down(NOW - 1); // a quorum has seen it only now
        _nothingToClaim();
    }

    function test_claim_stops_at_the_hold_until_it_has_passed() external {
        skip(1 hours);
        _hold(NOW + 10 minutes, NOW + 90 minutes);
        _claim(lease);
        vm.assertEq(_settled(), 10 * MINUTE);
        skip(30 minutes - 1);
        _nothingToClaim();
        skip(1); // 90 minutes in
        _claim(lease);
        vm.assertEq(_settled(), 70 * MINUTE);
    }

    /// @dev An outage that has ended is held while another runs.
    function test_claim_stops_at_the_earlier_of_the_two() external {
        skip(2 hours);
        _hold(NOW + 20 minutes, NOW + 2 days);
        _down(NOW + 30 minutes);
        _claim(lease);
        vm.assertEq(_settled(), 20 * MINUTE);
        _hold(NOW + 40 minutes, NOW + 2 days);
        _claim(lease);
        vm.assertEq(_settled(), 30 * MINUTE);
        _up();
        _claim(lease);
        vm.assertEq(_settled(), 40 * MINUTE);
        skip(2 days);
        _claim(lease);
        vm.assertEq(_settled(), 2 * HOUR);
    }

    /// @dev What was settled before a quorum has spoken stays with the provider; tenants have it back from the slash. The
    /// next minutes are free until what is owed has caught up.
    function test_an_outage_found_late_takes_nothing_back() external {
        skip(1 hours);
        _claim(lease); // 40 minutes
        _down(NOW + 10 minutes);
        vm.assertEq(_settled(), 40 * MINUTE);
        _nothingToClaim();
        _up();
        _pause(lease, NOW + 10 minutes, NOW + 1 hours); // 50 of the 60 minutes were dark
        vm.assertEq(_settled(), 40 * MINUTE);
        skip(30 minutes); // 40 minutes of service
        _close(lease);
        vm.assertEq(_settled(), 40 * MINUTE);
        vm.assertEq(pool.balanceOf(tenant), 80 * MINUTE);
        _assertSolvent(0);
    }
}

contract CloseInOutageTest is OutagesFixture {
    function test_the_tenant_ends_it_billed_to_where_the_outage_began() external {
        skip(1 hours);
        _down(NOW + 30 minutes);
        skip(10 minutes);
        _expectEvent();
        emit LeaseClosed(
            lease, machine, uint32(NOW + 70 minutes), _net(30 * MINUTE), _fee(30 * MINUTE), uint96(90 * MINUTE)
        );
        _close(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.end, NOW + 70 minutes);
        vm.assertEq(seen.paused, 40 minutes);
        vm.assertEq(seen.settled, 30 * MINUTE);
        _assertSolvent(0);
    }

    function test_a_tenant_who_comes_late_keeps_the_end() external {
        skip(1 hours);
        _down(NOW + 30 minutes);
        skip(1 days);
        _close(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.end, NOW + 2 hours);
        vm.assertEq(seen.paused, 90 minutes);
        vm.assertEq(seen.settled, 30 * MINUTE);
    }

    function test_the_tenants_close_adds_to_earlier_pauses() external {
        skip(30 minutes);
        _pause(lease, NOW + 10 minutes, NOW + 20 minutes);
        skip(60 minutes);
        _down(NOW + 80 minutes);
        _close(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.paused, 20 minutes);
        vm.assertEq(seen.settled, 70 * MINUTE);
    }

    function test_an_outage_after_the_end_costs_the_provider_nothing() external {
        skip(3 hours);
        _down(NOW + 2 hours + 1);
        _close(lease);
        vm.assertEq(_settled(), 2 * HOUR);
    }

    function test_an_outage_from_before_the_start_leaves_nothing_to_pay() external {
        skip(1 hours);
        _down(NOW - 1 hours);
        _close(lease);
        vm.assertEq(_settled(), 0);
        vm.assertEq(pool.balanceOf(tenant), 2 * HOUR);
        vm.assertEq(pool.balanceOf(PROVIDER), 0);
    }

    /// @dev Else a provider would close what ends in his outage, and be paid for it.
    function test_nobody_else_ends_it_while_the_machine_is_down() external {
        skip(1 hours);
        _down(NOW + 30 minutes);
        _notFor(THIEF, abi.encodeCall(pool.close, (lease)));
        skip(1 hours); // its end
        _notOverFor(OPERATOR, type(uint256).max);
        _notOverFor(THIEF, type(uint256).max);
        _hold(NOW, NOW); // no hold says anything else
        _notOverFor(THIEF, type(uint256).max);
        _up();
        pool.close(lease);
        vm.assertEq(_settled(), 2 * HOUR); // nobody had applied it
    }

    function test_nobody_else_ends_it_while_the_machine_is_held() external {
        _hold(NOW + 30 minutes, NOW + 3 hours);
        skip(1 hours);
        _notFor(PROVIDER, abi.encodeCall(pool.close, (lease)));
        skip(1 hours);
        _notOverFor(OPERATOR, NOW + 3 hours);
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.settle = _one(lease);
        bytes memory error_ = abi.encodeWithSelector(LeaseNotOver.selector, lease, NOW + 3 hours);
        _refusedOpen(request, error_);
        skip(1 hours - 1);
        _notOverFor(THIEF, NOW + 3 hours);
        skip(1);
        _open(request);
        _assertState(lease, LeaseState.Ended);
        vm.assertEq(_settled(), 2 * HOUR);
    }

    /// @dev Nothing stops the tenant; but what is not applied yet is billed, so it is worth sending that first.
    function test_a_hold_does_not_change_the_tenants_close() external {
        skip(1 hours);
        _down(NOW + 30 minutes);
        _up();
        _hold(NOW + 30 minutes, NOW + 2 days);
        uint256 before = vm.snapshotState();
        _close(lease);
        vm.assertEq(_settled(), HOUR);
        vm.revertToState(before);
        _pause(lease, NOW + 30 minutes, NOW + 1 hours);
        _close(lease);
        vm.assertEq(_settled(), 30 * MINUTE);
    }

    /// @dev The hold fee is 10 % of the time held, up to the outage.
    function test_reject_in_an_outage() external {
        skip(5 minutes);
        _down(NOW + 2 minutes);
        skip(1 minutes);
        vm.prank(tenant);
        pool.reject(lease);
        vm.assertEq(_settled(), 2 * MINUTE / 10);
        _assertState(lease, LeaseState.Rejected);
        _assertSolvent(0);
    }

    function test_close_of_an_opened_lease_in_an_outage() external {
        uint256 opened = _open(machine, 1, 1 hours);
        skip(10 minutes);
        _down(NOW + 4 minutes);
        _close(opened);
        _assertState(opened, LeaseState.Rejected);
        vm.assertEq(pool.leaseOf(opened).settled, 4 * MINUTE / 10);
        // Past the window it is cancelled, by anyone, for nothing.
        _up();
        opened = _open(machine, 1, 1 hours);
        _down(NOW + 11 minutes);
        skip(30 minutes + 1);
        pool.close(opened);
        _assertState(opened, LeaseState.Cancelled);
        _assertSolvent(2 * HOUR);
    }

    function test_decline_in_an_outage() external {
        uint256 opened = _open(machine, 1, 1 hours);
        _down(NOW);
        vm.prank(OPERATOR);
        pool.decline(opened, "down");
        vm.assertEq(pool.balanceOf(tenant), HOUR);
    }
}

contract DownTest is OutagesFixture {
    bytes private down;

    function setUp() public override {
        super.setUp();
        skip(20 minutes);
        _down(NOW + 15 minutes);
        down = abi.encodeWithSelector(MachineDown.selector, machine, NOW + 15 minutes);
    }

    function test_open_is_refused() external {
        _refusedOpen(_request(machine, 1, 60), down);
    }

    function test_resize_is_refused() external {
        _refused(tenant, abi.encodeCall(pool.resize, (lease, 2, 0)), down);
        _refused(tenant, abi.encodeCall(pool.resize, (lease, 1, 0)), down);
    }

    /// @dev It takes `Faults.recover`, which ends the outage and its price with it.
    function test_recover_is_refused() external {
        _refused(OPERATOR, abi.encodeCall(pool.recover, (machine)), down);
        _refused(PROVIDER, abi.encodeCall(pool.recover, (machine)), down);
        _notFor(THIEF, abi.encodeCall(pool.recover, (machine)));
    }

    /// @dev A tenant may count on its return. The end moves; the bill stands still.
    function test_extend_works() external {
        vm.prank(tenant);
        pool.extend(lease, 1 hours);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.end, NOW + 3 hours);
        vm.assertEq(seen.deposit, 3 * HOUR);
        skip(1 hours);
        _close(lease);
        vm.assertEq(_settled(), 15 * MINUTE);
        vm.assertEq(pool.balanceOf(tenant), 3 * HOUR - 15 * MINUTE);
    }

    /// @dev `start` does not ask (its price would be a slot for everybody): an operator gains nothing by it.
    function test_start_works_and_bills_nothing() external {
        _up();
        uint256 opened = _open(machine, 1, 1 hours);
        _down(NOW + 20 minutes);
        skip(10 minutes);
        _start(opened);
        skip(30 minutes);
        bytes memory nothing = abi.encodeWithSelector(NothingToClaim.selector, opened);
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(opened))), nothing);
        _close(opened);
        LeaseView memory seen = pool.leaseOf(opened);
        vm.assertEq(seen.settled, 0);
        vm.assertEq(seen.paused, 30 minutes);
        vm.assertEq(pool.balanceOf(tenant), HOUR);
    }

    function test_notice_is_given_all_the_same() external {
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, HOUR);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        vm.assertEq(pool.leaseOf(lease).end, NOW + 80 minutes);
        skip(2 hours);
        _notOverFor(THIEF, type(uint256).max);
        _close(lease);
        vm.assertEq(_settled(), 15 * MINUTE);
    }
}

contract PausedTimeTest is OutagesFixture {
    function setUp() public override {
        super.setUp();
        skip(1 hours);
    }

    /// @dev Minutes after the start, beside the minutes that are to be taken off.
    function _pauses(uint256 from, uint256 to, uint256 expected) private {
        uint256 before = vm.snapshotState();
        _pause(lease, NOW + from * 60 - 1 hours, NOW + to * 60 - 1 hours);
        vm.assertEq(pool.leaseOf(lease).paused, expected * 60);
        vm.revertToState(before);
    }

    /// @dev The lease began at minute 60 of this clock, now is 120, the end 180.
    function test_only_what_has_run_is_paused() external {
        _pauses(0, 59, 0); // before it began
        _pauses(0, 60, 0);
        _pauses(50, 61, 1);
        _pauses(60, 61, 1);
        _pauses(70, 75, 5);
        _pauses(75, 75, 0); // nothing
        _pauses(75, 70, 0);
        _pauses(119, 120, 1);
        _pauses(119, 170, 1); // not the time to come
        _pauses(120, 170, 0);
        _pauses(0, 500, 60);
        skip(3 hours); // now is after the end
        _pauses(170, 200, 10);
        _pauses(180, 200, 0);
        _pauses(0, 500, 120);
    }

    function test_a_pause_may_leave_nothing_to_pay() external {
        _pause(lease, NOW, NOW + 1 hours);
        _close(lease);
        vm.assertEq(_settled(), 0);
        vm.assertEq(pool.balanceOf(tenant), 2 * HOUR);
    }

    /// @dev Only time since the share was last changed: what was before is paid.
    function test_a_pause_stays_in_its_segment() external {
        _resize(lease, 2);
        skip(30 minutes);
        _pause(lease, NOW + 40 minutes, NOW + 70 minutes);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.paused, 10 minutes);
        _close(lease);
        vm.assertEq(_settled(), 60 * MINUTE + 2 * 20 * MINUTE);
        _assertSolvent(0);
    }

    function test_an_outage_that_runs_stays_in_its_segment() external {
        _resize(lease, 2);
        skip(30 minutes);
        _down(NOW + 40 minutes); // known later than the resize
        _nothingToClaim();
        _close(lease);
        vm.assertEq(_settled(), 60 * MINUTE);
    }

    /// @dev The next lease of a slot owes nothing for the one before, whichever word is written first.
    function test_a_slot_used_again_begins_with_nothing_paused() external {
        _pause(lease, NOW, NOW + 10 minutes);
        _claim(lease);
        _close(lease);
        LeaseRequest memory request = _request(machine, 1, 2 hours);
        request.reuse = lease;
        uint256 start = NOW + 1 hours;

        uint256 before = vm.snapshotState();
        lease = _open(request);
        _start(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.paused == 0 && seen.settled == 0 && seen.segmentStart == start);
        skip(30 minutes);
        _pause(lease, start + 10 minutes, start + 15 minutes); // writes the word
        seen = pool.leaseOf(lease);
        vm.assertTrue(seen.paused == 5 minutes && seen.settled == 0);
        _claim(lease);
        vm.assertEq(_settled(), 5 * MINUTE);
        _close(lease);
        vm.assertEq(_settled(), 25 * MINUTE);

        vm.revertToState(before);
        lease = _open(request);
        _start(lease);
        skip(30 minutes);
        _down(start + 10 minutes);
        _close(lease); // in an outage, with the word of the lease before
        vm.assertEq(_settled(), 10 * MINUTE);
        _up();
        request.reuse = lease;
        lease = _open(request);
        _start(lease);
        skip(30 minutes);
        _close(lease);
        vm.assertEq(_settled(), 30 * MINUTE);
        _assertSolvent(0);
    }

    /// @dev Any outages, claims and shares: what is settled never falls, and in the end the provider has, to the unit that a
    /// segment's rounding takes, what the seconds of service cost; or what was settled, where that is more.
    function testFuzz_paused_time_is_never_billed(uint256 seed) external {
        vm.prank(tenant);
        pool.extend(lease, 38 hours);
        uint256 known = NOW; // outages come in order and never overlap
        uint256 exact; // cell-seconds of earlier segments
        uint256 cells = 1;
        uint256 since = NOW;
        uint256 paused;
        uint256 settled;
        uint256 resizes;
        for (uint256 i = 0; i < 12; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            skip(60 + seed % 2 hours);
            uint256 now_ = vm.getBlockTimestamp();
            if ((seed >> 64) % 3 == 0) {
                uint256 from = known + (seed >> 96) % (now_ - known);
                uint256 to = from + (seed >> 128) % (now_ - from + 1);
                _pause(lease, from, to);
                if (from < since) from = since;
                if (to > from) paused += to - from;
                known = to > known ? to : known;
            } else if ((seed >> 64) % 3 == 1) {
                (bool ok,) = address(pool).call(abi.encodeCall(pool.claim, (_one(lease))));
                ok; // or there was nothing
            } else {
                uint256 billed = exact + cells * (now_ - since - paused);
                if (billed * CELL_SECOND < settled) billed = settled / CELL_SECOND;
                exact = billed;
                cells = [uint256(1), 2, 4, 8][(seed >> 160) % 4];
                _resize(lease, uint8(cells));
                (since, paused) = (now_, 0);
                ++resizes;
            }
            vm.assertTrue(_settled() >= settled, "settled fell");
            settled = _settled();
            vm.assertLe(settled, pool.leaseOf(lease).deposit, "more than it holds");
        }
        _close(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        uint256 owed = (exact + cells * (seen.end - since - paused)) * CELL_SECOND;
        vm.assertEq(seen.settled, owed > settled ? owed : settled);
        vm.assertEq(pool.accountOf(PROVIDER).feesPaid, seen.settled / 20);
        vm.assertEq(pool.balanceOf(PROVIDER), seen.settled - seen.settled / 20);
        _assertSolvent(0);
    }
}
