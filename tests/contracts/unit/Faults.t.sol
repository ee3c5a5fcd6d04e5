// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Round, RoundState} from "../../../contracts/interfaces/ICommittee.sol";
import {Challenge, Fault, FaultKind, FaultState, IFaults} from "../../../contracts/interfaces/IFaults.sol";
import {LeaseState, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {FaultsPool, FaultsWorld} from "./FaultsWorld.sol";

contract FaultsReportTest is FaultsWorld {
    function test_six_minutes_self_reported() external {
        _event();
        emit IFaults.OutageOpened(1, MACHINE, FaultKind.SelfReported, uint32(NOW), 1, 0);
        uint256 id = _report();
        vm.assertEq(id, 1);
        vm.assertEq(faults.runningFault(MACHINE), id);
        _assertDown(NOW);
        _assertPending(1);
        _assertState(id, FaultState.Running);

        skip(6 minutes);
        _event();
        emit IFaults.FaultFiled(1, MACHINE, FaultKind.SelfReported, uint32(NOW), uint32(NOW + 6 minutes), 200, 2e18);
        _recover();
        _assertDown(0);
        _assertPending(1);
        _assertState(id, FaultState.Filed);
        _assertHeld(NOW, NOW + 6 minutes + 2 days);
        _assertWindow(6 minutes, 200);
        vm.assertEq(faults.runningFault(MACHINE), 0);
        vm.assertEq(faults.faultOf(id).deadline, NOW + 6 minutes + 2 days);

        skip(2 days + 1);
        _event();
        emit IFaults.FaultExecuted(id, MACHINE, 2e18, 0, 0, 2e18, BURNT);
        faults.execute(id);
        vm.assertEq(pool.balanceOf(BURNT), 2e18);
        vm.assertEq(_stake(), 98e18);
        _assertPending(0);
        vm.assertEq(faults.slashedOf(PROVIDER), 2e18);
    }

    function test_the_longer_the_dearer() external {
        _assertCost(_outage(3 hours), 400, 4e18);
        skip(8 days);
        _assertCost(_outage(50 hours), 3000, 28.8e18); // of the 96 that the first leaves
        skip(10 days);
        _assertCost(_outage(121 hours), 5000, 33.6e18);
    }

    function test_only_the_operator_reports() external {
        _notFor(PROVIDER);
        faults.reportOutage(MACHINE);
        uint256 id = _report();
        _expect(abi.encodeWithSelector(IFaults.AlreadyDown.selector, MACHINE, id));
        _report();
    }

    function test_the_operator_recovers_or_the_provider_or_a_proof() external {
        bytes32 type_ = keccak256("Recover(address account,uint32 machine,uint64 issuedAt)");
        _expect(abi.encodeWithSelector(IFaults.NotDown.selector, MACHINE));
        _recover();
        _report();
        vm.prank(PROVIDER);
        faults.recover(MACHINE, 0, "");

        skip(1 hours);
        uint64 began = _now();
        _report();
        skip(1 minutes);
        bytes memory early = _proofOf(OPERATOR_KEY, keccak256(abi.encode(type_, operator, MACHINE, began - 1)));
        bytes memory late = _proofOf(OPERATOR_KEY, keccak256(abi.encode(type_, operator, MACHINE, _now() + 1)));
        bytes memory other = _proofOf(0xBAD, keccak256(abi.encode(type_, operator, MACHINE, _now())));
        bytes memory right = _proofOf(OPERATOR_KEY, keccak256(abi.encode(type_, operator, MACHINE, _now())));
        bytes memory wrong = abi.encodeWithSelector(IFaults.WrongSignature.selector, operator);
        _expect(wrong);
        faults.recover(MACHINE, began - 1, early);
        _expect(wrong);
        faults.recover(MACHINE, _now() + 1, late);
        _expect(wrong);
        faults.recover(MACHINE, _now(), other);
        faults.recover(MACHINE, _now(), right);

        // The same proof ends no later outage: it was issued before that began.
        skip(1);
        uint64 issued = _now() - 1;
        _report();
        _expect(wrong);
        faults.recover(MACHINE, issued, right);
    }

    /// @dev Through `Accounts`, as every role.
    function test_the_operator_acts_through_accounts() external {
        accounts.act(operator, address(faults), abi.encodeCall(IFaults.reportOutage, (MACHINE)));
        vm.assertEq(faults.runningFault(MACHINE), 1);
    }

    /// @dev Outages of 40 hours, each of them alone 400: the third makes 120 hours in the week, the fourth more. The thief's
    /// arithmetic is 4 × 400 = 1600; he pays 5000.
    function test_recovering_every_two_days_saves_nothing() external {
        _assertCost(_outage(40 hours), 400, 4e18);
        skip(1 hours);
        _assertCost(_outage(40 hours), 2600, 26e18); // 80 hours: 3000 less 400
        skip(1 hours);
        uint256 free = _outage(40 hours); // exactly 120 hours
        _assertCost(free, 0, 0);
        _assertState(free, FaultState.Executed);
        skip(1 hours);
        _assertCost(_outage(40 hours), 2000, 20e18); // 160 hours: 5000 less 3000
        _assertWindow(160 hours, 5000);
        _assertPending(3);
    }

    function test_what_cost_nothing_is_settled_at_once_but_holds() external {
        _outage(1 minutes);
        skip(1);
        uint256 id = _outage(1 minutes);
        _assertState(id, FaultState.Executed);
        _assertPending(1);
        _assertHeld(NOW, _now() + 2 days); // the earlier begin, the later end
        _apply(id, LEASE); // the tenant is not billed for it
        vm.assertEq(pool.paused(LEASE), 1 minutes);
        vm.assertEq(faults.faultOf(id).pot, 0);
        _wrongState(id);
        faults.execute(id);
    }

    function test_a_hold_that_has_passed_is_forgotten() external {
        _outage(1 minutes);
        skip(3 days);
        uint64 began = _now();
        _outage(1 minutes);
        _assertHeld(began, _now() + 2 days);
    }

    function test_a_shorter_appeal_window_shortens_no_hold() external {
        _outage(1 minutes);
        Params memory params = _params();
        params.appealWindow = 1 days;
        pool.setParams(params);
        _outage(1 minutes);
        _assertHeld(NOW, NOW + 1 minutes + 2 days);
    }

    function test_rolling() external {
        _expect(abi.encodeWithSelector(IFaults.NotDown.selector, MACHINE));
        faults.roll(MACHINE);
        uint256 id = _report();
        skip(120 hours);
        _expect(abi.encodeWithSelector(IFaults.OutageTooShort.selector, NOW + 120 hours));
        faults.roll(MACHINE);
        skip(1);
        vm.prank(THIEF);
        faults.roll(MACHINE);
        _assertCost(id, 5000, 50e18);
        _assertState(id, FaultState.Filed);
        uint256 next = faults.runningFault(MACHINE);
        vm.assertEq(next, 2);
        Fault memory fault = faults.faultOf(next);
        vm.assertTrue(fault.kind == FaultKind.SelfReported && fault.from == _now());
        _assertDown(_now());
        _assertPending(2);
        skip(1 days);
        _recover();
        _assertCost(next, 0, 0); // the week's limit is reached
    }

    function test_it_belongs_to_its_pool() external view {
        vm.assertEq(faults.controller(), address(pool));
    }

    function test_unknown_faults() external {
        bytes memory unknown = abi.encodeWithSelector(IFaults.UnknownFault.selector, 7);
        _expect(unknown);
        faults.execute(7);
        _expect(unknown);
        faults.applyOutage(7, _one(LEASE));
        _expect(unknown);
        faults.compensate(7, _one(LEASE));
        _expect(unknown);
        faults.appeal(7);
        _expect(unknown);
        faults.rule(7, true);
    }

    function test_slashes_fade() external {
        uint256 id = _outage(3 hours);
        skip(2 days + 1);
        faults.execute(id);
        vm.assertEq(faults.slashedOf(PROVIDER), 4e18);
        skip(90 days);
        vm.assertEq(faults.slashedOf(PROVIDER), 2e18);
        id = _outage(3 hours); // 4 % of 96
        skip(2 days + 1);
        uint256 before = faults.slashedOf(PROVIDER);
        faults.execute(id);
        vm.assertEq(faults.slashedOf(PROVIDER), before + 3.84e18);
    }
}

contract FaultsChallengeTest is FaultsWorld {
    bytes32 private constant ANSWER = keccak256("Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)");

    function test_a_challenge_answered() external {
        _event();
        emit IFaults.Challenged(MACHINE, 1, TENANT, LEASE, BOND);
        vm.assertEq(_challenge(), 1);
        Challenge memory seen = faults.challengeOf(MACHINE);
        vm.assertTrue(seen.challenger == TENANT && seen.bond == BOND && seen.at == NOW && seen.id == 1);
        vm.assertEq(pool.balanceOf(TENANT), 99 * BOND);
        _assertHeld(NOW, NOW + 10 minutes + 1 hours);
        _assertSolvent();

        skip(10 minutes); // the last moment
        _event();
        emit IFaults.Answered(MACHINE, 1);
        _answer();
        vm.assertEq(faults.challengeOf(MACHINE).at, 0);
        vm.assertEq(pool.balanceOf(PROVIDER), 100 * BOND + BOND / 10);
        vm.assertEq(pool.balanceOf(BURNT), BOND - BOND / 10);
        _assertHeld(_now(), _now()); // holds nothing up
        _assertPending(0);
        _assertSolvent();
    }

    function test_only_a_tenant_challenges() external {
        _expect(abi.encodeWithSelector(IFaults.WrongLease.selector, LEASE, 2));
        vm.prank(TENANT);
        faults.challenge(2, LEASE);
        _expect(abi.encodeWithSelector(IFaults.NotATenant.selector, LEASE, THIEF));
        vm.prank(THIEF);
        faults.challenge(MACHINE, LEASE);
        bytes memory none = abi.encodeWithSelector(IFaults.NotATenant.selector, LEASE, TENANT);
        _setState(LEASE, LeaseState.Opened, NOW + 1 days);
        _expect(none);
        _challenge();
        _setState(LEASE, LeaseState.Active, NOW); // over, though nobody has closed it
        _expect(none);
        _challenge();
    }

    function test_a_challenger_needs_the_bond_in_the_ledger() external {
        _lease(2 << 16, THIEF, 1, NOW, NOW + 1 days);
        _expect(abi.encodeWithSelector(FaultsPool.InsufficientBalance.selector, THIEF, 0, BOND));
        vm.prank(THIEF);
        faults.challenge(MACHINE, 2 << 16);
    }

    /// @dev The bond is the actor's, not the submitter's.
    function test_a_group_challenges_through_accounts() external {
        accounts.act(TENANT, address(faults), abi.encodeCall(IFaults.challenge, (MACHINE, LEASE)));
        vm.assertEq(faults.challengeOf(MACHINE).challenger, TENANT);
        vm.assertEq(pool.balanceOf(TENANT), 99 * BOND);
    }

    /// @dev Challenging oneself to block others: what stands protects everybody, for it is anyone's to prove. The thief has
    /// a lease on his own machine and leaves his challenge unanswered: he is down from then on.
    function test_one_challenge_stands_for_everybody() external {
        _lease(2 << 16, THIEF, 1, NOW, NOW + 1 days);
        pool.deposit(THIEF, BOND);
        vm.prank(THIEF);
        faults.challenge(MACHINE, 2 << 16);
        bytes memory stands = abi.encodeWithSelector(IFaults.ChallengeStands.selector, MACHINE, NOW + 10 minutes);
        _expect(stands);
        _challenge();
        skip(10 minutes);
        _expect(stands);
        faults.prove(MACHINE);
        skip(1);
        vm.prank(TENANT);
        uint256 id = faults.prove(MACHINE);
        vm.assertEq(faults.faultOf(id).from, NOW);
        vm.assertEq(pool.balanceOf(THIEF), BOND);
        _expect(abi.encodeWithSelector(IFaults.AlreadyDown.selector, MACHINE, id));
        _challenge();
    }

    /// @dev Self-report after a challenge: 200 instead of 400.
    function test_no_self_report_while_a_challenge_stands() external {
        _challenge();
        _expect(abi.encodeWithSelector(IFaults.ChallengeStands.selector, MACHINE, NOW + 10 minutes));
        _report();
    }

    function test_an_answer_is_the_operators_and_names_the_challenge() external {
        _expect(abi.encodeWithSelector(IFaults.NoChallenge.selector, MACHINE));
        _answer();
        _expect(abi.encodeWithSelector(IFaults.NoChallenge.selector, MACHINE));
        faults.prove(MACHINE);
        _challenge();
        skip(1);
        bytes memory right =
            _proofOf(OPERATOR_KEY, keccak256(abi.encode(ANSWER, operator, MACHINE, uint256(1), _now())));
        bytes memory early =
            _proofOf(OPERATOR_KEY, keccak256(abi.encode(ANSWER, operator, MACHINE, uint256(1), uint64(NOW) - 1)));
        bytes memory wrong = abi.encodeWithSelector(IFaults.WrongSignature.selector, operator);
        _expect(wrong);
        faults.answer(MACHINE, uint64(NOW) - 1, early);
        _expect(wrong);
        faults.answer(MACHINE, _now() + 1, right);
        faults.answer(MACHINE, _now(), right);

        // Replayed on the next challenge, in the same second: it names another.
        uint64 issued = _now();
        _challenge();
        _expect(wrong);
        faults.answer(MACHINE, issued, right);
    }

    function test_an_answer_in_time_or_not_at_all() external {
        _challenge();
        skip(10 minutes + 1);
        _expect(abi.encodeWithSelector(IFaults.ChallengeLapsed.selector, MACHINE, NOW + 10 minutes));
        _answer();
    }

    /// @dev Asking again and again costs 5, 10, 20, 40, … tokens: a day of it, once in ten minutes, is more than there is.
    function test_bonds_double_and_come_down_after_a_day() external {
        vm.assertEq(faults.bondOf(MACHINE, TENANT), BOND);
        for (uint256 i = 0; i < 3; ++i) {
            _challenge();
            vm.assertEq(faults.challengeOf(MACHINE).bond, BOND * 2 ** i);
            _answer();
            skip(1 hours);
        }
        vm.assertEq(faults.bondOf(MACHINE, TENANT), 8 * BOND);
        vm.assertEq(faults.bondOf(MACHINE, THIEF), BOND);
        skip(23 hours);
        vm.assertEq(faults.bondOf(MACHINE, TENANT), 8 * BOND);
        skip(1);
        vm.assertEq(faults.bondOf(MACHINE, TENANT), BOND);
        // Params that ask for more than twice the last one.
        _challenge();
        _answer();
        Params memory params = _params();
        params.bond = 100 * BOND;
        pool.setParams(params);
        vm.assertEq(faults.bondOf(MACHINE, TENANT), 100 * BOND);
    }

    function test_a_bond_has_an_end() external {
        Params memory params = _params();
        params.bond = type(uint96).max;
        pool.setParams(params);
        pool.deposit(TENANT, type(uint96).max);
        _challenge();
        _answer();
        vm.assertEq(faults.bondOf(MACHINE, TENANT), type(uint96).max);
    }

    function test_a_challenge_proven() external {
        uint256 id = _proven();
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.kind == FaultKind.Challenged && fault.from == NOW);
        vm.assertEq(fault.reporter, bytes32(uint256(uint160(TENANT))));
        vm.assertEq(pool.balanceOf(TENANT), 100 * BOND);
        _assertDown(NOW);
        _assertSolvent();
        // The lowest tier, whatever it lasts; and no longer than that in the window.
        skip(4 days);
        _recover();
        _assertCost(id, 400, 4e18);
        _assertWindow(7 minutes, 400);
    }

    /// @dev A question that lapsed unseen, kept for half a year: `prove` and `failover` in one transaction would move a tenant
    /// to a rival's standby and file 4 %. It moves nothing; the bond goes back.
    function test_a_question_that_nobody_proved_is_over() external {
        _challenge();
        skip(10 minutes + 1 hours + 1);
        _event();
        emit IFaults.ChallengeEnded(MACHINE, 1);
        vm.assertEq(faults.prove(MACHINE), 0);
        vm.assertEq(pool.balanceOf(TENANT), 100 * BOND);
        vm.assertEq(faults.faultCount(), 0);
        _assertDown(0);
        _expect(abi.encodeWithSelector(IFaults.NoChallenge.selector, MACHINE));
        faults.prove(MACHINE);
    }

    function test_the_last_moment_to_prove() external {
        _challenge();
        skip(10 minutes + 1 hours);
        vm.assertEq(faults.faultOf(faults.prove(MACHINE)).from, NOW);
    }

    /// @dev Nor does it stand in anybody's way: a new question may be asked, and the operator may report.
    function test_a_question_that_is_over_makes_room() external {
        _challenge();
        skip(10 minutes + 1 hours + 1);
        vm.assertEq(_challenge(), 2);
        vm.assertEq(pool.balanceOf(TENANT), 99 * BOND);
        skip(180 days);
        vm.assertEq(_report(), 1);
        vm.assertEq(pool.balanceOf(TENANT), 100 * BOND);
        vm.assertEq(faults.challengeOf(MACHINE).at, 0);
        _assertSolvent();
    }

    function test_a_recovery_ends_the_lowest_tier_early() external {
        _challenge();
        skip(10 minutes + 1);
        vm.prank(operator);
        uint256 id = faults.prove(MACHINE);
        _recover();
        _assertCost(id, 400, 4e18);
        vm.assertEq(faults.faultOf(id).to, _now());
    }

    /// @dev A challenge inside the hold of an outage: the earlier begin and the later end, until it is answered.
    function test_holds_of_outage_and_challenge_together() external {
        _outage(1 minutes);
        skip(1 hours);
        _challenge();
        _assertHeld(NOW, NOW + 1 minutes + 2 days);
        _answer();
        _assertHeld(NOW, NOW + 1 minutes + 2 days);
        skip(2 days - 30 minutes - 1 hours);
        _challenge();
        _assertHeld(NOW, _now() + 10 minutes + 1 hours);
        _answer();
        _assertHeld(NOW, NOW + 1 minutes + 2 days);
    }

    /// @dev "Nobody can stop anyone from claiming": with four leases and base bonds a thief could put one challenge after
    /// another, each 70 minutes of hold. An answer lifts its hold, so each lasts as long as the operator takes.
    function test_challenges_in_a_row_hold_up_no_claims() external {
        for (uint256 i = 2; i < 6; ++i) {
            address thief = address(uint160(0x1000 + i));
            _lease(i << 16, thief, 1, NOW, NOW + 1 days);
            pool.deposit(thief, BOND);
            vm.prank(thief);
            faults.challenge(MACHINE, i << 16);
            _assertHeld(_now(), _now() + 10 minutes + 1 hours);
            skip(30);
            _answer();
            _assertHeld(_now(), _now());
            skip(30);
        }
    }
}

