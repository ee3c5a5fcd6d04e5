// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title Whether one account signed, by its own key or as a contract. Never reverts.
library Signatures {
    /// @dev The first byte of a proof, and the kind of a signature in a group's.
    bytes1 internal constant KEY = 0x01;
    bytes1 internal constant ERC1271 = 0x02;
    bytes1 internal constant GROUP = 0x03;

    /// @dev What a contract may burn to check a signature: twice what a passkey costs in plain Solidity, ten times a Safe.
    /// One that wants more is answered no. Less gas than this makes a proof fail, never pass.
    uint256 private constant ERC1271_GAS = 1_000_000;

    /// @dev 65 bytes and a low s (OpenZeppelin's ECDSA), so a digest has one signature a key. Nothing relies on that, for
    /// nonces are what makes a proof single-use.
    function isValidKey(address account, bytes32 digest, bytes calldata signature) internal pure returns (bool) {
        (address signer, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(digest, signature);
        return failure == ECDSA.RecoverError.NoError && signer == account;
    }

    /// @dev A static call, so the contract changes nothing; with bounded gas and one word of its answer copied, so it
    /// cannot keep others from being answered.
    function isValidERC1271(address account, bytes32 digest, bytes calldata signature)
        internal
        view
        returns (bool valid)
    {
        bytes memory question = abi.encodeCall(IERC1271.isValidSignature, (digest, signature));
        bytes4 magic = IERC1271.isValidSignature.selector;
        uint256 limit = ERC1271_GAS;
        assembly ("memory-safe") {
            let answered := staticcall(limit, account, add(question, 32), mload(question), 0, 32)
            valid := and(and(answered, gt(returndatasize(), 31)), eq(mload(0), magic))
        }
    }
}
