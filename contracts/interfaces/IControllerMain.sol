// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {LeaseRequest, Terms} from "./IControllerTypes.sol";

/// @title What `Controller` itself serves: ledger, machines, leases.
/// @dev Callers use `IController`.
interface IControllerMain {
    // --------------------------------------------------------------------------------------------------------- ledger

    function deposit(address to, uint256 amount) external;
    /// @notice `deposit`, trying the permit first; a permit that fails does not matter if the allowance suffices.
    function depositWithPermit(address to, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
    function transfer(address to, uint256 amount) external;
    function withdraw(address to, uint256 amount) external;
    /// @notice Several calls in one transaction: all of them happen, or none.
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results);
    function balanceOf(address account) external view returns (uint256);

    // ------------------------------------------------------------------------------------------------------- machines

    function register(Terms calldata terms, uint8 gpus, bytes32 hardware, bytes32 contact, address operator)
        external
        returns (uint32 machine);
    function setTerms(uint32 machine, Terms calldata terms) external;
    function setHardware(uint32 machine, bytes32 hardware) external;
    function setContact(uint32 machine, bytes32 contact) external;
    function setOperator(uint32 machine, address operator) external;
    /// @param cells the cells out of sale from now on, bit `8 × gpu + cell`; leased ones stay leased
    function withhold(uint32 machine, uint64 cells) external;
    function delist(uint32 machine) external;
    function relist(uint32 machine) external;
    function addStake(uint32 machine, uint96 amount) external;
    /// @notice Clears the stall that an unstarted lease left.
    function recover(uint32 machine) external;
    function retire(uint32 machine) external;
    function unstake(uint32 machine) external;

    // --------------------------------------------------------------------------------------------------------- leases

    function open(LeaseRequest calldata request) external returns (uint256 lease);
    /// @param endpoint SHA-256 of the document that says where the lease can be reached
    function start(uint256 lease, bytes32 endpoint) external;
    function decline(uint256 lease, bytes32 reason) external;
    function cancelUnstarted(uint256 lease) external;
    function reject(uint256 lease) external;
    /// @param duration seconds added to the end
    function extend(uint256 lease, uint32 duration) external;
    function setWorkload(uint256 lease, bytes32 workload) external;
    function close(uint256 lease) external;
    function terminate(uint256 lease) external;
    function claim(uint256[] calldata leases) external;
    function publishResult(uint256 lease, bytes calldata cid) external;
}
