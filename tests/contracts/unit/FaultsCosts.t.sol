// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Round, RoundState} from "../../../contracts/interfaces/ICommittee.sol";
import {Fault, FaultKind, FaultState, IFaults} from "../../../contracts/interfaces/IFaults.sol";
import {IPoolErrors} from "../../../contracts/interfaces/IPoolErrors.sol";
import {LeaseState, LeaseView, MachineView, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {FaultsPool, FaultsWorld} from "./FaultsWorld.sol";

/// @notice Who loses what to whom, and when.
contract FaultsCostsTest is FaultsWorld {
    uint256 private constant SECOND = 2 << 16;
    uint256 private constant THIRD = 3 << 16;

    function _balance(address who) private view returns (uint256) {
        return pool.balanceOf(who);
    }

    function _executed(uint256 id) private {
        skip(2 days + 1);
        faults.execute(id);
    }

    // ---------------------------------------------------------------------------------------------------- the division

    /// @dev 8 tokens for two hours that a quorum saw: of a half a quarter to the tenant, 0.8 to the quorum, the rest to nobody.
    function test_a_slash_is_divided() external {
        uint256 id = _attest(NOW - 2 hours, NOW);
        _lease(SECOND, THIEF, 2, NOW, NOW + 1 days); // came after the outage
        _event();
        emit IFaults.OutageApplied(id, LEASE, TENANT, 1e18); // half of the cells for half of the time
        faults.applyOutage(id, _two(LEASE, SECOND));
        vm.assertEq(faults.faultOf(id).pot, 1e18);
        skip(2 days + 1);
        _event();
        emit IFaults.FaultExecuted(id, MACHINE, 8e18, 1e18, 0.8e18, 6.2e18, BURNT);
        faults.execute(id);
        vm.assertEq(committee.credited(_quorum()), 0.8e18);
        vm.assertEq(_balance(address(committee)), 0.8e18);
        vm.assertEq(_balance(BURNT), 6.2e18);
        vm.assertEq(_balance(address(faults)), 1e18);
        _assertSolvent();
        _event();
        emit IFaults.Compensated(id, LEASE, TENANT, 1e18);
        faults.compensate(id, _two(LEASE, SECOND));
        vm.assertEq(_balance(TENANT), 100 * BOND + 1e18);
        faults.compensate(id, _two(LEASE, LEASE)); // nothing more
        vm.assertEq(_balance(TENANT), 100 * BOND + 1e18);
        vm.assertEq(_balance(address(faults)), 0);
    }

    function test_without_tenants_their_half_is_nobody_s() external {
        uint256 id = _attest(NOW - 2 hours, NOW);
        _executed(id);
        vm.assertEq(_balance(BURNT), 7.2e18);
        vm.assertEq(_balance(address(faults)), 0);
    }

    /// @dev One cell of a machine of eight GPUs for the whole outage takes a 128th, whoever else has leased: 3.125 of 400,
    /// where it was 200. What nobody lost is nobody's.
    function test_one_cell_takes_a_hundred_and_twenty_eighth() external {
        MachineView memory machine = pool.machineOf(MACHINE);
        (machine.gpus, machine.stake) = (8, 800e18);
        pool.setMachine(MACHINE, machine);
        _lease(LEASE, TENANT, 1, NOW - 5 days, NOW + 1 days);
        uint256 id = _attest(NOW - 3 days, NOW);
        _assertCost(id, 5000, 400e18);
        _apply(id, LEASE);
        _executed(id);
        faults.compensate(id, _one(LEASE));
        vm.assertEq(_balance(TENANT), 100 * BOND + 3.125e18);
        vm.assertEq(_balance(BURNT), 400e18 - 40e18 - 3.125e18);
    }

    /// @dev What one has does not depend on who else registers, nor on who comes first.
    function test_each_has_his_part_whoever_else_there_is() external {
        _lease(SECOND, address(2), 1, NOW - 50 minutes, NOW + 1 days);
        _lease(THIRD, address(3), 2, NOW - 1 hours, NOW - 7 minutes);
        _setState(THIRD, LeaseState.Ended, NOW - 7 minutes);
        _setStake(1e6 + 7); // a token of six decimals
        uint256 id = _attest(NOW - 1 hours, NOW);
        _assertCost(id, 800, 80_000);
        faults.applyOutage(id, _two(SECOND, THIRD));
        _apply(id, LEASE);
        _executed(id);
        faults.compensate(id, _one(SECOND));
        faults.compensate(id, _two(THIRD, LEASE));
        vm.assertEq(_balance(address(2)), uint256(40_000) * 50 / 480);
        vm.assertEq(_balance(address(3)), uint256(40_000) * 106 / 480);
        vm.assertEq(_balance(TENANT), 100 * BOND + 20_000);
        vm.assertEq(_balance(address(faults)), 0);
        vm.assertEq(faults.faultOf(id).pot, 0);
    }

    function test_too_little_to_divide() external {
        _setStake(30);
        uint256 id = _attest(NOW - 1 hours, NOW); // 8 % of 30 units: 2
        _assertCost(id, 800, 2);
        _apply(id, LEASE); // half of one unit is none
        _executed(id);
        vm.assertEq(_balance(BURNT), 2);
        vm.assertEq(committee.credited(_quorum()), 0);
        faults.compensate(id, _one(LEASE));
        vm.assertEq(_balance(TENANT), 100 * BOND);
    }

    function test_no_stake_costs_nothing() external {
        _setStake(0);
        _assertState(_outage(1 hours), FaultState.Executed);
        _assertPending(0);
    }

    /// @dev It is taken off the bills as any other, and they who said so answer for it: so it can be appealed and taken back.
    function test_what_others_say_may_be_appealed_whatever_it_costs() external {
        _setStake(0);
        uint256 id = _attest(NOW - 1 hours, NOW);
        _assertState(id, FaultState.Filed);
        _assertPending(1);
        _appeal(id);
        _rule(id, false);
        _assertState(id, FaultState.Dropped);
        _assertPending(0);
        vm.assertEq(committee.disowned(), _quorum());
        _wrongState(id);
        faults.applyOutage(id, _one(LEASE));
        skip(1 hours);
        id = _attest(_now() - 30 minutes, _now());
        _executed(id);
        _assertPending(0);
        _assertSolvent();
    }

    /// @dev Faults that wait put aside what they will take: each is paid in full, in any order.
    function test_what_waits_is_put_aside() external {
        uint256 a = _outage(3 hours); // 400 of 100
        skip(8 days);
        uint256 b = _outage(50 hours); // 3000 of 96
        skip(10 days);
        uint256 c = _outage(121 hours); // 5000 of 67.2
        skip(2 days + 1);
        _assertPending(3);
        faults.execute(c);
        faults.execute(a);
        faults.execute(b);
        vm.assertEq(_stake(), 33.6e18);
        vm.assertEq(_balance(BURNT), 66.4e18);
        _assertPending(0);
    }

    function test_a_stake_that_grew_is_not_charged_twice() external {
        uint256 a = _outage(3 hours);
        _setStake(2 * STAKE);
        skip(1);
        uint256 b = _outage(50 hours);
        _assertCost(a, 400, 4e18);
        _assertCost(b, 2600, 53_083333333333333333); // 2600 of 9600 of 196: of what was added no more than of the rest
    }

    // ------------------------------------------------------------------------------------------------ what is executed

    function test_execute_waits_and_works_once() external {
        uint256 id = _outage(1 minutes);
        uint256 deadline = _now() + 2 days;
        skip(2 days);
        _expect(abi.encodeWithSelector(IFaults.AppealOpen.selector, id, deadline));
        faults.execute(id);
        skip(1);
        faults.execute(id);
        _wrongState(id);
        faults.execute(id);
        vm.assertEq(_stake(), 98e18);
        uint256 running = _report();
        _wrongState(running);
        faults.execute(running);
    }

    function test_a_challenger_is_the_reporter() external {
        uint256 id = _proven();
        _recover();
        _executed(id);
        vm.assertEq(_balance(TENANT), 100 * BOND + 0.4e18);
    }

    // -------------------------------------------------------------------------------------------------- who registers

    function test_what_is_passed_over() external {
        uint256 id = _attest(NOW - 1 hours, NOW);
        LeaseView memory other = pool.leaseOf(LEASE);
        other.machine = 2;
        pool.setLease(SECOND, other); // of another machine
        _lease(THIRD, THIEF, 2, NOW - 30 minutes, NOW + 1 hours);
        _setState(THIRD, LeaseState.Rejected, NOW);
        bytes memory nothing = abi.encodeWithSelector(IFaults.NothingToApply.selector, id);
        _expect(nothing);
        faults.applyOutage(id, _two(SECOND, THIRD));
        _setState(THIRD, LeaseState.Ended, NOW - 1 hours); // was over before the outage
        _expect(nothing);
        _apply(id, THIRD);
        _expect(nothing);
        _apply(id, 77 << 16); // never was, or its slot is used again
        _expect(nothing);
        faults.applyOutage(id, new uint256[](0));
        faults.applyOutage(id, _two(LEASE, LEASE)); // twice in one batch
        vm.assertEq(faults.faultOf(id).pot, 2e18);
        vm.assertEq(pool.paused(LEASE), 1 hours);
        _expect(nothing);
        _apply(id, LEASE);
    }

    function test_running_outages_are_not_applied_yet() external {
        uint256 id = _report();
        _wrongState(id);
        _apply(id, LEASE);
    }

    /// @dev Closed inside the outage: lost until it closed. Its bill is settled: nothing to pause.
    function test_a_lease_closed_in_between() external {
        _setState(LEASE, LeaseState.Ended, NOW + 1 minutes);
        uint256 id = _outage(6 minutes);
        _apply(id, LEASE);
        vm.assertEq(faults.faultOf(id).pot, uint256(1e18) / 12);
        vm.assertEq(pool.paused(LEASE), 0);
    }

    /// @dev A lease that is its slot's next generation is another lease.
    function test_generations_are_leases_of_their_own() external {
        uint256 id = _outage(6 minutes);
        _apply(id, LEASE);
        _lease(LEASE | 1, THIEF, 8, _now(), NOW + 1 days);
        _expect(abi.encodeWithSelector(IFaults.NothingToApply.selector, id));
        _apply(id, LEASE | 1);
        _setState(LEASE, LeaseState.None, 0);
        _executed(id);
        faults.compensate(id, _two(LEASE | 1, LEASE));
        vm.assertEq(_balance(TENANT), 100 * BOND + 0.5e18);
        vm.assertEq(_balance(THIEF), 0);
    }

    /// @dev Whoever has the lease when the outage is applied; a transfer afterwards takes nothing with it.
    function test_a_lease_transferred_in_between() external {
        uint256 id = _outage(6 minutes);
        LeaseView memory lease = pool.leaseOf(LEASE);
        lease.tenant = address(2);
        pool.setLease(LEASE, lease);
        _apply(id, LEASE);
        lease.tenant = THIEF;
        pool.setLease(LEASE, lease);
        _executed(id);
        faults.compensate(id, _one(LEASE));
        vm.assertEq(_balance(address(2)), 0.5e18);
    }

    /// @dev Eight cells after an outage that one cell went through: the thief would have 8/12 instead of 1/5.
    function test_a_larger_share_afterwards_weighs_nothing() external {
        _lease(SECOND, THIEF, 1, NOW - 1 hours, NOW + 1 days);
        uint256 id = _outage(6 minutes);
        LeaseView memory lease = pool.leaseOf(SECOND);
        lease.placement = 0x1FF;
        lease.segmentStart = uint32(_now());
        pool.setLease(SECOND, lease);
        _expect(abi.encodeWithSelector(IFaults.NothingToApply.selector, id));
        _apply(id, SECOND);
    }

    /// @dev After execution the bill is still relieved, and nobody shares any more.
    function test_applied_late_pauses_and_does_not_share() external {
        uint256 id = _outage(6 minutes);
        _executed(id);
        _apply(id, LEASE);
        vm.assertEq(pool.paused(LEASE), 6 minutes);
        vm.assertEq(faults.faultOf(id).pot, 0);
        faults.compensate(id, _one(LEASE));
        vm.assertEq(_balance(TENANT), 100 * BOND);
    }

    function test_nothing_is_compensated_before() external {
        uint256 id = _outage(6 minutes);
        _wrongState(id);
        faults.compensate(id, _one(LEASE));
    }

    /// @dev Leasing to oneself before a slash. The provider takes the four cells that the tenant has not: he gets back half
    /// of the tenants' half, a quarter of the slash, and loses three quarters. With the tenant gone he would get half; he
    /// always loses the other half. At a thousand times the price it is the same: price does not weigh.
    function test_leasing_to_oneself_before_a_slash() external {
        _lease(SECOND, PROVIDER, 4, NOW - 1 hours, NOW + 1 days);
        LeaseView memory dear = pool.leaseOf(SECOND);
        dear.price = type(uint80).max;
        pool.setLease(SECOND, dear);
        uint256 before = _balance(PROVIDER) + _stake();
        uint256 id = _attest(NOW - 1 hours, NOW);
        faults.applyOutage(id, _two(LEASE, SECOND));
        _executed(id);
        faults.compensate(id, _two(SECOND, LEASE));
        vm.assertEq(before - _balance(PROVIDER) - _stake(), 6e18); // of 8: a quarter came back
        vm.assertEq(_balance(TENANT), 100 * BOND + 2e18); // 4 of 8 cells: at least half of 4
    }

    // --------------------------------------------------------------------------------------------------------- appeals

    function test_an_appeal_that_fails() external {
        uint256 id = _attest(NOW - 2 hours, NOW);
        _notFor(THIEF);
        faults.appeal(id);
        skip(2 days); // the last moment
        _event();
        emit IFaults.Appealed(id, MACHINE, uint32(_now() + 3 days));
        _appeal(id);
        _assertState(id, FaultState.Appealed);
        vm.assertEq(_balance(PROVIDER), 99 * BOND);
        _assertSolvent();
        _wrongState(id);
        _appeal(id);
        _expect(abi.encodeWithSelector(IFaults.AppealOpen.selector, id, _now() + 3 days));
        faults.execute(id);
        _notFor(THIEF);
        faults.rule(id, false);
        skip(3 days); // the last moment
        _event();
        emit IFaults.Ruled(id, true);
        _rule(id, true);
        _assertState(id, FaultState.Upheld);
        vm.assertEq(_balance(BURNT), BOND);
        _assertPending(1);
        faults.execute(id); // at once
        vm.assertEq(_stake(), 92e18);
        vm.assertEq(_balance(PROVIDER), 99 * BOND);
        _assertSolvent();
    }

    function test_an_appeal_that_succeeds() external {
        uint256 id = _attest(NOW - 2 hours, NOW);
        _apply(id, LEASE);
        _appeal(id);
        _event();
        emit IFaults.Ruled(id, false);
        _rule(id, false);
        _assertState(id, FaultState.Dropped);
        vm.assertEq(_balance(PROVIDER), 100 * BOND);
        _assertPending(0);
        _assertWindow(0, 0); // neither its time nor its price count
        vm.assertEq(_stake(), STAKE);
        _wrongState(id);
        faults.execute(id);
        _lease(SECOND, THIEF, 1, NOW - 1 hours, NOW + 1 days);
        _wrongState(id);
        _apply(id, SECOND);
        _wrongState(id);
        faults.rule(id, true);
        _wrongState(id);
        _appeal(id);
        _assertSolvent();
        _assertCost(_outage(1 minutes), 200, 2e18); // as if it had not been
    }

    function test_what_is_taken_back_days_later_leaves_the_days_it_was_on() external {
        skip(1);
        uint256 id = _attest(NOW - 20 hours, NOW);
        skip(1 days);
        _outage(3 hours);
        _assertWindow(23 hours, 800);
        vm.prank(PROVIDER);
        faults.appeal(id);
        skip(2 days);
        _rule(id, false);
        _assertWindow(3 hours, 0); // the second one cost nothing because of the first
    }

    function test_false_hardware_taken_back() external {
        committee.setRound(1, _falseRound());
        uint256 id = faults.reportFalseHardware(1);
        _assertWindow(0, 5000);
        _appeal(id);
        _rule(id, false);
        _assertWindow(0, 0);
        vm.assertEq(committee.overturned(), 1);
        vm.assertEq(committee.by(), ARBITER);
    }

    function _falseRound() private view returns (Round memory round) {
        round.machine = MACHINE;
        round.state = RoundState.Failed;
        round.requestedAt = uint32(_now() - 1 days);
        round.revealUntil = uint32(_now());
        round.spec = "another";
    }

    function test_an_appeal_too_late() external {
        uint256 id = _outage(1 minutes);
        uint256 deadline = _now() + 2 days;
        skip(2 days + 1);
        _expect(abi.encodeWithSelector(IFaults.AppealOver.selector, id, deadline));
        _appeal(id);
    }

    function test_an_appeal_needs_the_bond() external {
        uint256 id = _outage(1 minutes);
        vm.prank(PROVIDER);
        pool.transfer(THIEF, 100 * BOND);
        _expect(abi.encodeWithSelector(FaultsPool.InsufficientBalance.selector, PROVIDER, 0, BOND));
        _appeal(id);
    }

    function test_an_arbiter_who_is_silent_lets_it_stand_and_the_bond_comes_back() external {
        uint256 id = _attest(NOW - 2 hours, NOW);
        _appeal(id);
        skip(3 days + 1);
        _expect(abi.encodeWithSelector(IFaults.RulingOver.selector, id, NOW + 3 days));
        vm.prank(ARBITER);
        faults.rule(id, false);
        faults.execute(id);
        vm.assertEq(_stake(), 92e18);
        vm.assertEq(_balance(PROVIDER), 100 * BOND);
        _assertSolvent();
    }

    /// @dev Who rules is who the accepted rules named when the outage began, whatever is accepted since: an arbiter
    /// exchanged in the second before a fault is filed rules on nothing.
    function test_the_arbiter_is_accepted_in_advance() external {
        uint256 id = _report();
        skip(1 minutes);
        Params memory other = _params();
        other.arbiter = THIEF;
        other.maxSlashBps = 10_000;
        pool.accept(MACHINE, other);
        _recover();
        vm.assertEq(faults.faultOf(id).rules, 1);
        _appeal(id);
        _notFor(THIEF);
        faults.rule(id, true);
        _rule(id, false);
        skip(1);
        vm.assertEq(faults.faultOf(_outage(1 minutes)).rules, 2);
    }

    /// @dev Milder rules accepted in the middle of an outage: a hundredth instead of half. It keeps those by which it began,
    /// also where it is attested afterwards, and where it rolls.
    function test_milder_rules_in_the_middle_of_an_outage() external {
        Params memory mild = _params();
        mild.maxSlashBps = 100;
        mild.filingWindow = 1 minutes;
        pool.accept(MACHINE, mild);
        uint256 id = _attest(NOW - 3 days, NOW - 1 hours);
        vm.assertEq(faults.faultOf(id).rules, 1);
        _assertCost(id, 5000, 50e18);
        _signOutage(NOW - 30 minutes, 0);
        _assertState(faults.attest(MACHINE, 0, uint64(NOW) - 30 minutes, 0, seats, _proofs()), FaultState.Running);
        skip(121 hours);
        faults.roll(MACHINE);
        vm.assertEq(faults.faultOf(faults.runningFault(MACHINE)).rules, 1);
    }

    function test_where_nobody_rules_there_is_no_appeal() external {
        Params memory params = _params();
        params.arbiter = address(0);
        pool.setParams(params);
        uint256 id = _outage(1 minutes);
        _expect(abi.encodeWithSelector(IFaults.NobodyRules.selector, id));
        _appeal(id);
    }

    /// @dev What nobody has coming, and every bond that is lost, go where the accepted rules say.
    function test_a_sink() external {
        Params memory params = _params();
        params.sink = address(0x51A4);
        pool.setParams(params);
        uint256 id = _outage(1 minutes);
        _appeal(id);
        _rule(id, true);
        vm.assertEq(_balance(address(0x51A4)), BOND);
        skip(2 days + 1);
        faults.execute(id);
        vm.assertEq(_balance(address(0x51A4)), BOND + 2e18);
        vm.assertEq(_balance(BURNT), 0);
    }

    /// @dev What was taken back is told to who had found it.
    function test_taken_back_from_who_had_found_it() external {
        uint256 id = _attest(NOW - 2 hours, NOW);
        _apply(id, LEASE);
        _appeal(id);
        _rule(id, false);
        vm.assertEq(committee.disowned(), _quorum());
        vm.assertEq(committee.by(), ARBITER);
        vm.assertEq(faults.faultOf(id).pot, 0);
        vm.assertEq(committee.overturned(), 0);
        id = _proven();
        _recover();
        _appeal(id);
        _rule(id, false); // a challenger has said nothing
    }

    /// @dev Rules that come into force later reach no deadline that runs.
    function test_deadlines_stay_what_they_were() external {
        uint256 id = _outage(1 minutes);
        Params memory params = _params();
        params.appealWindow = 100 days;
        params.rulingWindow = 100 days;
        params.bond = 50 * BOND;
        pool.setParams(params);
        skip(2 days + 1);
        faults.execute(id);
    }

    // -------------------------------------------------------------------------------------------------- after retiring

    /// @dev Unstake against slash: the stake stays while a fault is pending, whatever the delay.
    function test_no_unstaking_under_a_fault() external {
        uint256 id = _outage(3 hours);
        _retire();
        skip(30 days);
        vm.expectRevert();
        pool.unstake(MACHINE);
        faults.execute(id);
        pool.unstake(MACHINE);
        vm.assertEq(_balance(PROVIDER), 100 * BOND + 96e18);
    }

    /// @dev Retire against a late fault: what was before is filed up to a week after, what is after is nothing.
    function test_a_fault_after_retiring() external {
        _retire();
        skip(1 hours);
        _refuse(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, NOW, NOW));
        _attest(NOW, _now());
        _refuse(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, NOW, NOW));
        _attest(NOW, 0);
        uint256 id = _attest(NOW - 3 hours, _now());
        vm.assertEq(faults.faultOf(id).to, NOW);
        _assertCost(id, 800, 8e18);
        _refuse(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, NOW, NOW));
        _attest(NOW - 9 hours, NOW);
    }

    function test_a_running_word_on_a_retired_machine_is_filed_at_once() external {
        _retire();
        skip(1 hours);
        uint256 id = _attest(NOW - 3 hours, 0);
        vm.assertEq(faults.faultOf(id).to, NOW);
        _assertState(id, FaultState.Filed);
        _assertDown(0);
        vm.assertEq(faults.runningFault(MACHINE), 0);
    }

    /// @dev However often and however long after: no more than the limit in all, for its window stands still.
    function test_after_retiring_at_most_the_limit_in_all() external {
        _retire();
        skip(12 hours);
        uint256 id = _attest(NOW - 4 days, NOW - 1 hours);
        _assertCost(id, 5000, 50e18);
        skip(12 hours);
        _assertCost(_attest(NOW - 6 days, NOW), 0, 0);
        _assertWindow(4 days, 5000);
        skip(100 days); // a machine in service would have forgotten
        _assertWindow(4 days, 5000);
    }

    function test_an_outage_that_runs_at_retirement_ends_with_it() external {
        uint256 id = _report();
        skip(1 hours);
        _retire();
        skip(20 days);
        vm.prank(THIEF);
        faults.roll(MACHINE);
        vm.assertEq(faults.faultOf(id).to, NOW + 1 hours);
        vm.assertEq(faults.runningFault(MACHINE), 0);
        _assertCost(id, 400, 4e18);
        skip(1);
        _expect(abi.encodeWithSelector(IPoolErrors.MachineRetiredAlready.selector, MACHINE));
        _report();
    }

    function test_a_recovery_after_retirement_counts_until_then() external {
        uint256 id = _report();
        skip(1 hours);
        _retire();
        skip(1 hours);
        _recover();
        vm.assertEq(faults.faultOf(id).to, NOW + 1 hours);
    }

    function test_a_challenge_proven_after_retirement() external {
        _challenge();
        skip(5 minutes);
        _retire();
        skip(1 hours);
        uint256 id = faults.prove(MACHINE);
        vm.assertEq(faults.faultOf(id).to, NOW + 5 minutes);
        _assertState(id, FaultState.Filed);
        _assertSolvent();
    }

    function test_a_challenge_that_retirement_outlived() external {
        _challenge();
        _retire();
        skip(1 hours);
        vm.assertEq(faults.prove(MACHINE), 0);
        vm.assertEq(_balance(TENANT), 100 * BOND);
        vm.assertEq(faults.faultCount(), 0);
        _expect(abi.encodeWithSelector(IFaults.NoChallenge.selector, MACHINE));
        faults.prove(MACHINE);
    }

    function test_taken_back_after_retirement() external {
        skip(1 hours);
        _retire();
        skip(1 days);
        uint256 id = _attest(NOW - 1 hours, NOW);
        _assertWindow(1 hours, 800);
        _appeal(id);
        _rule(id, false);
        _assertWindow(0, 0);
    }

    /// @dev "Nobody can stop anyone from unstaking." A tenant, the operator's key and validators short of a quorum, all of
    /// them hostile, do what they can when the provider retires: one challenge stands, one outage runs. Strangers settle
    /// both, and the stake is gone one appeal window later, less what these cost.
    function test_nobody_short_of_a_quorum_keeps_a_stake() external {
        _challenge();
        skip(1);
        _retire();
        _setState(LEASE, LeaseState.Ended, NOW + 1);
        skip(10 minutes);
        vm.prank(THIEF);
        uint256 id = faults.prove(MACHINE);
        _expect(abi.encodeWithSelector(IFaults.NotATenant.selector, LEASE, TENANT));
        _challenge();
        _expect(abi.encodeWithSelector(IPoolErrors.MachineRetiredAlready.selector, MACHINE));
        _report();
        _expect(abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        faults.attest(MACHINE, 0, uint64(NOW), 0, seats, _proofs());
        _expect(abi.encodeWithSelector(IFaults.NotDown.selector, MACHINE));
        faults.roll(MACHINE);
        skip(2 days + 1);
        vm.prank(THIEF);
        faults.execute(id);
        skip(12 days);
        pool.unstake(MACHINE);
        vm.assertEq(_balance(PROVIDER), 100 * BOND + 96e18);
    }

    /// @dev More than a byte of them.
    function test_many_pending_faults() external {
        Params memory params = _params();
        params.appealWindow = 194 days;
        pool.setParams(params);
        _setStake(1e28);
        uint256 bit = NOW - 4 days;
        for (uint256 i = 0; i < 260; ++i) {
            // One basis point of it each, as if the limit had been raised so often.
            params.maxSlashBps = uint16(i + 1);
            pool.setParams(params);
            _attest(bit + i * 1000, bit + i * 1000 + 900);
        }
        _assertPending(255);
        skip(195 days);
        faults.execute(1);
        _assertPending(255);
        for (uint256 i = 2; i <= 6; ++i) {
            faults.execute(i);
        }
        _assertPending(254);
    }
}
