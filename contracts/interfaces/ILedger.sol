// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title What accounts hold in a pool, and how tokens come in and go out. `Controller` serves it.
/// @dev Callers use `IController`.
interface ILedger {
    /// @notice Moves `amount` from the caller's wallet, by allowance, into the ledger of `to`.
    function deposit(address to, uint256 amount) external;
    /// @notice `deposit`, trying the permit first; a permit that fails does not matter if the allowance suffices.
    function depositWithPermit(address to, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
    /// @notice Moves `amount` from the actor's ledger to that of `to`.
    function transfer(address to, uint256 amount) external;
    /// @notice Sends `amount` from the actor's ledger to the wallet of `to`. The only way out for tokens.
    function withdraw(address to, uint256 amount) external;
    /// @notice Several calls in one transaction: all of them happen, or none.
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results);
    /// @notice What the ledger holds for `account`, in token units.
    function balanceOf(address account) external view returns (uint256);
}
