// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Reputation} from "../../../contracts/companions/Reputation.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ICompanion} from "../../../contracts/interfaces/ICompanion.sol";
import {IReputation} from "../../../contracts/interfaces/IReputation.sol";
import {AccountView, LeaseState, LeaseView, MachineStatus, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {vm} from "./Check.sol";
import {AccountsDouble, PoolDouble, cloneFor} from "./PoolDouble.sol";

contract ReputationTest {
    address private constant TENANT = address(0x7E4);
    address private constant PROVIDER = address(0x9807);
    uint256 private constant LEASE = 12 << 16 | 1;
    uint96 private constant STAKE = 100e18;
    AccountsDouble private accounts;
    PoolDouble private pool;
    Reputation private reputation;

    function setUp() external {
        Params memory params;
        params.minStakePerGpu = STAKE;
        params.feeBps = 500;
        accounts = new AccountsDouble();
        pool = new PoolDouble(address(0x03E4), address(0x77), params);
        reputation = Reputation(cloneFor(address(new Reputation(IAccounts(address(accounts)))), address(pool)));
        pool.connect(address(0), address(pool), address(reputation), address(0));
        pool.setMachine(1, PROVIDER, MachineStatus.Verified, 1);
    }

    function _lease(LeaseState state, uint96 settled) private {
        LeaseView memory lease;
        (lease.tenant, lease.machine, lease.state, lease.settled, lease.params) = (TENANT, 1, state, settled, 1);
        pool.setLease(LEASE, lease);
    }

    function _record(uint96 fees, uint24 terminated, uint24 unstarted, uint256 slashed) private {
        AccountView memory account;
        (account.feesPaid, account.terminated, account.unstarted) = (fees, terminated, unstarted);
        account.declined = 999; // anybody could raise it: it counts nothing
        pool.setAccount(PROVIDER, account, slashed);
    }

    function _refused(address who, bytes memory error_, uint8 stars) private {
        vm.expectRevert(error_);
        vm.prank(who);
        reputation.rate(LEASE, stars, "");
    }

    function test_a_rating_weighs_the_fee() external {
        _lease(LeaseState.Ended, 40e18);
        vm.assertFalse(reputation.isRated(LEASE));
        vm.expectEmit(true, true, true, true, address(reputation));
        emit IReputation.Rated(PROVIDER, LEASE, TENANT, 4, "comment", 2e18);
        vm.prank(TENANT);
        reputation.rate(LEASE, 4, "comment");
        vm.assertTrue(reputation.isRated(LEASE));
    }

    function test_once() external {
        _lease(LeaseState.Ended, 40e18);
        vm.prank(TENANT);
        reputation.rate(LEASE, 1, "");
        _refused(TENANT, abi.encodeWithSelector(IReputation.RatedAlready.selector, LEASE), 5);
    }

    function test_only_the_tenant() external {
        _lease(LeaseState.Ended, 40e18);
        _refused(PROVIDER, abi.encodeWithSelector(ICompanion.NotAuthorized.selector, PROVIDER), 5);
    }

    function test_only_what_ended_and_was_paid() external {
        bytes memory error_ = abi.encodeWithSelector(IReputation.NotRateable.selector, LEASE);
        _refused(TENANT, error_, 5); // nothing is known of it: never opened, or its slot is used again
        LeaseState[4] memory others = [LeaseState.Opened, LeaseState.Active, LeaseState.Cancelled, LeaseState.Rejected];
        for (uint256 i = 0; i < others.length; ++i) {
            _lease(others[i], 40e18);
            _refused(TENANT, error_, 5);
        }
        _lease(LeaseState.Ended, 0);
        _refused(TENANT, error_, 5);
    }

    function test_one_to_five_stars() external {
        _lease(LeaseState.Ended, 40e18);
        _refused(TENANT, abi.encodeWithSelector(IReputation.InvalidStars.selector, 0), 0);
        _refused(TENANT, abi.encodeWithSelector(IReputation.InvalidStars.selector, 6), 6);
        vm.prank(TENANT);
        reputation.rate(LEASE, 5, "");
    }

    function test_score_and_discount() external {
        vm.assertEq(reputation.scoreOf(PROVIDER), 0);
        _record(0, 5, 5, 1e18);
        vm.assertEq(reputation.scoreOf(PROVIDER), 0);
        _record(100e18, 0, 0, 0);
        vm.assertEq(reputation.scoreOf(PROVIDER), 500);
        vm.assertEq(reputation.discountBpsOf(PROVIDER), 2500);
        _record(100e18, 20, 30, 0);
        vm.assertEq(reputation.scoreOf(PROVIDER), 400);
        _record(100e18, 0, 0, 20e18);
        vm.assertEq(reputation.scoreOf(PROVIDER), 250);
        _record(type(uint96).max, 0, 0, 0);
        vm.assertLe(reputation.discountBpsOf(PROVIDER), 5000, "discount");
    }
}
