// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params} from "./PoolTypes.sol";

/// @title Makes pools and remembers which contracts are pools. It has no owner and no power over them.
interface IControllerFactory {
    /// @notice There is a new pool, the factory's number `index`.
    event PoolCreated(
        uint256 indexed index, address indexed controller, address indexed token, address owner, address treasury
    );

    /// @notice The token has {decimals} decimals and a pool takes 6 to 18: choose another token.
    error TokenDecimals(uint8 decimals);
    /// @notice {accounts} is not the Accounts contract of this factory: deploy the contracts together.
    error WrongAccounts(address accounts);

    /// @param token 6 to 18 decimals; it must not take a fee on transfer nor rebase
    function createPool(address token, address owner, address treasury, Params calldata params)
        external
        returns (address controller);
    function pools(uint256 offset, uint256 limit) external view returns (address[] memory);
    function poolCount() external view returns (uint256);
    function isPool(address controller) external view returns (bool);
    /// @notice Whether `target` is a pool or a companion of one.
    function isPoolContract(address target) external view returns (bool);
    function accounts() external view returns (address);
    function implementation() external view returns (address);
}
