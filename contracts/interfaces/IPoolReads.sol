// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AccountView, LeaseView, MachineView, Stake, Tenancy, Terms} from "./PoolTypes.sol";

/// @title What of a pool, its machines and its leases can be read. `ControllerExt` serves it.
/// @dev Callers use `IController`.
interface IPoolReads {
    function companions()
        external
        view
        returns (address committee, address faults, address reputation, address directory);
    function machineOf(uint32 machine) external view returns (MachineView memory);
    function stakeOf(uint32 machine) external view returns (Stake memory);
    function tenancyOf(uint256 lease) external view returns (Tenancy memory);
    function leaseOf(uint256 lease) external view returns (LeaseView memory);
    function termsOf(uint32 machine, uint16 revision) external view returns (Terms memory terms, uint16 params);
    /// @notice The version that the machine's provider had accepted at `time`: an outage that began then is judged by it.
    function acceptedAt(uint32 machine, uint256 time) external view returns (uint16 version);
    function accountOf(address provider) external view returns (AccountView memory);
    function machineCount() external view returns (uint32);
    function slotCount() external view returns (uint32);
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
