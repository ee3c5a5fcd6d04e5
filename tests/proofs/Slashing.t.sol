// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Slashing} from "../../contracts/libraries/Slashing.sol";
import {Lemmas} from "./Lemmas.sol";

/// @notice Proven of every slash, stake, window and share, by symbolic execution (`make halmos`): no slash passes the stake
/// nor what eight days allow, and every unit of it goes to somebody.
contract SlashingProofs {
    uint256 private constant BPS = 10_000;
    uint256 private constant LANE = 32;

    // ----------------------------------------------------------------------------------------------------------- amounts

    /// @notice No charge takes more than what those before it have left of the stake.
    function check_amount_is_within_what_is_left(uint96 left, uint16 bps, uint16 charged) external pure {
        if (uint256(bps) + charged > BPS) return;
        if (bps != 0) Lemmas.partOfDifference(0, left, bps, BPS - charged);
        assert(Slashing.amount(left, bps, charged) <= left);
    }

    /// @notice The tenants' half and the reporters' tenth leave something of every slash, to the unit.
    function check_half_and_tenth_stay_within_the_slash(uint96 slash) external pure {
        unchecked {
            Lemmas.quotientTimesDivisor(slash, 10);
            assert(uint256(slash) / 2 + Slashing.tenth(slash) <= slash);
        }
    }

    /// @notice Nobody gets more than is left, whatever he lost.
    function check_a_loss_takes_no_more_than_is_left(
        uint96 slash,
        uint96 left,
        uint8 cells,
        uint32 time,
        uint8 allCells,
        uint32 all
    ) external pure {
        if (allCells == 0 || all == 0) return;
        assert(Slashing.loss(slash, left, cells, time, allCells, all) <= left);
    }

    // ------------------------------------------------------------------------------------------------------- the window

    /// @notice However much is asked for: what is charged, together with what is charged now, is at most what is allowed.
    function check_due_stays_within(uint32 full, uint32 charged, uint32 most) external pure {
        if (charged > most) {
            assert(Slashing.due(full, charged, most) == 0);
            return;
        }
        uint256 due = Slashing.due(full, charged, most);
        assert(due <= most - charged && due <= full);
    }

    /// @notice Charging what is due adds exactly that to today's lane, carries into nothing, and leaves every other lane and
    /// all downtime alone. `total` is the sum of the lanes, so with `check_due_stays_within` no window passes the limit.
    function check_charge_reaches_only_today(uint256 window, uint16 full, uint16 charged, uint16 most) external pure {
        if (full > BPS || most > BPS || charged > most || !_wellFormed(window) || _charged(window, 0) > charged) {
            return;
        }
        uint256 due = Slashing.due(full, charged, most);
        uint256 later = Slashing.withCharge(window, due);
        assert(_charged(later, 0) == _charged(window, 0) + due);
        for (uint256 i = 0; i < 8; i++) {
            assert(_downtime(later, i) == _downtime(window, i));
            if (i != 0) assert(_charged(later, i) == _charged(window, i));
        }
    }

    /// @notice Days that pass move each lane along and forget the oldest; none grows.
    function check_window_forgets(uint256 window, uint8 elapsed) external pure {
        for (uint256 days_ = 0; days_ <= 8; days_++) {
            if (elapsed != days_ && (days_ != 8 || elapsed < 8)) continue;
            uint256 later = Slashing.advance(window, elapsed);
            for (uint256 i = 0; i < 8; i++) {
                assert(_lane(later, i) == (i < days_ ? 0 : _lane(window, i - days_)));
            }
        }
    }

    /// @notice What an appeal gives back is what was charged, no more, on whatever day.
    function check_charge_taken_back(uint256 window, uint16 bps, uint8 daysAgo) external pure {
        if (bps > BPS || daysAgo > 9 || !_wellFormed(window) || _charged(window, 0) + bps > BPS) return;
        uint256 put = Slashing.withCharge(window, bps);
        for (uint256 i = 0; i <= 9; i++) {
            if (daysAgo != i) continue;
            uint256 back = Slashing.withoutCharge(Slashing.advance(put, i), i, bps);
            assert(back == Slashing.advance(window, i));
        }
    }

    /// @dev Lanes of at most a day and 10,000 basis points, as all that is ever written leaves them.
    function _wellFormed(uint256 window) private pure returns (bool good) {
        good = true;
        for (uint256 i = 0; i < 8; i++) {
            uint256 downtime = _downtime(window, i);
            uint256 charged = _charged(window, i);
            uint256 spare = _lane(window, i) >> 31;
            assembly ("memory-safe") {
                good := and(good, and(and(lt(downtime, 86401), lt(charged, 10001)), iszero(spare)))
            }
        }
    }

    function _lane(uint256 window, uint256 i) private pure returns (uint256) {
        return window >> (i * LANE) & 0xFFFFFFFF;
    }

    function _downtime(uint256 window, uint256 i) private pure returns (uint256) {
        return _lane(window, i) & 0x1FFFF;
    }

    function _charged(uint256 window, uint256 i) private pure returns (uint256) {
        return _lane(window, i) >> 17 & 0x3FFF;
    }
}
