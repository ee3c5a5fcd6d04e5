// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Round, RoundState, Seat, Signer} from "../../../contracts/interfaces/ICommittee.sol";
import {ICompanion} from "../../../contracts/interfaces/ICompanion.sol";
import {MachineStatus, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {CommitteeWorld} from "./CommitteeWorld.sol";
import {PoolDouble} from "./PoolDouble.sol";

contract CommitteeSeatsTest is CommitteeWorld {
    function test_joining_stakes_out_of_the_ledger() external {
        address who = _validator(1);
        pool.deposit(who, STAKE + 7);
        _event();
        emit ICommittee.SeatJoined(1, who, LEVEL, STAKE);
        vm.prank(who);
        vm.assertEq(committee.join(1), 1);
        vm.assertEq(pool.balanceOf(who), 7);
        Seat memory seat = committee.seatOf(1);
        vm.assertEq(seat.validator, who);
        vm.assertTrue(seat.stake == STAKE && seat.level == LEVEL && seat.joinedAt == NOW && seat.leavesAt == 0);
        _assertSolvent();
    }

    function test_joining_needs_the_stake() external {
        _expect(abi.encodeWithSelector(PoolDouble.InsufficientBalance.selector, THIEF, 0, STAKE));
        vm.prank(THIEF);
        committee.join(1);
    }

    /// @dev What `Accounts` says is believed while it says it, and of nobody else.
    function test_a_group_joins_through_accounts() external {
        pool.deposit(THIEF, STAKE);
        accounts.act(THIEF, address(committee), abi.encodeCall(ICommittee.join, (1)));
        vm.assertEq(_holder(1), THIEF);
    }

    function test_a_seat_matures_in_three_days() external {
        _join(_validator(1));
        _join(_validator(2));
        vm.assertEq(committee.maturedSeats(1), 0);
        skip(1 hours);
        _join(_validator(3));
        skip(MATURITY - 1 hours - 1);
        vm.assertEq(committee.maturedSeats(1), 0);
        skip(1);
        vm.assertEq(committee.maturedSeats(1), 2);
        skip(1 hours);
        vm.assertEq(committee.maturedSeats(1), 3);
        vm.assertEq(committee.seatCount(), 3);
    }

    function test_leaving_takes_a_week_and_gives_the_stake_back() external {
        _join(_validator(1));
        _expect(abi.encodeWithSelector(ICommittee.SeatNotMatured.selector, 1, NOW + MATURITY));
        vm.prank(_validator(1));
        committee.leave(1);
        skip(MATURITY);
        _expect(abi.encodeWithSelector(ICommittee.SeatNotLeaving.selector, 1));
        committee.exit(1);
        _expect(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, THIEF));
        vm.prank(THIEF);
        committee.leave(1);

        uint32 leavesAt = uint32(block.timestamp + LEAVE_DELAY);
        _event();
        emit ICommittee.SeatLeaving(1, leavesAt);
        _leave(1);
        _expect(abi.encodeWithSelector(ICommittee.SeatLeavingAlready.selector, 1));
        vm.prank(_validator(1));
        committee.leave(1);
        vm.assertEq(committee.maturedSeats(1), 1); // counts until it exits

        skip(LEAVE_DELAY - 1);
        _expect(abi.encodeWithSelector(ICommittee.SeatLocked.selector, 1, leavesAt));
        committee.exit(1);
        skip(1);
        _event();
        emit ICommittee.SeatExited(1, _validator(1), STAKE);
        vm.prank(THIEF); // anyone may send it: the stake goes to its validator
        committee.exit(1);
        vm.assertEq(pool.balanceOf(_validator(1)), STAKE);
        vm.assertEq(committee.maturedSeats(1), 0);
        _assertSolvent();
        _expect(abi.encodeWithSelector(ICommittee.UnknownSeat.selector, 1));
        committee.exit(1);
    }

    function test_a_freed_number_is_used_again_and_matures_anew() external {
        _seats(3);
        _leave(2);
        skip(LEAVE_DELAY);
        committee.exit(2);
        vm.assertEq(_join(_validator(9)), 2);
        vm.assertEq(_join(_validator(10)), 4);
        vm.assertEq(committee.seatCount(), 4);
        vm.assertEq(committee.maturedSeats(1), 2);
        skip(MATURITY);
        vm.assertEq(committee.maturedSeats(1), 4);
        _assertSolvent();
    }

    function test_nobody_speaks_for_an_unknown_seat() external {
        bytes memory unknown = abi.encodeWithSelector(ICommittee.UnknownSeat.selector, 5);
        _expect(unknown);
        committee.leave(5);
        _expect(unknown);
        committee.topUp(5, 1);
    }

    /// @dev Matured seats are counted exactly, whatever the order of joins, leaves, exits and time.
    function testFuzz_matured_seats_are_counted_exactly(uint256 entropy) external {
        for (uint256 i = 0; i < 40; ++i) {
            entropy = uint256(keccak256(abi.encode(entropy)));
            uint32 seat = uint32(entropy >> 8) % (committee.seatCount() + 1);
            Seat memory held = committee.seatOf(seat);
            if (entropy % 3 == 0) {
                _join(_validator(1 + entropy % 5));
            } else if (held.leavesAt != 0 && held.leavesAt <= block.timestamp) {
                committee.exit(seat);
            } else if (
                held.validator != address(0) && held.leavesAt == 0 && held.joinedAt + MATURITY <= block.timestamp
            ) {
                _leave(seat);
            }
            skip((entropy >> 64) % 4 days);

            uint256 matured;
            for (uint32 s = 1; s <= committee.seatCount(); ++s) {
                held = committee.seatOf(s);
                if (held.validator != address(0) && held.joinedAt + MATURITY <= block.timestamp) ++matured;
            }
            vm.assertEq(committee.maturedSeats(1), matured, "matured");
        }
        _assertSolvent();
    }
}

