// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState, LeaseView, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice Leases at a lower price that end when the provider wants, with notice.
contract SpotTest is Fixture {
    uint80 private constant SPOT_PRICE = PRICE / 4;
    uint256 private constant HOUR = 3600 * CELL_SECOND / 4; // of one cell, at that price
    uint32 private machine;

    function setUp() public override {
        super.setUp();
        Terms memory terms = _terms();
        terms.spotPrice = SPOT_PRICE;
        vm.prank(PROVIDER);
        machine = pool.register(terms, 2, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
    }

    function _spot(uint32 id, uint32 duration) private pure returns (LeaseRequest memory request) {
        request = _request(id, 1, duration);
        request.spot = true;
    }

    function _runningSpot(uint32 duration) private returns (uint256 lease) {
        lease = _open(_spot(machine, duration));
        _start(lease);
    }

    function _terminate(address who, uint256 lease) private {
        vm.prank(who);
        pool.terminate(lease);
    }

    function test_a_spot_lease_pays_the_spot_price() external {
        LeaseRequest memory request = _spot(machine, 1 hours);
        request.maxPrice = SPOT_PRICE - 1;
        bytes memory call = abi.encodeCall(pool.open, (request));
        _refused(tenant, call, abi.encodeWithSelector(PriceTooHigh.selector, SPOT_PRICE, SPOT_PRICE - 1));
        request.maxPrice = SPOT_PRICE;
        _expectEvent();
        emit LeaseOpened(
            1 << 16, machine, tenant, 0x0101, 1, 1, SPOT_PRICE, 1 hours, uint96(HOUR), HOUR, WORKLOAD, 1, bytes32(0)
        );
        LeaseView memory seen = pool.leaseOf(_open(request));
        vm.assertTrue(seen.spot && seen.price == SPOT_PRICE && !seen.noticed);
    }

    function test_not_every_machine_sells_it() external {
        uint32 other = _register(1);
        bytes memory call = abi.encodeCall(pool.open, (_spot(other, 1 hours)));
        _refused(tenant, call, abi.encodeWithSelector(NotSpot.selector, other));
    }

    /// @dev Neither paid for nor counted: that is what the price was for. The provider's ledger is empty here.
    function test_the_operator_ends_it_with_notice() external {
        uint256 lease = _runningSpot(1 days);
        skip(30 minutes);
        _expectEvent();
        emit LeaseTerminated(lease, machine, uint32(NOW + 90 minutes), 0);
        _terminate(OPERATOR, lease);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.noticed && seen.end == NOW + 90 minutes && seen.state == LeaseState.Active);
        vm.assertEq(pool.accountOf(PROVIDER).terminated, 0);
        vm.assertEq(pool.balanceOf(tenant), 0);

        bytes memory noticed = abi.encodeWithSelector(UnderNotice.selector, lease);
        _refused(tenant, abi.encodeCall(pool.extend, (lease, 60)), noticed);
        _refused(PROVIDER, abi.encodeCall(pool.terminate, (lease)), noticed);

        // It is the tenant's until the last second, and then pays for what it was.
        skip(1 hours - 1);
        _notFor(THIEF, abi.encodeCall(pool.close, (lease)));
        skip(1);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), HOUR * 3 / 2 - HOUR * 3 / 40);
        vm.assertEq(pool.balanceOf(tenant), 24 * HOUR - HOUR * 3 / 2);
    }

    function test_the_provider_ends_it_too_and_nobody_else() external {
        uint256 lease = _runningSpot(1 days);
        bytes memory call = abi.encodeCall(pool.terminate, (lease));
        _notFor(THIEF, call);
        _notFor(tenant, call);
        _notFor(OWNER, call);
        _terminate(PROVIDER, lease);
        vm.assertEq(pool.leaseOf(lease).end, NOW + 1 hours);
    }

    function test_the_operator_ends_no_other() external {
        uint256 lease = _running(machine, 1, 1 days);
        _notFor(OPERATOR, abi.encodeCall(pool.terminate, (lease)));
    }

    function test_notice_never_moves_an_end_away() external {
        uint256 lease = _runningSpot(2 hours);
        skip(1 hours + 1);
        _terminate(OPERATOR, lease);
        vm.assertEq(pool.leaseOf(lease).end, NOW + 2 hours);
    }

    function test_only_what_runs() external {
        uint256 lease = _open(_spot(machine, 1 hours));
        bytes memory call = abi.encodeCall(pool.terminate, (lease));
        _refused(OPERATOR, call, abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Opened));
        _start(lease);
        skip(1 hours);
        _refused(OPERATOR, call, abi.encodeWithSelector(LeaseOver.selector, lease, NOW + 1 hours));
    }

    function test_extend_without_notice_costs_the_spot_price() external {
        uint256 lease = _runningSpot(1 hours);
        vm.prank(tenant);
        pool.extend(lease, 1 hours);
        vm.assertEq(pool.leaseOf(lease).deposit, 2 * HOUR);
    }

    /// @dev A tenant who leaves before the notice has run out pays for what it was.
    function test_the_tenant_may_leave_earlier() external {
        uint256 lease = _runningSpot(1 days);
        _terminate(OPERATOR, lease);
        skip(30 minutes);
        _close(lease);
        vm.assertEq(pool.balanceOf(tenant), 24 * HOUR - HOUR / 2);
    }
}
