// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {
    AccountView,
    LeaseRequest,
    LeaseState,
    LeaseView,
    MachineStatus,
    MachineView,
    Params,
    Terms
} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

contract OpenTest is LeasesFixture {
    function test_open() external {
        _expectEvent();
        emit LeaseOpened(
            1 << 16, machine, tenant, 0x0103, 1, 1, PRICE, 1 hours, 2 * HOUR, 2 * HOUR, WORKLOAD, 0, bytes32(0)
        );
        uint256 lease = _open(machine, 2, 1 hours);
        vm.assertEq(lease, 1 << 16);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.tenant, tenant);
        vm.assertEq(seen.machine, machine);
        vm.assertEq(seen.placement, 0x0103);
        vm.assertEq(uint256(seen.state), uint256(LeaseState.Opened));
        vm.assertEq(seen.start, NOW);
        vm.assertEq(seen.end, NOW + 1 hours);
        vm.assertEq(seen.deposit, 2 * HOUR);
        vm.assertEq(seen.price, PRICE);
        vm.assertEq(seen.revision, 1);
        vm.assertEq(seen.params, 1);
        vm.assertEq(seen.settled, 0);
        vm.assertFalse(seen.spot || seen.noticed);
        vm.assertEq(pool.slotCount(), 1);
        vm.assertEq(pool.machineOf(machine).leased, 3);
        vm.assertEq(token.balanceOf(tenant), MINTED - 2 * HOUR);
    }

    function test_open_draws_on_the_ledger_first() external {
        vm.prank(tenant);
        pool.deposit(tenant, HOUR / 4);
        _open(machine, 1, 1 hours);
        vm.assertEq(pool.balanceOf(tenant), 0);
        vm.assertEq(token.balanceOf(tenant), MINTED - HOUR);
        vm.prank(tenant);
        pool.deposit(tenant, 2 * HOUR);
        _open(machine, 1, 1 hours);
        vm.assertEq(pool.balanceOf(tenant), HOUR);
    }

    function test_open_needs_a_machine_in_service() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.allowUnverified = false;
        _refusedOpen(request, abi.encodeWithSelector(MachineUnverified.selector, machine));
        request = _request(7, 1, 1 hours);
        _refusedOpen(request, abi.encodeWithSelector(UnknownMachine.selector, 7));
        request = _request(machine, 1, 1 hours);
        request.revision = 2;
        _refusedOpen(request, abi.encodeWithSelector(RevisionChanged.selector, 1));
        request.revision = 1;

        vm.prank(PROVIDER);
        pool.delist(machine);
        _refusedOpen(request, abi.encodeWithSelector(MachineDelisted.selector, machine));
        vm.prank(PROVIDER);
        pool.relist(machine);

        vm.prank(OWNER);
        pool.setPaused(true);
        _refusedOpen(request, abi.encodeWithSelector(Paused.selector));
        vm.prank(OWNER);
        pool.setPaused(false);
        _open(request);
    }

    function test_open_needs_stake_and_terms_under_the_rules_in_force() external {
        Params memory params = _params();
        params.minStakePerGpu = 2 * STAKE;
        vm.prank(OWNER);
        pool.proposeParams(params);
        skip(2 days - 1);
        _open(machine, 1, 1 hours);
        skip(1);
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        _refusedOpen(request, abi.encodeWithSelector(ParamsOutdated.selector, 1, 2));
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        request.revision = 2;
        _refusedOpen(request, abi.encodeWithSelector(MachineUnderStaked.selector, machine));
        vm.prank(PROVIDER);
        pool.addStake(machine, 2 * STAKE);
        vm.assertEq(pool.leaseOf(_open(request)).params, 2);
    }

    function test_open_needs_a_price_and_a_time_that_both_accept() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.maxPrice = PRICE - 1;
        _refusedOpen(request, abi.encodeWithSelector(PriceTooHigh.selector, PRICE, PRICE - 1));
        request = _request(machine, 1, 59);
        _refusedOpen(request, abi.encodeWithSelector(DurationOutOfRange.selector, 59, 60, 7 days));
        request = _request(machine, 1, 7 days + 1);
        _refusedOpen(request, abi.encodeWithSelector(DurationOutOfRange.selector, 7 days + 1, 60, 7 days));
        uint256 last = (NOW / 1 days + 366) * 1 days;
        vm.warp(last - 60);
        request = _request(machine, 1, 61);
        _refusedOpen(request, abi.encodeWithSelector(NotAvailableUntil.selector, last + 1, last));
        _open(machine, 1, 60);
    }

    // ------------------------------------------------------------------------------------------------------- placing

    function test_open_places() external {
        vm.assertEq(pool.leaseOf(_open(machine, 8, 60)).placement, 0x01FF);
        vm.assertEq(pool.leaseOf(_open(machine, 4, 60)).placement, 0x020F);
        vm.assertEq(pool.leaseOf(_open(machine, 1, 60)).placement, 0x0210);
        LeaseRequest memory request = _request(machine, 4, 60);
        _refusedOpen(request, abi.encodeWithSelector(NoFreeCells.selector, machine, 0x1FFF));
        request.share = 3;
        _refusedOpen(request, abi.encodeWithSelector(InvalidShare.selector, 3));
    }

    function test_open_takes_the_place_named() external {
        LeaseRequest memory request = _request(machine, 2, 60);
        request.placement = 0x020C;
        vm.assertEq(pool.leaseOf(_open(request)).placement, 0x020C);
        vm.assertEq(pool.machineOf(machine).leased, 0x0C00);
        _refusedOpen(request, abi.encodeWithSelector(NoFreeCells.selector, machine, 0x0C00));
        request.placement = 0x0206;
        _refusedOpen(request, abi.encodeWithSelector(InvalidPlacement.selector, 0x0206));
        request.placement = 0x0403;
        _refusedOpen(request, abi.encodeWithSelector(InvalidPlacement.selector, 0x0403));
    }

    function test_withheld_cells_are_out_of_sale_and_stay_so() external {
        uint256 lease = _open(machine, 8, 60);
        vm.prank(OPERATOR);
        pool.withhold(machine, 0xFFFF); // one of the two is leased
        LeaseRequest memory request = _request(machine, 1, 60);
        _refusedOpen(request, abi.encodeWithSelector(NoFreeCells.selector, machine, 0xFFFF));
        _close(lease);
        MachineView memory seen = pool.machineOf(machine);
        vm.assertEq(seen.leased, 0);
        vm.assertEq(seen.busy, 0xFFFF);
        _refusedOpen(request, abi.encodeWithSelector(NoFreeCells.selector, machine, 0xFFFF));
    }

    // ------------------------------------------------------------------------------------------------ settle and reuse

    function test_settle_makes_room() external {
        uint256 old = _running(machine, 16, 1 hours);
        skip(1 hours);
        LeaseRequest memory request = _request(machine, 16, 1 hours);
        _refusedOpen(request, abi.encodeWithSelector(NoFreeCells.selector, machine, 0xFFFF));
        request.settle = _one(old);
        uint256 lease = _open(request);
        _assertState(old, LeaseState.Ended);
        _assertState(lease, LeaseState.Opened);
        _close(lease);
        // What is over already is passed over, and so is what never was.
        request.settle = new uint256[](2);
        request.settle[0] = old;
        request.settle[1] = old + 5;
        _open(request);
    }

    function test_settle_refuses() external {
        uint256 running = _running(machine, 1, 1 hours);
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.settle = _one(running);
        _refusedOpen(request, abi.encodeWithSelector(LeaseNotOver.selector, running, NOW + 1 hours));
        uint32 other = _register(1);
        request.machine = other;
        _refusedOpen(request, abi.encodeWithSelector(WrongMachine.selector, running, machine));
    }

    /// @dev Only what runs can be over: one that was never started is `cancelUnstarted`'s.
    function test_settle_passes_over_what_has_not_begun() external {
        uint256 waiting = _open(machine, 1, 60);
        skip(20 minutes);
        LeaseRequest memory request = _request(machine, 1, 60);
        request.settle = _one(waiting);
        _open(request);
        _assertState(waiting, LeaseState.Opened);
    }

    function test_open_needs_a_machine_that_is_up() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        _asFaults().setDown(machine, uint32(NOW - 60));
        _refusedOpen(request, abi.encodeWithSelector(MachineDown.selector, machine, NOW - 60));
        bytes memory call = abi.encodeCall(pool.recover, (machine));
        _refused(OPERATOR, call, abi.encodeWithSelector(MachineDown.selector, machine, NOW - 60));
        _asFaults().setDown(machine, 0);
        uint256 unstarted = _open(request);
        skip(30 minutes + 1);
        pool.cancelUnstarted(unstarted);
        _refusedOpen(request, abi.encodeWithSelector(MachineStalled.selector, machine));
    }

    function test_a_backup_is_kept_with_the_lease() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.backup = "standby";
        _expectEvent();
        emit LeaseOpened(1 << 16, machine, tenant, 0x0101, 1, 1, PRICE, 1 hours, HOUR, HOUR, WORKLOAD, 0, "standby");
        uint256 lease = _open(request);
        vm.assertEq(pool.leaseOf(lease).backup, "standby");

        // Who takes the slot over has none, though the word still holds the earlier one's.
        _start(lease);
        _close(lease);
        (request.reuse, request.backup) = (lease, 0);
        uint256 next = _open(request);
        vm.assertEq(pool.leaseOf(next).backup, 0);
        _start(next);
        _close(next);
        (request.reuse, request.backup) = (next, "other");
        vm.assertEq(pool.leaseOf(_open(request)).backup, "other");
    }

    /// @dev A slot may be taken over once its lease is over, however it ended.
    function test_reuse_after_every_end() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        uint256 lease = _open(request);
        vm.prank(OPERATOR);
        pool.decline(lease, "full");
        request.reuse = lease;
        lease = _open(request);
        vm.prank(tenant);
        pool.reject(lease);
        request.reuse = lease;
        vm.assertEq(_open(request), 1 << 16 | 2);
        vm.assertEq(pool.slotCount(), 1);
    }

    function test_reuse_takes_the_slot_over() external {
        uint256 lease = _running(machine, 1, 2 hours);
        skip(1 hours);
        _claim(lease); // leaves something in the third slot
        _close(lease);
        LeaseRequest memory request = _request(machine, 1, 2 hours);
        request.reuse = lease;
        uint256 next = _open(request);
        vm.assertEq(next, lease + 1);
        vm.assertEq(pool.slotCount(), 1);
        _assertState(lease, LeaseState.None);
        vm.assertEq(pool.leaseOf(next).settled, 0);
        _refused(tenant, abi.encodeCall(pool.close, (lease)), abi.encodeWithSelector(UnknownLease.selector, lease));

        // What the earlier lease left behind is not counted, neither by a claim nor by a close.
        _start(next);
        skip(1 hours);
        uint256 before = pool.balanceOf(PROVIDER);
        _claim(next);
        uint256 claimed = 40 * 60 * CELL_SECOND;
        vm.assertEq(pool.balanceOf(PROVIDER), before + _net(claimed));
        vm.assertEq(pool.leaseOf(next).settled, claimed);
        skip(10 minutes);
        _claim(next);
        skip(1 hours);
        _close(next);
        vm.assertEq(pool.balanceOf(PROVIDER), before + _net(2 * uint256(HOUR)));

        request.reuse = next;
        uint256 third = _open(request);
        _start(third);
        skip(1 hours);
        before = pool.balanceOf(PROVIDER);
        _close(third);
        vm.assertEq(pool.balanceOf(PROVIDER), before + _net(HOUR));
    }

    function test_reuse_refuses() external {
        uint256 lease = _running(machine, 1, 1 hours);
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.reuse = lease;
        _refusedOpen(request, abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Active));
        _close(lease);
        _notFor(THIEF, abi.encodeCall(pool.open, (request)));
        request.reuse = lease + 1;
        _refusedOpen(request, abi.encodeWithSelector(UnknownLease.selector, lease + 1));

        // The last generation of a slot is its last.
        bytes32 bodySlot = bytes32(uint256(keccak256(abi.encode(lease >> 16, 9))) + 1);
        bytes32 body = vm.load(address(pool), bodySlot);
        vm.store(address(pool), bodySlot, body | bytes32(uint256(0xFFFF) << 240));
        request.reuse = lease | 0xFFFF;
        _refusedOpen(request, abi.encodeWithSelector(SlotExhausted.selector, lease | 0xFFFF));
    }
}