contract CommitteeRoundsTest is CommitteeWorld {
    function setUp() public override {
        super.setUp();
        _seats(7);
    }

    // ------------------------------------------------------------------------------------------------------- request

    function test_a_request_names_a_block_that_is_yet_to_come() external {
        _event();
        emit ICommittee.VerificationRequested(1, MACHINE, 1, REQUESTER, FEE, 1001);
        uint256 round = _request();
        Round memory made = committee.roundOf(round);
        vm.assertTrue(made.machine == MACHINE && made.revision == 1 && made.state == RoundState.Requested);
        vm.assertTrue(made.misses == 0 && made.requestedAt == block.timestamp && made.block_ == 1001);
        vm.assertTrue(made.fee == FEE && made.size == 5 && made.requester == REQUESTER);
        vm.assertTrue(made.commitUntil == 0 && made.revealUntil == 0 && made.score == 0 && made.spec == 0);
        vm.assertEq(committee.drawnFor(round).length, 0);
        vm.assertEq(pool.balanceOf(REQUESTER), 1000e18 - FEE);
        _assertSolvent();
    }

    function _requestRefused(bytes memory error_) private {
        _expect(error_);
        _request();
    }

    function test_only_machines_in_service() external {
        bytes memory error_ = abi.encodeWithSelector(ICommittee.MachineNotInService.selector, MACHINE);
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Retired, 1);
        _requestRefused(error_);
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.None, 1);
        _requestRefused(error_);
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Verified, 2);
        _requestRefused(abi.encodeWithSelector(ICommittee.WrongRevision.selector, 2));
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Verified, 1);
        _request();
    }

    function test_one_round_at_a_time_and_one_an_interval() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _requestRefused(abi.encodeWithSelector(ICommittee.RoundRunning.selector, MACHINE, round));
        uint256 requestedAt = block.timestamp;
        _agree(round, seats, 5, true, SPEC);
        _requestRefused(abi.encodeWithSelector(ICommittee.RoundRunning.selector, MACHINE, round));
        committee.finalize(round);
        _requestRefused(abi.encodeWithSelector(ICommittee.TooSoon.selector, MACHINE, requestedAt + 1 days));
        vm.warp(requestedAt + 1 days);
        vm.assertEq(_request(), 2);
        _requestRefused(abi.encodeWithSelector(ICommittee.RoundRunning.selector, MACHINE, 2));
    }

    function test_an_inconclusive_round_may_be_repeated_at_once() external {
        (uint256 round,) = _drawn();
        skip(COMMIT + REVEAL);
        committee.finalize(round);
        _request();
    }

    function test_a_request_needs_seats() external {
        Params memory params = _params();
        params.committeeSize = 9;
        pool.setParams(params);
        _requestRefused(abi.encodeWithSelector(ICommittee.TooFewSeats.selector, 7, 9));
    }

    // ---------------------------------------------------------------------------------------------------------- draw

    function test_a_draw_has_different_seats_and_is_rewarded() external {
        uint256 round = _request();
        _expect(abi.encodeWithSelector(ICommittee.BlockNotMined.selector, 1001));
        committee.draw(round);
        vm.roll(1001); // the hash of the running block is not known yet
        _expect(abi.encodeWithSelector(ICommittee.BlockNotMined.selector, 1001));
        committee.draw(round);

        uint32[] memory seats = _draw(round);
        vm.assertEq(seats.length, 5);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertTrue(seats[i] >= 1 && seats[i] <= 7);
            for (uint256 j = 0; j < i; ++j) {
                vm.assertTrue(seats[i] != seats[j], "twice");
            }
        }
        Round memory drawn = committee.roundOf(round);
        vm.assertEq(drawn.commitUntil, block.timestamp + COMMIT);
        vm.assertEq(drawn.revealUntil, block.timestamp + COMMIT + REVEAL);
        vm.assertEq(pool.balanceOf(DRAWER), REWARD);
        vm.assertEq(drawn.fee, FEE - REWARD);
        _assertSolvent();
        _expect(abi.encodeWithSelector(ICommittee.WrongRoundState.selector, round, RoundState.Drawn));
        committee.draw(round);
    }

    function test_the_hash_is_known_for_256_blocks() external {
        uint256 round = _request();
        vm.roll(1001 + 256);
        committee.draw(round);
        _assertState(round, RoundState.Drawn);
    }

    /// @dev Greed: whoever could draw lets blocks pass, because the reward grows by a twentieth of the fee each time. He
    /// gains 0.25 a miss only if nobody draws in 256 blocks, which everybody may; the miss itself pays nothing, the reward
    /// stops at a quarter of the fee, and after five misses there is none.
    function test_a_missed_draw_names_another_block() external {
        uint256 round = _request();
        for (uint256 i = 1; i <= 4; ++i) {
            vm.roll(vm.getBlockNumber() + 258);
            _event();
            emit ICommittee.DrawMissed(round, uint64(vm.getBlockNumber() + 1));
            committee.draw(round);
            vm.assertEq(committee.roundOf(round).misses, i);
            vm.assertEq(pool.balanceOf(address(this)), 0);
        }
        _draw(round);
        vm.assertEq(pool.balanceOf(DRAWER), FEE / 4);
        _assertSolvent();
    }

    function test_the_reward_is_a_quarter_at_most() external {
        uint256 round = _request();
        for (uint256 i = 0; i < 2; ++i) {
            vm.roll(vm.getBlockNumber() + 258);
            committee.draw(round);
        }
        _draw(round);
        vm.assertEq(pool.balanceOf(DRAWER), 3 * REWARD);
    }

    function test_after_five_misses_the_fee_goes_back() external {
        uint256 round = _request();
        for (uint256 i = 0; i < 5; ++i) {
            _assertState(round, RoundState.Requested);
            vm.roll(vm.getBlockNumber() + 258);
            if (i == 4) {
                _event();
                emit ICommittee.RoundFinalized(round, MACHINE, RoundState.Inconclusive, 0, 0, 0);
            }
            committee.draw(round);
        }
        _assertState(round, RoundState.Inconclusive);
        vm.assertEq(pool.balanceOf(REQUESTER), 1000e18);
        vm.assertEq(committee.drawnFor(round).length, 0);
        _assertSolvent();
        _request();
    }

    /// @dev The provider's and the requester's own seats are not drawn: with 7 seats and 3 of them theirs, no draw succeeds,
    /// and the fee comes back.
    function test_those_concerned_do_not_judge() external {
        pool.setMachine(MACHINE, _validator(1), MachineStatus.Unverified, 1);
        pool.deposit(_validator(2), FEE);
        vm.prank(_validator(2));
        uint256 round = committee.requestVerification(MACHINE, 1);
        uint32[] memory seats = _draw(round);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertTrue(seats[i] > 2, "concerned");
        }
    }

    function test_too_few_to_draw_from_is_a_miss() external {
        _leave(1);
        _leave(2);
        _leave(3);
        skip(1); // who leaves in the very second is drawn still
        uint256 round = _request();
        for (uint256 i = 0; i < 5; ++i) {
            _mine();
            committee.draw(round);
        }
        _assertState(round, RoundState.Inconclusive);
        vm.assertEq(pool.balanceOf(REQUESTER), 1000e18);
    }

    /// @dev Attack: the block's hash is known, its draw unwelcome; the seats' list is changed before anybody draws. Joining
    /// (a hundred seats, at once) and leaving change nothing; whoever was in is drawn still.
    function test_no_change_of_seats_rolls_again() external {
        _leave(7);
        skip(LEAVE_DELAY - 1); // it could exit one second after the block is named
        uint256 round = _request();
        vm.roll(1002);
        uint256 snapshot = vm.snapshotState();
        committee.draw(round);
        uint32[] memory expected = committee.drawnFor(round);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertTrue(expected[i] != 7, "leaving");
        }

        vm.revertToState(snapshot);
        for (uint256 i = 0; i < 100; ++i) {
            _join(THIEF);
        }
        skip(1);
        committee.exit(7);
        vm.assertEq(_join(THIEF), 7); // a number again
        for (uint32 seat = 1; seat < 7; ++seat) {
            _leave(seat);
        }
        committee.draw(round);
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(drawn[i], expected[i]);
        }
    }

    /// @dev On a chain with several blocks a second one may know the hash and still leave in the second of the request.
    function test_leaving_in_the_same_second_does_not_roll_again() external {
        uint256 round = _request();
        vm.roll(1002);
        uint256 snapshot = vm.snapshotState();
        committee.draw(round);
        uint32[] memory expected = committee.drawnFor(round);
        vm.revertToState(snapshot);
        for (uint32 seat = 1; seat <= 7; ++seat) {
            _leave(seat);
        }
        committee.draw(round);
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(drawn[i], expected[i]);
        }
    }

    /// @dev Attack: joining once a round is requested, to be among those drawn; also after misses that took longer than it
    /// takes to mature.
    function test_nobody_joins_into_a_round() external {
        _leave(1);
        skip(LEAVE_DELAY);
        uint256 round = _request();
        committee.exit(1);
        vm.assertEq(_join(THIEF), 1);
        for (uint256 i = 0; i < 20; ++i) {
            _join(THIEF);
        }
        skip(MATURITY);
        vm.roll(vm.getBlockNumber() + 258);
        committee.draw(round);
        uint32[] memory seats = _draw(round);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertTrue(_holder(seats[i]) != THIEF, "joined late");
        }
    }

    // ----------------------------------------------------------------------------------------------- commit and reveal

    function test_commit() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        bytes32 commitment = _commitment(round, seats[0], true, SPEC, 1);
        _expect(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, THIEF));
        vm.prank(THIEF);
        committee.commit(round, seats[0], commitment);

        _event();
        emit ICommittee.Committed(round, seats[0], commitment);
        _commit(round, seats[0], true, SPEC, 1);
        address again = _holder(seats[0]);
        _expect(abi.encodeWithSelector(ICommittee.AlreadyCommitted.selector, round, seats[0]));
        vm.prank(again);
        committee.commit(round, seats[0], "another");

        skip(COMMIT - 1);
        _commit(round, seats[1], true, SPEC, 1);
        skip(1);
        address late = _holder(seats[2]);
        _expect(abi.encodeWithSelector(ICommittee.CommitOver.selector, round, block.timestamp));
        vm.prank(late);
        committee.commit(round, seats[2], commitment);
    }

    function _outsider(uint32[] memory seats) private pure returns (uint32 seat) {
        for (seat = 1; _among(seats, seat); ++seat) {}
    }

    function _among(uint32[] memory seats, uint32 seat) private pure returns (bool) {
        for (uint256 i = 0; i < seats.length; ++i) {
            if (seats[i] == seat) return true;
        }
        return false;
    }

    function test_only_those_drawn() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        uint32 other = _outsider(seats);
        bytes memory error_ = abi.encodeWithSelector(ICommittee.NotDrawn.selector, round, other);
        address holder = _holder(other);
        _expect(error_);
        vm.prank(holder);
        committee.commit(round, other, "x");
        skip(COMMIT);
        _expect(error_);
        vm.prank(holder);
        committee.reveal(round, other, true, SPEC, 1, SALT);
        _expect(abi.encodeWithSelector(ICommittee.NotDrawn.selector, round, 0)); // no seat, and the lanes' filling
        committee.commit(round, 0, "x");
    }

    function test_unknown_and_undrawn_rounds() external {
        bytes memory unknown = abi.encodeWithSelector(ICommittee.UnknownRound.selector, 9);
        _expect(unknown);
        committee.draw(9);
        _expect(unknown);
        committee.commit(9, 1, "x");
        _expect(unknown);
        committee.reveal(9, 1, true, SPEC, 1, SALT);
        _expect(unknown);
        committee.finalize(9);
        uint256 round = _request();
        bytes memory state = abi.encodeWithSelector(ICommittee.WrongRoundState.selector, round, RoundState.Requested);
        _expect(state);
        committee.commit(round, 1, "x");
        _expect(state);
        committee.reveal(round, 1, true, SPEC, 1, SALT);
        _expect(state);
        committee.finalize(round);
    }

    function test_reveal_in_its_time() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        uint256 opens = block.timestamp + COMMIT;
        _commit(round, seats[0], true, SPEC, 900);
        _commit(round, seats[1], true, SPEC, 900);
        address first = _holder(seats[0]);
        address second = _holder(seats[1]);
        skip(COMMIT - 1);
        _expect(abi.encodeWithSelector(ICommittee.RevealNotOpen.selector, round, opens));
        vm.prank(first);
        committee.reveal(round, seats[0], true, SPEC, 900, SALT);
        skip(1);
        _event();
        emit ICommittee.Revealed(round, seats[0], true, SPEC, 900);
        _reveal(round, seats[0], true, SPEC, 900);
        _expect(abi.encodeWithSelector(ICommittee.WrongReveal.selector, round, seats[0])); // once
        vm.prank(first);
        committee.reveal(round, seats[0], true, SPEC, 900, SALT);
        skip(REVEAL);
        _expect(abi.encodeWithSelector(ICommittee.RevealOver.selector, round, opens + REVEAL));
        vm.prank(second);
        committee.reveal(round, seats[1], true, SPEC, 900, SALT);
    }

    function test_reveal_only_what_was_committed() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        uint32 seat = seats[0];
        address who = _holder(seat);
        _commit(round, seat, true, SPEC, 900);
        skip(COMMIT);
        _expect(abi.encodeWithSelector(ICommittee.InvalidScore.selector, 1001));
        vm.prank(who);
        committee.reveal(round, seat, true, SPEC, 1001, SALT);
        bytes memory error_ = abi.encodeWithSelector(ICommittee.WrongReveal.selector, round, seat);
        _expect(error_);
        vm.prank(who);
        committee.reveal(round, seat, false, SPEC, 900, SALT);
        _expect(error_);
        vm.prank(who);
        committee.reveal(round, seat, true, "other", 900, SALT);
        _expect(error_);
        vm.prank(who);
        committee.reveal(round, seat, true, SPEC, 899, SALT);
        _expect(error_);
        vm.prank(who);
        committee.reveal(round, seat, true, SPEC, 900, "pepper");
        address silent = _holder(seats[1]);
        _expect(abi.encodeWithSelector(ICommittee.WrongReveal.selector, round, seats[1])); // committed nothing
        vm.prank(silent);
        committee.reveal(round, seats[1], true, SPEC, 900, SALT);
        _expect(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, THIEF));
        vm.prank(THIEF);
        committee.reveal(round, seat, true, SPEC, 900, SALT);
    }

    /// @dev Attack: not measuring, but copying another's commitment, and then its reveal. It binds the seat, so that the
    /// copy cannot be opened: the copier loses 50 where measuring would have earned 0.95.
    function test_a_copied_commitment_cannot_be_opened() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        address copier = _holder(seats[4]);
        for (uint256 i = 0; i < 4; ++i) {
            _commit(round, seats[i], true, SPEC, 900);
        }
        bytes32 copy = _commitment(round, seats[0], true, SPEC, 900);
        vm.prank(copier);
        committee.commit(round, seats[4], copy);
        skip(COMMIT);
        for (uint256 i = 0; i < 4; ++i) {
            _reveal(round, seats[i], true, SPEC, 900);
        }
        _expect(abi.encodeWithSelector(ICommittee.WrongReveal.selector, round, seats[4]));
        vm.prank(copier);
        committee.reveal(round, seats[4], true, SPEC, 900, SALT);
        skip(REVEAL);
        committee.finalize(round);
        vm.assertEq(committee.seatOf(seats[4]).stake, STAKE - PENALTY);
        vm.assertEq(pool.balanceOf(copier), 0);
        vm.assertEq(pool.balanceOf(_holder(seats[0])), (FEE - REWARD) / 5);
    }

    // ------------------------------------------------------------------------------------------------------- finalize

    function test_those_who_agree_share_the_fee() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        uint16[5] memory scores = [uint16(1000), 0, 700, 300, 710];
        for (uint256 i = 0; i < 5; ++i) {
            _commit(round, seats[i], true, SPEC, scores[i]);
        }
        skip(COMMIT);
        for (uint256 i = 0; i < 5; ++i) {
            _reveal(round, seats[i], true, SPEC, scores[i]);
        }
        skip(REVEAL - 1);
        _expect(abi.encodeWithSelector(ICommittee.RoundOpen.selector, round, block.timestamp + 1));
        committee.finalize(round);
        skip(1);
        _event();
        emit ICommittee.RoundFinalized(round, MACHINE, RoundState.Passed, SPEC, 700, 5);
        committee.finalize(round);
        Round memory done = committee.roundOf(round);
        vm.assertTrue(done.state == RoundState.Passed && done.spec == SPEC && done.score == 700 && done.fee == 0.95e18);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(pool.balanceOf(_holder(seats[i])), 0.95e18);
            vm.assertEq(committee.seatOf(seats[i]).stake, STAKE);
        }
        vm.assertEq(pool.balanceOf(BURNT), 0);
        vm.assertTrue(pool.machineOf(MACHINE).status == MachineStatus.Verified);
        _assertSolvent();
        _expect(abi.encodeWithSelector(ICommittee.WrongRoundState.selector, round, RoundState.Passed));
        committee.finalize(round);
    }

    /// @dev Attack: a member withholds what it committed, to spoil the round. Three of five decide without it, and it loses
    /// 50; to spoil a round it takes three, and then nothing is decided.
    function test_silence_costs_a_tenth() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _commit(round, seats[4], true, SPEC, 900); // and is never revealed
        _agree(round, seats, 3, true, SPEC);
        _event();
        emit ICommittee.SeatFined(seats[3], PENALTY, STAKE - PENALTY);
        _event();
        emit ICommittee.SeatFined(seats[4], PENALTY, STAKE - PENALTY);
        committee.finalize(round);
        vm.assertEq(committee.seatOf(seats[3]).stake, STAKE - PENALTY);
        // As much as if all five had agreed: a majority gains nothing by there being fewer. Two parts are burnt, with two
        // penalties.
        vm.assertEq(pool.balanceOf(_holder(seats[0])), (FEE - REWARD) / 5);
        vm.assertEq(pool.balanceOf(BURNT), 2 * PENALTY + FEE - REWARD - 3 * ((FEE - REWARD) / 5));
        _assertSolvent();
    }

    function test_another_view_than_the_majority_s_costs_nothing() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _commit(round, seats[0], true, "other", 10); // another spec
        _commit(round, seats[1], false, SPEC, 10); // another verdict
        for (uint256 i = 2; i < 5; ++i) {
            _commit(round, seats[i], true, SPEC, uint16(100 * i));
        }
        skip(COMMIT);
        _reveal(round, seats[0], true, "other", 10);
        _reveal(round, seats[1], false, SPEC, 10);
        for (uint256 i = 2; i < 5; ++i) {
            _reveal(round, seats[i], true, SPEC, uint16(100 * i));
        }
        skip(REVEAL);
        committee.finalize(round);
        vm.assertEq(committee.roundOf(round).score, 300); // theirs alone
        vm.assertEq(committee.seatOf(seats[0]).stake, STAKE);
        vm.assertEq(committee.seatOf(seats[1]).stake, STAKE);
        vm.assertEq(pool.balanceOf(_holder(seats[0])), 0);
        vm.assertEq(pool.balanceOf(_holder(seats[2])), (FEE - REWARD) / 5);
        _assertSolvent();
    }

    function test_of_an_even_number_the_lower_middle() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        uint16[4] memory scores = [uint16(40), 10, 30, 20];
        for (uint256 i = 0; i < 4; ++i) {
            _commit(round, seats[i], true, 0, scores[i]);
        }
        skip(COMMIT);
        for (uint256 i = 0; i < 4; ++i) {
            _reveal(round, seats[i], true, 0, scores[i]);
        }
        skip(REVEAL);
        committee.finalize(round);
        vm.assertEq(committee.roundOf(round).score, 20);
        vm.assertEq(committee.roundOf(round).spec, 0);
    }

    function test_without_a_majority_nobody_loses() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _commit(round, seats[0], true, SPEC, 1);
        _commit(round, seats[1], true, SPEC, 1);
        _commit(round, seats[2], false, SPEC, 1);
        _commit(round, seats[3], false, SPEC, 1);
        skip(COMMIT);
        _reveal(round, seats[0], true, SPEC, 1);
        _reveal(round, seats[1], true, SPEC, 1);
        _reveal(round, seats[2], false, SPEC, 1);
        _reveal(round, seats[3], false, SPEC, 1);
        skip(REVEAL);
        _event();
        emit ICommittee.RoundFinalized(round, MACHINE, RoundState.Inconclusive, 0, 0, 0);
        committee.finalize(round);
        vm.assertEq(pool.balanceOf(REQUESTER), 1000e18 - REWARD);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(committee.seatOf(seats[i]).stake, STAKE);
        }
        vm.assertEq(pool.told(MACHINE), 0);
        _assertSolvent();
    }

    function test_a_failed_machine_is_unverified() external {
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Verified, 1);
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 3, false, "a lesser card");
        committee.finalize(round);
        _assertState(round, RoundState.Failed);
        vm.assertEq(committee.roundOf(round).spec, "a lesser card");
        vm.assertTrue(pool.machineOf(MACHINE).status == MachineStatus.Unverified);
        vm.assertEq(pool.told(MACHINE), 1);
    }

    /// @dev Only that other hardware was found is a fault: not that the machine passed, nor that it failed without a word.
    function test_what_is_false_hardware() external {
        bytes memory none = abi.encodeWithSelector(ICommittee.NoFalseHardware.selector, 1);
        _expect(none);
        committee.falseHardwareOf(1);
        (uint256 round, uint32[] memory seats) = _drawn();
        uint256 requestedAt = block.timestamp;
        _agree(round, seats, 3, false, 0);
        committee.finalize(round);
        _assertState(round, RoundState.Failed);
        _expect(none);
        committee.falseHardwareOf(round);
        vm.warp(requestedAt + 1 days);
        requestedAt = block.timestamp;
        (round, seats) = _drawn();
        _agree(round, seats, 3, false, SPEC);
        committee.finalize(round);
        (uint32 machine, uint16 revision, uint32 asked, uint32 found) = committee.falseHardwareOf(round);
        vm.assertTrue(machine == MACHINE && revision == 1 && asked == requestedAt);
        vm.assertEq(found, requestedAt + COMMIT + REVEAL);
    }

    /// @dev A machine changed or retired meanwhile: the round is decided and paid, and says nothing of the new revision.
    function test_a_machine_that_changed_meanwhile_is_left_alone() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 3, true, SPEC);
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Unverified, 2);
        committee.finalize(round);
        _assertState(round, RoundState.Passed);
        vm.assertEq(pool.told(MACHINE), 0);
        vm.assertTrue(pool.machineOf(MACHINE).status == MachineStatus.Unverified);
        vm.assertEq(pool.balanceOf(_holder(seats[0])), (FEE - REWARD) / 5);
        _assertSolvent();
    }

    function test_a_machine_that_retired_meanwhile_is_left_alone() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 3, true, SPEC);
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Retired, 1);
        committee.finalize(round);
        _assertState(round, RoundState.Passed);
        vm.assertEq(pool.told(MACHINE), 0);
    }

    /// @dev Attack: whoever finalizes leaves just too little gas for telling the pool, so that a failed machine stays
    /// verified. Then nothing at all happens.
    function testFuzz_little_gas_changes_nothing_or_all(uint256 gas_) external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 3, false, SPEC);
        (bool ok,) = address(committee).call{gas: gas_ % 400_000}(abi.encodeCall(ICommittee.finalize, (round)));
        vm.assertEq(pool.told(MACHINE), ok ? 1 : 0);
        _assertState(round, ok ? RoundState.Failed : RoundState.Drawn);
    }

    /// @dev Silent in one week and in the next: its stake is under its level, and it leaves, which no stake added later
    /// undoes. It signs nothing more, and is not counted.
    function test_a_seat_under_its_level_leaves_of_itself() external {
        _fineUntil(1, 2);
        Seat memory seat = committee.seatOf(1);
        vm.assertEq(seat.stake, STAKE - 2 * PENALTY);
        vm.assertEq(seat.leavesAt, block.timestamp + LEAVE_DELAY);
        vm.assertEq(committee.maturedSeats(1), 6);
        address holder = _holder(1);
        pool.deposit(holder, STAKE);
        _expect(abi.encodeWithSelector(ICommittee.SeatLeavingAlready.selector, 1));
        vm.prank(holder);
        committee.topUp(1, STAKE);
        // It is drawn no more.
        for (uint256 i = 0; i < 21; ++i) {
            skip(1 days);
            (uint256 round, uint32[] memory seats) = _drawn();
            vm.assertFalse(_among(seats, 1));
            skip(COMMIT + REVEAL);
            committee.finalize(round);
        }
        uint256 had = pool.balanceOf(holder);
        committee.exit(1);
        vm.assertEq(pool.balanceOf(holder) - had, STAKE - 2 * PENALTY);
        vm.assertEq(committee.maturedSeats(1), 6);
        _assertSolvent();
    }

    /// @dev The seat is silent until it has been fined so often; the others agree.
    function _fineUntil(uint32 silent, uint256 fines) private {
        uint96 aim = uint96(STAKE - fines * PENALTY);
        while (committee.seatOf(silent).stake > aim) {
            skip(1 days);
            (uint256 round, uint32[] memory seats) = _drawn();
            for (uint256 i = 0; i < 5; ++i) {
                if (seats[i] != silent) _commit(round, seats[i], true, SPEC, 1);
            }
            skip(COMMIT);
            for (uint256 i = 0; i < 5; ++i) {
                if (seats[i] != silent) _reveal(round, seats[i], true, SPEC, 1);
            }
            skip(REVEAL);
            committee.finalize(round);
        }
    }

    /// @dev Drawn for eleven machines at once and silent for all: a tenth, once in a week.
    function test_a_seat_is_fined_once_in_a_week() external {
        uint256[11] memory rounds;
        for (uint32 i = 0; i < 11; ++i) {
            pool.setMachine(i + 1, PROVIDER, MachineStatus.Unverified, 1);
            vm.prank(REQUESTER);
            rounds[i] = committee.requestVerification(i + 1, 1);
            uint32[] memory seats = _draw(rounds[i]);
            for (uint256 j = 0; j < 3; ++j) {
                _commit(rounds[i], seats[j], true, SPEC, 1);
            }
        }
        skip(COMMIT);
        for (uint256 i = 0; i < 11; ++i) {
            uint32[] memory seats = committee.drawnFor(rounds[i]);
            for (uint256 j = 0; j < 3; ++j) {
                _reveal(rounds[i], seats[j], true, SPEC, 1);
            }
        }
        skip(REVEAL);
        for (uint256 i = 0; i < 11; ++i) {
            committee.finalize(rounds[i]);
        }
        for (uint32 seat = 1; seat <= 7; ++seat) {
            vm.assertLe(STAKE - PENALTY, committee.seatOf(seat).stake, "fined twice");
            vm.assertEq(committee.seatOf(seat).leavesAt, 0);
        }
        _assertSolvent();
    }

    // ----------------------------------------------------------------------------------------------- what was taken back

    /// @dev Three of five agreed on a lie; one saw the truth and one was silent. The arbiter takes it back: each liar is
    /// fined, who saw otherwise has the part of the fee that he went without, and nobody else has anything of it.
    function test_an_outcome_that_was_taken_back() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _commit(round, seats[3], true, SPEC, 900);
        for (uint256 i = 0; i < 3; ++i) {
            _commit(round, seats[i], false, "a lie", 0);
        }
        skip(COMMIT);
        _reveal(round, seats[3], true, SPEC, 900);
        for (uint256 i = 0; i < 3; ++i) {
            _reveal(round, seats[i], false, "a lie", 0);
        }
        skip(REVEAL);
        committee.finalize(round);
        _expect(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, THIEF));
        vm.prank(THIEF);
        committee.overturn(round, address(0));
        uint256 burnt = pool.balanceOf(BURNT);
        uint96 share = (FEE - REWARD) / 5;
        _event();
        emit ICommittee.RoundOverturned(round, 1, share);
        vm.prank(address(pool));
        committee.overturn(round, address(0));
        for (uint256 i = 0; i < 3; ++i) {
            vm.assertEq(committee.seatOf(seats[i]).stake, STAKE - PENALTY);
        }
        vm.assertEq(pool.balanceOf(_holder(seats[3])), share);
        vm.assertEq(committee.seatOf(seats[4]).stake, STAKE - PENALTY); // silent
        vm.assertEq(pool.balanceOf(BURNT) - burnt, 3 * PENALTY - share);
        _assertSolvent();
    }

    function test_an_outcome_that_all_had_agreed_on() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 5, false, "a lie");
        committee.finalize(round);
        vm.prank(address(pool));
        committee.overturn(round, address(0));
        vm.assertEq(pool.balanceOf(BURNT), 5 * PENALTY);
        vm.prank(address(pool));
        committee.overturn(round, address(0)); // nobody is fined twice in a week
        vm.assertEq(pool.balanceOf(BURNT), 5 * PENALTY);
    }

    // ---------------------------------------------------------------------------------------------------------- levels

    /// @dev Seats that cost a unit judge nothing whose rules ask more: they are not counted, not drawn, and sign nothing.
    function test_cheap_seats_judge_nothing_dear() external {
        Params memory cheap = _params();
        (cheap.seatStake, cheap.verificationFee) = (1e18, 0);
        pool.setParams(cheap);
        for (uint256 i = 0; i < 40; ++i) {
            _join(_validator(100 + i));
        }
        skip(MATURITY);
        vm.assertEq(committee.maturedSeats(1), 47); // where a unit is asked, all of them
        pool.setParams(_params());
        vm.assertEq(committee.maturedSeats(1), 7);
        for (uint256 i = 0; i < 5; ++i) {
            (uint256 round, uint32[] memory seats) = _drawn();
            for (uint256 j = 0; j < 5; ++j) {
                vm.assertLe(seats[j], 7, "a cheap seat was drawn");
            }
            skip(COMMIT + REVEAL);
            committee.finalize(round);
        }
    }

    /// @dev Seats that cost more than what is asked are drawn beside those that cost just that: nine of seven and seven.
    function test_dearer_seats_judge_with_the_others() external {
        Params memory dear = _params();
        dear.seatStake = 2 * LEVEL;
        pool.setParams(dear);
        for (uint256 i = 0; i < 7; ++i) {
            pool.deposit(_validator(100 + i), STAKE);
            _join(_validator(100 + i));
        }
        skip(MATURITY);
        vm.assertEq(committee.maturedSeats(1), 7); // where the double is asked
        dear.seatStake = LEVEL;
        dear.committeeSize = 9;
        pool.setParams(dear);
        vm.assertEq(committee.maturedSeats(1), 14);
        (, uint32[] memory seats) = _drawn();
        uint256 dearer;
        for (uint256 i = 0; i < 9; ++i) {
            vm.assertTrue(seats[i] >= 1 && seats[i] <= 14);
            if (seats[i] > 7) ++dearer;
        }
        vm.assertTrue(dearer >= 2 && dearer <= 7);
        _assertSolvent();
    }

    function test_a_seat_is_bought_for_rules_that_are_or_were_in_force() external {
        bytes memory unknown = abi.encodeWithSelector(ICommittee.UnknownVersion.selector, 0);
        _expect(unknown);
        committee.join(0);
        _expect(abi.encodeWithSelector(ICommittee.UnknownVersion.selector, 2));
        committee.join(2);
    }

    function test_there_are_so_many_levels() external {
        Params memory other = _params();
        pool.deposit(_validator(1), 1e18); // for what these ask above the usual stake
        for (uint256 i = 1; i < 32; ++i) {
            other.seatStake = uint96(LEVEL + i);
            pool.setParams(other);
            _join(_validator(1));
        }
        other.seatStake = LEVEL - 1;
        pool.setParams(other);
        _expect(abi.encodeWithSelector(ICommittee.TooManyLevels.selector));
        committee.join(1);
    }

    /// @dev A rival who asks in front of `setHardware` keeps nothing unverified: the provider's own round is his own.
    function test_a_rival_s_round_bars_none_of_the_provider_s() external {
        uint256 rivals = _request();
        pool.setMachine(MACHINE, PROVIDER, MachineStatus.Unverified, 2);
        pool.deposit(PROVIDER, FEE);
        vm.prank(PROVIDER);
        uint256 own = committee.requestVerification(MACHINE, 2);
        vm.prank(REQUESTER);
        _expect(abi.encodeWithSelector(ICommittee.RoundRunning.selector, MACHINE, rivals));
        committee.requestVerification(MACHINE, 2);
        pool.deposit(PROVIDER, FEE);
        vm.prank(PROVIDER);
        _expect(abi.encodeWithSelector(ICommittee.RoundRunning.selector, MACHINE, own));
        committee.requestVerification(MACHINE, 2);
    }

    function test_a_seat_is_topped_up_to_what_is_full() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 3, true, SPEC);
        committee.finalize(round);
        uint32 weak = seats[4];
        pool.deposit(THIEF, STAKE);
        _event();
        emit ICommittee.SeatToppedUp(weak, STAKE - PENALTY + 1e18);
        vm.prank(THIEF); // anyone may
        committee.topUp(weak, 1e18);
        vm.prank(THIEF);
        committee.topUp(weak, STAKE);
        vm.assertEq(committee.seatOf(weak).stake, STAKE);
        vm.assertEq(pool.balanceOf(THIEF), STAKE - PENALTY);
        _assertSolvent();
    }

    /// @dev Attack: leaving as soon as one is drawn, to be away when it counts. Leaving takes longer than the round.
    function test_leaving_does_not_save_from_a_penalty() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        _leave(seats[4]);
        _agree(round, seats, 3, true, SPEC);
        committee.finalize(round);
        vm.assertEq(committee.seatOf(seats[4]).stake, STAKE - PENALTY);
    }

    /// @dev Nobody finalized for a week: whoever joined in a seat that was vacated neither pays nor is paid for it.
    function test_a_seat_s_next_holder_has_no_part() external {
        (uint256 round, uint32[] memory seats) = _drawn();
        address agreed = _holder(seats[0]);
        _leave(seats[0]);
        _leave(seats[3]);
        _leave(seats[4]);
        _agree(round, seats, 3, true, SPEC);
        skip(LEAVE_DELAY);
        committee.exit(seats[0]);
        committee.exit(seats[3]);
        committee.exit(seats[4]);
        vm.assertEq(_join(THIEF), seats[4]);
        vm.assertEq(_join(THIEF), seats[3]); // and seats[0] stays empty
        committee.finalize(round);
        vm.assertEq(committee.seatOf(seats[3]).stake, STAKE);
        vm.assertEq(committee.seatOf(seats[4]).stake, STAKE);
        uint256 share = (FEE - REWARD) / 5;
        vm.assertEq(pool.balanceOf(agreed), STAKE);
        vm.assertEq(pool.balanceOf(BURNT), FEE - REWARD - 2 * share);
        _assertSolvent();
    }

    function test_without_a_fee() external {
        Params memory params = _params();
        params.verificationFee = 0;
        pool.setParams(params);
        (uint256 round, uint32[] memory seats) = _drawn(); // nothing is charged, nothing paid
        _agree(round, seats, 3, true, SPEC);
        committee.finalize(round);
        vm.assertEq(pool.balanceOf(BURNT), 2 * PENALTY);
        _assertSolvent();
    }
}

