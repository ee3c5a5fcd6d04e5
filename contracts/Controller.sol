// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Permit.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Leases} from "./base/Leases.sol";
import {Ledger} from "./base/Ledger.sol";
import {Machines} from "./base/Machines.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";
import {ILedger} from "./interfaces/ILedger.sol";
import {IPoolReads} from "./interfaces/IPoolReads.sol";

/// @title A pool. Deployed once; each pool is a clone whose code holds its token and companions as arguments.
/// @dev `base/` holds the ledger's inside, the machines and the leases. Functions it does not know are `ControllerExt`'s.
contract Controller is ILedger, Machines, Leases {
    using SafeERC20 for IERC20;

    address private immutable _self = address(this);
    /// @notice The extension that every pool of this implementation uses, for ever.
    address public immutable extension;

    /// @dev All parts must believe the same `Accounts`. The factory sees only the extension's.
    constructor(IAccounts accounts_, address extension_) Ledger(accounts_) {
        address other = IPoolReads(extension_).accounts();
        if (other != address(accounts_)) revert IControllerFactory.WrongAccounts(other);
        extension = extension_;
    }

    /// @dev What is not served here is the extension's, which works on this contract's storage.
    fallback() external {
        _delegate(extension);
    }

    /// @inheritdoc ILedger
    /// @dev Delegatecalls the implementation itself, which is what the clone would do with each call; `msg.sender` and with
    /// it the actor stay the same. Not payable, so no value can be counted twice.
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results) {
        results = new bytes[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            results[i] = Address.functionDelegateCall(_self, calls[i]);
        }
    }

    /// @inheritdoc ILedger
    function balanceOf(address account) external view returns (uint256) {
        return _balance(account);
    }

    /// @inheritdoc ILedger
    function deposit(address to, uint256 amount) external nonReentrant {
        _deposit(to, amount);
    }

    /// @inheritdoc ILedger
    /// @dev The permit is tried, not required: somebody may have sent it first to spoil this call, and then the allowance
    /// is there. Only the caller's own tokens are pulled, whatever the permit said.
    function depositWithPermit(address to, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
        nonReentrant
    {
        // Interact. Before all else, and nothing that follows relies on it.
        try IERC20Permit(address(_token())).permit(msg.sender, address(this), amount, deadline, v, r, s) {} catch {}
        _deposit(to, amount);
    }

    /// @inheritdoc ILedger
    function transfer(address to, uint256 amount) external nonReentrant {
        // Check
        _requireReceiver(to);
        address from = _actor();

        // Effect, Log
        _debit(from, amount);
        _credit(to, amount);
        emit Transferred(from, to, amount);
    }

    /// @inheritdoc ILedger
    function withdraw(address to, uint256 amount) external nonReentrant {
        // Check
        _requireReceiver(to);
        if (amount == 0) revert ZeroAmount();

        // Effect, Log
        address account = _actor();
        uint256 left = _debit(account, amount);
        emit Withdrawn(account, to, amount, left);

        // Interact
        _token().safeTransfer(to, amount);
    }

    function _deposit(address to, uint256 amount) private {
        // Check
        _requireReceiver(to);
        if (amount == 0) revert ZeroAmount();

        // Effect, Log
        _credit(to, amount);
        emit Deposited(to, msg.sender, amount, _balance(to));

        // Interact. Reverts all of it if less arrives.
        _pull(msg.sender, amount);
    }
}
