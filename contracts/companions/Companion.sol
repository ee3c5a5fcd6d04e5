// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../interfaces/IAccounts.sol";
import {ICompanion} from "../interfaces/ICompanion.sol";
import {IController} from "../interfaces/IController.sol";
import {IPoolHooks} from "../interfaces/IPoolHooks.sol";

/// @title What the companions of a pool share. Each is a clone whose code holds the pool's address.
/// @dev Their money is their own ledger balance in the pool: `_charge` brings it in, `_pay` takes it out. None holds tokens.
abstract contract Companion is ICompanion {
    /// @dev Where a clone's arguments begin in its code (OpenZeppelin's `Clones`).
    uint256 private constant ARGS = 0x2d;
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant NAME = keccak256("Leasehold");
    bytes32 private constant VERSION = keccak256("1");

    /// @dev Nobody has its key: what its ledger is credited with is nobody's for ever.
    address internal constant BURNT = address(0xdEaD);

    IAccounts internal immutable _accounts;

    constructor(IAccounts accounts_) {
        _accounts = accounts_;
    }

    /// @inheritdoc ICompanion
    function accounts() external view returns (address) {
        return address(_accounts);
    }

    /// @inheritdoc ICompanion
    function controller() external view returns (address) {
        return address(_controller());
    }

    /// @dev The implementation, which is no clone, reads something that is no contract, and so serves nobody.
    function _controller() internal view returns (IController value) {
        assembly ("memory-safe") {
            extcodecopy(address(), 0, ARGS, 32)
            value := shr(96, mload(0))
        }
    }

    /// @dev As in `Ledger`: `Accounts` says whom it acts for only while it runs calls that this account has approved.
    function _actor() internal view returns (address) {
        return msg.sender == address(_accounts) ? _accounts.actor() : msg.sender;
    }

    function _only(address who) internal view {
        address actor = _actor();
        if (actor != who) revert NotAuthorized(actor);
    }

    /// @dev Takes `amount` out of the ledger of whoever calls, and of nobody else.
    function _charge(uint256 amount) internal {
        if (amount != 0) IPoolHooks(address(_controller())).charge(_actor(), amount);
    }

    function _pay(address to, uint256 amount) internal {
        if (amount != 0) _controller().transfer(to, amount);
    }

    /// @dev The digest of typed data in the pool's domain.
    function _digest(bytes32 structHash) internal view returns (bytes32) {
        bytes32 domain = keccak256(abi.encode(DOMAIN_TYPE, NAME, VERSION, block.chainid, address(_controller())));
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }
}
