// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent, Terms} from "./PoolTypes.sol";

/// @title Machines and their stake, as every provider needs them. `Controller` serves it.
/// @dev Callers use `IController`.
interface IMachines {
    /// @notice Puts a machine into the pool and its stake with it, from the ledger first and the wallet for the rest.
    /// @param gpus 1 to 8
    /// @param smallestShare the least that it leases: 1, 2, 4 or 8 cells
    /// @param hardware SHA-256 of the hardware document
    /// @param contact SHA-256 of the contact document
    /// @param operator the hot key of the machine's agent; it moves no money
    /// @param consent the operator's, to serve the actor
    function register(
        Terms calldata terms,
        uint8 gpus,
        uint8 smallestShare,
        bytes32 hardware,
        bytes32 contact,
        address operator,
        Consent calldata consent
    ) external returns (uint32 machine);
    /// @notice New terms, which accept the parameters in force, for leases from now on. Raises the revision.
    function setTerms(uint32 machine, Terms calldata terms) external;
    /// @notice Clears the stall that an unstarted lease left. The operator may, too.
    function recover(uint32 machine) external;
    /// @notice Adds to a machine's stake, from the actor's ledger first. Anyone may.
    function addStake(uint32 machine, uint96 amount) external;
    /// @notice Takes the machine out of service for good, and starts `unstakeDelay`. Nothing may be leased.
    function retire(uint32 machine) external;
    /// @notice Gives a retired machine's stake back to its provider's ledger, after the delay. Anyone may send it.
    function unstake(uint32 machine) external;
}

/// @title What is rarely done to a machine that is in. `ControllerMoves` serves it.
/// @dev Callers use `IController`.
interface IMachineUpkeep {
    /// @notice Another hardware document. Raises the revision; the machine is Unverified again.
    function setHardware(uint32 machine, bytes32 hardware) external;
    /// @notice Another operator key, at once, if it consents.
    function setOperator(uint32 machine, address operator, Consent calldata consent) external;
    /// @notice What `operator` signs to serve `provider` until `deadline`.
    function consentDigest(address provider, address operator, uint64 deadline) external view returns (bytes32);
    /// @notice Another contact document. The operator may say so too.
    function setContact(uint32 machine, bytes32 contact) external;
    /// @notice Takes cells out of sale, or puts them back. The operator may say so too.
    /// @param cells the cells out of sale from now on, bit `8 × gpu + cell`; leased ones stay leased
    function withhold(uint32 machine, uint64 cells) external;
    /// @notice Takes no new leases and no extensions until `relist`.
    function delist(uint32 machine) external;
    function relist(uint32 machine) external;
}
