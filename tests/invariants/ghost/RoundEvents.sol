// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, RoundState, Signer} from "../../../contracts/interfaces/ICommittee.sol";
import {IReputation} from "../../../contracts/interfaces/IReputation.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {Cheats, vm} from "../Cheats.sol";
import {Book} from "./Book.sol";

/// @notice Committees, and ratings.
abstract contract RoundEvents is Book {
    function _absorbRound(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        uint256 id = log.topics.length > 1 ? uint256(log.topics[1]) : 0;
        Round storage r = _rounds[id];
        if (kind == ICommittee.SeatJoined.selector) {
            if (id > seats) seats = uint32(id);
            (uint96 level,) = abi.decode(log.data, (uint96, uint96));
            _seats[uint32(id)] = Seat(level, 0, pool.params(_joining).arbiter);
            _expect(level == pool.params(_joining).seatStake, 18, "a seat of another level than its version asks");
        } else if (kind == ICommittee.SeatFined.selector) {
            _fined(uint32(id), log);
        } else if (kind == ICommittee.RoundOverturned.selector) {
            _explainOverturned(r);
        } else if (kind == ICommittee.VerificationRequested.selector) {
            roundCount++;
            (r.revision,,) = abi.decode(log.data, (uint16, uint96, uint64));
            (r.machine, r.requester) = (uint32(uint256(log.topics[2])), _account(log, 3));
        } else if (kind == ICommittee.CommitteeDrawn.selector) {
            (r.drawn,,) = abi.decode(log.data, (uint32[], uint32, uint32));
            _drawn(r);
        } else if (kind == ICommittee.Revealed.selector) {
            Vote memory vote;
            vote.seat = uint32(uint256(log.topics[2]));
            (vote.pass, vote.spec, vote.score) = abi.decode(log.data, (bool, bytes32, uint16));
            for (uint256 i = 0; i < r.votes.length; i++) {
                _expect(r.votes[i].seat != vote.seat, 18, "a seat revealed twice");
            }
            r.votes.push(vote);
        } else if (kind == ICommittee.RoundFinalized.selector) {
            _finalized(log, r);
            _explainSilent(r);
        } else if (log.topics.length > 1) {
            _absorbQuorum(log, log.topics[1]);
        }
    }

    function _absorbQuorum(Cheats.Log memory log, bytes32 id) private {
        bytes32 kind = log.topics[0];
        Quorum storage q = _quorums[id];
        if (kind == ICommittee.QuorumSigned.selector) {
            if (q.signers.length != 0) return; // the same say another thing
            quorums.push(id);
            Signer[] memory signers = abi.decode(log.data, (Signer[]));
            for (uint256 i = 0; i < signers.length; i++) {
                q.signers.push(signers[i]);
            }
        } else if (kind == ICommittee.QuorumCredited.selector) {
            q.due = abi.decode(log.data, (uint96));
        } else if (kind == ICommittee.QuorumPaid.selector) {
            q.due = 0;
        } else if (kind == ICommittee.QuorumDisowned.selector) {
            q.disownedBy[_account(log, 2)] = true;
            _expect(_acting == _account(log, 2), 22, "one arbiter takes a word back in another's name");
        } else if (kind == ICommittee.QuorumFined.selector) {
            _explainDisowned(q, _account(log, 2));
        }
    }

    /// @dev Of a quorum whose word an arbiter took back, whoever joined under him is fined, once.
    function _explainDisowned(Quorum storage q, address arbiter) private {
        _expect(q.disownedBy[arbiter], 22, "a quorum was fined whose word nobody took back");
        q.disownedBy[arbiter] = false;
        for (uint256 i = 0; i < _fines.length; i++) {
            uint32 seat = _fines[i].seat;
            _expect(_hasSigned(q, seat), 22, "a seat paid for what others had signed");
            _expect(_seats[seat].arbiter == arbiter, 22, "a seat paid for an arbiter whom it never accepted");
        }
        delete _fines;
    }

    function _hasSigned(Quorum storage q, uint32 seat) private view returns (bool) {
        for (uint256 i = 0; i < q.signers.length; i++) {
            if (q.signers[i].seat == seat) return true;
        }
        return false;
    }

    function _fined(uint32 id, Cheats.Log memory log) private {
        Seat storage seat = _seats[id];
        (uint96 amount,) = abi.decode(log.data, (uint96, uint96));
        uint32 now_ = uint32(vm.getBlockTimestamp());
        _expect(amount <= seat.level / 10, 22, "a seat was fined more than a tenth");
        _expect(seat.finedAt == 0 || now_ >= seat.finedAt + 7 days, 22, "a seat was fined twice in a week");
        seat.finedAt = now_;
        _fines.push(Fine(id, amount));
    }

    /// @dev Of a round with an outcome, whoever revealed nothing is fined, and nobody else.
    function _explainSilent(Round storage r) private {
        for (uint256 i = 0; i < _fines.length; i++) {
            (bool revealed,) = _voteOf(r, _fines[i].seat);
            _expect(!revealed && _wasDrawn(r, _fines[i].seat), 22, "a seat paid for more than its silence");
        }
        delete _fines;
    }

    /// @dev Of a round that was taken back, whoever agreed with its majority is fined, if he joined under who took it back.
    function _explainOverturned(Round storage r) private {
        for (uint256 i = 0; i < _fines.length; i++) {
            (, bool agreed) = _voteOf(r, _fines[i].seat);
            _expect(r.over && agreed, 22, "a seat paid for what others found");
            bool accepted = _seats[_fines[i].seat].arbiter == _acting;
            _expect(accepted, 22, "a seat paid for an arbiter whom it never accepted");
        }
        delete _fines;
    }

    function _wasDrawn(Round storage r, uint32 seat) private view returns (bool) {
        for (uint256 i = 0; i < r.drawn.length; i++) {
            if (r.drawn[i] == seat) return true;
        }
        return false;
    }

    function _voteOf(Round storage r, uint32 seat) private view returns (bool revealed, bool agreed) {
        for (uint256 i = 0; i < r.votes.length; i++) {
            Vote storage vote = r.votes[i];
            if (vote.seat == seat) return (true, vote.pass == r.passed && vote.spec == r.spec);
        }
    }

    function _drawn(Round storage r) private {
        (, uint16 accepted) = pool.termsOf(r.machine, r.revision);
        uint96 least = pool.params(accepted).seatStake;
        for (uint256 i = 0; i < r.drawn.length; i++) {
            address validator = committee.seatOf(r.drawn[i]).validator;
            _expect(validator != _machines[r.machine].provider, 18, "a provider measures itself");
            _expect(_seats[r.drawn[i]].level >= least, 18, "a seat measures what costs more than it");
            _expect(validator != r.requester, 18, "who asked for a verification sits in its committee");
            for (uint256 j = 0; j < i; j++) {
                _expect(r.drawn[j] != r.drawn[i], 18, "a seat was drawn twice");
            }
        }
    }

    function _finalized(Cheats.Log memory log, Round storage r) private {
        (RoundState state, bytes32 spec, uint16 score, uint8 agreed) =
            abi.decode(log.data, (RoundState, bytes32, uint16, uint8));
        _expect(!r.over, 18, "a round ended twice");
        r.over = true;
        (r.passed, r.spec) = (state == RoundState.Passed, spec);
        if (state != RoundState.Inconclusive) {
            uint256 support = _support(r, state == RoundState.Passed, spec);
            _expect(2 * support > r.drawn.length, 18, "an outcome without a majority of reveals");
            _expect(support == agreed && _isMedian(r, state == RoundState.Passed, spec, score), 18, "a false count");
            return;
        }
        for (uint256 i = 0; i < r.votes.length; i++) {
            uint256 support = _support(r, r.votes[i].pass, r.votes[i].spec);
            _expect(2 * support <= r.drawn.length, 18, "a majority was not heard");
        }
    }

    function _support(Round storage r, bool pass, bytes32 spec) private view returns (uint256 n) {
        for (uint256 i = 0; i < r.votes.length; i++) {
            if (r.votes[i].pass == pass && r.votes[i].spec == spec) n++;
        }
    }

    /// @dev At least half of the majority's scores are no higher, and, with the lower of two middle ones, more than half no
    /// lower.
    function _isMedian(Round storage r, bool pass, bytes32 spec, uint16 score) private view returns (bool) {
        uint256 noHigher;
        uint256 noLower;
        uint256 n;
        bool found;
        for (uint256 i = 0; i < r.votes.length; i++) {
            Vote storage vote = r.votes[i];
            if (vote.pass != pass || vote.spec != spec) continue;
            n++;
            if (vote.score <= score) noHigher++;
            if (vote.score >= score) noLower++;
            if (vote.score == score) found = true;
        }
        return found && 2 * noHigher >= n && 2 * noLower > n;
    }

    function _absorbRating(Cheats.Log memory log) internal {
        if (log.topics[0] != IReputation.Rated.selector) return;
        uint256 id = uint256(log.topics[2]);
        Lease storage l = _leases[id];
        (uint8 stars,, uint96 fee) = abi.decode(log.data, (uint8, bytes32, uint96));
        _expect(!rated[id], 17, "a lease was rated twice");
        _expect(_acting == l.tenant && _account(log, 3) == l.tenant, 17, "another than the tenant rated a lease");
        _expect(
            l.state == LeaseState.Ended && l.settled != 0, 17, "a lease was rated that has not ended, or paid nothing"
        );
        _expect(stars >= 1 && stars <= 5, 17, "a rating off the scale");
        _expect(_account(log, 1) == _machines[l.machine].provider, 17, "a rating of another provider");
        _expect(fee == l.fee, 17, "a rating weighs another sum than its lease's fee");
        rated[id] = true;
    }
}