contract BeforeStartTest is LeasesFixture {
    uint256 private lease;

    function setUp() public override {
        super.setUp();
        lease = _open(machine, 1, 1 hours);
    }

    function test_start_begins_the_bill() external {
        skip(30 minutes);
        _expectEvent();
        emit LeaseStarted(lease, machine, uint32(NOW + 30 minutes), uint32(NOW + 90 minutes), "endpoint");
        _start(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(uint256(seen.state), uint256(LeaseState.Active));
        vm.assertEq(seen.start, NOW + 30 minutes);
        vm.assertEq(seen.end, NOW + 90 minutes);
    }

    function test_start_refuses() external {
        bytes memory call = abi.encodeCall(pool.start, (lease, "endpoint"));
        _notFor(PROVIDER, call);
        skip(30 minutes + 1);
        bytes memory passed = abi.encodeWithSelector(StartWindowPassed.selector, lease, NOW + 30 minutes);
        _refused(OPERATOR, call, passed);
        vm.warp(NOW);
        _start(lease);
        _refused(OPERATOR, call, abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Active));
        _refused(
            OPERATOR,
            abi.encodeCall(pool.start, (99 << 16, "endpoint")),
            abi.encodeWithSelector(UnknownLease.selector, 99 << 16)
        );
    }

    function test_decline_gives_everything_back() external {
        _notFor(PROVIDER, abi.encodeCall(pool.decline, (lease, "image-unknown")));
        _expectEvent();
        emit LeaseDeclined(lease, machine, "image-unknown", HOUR);
        vm.prank(OPERATOR);
        pool.decline(lease, "image-unknown");
        _assertState(lease, LeaseState.Cancelled);
        vm.assertEq(pool.balanceOf(tenant), HOUR);
        vm.assertEq(pool.balanceOf(PROVIDER), 0);
        vm.assertEq(pool.machineOf(machine).leased, 0);
        vm.assertEq(pool.accountOf(PROVIDER).declined, 1);
        vm.assertEq(pool.leaseOf(lease).settled, 0);
        _refused(
            OPERATOR,
            abi.encodeCall(pool.decline, (lease, "again")),
            abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Cancelled)
        );
    }

    function test_cancelUnstarted_gives_everything_back_and_stalls() external {
        skip(30 minutes);
        bytes memory call = abi.encodeCall(pool.cancelUnstarted, (lease));
        _refused(THIEF, call, abi.encodeWithSelector(StartWindowOpen.selector, lease, NOW + 30 minutes));
        skip(1);
        _expectEvent();
        emit MachineStatusSet(machine, uint8(MachineStatus.Unverified), false, false, true);
        _expectEvent();
        emit LeaseCancelled(lease, machine, HOUR);
        vm.prank(THIEF);
        pool.cancelUnstarted(lease);
        _assertState(lease, LeaseState.Cancelled);
        vm.assertEq(pool.balanceOf(tenant), HOUR);
        AccountView memory account = pool.accountOf(PROVIDER);
        vm.assertEq(account.unstarted, 1);
        _refusedOpen(_request(machine, 1, 60), abi.encodeWithSelector(MachineStalled.selector, machine));
        _refused(THIEF, call, abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Cancelled));
    }

    function test_two_unstarted_leases_stall_once() external {
        uint256 second = _open(machine, 1, 1 hours);
        skip(30 minutes + 1);
        pool.cancelUnstarted(lease);
        pool.close(second); // past the window a close is a cancellation, for anyone
        _assertState(second, LeaseState.Cancelled);
        vm.assertEq(pool.accountOf(PROVIDER).unstarted, 2);
        vm.assertEq(pool.balanceOf(tenant), 2 * HOUR);
        vm.assertEq(pool.machineOf(machine).leased, 0);
    }

    /// @dev The hold fee is 10 % of the time held, of which the pool takes its 5 %.
    function test_reject_pays_for_the_hold() external {
        skip(10 minutes);
        uint256 held = 600 * CELL_SECOND / 10;
        _expectEvent();
        emit LeaseRejected(lease, machine, _net(held), _fee(held), uint96(HOUR - held));
        vm.prank(tenant);
        pool.reject(lease);
        _assertState(lease, LeaseState.Rejected);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(held));
        vm.assertEq(pool.balanceOf(tenant), HOUR - held);
        vm.assertEq(pool.accountOf(PROVIDER).feesDue, _fee(held));
        vm.assertEq(pool.leaseOf(lease).settled, held);
    }

    function test_close_is_a_rejection_inside_the_window() external {
        // Nobody else may: not even once a lease shorter than the window would be over.
        uint256 short = _open(machine, 1, 60);
        skip(20 minutes);
        _notFor(PROVIDER, abi.encodeCall(pool.close, (short)));
        _close(short);
        _assertState(short, LeaseState.Rejected);
        // No more is held than was asked for.
        vm.assertEq(pool.leaseOf(short).settled, 60 * CELL_SECOND / 10);
    }

    function test_reject_refuses() external {
        bytes memory call = abi.encodeCall(pool.reject, (lease));
        _notFor(THIEF, call);
        skip(30 minutes + 1);
        bytes memory passed = abi.encodeWithSelector(StartWindowPassed.selector, lease, NOW + 30 minutes);
        _refused(tenant, call, passed);
    }

    function test_setWorkload_before_the_start() external {
        _expectEvent();
        emit WorkloadSet(lease, machine, "other");
        vm.prank(tenant);
        pool.setWorkload(lease, "other");
    }

    function test_what_needs_a_running_lease() external {
        bytes memory opened = abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Opened);
        _refused(tenant, abi.encodeCall(pool.extend, (lease, 60)), opened);
        _refused(PROVIDER, abi.encodeCall(pool.terminate, (lease)), opened);
        _refused(OPERATOR, abi.encodeCall(pool.publishResult, (lease, "cid")), opened);
        _refused(
            PROVIDER, abi.encodeCall(pool.claim, (_one(lease))), abi.encodeWithSelector(NothingToClaim.selector, lease)
        );
    }
}

