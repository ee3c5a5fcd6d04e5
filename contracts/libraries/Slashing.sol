// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title What an outage costs and who gets it. Pure arithmetic, so that it can be proven.
/// @notice A machine's *window* is one word of eight day-lanes of 32 bits, today's lowest, then the seven whole days
/// (counted from 1970-01-01 UTC) before. A lane holds seconds of downtime in its low 17 bits and, above them, basis points
/// charged on that day in 14. Nothing is ever charged but into today's lane and up to what the window still allows, so any
/// eight lanes in a row hold at most that.
/// @dev Nothing here can overflow, so nothing is checked: amounts have 96 bits, basis points 14, times 32, cells 7.
library Slashing {
    uint256 internal constant BPS = 10_000;
    uint256 internal constant HALF_LIFE = 90 days;

    /// @dev The scale's steps, up to and including.
    uint256 internal constant SHORT = 7 minutes;
    uint256 internal constant MEDIUM = 48 hours;
    uint256 internal constant LONG = 120 hours;

    uint256 private constant LANES = 8;
    uint256 private constant LANE = 32;
    uint256 private constant DOWNTIME_BITS = 17;
    uint256 private constant DOWNTIME = 0x1FFFF;
    uint256 private constant CHARGED = 0x3FFF;

    // ------------------------------------------------------------------------------------------------------- the scale

    /// @notice Basis points of the stake that `downtime` seconds cost before anything is taken off.
    function tier(bool proven, uint256 downtime) internal pure returns (uint256) {
        if (downtime <= SHORT) return proven ? 400 : 200;
        if (downtime <= MEDIUM) return proven ? 800 : 400;
        if (downtime <= LONG) return proven ? 6000 : 3000;
        return proven ? BPS : 5000;
    }

    /// @notice What is left to charge of `full` when `charged` is charged already and no more than `most` may be.
    function due(uint256 full, uint256 charged, uint256 most) internal pure returns (uint256) {
        unchecked {
            uint256 limit = full < most ? full : most;
            return charged < limit ? limit - charged : 0;
        }
    }

    // ------------------------------------------------------------------------------------------------------ the window

    /// @notice The window `elapsed` days later. What is older than seven whole days is forgotten.
    function advance(uint256 window, uint256 elapsed) internal pure returns (uint256) {
        unchecked {
            return elapsed < LANES ? window << (elapsed * LANE) : 0;
        }
    }

    /// @notice Downtime in seconds, and basis points, of all lanes.
    function total(uint256 window) internal pure returns (uint256 downtime, uint256 charged) {
        unchecked {
            for (uint256 i = 0; i < LANES; ++i) {
                downtime += window & DOWNTIME;
                charged += window >> DOWNTIME_BITS & CHARGED;
                window >>= LANE;
            }
        }
    }

    /// @notice Adds the seconds of `[from, to)` to the days on which they were, as far as these are in the window. A day
    /// has 86,400 seconds whatever is added.
    function withDowntime(uint256 window, uint256 today, uint256 from, uint256 to) internal pure returns (uint256) {
        unchecked {
            for (uint256 i = 0; i < LANES && i <= today; ++i) {
                uint256 lane = i * LANE;
                uint256 before = window >> lane & DOWNTIME;
                uint256 room = before < 1 days ? 1 days - before : 0;
                uint256 down = onDay(today - i, from, to);
                window += (down < room ? down : room) << lane;
            }
            return window;
        }
    }

    /// @notice Takes off again what `withDowntime` added.
    function withoutDowntime(uint256 window, uint256 today, uint256 from, uint256 to) internal pure returns (uint256) {
        unchecked {
            for (uint256 i = 0; i < LANES && i <= today; ++i) {
                uint256 lane = i * LANE;
                uint256 before = window >> lane & DOWNTIME;
                uint256 down = onDay(today - i, from, to);
                window -= (down < before ? down : before) << lane;
            }
            return window;
        }
    }

    /// @notice Charges `bps` today.
    function withCharge(uint256 window, uint256 bps) internal pure returns (uint256) {
        unchecked {
            return window + (bps << DOWNTIME_BITS);
        }
    }

    /// @notice Takes back `bps` that were charged `daysAgo`.
    function withoutCharge(uint256 window, uint256 daysAgo, uint256 bps) internal pure returns (uint256) {
        unchecked {
            return daysAgo < LANES ? window - (bps << (daysAgo * LANE + DOWNTIME_BITS)) : window;
        }
    }

    /// @notice Seconds of `[from, to)` on a day.
    function onDay(uint256 day, uint256 from, uint256 to) internal pure returns (uint256) {
        unchecked {
            return overlap(from, to, day * 1 days, (day + 1) * 1 days);
        }
    }

    /// @notice Seconds that `[from, to)` and `[begin, end)` share.
    function overlap(uint256 from, uint256 to, uint256 begin, uint256 end) internal pure returns (uint256) {
        unchecked {
            uint256 low = from > begin ? from : begin;
            uint256 high = to < end ? to : end;
            return low < high ? high - low : 0;
        }
    }

    // ------------------------------------------------------------------------------------------------------- the slash

    /// @notice `bps` of a stake of which `charged` basis points are gone already and `left` is what they left. So many small
    /// charges take what one of their sum takes, and of what was added in between no greater part. `charged` and `bps`
    /// together are at most `BPS`. Rounds down, in the provider's favour.
    function amount(uint256 left, uint256 bps, uint256 charged) internal pure returns (uint256) {
        if (bps == 0) return 0;
        unchecked {
            return left * bps / (BPS - charged);
        }
    }

    /// @notice What of a slash a tenant has coming who lost `cells` for `time`, of a machine of `allCells` whose outage took
    /// `all` seconds: that part of its half, and no more than `left` of it. So whatever else is rented, one cell of 64 has a
    /// 128th, and what nobody lost is nobody's.
    function loss(uint256 slash, uint256 left, uint256 cells, uint256 time, uint256 allCells, uint256 all)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            uint256 part = slash / 2 * (cells * time) / (allCells * all);
            return part < left ? part : left;
        }
    }

    /// @notice What of a slash goes to who proved the outage. With the tenants' half it is never more than the slash.
    function tenth(uint256 slash) internal pure returns (uint256) {
        unchecked {
            return slash / 10;
        }
    }

    /// @notice What `slashed` counts `elapsed` seconds later: half after 90 days, a quarter after 180, in a straight line
    /// between. Counted anew from each later slash, which forgives no earlier than had it not come.
    function decayed(uint256 slashed, uint256 elapsed) internal pure returns (uint256) {
        unchecked {
            uint256 halves = elapsed / HALF_LIFE;
            if (halves >= 128) return 0; // more than the bits it has
            uint256 left = slashed >> halves;
            return left - left * (elapsed % HALF_LIFE) / (2 * HALF_LIFE);
        }
    }
}
