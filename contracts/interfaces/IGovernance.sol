// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Judging, Params} from "./PoolTypes.sol";

/// @title The pool's own affairs: its rules, its owner, its treasury. `ControllerExt` serves it.
/// @dev Callers use `IController`.
interface IGovernance {
    /// @notice Moves what providers' fees are due to the treasury's ledger. Anyone may send it.
    function pullFees(address[] calldata providers) external;
    /// @notice The owner's next rules, in force in two days. One proposal at a time.
    function proposeParams(Params calldata params) external;
    /// @notice Takes the proposal back before it is in force.
    function cancelParams() external;
    /// @notice Stops, or allows again, opening and registering. Nothing else.
    function setPaused(bool paused) external;
    /// @notice Whether `register` asks for a licence (`Directory`). Machines that are in stay in.
    function setGated(bool gated) external;
    /// @notice Whose ledger fees go to from now on.
    function setTreasury(address treasury) external;
    /// @notice Offers the pool to `owner`, who becomes it by `acceptOwnership`. Zero takes an offer back.
    function transferOwnership(address owner) external;
    function acceptOwnership() external;

    function params(uint16 version) external view returns (Params memory);
    /// @return version in force now
    function paramsVersion() external view returns (uint16 version);
    /// @return version 0 when nothing is proposed
    function proposedParams() external view returns (uint16 version, uint40 inForceAt);
    function judging(uint16 version) external view returns (Judging memory);
    function paused() external view returns (bool);
    function gated() external view returns (bool);
    function treasury() external view returns (address);
    function owner() external view returns (address);
    function pendingOwner() external view returns (address);
}
