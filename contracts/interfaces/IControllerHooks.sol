// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Params} from "./IControllerTypes.sol";

/// @title What only the other contracts of a pool may call. `ControllerExt` serves it.
/// @dev Each hook belongs to one companion, whose address the pool's own code holds; where that is zero, to nobody.
interface IControllerHooks {
    /// @notice Gives a new pool its owner, treasury and first parameters, which are in force at once. Works once.
    function initialize(address owner, address treasury, Params calldata params) external;

    /// @notice The committee has measured the machine as it is described by `revision`.
    function markVerified(uint32 machine, uint16 revision) external;

    /// @notice Faults give stake of a machine to others' ledgers. Too little left bars the machine from new leases.
    function moveStake(uint32 machine, address[] calldata to, uint96[] calldata amounts) external;
}
