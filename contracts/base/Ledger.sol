// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ControllerStorage} from "../ControllerStorage.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {IPoolErrors} from "../interfaces/IPoolErrors.sol";
import {IPoolEvents} from "../interfaces/IPoolEvents.sol";

/// @title Whose call it is, and every movement of money.
/// @dev Tokens enter only by `_pull` and leave only by `withdraw`; all else moves inside the ledger.
///
/// What is assumed of the token for safety: a transfer moves exactly what it says out of the controller, and balances do
/// not change on their own (no rebasing). `_pull` refuses a token that takes a fee on the way in. What could get stuck: a
/// token that blocks the controller's address strands everybody in the pool; one that blocks an account strands nobody,
/// for `withdraw` names its receiver.
abstract contract Ledger is ControllerStorage, IPoolEvents, IPoolErrors, ReentrancyGuardTransient {
    using SafeERC20 for IERC20;

    /// @dev Where a clone's arguments begin in its code (OpenZeppelin's `Clones`), each an address of 20 bytes.
    uint256 private constant ARGS = 0x2d;
    uint256 internal constant TOKEN = 0;
    uint256 internal constant COMMITTEE = 1;
    uint256 internal constant FAULTS = 2;
    uint256 internal constant REPUTATION = 3; // which nothing here asks
    uint256 internal constant DIRECTORY = 4;

    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant NAME = keccak256("Leasehold");
    bytes32 private constant VERSION = keccak256("1");

    IAccounts internal immutable _accounts;

    /// @dev Runs for the implementation and for the extension, never for a clone: what is not a clone serves nobody. It
    /// has no owner, is paused, cannot be initialized, and the "token" that it reads out of its own code is no contract.
    constructor(IAccounts accounts_) {
        _accounts = accounts_;
        _pool.paramsVersion = type(uint16).max;
        _pool.paused = true;
    }

    // ------------------------------------------------------------------------------------------------------ authority

    /// @dev Accounts says whom it acts for only while it runs calls that this account has approved, and it calls pools
    /// only for that. Nobody else's word is taken: no forwarder, no `tx.origin`.
    function _actor() internal view returns (address) {
        return msg.sender == address(_accounts) ? _accounts.actor() : msg.sender;
    }

    /// @dev The digest of typed data in the pool's domain, whose contract is the clone.
    function _digest(bytes32 structHash) internal view returns (bytes32) {
        bytes32 domain = keccak256(abi.encode(DOMAIN_TYPE, NAME, VERSION, block.chainid, address(this)));
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    /// @dev Reads an argument out of the clone's own code: 20 bytes, left-aligned in a word.
    function _arg(uint256 index) internal view returns (address value) {
        assembly ("memory-safe") {
            extcodecopy(address(), 0, add(ARGS, mul(index, 20)), 32)
            value := shr(96, mload(0))
        }
    }

    function _token() internal view returns (IERC20) {
        return IERC20(_arg(TOKEN));
    }

    /// @dev Has another part of the pool answer this call, on this contract's storage and in its name.
    function _delegate(address part) internal {
        assembly ("memory-safe") {
            let ptr := mload(0x40)
            calldatacopy(ptr, 0, calldatasize())
            let ok := delegatecall(gas(), part, ptr, calldatasize(), 0, 0)
            returndatacopy(ptr, 0, returndatasize())
            if iszero(ok) { revert(ptr, returndatasize()) }
            return(ptr, returndatasize())
        }
    }

    // ----------------------------------------------------------------------------------------------------- inside it

    function _balance(address account) internal view returns (uint256) {
        uint256 stored = _ledger[account];
        return stored == 0 ? 0 : stored - 1;
    }

    /// @dev Adding nothing writes nothing, so that closing a lease to the last unit does not pay for an empty slot.
    function _credit(address account, uint256 amount) internal {
        if (amount == 0) return;
        uint256 stored = _ledger[account];
        _ledger[account] = (stored == 0 ? 1 : stored) + amount;
    }

    function _debit(address account, uint256 amount) internal returns (uint256 left) {
        uint256 balance = _balance(account);
        if (balance < amount) revert InsufficientBalance(account, balance, amount);
        unchecked {
            left = balance - amount;
        }
        _ledger[account] = left + 1;
    }

    /// @dev Takes `amount` from the actor: out of its ledger first, the rest from its wallet by allowance. An account for
    /// which `Accounts` acts pays out of its ledger only: the caller's wallet is not its own.
    /// Warning: calls the token. Nothing may be read before and relied on after.
    /// @return pulled what came from the wallet
    function _charge(address actor, uint256 amount) internal returns (uint256 pulled) {
        uint256 balance = _balance(actor);
        if (balance < amount) {
            if (actor != msg.sender) revert InsufficientBalance(actor, balance, amount);
            unchecked {
                pulled = amount - balance;
            }
            amount = balance;
        }
        if (amount != 0) _debit(actor, amount);
        if (pulled != 0) _pull(msg.sender, pulled);
    }

    // ---------------------------------------------------------------------------------------------------- the border

    /// @dev Measured by the balance's difference. A token that calls out in between cannot make it larger without giving
    /// more, and cannot come back in: everything that moves value is guarded.
    function _pull(address from, uint256 amount) internal {
        IERC20 token_ = _token();
        uint256 held = token_.balanceOf(address(this));
        token_.safeTransferFrom(from, address(this), amount);
        uint256 holds = token_.balanceOf(address(this));
        if (holds != held + amount) revert TokenTakesFee(amount, holds - held);
        // A pool never holds 2^96 units or more, so no sum of what it owes can pass 96 bits, and no exit can fail on one.
        SafeCast.toUint96(holds);
    }

    function _requireReceiver(address to) internal view {
        if (to == address(0)) revert ZeroAddress();
        if (to == address(this)) revert SelfTransfer();
    }
}
