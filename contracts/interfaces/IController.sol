// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IGovernance} from "./IGovernance.sol";
import {ILeaseChanges, ILeases} from "./ILeases.sol";
import {ILedger} from "./ILedger.sol";
import {IMachineUpkeep, IMachines} from "./IMachines.sol";
import {IPoolErrors} from "./IPoolErrors.sol";
import {IPoolEvents} from "./IPoolEvents.sol";
import {IPoolReads} from "./IPoolReads.sol";

/// @title A pool of GPUs: its ledger, its machines and their stake, its leases and their escrow.
/// @notice Nobody but its owner can move a ledger balance or an escrow. Nobody can stop anyone from closing, claiming,
/// unstaking or withdrawing. Every deadline that has passed can be settled by anyone. Stake is lost only by a fault, up
/// to a stated limit, after a delay.
/// @dev The *actor* of a call is `msg.sender` or, when that is `Accounts`, the account it acts for. Part of these
/// functions live in `ControllerExt` and `ControllerMoves`, reached by delegatecall; callers see one contract.
interface IController is
    IPoolEvents,
    IPoolErrors,
    ILedger,
    IMachines,
    ILeases,
    IGovernance,
    IPoolReads,
    IMachineUpkeep,
    ILeaseChanges
{}
