// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, RoundState, Seat} from "../../interfaces/ICommittee.sol";
import {IPoolHooks} from "../../interfaces/IPoolHooks.sol";
import {MachineView} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Draws} from "./Draws.sol";

/// @title What those drawn say: sealed, then open, then counted; and an outcome that was taken back.
abstract contract Votes is Draws {
    uint256 private constant MAX_SIZE = 15;
    uint256 private constant MAX_SCORE = 1000;
    /// @dev Sixteen bits of `votes` for each of those drawn.
    uint256 private constant LANE = 16;
    uint256 private constant SCORE_BITS = 0x3FF;
    uint256 private constant PASS = 0x400;
    uint256 private constant REVEALED = 0x800;

    /// @inheritdoc ICommittee
    function commit(uint256 round, uint32 seat, bytes32 commitment) external {
        Stored storage held = _inState(round, RoundState.Drawn);
        _place(round, held, seat);
        if (block.timestamp >= held.commitUntil) revert CommitOver(round, held.commitUntil);
        if (_sealed[round][seat] != 0) revert AlreadyCommitted(round, seat);

        _sealed[round][seat] = commitment;
        emit Committed(round, seat, commitment);
    }

    /// @inheritdoc ICommittee
    function reveal(uint256 round, uint32 seat, bool pass, bytes32 spec, uint16 score, bytes32 salt) external {
        // Check
        Stored storage held = _inState(round, RoundState.Drawn);
        uint256 lane = LANE * _place(round, held, seat);
        uint256 from = held.commitUntil;
        if (block.timestamp < from) revert RevealNotOpen(round, from);
        if (block.timestamp >= from + REVEAL_WINDOW) revert RevealOver(round, from + REVEAL_WINDOW);
        if (score > MAX_SCORE) revert InvalidScore(score);
        // What was revealed stands there in the commitment's place, so it cannot be revealed again.
        bytes32 commitment =
            keccak256(abi.encode(block.chainid, address(_controller()), round, seat, pass, spec, score, salt));
        if ((held.votes >> lane) & REVEALED != 0 || _sealed[round][seat] != commitment) {
            revert WrongReveal(round, seat);
        }

        // Effect, Log
        _sealed[round][seat] = spec;
        held.votes |= (REVEALED | (pass ? PASS : 0) | score) << lane;
        emit Revealed(round, seat, pass, spec, score);
    }

    /// @inheritdoc ICommittee
    function finalize(uint256 round) external {
        // Check
        Stored storage held = _inState(round, RoundState.Drawn);
        uint256 until = held.commitUntil + REVEAL_WINDOW;
        if (block.timestamp < until) revert RoundOpen(round, until);
        (uint256 agreeing, uint256 leader, uint256 agreed) = _count(round, held);
        if (agreed == 0) return _inconclusive(round, held);

        // Effect
        bool pass = (held.votes >> (LANE * leader)) & PASS != 0;
        RoundState state = pass ? RoundState.Passed : RoundState.Failed;
        uint16 score = _median(held.votes, agreeing, agreed);
        bytes32 spec = _sealed[round][held.drawn[leader]];
        held.state = state;
        held.score = score;
        if (spec != 0) held.spec = spec;
        _fineSilent(held);

        // Interact, Log
        _share(held, agreeing);
        _tell(held, pass);
        emit RoundFinalized(round, held.machine, state, spec, score, uint8(agreed));
    }

    /// @inheritdoc ICommittee
    function overturn(uint256 round, address arbiter) external onlyFaults {
        // Check. Faults has seen that the round had an outcome.
        Stored storage held = _rounds[round];
        (uint256 agreeing,,) = _count(round, held);
        uint256 votes = held.votes;

        // Effect
        uint256 others;
        uint256 fines;
        for (uint256 i = 0; i < held.size; ++i) {
            if (agreeing & (1 << i) != 0) fines += _fineUnder(arbiter, held.drawn[i], held.requestedAt);
            else if (_wasRevealed(votes, i)) ++others;
        }

        // Interact, Log. No more than the fines.
        uint256 each = others == 0 ? 0 : Billing.min(held.fee, fines / others);
        for (uint256 i = 0; each != 0 && i < held.size; ++i) {
            Seat storage other = _seats[held.drawn[i]];
            if (agreeing & (1 << i) != 0 || !_wasRevealed(votes, i) || !_heldSince(other, held.requestedAt)) continue;
            fines -= each;
            _pay(other.validator, each);
        }
        _pay(BURNT, fines);
        emit RoundOverturned(round, others, each);
    }

    // -------------------------------------------------------------------------------------------------------- of a vote

    /// @return index of the seat among those drawn, for a call of its validator's
    function _place(uint256 round, Stored storage held, uint32 seat) private view returns (uint256 index) {
        uint256 size = held.size;
        while (index < size && held.drawn[index] != seat) ++index;
        if (index == size) revert NotDrawn(round, seat);
        _only(_seats[seat].validator);
    }

    function _wasRevealed(uint256 votes, uint256 index) private pure returns (bool) {
        return (votes >> (LANE * index)) & REVEALED != 0;
    }

    /// @return agreeing a bit for each of those drawn who agree with the clear majority
    /// @return leader the first of them
    /// @return agreed how many they are; 0 without a clear majority
    function _count(uint256 round, Stored storage held)
        private
        view
        returns (uint256 agreeing, uint256 leader, uint256 agreed)
    {
        uint256 size = held.size;
        uint256 votes = held.votes;
        bytes32[] memory specs = new bytes32[](size);
        for (uint256 i = 0; i < size; ++i) {
            specs[i] = _sealed[round][held.drawn[i]];
        }
        for (leader = 0; leader < size; ++leader) {
            uint256 stands = (votes >> (LANE * leader)) & (PASS | REVEALED);
            if (stands & REVEALED == 0) continue;
            (agreeing, agreed) = (0, 0);
            for (uint256 i = leader; i < size; ++i) {
                if ((votes >> (LANE * i)) & (PASS | REVEALED) != stands || specs[i] != specs[leader]) continue;
                agreeing |= 1 << i;
                ++agreed;
            }
            if (2 * agreed > size) return (agreeing, leader, agreed);
        }
        return (0, 0, 0);
    }

    /// @dev The middle one of the scores of `agreeing`: of an even number the lower of the two.
    function _median(uint256 votes, uint256 agreeing, uint256 agreed) private pure returns (uint16) {
        uint256[] memory sorted = new uint256[](agreed);
        uint256 count;
        for (uint256 i = 0; i < MAX_SIZE; ++i) {
            if (agreeing & (1 << i) == 0) continue;
            uint256 score = (votes >> (LANE * i)) & SCORE_BITS;
            uint256 at = count++;
            for (; at != 0 && sorted[at - 1] > score; --at) {
                sorted[at] = sorted[at - 1];
            }
            sorted[at] = score;
        }
        return uint16(sorted[(agreed - 1) / 2]); // of ten bits
    }

    // ---------------------------------------------------------------------------------------------------- of an outcome

    /// @dev Of a round with an outcome: who revealed nothing.
    function _fineSilent(Stored storage held) private {
        uint256 size = held.size;
        uint256 votes = held.votes;
        uint256 fines;
        for (uint256 i = 0; i < size; ++i) {
            if (!_wasRevealed(votes, i)) fines += _fine(held.drawn[i], held.requestedAt);
        }
        _pay(BURNT, fines);
    }

    /// @dev Who agrees has his part of what is left of the fee, which is kept: as much as if all did, or a majority would gain
    /// by a view that the rest do not have. The rest is burnt: whoever asked may be of that majority.
    function _share(Stored storage held, uint256 agreeing) private {
        uint256 left = held.fee;
        uint256 size = held.size;
        uint256 share = left / size;
        held.fee = uint96(share); // a part of what was of 96 bits
        for (uint256 i = 0; i < size; ++i) {
            Seat storage paid = _seats[held.drawn[i]];
            if (agreeing & (1 << i) == 0 || !_heldSince(paid, held.requestedAt)) continue;
            left -= share;
            _pay(paid.validator, share);
        }
        _pay(BURNT, left);
    }

    /// @dev Tells the pool. That a machine passed is said of the revision that was measured; that it failed, also of a later
    /// one, or its provider would set new terms in front of it. Nothing is said after what a round found that was asked for
    /// later, in whatever order they are finalized. Asked first, not tried and caught: whoever finalizes could leave just too
    /// little gas for the telling.
    function _tell(Stored storage held, bool pass) private {
        uint32 machine = held.machine;
        MachineView memory seen = _machine(machine);
        if (!_inService(seen) || (pass && seen.revision != held.revision)) return;
        uint256 asked = held.requestedAt;
        if (asked < _told[machine]) return;
        _told[machine] = asked;
        IPoolHooks(address(_controller())).setVerified(machine, seen.revision, pass);
    }
}