contract RunningTest is LeasesFixture {
    uint256 private lease;

    function setUp() public override {
        super.setUp();
        lease = _running(machine, 1, 2 hours);
    }

    // --------------------------------------------------------------------------------------------------------- trial

    function test_reject_inside_the_trial() external {
        skip(10 minutes - 1);
        uint256 held = 599 * CELL_SECOND / 10;
        _expectEvent();
        emit LeaseRejected(lease, machine, _net(held), _fee(held), uint96(2 * HOUR - held));
        vm.prank(tenant);
        pool.reject(lease);
        vm.assertEq(pool.leaseOf(lease).settled, held);
    }

    function test_reject_after_the_trial() external {
        skip(10 minutes);
        bytes memory over = abi.encodeWithSelector(TrialOver.selector, lease, NOW + 10 minutes);
        _refused(tenant, abi.encodeCall(pool.reject, (lease)), over);
        _close(lease);
        bytes memory ended = abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Ended);
        _refused(tenant, abi.encodeCall(pool.reject, (lease)), ended);
    }

    /// @dev What ran to its end is paid in full, however long the trial.
    function test_a_trial_does_not_outlast_its_lease() external {
        uint256 short = _running(machine, 1, 60);
        skip(60);
        bytes memory over = abi.encodeWithSelector(TrialOver.selector, short, NOW + 60);
        _refused(tenant, abi.encodeCall(pool.reject, (short)), over);
    }

    /// @dev Not even when its window to be started would be over.
    function test_what_runs_is_neither_declined_nor_cancelled() external {
        skip(30 minutes + 1);
        bytes memory runs = abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Active);
        _refused(OPERATOR, abi.encodeCall(pool.decline, (lease, "no-disk")), runs);
        _refused(THIEF, abi.encodeCall(pool.cancelUnstarted, (lease)), runs);
    }

    // --------------------------------------------------------------------------------------------------------- close

    function test_close_bills_the_seconds_and_no_more() external {
        skip(1 hours);
        _expectEvent();
        emit LeaseClosed(lease, machine, uint32(NOW + 1 hours), _net(HOUR), _fee(HOUR), HOUR);
        _close(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.end, NOW + 1 hours);
        vm.assertEq(seen.settled, HOUR);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR));
        vm.assertEq(pool.balanceOf(tenant), HOUR);
        AccountView memory account = pool.accountOf(PROVIDER);
        vm.assertEq(account.feesPaid, _fee(HOUR));
        vm.assertEq(account.feesDue, _fee(HOUR));
        bytes memory ended = abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Ended);
        _refused(tenant, abi.encodeCall(pool.close, (lease)), ended);
    }

    function test_close_in_the_second_of_the_start_costs_nothing() external {
        _close(lease);
        vm.assertEq(pool.balanceOf(tenant), 2 * HOUR);
        vm.assertEq(pool.balanceOf(PROVIDER), 0);
    }

    function test_close_by_anyone_past_the_end() external {
        skip(2 hours - 1);
        _notFor(THIEF, abi.encodeCall(pool.close, (lease)));
        _notFor(PROVIDER, abi.encodeCall(pool.close, (lease)));
        skip(1 days);
        vm.prank(THIEF);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).end, NOW + 2 hours);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(2 * HOUR));
        vm.assertEq(pool.balanceOf(tenant), 0);
    }

    // --------------------------------------------------------------------------------------------------------- claim

    function test_claim() external {
        skip(1 hours);
        uint256 reached = 40 * 60 * CELL_SECOND; // the lag is 20 minutes
        _expectEvent();
        emit LeaseClaimed(lease, machine, uint96(reached), _net(reached), _fee(reached));
        vm.prank(THIEF); // anyone
        pool.claim(_one(lease));
        vm.assertEq(pool.balanceOf(PROVIDER), _net(reached));
        vm.assertEq(pool.leaseOf(lease).settled, reached);
        bytes memory nothing = abi.encodeWithSelector(NothingToClaim.selector, lease);
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(lease))), nothing);

        skip(3 days); // far past the end: up to the end
        _claim(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(2 * HOUR));
        pool.close(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(2 * HOUR));
        vm.assertEq(pool.balanceOf(tenant), 0);
    }

    function test_claim_waits_for_the_lag() external {
        bytes memory nothing = abi.encodeWithSelector(NothingToClaim.selector, lease);
        skip(20 minutes);
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(lease))), nothing);
        skip(1);
        _claim(lease);
        vm.assertEq(pool.leaseOf(lease).settled, CELL_SECOND);
    }

    function test_claim_passes_over_what_has_nothing() external {
        uint256 other = _open(machine, 1, 1 hours);
        skip(25 minutes);
        uint256[] memory leases = new uint256[](5);
        leases[0] = other; // not started
        leases[1] = lease;
        leases[2] = lease; // twice
        leases[3] = lease + 1; // no such generation
        leases[4] = 77 << 16; // no such slot
        pool.claim(leases);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(5 * 60 * CELL_SECOND));
        _refused(
            PROVIDER, abi.encodeCall(pool.claim, (new uint256[](0))), abi.encodeWithSelector(NothingToClaim.selector, 0)
        );
    }

    function test_claim_passes_over_what_has_ended() external {
        uint256 other = _running(machine, 1, 2 hours);
        skip(1 hours);
        _close(other);
        bytes memory nothing = abi.encodeWithSelector(NothingToClaim.selector, other);
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(other))), nothing);
        uint256 before = pool.balanceOf(PROVIDER);
        uint256[] memory leases = new uint256[](2);
        (leases[0], leases[1]) = (other, lease);
        pool.claim(leases);
        vm.assertEq(pool.balanceOf(PROVIDER), before + _net(40 * 60 * CELL_SECOND));
    }

    /// @dev Whoever claims every second pays the pool to the unit what one close would have paid.
    function testFuzz_many_claims_pay_what_one_close_pays(uint80 price, uint256 seed) external {
        price = uint80(1 + price % PRICE);
        Terms memory terms = _terms();
        terms.price = price;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        LeaseRequest memory request = _request(machine, 4, 5 hours);
        request.revision = 2;
        uint256 id = _open(request);
        _start(id);
        uint256 before = pool.balanceOf(PROVIDER);
        skip(20 minutes);
        for (uint256 i = 0; i < 8; ++i) {
            skip(1 + uint256(keccak256(abi.encode(seed, i))) % 1200);
            (bool ok,) = address(pool).call(abi.encodeCall(pool.claim, (_one(id))));
            ok; // at the lowest prices there may be nothing yet
        }
        _close(id);
        LeaseView memory seen = pool.leaseOf(id);
        uint256 bill = uint256(price) * 4 * (seen.end - seen.start) / 28_800;
        vm.assertEq(pool.balanceOf(PROVIDER) - before, bill - bill / 20);
        vm.assertEq(pool.accountOf(PROVIDER).feesDue, bill / 20);
        vm.assertEq(pool.balanceOf(tenant), seen.deposit - bill);
    }

    // -------------------------------------------------------------------------------------------------------- extend

    function test_extend() external {
        skip(1 hours);
        _expectEvent();
        emit LeaseExtended(lease, machine, tenant, uint32(NOW + 3 hours), 3 * HOUR, HOUR);
        vm.prank(tenant);
        pool.extend(lease, 1 hours);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.end, NOW + 3 hours);
        vm.assertEq(seen.deposit, 3 * HOUR);
    }

    function test_extend_by_anyone_who_pays() external {
        vm.prank(THIEF);
        pool.extend(lease, 1 hours);
        vm.assertEq(token.balanceOf(THIEF), MINTED - HOUR);
        vm.assertEq(token.balanceOf(tenant), MINTED - 2 * HOUR);
    }

    function test_extend_refuses() external {
        bytes memory call = abi.encodeCall(pool.extend, (lease, uint32(7 days)));
        _refused(tenant, call, abi.encodeWithSelector(DurationOutOfRange.selector, 7 days + 2 hours, 0, 7 days));
        _refused(tenant, abi.encodeCall(pool.extend, (lease, 0)), abi.encodeWithSelector(ZeroAmount.selector));
        vm.prank(PROVIDER);
        pool.delist(machine);
        call = abi.encodeCall(pool.extend, (lease, 60));
        _refused(tenant, call, abi.encodeWithSelector(MachineDelisted.selector, machine));
        skip(2 hours);
        _refused(tenant, call, abi.encodeWithSelector(LeaseOver.selector, lease, NOW + 2 hours));
    }

    function test_extend_reaches_as_far_as_the_longest_lease() external {
        skip(100);
        bytes memory call = abi.encodeCall(pool.extend, (lease, uint32(7 days - 2 hours + 101)));
        _refused(tenant, call, abi.encodeWithSelector(DurationOutOfRange.selector, 7 days + 1, 0, 7 days));
        vm.prank(tenant);
        pool.extend(lease, uint32(7 days - 2 hours + 100));
    }

    /// @dev Three times a little costs what it would have cost at once: each rounds the whole, not the part.
    function test_extensions_round_as_one_lease_would() external {
        Terms memory terms = _terms();
        terms.price = 7;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        LeaseRequest memory request = _request(machine, 1, 61);
        request.revision = 2;
        uint256 cheap = _open(request);
        _start(cheap);
        for (uint256 i = 0; i < 3; ++i) {
            vm.prank(tenant);
            pool.extend(cheap, 61);
        }
        vm.assertEq(pool.leaseOf(cheap).deposit, (uint256(7) * 4 * 61 + 28_799) / 28_800);
    }

    function test_extend_keeps_the_last_day() external {
        uint256 last = (NOW / 1 days + 366) * 1 days;
        vm.warp(last - 2 hours);
        uint256 late = _running(machine, 1, 1 hours);
        bytes memory past = abi.encodeWithSelector(NotAvailableUntil.selector, last + 1, last);
        _refused(tenant, abi.encodeCall(pool.extend, (late, 1 hours + 1)), past);
        vm.prank(tenant);
        pool.extend(late, 1 hours);
    }

    /// @dev The terms of the lease's own revision count, whatever the machine asks now.
    function test_extend_at_the_price_it_opened_with() external {
        Terms memory terms = _terms();
        terms.price = 10 * PRICE;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        vm.prank(tenant);
        pool.extend(lease, 1 hours);
        vm.assertEq(pool.leaseOf(lease).deposit, 3 * HOUR);
    }

    // ----------------------------------------------------------------------------------------------------- terminate

    function test_terminate_gives_notice_and_pays_the_penalty() external {
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, HOUR);
        skip(30 minutes);
        uint96 penalty = HOUR / 2; // half an hour is cut off
        _expectEvent();
        emit LeaseTerminated(lease, machine, uint32(NOW + 90 minutes), penalty);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.noticed);
        vm.assertEq(seen.end, NOW + 90 minutes);
        vm.assertEq(pool.balanceOf(tenant), penalty);
        vm.assertEq(pool.balanceOf(PROVIDER), HOUR - penalty);
        vm.assertEq(pool.accountOf(PROVIDER).terminated, 1);

        bytes memory noticed = abi.encodeWithSelector(UnderNotice.selector, lease);
        _refused(PROVIDER, abi.encodeCall(pool.terminate, (lease)), noticed);
        _refused(tenant, abi.encodeCall(pool.extend, (lease, 60)), noticed);
        skip(1 hours);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(tenant), penalty + HOUR / 2);
    }

    function test_terminate_pays_for_no_more_than_penaltySeconds() external {
        uint256 long = _running(machine, 1, 7 days);
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 10 * HOUR);
        vm.prank(PROVIDER);
        pool.terminate(long);
        vm.assertEq(pool.balanceOf(tenant), 2 * HOUR);
    }

    function test_terminate_shortly_before_the_end_cuts_nothing() external {
        skip(1 hours);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        vm.assertEq(pool.leaseOf(lease).end, NOW + 2 hours);
        vm.assertEq(pool.balanceOf(tenant), 0);
    }

    function test_terminate_refuses() external {
        bytes memory call = abi.encodeCall(pool.terminate, (lease));
        _notFor(OPERATOR, call); // only a spot lease
        _notFor(tenant, call);
        _refused(PROVIDER, call, abi.encodeWithSelector(InsufficientBalance.selector, PROVIDER, 0, HOUR));
        skip(2 hours);
        _refused(PROVIDER, call, abi.encodeWithSelector(LeaseOver.selector, lease, NOW + 2 hours));
    }

    // -------------------------------------------------------------------------------------------- workload and result

    function test_setWorkload() external {
        _notFor(THIEF, abi.encodeCall(pool.setWorkload, (lease, "other")));
        _expectEvent();
        emit WorkloadSet(lease, machine, "other");
        vm.prank(tenant);
        pool.setWorkload(lease, "other");
        skip(2 hours);
        bytes memory call = abi.encodeCall(pool.setWorkload, (lease, "late"));
        _refused(tenant, call, abi.encodeWithSelector(LeaseOver.selector, lease, NOW + 2 hours));
        _close(lease);
        _refused(tenant, call, abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Ended));
    }

    function test_publishResult() external {
        _notFor(PROVIDER, abi.encodeCall(pool.publishResult, (lease, "cid")));
        _expectEvent();
        emit ResultPublished(lease, machine, "cid");
        vm.prank(OPERATOR);
        pool.publishResult(lease, "cid");
        _close(lease);
        vm.prank(OPERATOR);
        pool.publishResult(lease, "cid of the end");
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.reuse = lease;
        _open(request); // the slot is used again
        bytes memory call = abi.encodeCall(pool.publishResult, (lease, "late"));
        _refused(OPERATOR, call, abi.encodeWithSelector(UnknownLease.selector, lease));
    }
}
