// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AccountView, Judging, LeaseView, MachineView, Params, Stake, Tenancy, Terms} from "./IControllerTypes.sol";

/// @title What `ControllerExt` serves: the pool's own affairs and reads.
/// @dev Callers use `IController`.
interface IControllerExt {
    // ----------------------------------------------------------------------------------------------------------- pool

    /// @notice Moves what providers' fees are due to the treasury's ledger. Anyone may send it.
    function pullFees(address[] calldata providers) external;
    /// @notice The owner's next rules, in force in two days. One proposal at a time.
    function proposeParams(Params calldata params) external;
    /// @notice Takes the proposal back before it is in force.
    function cancelParams() external;
    /// @notice Stops, or allows again, opening and registering. Nothing else.
    function setPaused(bool paused) external;
    /// @notice Whose ledger fees go to from now on.
    function setTreasury(address treasury) external;
    /// @notice Offers the pool to `owner`, who becomes it by `acceptOwnership`. Zero takes an offer back.
    function transferOwnership(address owner) external;
    function acceptOwnership() external;

    /// @notice Whether `register` asks for a licence (`Directory`). Machines that are in stay in.
    function setGated(bool gated) external;

    // ---------------------------------------------------------------------------------------------------------- reads

    function gated() external view returns (bool);
    function companions()
        external
        view
        returns (address committee, address faults, address reputation, address directory);
    function machineOf(uint32 machine) external view returns (MachineView memory);
    function stakeOf(uint32 machine) external view returns (Stake memory);
    function tenancyOf(uint256 lease) external view returns (Tenancy memory);
    function leaseOf(uint256 lease) external view returns (LeaseView memory);
    function termsOf(uint32 machine, uint16 revision) external view returns (Terms memory terms, uint16 params);
    function accountOf(address provider) external view returns (AccountView memory);
    function params(uint16 version) external view returns (Params memory);
    function judging(uint16 version) external view returns (Judging memory);
    /// @notice The version that the machine's provider had accepted at `time`: an outage that began then is judged by it.
    function acceptedAt(uint32 machine, uint256 time) external view returns (uint16 version);
    /// @return version in force now
    function paramsVersion() external view returns (uint16 version);
    /// @return version 0 when nothing is proposed
    function proposedParams() external view returns (uint16 version, uint40 inForceAt);
    function machineCount() external view returns (uint32);
    function slotCount() external view returns (uint32);
    function paused() external view returns (bool);
    function treasury() external view returns (address);
    function owner() external view returns (address);
    function pendingOwner() external view returns (address);
    function token() external view returns (address);
    function accounts() external view returns (address);
    /// @notice Raw storage, for readers that want many values in one call.
    function extsload(bytes32[] calldata slots) external view returns (bytes32[] memory values);
    /// @notice ERC-5267: the EIP-712 domain `Leasehold`, version 1, of this pool.
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        );
}
