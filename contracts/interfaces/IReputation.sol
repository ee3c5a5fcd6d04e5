// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICompanion} from "./ICompanion.sol";

/// @title What is thought of a provider, computed from what the chain knows of it; and ratings, which are events.
interface IReputation is ICompanion {
    /// @notice A tenant rated a lease that it had and paid.
    /// @param fee what the lease paid to the pool: a rating weighs that much
    event Rated(
        address indexed provider,
        uint256 indexed lease,
        address indexed tenant,
        uint8 stars,
        bytes32 comment,
        uint96 fee
    );

    /// @notice A rating has 1 to 5 stars, not {stars}: correct it.
    error InvalidStars(uint8 stars);
    /// @notice Lease {lease:lease} cannot be rated: rate leases of your own that have ended and were paid.
    error NotRateable(uint256 lease);
    /// @notice Lease {lease:lease} has been rated: a lease is rated once.
    error RatedAlready(uint256 lease);

    /// @notice The tenant of an ended, paid lease rates it, once, until its slot is used again.
    /// @param stars 1 to 5
    /// @param comment SHA-256 of the comment, or 0
    function rate(uint256 lease, uint8 stars, bytes32 comment) external;
    /// @notice 0 to 1000, a pure function (`Score`) of fees paid, leases terminated and unstarted, and slashes.
    function scoreOf(address provider) external view returns (uint256);
    /// @notice By how much the least stake of the provider's machines is lowered, basis points, at most 5000.
    function discountBpsOf(address provider) external view returns (uint256);
    function isRated(uint256 lease) external view returns (bool);
}
