// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {ILeases} from "../../../../contracts/interfaces/ILeases.sol";
import {IMachines} from "../../../../contracts/interfaces/IMachines.sol";
import {IPoolErrors} from "../../../../contracts/interfaces/IPoolErrors.sol";
import {Params, Terms} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice A provider who wants his stake out before it is slashed, or most of the slash back.
contract StakeRaces is RaceWorld {
    /// @dev Unstake against slash. The provider is dark for three days, retires, and asks for his 100e18 in the first second
    /// in which they are free, one second after the latest that a fault can be filed, appealed and ruled on: with the
    /// tightest `unstakeDelay` that the rules allow, an appeal and an arbiter who says nothing until the end. To be out in
    /// time would earn 50e18, the whole slash.
    function test_unstake_against_slash() external {
        Params memory tight = _params();
        tight.unstakeDelay =
            uint32(tight.filingWindow) + tight.challengeWindow + tight.appealWindow + tight.rulingWindow;
        vm.prank(OWNER);
        pool.proposeParams(tight);
        skip(2 days);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        uint256 from = _now();
        skip(3 days);
        vm.prank(PROVIDER);
        pool.retire(machine);
        uint256 retired = _now();
        uint256 before = _providers();

        vm.warp(retired + tight.filingWindow); // the last second
        uint256 fault = _attest(from, retired);
        _assertFault(fault, FaultState.Filed, 50e18);
        _refused(PROVIDER, abi.encodeCall(IMachines.unstake, (machine)), _locked(retired + tight.unstakeDelay));
        vm.warp(faults.faultOf(fault).deadline);
        vm.prank(PROVIDER);
        faults.appeal(fault);
        vm.warp(uint256(faults.faultOf(fault).deadline) + 1);
        vm.assertTrue(_now() <= retired + tight.unstakeDelay); // the ruling is over before the stake is free
        vm.warp(retired + tight.unstakeDelay);
        _refused(PROVIDER, abi.encodeCall(IMachines.unstake, (machine)), _slashPending());

        faults.execute(fault);
        vm.prank(THIEF);
        pool.unstake(machine); // anyone settles it
        vm.assertEq(before - _providers(), 50e18);
        _assertSolvent();
    }

    /// @dev The same race while an outage still runs: retiring and leaving it unfinished would carry all 100e18 away. It
    /// counts until the machine retired, and anyone ends it.
    function test_retiring_does_not_outrun_a_running_outage() external {
        uint256 before = _providers();
        uint256 fault = _report();
        skip(50 hours);
        vm.prank(PROVIDER);
        pool.retire(machine);
        uint256 retired = _now();
        skip(_params().unstakeDelay);
        _refused(PROVIDER, abi.encodeCall(IMachines.unstake, (machine)), _slashPending());
        vm.prank(THIEF);
        faults.roll(machine);
        vm.assertEq(faults.faultOf(fault).to, retired);
        _assertFault(fault, FaultState.Filed, 30e18); // 50 hours: 3000 of 10000, not what the wait would cost
        _execute(fault);
        pool.unstake(machine);
        vm.assertEq(before - _providers(), 30e18);
    }

    /// @dev Retire against a late fault. A fault is filed for `filingWindow` after it happened, and no longer: a provider who
    /// hides three dark days by retiring at once would save 50e18. In the last second it is filed, in the next it is not,
    /// so that a stake does leave in the end.
    function test_retire_against_a_late_fault() external {
        uint256 from = _now();
        skip(3 days);
        vm.prank(PROVIDER);
        pool.retire(machine);
        uint256 retired = _now();
        uint256 snapshot = vm.snapshotState();

        vm.warp(retired + _params().filingWindow);
        uint256 fault = _attest(from, retired);
        _assertFault(fault, FaultState.Filed, 50e18);
        _execute(fault);
        vm.warp(retired + _params().unstakeDelay);
        uint256 before = pool.balanceOf(PROVIDER);
        pool.unstake(machine);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, 50e18);

        vm.revertToState(snapshot);
        vm.warp(retired + _params().filingWindow + 1);
        bytes[] memory words = _words(from, retired);
        _expect(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, from, retired));
        faults.attest(machine, 0, uint64(from), uint64(retired), seats, words);
    }

    /// @dev A challenge stands and the tenant's lease ends: the machine retires under it. To have retired before `prove`
    /// would earn the 4e18 of the lowest tier. The outage counts from the challenge to the retirement.
    function test_retire_against_a_challenge() external {
        uint256 lease = _leaseOf(tenant, 8, 1 hours);
        skip(1 hours - 1 minutes);
        uint256 before = _providers();
        uint256 tenants = _wealth(tenant);
        _challengeAs(tenant, lease);
        skip(1 minutes);
        _closeAs(tenant, lease);
        vm.prank(PROVIDER);
        pool.retire(machine);
        skip(_params().unstakeDelay);
        // The stake could leave now, had nobody proven the challenge: `unstakeDelay` has room for it.
        vm.warp(_now() - _params().unstakeDelay + _params().challengeWindow);
        uint256 fault = faults.prove(machine);
        _assertFault(fault, FaultState.Filed, 4e18);
        _apply(fault, lease);
        _execute(fault);
        faults.compensate(fault, _one(lease));
        uint256 rent = GPU_SECOND * 1 hours;
        vm.assertEq(_providers() + 4e18, before + rent - rent * 500 / 10_000);
        vm.assertEq(_wealth(tenant), tenants + 2e18 + 0.4e18); // half, and a tenth for having reported
        _assertSolvent();
    }

    // ------------------------------------------------------------------------------------------- leasing to oneself

    /// @param dear at which price the provider lists before the slash
    /// @return lost by the provider, under both names @return won by the tenant of four of the eight cells
    function _slashedWithSelfLease(uint80 dear, bool selfLease) private returns (uint256 lost, uint256 won) {
        uint256 mine = _providers() + _feesPaid();
        uint256 tenants = _wealth(tenant);
        uint256 lease = _leaseOf(tenant, 4, 1 hours);
        uint256 own;
        if (dear != 0) {
            Terms memory terms = _terms();
            terms.price = dear;
            vm.prank(PROVIDER);
            pool.setTerms(machine, terms);
        }
        if (selfLease) own = _leaseOf(SYBIL, 4, 1 hours);
        uint256 from = _now();
        skip(1 hours); // dark all the time
        uint256 fault = _attest(from, _now());
        _apply(fault, lease);
        if (selfLease) _apply(fault, own);
        _execute(fault);
        if (selfLease) {
            faults.compensate(fault, _one(own)); // first
            _closeAs(SYBIL, own);
        }
        faults.compensate(fault, _one(lease));
        _closeAs(tenant, lease);
        _assertSolvent();
        return (mine - _providers() - _feesPaid(), _wealth(tenant) - tenants);
    }

    /// @dev Leasing to oneself before a slash. An hour of darkness costs 800 of 10000, 8e18, of which the tenants on the
    /// machine have half, each by his cell-seconds of all. The provider takes the four cells that the tenant has not, to get 2e18 of it
    /// back. The tenant had 4 of 8 cells and gets no less than 4/8 of the tenants' half, 2e18, and pays nothing for the
    /// time; the provider loses 6e18, and would lose 4e18 with the whole machine in his own hands: never less than half.
    function test_leasing_to_oneself_before_a_slash() external {
        uint256 snapshot = vm.snapshotState();
        (uint256 lost, uint256 won) = _slashedWithSelfLease(0, false);
        vm.assertEq(lost, 8e18);
        vm.assertEq(won, 2e18); // alone on it: what nobody lost is nobody's
        vm.revertToState(snapshot);
        (lost, won) = _slashedWithSelfLease(0, true);
        vm.assertEq(lost, 6e18);
        vm.assertEq(won, 2e18);
    }

    /// @dev Raising the listed price before it. If price weighed, a thousand times the price on his own four cells would give
    /// the provider 3.996e18 of the tenants' 4e18. It does not: to the unit the same as without.
    function test_raising_the_listed_price_before_a_slash() external {
        uint256 snapshot = vm.snapshotState();
        (uint256 lost, uint256 won) = _slashedWithSelfLease(0, true);
        vm.revertToState(snapshot);
        (uint256 lostDear, uint256 wonDear) = _slashedWithSelfLease(1000 * PRICE, true);
        vm.assertEq(lostDear, lost);
        vm.assertEq(wonDear, won);
    }

    /// @dev Leasing to oneself after the outage, when it is known: such a lease shares no second with it and weighs nothing.
    function test_leasing_to_oneself_after_an_outage() external {
        uint256 lease = _leaseOf(tenant, 4, 2 hours);
        uint256 from = _now();
        skip(1 hours);
        uint256 to = _now();
        uint256 own = _leaseOf(SYBIL, 4, 1 hours);
        skip(1);
        uint256 fault = _attest(from, to);
        _expect(abi.encodeWithSelector(IFaults.NothingToApply.selector, fault));
        faults.applyOutage(fault, _one(own));
        _apply(fault, lease);
        _execute(fault);
        uint256 before = _wealth(tenant);
        faults.compensate(fault, _two(own, lease));
        vm.assertEq(_wealth(tenant) - before, 2e18); // of four cells of eight
    }

    /// @dev Terminating a lease to oneself, to carry stake away. The penalty for a lease of a week at a price of 100e18 an
    /// hour is two hours, 200e18: could it come out of the stake, a provider about to be slashed would pay himself all of it.
    /// It comes out of his ledger, or the call fails; the stake stays where it is.
    function test_terminating_a_lease_to_oneself() external {
        Terms memory terms = _terms();
        terms.price = 100e18;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        vm.prank(SYBIL);
        pool.deposit(SYBIL, 20_000e18);
        uint256 own = _leaseOf(SYBIL, 8, 7 days);
        vm.prank(PROVIDER);
        pool.withdraw(PROVIDER, LEDGER); // so that only the stake is left to pay with
        bytes memory error_ = abi.encodeWithSelector(IPoolErrors.InsufficientBalance.selector, PROVIDER, 0, 200e18);
        _refused(PROVIDER, abi.encodeCall(ILeases.terminate, (own)), error_);
        vm.assertEq(_stake(), STAKE);

        _deposit(PROVIDER);
        uint256 before = _providers();
        vm.prank(PROVIDER);
        pool.terminate(own);
        vm.assertEq(_providers(), before); // from one pocket to the other
        vm.assertEq(_stake(), STAKE);
        skip(1 hours);
        pool.close(own);
        vm.assertEq(_providers() + _feesPaid(), before + pool.leaseOf(own).deposit); // and the fee is gone
        vm.assertEq(_feesPaid(), 5e18);
        vm.assertEq(pool.accountOf(PROVIDER).terminated, 1);
        _assertSolvent();
    }

    /// @dev Ruling quickly. The provider appeals in the second in which the fault is filed, the owner, who is arbiter, lets it
    /// stand in the next and executes: before any tenant has registered, so that their half, 4e18, is the treasury's,
    /// which is the owner's. What is upheld waits as long as if nobody had appealed.
    function test_ruling_before_the_tenants_have_spoken() external {
        uint256 lease = _leaseOf(tenant, 8, 1 days);
        skip(1 hours);
        uint256 fault = _attest(_now() - 1 hours, _now());
        uint256 open = _now() + _params().appealWindow;
        vm.prank(PROVIDER);
        faults.appeal(fault);
        vm.prank(OWNER);
        faults.rule(fault, true);
        _expect(abi.encodeWithSelector(IFaults.AppealOpen.selector, fault, open));
        faults.execute(fault);
        skip(2 days);
        _apply(fault, lease); // in the last second
        skip(1);
        uint256 before = _wealth(tenant);
        faults.execute(fault);
        faults.compensate(fault, _one(lease));
        vm.assertEq(_wealth(tenant) - before, 4e18);
        vm.assertEq(_stake(), 92e18);
    }

    // ------------------------------------------------------------------------------------------------- cheaper faults

    /// @dev Self-report after a challenge. Said by oneself an outage costs 200 of 10000, proven by others 400: once he sees a
    /// challenge, the operator would save 2e18 by reporting before it is proven. Not while it stands, however late it is
    /// proven, nor once a quorum has spoken.
    function test_self_report_after_a_challenge() external {
        uint256 lease = _leaseOf(tenant, 8, 1 days);
        _challengeAs(tenant, lease);
        uint256 until = _now() + _params().challengeWindow;
        vm.prank(operator);
        _expect(abi.encodeWithSelector(IFaults.ChallengeStands.selector, machine, until));
        faults.reportOutage(machine);
        skip(1 hours); // lapsed, and nobody has proven it yet
        vm.prank(operator);
        _expect(abi.encodeWithSelector(IFaults.ChallengeStands.selector, machine, until));
        faults.reportOutage(machine);
        uint256 fault = faults.prove(machine);
        vm.prank(operator);
        _expect(abi.encodeWithSelector(IFaults.AlreadyDown.selector, machine, fault));
        faults.reportOutage(machine);
        _recover();
        _assertFault(fault, FaultState.Filed, 4e18);
        skip(2);
        fault = _attest(_now() - 1, 0);
        vm.prank(operator);
        _expect(abi.encodeWithSelector(IFaults.AlreadyDown.selector, machine, fault));
        faults.reportOutage(machine);
    }

    /// @dev Recovering every two days to stay in a low tier. Down for 160 hours of a week, in four parts of 40 with an hour
    /// between: each by itself costs 400, so 1600 and 16e18 in all, where one outage of 160 hours costs 5000, 50e18. What
    /// counts is the week's downtime, less what the week has cost: 50e18 to the unit.
    function test_recovering_every_two_days() external {
        uint256 before = _providers();
        uint256[4] memory ids;
        for (uint256 i = 0; i < 4; ++i) {
            ids[i] = _outage(40 hours);
            skip(1 hours);
        }
        _assertFault(ids[0], FaultState.Filed, 4e18); // 40 hours: 400
        _assertFault(ids[1], FaultState.Filed, 26e18); // 80 hours: 3000, of which 400 are charged
        _assertFault(ids[2], FaultState.Executed, 0); // 120 hours: 3000 still
        _assertFault(ids[3], FaultState.Filed, 20e18); // 160 hours: 5000
        _execute(ids[3]);
        faults.execute(ids[0]);
        faults.execute(ids[1]);
        vm.assertEq(before - _providers(), 50e18);
        vm.assertEq(_wealth(BURNT), 50e18);
        _assertSolvent();
    }

    /// @dev The same with executions in between, and stake added before the dearer part: what was added later loses no more
    /// than its part of the week either, here 46 in 96 of it.
    function test_parts_of_a_fault_never_cost_more_than_the_whole() external {
        uint256 first = _outage(1 hours); // 400
        _execute(first); // two days later
        vm.assertEq(_stake(), 96e18);
        vm.prank(PROVIDER);
        pool.addStake(machine, 96e18);
        uint256 second = _outage(121 hours); // 5000 less 400
        _assertFault(second, FaultState.Filed, 92e18); // 46e18 of the old, as much of the new
        _execute(second);
        vm.assertEq(_stake(), 100e18);
        vm.assertEq(_wealth(BURNT), 96e18); // of 196e18 that were ever staked: under half
    }

    /// @dev Challenging oneself to block others. One challenge stands at a time, so a provider whose machine is dark lets his
    /// own stand first, to keep the tenants from getting 10 % of the 4e18 and from pausing their bill. But anyone proves it:
    /// he gets his bond and 0.4e18 of his own 4e18 back, the tenants theirs, and the bill has stopped earlier, not later.
    function test_challenging_oneself_to_block_others() external {
        uint256 lease = _leaseOf(tenant, 4, 1 days);
        uint256 own = _leaseOf(SYBIL, 4, 1 days);
        skip(1 hours);
        uint256 mine = _providers() + pool.leaseOf(own).deposit;
        uint256 tenants = _wealth(tenant) + pool.leaseOf(lease).deposit;
        uint256 from = _now();
        _challengeAs(SYBIL, own);
        skip(5 minutes);
        vm.prank(tenant);
        _expect(abi.encodeWithSelector(IFaults.ChallengeStands.selector, machine, from + _params().challengeWindow));
        faults.challenge(machine, lease);
        skip(5 minutes + 1);
        vm.prank(tenant);
        uint256 fault = faults.prove(machine);
        _closeAs(tenant, lease);
        _closeAs(SYBIL, own);
        _recover();
        _apply(fault, lease);
        _apply(fault, own);
        _execute(fault);
        faults.compensate(fault, _two(lease, own));
        // Half of 4e18 for eight cells, half of which were the tenant's; only the hour before was billed.
        vm.assertEq(_wealth(tenant), tenants + 1e18 - 4 * CELL_SECOND * 1 hours);
        // He had the rent of that hour, and lost 4e18 less the reporter's tenth and what his own cells weigh.
        uint256 rent = 4 * CELL_SECOND * 1 hours;
        vm.assertEq(mine + rent - _providers() - _feesPaid(), 4e18 - 0.4e18 - 1e18);
        _assertSolvent();
    }

    /// @dev Challenging oneself and answering, over and over, so that nobody else can. Each round keeps the tenants out for
    /// at most ten minutes and costs 4.5e18, then 9, 18, 36 ... under one name, and an answer of his own is no proof that the
    /// machine works: a quorum needs no challenge and ends this one with its own word. To keep it up for an hour under six
    /// fresh names would cost 27e18, to hide what costs 4e18.
    function test_answering_oneself_to_block_others() external {
        uint256 own = _leaseOf(SYBIL, 8, 1 days);
        uint256 before = _providers();
        uint256 bond = BOND;
        uint256 burnt;
        for (uint256 i = 0; i < 4; ++i) {
            vm.assertEq(faults.bondOf(machine, SYBIL), bond);
            _challengeAs(SYBIL, own);
            skip(10 minutes);
            _answer();
            burnt += bond - bond / 10;
            bond *= 2;
        }
        vm.assertEq(before - _providers(), burnt);
        vm.assertEq(burnt, 67.5e18);
        _challengeAs(SYBIL, own);
        uint256 from = _now() - 1 hours;
        uint256 fault = _attest(from, 0); // whatever stands
        vm.assertEq(faults.runningFault(machine), fault);
        vm.assertEq(faults.challengeOf(machine).challenger, address(0));
        vm.assertEq(before - _providers(), burnt); // whoever asked was right: his bond is back
        _assertSolvent();
    }

    // ------------------------------------------------------------------------------------------------- what stays

    /// @dev Dark for three days under rules that take half of the stake. Milder ones come into force meanwhile, and the provider
    /// accepts them, dark as he is: 1e18 instead of 50e18, could he choose when he has failed. A fault is judged by what he
    /// had accepted when it began.
    function test_milder_rules_after_the_failure() external {
        uint256 lease = _leaseOf(tenant, 8, 7 days);
        Params memory mild = _params();
        mild.maxSlashBps = 100;
        vm.prank(OWNER);
        pool.proposeParams(mild);
        skip(1 hours);
        uint256 fault = _attest(_now(), 0);
        skip(3 days);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        _recover();
        _apply(fault, lease);
        vm.assertEq(pool.leaseOf(lease).params, 1); // the lease has the rules it opened with
        _assertFault(fault, FaultState.Filed, 50e18);
    }

    /// @dev A wrong fault fills the week. A right one that is filed meanwhile costs nothing, and nothing still when the arbiter
    /// has taken the wrong one back: 4e18 that nobody has.
    function test_in_the_shade_of_a_wrong_fault() external {
        skip(6 days);
        uint256 wrong = _attest(_now() - 6 days, _now() - 1);
        _assertFault(wrong, FaultState.Filed, 50e18);
        uint256 right = _outage(100 hours / 3); // 400 of 10000 by itself
        vm.prank(PROVIDER);
        faults.appeal(wrong);
        vm.prank(OWNER);
        faults.rule(wrong, false);
        (uint256 downtime, uint256 charged) = faults.windowOf(machine);
        vm.assertEq(downtime, uint256(100 hours) / 3);
        vm.assertEq(charged, 0);
        _assertFault(right, FaultState.Executed, 0);
    }
}