contract FaultsAttestTest is FaultsWorld {
    function _outOf(uint256 from, uint256 to) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, from, to);
    }

    function _range(uint256 from, uint256 to) private {
        _expect(_outOf(from, to));
    }

    function test_a_quorum_opens_an_outage() external {
        skip(2 hours);
        uint256 id = _attest(NOW, 0);
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.kind == FaultKind.Attested && fault.from == NOW && fault.state == FaultState.Running);
        vm.assertEq(fault.reporter, _quorum());
        _assertDown(NOW);
        skip(1 hours);
        _recover();
        _assertCost(id, 800, 8e18);
        _assertWindow(3 hours, 800);
    }

    /// @dev One validator, or a set short of a quorum, is nobody: not to open, not to file, not for another machine, nor
    /// with a word that was given for other times.
    function test_less_than_a_quorum_is_nothing() external {
        _signOutage(NOW - 1 hours, 0);
        bytes memory none = abi.encodeWithSelector(ICommittee.NoQuorum.selector);
        _expect(none);
        faults.attest(MACHINE, 0, uint64(NOW) - 1 hours, uint64(NOW), seats, _proofs());
        _expect(none);
        faults.attest(MACHINE, 0, uint64(NOW) - 2 hours, 0, seats, _proofs());
        _expect(none);
        faults.attest(2, 0, uint64(NOW) - 1 hours, 0, seats, _proofs());
    }

    /// @dev A running attestation kept back: the seats said at noon that it was down since 11:55; it was up again at 12:10
    /// without anyone having sent it. Sent six days later it would be an outage of six days: 5000 instead of nothing.
    function test_an_old_word_opens_nothing() external {
        _signOutage(NOW - 5 minutes, 0);
        skip(6 days);
        _range(NOW - 5 minutes, _now());
        faults.attest(MACHINE, 0, uint64(NOW) - 5 minutes, 0, seats, _proofs());
        _refuse(_outOf(_now() + 1, _now()));
        _attest(_now() + 1, 0);
        _attest(_now() - 1 days, 0);
    }

    function test_the_filing_window_may_be_shorter_than_a_day() external {
        Params memory params = _params();
        params.filingWindow = 1 hours;
        pool.setParams(params);
        _refuse(_outOf(NOW - 1 hours - 1, NOW));
        _attest(NOW - 1 hours - 1, 0);
        _attest(NOW - 1 hours, 0);
    }

    /// @dev The word that opened an outage, once more after its recovery; and on the next outage that the operator reports.
    function test_a_word_is_not_good_after_a_recovery() external {
        _attest(NOW - 1 minutes, 0);
        skip(10 minutes);
        _recover();
        uint64 ended = _now();
        skip(10 minutes);
        _refuse(_outOf(NOW - 1 minutes, _now()));
        _attest(NOW - 1 minutes, 0);
        _refuse(_outOf(ended, _now()));
        _attest(ended, 0);
        _report();
        _refuse(_outOf(NOW - 1 minutes, _now()));
        _attest(NOW - 1 minutes, 0);
    }

    function test_a_quorum_makes_a_challenged_outage_longer_and_dearer() external {
        uint256 id = _proven();
        skip(1 hours);
        _signOutage(NOW - 1 hours, 0);
        _event();
        emit IFaults.OutageAttested(id, MACHINE, uint32(NOW) - 1 hours, _quorum());
        vm.assertEq(faults.attest(MACHINE, 0, uint64(NOW) - 1 hours, 0, seats, _proofs()), id);
        _assertDown(NOW - 1 hours);
        vm.assertEq(faults.faultOf(id).reporter, _quorum());
        bytes memory already = abi.encodeWithSelector(IFaults.AlreadyDown.selector, MACHINE, id);
        _refuse(already);
        _attest(NOW - 1 hours, 0);
        _attest(NOW - 2 hours, 0); // a quorum knows of an earlier time
        _assertDown(NOW - 2 hours);
        _recover();
        _assertCost(id, 800, 8e18);
    }

    function test_a_later_word_makes_it_no_shorter() external {
        uint256 id = _proven();
        _attest(NOW + 5 minutes, 0);
        vm.assertEq(faults.faultOf(id).from, NOW);
        vm.assertEq(uint256(faults.faultOf(id).kind), uint256(FaultKind.Attested));
    }

    /// @dev Reporters get a tenth: if a quorum could make a self-report dearer it always would, and nobody would report.
    function test_a_self_report_keeps_its_price() external {
        uint256 id = _report();
        skip(1 minutes);
        _refuse(abi.encodeWithSelector(IFaults.AlreadyDown.selector, MACHINE, id));
        _attest(NOW - 1 hours, 0);
        // What was before it is another outage.
        uint256 earlier = _attest(NOW - 1 hours, NOW + 1 minutes);
        Fault memory fault = faults.faultOf(earlier);
        vm.assertTrue(fault.from == NOW - 1 hours && fault.to == NOW && fault.state == FaultState.Filed);
        vm.assertEq(faults.runningFault(MACHINE), id);
        _assertPending(2);
        _assertDown(NOW);
    }

    function test_whoever_waits_for_an_answer_was_right() external {
        _challenge();
        skip(5 minutes);
        _attest(NOW - 1, 0);
        vm.assertEq(pool.balanceOf(TENANT), 100 * BOND);
        vm.assertEq(faults.challengeOf(MACHINE).at, 0);
        _expect(abi.encodeWithSelector(IFaults.NoChallenge.selector, MACHINE));
        _answer();
        _assertSolvent();
    }

    function test_an_outage_that_is_over() external {
        uint256 id = _attest(NOW - 3 hours, NOW - 1 hours);
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.from == NOW - 3 hours && fault.to == NOW - 1 hours);
        _assertCost(id, 800, 8e18);
        _assertDown(0);
        _assertHeld(NOW - 3 hours, NOW + 2 days);
        _assertPending(1);
        // Again: nothing is left of it.
        _refuse(_outOf(NOW - 1 hours, NOW - 1 hours));
        _attest(NOW - 3 hours, NOW - 1 hours);
    }

    function test_an_outage_that_overlaps_keeps_its_gap() external {
        _attest(NOW - 3 hours, NOW - 1 hours);
        uint256 id = _attest(NOW - 2 hours, NOW - 30 minutes);
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.from == NOW - 1 hours && fault.to == NOW - 30 minutes);
        _assertCost(id, 0, 0); // 2.5 hours in all: 800, paid
        _assertWindow(2 hours + 30 minutes, 800);
    }

    /// @dev Attack: who was dark, and unattested, comes back, reports himself and recovers at once, as often as he likes: what
    /// was before may still be attested, once, as long as it may be filed. Three days: 4800 instead of 200.
    function test_reporting_afterwards_buries_nothing() external {
        skip(3 days);
        uint64 began = uint64(NOW);
        uint256 first = _outage(1 minutes);
        _outage(1 minutes);
        uint256 last = _outage(1 minutes);
        _refuse(_outOf(began + 3 days + 3 minutes, began + 3 days));
        _attest(began, began + 3 days);
        _signOutage(began, began + 3 days + 5);
        uint256 id = faults.attest(MACHINE, first, began, began + 3 days + 5, seats, _proofs());
        _assertCost(id, 4800, 48e18); // 5000 less 200
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.from == began && fault.to == began + 3 days && fault.previous == 0);
        vm.assertEq(faults.faultOf(first).previous, id);
        // The list stays in the order of time, and its end where it was.
        vm.assertEq(faults.faultOf(last).previous, 2);
        skip(1);
        vm.assertEq(faults.faultOf(_report()).previous, last);
        _expect(_outOf(began + 3 days, began + 3 days));
        faults.attest(MACHINE, first, began, began + 3 days + 5, seats, _proofs());
    }

    /// @dev One word, sent for each of its gaps; the outages that it makes are disjoint, whatever came first.
    function test_one_word_for_all_its_gaps() external {
        skip(1 hours);
        uint256 first = _outage(10 minutes);
        skip(1 hours);
        uint256 second = _outage(10 minutes);
        skip(1 hours);
        (uint64 from, uint64 to) = (uint64(NOW), _now());
        uint256 late = _attest(from, to);
        uint256 middle = faults.attest(MACHINE, second, from, to, seats, _proofs());
        uint256 early = faults.attest(MACHINE, first, from, to, seats, _proofs());
        _assertTimes(early, NOW, NOW + 1 hours, 0);
        _assertTimes(middle, NOW + 70 minutes, NOW + 130 minutes, first);
        _assertTimes(late, NOW + 140 minutes, NOW + 200 minutes, second);
        vm.assertTrue(faults.faultOf(second).previous == middle && faults.faultOf(first).previous == early);
        _assertWindow(200 minutes, 800);
    }

    function _assertTimes(uint256 id, uint256 from, uint256 to, uint256 previous) private view {
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.from == from && fault.to == to && fault.previous == previous);
    }

    /// @dev Only an outage of that machine's: a gap before one of another's would be all of time.
    function test_what_is_no_outage_has_no_gap_before_it() external {
        committee.setRound(9, _round());
        uint256 hardware = faults.reportFalseHardware(9);
        uint256 id = _outage(1 minutes);
        _signOutage(NOW - 1 hours, NOW);
        _expect(abi.encodeWithSelector(IFaults.UnknownFault.selector, hardware));
        faults.attest(MACHINE, hardware, uint64(NOW) - 1 hours, uint64(NOW), seats, _proofs());
        _expect(abi.encodeWithSelector(IFaults.UnknownFault.selector, id));
        faults.attest(2, id, uint64(NOW) - 1 hours, uint64(NOW), seats, _proofs());
        _expect(abi.encodeWithSelector(IFaults.UnknownFault.selector, 99));
        faults.attest(MACHINE, 99, uint64(NOW) - 1 hours, uint64(NOW), seats, _proofs());
    }

    /// @dev That it is still down says nothing of a gap: what is named is passed over.
    function test_a_running_outage_has_no_gap_after_it() external {
        skip(1 hours);
        uint256 first = _outage(1 minutes);
        skip(1 hours);
        _signOutage(_now() - 1 minutes, 0);
        uint256 id = faults.attest(MACHINE, first, _now() - 1 minutes, 0, seats, _proofs());
        vm.assertEq(faults.runningFault(MACHINE), id);
        vm.assertEq(faults.faultOf(id).previous, first);
    }

    function test_times_that_cannot_be() external {
        _refuse(_outOf(NOW, NOW));
        _attest(NOW, NOW);
        _refuse(_outOf(NOW - 1, NOW + 1));
        _attest(NOW - 1, NOW + 1);
        _refuse(_outOf(NOW - 8 days, NOW - 4 days - 1));
        _attest(NOW - 8 days, NOW - 4 days - 1);
        _attest(NOW - 10 days, NOW - 4 days); // the last moment
        _assertCost(1, 5000, 50e18); // six days, some of them before the window: 10000, at most 5000
    }

    // --------------------------------------------------------------------------------------------------- false hardware

    function _falseHardware() private returns (uint256) {
        committee.setRound(9, _round());
        return faults.reportFalseHardware(9);
    }

    function _round() private pure returns (Round memory round) {
        round.machine = MACHINE;
        round.state = RoundState.Failed;
        round.requestedAt = uint32(NOW - 1 days);
        round.revealUntil = uint32(NOW - 12 hours);
        round.spec = keccak256("another card");
    }

    function test_false_hardware() external {
        Round memory round = _round();
        round.revealUntil = uint32(NOW + 12 hours);
        committee.setRound(9, round);
        skip(1 days);
        uint256 id = faults.reportFalseHardware(9);
        Fault memory fault = faults.faultOf(id);
        vm.assertTrue(fault.kind == FaultKind.FalseHardware && fault.from == NOW - 8 days && fault.to == NOW - 1 days);
        vm.assertEq(fault.round, 9);
        _assertCost(id, 5000, 50e18);
        _assertWindow(0, 5000);
        _assertPending(1);
        _assertDown(0);
        _assertHeld(0, 0);
        vm.assertEq(faults.runningFault(MACHINE), 0);
        _expect(abi.encodeWithSelector(IFaults.ReportedAlready.selector, 9));
        faults.reportFalseHardware(9);
        // Who leased since it was asked for shares in nothing. A tenant of before is billed: the machine was there.
        _expect(abi.encodeWithSelector(IFaults.NothingToApply.selector, id));
        _apply(id, LEASE);
        _lease(LEASE, TENANT, 4, NOW - 2 days, NOW + 60 days);
        _apply(id, LEASE);
        vm.assertEq(pool.paused(LEASE), 0);
        skip(2 days + 1);
        faults.execute(id);
        _expect(abi.encodeWithSelector(IFaults.NothingToApply.selector, id));
        _apply(id, LEASE);
        faults.compensate(id, _one(LEASE));
        vm.assertEq(pool.balanceOf(TENANT), 100 * BOND + uint256(25e18) / 14); // half of the cells for a day of seven
    }

    function test_what_is_no_false_hardware() external {
        Round memory round = _round();
        bytes memory none = abi.encodeWithSelector(ICommittee.NoFalseHardware.selector, 9);
        round.state = RoundState.Passed;
        committee.setRound(9, round);
        _expect(none);
        faults.reportFalseHardware(9);
        round.state = RoundState.Failed;
        round.spec = 0; // could not be measured
        committee.setRound(9, round);
        _expect(none);
        faults.reportFalseHardware(9);
    }

    function test_false_hardware_lapses() external {
        skip(3 days + 12 hours + 1);
        committee.setRound(9, _round());
        _range(NOW - 12 hours, _now());
        faults.reportFalseHardware(9);
    }

    function test_false_hardware_of_a_retired_machine() external {
        _retire();
        skip(4 days + 1);
        Round memory round = _round();
        round.revealUntil = uint32(_now());
        committee.setRound(9, round);
        _range(NOW, _now());
        faults.reportFalseHardware(9);
        vm.warp(NOW + 4 days);
        faults.reportFalseHardware(9);
        _assertWindow(0, 5000);
    }
}
