// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState, LeaseView, Offer, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

/// @notice Another share from now on: what has accrued is paid, what is to come is held, and nothing is billed twice.
contract ResizeTest is LeasesFixture {
    uint256 private constant MINUTE = 60 * CELL_SECOND; // of one cell
    uint256 private lease;

    function setUp() public override {
        super.setUp();
        lease = _running(machine, 2, 2 hours);
    }

    function _call(uint256 id, uint8 share, uint16 placement) private view returns (bytes memory) {
        return abi.encodeCall(pool.resize, (id, share, placement));
    }

    // ---------------------------------------------------------------------------------------------------------- levels

    /// @dev Two cells for an hour, then four for another: the provider has the first at once, the wallet pays the rest.
    function test_grow() external {
        skip(1 hours);
        uint96 settled = 2 * HOUR;
        _expectEvent();
        emit LeaseResized(lease, machine, 0x010F, settled, _net(settled), _fee(settled), 6 * HOUR, 2 * HOUR, 0);
        _resize(lease, 4);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.placement, 0x010F);
        vm.assertEq(seen.deposit, 6 * HOUR); // of its whole life
        vm.assertEq(seen.end, NOW + 2 hours);
        vm.assertEq(seen.settled, settled);
        vm.assertEq(seen.segmentSettled, settled);
        vm.assertEq(seen.segmentStart, NOW + 1 hours);
        vm.assertEq(seen.paused, 0);
        vm.assertEq(pool.machineOf(machine).leased, 0x0F);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(settled));
        vm.assertEq(token.balanceOf(tenant), MINTED - 6 * HOUR);
        _assertSolvent(4 * HOUR);

        skip(1 hours);
        _expectEvent();
        emit LeaseClosed(lease, machine, uint32(NOW + 2 hours), _net(6 * HOUR), _fee(6 * HOUR), 0);
        pool.close(lease);
        vm.assertEq(pool.machineOf(machine).leased, 0);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(6 * HOUR));
        _assertSolvent(0);
    }

    function test_shrink() external {
        skip(1 hours);
        uint96 settled = 2 * HOUR;
        _expectEvent();
        emit LeaseResized(lease, machine, 0x0101, settled, _net(settled), _fee(settled), 3 * HOUR, 0, HOUR);
        _resize(lease, 1);
        vm.assertEq(pool.balanceOf(tenant), HOUR); // the ledger, not the wallet
        vm.assertEq(pool.machineOf(machine).leased, 1);
        _assertSolvent(HOUR);
        skip(30 minutes);
        _close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, 2 * HOUR + HOUR / 2);
        vm.assertEq(pool.balanceOf(tenant), HOUR + HOUR / 2);
        _assertSolvent(0);
    }

    function test_grow_draws_on_the_ledger_first() external {
        vm.prank(tenant);
        pool.deposit(tenant, HOUR);
        skip(1 hours);
        _expectEvent();
        emit LeaseResized(lease, machine, 0x010F, 2 * HOUR, _net(2 * HOUR), _fee(2 * HOUR), 6 * HOUR, HOUR, 0);
        _resize(lease, 4);
        vm.assertEq(pool.balanceOf(tenant), 0);
    }

    /// @dev To the same share: a new place, and what accrued is paid.
    function test_the_same_share_elsewhere() external {
        skip(1 hours);
        vm.prank(PROVIDER);
        pool.delist(machine); // takes no new leases, and moves old ones
        vm.prank(tenant);
        pool.resize(lease, 2, 0x0230);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.placement == 0x0230 && seen.deposit == 4 * HOUR && seen.settled == 2 * HOUR);
        vm.assertEq(pool.machineOf(machine).leased, 0x3000);
    }

    // ---------------------------------------------------------------------------------------------------------- places

    function test_grow_may_take_its_own_place_over() external {
        skip(1 hours);
        vm.prank(tenant);
        pool.resize(lease, 16, 0x03FF);
        vm.assertEq(pool.machineOf(machine).leased, 0xFFFF);
        vm.prank(tenant);
        pool.resize(lease, 1, 0x0240);
        vm.assertEq(pool.machineOf(machine).leased, 0x4000);
    }

    function test_places_that_are_refused() external {
        LeaseRequest memory request = _request(machine, 4, 2 hours);
        request.placement = 0x01F0;
        _open(request);
        skip(1 hours);
        bytes memory busy = abi.encodeWithSelector(NoFreeCells.selector, machine, 0xF0);
        _refused(tenant, _call(lease, 8, 0x01FF), busy);
        _refused(tenant, _call(lease, 16, 0), busy);
        _refused(tenant, _call(lease, 2, 0x0106), abi.encodeWithSelector(InvalidPlacement.selector, 0x0106));
        _refused(tenant, _call(lease, 4, 0x0103), abi.encodeWithSelector(InvalidPlacement.selector, 0x0103));
        _refused(tenant, _call(lease, 3, 0), abi.encodeWithSelector(InvalidShare.selector, 3));
        _refused(tenant, _call(lease, 0, 0), abi.encodeWithSelector(InvalidShare.selector, 0));
        _refused(tenant, _call(lease, 24, 0), abi.encodeWithSelector(InvalidShare.selector, 24));
        // As it was, money and cells.
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.placement == 0x0103 && seen.settled == 0 && seen.deposit == 4 * HOUR);
        vm.assertEq(pool.machineOf(machine).leased, 0xF3);
        _resize(lease, 8);
        vm.assertEq(pool.leaseOf(lease).placement, 0x02FF);
    }

    function test_withheld_cells_are_not_for_growing() external {
        vm.prank(OPERATOR);
        pool.withhold(machine, 0xFF0F); // its own two cells too, which it may keep
        skip(1 hours);
        _refused(tenant, _call(lease, 8, 0), abi.encodeWithSelector(NoFreeCells.selector, machine, 0xFF0C));
        _resize(lease, 4);
        vm.assertEq(pool.leaseOf(lease).placement, 0x01F0);
    }

    // -------------------------------------------------------------------------------------------------------- refusals

    function test_resize_is_for_the_tenant() external {
        skip(1 hours);
        _notFor(THIEF, _call(lease, 4, 0));
        _notFor(PROVIDER, _call(lease, 4, 0));
        _notFor(OPERATOR, _call(lease, 4, 0));
        _notFor(OWNER, _call(lease, 4, 0));
    }

    function test_resize_needs_a_running_lease() external {
        _refused(tenant, _call(99 << 16, 4, 0), abi.encodeWithSelector(UnknownLease.selector, 99 << 16));
        uint256 opened = _open(machine, 1, 1 hours);
        _refused(tenant, _call(opened, 2, 0), abi.encodeWithSelector(WrongState.selector, opened, LeaseState.Opened));
        skip(2 hours);
        _refused(tenant, _call(lease, 4, 0), abi.encodeWithSelector(LeaseOver.selector, lease, NOW + 2 hours));
        _close(lease);
        _refused(tenant, _call(lease, 4, 0), abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Ended));
    }

    /// @dev What a trial costs is a share of one bill, so the bill keeps its share until the trial is over.
    function test_no_resize_inside_the_trial() external {
        skip(10 minutes - 1);
        bytes memory running = abi.encodeWithSelector(TrialRunning.selector, lease, NOW + 10 minutes);
        _refused(tenant, _call(lease, 1, 0), running);
        skip(1);
        _resize(lease, 1);
        bytes memory over = abi.encodeWithSelector(TrialOver.selector, lease, NOW + 10 minutes);
        _refused(tenant, abi.encodeCall(pool.reject, (lease)), over);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(20 * MINUTE));
    }

    /// @dev The trial of the terms that the lease opened under, not of those that hold now.
    function test_the_trial_is_that_of_the_leases_revision() external {
        Terms memory terms = _terms();
        terms.trial = 0;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        bytes memory running = abi.encodeWithSelector(TrialRunning.selector, lease, NOW + 10 minutes);
        _refused(tenant, _call(lease, 1, 0), running);
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.revision = 2;
        uint256 other = _open(request);
        _start(other);
        _resize(other, 2); // in the second of its start: nothing has accrued
        vm.assertEq(pool.leaseOf(other).settled, 0);
        vm.assertEq(pool.leaseOf(other).deposit, 2 * HOUR);
    }

    function test_a_delisted_machine_grows_nothing() external {
        skip(1 hours);
        vm.prank(PROVIDER);
        pool.delist(machine);
        _refused(tenant, _call(lease, 4, 0), abi.encodeWithSelector(MachineDelisted.selector, machine));
        _resize(lease, 1);
        _refused(tenant, _call(lease, 2, 0), abi.encodeWithSelector(MachineDelisted.selector, machine));
    }

    /// @dev Else one cell, extended for ever, would be an option on the whole machine at the price of its first day.
    function test_new_terms_grow_no_old_lease() external {
        skip(1 hours);
        Terms memory terms = _terms();
        terms.price = 2 * PRICE;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        _refused(tenant, _call(lease, 4, 0), abi.encodeWithSelector(RevisionChanged.selector, 2));
        _resize(lease, 1);
        vm.assertEq(pool.leaseOf(lease).deposit, 3 * HOUR); // at its own price
    }

    /// @dev The most cells that a provider signed are those it opened with.
    function test_a_lease_at_signed_terms_only_shrinks() external {
        uint256 key = 0xB0B;
        _fund(vm.addr(key));
        vm.prank(vm.addr(key));
        uint32 other =
            pool.register(_terms(), 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), vm.addr(key)));
        Offer memory offer = Offer(
            vm.addr(key), other, 1, PRICE / 2, 8, 2 hours, false, address(0), 7, uint64(vm.getBlockTimestamp() + 1 days)
        );
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, pool.offerDigest(offer));
        bytes memory proof = abi.encodePacked(hex"01", r, s, v);
        vm.prank(tenant);
        uint256 signed = pool.openWithOffer(_request(other, 2, 2 hours), offer, proof);
        _start(signed);
        skip(1 hours);
        _refused(tenant, _call(signed, 4, 0), abi.encodeWithSelector(OfferMismatch.selector, bytes32("cells")));
        _resize(signed, 1);
        _refused(tenant, _call(signed, 2, 0), abi.encodeWithSelector(OfferMismatch.selector, bytes32("cells")));
        vm.assertEq(pool.leaseOf(signed).deposit, HOUR + HOUR / 2); // at half the price
    }

    function test_what_cannot_be_paid_changes_nothing() external {
        vm.prank(tenant);
        token.approve(address(pool), 0);
        skip(1 hours);
        vm.prank(tenant);
        vm.expectRevert();
        pool.resize(lease, 4, 0);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.placement == 0x0103 && seen.settled == 0 && seen.segmentStart == NOW);
        vm.assertEq(pool.balanceOf(PROVIDER), 0);
        vm.assertEq(pool.machineOf(machine).leased, 3);
    }

    // ------------------------------------------------------------------------------------------- with the other calls

    /// @dev What claims have had is part of what the resize pays, and the next ones begin where it ended.
    function test_claims_before_and_after() external {
        skip(1 hours);
        _claim(lease); // 40 minutes
        vm.assertEq(pool.balanceOf(PROVIDER), _net(80 * MINUTE));
        _expectEvent();
        emit LeaseResized(lease, machine, 0x0101, 2 * HOUR, _net(2 * HOUR), _fee(2 * HOUR), 3 * HOUR, 0, HOUR);
        _resize(lease, 1);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(2 * HOUR));
        bytes memory nothing = abi.encodeWithSelector(NothingToClaim.selector, lease);
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(lease))), nothing);
        skip(20 minutes); // up to the second of the resize
        _refused(PROVIDER, abi.encodeCall(pool.claim, (_one(lease))), nothing);
        skip(20 minutes);
        uint256 reached = 2 * HOUR + 20 * MINUTE;
        _expectEvent();
        emit LeaseClaimed(lease, machine, uint96(reached), _net(reached), _fee(reached));
        _claim(lease);
        vm.assertEq(pool.leaseOf(lease).settled, reached);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(reached));
    }

    function test_extend_after_a_resize() external {
        skip(1 hours);
        _resize(lease, 4);
        _expectEvent();
        emit LeaseExtended(lease, machine, THIEF, uint32(NOW + 3 hours), 10 * HOUR, 4 * HOUR);
        vm.prank(THIEF); // who pays may be anyone
        pool.extend(lease, 1 hours);
        skip(5 hours);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, 10 * HOUR);
        _assertSolvent(0);
    }

    /// @dev Under notice the end stays where the notice put it, and what is held falls to that.
    function test_resize_under_notice() external {
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 2 * HOUR);
        skip(30 minutes);
        vm.prank(PROVIDER);
        pool.terminate(lease); // in an hour; half an hour is cut off, at two cells
        vm.assertEq(pool.balanceOf(tenant), HOUR);
        _resize(lease, 4);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.noticed && seen.end == NOW + 90 minutes);
        vm.assertEq(seen.deposit, HOUR + 4 * HOUR); // instead of 4 of which 1 would have come back
        vm.assertEq(pool.balanceOf(tenant), 0);
        skip(1 hours);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, 5 * HOUR);
        _assertSolvent(0);
    }

    /// @dev The penalty is at the share of the moment: shrunk first it is less, for less is cut off.
    function test_notice_after_a_resize() external {
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, HOUR);
        skip(30 minutes);
        _resize(lease, 1);
        uint256 before = pool.balanceOf(tenant);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        vm.assertEq(pool.balanceOf(tenant), before + HOUR / 2);
    }

    function test_a_slot_used_again_after_a_resize() external {
        skip(1 hours);
        _resize(lease, 4);
        skip(30 minutes);
        _close(lease);
        LeaseRequest memory request = _request(machine, 1, 2 hours);
        request.reuse = lease;
        uint256 next = _open(request);
        _start(next);
        LeaseView memory seen = pool.leaseOf(next);
        vm.assertTrue(seen.segmentSettled == 0 && seen.settled == 0 && seen.segmentStart == NOW + 90 minutes);
        skip(1 hours);
        _resize(next, 2); // writes the word anew
        vm.assertEq(pool.leaseOf(next).settled, HOUR);
        vm.assertEq(pool.leaseOf(next).deposit, 3 * HOUR);
    }

    // ----------------------------------------------------------------------------------------------------------- money

    /// @dev Who shrinks just before he ends saves the seconds between, not what he had: 59:59 minutes at 16 cells and one
    /// second at one cost 16 hours of a cell less 15 cell-seconds.
    function test_shrinking_at_the_last_moment_saves_its_last_moment() external {
        _close(lease);
        lease = _running(machine, 16, 1 hours);
        skip(1 hours - 1);
        _resize(lease, 1);
        skip(1);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, 16 * uint256(HOUR) - 15 * CELL_SECOND);
    }

    /// @dev A notice costs what it cuts off at the share of the moment. A tenant who sees it coming extends and grows in front
    /// of it and ends in the next second, with all his money back: half an hour of 2 cells becomes two hours of 16, 32 cell-hours
    /// instead of one. So a provider delists first, or sends the notice with no more in his ledger than he means to pay.
    function test_a_provider_who_gives_notice_shuts_the_door_first() external {
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 100 * HOUR);
        skip(30 minutes);
        bytes memory notice = abi.encodeCall(pool.terminate, (lease));

        uint256 before = vm.snapshotState();
        _ambush();
        vm.prank(PROVIDER);
        pool.terminate(lease);
        _close(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), 100 * HOUR + _net(HOUR) - 32 * HOUR);
        vm.revertToState(before);

        before = vm.snapshotState();
        _ambush();
        bytes[] memory calls = new bytes[](2);
        calls[0] = abi.encodeCall(pool.withdraw, (PROVIDER, 99 * HOUR));
        calls[1] = notice;
        uint256 left = HOUR + _net(HOUR);
        bytes memory poor = abi.encodeWithSelector(InsufficientBalance.selector, PROVIDER, left, 32 * HOUR);
        _refused(PROVIDER, abi.encodeCall(pool.multicall, (calls)), poor);
        vm.revertToState(before);

        vm.prank(PROVIDER);
        pool.delist(machine);
        bytes memory delisted = abi.encodeWithSelector(MachineDelisted.selector, machine);
        _refused(tenant, _call(lease, 16, 0), delisted);
        _refused(tenant, abi.encodeCall(pool.extend, (lease, 5 hours)), delisted);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), 99 * HOUR);
    }

    function _ambush() private {
        _resize(lease, 16);
        vm.prank(tenant);
        pool.extend(lease, 5 hours);
    }

    /// @dev Each segment rounds down, so a tenant who does nothing but resize takes from his provider less than a unit each
    /// time: n resizes and the close cost at most n + 1 units, here beside a price so low that a cell-second is a fraction
    /// of one. The fee is taken of the total, and no rounding adds to it.
    function testFuzz_many_segments_pay_what_their_seconds_cost(uint80 price, uint256 seed) external {
        price = uint80(1 + price % 57_600);
        Terms memory terms = _terms();
        terms.price = price;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        LeaseRequest memory request = _request(machine, 8, 7 days);
        request.revision = 2;
        uint256 id = _open(request);
        _start(id);
        skip(10 minutes);
        uint256 before = pool.balanceOf(PROVIDER);
        uint256 cells = 8;
        uint256 work = 8 * 10 minutes; // cell-seconds
        for (uint256 i = 0; i < 10; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            cells = [uint256(1), 2, 4, 8][seed % 4];
            _resize(id, uint8(cells));
            uint256 secs = (seed >> 8) % 5000;
            skip(secs);
            work += cells * secs;
        }
        _close(id);
        LeaseView memory seen = pool.leaseOf(id);
        uint256 exact = uint256(price) * work;
        vm.assertTrue(uint256(seen.settled) * 28_800 <= exact, "more than the seconds cost");
        vm.assertTrue((uint256(seen.settled) + 11) * 28_800 > exact, "less by more than the rounding");
        vm.assertEq(pool.accountOf(PROVIDER).feesPaid, seen.settled / 20);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, seen.settled - seen.settled / 20);
    }

    /// @dev After any resize the lease holds what the rest of its time costs, rounded up: never less, or the end could not
    /// be paid, and less than a unit more.
    function testFuzz_it_holds_what_the_rest_costs(uint80 price, uint8 to, uint256 after_) external {
        price = uint80(1 + price % PRICE);
        after_ = 10 minutes + after_ % (2 hours - 10 minutes);
        uint256 cells = [uint256(1), 2, 4, 8, 16][to % 5];
        Terms memory terms = _terms();
        terms.price = price;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        _close(lease);
        LeaseRequest memory request = _request(machine, 2, 2 hours);
        request.revision = 2;
        lease = _open(request);
        _start(lease);
        skip(after_);
        _resize(lease, uint8(cells));
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertEq(seen.settled, uint256(price) * 2 * after_ / 28_800);
        uint256 rest = uint256(price) * cells * (2 hours - after_);
        uint256 held = seen.deposit - seen.settled;
        vm.assertTrue(held * 28_800 >= rest && held * 28_800 < rest + 28_800);
        _assertSolvent(held);
    }
}
