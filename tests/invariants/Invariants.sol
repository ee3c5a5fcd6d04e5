// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {RoundState} from "../../contracts/interfaces/ICommittee.sol";
import {Fault, FaultState} from "../../contracts/interfaces/IFaults.sol";
import {IReputation} from "../../contracts/interfaces/IReputation.sol";
import {
    Consent,
    LeaseRequest,
    LeaseState,
    LeaseView,
    MachineView,
    Params,
    Terms
} from "../../contracts/interfaces/PoolTypes.sol";
import {vm} from "./Cheats.sol";
import {Ghost} from "./Ghost.sol";
import {Leaving} from "./Leaving.sol";

/// @notice The invariants of a pool by their numbers (docs/contracts.md, "Invariants"). `Handler` acts, its ghost reads the
/// events, and here the two are held against the pool. Each fails when its code is broken: `make mutations` shows it.
abstract contract ControllerInvariants is Leaving {
    function _holds(uint256 number) private view {
        string memory what = handler.broken(number);
        require(bytes(what).length == 0, what);
    }

    /// @notice The pool holds what it owes, and exactly that but for what was sent to it without being asked; and each
    /// companion's part of the ledger is the seats, fees, bonds and shares that it keeps.
    function invariant_01_solvency() external view {
        _holds(1);
        uint256 owed = handler.totalLedger() + handler.totalEscrow() + handler.totalStake() + handler.totalFeesDue();
        require(token.balanceOf(address(pool)) == owed + handler.donated(), "the pool does not hold what it owes");
        address[] memory all = _everybody();
        uint256 ledgers = _ledgerOf(address(faults)) + _ledgerOf(address(committee)) + _ledgerOf(BURNT);
        uint256 dues;
        for (uint256 i = 0; i < all.length; i++) {
            ledgers += _ledgerOf(all[i]);
            uint256 due = pool.accountOf(all[i]).feesDue;
            require(due == handler.feesDue(all[i]), "fees due are not what the events say");
            dues += due;
        }
        require(ledgers == handler.totalLedger(), "the ledgers' sum is not what the events say");
        require(dues == handler.totalFeesDue(), "the fees' sum is not what the events say");
        uint256 stakes;
        uint256 bonds;
        for (uint32 m = 1; m <= handler.machines(); m++) {
            uint256 stake = pool.machineOf(m).stake;
            require(stake == handler.machine(m).stake, "a stake is not what the events say");
            stakes += stake;
            bonds += faults.challengeOf(m).bond;
        }
        require(stakes == handler.totalStake(), "the stakes' sum is not what the events say");
        for (uint256 id = 1; id <= handler.faultCount(); id++) {
            Fault memory fault = faults.faultOf(id);
            require(fault.pot == handler.fault(id).pot, "a tenants' part is not what the events say");
            bonds += fault.bond;
            if (fault.state == FaultState.Executed) bonds += fault.pot; // until then it is part of the stake
        }
        require(pool.balanceOf(address(faults)) == bonds, "Faults does not hold the bonds and shares that it keeps");
        uint256 held;
        for (uint32 seat = 1; seat <= committee.seatCount(); seat++) {
            held += committee.seatOf(seat).stake;
        }
        for (uint256 id = 1; id <= committee.roundCount(); id++) {
            if (committee.roundOf(id).state <= RoundState.Drawn) held += committee.roundOf(id).fee;
        }
        for (uint256 i = 0; i < handler.quorumCount(); i++) {
            bytes32 quorum = handler.quorums(i);
            require(committee.dueOf(quorum) == handler.dueOf(quorum), "a quorum's due is not what the events say");
            held += handler.dueOf(quorum);
        }
        require(pool.balanceOf(address(committee)) == held, "Committee does not hold the seats and fees that it keeps");
    }

    function _ledgerOf(address who) private view returns (uint256 balance) {
        balance = pool.balanceOf(who);
        require(balance == handler.ledger(who), "a ledger balance is not what the events say");
    }

    /// @notice Of each lease: paid + fee + refunded + what remains is what was deposited, to the unit.
    function invariant_02_every_unit_of_a_deposit_is_somewhere() external view {
        _holds(2);
        uint256 escrows;
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            uint256 remaining = l.endings > 0 ? 0 : l.deposit - l.settled;
            require(uint256(l.paid) + l.fee + l.refunded + remaining == l.deposit, "a lease lost or made a token unit");
            if (_current(id)) {
                LeaseView memory seen = pool.leaseOf(id);
                require(seen.deposit == l.deposit, "a deposit is not what the events say");
                require(seen.state == l.state, "a state is not what the events say");
            }
            escrows += remaining;
        }
        require(escrows == handler.totalEscrow(), "the escrows' sum is not what the events say");
    }

    /// @notice Nobody is paid for more than the time that a lease ran.
    function invariant_03_paid_at_most_the_billable_time() external view {
        _holds(3);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.state != LeaseState.Active && l.state != LeaseState.Ended) continue;
            uint256 until = vm.getBlockTimestamp() < l.end ? vm.getBlockTimestamp() : l.end;
            require(uint256(l.paid) + l.fee <= handler.gross(id, until), "more was paid than the time that a lease ran");
        }
    }

    /// @notice What is settled never decreases and never passes the deposit.
    function invariant_04_settled_only_grows() external view {
        _holds(4);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            require(l.settled <= l.deposit, "more is settled than was deposited");
            if (_current(id)) require(pool.leaseOf(id).settled == l.settled, "settled is not what the events say");
        }
    }

    /// @notice Live leases on a machine never share a cell, and a machine is busy with exactly them and what is withheld.
    function invariant_05_placements_are_disjoint() external view {
        _holds(5);
        for (uint32 m = 1; m <= handler.machines(); m++) {
            Ghost.Machine memory known = handler.machine(m);
            MachineView memory seen = pool.machineOf(m);
            uint64 taken;
            for (uint256 i = 0; i < handler.leaseCount(); i++) {
                (, Ghost.Lease memory l) = _lease(i);
                if (l.machine != m || l.endings > 0) continue;
                uint64 mask = handler.maskOf(l.placement);
                require(mask != 0 && taken & mask == 0, "two live leases share a cell");
                taken |= mask;
            }
            uint64 all = uint64(type(uint64).max >> (64 - 8 * uint256(known.gpus)));
            require(taken & ~all == 0, "a lease sits on a GPU that the machine does not have");
            require(seen.leased == taken, "the leased cells are not those of the live leases");
            require(seen.withheld == known.withheld, "the withheld cells are not what the events say");
            require(seen.busy == taken | known.withheld, "busy is not leased and withheld together");
        }
    }

    /// @notice When all have left, nothing remains: every lease ends and pays out to zero, every fault and round is settled,
    /// every stake, seat and balance withdrawn, even while the pool is paused.
    function invariant_06_every_ended_lease_pays_out_to_zero() external {
        if (!_due(8)) return;
        _leaveAll();
        require(pool.balanceOf(address(faults)) == 0, "Faults keeps something that is nobody's");
        require(pool.balanceOf(address(committee)) == 0, "Committee keeps something that is nobody's");
        uint256 nobodys = handler.donated() + pool.balanceOf(BURNT);
        require(token.balanceOf(address(pool)) == nobodys, "something stayed behind in an empty pool");
    }

    /// @notice Whatever the others did, a tenant closes, a provider claims, anyone withdraws and, once its time is up,
    /// unstakes. What can be claimed can be claimed now, what can be withdrawn can be withdrawn now.
    function invariant_07_exits_stay_open() external {
        _holds(7);
        if (!_due(8)) return;
        _withdrawAll();
        _leaveAll();
    }

    /// @notice Stake leaves a machine only when it has retired, after its delay and with no fault pending, to its provider;
    /// or by a fault, after the windows for an appeal and a ruling.
    function invariant_08_stake_in_service_stays() external view {
        _holds(8);
        for (uint32 m = 1; m <= handler.machines(); m++) {
            uint256 pending = handler.machine(m).unsettled;
            require(pool.machineOf(m).pendingSlashes == pending, "the faults that wait are not what the events say");
        }
    }

    /// @notice A slash never exceeds the stake nor the weekly limit, and its shares sum to it.
    function invariant_09_a_slash_has_its_limits() external view {
        _holds(9);
        for (uint32 m = 1; m <= handler.machines(); m++) {
            Ghost.Machine memory known = handler.machine(m);
            require(known.reserved <= known.stake, "more of a stake is to be slashed than there is");
        }
    }

    /// @notice A proof works once, for its own account, pool, chain, lease and terms, and before its deadline.
    function invariant_10_no_proof_works_twice() external view {
        _holds(10);
    }

    /// @notice A group acts only with as many distinct signers as it asks for, or by a delegate that these have named,
    /// within its cap.
    function invariant_11_a_group_acts_with_m_signers() external view {
        _holds(11);
    }

    /// @notice A gang opens whole or not at all.
    function invariant_12_a_gang_opens_whole() external view {
        _holds(12);
    }

    /// @notice Paused time is never billed, outages never overlap, and a machine is down as long as an outage of it runs.
    function invariant_13_paused_time_is_not_billed() external view {
        _holds(13);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.state == LeaseState.Active) {
                require(pool.leaseOf(id).paused == l.paused, "a pause is not what the outages say");
            }
        }
        for (uint32 m = 1; m <= handler.machines(); m++) {
            uint256 running = faults.runningFault(m);
            uint256 since = running == 0 ? 0 : faults.faultOf(running).from;
            require(pool.machineOf(m).downSince == since, "a machine is down without an outage, or up with one");
            require(handler.machine(m).downSince == since, "a machine's outage is not what the events say");
        }
    }

    /// @notice The fee never exceeds what a lease opened with.
    function invariant_14_the_fee_is_the_version_s() external view {
        _holds(14);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (, Ghost.Lease memory l) = _lease(i);
            uint256 most = uint256(l.settled) * pool.params(l.params).feeBps / 10_000;
            require(l.fee <= most, "a fee above that of the lease's version");
        }
    }

    /// @notice Spot leases end no earlier than their notice is over, and no lease is ended early by another than its tenant.
    function invariant_15_spot_leases_end_after_notice() external view {
        _holds(15);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.state != LeaseState.Active || !_current(id)) continue;
            LeaseView memory seen = pool.leaseOf(id);
            require(seen.end == l.end, "an end moved without a word");
            require(seen.noticed == l.noticed && seen.spot == l.spot, "a notice is not what the events say");
        }
    }

    /// @notice Each lease gives its cells back once: those that are leased are those taken and not given back.
    function invariant_16_cells_are_freed_once() external view {
        _holds(16);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            require(l.endings <= 1, "a lease ended twice");
            uint64 mask = handler.maskOf(l.placement);
            if (l.endings == 0) {
                require(pool.machineOf(l.machine).leased & mask == mask, "a live lease lost its cells");
                require(_current(id), "a live lease lost its slot");
            }
        }
        for (uint32 m = 1; m <= handler.machines(); m++) {
            Ghost.Machine memory known = handler.machine(m);
            uint256 out = known.cellsTaken - known.cellsFreed;
            require(_ones(pool.machineOf(m).leased) == out, "other cells are leased than were taken and not freed");
        }
    }

    /// @notice Only its tenant rates a lease, once, when it has ended and was paid.
    function invariant_17_only_the_tenant_rates_once() external view {
        _holds(17);
        IReputation reputation = handler.reputation();
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            uint256 id = handler.leaseIds(i);
            require(reputation.isRated(id) == handler.rated(id), "a rating is not what the events say");
        }
    }

    /// @notice A committee's outcome needs a majority of reveals; and no seat judges, in a committee or a quorum, that has cost
    /// less than the rules ask which its provider accepted.
    function invariant_18_an_outcome_needs_a_majority() external view {
        _holds(18);
        for (uint256 id = 1; id <= handler.roundCount(); id++) {
            RoundState state = committee.roundOf(id).state;
            bool over = state > RoundState.Drawn;
            require(over == handler.round(id).over, "a round is over without a word");
        }
    }

    /// @notice Parameters stay in bounds, change only after their delay, and reach no lease that is open.
    function invariant_19_parameters_reach_no_open_lease() external view {
        _holds(19);
        uint16 inForce = pool.paramsVersion();
        require(inForce <= handler.versions(), "parameters in force that nobody proposed");
        require(handler.paramsInForceAt(inForce) <= vm.getBlockTimestamp(), "parameters in force before their time");
        for (uint16 v = 1; v <= inForce; v++) {
            Params memory p = pool.params(v);
            require(keccak256(abi.encode(p)) == handler.paramsHash(v), "a version of the parameters changed");
            require(p.feeBps <= 1000 && p.holdFeeBps <= 10_000 && p.maxSlashBps <= 10_000, "a share out of bounds");
            require(p.challengeWindow >= 10 minutes && p.claimLag >= p.challengeWindow, "a window out of bounds");
            require(p.filingWindow < 5 days, "the filing window is out of bounds");
            require(
                p.unstakeDelay >= uint256(p.filingWindow) + p.challengeWindow + p.appealWindow + p.rulingWindow,
                "stake would leave before a fault could be ruled on"
            );
            require(p.seatStake >= p.minStakePerGpu, "a quorum costs less than what it judges");
            require(p.bond <= p.minStakePerGpu && p.appealWindow >= 1 days, "an appeal out of reach");
            require(p.committeeSize % 2 == 1 && p.committeeSize <= 15, "a committee that could be split");
        }
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (!_current(id)) continue;
            LeaseView memory seen = pool.leaseOf(id);
            bool same = seen.tenant == l.tenant && seen.machine == l.machine && seen.placement == l.placement
                && seen.price == l.price && seen.revision == l.revision && seen.params == l.params;
            require(same, "an open lease's terms changed");
        }
    }

    /// @notice No exit costs more because others have filled the pool: each is measured, and again in the same state but with
    /// sixty more leases, machines and challenges of other people's.
    function invariant_20_exits_cost_the_same_in_a_full_pool() external {
        if (!_due(16)) return;
        uint256 id = _live();
        if (id == 0) return;
        uint256 before = _costOfLeaving(id);
        _crowd();
        require(_costOfLeaving(id) <= before + 10_000, "an exit costs more in a full pool");
    }

    function _costOfLeaving(uint256 id) private returns (uint256 gas) {
        uint256 snapshot = vm.snapshotState();
        gas = _end(id, handler.lease(id)) + _withdraw(handler.lease(id).tenant);
        vm.revertToState(snapshot);
    }

    function _live() private view returns (uint256 id) {
        for (uint256 i = handler.leaseCount(); i > 0; i--) {
            (uint256 found, Ghost.Lease memory l) = _lease(i - 1);
            if (l.endings == 0 && pool.balanceOf(l.tenant) != 0) return found;
        }
    }

    /// @dev The thief registers a machine and opens as many leases on it as it has cells.
    function _crowd() private {
        vm.prank(handler.owner());
        pool.setPaused(false);
        (address thief, address operator) = (handler.thief(), handler.people(0));
        Terms memory terms = Terms(1, 0, 1, 1 days, 0, type(uint16).max);
        Consent memory consent = handler.consentOf(thief, operator);
        vm.prank(thief);
        uint32 machine = pool.register(terms, 8, 1, 0, 0, operator, consent);
        LeaseRequest memory r;
        (r.machine, r.revision, r.share, r.duration, r.maxPrice) = (machine, 1, 1, 1 days, 1);
        r.allowUnverified = true;
        for (uint256 i = 0; i < 56; i++) {
            vm.prank(thief);
            pool.open(r);
        }
    }

    /// @notice No exit waits for another's outage: a lease that lived through none that is held or runs is anybody's to close
    /// once it is over, and any other is its provider's, who then has his cells back.
    function invariant_23_no_exit_waits_for_another_s_outage() external {
        _holds(23);
        if (!_due(8)) return;
        uint256 snapshot = vm.snapshotState();
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.state != LeaseState.Active || vm.getBlockTimestamp() < l.end) continue;
            vm.prank(handler.openToAll(id) ? handler.thief() : handler.machine(l.machine).provider);
            (bool ok,) = address(pool).call(abi.encodeCall(pool.close, (id)));
            require(ok, "a lease that is over cannot be closed");
            require(pool.machineOf(l.machine).leased & handler.maskOf(l.placement) == 0, "cells of a closed lease stay");
        }
        vm.revertToState(snapshot);
    }

    /// @notice Neither an ambush nor a free ride leaves its author richer than before; and the thief, who submits everybody's
    /// proofs and tries every door, is none the richer either.
    function invariant_21_no_play_makes_its_author_richer() external view {
        _holds(21);
        address thief = handler.thief();
        require(token.balanceOf(thief) + pool.balanceOf(thief) <= handler.thiefsWealth(), "the thief got richer");
        require(pool.owner() == handler.owner(), "the pool has another owner");
        require(pool.treasury() == handler.treasury(), "the pool has another treasury");
    }

    /// @notice A seat loses by silence where there was an outcome, or by having found or signed what the arbiter of the version
    /// by which it joined took back: a tenth of what it was bought for, at most once a week. To have seen otherwise than the
    /// majority costs nothing.
    function invariant_22_seats_lose_by_silence_only() external view {
        _holds(22);
    }

    /// @notice Neither the owner, nor the treasury, nor the arbiter gains by a slash, a fine, a bond or a tenants' part.
    function invariant_24_whoever_rules_does_not_gain() external view {
        _holds(24);
    }

    /// @dev All of the above against one state, for the long run: one campaign holds each sequence against every number,
    /// where a campaign for each would see much the same sequences over again.
    function _together() internal {
        bytes4[24] memory numbers = [
            this.invariant_01_solvency.selector,
            this.invariant_02_every_unit_of_a_deposit_is_somewhere.selector,
            this.invariant_03_paid_at_most_the_billable_time.selector,
            this.invariant_04_settled_only_grows.selector,
            this.invariant_05_placements_are_disjoint.selector,
            this.invariant_06_every_ended_lease_pays_out_to_zero.selector,
            this.invariant_07_exits_stay_open.selector,
            this.invariant_08_stake_in_service_stays.selector,
            this.invariant_09_a_slash_has_its_limits.selector,
            this.invariant_10_no_proof_works_twice.selector,
            this.invariant_11_a_group_acts_with_m_signers.selector,
            this.invariant_12_a_gang_opens_whole.selector,
            this.invariant_13_paused_time_is_not_billed.selector,
            this.invariant_14_the_fee_is_the_version_s.selector,
            this.invariant_15_spot_leases_end_after_notice.selector,
            this.invariant_16_cells_are_freed_once.selector,
            this.invariant_17_only_the_tenant_rates_once.selector,
            this.invariant_18_an_outcome_needs_a_majority.selector,
            this.invariant_19_parameters_reach_no_open_lease.selector,
            this.invariant_20_exits_cost_the_same_in_a_full_pool.selector,
            this.invariant_21_no_play_makes_its_author_richer.selector,
            this.invariant_22_seats_lose_by_silence_only.selector,
            this.invariant_24_whoever_rules_does_not_gain.selector,
            this.invariant_23_no_exit_waits_for_another_s_outage.selector
        ];
        for (uint256 i = 0; i < numbers.length; i++) {
            uint256 snapshot = vm.snapshotState();
            (bool ok, bytes memory why) = address(this).call(abi.encodePacked(numbers[i]));
            vm.revertToState(snapshot);
            if (ok) continue;
            assembly ("memory-safe") {
                revert(add(why, 32), mload(why))
            }
        }
    }

    // --------------------------------------------------------------------------------------------------------- parts

    /// @dev The costly trials run on one state of `n`.
    function _due(uint256 n) private view returns (bool) {
        return uint256(keccak256(abi.encode(vm.getBlockTimestamp(), handler.totalLedger()))) % n == 0;
    }

    /// @dev Whether the slot still holds this generation of the lease.
    function _current(uint256 id) private view returns (bool) {
        return pool.leaseOf(id).state != LeaseState.None;
    }

    function _ones(uint256 bits) private pure returns (uint256 n) {
        for (; bits != 0; bits &= bits - 1) {
            n++;
        }
    }
}
