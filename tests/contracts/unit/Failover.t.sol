// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState, LeaseView, Params, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

/// @notice Two cells for two hours, and a machine that stands by. After 30 minutes the first goes down; it is minute 40.
contract FailoverTest is LeasesFixture {
    uint256 private constant MINUTE = 60 * CELL_SECOND; // of one cell
    bytes32 private constant JOB = keccak256("job, resumed");
    uint256 private lease;
    uint32 private standby;
    uint16 private place; // 0: as the contract likes

    function setUp() public override {
        super.setUp();
        standby = _register(1);
        lease = _leaseWith(_backup());
        skip(40 minutes);
        _down(NOW + 30 minutes);
    }

    function _backup() private view returns (bytes32) {
        return keccak256(abi.encode(standby, uint16(1), place, JOB));
    }

    function _leaseWith(bytes32 backup) private returns (uint256 id) {
        LeaseRequest memory request = _request(machine, 2, 2 hours);
        request.backup = backup;
        id = _open(request);
        _start(id);
    }

    /// @dev Another lease of the same kind, after the machine has come back, in the same minute of its outage.
    function _again() private {
        _up();
        _close(lease);
        vm.warp(NOW);
        lease = _leaseWith(_backup());
        skip(40 minutes);
        _down(NOW + 30 minutes);
    }

    /// @dev A machine with such terms stands by from now on.
    function _standbyAt(Terms memory terms) private {
        vm.prank(PROVIDER);
        standby = pool.register(terms, 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
        _again();
    }

    function _failover() private returns (uint256) {
        vm.prank(THIEF); // anyone
        return pool.failover(lease, standby, 1, place, JOB);
    }

    function _call() private view returns (bytes memory) {
        return abi.encodeCall(pool.failover, (lease, standby, 1, place, JOB));
    }

    /// @dev Refused, and all as it was: the lease runs on, and nobody's money has moved.
    function _stays(bytes memory call, bytes memory error_) private {
        bytes32 before = _all();
        _refused(THIEF, call, error_);
        _refused(tenant, call, error_);
        vm.assertEq(_all(), before);
    }

    function _stays(bytes memory error_) private {
        _stays(_call(), error_);
    }

    function _all() private view returns (bytes32) {
        return keccak256(
            abi.encode(
                pool.leaseOf(lease),
                pool.machineOf(machine),
                pool.machineOf(standby),
                pool.balanceOf(tenant),
                pool.balanceOf(PROVIDER),
                pool.slotCount()
            )
        );
    }

    // ----------------------------------------------------------------------------------------------------- what it does

    /// @dev 4 hours of a cell were held. 30 minutes of two cells are billed, so 3 hours come back; the 80 minutes that were
    /// left cost 160 minutes of a cell, and the outage's 20 stay with the tenant.
    function test_failover() external {
        _expectEvent();
        emit LeaseClosed(lease, machine, uint32(NOW + 40 minutes), _net(HOUR), _fee(HOUR), 3 * HOUR);
        uint256 next = 2 << 16;
        _expectEvent();
        emit LeaseOpened(
            next, standby, tenant, 0x0103, 1, 1, PRICE, 80 minutes, uint96(160 * MINUTE), 0, JOB, 0, bytes32(0)
        );
        _expectEvent();
        emit FailedOver(lease, next);
        vm.assertEq(_failover(), next);

        _assertState(lease, LeaseState.Ended);
        vm.assertEq(pool.leaseOf(lease).settled, HOUR);
        LeaseView memory seen = pool.leaseOf(next);
        vm.assertEq(uint256(seen.state), uint256(LeaseState.Opened));
        vm.assertTrue(seen.tenant == tenant && seen.machine == standby && seen.backup == 0 && !seen.spot);
        vm.assertTrue(seen.start == NOW + 40 minutes && seen.end == NOW + 2 hours);
        vm.assertEq(pool.machineOf(machine).leased, 0);
        vm.assertEq(pool.machineOf(standby).leased, 3);
        vm.assertEq(pool.balanceOf(tenant), 20 * MINUTE);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR));
        vm.assertEq(token.balanceOf(tenant), MINTED - 4 * HOUR);
        _assertSolvent(160 * MINUTE);

        // From here on a lease like any other.
        skip(10 minutes);
        _start(next);
        skip(80 minutes);
        pool.close(next);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR) + _net(160 * MINUTE));
        _assertSolvent(0);
    }

    /// @dev What the tenant has in ledger and wallet is not for it, however little the refund buys.
    function test_it_spends_the_refund_alone() external {
        vm.prank(tenant);
        pool.deposit(tenant, 1000e18);
        Terms memory terms = _terms();
        terms.price = 4 * PRICE;
        _standbyAt(terms);
        uint256 before = pool.balanceOf(tenant);
        uint256 wallet = token.balanceOf(tenant);
        uint256 next = _failover();
        LeaseView memory seen = pool.leaseOf(next);
        vm.assertEq(seen.deposit, 3 * HOUR); // all of it
        vm.assertEq(seen.end - seen.start, 3 * 3600 / 8); // a GPU-hour's price for two cells is that of eight
        vm.assertEq(pool.balanceOf(tenant), before);
        vm.assertEq(token.balanceOf(tenant), wallet);
    }

    function test_it_takes_the_place_named_and_its_share() external {
        place = 0x01F0;
        _again();
        uint256 next = _failover();
        LeaseView memory seen = pool.leaseOf(next);
        vm.assertEq(seen.placement, 0x01F0);
        vm.assertEq(seen.end - seen.start, 3 * 3600 / 4);
        vm.assertEq(seen.deposit, 3 * HOUR);
    }

    function test_it_lasts_no_longer_than_the_machine_sells() external {
        Terms memory terms = _terms();
        terms.maxDuration = 30 minutes;
        _standbyAt(terms);
        LeaseView memory seen = pool.leaseOf(_failover());
        vm.assertEq(seen.end - seen.start, 30 minutes);
        vm.assertEq(seen.deposit, HOUR);
    }

    function test_it_lasts_no_shorter_than_the_machine_sells() external {
        Terms memory terms = _terms();
        terms.minDuration = 80 minutes;
        _standbyAt(terms);
        uint256 now_ = vm.getBlockTimestamp();
        skip(1); // 79:59 minutes are left
        _stays(abi.encodeWithSelector(NothingLeftFor.selector, lease, 80 minutes, 80 minutes - 1));
        vm.warp(now_);
        _failover();
    }

    function test_a_refund_too_small_buys_nothing() external {
        Terms memory terms = _terms();
        terms.price = 1000 * PRICE;
        _standbyAt(terms);
        // 3 hours of a cell at a thousand times the price, for two cells: 5.4 seconds.
        _stays(abi.encodeWithSelector(NothingLeftFor.selector, lease, 60, 5));
    }

    function test_it_keeps_the_standbys_last_day() external {
        Terms memory terms = _terms();
        terms.availableUntilDay = uint16(NOW / 1 days);
        uint256 midnight = (NOW / 1 days + 1) * 1 days;
        _standbyAt(terms);
        _failover(); // 8:00 now
        vm.warp(midnight - 1 hours);
        _up();
        lease = _leaseWith(_backup());
        skip(1 minutes);
        _down(midnight - 1 hours);
        uint256 end = midnight + 1 hours;
        _stays(abi.encodeWithSelector(NotAvailableUntil.selector, end, midnight));
    }

    /// @dev The first bill may have segments and pauses; it ends like any other.
    function test_after_a_resize_and_under_notice() external {
        _up();
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, HOUR);
        _pause(lease, NOW + 30 minutes, NOW + 40 minutes);
        _resize(lease, 1); // HOUR settled, 80 minutes are left
        vm.prank(PROVIDER);
        pool.terminate(lease); // in 60 minutes
        uint256 before = pool.balanceOf(tenant);
        skip(30 minutes);
        _down(NOW + 60 minutes);
        LeaseView memory seen = pool.leaseOf(_failover());
        vm.assertEq(pool.leaseOf(lease).settled, HOUR + 20 * MINUTE);
        vm.assertEq(seen.end, NOW + 100 minutes); // the noticed one
        vm.assertEq(seen.placement, 0x0101); // the share of now
        vm.assertEq(seen.deposit, 30 * MINUTE);
        vm.assertEq(pool.balanceOf(tenant), before + 30 * MINUTE); // 80 held, 20 billed, 30 spent
        _assertSolvent(30 * MINUTE);
    }

    /// @dev Inside the trial too it is billed as an end, not as a rejection: the tenant may still reject instead.
    function test_inside_the_trial() external {
        _up();
        lease = _leaseWith(_backup());
        skip(5 minutes);
        _down(NOW + 42 minutes);
        _failover();
        vm.assertEq(pool.leaseOf(lease).settled, 2 * 2 * MINUTE);
    }

    function test_a_standby_that_is_not_started_gives_all_back() external {
        uint256 next = _failover();
        skip(30 minutes + 1);
        pool.cancelUnstarted(next);
        vm.assertEq(pool.balanceOf(tenant), 3 * HOUR);
        _assertSolvent(0);
    }

    // ------------------------------------------------------------------------------------------------------------- spot

    function _spot(uint80 spotPrice, uint80 standbyPrice) private {
        Terms memory terms = _terms();
        terms.spotPrice = spotPrice;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        terms.spotPrice = standbyPrice;
        vm.prank(PROVIDER);
        standby = pool.register(terms, 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
        _up();
        LeaseRequest memory request = _request(machine, 2, 2 hours);
        request.revision = 2;
        request.spot = true;
        request.backup = _backup();
        lease = _open(request);
        _start(lease);
        _down(NOW + 40 minutes);
    }

    function test_a_spot_lease_fails_over_to_the_spot_price() external {
        _spot(PRICE / 2, PRICE / 4);
        LeaseView memory seen = pool.leaseOf(_failover());
        vm.assertTrue(seen.spot && seen.price == PRICE / 4);
        vm.assertEq(seen.end - seen.start, 2 hours);
        vm.assertEq(seen.deposit, HOUR);
    }

    function test_a_spot_lease_does_not_become_another() external {
        _spot(PRICE / 2, 0);
        _stays(abi.encodeWithSelector(NotSpot.selector, standby));
    }

    // --------------------------------------------------------------------------------------------------------- refusals

    function test_it_is_for_running_leases() external {
        _refused(
            THIEF,
            abi.encodeCall(pool.failover, (99 << 16, standby, 1, 0, JOB)),
            abi.encodeWithSelector(UnknownLease.selector, 99 << 16)
        );
        bytes memory first = _call();
        uint256 old = lease;
        _failover();
        _refused(tenant, first, abi.encodeWithSelector(WrongState.selector, old, LeaseState.Ended));
        _up();
        LeaseRequest memory request = _request(machine, 2, 2 hours);
        request.backup = _backup();
        lease = _open(request);
        _down(NOW + 40 minutes);
        _stays(abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Opened));
    }

    /// @dev Nobody sends a tenant where he has not asked to go, nor changes what runs there.
    function test_each_word_is_the_tenants() external {
        bytes memory wrong = abi.encodeWithSelector(WrongBackup.selector, lease);
        uint32 third = _register(1);
        _stays(abi.encodeCall(pool.failover, (lease, third, 1, 0, JOB)), wrong);
        _stays(abi.encodeCall(pool.failover, (lease, standby, 2, 0, JOB)), wrong);
        _stays(abi.encodeCall(pool.failover, (lease, standby, 1, 0x0103, JOB)), wrong);
        _stays(abi.encodeCall(pool.failover, (lease, standby, 1, 0, WORKLOAD)), wrong);
        _up();
        lease = _leaseWith(0);
        _down(NOW + 40 minutes);
        _stays(abi.encodeWithSelector(WrongBackup.selector, lease));
    }

    /// @dev A slot remembers the standby of an earlier lease; that is not this one's.
    function test_the_standby_of_an_earlier_lease_is_nobodys() external {
        _up();
        _close(lease);
        LeaseRequest memory request = _request(machine, 2, 2 hours);
        request.reuse = lease;
        lease = _open(request);
        _start(lease);
        _down(NOW + 40 minutes);
        vm.assertEq(pool.leaseOf(lease).backup, 0);
        _stays(abi.encodeWithSelector(WrongBackup.selector, lease));
    }

    function test_it_needs_an_outage_that_runs() external {
        _up();
        _stays(abi.encodeWithSelector(MachineNotDown.selector, machine));
        _hold(NOW + 30 minutes, NOW + 2 days);
        _stays(abi.encodeWithSelector(MachineNotDown.selector, machine));
    }

    function test_it_needs_time_that_is_left() external {
        skip(80 minutes);
        _stays(abi.encodeWithSelector(LeaseOver.selector, lease, NOW + 2 hours));
    }

    function test_it_needs_a_machine_in_service() external {
        vm.prank(PROVIDER);
        pool.delist(standby);
        _stays(abi.encodeWithSelector(MachineDelisted.selector, standby));
        vm.prank(PROVIDER);
        pool.relist(standby);

        _asFaults().setDown(standby, uint32(NOW));
        _stays(abi.encodeWithSelector(MachineDown.selector, standby, NOW));
        _asFaults().setDown(standby, 0);

        address[] memory to = new address[](1);
        to[0] = TREASURY;
        uint96[] memory amounts = new uint96[](1);
        amounts[0] = 1;
        _asFaults().moveStake(standby, to, amounts);
        _stays(abi.encodeWithSelector(MachineUnderStaked.selector, standby));
        vm.prank(PROVIDER);
        pool.addStake(standby, 1);

        vm.prank(OWNER);
        pool.setPaused(true);
        _stays(abi.encodeWithSelector(Paused.selector));
        vm.prank(OWNER);
        pool.setPaused(false);

        uint256 before = vm.snapshotState();
        vm.prank(PROVIDER);
        pool.setTerms(standby, _terms());
        _stays(abi.encodeWithSelector(RevisionChanged.selector, 2));
        vm.revertToState(before);

        before = vm.snapshotState();
        vm.prank(PROVIDER);
        pool.retire(standby);
        _stays(abi.encodeWithSelector(MachineRetiredAlready.selector, standby));
        vm.revertToState(before);

        uint256 unstarted = _open(standby, 8, 60);
        _stays(abi.encodeWithSelector(NoFreeCells.selector, standby, 0xFF));
        skip(30 minutes + 1);
        pool.cancelUnstarted(unstarted);
        _stays(abi.encodeWithSelector(MachineStalled.selector, standby));
        vm.prank(OPERATOR);
        pool.recover(standby);
        _failover();
    }

    function test_it_needs_terms_under_the_rules_in_force() external {
        _up();
        Params memory params = _params();
        vm.prank(OWNER);
        pool.proposeParams(params);
        vm.prank(tenant);
        pool.extend(lease, 3 days);
        skip(2 days);
        _down(NOW + 1 days);
        _stays(abi.encodeWithSelector(ParamsOutdated.selector, 1, 2));
    }

    function test_no_machine_stands_by_for_itself() external {
        standby = machine;
        _again();
        _stays(abi.encodeWithSelector(MachineDown.selector, machine, NOW + 30 minutes));
    }

    function test_a_backup_that_names_what_is_not_sold() external {
        standby = 77;
        _again();
        _stays(abi.encodeWithSelector(UnknownMachine.selector, 77));
        standby = 2;
        place = 0x0107;
        _again();
        _stays(abi.encodeWithSelector(InvalidShare.selector, 3));
        place = 0x0106;
        _again();
        _stays(abi.encodeWithSelector(InvalidPlacement.selector, 0x0106));
        place = 0x0203; // the second of one GPU
        _again();
        _stays(abi.encodeWithSelector(InvalidPlacement.selector, 0x0203));
    }

    // ------------------------------------------------------------------------------------------------------------ money

    /// @dev The provider of the first machine, who reports an outage of his own making, against the one who serves: he
    /// loses what was still to be earned (1.5 hours of two cells here), and the slash that the outage costs besides. He gets it
    /// back only as the provider of the standby, for time that he serves there.
    function test_an_outage_earns_nobody_what_he_does_not_serve() external {
        uint256 before = vm.snapshotState();
        _up();
        skip(80 minutes);
        pool.close(lease);
        uint256 honest = pool.balanceOf(PROVIDER);
        vm.assertEq(honest, _net(4 * HOUR));
        vm.revertToState(before);

        uint256 next = _failover();
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR));
        _start(next);
        skip(10 minutes);
        _close(next);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR) + _net(20 * MINUTE));
    }

    /// @dev The provider whom the tenant has named raises his price first: then the revision is another, and nobody moves.
    function test_a_standby_cannot_raise_its_price() external {
        Terms memory terms = _terms();
        terms.price = 100 * PRICE;
        vm.prank(PROVIDER);
        pool.setTerms(standby, terms);
        _stays(abi.encodeWithSelector(RevisionChanged.selector, 2));
        _close(lease);
        vm.assertEq(pool.balanceOf(tenant), 3 * HOUR);
    }

    /// @dev Whatever the prices, shares and times: both leases together cost the tenant no more than the first one held; the
    /// standby lasts until the old end, or as long as the refund pays.
    function testFuzz_both_cost_no_more_than_the_first_held(
        uint80 first,
        uint80 second,
        uint32 from,
        uint32 at,
        uint8 to
    ) external {
        place = [uint16(0x0101), 0x0103, 0x010F, 0x01FF, 0][to % 5];
        uint256 cells = [uint256(1), 2, 4, 8, 4][to % 5];
        second = uint80(1 + second % (10 * PRICE));
        at = 1 + at % (2 hours - 1);
        from %= at + 1;
        uint256 refund = _fourCells(uint80(1 + first % PRICE), second, from, at);
        uint256 ledger = pool.balanceOf(tenant);
        vm.prank(THIEF);
        (bool ok, bytes memory answer) = address(pool).call(_call());
        if (!ok) {
            // The refund did not buy a second.
            vm.assertEq(answer, abi.encodeWithSelector(NothingLeftFor.selector, lease, 1, 0));
            vm.assertTrue(uint256(second) * cells > refund * 28_800);
            return;
        }
        uint256 next = abi.decode(answer, (uint256));
        LeaseView memory seen = pool.leaseOf(next);
        vm.assertEq(pool.balanceOf(tenant) + seen.deposit, ledger + refund);
        uint256 rate = second * cells;
        uint256 duration = seen.end - seen.start;
        vm.assertLe(seen.end, pool.leaseOf(lease).start + 2 hours, "longer than the first");
        vm.assertTrue(uint256(seen.deposit) * 28_800 >= rate * duration);
        if (duration < 2 hours - at) {
            vm.assertTrue(rate * (duration + 1) > refund * 28_800, "it could last longer");
        }
        skip(1 hours);
        _close(next);
        _assertSolvent(4 * HOUR); // of the lease that every test here begins with
    }

    /// @dev Four cells for two hours at the price `first`, down since `from` seconds after the start and now `at` seconds.
    /// @return refund what a close would give back, of which no more is spent
    function _fourCells(uint80 first, uint80 second, uint32 from, uint32 at) private returns (uint256 refund) {
        Terms memory terms = _terms();
        terms.minDuration = 1;
        terms.price = first;
        vm.prank(PROVIDER);
        uint32 one = pool.register(terms, 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
        terms.price = second;
        vm.prank(PROVIDER);
        standby = pool.register(terms, 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
        LeaseRequest memory request = _request(one, 4, 2 hours);
        request.maxPrice = first;
        request.backup = _backup();
        lease = _open(request);
        _start(lease);
        uint256 start = vm.getBlockTimestamp();
        skip(at);
        _asFaults().setDown(one, uint32(start + from));
        return pool.leaseOf(lease).deposit - uint256(first) * 4 * from / 28_800;
    }
}
