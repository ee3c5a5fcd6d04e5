// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {ICommittee, Round, RoundState, Seat, Signer} from "../interfaces/ICommittee.sol";
import {IController} from "../interfaces/IController.sol";
import {IControllerHooks} from "../interfaces/IControllerHooks.sol";
import {MachineStatus, MachineView, Params} from "../interfaces/IControllerTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Rules} from "../libraries/Rules.sol";
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
/// A seat is bought at a *level*, the `seatStake` of a version of the pool's rules, and judges only those machines whose
/// rules ask no more. What judges a machine is what its provider has accepted: nothing here but `join` asks which versions
/// have been in force. Seats are counted and drawn by level, so that however many cheap ones there are, they neither
/// out-vote a dearer one nor stand in its way.
///
/// A seat is fined, a tenth of its level and at most once in a week, for silence where there was an outcome and for an
/// outcome that the arbiter of its own version took back. To have seen otherwise than the majority costs nothing. Fines are
/// burnt.
///
/// Its ledger holds every seat's stake and the fees of rounds that run, and pays out no more than that. It calls nobody but
/// the pool, which calls nobody for it, and to look at signatures `Accounts`.
contract Committee is Companion, ICommittee {
    using Checkpoints for Checkpoints.Trace224;

    uint256 private constant MATURITY = Rules.MATURITY;
    uint256 private constant LEAVE_DELAY = Rules.LEAVE_DELAY;
    uint256 private constant COMMIT_WINDOW = 4 hours;
    uint256 private constant REVEAL_WINDOW = 2 hours;
    uint256 private constant FINE_INTERVAL = 7 days;
    /// @dev How many different prices of a seat are counted apart: what keeps every count and draw bounded.
    uint256 private constant MAX_LEVELS = 32;
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
    uint256 private constant MAX_SIGNERS = 512;

    bytes32 private constant OUTAGE_TYPE = keccak256("Outage(address account,uint32 machine,uint64 from,uint64 to)");

    /// @dev Sixteen bits of `votes` for each of those drawn.
    uint256 private constant LANE = 16;
    uint256 private constant SCORE_BITS = 0x3FF;
    uint256 private constant PASS = 0x400;
    uint256 private constant REVEALED = 0x800;

    /// @dev `seats` is the highest id.
    struct Census {
        uint32 seats;
        uint64 rounds;
    }

    /// @dev The seats that were bought for one price. `places` numbers them: a seat keeps its place, and whoever joins where
    /// one has exited gets both. It is as long as ids go, so that eight share a slot and a draw reads few of them; only what is
    /// written costs anything. `gone` counts those that exited or are weak, all of which had matured.
    struct Level {
        uint96 price;
        uint32 gone;
        /// At each time `joins so far << 32 | places so far`.
        Checkpoints.Trace224 joins;
        uint32[] free;
        uint32[1 << 32] places;
    }

    /// @dev A round as it is stored. `namedAt` fixes, with `requestedAt` and the revision's rules, who may be drawn.
    struct Stored {
        uint32 machine;
        uint16 revision;
        RoundState state;
        uint8 misses;
        uint32 requestedAt;
        uint32 namedAt;
        uint40 block_;
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
    Level[] private _levels;
    mapping(uint256 seat => Seat) private _seats;
    mapping(uint256 round => Stored) private _rounds;
    /// @dev What signers have earned together, and when an arbiter took back what they had signed.
    mapping(bytes32 signers => uint96 due) private _dues;
    mapping(bytes32 signers => mapping(address arbiter => uint256 time)) private _disowned;
    mapping(uint256 machine => mapping(bool byProvider => uint256 round)) private _lastRound;
    /// @dev Of the rounds whose outcome the pool was told, when the latest was asked for.
    mapping(uint256 machine => uint256 time) private _told;
    /// @dev A drawn seat's commitment, and, once it is revealed, the spec that it held.
    mapping(uint256 round => mapping(uint256 seat => bytes32)) private _sealed;

    constructor(IAccounts accounts_) Companion(accounts_) {}

    // ---------------------------------------------------------------------------------------------------------- seats

    /// @inheritdoc ICommittee
    function join(uint16 version) external returns (uint32 seat) {
        if (version == 0 || version > _controller().paramsVersion()) revert UnknownVersion(version);
        Level storage level = _levelAt(_priceUnder(version));
        uint96 price = level.price;
        uint96 stake = price + _fineOf(price);
        uint32 now_ = SafeCast.toUint32(block.timestamp);

        uint256 before = level.joins.latest();
        uint256 places = uint32(before);
        if (level.free.length != 0) {
            seat = level.free[level.free.length - 1];
            level.free.pop();
        } else {
            seat = ++_census.seats;
            level.places[places++] = seat;
        }
        _seats[seat] = Seat(_actor(), stake, price, now_, 0, 0, version);
        level.joins.push(now_, SafeCast.toUint224(((before >> 32) + 1) << 32 | places));

        _charge(stake);
        emit SeatJoined(seat, _actor(), price, stake);
    }

    /// @inheritdoc ICommittee
    function topUp(uint32 seat, uint96 amount) external {
        Seat storage held = _seat(seat);
        if (held.leavesAt != 0) revert SeatLeavingAlready(seat);
        uint96 level = held.level;
        uint96 missing = level + _fineOf(level) - held.stake;
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
        Level storage level = _levelAt(held.level);
        level.free.push(seat);
        if (held.stake >= held.level) ++level.gone;
        _pay(held.validator, held.stake);
        emit SeatExited(seat, held.validator, held.stake);
    }

    // --------------------------------------------------------------------------------------------------------- rounds

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

    // ---------------------------------------------------------------------------------------------- what was taken back

    modifier onlyFaults() {
        _onlyFaults();
        _;
    }

    /// @inheritdoc ICommittee
    function overturn(uint256 round, address arbiter) external onlyFaults {
        Stored storage held = _rounds[round];
        (uint256 agreeing,,) = _count(round, held);
        uint256 votes = held.votes;
        uint256 others;
        uint256 fines;
        for (uint256 i = 0; i < held.size; ++i) {
            if (agreeing & (1 << i) != 0) fines += _fineUnder(arbiter, held.drawn[i], held.requestedAt);
            else if (_wasRevealed(votes, i)) ++others;
        }
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

    // --------------------------------------------------------------------------------------------------------- quorums

    /// @inheritdoc ICommittee
    /// @dev Anyone may have it logged who agrees: only what Faults makes of it counts.
    function witness(
        uint16 version,
        uint32 machine,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (bytes32 quorum) {
        Signer[] memory signers = _signers(version, seats);
        if (!_haveSigned(signers, machine, from, to, proofs)) revert NoQuorum();
        quorum = keccak256(abi.encode(signers));
        emit QuorumSigned(quorum, signers);
    }

    /// @inheritdoc ICommittee
    function credit(bytes32 quorum, uint96 amount) external onlyFaults {
        uint96 due = _dues[quorum] + amount;
        _dues[quorum] = due;
        emit QuorumCredited(quorum, due);
    }

    /// @inheritdoc ICommittee
    function disown(bytes32 quorum, address arbiter) external onlyFaults {
        _disowned[quorum][arbiter] = block.timestamp;
        emit QuorumDisowned(quorum, arbiter);
    }

    /// @inheritdoc ICommittee
    /// @dev By stake, not by seats or names: ten cheap ones earn what one does for whose price they were bought.
    function payQuorum(Signer[] calldata signers) external {
        bytes32 quorum = keccak256(abi.encode(signers));
        uint96 due = _dues[quorum];
        if (due == 0) revert NothingForQuorum(quorum);
        _dues[quorum] = 0;
        uint256 all;
        for (uint256 i = 0; i < signers.length; ++i) {
            all += signers[i].level;
        }
        uint256 left = due;
        for (uint256 i = 0; i < signers.length && all != 0; ++i) {
            uint256 part = uint256(due) * signers[i].level / all;
            left -= part;
            _pay(signers[i].validator, part);
        }
        _pay(BURNT, left);
        emit QuorumPaid(quorum, due);
    }

    /// @inheritdoc ICommittee
    /// @dev Who signed has held the seat since before the word was taken back, unless he has left meanwhile.
    function fineQuorum(Signer[] calldata signers, address arbiter) external {
        bytes32 quorum = keccak256(abi.encode(signers));
        uint256 time = _disowned[quorum][arbiter];
        if (time == 0) revert NothingForQuorum(quorum);
        _disowned[quorum][arbiter] = 0;
        uint256 fines;
        for (uint256 i = 0; i < signers.length; ++i) {
            uint32 seat = signers[i].seat;
            if (_seats[seat].validator == signers[i].validator) fines += _fineUnder(arbiter, seat, time);
        }
        _pay(BURNT, fines);
        emit QuorumFined(quorum, arbiter, fines);
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
    function maturedSeats(uint16 version) public view returns (uint256) {
        return _matured(_priceUnder(version));
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
    function dueOf(bytes32 quorum) external view returns (uint96) {
        return _dues[quorum];
    }

    /// @inheritdoc ICommittee
    function disownedAt(bytes32 quorum, address arbiter) external view returns (uint256) {
        return _disowned[quorum][arbiter];
    }

    /// @inheritdoc ICommittee
    function falseHardwareOf(uint256 round) external view returns (uint32, uint16, uint32, uint32) {
        Stored storage held = _rounds[round];
        if (held.state != RoundState.Failed || held.spec == 0) revert NoFalseHardware(round);
        return (held.machine, held.revision, held.requestedAt, SafeCast.toUint32(held.commitUntil + REVEAL_WINDOW));
    }

    // ----------------------------------------------------------------------------------------------------- inside it

    function _signers(uint16 version, uint32[] calldata seats) private view returns (Signer[] memory signers) {
        uint96 least = _priceUnder(version);
        uint256 count = seats.length;
        if (count > MAX_SIGNERS || 3 * count <= 2 * _matured(least)) revert NoQuorum();
        signers = new Signer[](count);
        uint256 last;
        for (uint256 i = 0; i < count; ++i) {
            uint32 seat = seats[i];
            Seat storage held = _seats[seat];
            // Strictly ascending: no seat counts twice.
            if (seat <= last || !_judges(held, least)) revert NoQuorum();
            last = seat;
            signers[i] = Signer(seat, held.validator, held.level);
        }
    }

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

    /// @dev Apart from the modifier, whose code stands in each function that has it.
    function _onlyFaults() private view {
        (, address faults,,) = _controller().companions();
        if (msg.sender != faults) revert NotAuthorized(msg.sender);
    }

    function _machine(uint32 machine) private view returns (MachineView memory) {
        return _controller().machineOf(machine);
    }

    function _rules(uint16 version) private view returns (Params memory) {
        return _controller().params(version);
    }

    function _priceUnder(uint16 version) private view returns (uint96) {
        return _rules(version).seatStake;
    }

    function _fineOf(uint96 level) private pure returns (uint96) {
        return uint96(level / Rules.FINE_DIVISOR);
    }

    /// @dev The level of that price; there are few, for each was asked by a version that came into force.
    function _levelAt(uint96 price) private returns (Level storage level) {
        uint256 count = _levels.length;
        for (uint256 i = 0; i < count; ++i) {
            if (_levels[i].price == price) return _levels[i];
        }
        if (count == MAX_LEVELS) revert TooManyLevels();
        level = _levels.push();
        level.price = price;
    }

    /// @dev Seats that have matured, have not exited and judge where `least` is asked.
    function _matured(uint96 least) private view returns (uint256 seats) {
        uint32 time = SafeCast.toUint32(block.timestamp - MATURITY);
        uint256 count = _levels.length;
        for (uint256 i = 0; i < count; ++i) {
            Level storage level = _levels[i];
            if (level.price >= least) seats += (level.joins.upperLookupRecent(time) >> 32) - level.gone;
        }
    }

    /// @dev All of them, each in his own name, and among them five different ones.
    function _haveSigned(Signer[] memory signers, uint32 machine, uint64 from, uint64 to, bytes[] calldata proofs)
        private
        view
        returns (bool)
    {
        if (proofs.length != signers.length) return false;
        address[] memory first = new address[](QUORUM_VALIDATORS);
        uint256 distinct;
        for (uint256 i = 0; i < signers.length; ++i) {
            address validator = signers[i].validator;
            if (_contains(first, distinct, validator)) continue;
            bytes32 outage = _digest(keccak256(abi.encode(OUTAGE_TYPE, validator, machine, from, to)));
            if (!_accounts.isAuthorized(validator, outage, proofs[i])) return false;
            if (distinct < QUORUM_VALIDATORS) first[distinct++] = validator;
        }
        return distinct == QUORUM_VALIDATORS;
    }

    /// @dev Whether a seat may sign where `least` is asked. One that leaves may not, or it would be gone when what it signed is
    /// taken back.
    function _judges(Seat storage held, uint96 least) private view returns (bool) {
        uint96 level = held.level;
        return held.validator != address(0) && level >= least && held.stake >= level && held.leavesAt == 0
            && block.timestamp >= held.joinedAt + MATURITY;
    }

    function _inService(MachineView memory seen) private pure returns (bool) {
        return seen.status == MachineStatus.Unverified || seen.status == MachineStatus.Verified;
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

    function _wasRevealed(uint256 votes, uint256 index) private pure returns (bool) {
        return (votes >> (LANE * index)) & REVEALED != 0;
    }

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

    /// @dev Takes a tenth of its level from a seat that the same validator has held since `time`, unless it was fined within
    /// the week. One whose stake is then under its level is weak: it counts no longer, and leaves.
    function _fine(uint32 seat, uint256 time) private returns (uint96 amount) {
        Seat storage fined = _seats[seat];
        uint256 last = fined.finedAt;
        if (!_heldSince(fined, time) || (last != 0 && block.timestamp < last + FINE_INTERVAL)) return 0;
        uint96 level = fined.level;
        uint96 before = fined.stake;
        amount = uint96(Billing.min(_fineOf(level), before));
        uint96 stake = before - amount;
        fined.stake = stake;
        fined.finedAt = SafeCast.toUint32(block.timestamp);
        emit SeatFined(seat, amount, stake);
        if (stake >= level) return amount;
        if (before >= level) ++_levelAt(level).gone;
        if (fined.leavesAt == 0) _leave(seat, fined);
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

    /// @dev `_fine`, of a seat that joined under a version which names that arbiter. Any other could be one of the owner's
    /// own, whom nobody has accepted but machines of his own.
    function _fineUnder(address arbiter, uint32 seat, uint256 time) private returns (uint96) {
        uint16 version = _seats[seat].version;
        return version != 0 && _rules(version).arbiter == arbiter ? _fine(seat, time) : 0;
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
        IControllerHooks(address(_controller())).setVerified(machine, seen.revision, pass);
    }

    /// @dev Whether nobody has left the seat and another joined in its place since `time`.
    function _heldSince(Seat storage seat, uint256 time) private view returns (bool) {
        return seat.validator != address(0) && seat.joinedAt <= time;
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
