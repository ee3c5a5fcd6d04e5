// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Governance} from "./base/Governance.sol";
import {Hooks} from "./base/Hooks.sol";
import {Ledger} from "./base/Ledger.sol";
import {PoolReads} from "./base/PoolReads.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";
import {IPoolReads} from "./interfaces/IPoolReads.sol";

/// @title The colder part of a pool: its owner's affairs, the companions' hooks, and reads.
/// @dev Reached by delegatecall from `Controller` only. Its own storage is locked by the constructor of `Ledger`.
contract ControllerExt is Governance, Hooks, PoolReads {
    /// @notice The part that serves what neither `Controller` nor this one knows, for ever.
    address public immutable moves;

    /// @dev All parts must believe the same `Accounts`.
    constructor(IAccounts accounts_, address moves_) Ledger(accounts_) {
        address other = IPoolReads(moves_).accounts();
        if (other != address(accounts_)) revert IControllerFactory.WrongAccounts(other);
        moves = moves_;
    }

    /// @dev What is served neither by `Controller` nor here, on the pool's storage still.
    fallback() external {
        _delegate(moves);
    }
}