contract CommitteeQuorumTest is CommitteeWorld {
    bytes32 private constant TYPE = keccak256("Outage(address account,uint32 machine,uint64 from,uint64 to)");

    function _outage(uint256 account) private view returns (bytes32) {
        bytes32 type_ = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        bytes32 domain =
            keccak256(abi.encode(type_, keccak256("Leasehold"), keccak256("1"), block.chainid, address(pool)));
        bytes32 said = keccak256(abi.encode(TYPE, _validator(account), MACHINE, uint64(1), uint64(2)));
        return keccak256(abi.encodePacked(hex"1901", domain, said));
    }

    function _isQuorum(uint32[] memory seats, bytes[] memory proofs) private returns (bool) {
        return _saysSo(2, seats, proofs);
    }

    function _saysSo(uint64 to, uint32[] memory seats, bytes[] memory proofs) private returns (bool) {
        try committee.witness(1, MACHINE, 1, to, seats, proofs) returns (bytes32) {
            return true;
        } catch (bytes memory error_) {
            vm.assertEq(error_, abi.encodeWithSelector(ICommittee.NoQuorum.selector));
            return false;
        }
    }

    /// @dev Seats 1 to `count`, each signed by its own validator's key.
    function _signed(uint256 count) private view returns (uint32[] memory seats, bytes[] memory proofs) {
        seats = new uint32[](count);
        proofs = new bytes[](count);
        for (uint256 i = 0; i < count; ++i) {
            seats[i] = uint32(i + 1);
            proofs[i] = _sign(i + 1, _outage(i + 1));
        }
    }

    function _is(uint256 count) private returns (bool) {
        (uint32[] memory seats, bytes[] memory proofs) = _signed(count);
        return _isQuorum(seats, proofs);
    }

    function test_more_than_two_thirds() external {
        _seats(9);
        vm.assertFalse(_is(6)); // two thirds
        vm.assertTrue(_is(7));
        vm.assertTrue(_is(9));
    }

    function test_five_at_least() external {
        _seats(4);
        vm.assertFalse(_is(4));
        vm.assertFalse(_is(0));
    }

    /// @dev Attack: one validator with a hundred seats calls itself a quorum. It has all of two thirds, and is one.
    function test_one_validator_is_no_quorum() external {
        for (uint256 i = 0; i < 20; ++i) {
            _join(_validator(1));
        }
        for (uint256 i = 2; i <= 4; ++i) {
            _join(_validator(i));
        }
        skip(MATURITY);
        (uint32[] memory seats, bytes[] memory proofs) = _signed(23);
        for (uint256 i = 0; i < 20; ++i) {
            proofs[i] = i == 0 ? _sign(1, _outage(1)) : bytes("");
        }
        for (uint256 i = 20; i < 23; ++i) {
            proofs[i] = _sign(i - 18, _outage(i - 18));
        }
        vm.assertFalse(_isQuorum(seats, proofs)); // four are not five
        _join(_validator(5));
        skip(MATURITY);
        (uint32[] memory more,) = _signed(24);
        bytes[] memory all = new bytes[](24);
        for (uint256 i = 0; i < 23; ++i) {
            all[i] = proofs[i];
        }
        all[23] = _sign(5, _outage(5));
        vm.assertTrue(_isQuorum(more, all));
        all[23] = _sign(6, _outage(6));
        vm.assertFalse(_isQuorum(more, all));
    }

    /// @dev A sixth validator's further seats are not remembered: each needs its proof.
    function test_every_validator_signs() external {
        _seats(6);
        _join(_validator(6));
        skip(MATURITY);
        (uint32[] memory seats, bytes[] memory proofs) = _signed(7);
        proofs[6] = "";
        vm.assertFalse(_isQuorum(seats, proofs));
        proofs[6] = proofs[5];
        vm.assertTrue(_isQuorum(seats, proofs));
    }

    function test_no_seat_counts_twice() external {
        _seats(6);
        (uint32[] memory seats, bytes[] memory proofs) = _signed(6);
        vm.assertTrue(_isQuorum(seats, proofs));
        (seats[1], proofs[1]) = (seats[0], proofs[0]);
        vm.assertFalse(_isQuorum(seats, proofs)); // twice
        (seats, proofs) = _signed(6);
        (seats[0], seats[1]) = (seats[1], seats[0]);
        (proofs[0], proofs[1]) = (proofs[1], proofs[0]);
        vm.assertFalse(_isQuorum(seats, proofs)); // not in order
    }

    function test_seats_that_do_not_count() external {
        _seats(6);
        _join(_validator(7));
        vm.assertFalse(_is(7)); // the seventh is immature
        vm.assertTrue(_is(6));
        vm.assertTrue(_is(5)); // of six matured ones
        vm.assertFalse(_is(8)); // nobody holds the eighth
        (uint32[] memory seats, bytes[] memory proofs) = _signed(6);
        seats[0] = 0;
        vm.assertFalse(_isQuorum(seats, proofs));
        skip(MATURITY);
        vm.assertTrue(_is(7));
    }

    /// @dev One that leaves counts until it has exited: nobody makes a quorum by leaving it.
    function test_leaving_seats_count() external {
        _seats(9);
        _leave(9);
        vm.assertFalse(_is(6));
        skip(LEAVE_DELAY);
        vm.assertFalse(_is(6));
        committee.exit(9);
        vm.assertTrue(_is(6)); // of eight
    }

    function test_each_signs_this() external {
        _seats(5);
        (uint32[] memory seats, bytes[] memory proofs) = _signed(5);
        vm.assertTrue(_isQuorum(seats, proofs));
        vm.assertFalse(_saysSo(3, seats, proofs));
        proofs[2] = _sign(9, _outage(9));
        vm.assertFalse(_isQuorum(seats, proofs));
        vm.assertFalse(_isQuorum(seats, new bytes[](4)));
    }

    /// @dev A tenth by stake: one seat for whose price ten were bought earns what they earn together.
    function test_a_quorum_is_paid_by_stake() external {
        _seats(5);
        (uint32[] memory seats, bytes[] memory proofs) = _signed(5);
        Signer[] memory signers = new Signer[](5);
        for (uint32 i = 0; i < 5; ++i) {
            signers[i] = Signer(i + 1, _validator(i + 1), i == 0 ? 10 * LEVEL : LEVEL);
        }
        bytes32 quorum = keccak256(abi.encode(signers));
        bytes memory nothing = abi.encodeWithSelector(ICommittee.NothingForQuorum.selector, quorum);
        _expect(nothing);
        committee.payQuorum(signers);
        _expect(nothing);
        committee.fineQuorum(signers, address(0));
        _expect(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, THIEF));
        vm.prank(THIEF);
        committee.credit(quorum, 1);
        pool.deposit(address(committee), 14e18 + 3);
        vm.prank(address(pool));
        committee.credit(quorum, 14e18 + 3);
        vm.assertEq(committee.dueOf(quorum), 14e18 + 3);
        vm.assertEq(committee.disownedAt(quorum, address(0)), 0);
        committee.payQuorum(signers);
        vm.assertEq(pool.balanceOf(_validator(1)), 10e18 + 2);
        vm.assertEq(pool.balanceOf(_validator(2)), 1e18);
        vm.assertEq(pool.balanceOf(BURNT), 1);
        vm.assertEq(committee.witness(1, MACHINE, 1, 2, seats, proofs), _plain());
    }

    function _plain() private pure returns (bytes32) {
        Signer[] memory signers = new Signer[](5);
        for (uint32 i = 0; i < 5; ++i) {
            signers[i] = Signer(i + 1, _validator(i + 1), LEVEL);
        }
        return keccak256(abi.encode(signers));
    }

    /// @dev What five signed was taken back: they are fined, once, and whoever took the seat of one that left is not.
    function test_a_quorum_whose_word_was_taken_back() external {
        _seats(5);
        Signer[] memory signers = new Signer[](5);
        for (uint32 i = 0; i < 5; ++i) {
            signers[i] = Signer(i + 1, _validator(i + 1), LEVEL);
        }
        _leave(5);
        skip(LEAVE_DELAY);
        committee.exit(5);
        _join(THIEF);
        _expect(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, THIEF));
        vm.prank(THIEF);
        committee.disown(_plain(), address(0));
        vm.prank(address(pool));
        committee.disown(_plain(), address(0));
        committee.fineQuorum(signers, address(0));
        vm.assertEq(pool.balanceOf(BURNT), 4 * PENALTY);
        vm.assertEq(committee.seatOf(5).stake, STAKE);
        _expect(abi.encodeWithSelector(ICommittee.NothingForQuorum.selector, _plain()));
        committee.fineQuorum(signers, address(0));
        // Again in the same week: they are not fined again.
        vm.prank(address(pool));
        committee.disown(_plain(), address(0));
        committee.fineQuorum(signers, address(0));
        vm.assertEq(pool.balanceOf(BURNT), 4 * PENALTY);
        _assertSolvent();
    }

    /// @dev Attack: an owner's own arbiter, whom only machines of his own have accepted, takes back what honest seats signed.
    /// They answer to the one under whose version they joined, and a word that this one took back waits for its fine
    /// whatever others take back.
    function test_a_seat_answers_to_its_own_arbiter() external {
        _seats(5);
        Signer[] memory signers = new Signer[](5);
        for (uint32 i = 0; i < 5; ++i) {
            signers[i] = Signer(i + 1, _validator(i + 1), LEVEL);
        }
        vm.prank(address(pool));
        committee.disown(_plain(), address(0));
        uint256 time = vm.getBlockTimestamp();
        skip(1);
        vm.prank(address(pool));
        committee.disown(_plain(), THIEF);
        committee.fineQuorum(signers, THIEF);
        vm.assertEq(pool.balanceOf(BURNT), 0);
        vm.assertEq(committee.disownedAt(_plain(), THIEF), 0);
        vm.assertEq(committee.disownedAt(_plain(), address(0)), time);
        committee.fineQuorum(signers, address(0));
        vm.assertEq(pool.balanceOf(BURNT), 5 * PENALTY);
    }

    function test_a_committee_answers_to_its_own_arbiter() external {
        _seats(7);
        (uint256 round, uint32[] memory seats) = _drawn();
        _agree(round, seats, 5, false, SPEC);
        committee.finalize(round);
        vm.prank(address(pool));
        committee.overturn(round, THIEF);
        vm.assertEq(pool.balanceOf(BURNT), 0);
        vm.prank(address(pool));
        committee.overturn(round, address(0));
        vm.assertEq(pool.balanceOf(BURNT), 5 * PENALTY);
    }

    /// @dev Of seats that cost nothing nobody has a part.
    function test_a_quorum_of_free_seats() external {
        Signer[] memory signers = new Signer[](1);
        signers[0] = Signer(1, THIEF, 0);
        bytes32 quorum = keccak256(abi.encode(signers));
        pool.deposit(address(committee), 5);
        vm.prank(address(pool));
        committee.credit(quorum, 5);
        committee.payQuorum(signers);
        vm.assertEq(pool.balanceOf(BURNT), 5);
    }

    function test_too_many_to_sign() external {
        vm.assertFalse(_isQuorum(new uint32[](513), new bytes[](513)));
    }
}
