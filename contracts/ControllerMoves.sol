// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseChanges} from "./base/LeaseChanges.sol";
import {Ledger} from "./base/Ledger.sol";
import {MachineUpkeep} from "./base/MachineUpkeep.sol";
import {Offers} from "./base/Offers.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";

/// @title The third part of a pool: what is rarely done to machines, offers, and leases that change their size, their
/// machine or their tenant.
/// @dev Reached by delegatecall only, from `ControllerExt`, for what that does not know. Its own storage is locked by the
/// constructor of `Ledger`.
contract ControllerMoves is MachineUpkeep, Offers, LeaseChanges {
    constructor(IAccounts accounts_) Ledger(accounts_) {}

    /// @notice Whom this part believes; `ControllerExt` asks before it relies on it.
    function accounts() external view returns (address) {
        return address(_accounts);
    }
}
