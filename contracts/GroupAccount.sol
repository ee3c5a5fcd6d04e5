// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";
import {Signatures} from "./libraries/Signatures.sol";

/// @title The account at a group's address, for what was sent there.
/// @notice A group rents, signs and is paid without it. It holds nothing but what strangers sent to the address, sends it
/// where `Accounts.rescue` says, and answers ERC-1271 for programs that know no groups.
/// @dev Deployed once, by `Accounts`; each group's is a plain clone of it, whose address is all that tells it apart.
contract GroupAccount is IERC1271 {
    using SafeERC20 for IERC20;

    IAccounts private immutable _accounts;

    constructor() {
        _accounts = IAccounts(msg.sender);
    }

    receive() external payable {}

    /// @notice Sends `amount` of `token`, or of the chain's coin where `token` is zero.
    function send(address token, address to, uint256 amount) external {
        // Check
        if (msg.sender != address(_accounts)) revert IAccounts.NotAuthorized(msg.sender);

        // Interact
        if (token == address(0)) Address.sendValue(payable(to), amount);
        else IERC20(token).safeTransfer(to, amount);
    }

    /// @inheritdoc IERC1271
    /// @dev `proof` is a group's: a contract's would have `Accounts` ask here again.
    /// Warning: what is signed is `digest` itself. Whoever takes it from several groups of the same signers must have the
    /// account in the digest, as all of Leasehold's typed data and the permits of tokens have.
    function isValidSignature(bytes32 digest, bytes calldata proof) external view returns (bytes4) {
        bool valid = bytes1(proof) == Signatures.GROUP && _accounts.isAuthorized(address(this), digest, proof);
        return valid ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
