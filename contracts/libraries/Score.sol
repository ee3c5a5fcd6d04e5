// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title What a provider's record is worth. Pure, so that anybody can compute it again from events.
/// @dev With `u`, what a GPU must be staked with,
///
///     score = 1000 · fees / (fees + u + 10 · slashed + (terminated + unstarted) · u / 100)
///
/// rounded down. Only fees that were paid raise it, and each costs what it is worth: 500 takes as much in fees as a GPU
/// takes in stake. Declined leases count nothing: anybody could raise that number.
library Score {
    uint256 internal constant MAX = 1000;
    /// @dev At the highest score half of the stake.
    uint256 internal constant MAX_DISCOUNT_BPS = 5000;
    uint256 internal constant SLASH_WEIGHT = 10;
    uint256 internal constant COUNT_WEIGHT = 100;

    /// @param fees paid to the pool, at most 96 bits, token units
    /// @param slashed what was slashed, decayed, at most 128 bits, token units
    /// @param broken leases terminated and unstarted, at most 32 bits
    /// @param unit least stake of a GPU, at most 96 bits, token units
    /// @return 0 to 1000
    function compute(uint256 fees, uint256 slashed, uint256 broken, uint256 unit) internal pure returns (uint256) {
        if (fees == 0) return 0;
        unchecked {
            return MAX * fees / (fees + unit + SLASH_WEIGHT * slashed + broken * unit / COUNT_WEIGHT);
        }
    }

    /// @return basis points, at most `MAX_DISCOUNT_BPS`
    function discountBps(uint256 score) internal pure returns (uint256) {
        return score * MAX_DISCOUNT_BPS / MAX;
    }
}
