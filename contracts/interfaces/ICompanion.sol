// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title What every companion of a pool has.
interface ICompanion {
    /// @dev As a pool's error of this name, whose notice says what it means.
    error NotAuthorized(address actor);

    /// @notice The pool that it belongs to, which names it too (`IPoolReads.companions`).
    function controller() external view returns (address);
    /// @notice The `Accounts` that it believes.
    function accounts() external view returns (address);
}
