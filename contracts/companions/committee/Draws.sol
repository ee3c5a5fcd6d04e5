// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {ICommittee, RoundState, Seat} from "../../interfaces/ICommittee.sol";
import {MachineView, Params} from "../../interfaces/PoolTypes.sol";
import {Seats} from "./Seats.sol";

/// @title Rounds that are asked for, and the committee that a block's hash draws.
abstract contract Draws is Seats {
    using Checkpoints for Checkpoints.Trace224;

    uint256 private constant COMMIT_WINDOW = 4 hours;
    /// @dev Of the fee, for the draw, once more for each miss: a quarter of it at most, for with the fifth miss it is over.
    uint256 private constant REWARD_DIVISOR = 20;
    uint256 private constant MAX_MISSES = 5;
    /// @dev How many older blocks' hashes the chain knows.
    uint256 private constant HASHES = 256;
    /// @dev Seats looked at in one draw: what keeps it bounded where most are excluded.
    uint256 private constant MAX_TRIES = 256;

    /// @inheritdoc ICommittee
    function requestVerification(uint32 machine, uint16 revision) external returns (uint256 round) {
        // Check
        MachineView memory seen = _machine(machine);
        if (!_inService(seen)) revert MachineNotInService(machine);
        if (revision != seen.revision) revert WrongRevision(seen.revision);
        Params memory accepted = _rules(seen.params);
        bool byProvider = _actor() == seen.provider;
        _mayBeVerified(machine, byProvider, accepted.reverifyInterval);
        uint256 matured = _matured(accepted.seatStake);
        if (matured < accepted.committeeSize) revert TooFewSeats(matured, accepted.committeeSize);

        // Effect
        round = ++_census.rounds;
        _lastRound[machine][byProvider] = round;
        Stored storage made = _rounds[round];
        made.machine = machine;
        made.revision = revision;
        made.state = RoundState.Requested;
        made.requestedAt = SafeCast.toUint32(block.timestamp);
        made.size = accepted.committeeSize;
        made.requester = _actor();
        made.fee = accepted.verificationFee;
        _nameBlock(made);

        // Interact, Log
        _charge(accepted.verificationFee);
        emit VerificationRequested(round, machine, revision, _actor(), accepted.verificationFee, made.block_);
    }

    /// @inheritdoc ICommittee
    /// @dev Nobody gains by letting a block pass: the reward grows for whoever draws, and everybody may.
    function draw(uint256 round) external {
        // Check
        Stored storage held = _inState(round, RoundState.Requested);
        uint256 named = held.block_;
        if (block.number <= named) revert BlockNotMined(named);
        if (block.number > named + HASHES) return _miss(round, held);
        (uint32[] memory drawn, uint256 found) = _sample(round, held, blockhash(named));
        if (found < drawn.length) return _miss(round, held);

        // Effect
        uint256 fee = held.fee;
        uint256 reward = fee * (uint256(held.misses) + 1) / REWARD_DIVISOR;
        uint32 commitUntil = SafeCast.toUint32(block.timestamp + COMMIT_WINDOW);
        held.state = RoundState.Drawn;
        held.commitUntil = commitUntil;
        held.fee = uint96(fee - reward);
        for (uint256 i = 0; i < drawn.length; ++i) {
            held.drawn[i] = drawn[i];
        }

        // Interact, Log
        _pay(_actor(), reward);
        emit CommitteeDrawn(round, drawn, commitUntil, SafeCast.toUint32(commitUntil + REVEAL_WINDOW));
    }

    /// @inheritdoc ICommittee
    function drawnFor(uint256 round) external view returns (uint32[] memory seats) {
        Stored storage held = _rounds[round];
        if (held.commitUntil == 0) return seats;
        seats = new uint32[](held.size);
        for (uint256 i = 0; i < seats.length; ++i) {
            seats[i] = held.drawn[i];
        }
    }

    // ------------------------------------------------------------------------------------------------------- of a round

    function _inState(uint256 round, RoundState state) internal view returns (Stored storage held) {
        held = _rounds[round];
        RoundState now_ = held.state;
        if (now_ == RoundState.None) revert UnknownRound(round);
        if (now_ != state) revert WrongRoundState(round, now_);
    }

    function _mayBeVerified(uint32 machine, bool byProvider, uint256 interval) private view {
        uint256 last = _lastRound[machine][byProvider];
        Stored storage before = _rounds[last];
        RoundState state = before.state;
        if (state == RoundState.Requested || state == RoundState.Drawn) revert RoundRunning(machine, last);
        if (state == RoundState.None || state == RoundState.Inconclusive) return;
        uint256 nextAt = before.requestedAt + interval;
        if (block.timestamp < nextAt) revert TooSoon(machine, nextAt);
    }

    /// @dev Nobody knows the hash of a block that is yet to come but, for one block, its proposer.
    function _nameBlock(Stored storage held) private {
        held.block_ = SafeCast.toUint40(block.number + 1);
        held.namedAt = SafeCast.toUint32(block.timestamp);
    }

    function _miss(uint256 round, Stored storage held) private {
        uint8 misses = held.misses + 1;
        held.misses = misses;
        if (misses == MAX_MISSES) return _inconclusive(round, held);
        _nameBlock(held);
        emit DrawMissed(round, held.block_);
    }

    function _inconclusive(uint256 round, Stored storage held) internal {
        // Effect
        uint256 fee = held.fee;
        held.state = RoundState.Inconclusive;
        held.fee = 0;

        // Interact, Log
        _pay(held.requester, fee);
        emit RoundFinalized(round, held.machine, RoundState.Inconclusive, 0, 0, 0);
    }

    // -------------------------------------------------------------------------------------------------------- of a draw

    /// @dev As many different seats as the round wants, by the numbers that follow from `entropy`; fewer, if most of those
    /// looked at are excluded.
    function _sample(uint256 round, Stored storage held, bytes32 entropy)
        private
        view
        returns (uint32[] memory drawn, uint256 found)
    {
        drawn = new uint32[](held.size);
        (uint256[] memory places, uint256 all) = _places(held, held.requestedAt - MATURITY);
        address provider = _machine(held.machine).provider;
        for (uint256 i = 0; i < MAX_TRIES && found < drawn.length; ++i) {
            uint32 seat = _seatAt(places, uint256(keccak256(abi.encode(entropy, address(this), round, i))) % all);
            if (!_mayBeDrawn(_seats[seat], held, provider) || _holds(drawn, found, seat)) continue;
            drawn[found++] = seat;
        }
    }

    /// @dev What was so when the block was named. One who began to leave in that very second is drawn: perhaps it knew the
    /// hash by then.
    function _mayBeDrawn(Seat storage seat, Stored storage held, address provider) private view returns (bool) {
        uint256 leavesAt = seat.leavesAt;
        if (leavesAt != 0 && leavesAt < held.namedAt + LEAVE_DELAY) return false;
        address validator = seat.validator;
        return validator != address(0) && seat.joinedAt + MATURITY <= held.requestedAt && validator != provider
            && validator != held.requester;
    }

    /// @dev How many places each level had at `time`, none if the rules that the measured revision accepts ask more, and how
    /// many that makes. There are some: a round is only requested where there are seats for it.
    function _places(Stored storage held, uint256 time) private view returns (uint256[] memory places, uint256 all) {
        (, uint16 accepted) = _controller().termsOf(held.machine, held.revision);
        uint96 least = _priceUnder(accepted);
        places = new uint256[](_levels.length);
        for (uint256 i = 0; i < places.length; ++i) {
            Level storage level = _levels[i];
            if (level.price < least) continue;
            places[i] = uint32(level.joins.upperLookup(uint32(time))); // a time that was `requestedAt`'s, of 32 bits
            all += places[i];
        }
    }

    function _seatAt(uint256[] memory places, uint256 index) private view returns (uint32) {
        uint256 i = 0;
        for (; index >= places[i]; ++i) {
            index -= places[i];
        }
        return _levels[i].places[index];
    }

    function _holds(uint32[] memory drawn, uint256 found, uint32 seat) private pure returns (bool) {
        for (uint256 i = 0; i < found; ++i) {
            if (drawn[i] == seat) return true;
        }
        return false;
    }
}
