// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

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
