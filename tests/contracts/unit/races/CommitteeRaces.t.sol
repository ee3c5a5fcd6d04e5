// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Round, RoundState} from "../../../../contracts/interfaces/ICommittee.sol";
import {IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {MachineStatus} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice Validators who want the fee without the work, another committee than the one that was drawn, or to be paid for
/// waiting. A round costs 5e18: 0.25e18 for the draw, 0.95e18 for each of five
/// who agree.
contract CommitteeRaces is RaceWorld {
    uint256 private constant FEE = 5e18;
    uint256 private constant DRAW = 0.25e18;
    uint256 private constant PENALTY = 50e18; // a tenth of a seat
    uint256 private constant COMMIT = 4 hours;
    uint256 private constant REVEAL = 2 hours;
    bytes32 private constant SPEC = keccak256("spec");
    bytes32 private constant SALT = keccak256("salt");

    function _requested() private returns (uint256) {
        vm.prank(tenant);
        return committee.requestVerification(machine, 1);
    }

    function _drawn() private returns (uint256 round, uint32[] memory drawn) {
        round = _requested();
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
        drawn = committee.drawnFor(round);
    }

    function _holder(uint32 seat) private view returns (address) {
        return committee.seatOf(seat).validator;
    }

    function _seal(uint256 round, uint32 seat, bool pass) private view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(pool), round, seat, pass, SPEC, uint16(900), SALT));
    }

    function _commits(uint256 round, uint32 seat, bytes32 commitment) private {
        vm.prank(_holder(seat));
        committee.commit(round, seat, commitment);
    }

    function _reveals(uint256 round, uint32 seat, bool pass) private {
        vm.prank(_holder(seat));
        committee.reveal(round, seat, pass, SPEC, 900, SALT);
    }

    /// @dev All but the first of those drawn, who is the thief of the test, work.
    function _others(uint256 round, uint32[] memory drawn, bool reveal) private {
        for (uint256 i = 1; i < drawn.length; ++i) {
            if (reveal) _reveals(round, drawn[i], true);
            else _commits(round, drawn[i], _seal(round, drawn[i], true));
        }
    }

    /// @dev The four who worked have a fifth of 4.75e18 each; the first has nothing of the fee, and has lost `fine`.
    function _assertThiefPaid(uint256 round, uint32[] memory drawn, uint256 fine) private {
        uint256[5] memory before;
        for (uint256 i = 0; i < 5; ++i) {
            before[i] = _wealth(_holder(drawn[i]));
        }
        uint256 burnt = _wealth(BURNT);
        committee.finalize(round);
        vm.assertEq(uint256(committee.roundOf(round).state), uint256(RoundState.Passed));
        vm.assertTrue(pool.machineOf(machine).status == MachineStatus.Verified);
        vm.assertEq(_wealth(_holder(drawn[0])), before[0], "the thief was paid");
        vm.assertEq(committee.seatOf(drawn[0]).stake, 550e18 - fine);
        for (uint256 i = 1; i < 5; ++i) {
            vm.assertEq(_wealth(_holder(drawn[i])) - before[i], (FEE - DRAW) / 5);
            vm.assertEq(committee.seatOf(drawn[i]).stake, 550e18);
        }
        vm.assertEq(_wealth(BURNT) - burnt, fine + (FEE - DRAW) / 5);
        _assertSolvent();
    }

    /// @dev A member who withholds: saves its work and hopes for its part, 0.95e18. It loses 50e18.
    function test_a_member_who_withholds() external {
        (uint256 round, uint32[] memory drawn) = _drawn();
        _others(round, drawn, false);
        skip(COMMIT);
        _others(round, drawn, true);
        skip(REVEAL);
        _assertThiefPaid(round, drawn, PENALTY);
    }

    /// @dev A member who commits, sees what the others reveal, and would rather have said nothing: it may say what it
    /// committed to, for nothing, or be silent, for 50e18. To choose afterwards would be 0.95e18 for no work.
    function test_a_member_who_waits_for_the_others() external {
        (uint256 round, uint32[] memory drawn) = _drawn();
        _commits(round, drawn[0], _seal(round, drawn[0], false));
        _others(round, drawn, false);
        skip(COMMIT);
        _others(round, drawn, true);
        vm.prank(_holder(drawn[0]));
        _expect(abi.encodeWithSelector(ICommittee.WrongReveal.selector, round, drawn[0]));
        committee.reveal(round, drawn[0], true, SPEC, 900, SALT); // what the majority says
        uint256 snapshot = vm.snapshotState();
        skip(REVEAL);
        _assertThiefPaid(round, drawn, PENALTY); // silent
        vm.revertToState(snapshot);
        _reveals(round, drawn[0], false); // it stands by what it said
        skip(REVEAL);
        _assertThiefPaid(round, drawn, 0);
    }

    /// @dev A member who copies another's commitment and, once that is revealed, reveals the same: 0.95e18 for no work. A
    /// commitment names its seat, so it opens for nobody else; and none is made once the first may be revealed.
    function test_a_member_who_copies() external {
        (uint256 round, uint32[] memory drawn) = _drawn();
        _others(round, drawn, false);
        _commits(round, drawn[0], _seal(round, drawn[1], true)); // as it stands in the event
        skip(COMMIT);
        _others(round, drawn, true);
        address thief = _holder(drawn[0]);
        vm.prank(thief);
        _expect(abi.encodeWithSelector(ICommittee.WrongReveal.selector, round, drawn[0]));
        committee.reveal(round, drawn[0], true, SPEC, 900, SALT);
        vm.prank(thief);
        _expect(abi.encodeWithSelector(NotAuthorized.selector, thief));
        committee.reveal(round, drawn[1], true, SPEC, 900, SALT);
        bytes32 late = _seal(round, drawn[0], true);
        vm.prank(thief);
        _expect(abi.encodeWithSelector(ICommittee.CommitOver.selector, round, _now()));
        committee.commit(round, drawn[0], late);
        skip(REVEAL);
        _assertThiefPaid(round, drawn, PENALTY);
    }

    /// @dev A member who reveals late, when it knows how the vote went, or early, before the others have committed.
    function test_a_member_who_reveals_late() external {
        (uint256 round, uint32[] memory drawn) = _drawn();
        _others(round, drawn, false);
        _commits(round, drawn[0], _seal(round, drawn[0], true));
        address thief = _holder(drawn[0]);
        uint256 opens = _now() + COMMIT;
        vm.prank(thief);
        _expect(abi.encodeWithSelector(ICommittee.RevealNotOpen.selector, round, opens));
        committee.reveal(round, drawn[0], true, SPEC, 900, SALT);
        skip(COMMIT);
        _others(round, drawn, true);
        skip(REVEAL);
        vm.prank(thief);
        _expect(abi.encodeWithSelector(ICommittee.RevealOver.selector, round, opens + REVEAL));
        committee.reveal(round, drawn[0], true, SPEC, 900, SALT);
        _assertThiefPaid(round, drawn, PENALTY);
    }

    /// @dev Three of five are one validator's, and withhold: they could take from the other two what an inconclusive round
    /// cost those. It costs nobody anything and changes nothing: they forgo their part of the fee, and the tenant has it back.
    function test_a_majority_that_withholds() external {
        (uint256 round, uint32[] memory drawn) = _drawn();
        uint256 before = _wealth(tenant);
        for (uint256 i = 3; i < 5; ++i) {
            _commits(round, drawn[i], _seal(round, drawn[i], true));
        }
        skip(COMMIT);
        for (uint256 i = 3; i < 5; ++i) {
            _reveals(round, drawn[i], true);
        }
        skip(REVEAL);
        committee.finalize(round);
        vm.assertEq(uint256(committee.roundOf(round).state), uint256(RoundState.Inconclusive));
        vm.assertEq(_wealth(tenant) - before, FEE - DRAW);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(committee.seatOf(drawn[i]).stake, 550e18);
            vm.assertEq(_wealth(_holder(drawn[i])), 0);
        }
        vm.assertTrue(pool.machineOf(machine).status == MachineStatus.Unverified);
        _assertSolvent();
    }

    // ----------------------------------------------------------------------------------------------------------- draws

    /// @dev A draw missed by 256 blocks, to be drawn again and to let the reward grow. Whoever is alone to watch and misses
    /// four times is paid 1.25e18 instead of 0.25e18: 1e18 of the tenant's 5e18 at most, for 1,285 blocks in which anybody
    /// else may draw for less; with the fifth miss the round is over and he has nothing.
    function test_a_draw_missed_by_256_blocks() external {
        uint256 had = _wealth(THIEF);
        uint256 round = _requested();
        for (uint256 misses = 1; misses <= 4; ++misses) {
            uint256 named = committee.roundOf(round).block_;
            vm.roll(named + 256);
            uint256 snapshot = vm.snapshotState();
            vm.prank(THIEF);
            committee.draw(round); // the last block that can
            vm.assertEq(_wealth(THIEF) - had, misses * DRAW);
            vm.revertToState(snapshot);
            vm.roll(named + 257);
            vm.prank(THIEF);
            committee.draw(round);
            Round memory seen = committee.roundOf(round);
            vm.assertEq(seen.misses, misses);
            vm.assertEq(seen.block_, vm.getBlockNumber() + 1); // another one, which nobody knows
            vm.assertEq(_wealth(THIEF), had); // a miss is not paid
        }
        uint256 again = vm.snapshotState();
        vm.roll(vm.getBlockNumber() + 2);
        vm.prank(THIEF);
        committee.draw(round);
        vm.assertEq(_wealth(THIEF) - had, 5 * DRAW);
        vm.revertToState(again);

        uint256 before = _wealth(tenant);
        vm.roll(vm.getBlockNumber() + 258);
        vm.prank(THIEF);
        committee.draw(round);
        vm.assertEq(uint256(committee.roundOf(round).state), uint256(RoundState.Inconclusive));
        vm.assertEq(_wealth(tenant) - before, FEE);
        vm.assertEq(_wealth(THIEF), had);
        _assertSolvent();
    }

    /// @dev Leaving the seat list to roll again. The hash is known and the committee will not be to the provider's liking: he
    /// has twelve of the eighteen seats under another name. Had a draw depended on the seats as they are when it is made,
    /// leaving them one by one would be twelve more throws, and a passed false machine is worth a rent of 2.88e18 an hour.
    /// The committee stays the same whoever leaves, joins, or exits before the draw.
    function test_leaving_the_seats_to_roll_again() external {
        for (uint256 i = 0; i < 12; ++i) {
            _join(SYBIL);
        }
        skip(3 days);
        vm.prank(SYBIL);
        committee.leave(18); // so that it may exit after the block was named
        skip(21 days - 1);
        uint256 round = _requested();
        vm.roll(vm.getBlockNumber() + 2);
        uint256 snapshot = vm.snapshotState();
        committee.draw(round);
        uint32[] memory expected = committee.drawnFor(round);
        for (uint32 left = 7; left < 18; ++left) {
            vm.revertToState(snapshot);
            snapshot = vm.snapshotState();
            skip(1);
            committee.exit(18);
            for (uint32 seat = 7; seat <= left; ++seat) {
                vm.prank(SYBIL);
                committee.leave(seat);
            }
            _join(SYBIL);
            committee.draw(round);
            uint32[] memory drawn = committee.drawnFor(round);
            for (uint256 i = 0; i < 5; ++i) {
                vm.assertEq(drawn[i], expected[i]);
            }
        }
    }

    /// @dev Nor by asking again: an outcome stands for `reverifyInterval`, a round that runs admits no second one but of the
    /// provider's, who has one of his own, and each throw that is inconclusive needs a majority of those drawn to be in on it.
    /// An hourly fee of 5e18 would buy a throw.
    function test_asking_again_to_roll_again() external {
        (uint256 round, uint32[] memory drawn) = _drawn();
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(ICommittee.RoundRunning.selector, machine, round));
        committee.requestVerification(machine, 1);
        _others(round, drawn, false);
        skip(COMMIT);
        _others(round, drawn, true);
        skip(REVEAL);
        committee.finalize(round);
        uint256 next = uint256(committee.roundOf(round).requestedAt) + _params().reverifyInterval;
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(ICommittee.TooSoon.selector, machine, next));
        committee.requestVerification(machine, 1);
    }

    // -------------------------------------------------------------------------------------------------------- outcomes

    /// @dev All of those drawn say the same, and nobody has finalized yet.
    function _decided(bool pass) private returns (uint256 round) {
        uint16 revision = pool.machineOf(machine).revision;
        vm.prank(tenant);
        round = committee.requestVerification(machine, revision);
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < drawn.length; ++i) {
            _commits(round, drawn[i], _seal(round, drawn[i], pass));
        }
        skip(COMMIT);
        for (uint256 i = 0; i < drawn.length; ++i) {
            _reveals(round, drawn[i], pass);
        }
        skip(REVEAL);
    }

    function _setTerms() private {
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
    }

    function _assertStatus(MachineStatus status) private view {
        vm.assertEq(uint256(pool.machineOf(machine).status), uint256(status));
    }

    /// @dev New terms in front of an outcome. The votes are revealed and the machine will fail; `setTerms`, with the price
    /// that it had, makes another revision of it and does not touch what was measured. It would stay Verified, round after
    /// round, for a transaction each. A failure is one whatever the terms; that a machine passed is said of the revision
    /// that was measured alone.
    function test_new_terms_in_front_of_an_outcome() external {
        uint256 round = _decided(true);
        _setTerms();
        committee.finalize(round);
        _assertStatus(MachineStatus.Unverified); // his own doing

        skip(1 days);
        committee.finalize(_decided(true));
        _assertStatus(MachineStatus.Verified);
        skip(1 days);
        round = _decided(false);
        _setTerms();
        committee.finalize(round);
        vm.assertEq(uint256(committee.roundOf(round).state), uint256(RoundState.Failed));
        _assertStatus(MachineStatus.Unverified);
    }

    /// @dev A failed round that nobody reported for `filingWindow` has lapsed. It stays so when the machine retires, however
    /// much later: else 50e18 of every stake that was ever measured wrong could be had on its way out.
    function test_retiring_revives_no_failed_round() external {
        uint256 round = _decided(false);
        committee.finalize(round);
        uint256 event_ = committee.roundOf(round).revealUntil;
        vm.warp(event_ + _params().filingWindow + 1);
        bytes memory lapsed = abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, event_, _now());
        _expect(lapsed);
        faults.reportFalseHardware(round);
        vm.prank(PROVIDER);
        pool.retire(machine);
        _expect(lapsed);
        faults.reportFalseHardware(round);
    }

    /// @dev Hardware is found false when somebody has leased half of it for a day, who leaves. The provider leases all of it to
    /// himself for three days and files only then. Were time counted until somebody files he would have most of the tenants'
    /// 25e18 back: what counts is the week up to the request, and the tenant has his half of the cells for one day of seven.
    function test_filing_false_hardware_late() external {
        uint256 lease = _leaseOf(tenant, 4, 7 days);
        skip(1 days);
        uint256 round = _decided(false);
        committee.finalize(round);
        _closeAs(tenant, lease);
        uint256 own = _leaseOf(SYBIL, 8, 3 days);
        skip(3 days);
        uint256 fault = faults.reportFalseHardware(round);
        faults.applyOutage(fault, _two(lease, own));
        _execute(fault);
        uint256 before = _wealth(tenant);
        uint256 others = _wealth(SYBIL);
        faults.compensate(fault, _two(lease, own));
        vm.assertEq(_wealth(SYBIL), others);
        vm.assertEq(_wealth(tenant) - before, uint256(25e18) / 14);
    }
}
