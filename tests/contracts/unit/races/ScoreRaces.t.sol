// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IController} from "../../../../contracts/interfaces/IController.sol";
import {IReputation} from "../../../../contracts/interfaces/IReputation.sol";
import {Params, Terms} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice A provider who wants a better name than he has earned, or a worse one for another. A score lowers stake, by
/// half at most, and does nothing else.
contract ScoreRaces is RaceWorld {
    /// @dev Leases the machine to oneself for so many weeks, at a price of `price` an hour.
    function _wash(uint80 price, uint256 weeks_) private {
        Terms memory terms = _terms();
        terms.price = price;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        for (uint256 i = 0; i < weeks_; ++i) {
            uint256 lease = _leaseOf(SYBIL, 8, 7 days);
            skip(7 days);
            _closeAs(SYBIL, lease);
        }
    }

    /// @dev Washing a score with leases to oneself. Two weeks at 6.2e18 an hour turn 2,083e18 over, all of which comes back but
    /// the fee of 104e18; a score of 510 then asks 25.5 % less. With one GPU that is 25.5e18 less stake for 104e18 burnt,
    /// with two 51e18. From five on it saves more stake than it burns: but what is saved is not earned, it is capital that
    /// need not be locked and would have come back (docs/decisions/0076-score.md has the table).
    function test_washing_a_score() external {
        uint256 before = _providers();
        _wash(6.2e18, 2);
        uint256 burnt = before - _providers();
        vm.assertEq(burnt, _feesPaid());
        vm.assertEq(burnt, 104.16e18);
        vm.assertEq(reputation.scoreOf(PROVIDER), 510);
        uint256 discount = reputation.discountBpsOf(PROVIDER);
        vm.assertEq(discount, 2550);
        uint256 saved = uint256(STAKE) * discount / 10_000;
        vm.assertLe(2 * saved, burnt, "it paid");
        before = pool.balanceOf(PROVIDER);
        _machineOf(PROVIDER, 1);
        vm.assertEq(before - pool.balanceOf(PROVIDER), STAKE - saved);
        _assertSolvent();
    }

    /// @dev In a pool without a fee volume is free: the same turnover, and any other, must buy nothing. A score of 1000 would
    /// halve the stake for gas alone.
    function test_washing_in_a_pool_without_a_fee() external {
        Params memory params = _params();
        params.feeBps = 0;
        pool = IController(factory.createPool(address(token), OWNER, TREASURY, params));
        (,, address reputation_,) = pool.companions();
        reputation = IReputation(reputation_);
        address[2] memory both = [PROVIDER, SYBIL];
        for (uint256 i = 0; i < 2; ++i) {
            vm.prank(both[i]);
            token.approve(address(pool), type(uint256).max);
        }
        machine = _machineOf(PROVIDER, 1);
        uint256 before = _providers();
        _wash(60e18, 10);
        vm.assertEq(_providers(), before); // it cost nothing
        vm.assertEq(reputation.scoreOf(PROVIDER), 0);
        vm.assertEq(reputation.discountBpsOf(PROVIDER), 0);
        before = pool.balanceOf(PROVIDER);
        _machineOf(PROVIDER, 1);
        vm.assertEq(before - pool.balanceOf(PROVIDER), STAKE);
    }

    /// @dev Washing with rejected leases, which pay the hold fee only, or with leases under another name: what was paid to
    /// the pool counts, to the unit, and whoever opened them.
    function test_washing_by_rejecting() external {
        uint256 before = _providers();
        for (uint256 i = 0; i < 20; ++i) {
            uint256 lease = _leaseOf(SYBIL, 8, 7 days);
            skip(9 minutes);
            vm.prank(SYBIL);
            pool.reject(lease);
        }
        vm.assertEq(before - _providers(), _feesPaid());
        vm.assertEq(_feesPaid(), 20 * (9 minutes * GPU_SECOND / 10 * 500 / 10_000));
        vm.assertEq(reputation.scoreOf(PROVIDER), 1000 * _feesPaid() / (_feesPaid() + STAKE));
    }

    /// @dev A rival's name. Declined leases count nothing, or a stranger would open what no honest operator can start. An
    /// unstarted one counts a hundredth of a GPU, and takes an operator who sleeps through it. With it the stranger
    /// would raise a rival's stake by at most what the rival's score had lowered it, and he earns nothing.
    function test_spoiling_a_rival_s_score() external {
        _wash(6.2e18, 2);
        uint256 score = reputation.scoreOf(PROVIDER);
        uint256 before = _wealth(THIEF);
        for (uint256 i = 0; i < 10; ++i) {
            uint256 lease = _openAs(THIEF, 1, 1 hours);
            vm.prank(operator);
            pool.decline(lease, "abuse");
        }
        vm.assertEq(reputation.scoreOf(PROVIDER), score);
        uint256 late = _openAs(THIEF, 1, 1 hours);
        skip(_params().startWindow + 1);
        pool.cancelUnstarted(late);
        vm.assertEq(reputation.scoreOf(PROVIDER), 507);
        vm.assertEq(_wealth(THIEF), before);
    }

    /// @dev Rating oneself up, a rival down, or twice: a rating weighs the fee that its lease paid, and moves no score.
    function test_rating_what_one_did_not_pay_for() external {
        uint256 lease = _leaseOf(tenant, 8, 1 hours);
        skip(1 hours);
        _closeAs(tenant, lease);
        uint256 score = reputation.scoreOf(PROVIDER);
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(NotAuthorized.selector, THIEF));
        reputation.rate(lease, 1, "");
        vm.prank(tenant);
        reputation.rate(lease, 1, "");
        vm.prank(tenant);
        _expect(abi.encodeWithSelector(IReputation.RatedAlready.selector, lease));
        reputation.rate(lease, 5, "");
        vm.assertEq(reputation.scoreOf(PROVIDER), score);
        uint256 free = _leaseOf(SYBIL, 8, 1 hours);
        _closeAs(SYBIL, free); // in the second of its start: nothing was billed
        vm.prank(SYBIL);
        _expect(abi.encodeWithSelector(IReputation.NotRateable.selector, free));
        reputation.rate(free, 5, "");
    }

    /// @dev A machine staked with a discount is staked to the unit. One count more, anywhere, and a rival's single unit of stake
    /// had it weighed anew, out of the market. More stake makes none too small; the provider's own next terms weigh it.
    function test_a_rival_s_unit_of_stake() external {
        for (uint256 i = 0; i < 4; ++i) {
            uint256 lease = _leaseOf(tenant, 8, 7 days);
            skip(7 days);
            _closeAs(tenant, lease);
        }
        uint32 second = _machineOf(PROVIDER, 1);
        uint256 opened = _openAs(tenant, 8, 60);
        vm.warp(_now() + _params().startWindow + 1);
        pool.cancelUnstarted(opened); // one missed start, on the other machine
        vm.prank(THIEF);
        pool.addStake(second, 1);
        vm.assertFalse(pool.machineOf(second).underStaked);
        vm.prank(PROVIDER);
        pool.setTerms(second, _terms());
        vm.assertTrue(pool.machineOf(second).underStaked);
    }
}
