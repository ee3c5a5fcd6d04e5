// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseBill} from "./Slots.sol";

/// @title What a lease costs, and the pool's part of it. Pure arithmetic, so that it can be proven.
/// @dev No product here can overflow, so none is checked: a price has 80 bits, cells 7, seconds 33, an amount 96, basis
/// points 16.
library Billing {
    /// @notice A price is per GPU-hour, a GPU has 8 cells, an hour 3600 seconds.
    uint256 internal constant CELL_SECONDS_PER_GPU_HOUR = 28_800;
    uint256 internal constant BPS = 10_000;

    /// @notice What accrues over `duration` seconds. Rounds down, in the tenant's favour.
    function accrued(uint80 price, uint256 cells, uint256 duration) internal pure returns (uint256) {
        unchecked {
            return uint256(price) * cells * duration / CELL_SECONDS_PER_GPU_HOUR;
        }
    }

    /// @notice What must be held for `duration` seconds. Rounds up, so that an escrow always covers what accrues.
    function escrow(uint80 price, uint256 cells, uint256 duration) internal pure returns (uint256) {
        unchecked {
            return (uint256(price) * cells * duration + CELL_SECONDS_PER_GPU_HOUR - 1) / CELL_SECONDS_PER_GPU_HOUR;
        }
    }

    /// @notice What a lease owes for its time up to `until`: what its earlier segments came to, and what accrues in the
    /// present one less its pauses. Never less than what is settled; with `until` inside the lease never more than `held`.
    /// @param cells of the present segment
    /// @param start of the lease, where its first segment began
    function total(LeaseBill bill, uint80 price, uint256 cells, uint256 start, uint256 until)
        internal
        pure
        returns (uint256 owed)
    {
        uint256 from = start;
        if (!bill.plain()) {
            from = began(bill, start) + bill.paused();
            owed = bill.segmentSettled();
        }
        unchecked {
            if (until > from) owed += uint256(price) * cells * (until - from) / CELL_SECONDS_PER_GPU_HOUR;
        }
        if (owed < bill.settled()) owed = bill.settled();
    }

    /// @notice What a lease must hold in all to last until `end`.
    function held(LeaseBill bill, uint80 price, uint256 cells, uint256 start, uint256 end)
        internal
        pure
        returns (uint256)
    {
        unchecked {
            return bill.segmentSettled() + escrow(price, cells, end - began(bill, start));
        }
    }

    /// @notice When the present segment began.
    function began(LeaseBill bill, uint256 start) internal pure returns (uint256) {
        uint256 segmentStart = bill.segmentStart();
        return segmentStart == 0 ? start : segmentStart;
    }

    /// @notice The bill with the time that `[from, to)` has in common with the present segment up to `end` taken off.
    function without(LeaseBill bill, uint256 start, uint256 end, uint256 from, uint256 to)
        internal
        pure
        returns (LeaseBill)
    {
        uint256 since = began(bill, start);
        if (from < since) from = since;
        if (to > end) to = end;
        if (to <= from) return bill;
        // Both are timestamps of 32 bits; pauses that pass them leave nothing to bill, which is what they said.
        return bill.withPaused(uint32(min(bill.paused() + (to - from), type(uint32).max)));
    }

    /// @notice For how many seconds `amount` lasts: the longest time whose `escrow` it covers. `price` and `cells` are not 0.
    function affordable(uint80 price, uint256 cells, uint256 amount) internal pure returns (uint256) {
        unchecked {
            return amount * CELL_SECONDS_PER_GPU_HOUR / (uint256(price) * cells);
        }
    }

    /// @notice `bps` of `amount`. Rounds down: a fee favours the provider, a hold fee the tenant.
    function portion(uint256 amount, uint256 bps) internal pure returns (uint256) {
        unchecked {
            return amount * bps / BPS;
        }
    }

    /// @notice The lesser of two.
    function min(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }
}
