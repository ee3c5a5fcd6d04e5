// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {ICommittee, Round, RoundState, Seat} from "../interfaces/ICommittee.sol";
import {IController} from "../interfaces/IController.sol";
import {IControllerHooks} from "../interfaces/IControllerHooks.sol";
import {MachineStatus, MachineView, Params} from "../interfaces/IControllerTypes.sol";
import {Companion} from "./Companion.sol";

/// @title Validators' seats, and verification of machines by a committee drawn from them.
/// @dev A round moves only along
///
///     Requested → Drawn → Passed | Failed | Inconclusive      draw; finalize
///     Requested → Inconclusive                                draw, after the last miss
///
/// Who is drawn follows from a block's hash and from what was fixed when that block was named, before anybody could know
/// the hash: which seats there were, which had matured, which had begun to leave. Whatever happens to seats afterwards
/// changes no draw: joining takes `MATURITY` to count, leaving `LEAVE_DELAY` to empty a seat, and nothing else matters.
///
/// Its ledger holds every seat's stake and the fees of rounds that run, and pays out no more than that. It calls nobody but
/// the pool, which calls nobody for it, and in `isQuorum`, a view, `Accounts`.
contract Committee is Companion, ICommittee {
    using Checkpoints for Checkpoints.Trace224;

    uint256 private constant MATURITY = 3 days;
    uint256 private constant LEAVE_DELAY = 7 days;
    uint256 private constant COMMIT_WINDOW = 4 hours;
    uint256 private constant REVEAL_WINDOW = 2 hours;
    /// @dev Of a seat's full stake, for silence and for standing against a clear majority.
    uint256 private constant PENALTY_DIVISOR = 10;
    /// @dev Of the fee, for the draw, once more for each miss: a quarter of it at most, for with the fifth miss it is over.
    uint256 private constant REWARD_DIVISOR = 20;
    uint256 private constant MAX_MISSES = 5;
    /// @dev How many older blocks' hashes the chain knows.
    uint256 private constant HASHES = 256;
    /// @dev Seats looked at in one draw: what keeps it bounded where most are excluded.
    uint256 private constant MAX_TRIES = 256;
    uint256 private constant MAX_SIZE = 15;
    uint256 private constant MAX_SCORE = 1000;
    uint256 private constant QUORUM_VALIDATORS = 5;

    /// @dev Sixteen bits of `votes` for each of those drawn.
    uint256 private constant LANE = 16;
    uint256 private constant SCORE_BITS = 0x3FF;
    uint256 private constant PASS = 0x400;
    uint256 private constant REVEALED = 0x800;

    /// @dev `seats` is the highest id, `exits` counts seats that left, all of which had matured.
    struct Census {
        uint32 seats;
        uint32 exits;
        uint64 rounds;
    }

    /// @dev A round as it is stored. `seats` and `namedAt` fix, with `requestedAt`, who may be drawn.
    struct Stored {
        uint32 machine;
        uint16 revision;
        RoundState state;
        uint8 misses;
        uint32 requestedAt;
        uint32 namedAt;
        uint40 block_;
        uint32 seats;
        uint32 commitUntil;
        uint16 score;
        uint8 size;
        // slot 1
        address requester;
        uint96 fee;
        // slot 2
        bytes32 spec; // written when it is not zero
        // slot 3
        uint256 votes;
        // slots 4 and 5
        uint32[16] drawn;
    }

    Census private _census;
    /// @dev At each time the number of joins so far, and the highest id then: `joins << 32 | seats`.
    Checkpoints.Trace224 private _joins;
    uint32[] private _free;
    mapping(uint256 seat => Seat) private _seats;
    mapping(uint256 round => Stored) private _rounds;
    mapping(uint256 machine => uint256 round) private _lastRound;
    /// @dev A drawn seat's commitment, and, once it is revealed, the spec that it held.
    mapping(uint256 round => mapping(uint256 seat => bytes32)) private _sealed;

    constructor(IAccounts accounts_) Companion(accounts_) {}

    // ---------------------------------------------------------------------------------------------------------- seats

    /// @inheritdoc ICommittee
    function join() external returns (uint32 seat) {
        uint96 stake = _paramsInForce().seatStake;
        uint32 now_ = SafeCast.toUint32(block.timestamp);

        if (_free.length != 0) {
            seat = _free[_free.length - 1];
            _free.pop();
        } else {
            seat = ++_census.seats;
        }
        _seats[seat] = Seat({validator: _actor(), stake: stake, full: stake, joinedAt: now_, leavesAt: 0});
        uint256 joins = (_joins.latest() >> 32) + 1;
        _joins.push(now_, SafeCast.toUint224(joins << 32 | uint256(_census.seats)));

        _charge(stake);
        emit SeatJoined(seat, _actor(), stake);
    }

    /// @inheritdoc ICommittee
    function topUp(uint32 seat, uint96 amount) external {
        Seat storage held = _seat(seat);
        if (held.leavesAt != 0) revert SeatLeavingAlready(seat);
        uint96 missing = held.full - held.stake;
        if (amount > missing) amount = missing;

        held.stake += amount;
        _charge(amount);
        emit SeatToppedUp(seat, held.stake);
    }

    /// @inheritdoc ICommittee
    function leave(uint32 seat) external {
        Seat storage held = _seat(seat);
        _only(held.validator);
        uint256 maturesAt = held.joinedAt + MATURITY;
        if (block.timestamp < maturesAt) revert SeatNotMatured(seat, maturesAt);
        if (held.leavesAt != 0) revert SeatLeavingAlready(seat);
        _leave(seat, held);
    }

    /// @inheritdoc ICommittee
    function exit(uint32 seat) external {
        Seat memory held = _seat(seat);
        if (held.leavesAt == 0) revert SeatNotLeaving(seat);
        if (block.timestamp < held.leavesAt) revert SeatLocked(seat, held.leavesAt);

        delete _seats[seat];
        _free.push(seat);
        ++_census.exits;
        _pay(held.validator, held.stake);
        emit SeatExited(seat, held.validator, held.stake);
    }

    // --------------------------------------------------------------------------------------------------------- rounds

    /// @inheritdoc ICommittee
    function requestVerification(uint32 machine, uint16 revision) external returns (uint256 round) {
        // Check
        MachineView memory seen = _controller().machineOf(machine);
        if (!_inService(seen)) revert MachineNotInService(machine);
        if (revision != seen.revision) revert WrongRevision(seen.revision);
        Params memory rules = _paramsInForce();
        _mayBeVerified(machine, rules.reverifyInterval);
        uint256 matured = maturedSeats();
        if (matured < rules.committeeSize) revert TooFewSeats(matured, rules.committeeSize);

        // Effect
        round = ++_census.rounds;
        _lastRound[machine] = round;
        Stored storage made = _rounds[round];
        made.machine = machine;
        made.revision = revision;
        made.state = RoundState.Requested;
        made.requestedAt = SafeCast.toUint32(block.timestamp);
        made.seats = uint32(_maturedJoins());
        made.size = rules.committeeSize;
        made.requester = _actor();
        made.fee = rules.verificationFee;
        _nameBlock(made);

        // Interact, Log
        _charge(rules.verificationFee);
        emit VerificationRequested(round, machine, revision, _actor(), rules.verificationFee, made.block_);
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
        uint256 penalties = _penalize(round, held, agreeing);

        // Interact, Log
        _share(held, agreeing, agreed, penalties);
        _tell(held, pass);
        emit RoundFinalized(round, held.machine, state, spec, score, uint8(agreed));
    }

    // ---------------------------------------------------------------------------------------------------------- reads

    /// @inheritdoc ICommittee
    function seatOf(uint32 seat) external view returns (Seat memory) {
        return _seats[seat];
    }

    /// @inheritdoc ICommittee
    function seatCount() external view returns (uint32) {
        return _census.seats;
    }

    /// @inheritdoc ICommittee
    /// @dev Every seat that has exited had matured.
    function maturedSeats() public view returns (uint256) {
        return (_maturedJoins() >> 32) - _census.exits;
    }

    /// @inheritdoc ICommittee
    function roundOf(uint256 round) external view returns (Round memory) {
        Stored storage held = _rounds[round];
        uint32 commitUntil = held.commitUntil;
        return Round({
            machine: held.machine,
            revision: held.revision,
            state: held.state,
            misses: held.misses,
            requestedAt: held.requestedAt,
            block_: held.block_,
            commitUntil: commitUntil,
            revealUntil: commitUntil == 0 ? 0 : SafeCast.toUint32(commitUntil + REVEAL_WINDOW),
            fee: held.fee,
            score: held.score,
            size: held.size,
            requester: held.requester,
            spec: held.spec
        });
    }

    /// @inheritdoc ICommittee
    function roundCount() external view returns (uint256) {
        return _census.rounds;
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

    /// @inheritdoc ICommittee
    function isQuorum(bytes32 digest, uint32[] calldata seats, bytes[] calldata proofs) external view returns (bool) {
        if (seats.length != proofs.length || 3 * seats.length <= 2 * maturedSeats()) return false;
        address[] memory first = new address[](QUORUM_VALIDATORS);
        uint256 distinct;
        uint256 last;
        for (uint256 i = 0; i < seats.length; ++i) {
            uint256 seat = seats[i];
            if (seat <= last) return false; // strictly ascending: no seat counts twice
            last = seat;
            address validator = _seats[seat].validator;
            if (validator == address(0) || block.timestamp < _seats[seat].joinedAt + MATURITY) return false;
            if (_contains(first, distinct, validator)) continue;
            if (!_accounts.isAuthorized(validator, digest, proofs[i])) return false;
            if (distinct < QUORUM_VALIDATORS) first[distinct++] = validator;
        }
        return distinct == QUORUM_VALIDATORS;
    }

    /// @inheritdoc ICommittee
    function validatorsOf(uint32[] calldata seats) external view returns (address[] memory validators) {
        validators = new address[](seats.length);
        uint256 distinct;
        for (uint256 i = 0; i < seats.length; ++i) {
            address validator = _seat(seats[i]).validator;
            if (!_contains(validators, distinct, validator)) validators[distinct++] = validator;
        }
        assembly ("memory-safe") {
            mstore(validators, distinct) // shorter than it was made
        }
    }

    // ----------------------------------------------------------------------------------------------------- inside it

    function _seat(uint32 seat) private view returns (Seat storage held) {
        held = _seats[seat];
        if (held.validator == address(0)) revert UnknownSeat(seat);
    }

    function _leave(uint32 seat, Seat storage held) private {
        uint32 leavesAt = SafeCast.toUint32(block.timestamp + LEAVE_DELAY);
        held.leavesAt = leavesAt;
        emit SeatLeaving(seat, leavesAt);
    }

    function _inState(uint256 round, RoundState state) private view returns (Stored storage held) {
        held = _rounds[round];
        RoundState now_ = held.state;
        if (now_ == RoundState.None) revert UnknownRound(round);
        if (now_ != state) revert WrongRoundState(round, now_);
    }

    function _paramsInForce() private view returns (Params memory) {
        IController pool = _controller();
        return pool.params(pool.paramsVersion());
    }

    function _inService(MachineView memory seen) private pure returns (bool) {
        return seen.status == MachineStatus.Unverified || seen.status == MachineStatus.Verified;
    }

    function _mayBeVerified(uint32 machine, uint256 interval) private view {
        uint256 last = _lastRound[machine];
        Stored storage before = _rounds[last];
        RoundState state = before.state;
        if (state == RoundState.Requested || state == RoundState.Drawn) revert RoundRunning(machine, last);
        if (state == RoundState.None || state == RoundState.Inconclusive) return;
        uint256 nextAt = before.requestedAt + interval;
        if (block.timestamp < nextAt) revert TooSoon(machine, nextAt);
    }

    /// @dev `joins << 32 | seats` of `MATURITY` ago: how many joins have matured, and the highest id among them.
    function _maturedJoins() private view returns (uint256) {
        return _joins.upperLookupRecent(SafeCast.toUint32(block.timestamp - MATURITY));
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

    function _inconclusive(uint256 round, Stored storage held) private {
        uint256 fee = held.fee;
        held.state = RoundState.Inconclusive;
        held.fee = 0;
        _pay(held.requester, fee);
        emit RoundFinalized(round, held.machine, RoundState.Inconclusive, 0, 0, 0);
    }

    /// @dev As many different seats as the round wants, by the numbers that follow from `entropy`; fewer, if most of those
    /// looked at are excluded.
    function _sample(uint256 round, Stored storage held, bytes32 entropy)
        private
        view
        returns (uint32[] memory drawn, uint256 found)
    {
        drawn = new uint32[](held.size);
        address provider = _controller().machineOf(held.machine).provider;
        address requester = held.requester;
        uint256 joinedBefore = held.requestedAt - MATURITY;
        // One who began to leave in the second when the block was named is drawn: perhaps it knew the hash by then.
        uint256 stayed = held.namedAt + LEAVE_DELAY;
        uint256 seats = held.seats;
        for (uint256 i = 0; i < MAX_TRIES && found < drawn.length; ++i) {
            uint32 seat = uint32(uint256(keccak256(abi.encode(entropy, address(this), round, i))) % seats + 1);
            Seat storage tried = _seats[seat];
            uint256 leavesAt = tried.leavesAt;
            if (tried.joinedAt > joinedBefore || (leavesAt != 0 && leavesAt < stayed)) continue;
            address validator = tried.validator;
            if (validator == address(0) || validator == provider || validator == requester) continue;
            if (!_holds(drawn, found, seat)) drawn[found++] = seat;
        }
    }

    /// @return index of the seat among those drawn, for a call of its validator's
    function _place(uint256 round, Stored storage held, uint32 seat) private view returns (uint256 index) {
        uint256 size = held.size;
        while (index < size && held.drawn[index] != seat) ++index;
        if (index == size) revert NotDrawn(round, seat);
        _only(_seats[seat].validator);
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

    /// @dev Takes a tenth of its full stake from each of those drawn who do not agree, and bids a seat that falls under half
    /// leave. One whose seat was vacated meanwhile, a week later, has nothing to lose.
    /// @return total taken
    function _penalize(uint256 round, Stored storage held, uint256 agreeing) private returns (uint256 total) {
        uint256 size = held.size;
        for (uint256 i = 0; i < size; ++i) {
            if (agreeing & (1 << i) != 0) continue;
            uint32 seat = held.drawn[i];
            Seat storage silent = _seats[seat];
            if (!_stillHeld(silent, held)) continue;
            uint96 full = silent.full;
            uint96 stake = silent.stake;
            uint96 amount = uint96(full / PENALTY_DIVISOR);
            if (amount > stake) amount = stake;
            stake -= amount;
            silent.stake = stake;
            total += amount;
            emit SeatPenalized(seat, round, amount, stake);
            if (2 * uint256(stake) < full && silent.leavesAt == 0) _leave(seat, silent);
        }
    }

    /// @dev Parts what is left of the fee among those who agree. What it cannot be parted into, and the penalties, are the
    /// treasury's.
    function _share(Stored storage held, uint256 agreeing, uint256 agreed, uint256 penalties) private {
        uint256 left = held.fee;
        held.fee = 0;
        uint256 share = left / agreed;
        uint256 size = held.size;
        for (uint256 i = 0; i < size; ++i) {
            Seat storage paid = _seats[held.drawn[i]];
            if (agreeing & (1 << i) == 0 || !_stillHeld(paid, held)) continue;
            left -= share;
            _pay(paid.validator, share);
        }
        _pay(_controller().treasury(), left + penalties);
    }

    /// @dev Tells the pool. That a machine passed is said of the revision that was measured; that it failed, also of a later
    /// one, or its provider would set new terms in front of it. Asked first, not tried and caught: whoever finalizes could
    /// leave just too little gas for the telling.
    function _tell(Stored storage held, bool pass) private {
        uint32 machine = held.machine;
        MachineView memory seen = _controller().machineOf(machine);
        if (!_inService(seen) || (pass && seen.revision != held.revision)) return;
        IControllerHooks(address(_controller())).setVerified(machine, seen.revision, pass);
    }

    /// @dev Whether nobody has left the seat and another joined in its place since the round was requested.
    function _stillHeld(Seat storage seat, Stored storage held) private view returns (bool) {
        return seat.validator != address(0) && seat.joinedAt <= held.requestedAt;
    }

    function _holds(uint32[] memory drawn, uint256 found, uint32 seat) private pure returns (bool) {
        for (uint256 i = 0; i < found; ++i) {
            if (drawn[i] == seat) return true;
        }
        return false;
    }

    function _contains(address[] memory list, uint256 length, address who) private pure returns (bool) {
        for (uint256 i = 0; i < length; ++i) {
            if (list[i] == who) return true;
        }
        return false;
    }
}
