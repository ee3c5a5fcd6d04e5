// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent} from "../interfaces/PoolTypes.sol";
import {Signatures} from "../libraries/Signatures.sol";
import {Registry} from "./Registry.sol";

/// @title Whether an operator has said that it serves a provider.
/// @dev The digest names the chain, the pool, the provider and the operator: a consent that somebody else sends, or that was
/// given to another, is worth nothing. It is good for as many machines of that provider as he likes until its deadline, for
/// whose machines the key serves is all that it says; how many is between the two.
abstract contract Consenting is Registry {
    bytes32 private constant OPERATE_TYPE =
        keccak256("Operate(uint256 chain,address controller,address provider,address operator,uint64 deadline)");

    function _consentDigest(address provider, address operator, uint64 deadline) internal view returns (bytes32) {
        return _digest(keccak256(abi.encode(OPERATE_TYPE, block.chainid, address(this), provider, operator, deadline)));
    }

    /// @dev What a key signed is looked at here, for `register` would pay 3,600 gas to hear the same from `Accounts`; what else
    /// proves is asked by a static call. Zero consents to nothing.
    function _requireConsent(address provider, address operator, Consent calldata consent) internal view {
        if (block.timestamp > consent.deadline) revert ConsentExpired(consent.deadline);
        bytes32 digest = _consentDigest(provider, operator, consent.deadline);
        bytes calldata proof = consent.proof;
        bool consents = bytes1(proof) == Signatures.KEY
            ? Signatures.isValidKey(operator, digest, proof[1:])
            : _accounts.isAuthorized(operator, digest, proof);
        if (!consents) revert WrongProof(operator);
    }
}
