// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {Signatures} from "./Signatures.sol";

/// @title What a group is, and whether its signers signed.
/// @dev The layout of a proof stands in `IAccounts`. Faults are returned, as the error to revert with or empty, because
/// `execute` tells them and `isAuthorized` must never revert.
///
/// Why M distinct signers and no fewer: signers ascend strictly, so none counts twice in the group; signatures name them in
/// strictly ascending order, so none counts twice in the proof; and the address commits to the signers and the threshold,
/// so neither can be others.
library Groups {
    uint256 private constant MAX_SIGNERS = 16;
    /// @dev Kind, threshold and number of signers.
    uint256 private constant HEAD = 3;
    uint256 private constant SIGNER = 20;
    uint256 private constant SALT = 32;
    uint256 private constant SIGNATURE = 65;

    /// @notice What the address of a group is made of: the bytes that follow the kind in each of its proofs, hashed.
    function identity(uint8 threshold, address[] calldata signers, bytes32 salt) internal pure returns (bytes32) {
        uint256 count = signers.length;
        raise(_sizeFault(threshold, count));
        bytes memory packed = abi.encodePacked(threshold, uint8(count));
        address previous = address(0);
        for (uint256 i = 0; i < count; ++i) {
            if (signers[i] <= previous) revert IAccounts.InvalidSigners(i);
            previous = signers[i];
            packed = bytes.concat(packed, bytes20(previous));
        }
        return keccak256(bytes.concat(packed, salt));
    }

    /// @notice Why `proof` does not show that the group `account` approved `digest`, or nothing if it does.
    /// @param implementation of the groups' accounts, which this contract would clone
    function fault(address account, bytes32 digest, bytes calldata proof, address implementation)
        internal
        view
        returns (bytes memory error_)
    {
        if (proof.length < HEAD) return _malformed();
        uint8 threshold = uint8(proof[1]);
        uint256 count = uint8(proof[2]);
        error_ = _sizeFault(threshold, count);
        if (error_.length != 0) return error_;

        uint256 end = HEAD + SIGNER * count + SALT;
        if (proof.length < end) return _malformed();
        address previous = address(0);
        for (uint256 i = 0; i < count; ++i) {
            address signer = _signer(proof, i);
            if (signer <= previous) return abi.encodeWithSelector(IAccounts.InvalidSigners.selector, i);
            previous = signer;
        }

        address derived = Clones.predictDeterministicAddress(implementation, keccak256(proof[1:end]), address(this));
        if (derived != account) return abi.encodeWithSelector(IAccounts.WrongGroup.selector, account, derived);
        return _signaturesFault(digest, proof, threshold, count, end);
    }

    /// @notice Reverts with `error_`, or does nothing if there is none.
    function raise(bytes memory error_) internal pure {
        if (error_.length == 0) return;
        assembly ("memory-safe") {
            revert(add(error_, 32), mload(error_))
        }
    }

    /// @dev `offset` never passes the proof's end, nor a word by more than a signature's size: nothing here overflows.
    function _signaturesFault(bytes32 digest, bytes calldata proof, uint256 threshold, uint256 count, uint256 offset)
        private
        view
        returns (bytes memory error_)
    {
        unchecked {
            uint256 lowest = 0; // one more than the last signer's index
            for (uint256 signed = 0; signed < threshold; ++signed) {
                if (proof.length < offset + 4) return _malformed(); // no signature is shorter
                bytes32 head = _word(proof, offset);
                uint256 index = uint8(head[0]);
                bytes1 kind = head[1];
                offset += 2;
                if (index >= count) return _malformed();
                if (index + 1 == lowest) return abi.encodeWithSelector(IAccounts.DuplicateSignature.selector, index);
                if (index < lowest) return abi.encodeWithSelector(IAccounts.UnorderedSignatures.selector, index);
                lowest = index + 1;

                uint256 size = SIGNATURE;
                if (kind == Signatures.ERC1271) {
                    size = uint16(bytes2(head << 16));
                    offset += 2;
                } else if (kind != Signatures.KEY) {
                    return _malformed();
                }
                if (proof.length < offset + size) return _malformed();
                error_ = _signatureFault(_signer(proof, index), digest, kind, proof[offset:offset + size]);
                if (error_.length != 0) return error_;
                offset += size;
            }
            if (offset != proof.length) return _malformed();
        }
    }

    function _signatureFault(address signer, bytes32 digest, bytes1 kind, bytes calldata signature)
        private
        view
        returns (bytes memory error_)
    {
        bool valid;
        if (kind == Signatures.KEY) {
            (address recovered, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(digest, signature);
            if (failure == ECDSA.RecoverError.InvalidSignatureS) {
                return abi.encodeWithSelector(IAccounts.MalleableSignature.selector, signer);
            }
            valid = recovered == signer; // which is not zero
        } else {
            valid = Signatures.isValidERC1271(signer, digest, signature);
        }
        if (!valid) return abi.encodeWithSelector(IAccounts.WrongSignature.selector, signer);
    }

    function _sizeFault(uint8 threshold, uint256 count) private pure returns (bytes memory error_) {
        if (count > MAX_SIGNERS) return abi.encodeWithSelector(IAccounts.InvalidSigners.selector, MAX_SIGNERS);
        if (threshold == 0 || threshold > count) {
            return abi.encodeWithSelector(IAccounts.InvalidThreshold.selector, threshold, count);
        }
    }

    /// @dev Signers lie behind the head, within what the caller has checked.
    function _signer(bytes calldata proof, uint256 index) private pure returns (address) {
        unchecked {
            return address(bytes20(_word(proof, HEAD + SIGNER * index)));
        }
    }

    /// @dev The 32 bytes from `offset` on. What of them lies behind the proof's end means nothing, and callers have checked
    /// that what they use does not.
    function _word(bytes calldata proof, uint256 offset) private pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := calldataload(add(proof.offset, offset))
        }
    }

    function _malformed() private pure returns (bytes memory) {
        return abi.encodeWithSelector(IAccounts.MalformedProof.selector);
    }
}
