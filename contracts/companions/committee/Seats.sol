// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {ICommittee, Seat} from "../../interfaces/ICommittee.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Rules} from "../../libraries/Rules.sol";
import {CommitteeStorage} from "./CommitteeStorage.sol";

/// @title Seats: who may judge, since when, at what level, and what a fine takes.
abstract contract Seats is CommitteeStorage {
    using Checkpoints for Checkpoints.Trace224;

    uint256 internal constant LEAVE_DELAY = Rules.LEAVE_DELAY;
    uint256 private constant FINE_INTERVAL = 7 days;
    /// @dev How many different prices of a seat are counted apart: what keeps every count and draw bounded.
    uint256 private constant MAX_LEVELS = 32;

    /// @inheritdoc ICommittee
    function join(uint16 version) external returns (uint32 seat) {
        // Check
        if (version == 0 || version > _controller().paramsVersion()) revert UnknownVersion(version);
        Level storage level = _levelAt(_priceUnder(version));
        uint96 price = level.price;
        uint96 stake = price + _fineOf(price);
        uint32 now_ = SafeCast.toUint32(block.timestamp);

        // Effect
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

        // Interact, Log
        _charge(stake);
        emit SeatJoined(seat, _actor(), price, stake);
    }

    /// @inheritdoc ICommittee
    function topUp(uint32 seat, uint96 amount) external {
        // Check
        Seat storage held = _seat(seat);
        if (held.leavesAt != 0) revert SeatLeavingAlready(seat);
        uint96 level = held.level;
        uint96 missing = level + _fineOf(level) - held.stake;
        if (amount > missing) amount = missing;

        // Effect, Interact, Log
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
        // Check
        Seat memory held = _seat(seat);
        if (held.leavesAt == 0) revert SeatNotLeaving(seat);
        if (block.timestamp < held.leavesAt) revert SeatLocked(seat, held.leavesAt);

        // Effect
        delete _seats[seat];
        Level storage level = _levelAt(held.level);
        level.free.push(seat);
        if (held.stake >= held.level) ++level.gone;

        // Interact, Log
        _pay(held.validator, held.stake);
        emit SeatExited(seat, held.validator, held.stake);
    }

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

    // ------------------------------------------------------------------------------------------------------ of one seat

    function _seat(uint32 seat) private view returns (Seat storage held) {
        held = _seats[seat];
        if (held.validator == address(0)) revert UnknownSeat(seat);
    }

    function _leave(uint32 seat, Seat storage held) private {
        uint32 leavesAt = SafeCast.toUint32(block.timestamp + LEAVE_DELAY);
        held.leavesAt = leavesAt;
        emit SeatLeaving(seat, leavesAt);
    }

    /// @dev Whether nobody has left the seat and another joined in its place since `time`.
    function _heldSince(Seat storage seat, uint256 time) internal view returns (bool) {
        return seat.validator != address(0) && seat.joinedAt <= time;
    }

    // ------------------------------------------------------------------------------------------------------- of a level

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
    function _matured(uint96 least) internal view returns (uint256 seats) {
        uint32 time = SafeCast.toUint32(block.timestamp - MATURITY);
        uint256 count = _levels.length;
        for (uint256 i = 0; i < count; ++i) {
            Level storage level = _levels[i];
            if (level.price >= least) seats += (level.joins.upperLookupRecent(time) >> 32) - level.gone;
        }
    }

    // ------------------------------------------------------------------------------------------------------------ fines

    function _fineOf(uint96 level) private pure returns (uint96) {
        return uint96(level / Rules.FINE_DIVISOR);
    }

    /// @dev Takes a tenth of its level from a seat that the same validator has held since `time`, unless it was fined within
    /// the week. One whose stake is then under its level is weak: it counts no longer, and leaves.
    function _fine(uint32 seat, uint256 time) internal returns (uint96 amount) {
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

    /// @dev `_fine`, of a seat that joined under a version which names that arbiter. Any other could be one of the owner's
    /// own, whom nobody has accepted but machines of his own.
    function _fineUnder(address arbiter, uint32 seat, uint256 time) internal returns (uint96) {
        uint16 version = _seats[seat].version;
        return version != 0 && _rules(version).arbiter == arbiter ? _fine(seat, time) : 0;
    }
}
