// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent} from "../interfaces/IControllerTypes.sol";
import {Outages} from "./Outages.sol";

/// @title Whether an operator has said that it serves a provider.
/// @dev The digest names the chain, the pool, the provider and the operator: a consent that somebody else sends, or that was
/// given to another, is worth nothing. It is good for as many machines of that provider as he likes until its deadline, for
/// whose machines the key serves is all that it says; how many is between the two.
abstract contract Consenting is Outages {
    bytes32 private constant OPERATE_TYPE =
        keccak256("Operate(uint256 chain,address controller,address provider,address operator,uint64 deadline)");

    function _consentDigest(address provider, address operator, uint64 deadline) internal view returns (bytes32) {
        return _digest(keccak256(abi.encode(OPERATE_TYPE, block.chainid, address(this), provider, operator, deadline)));
    }

    /// @dev Asked by a static call. Zero consents to nothing.
    function _consented(address provider, address operator, Consent calldata consent) internal view {
        if (block.timestamp > consent.deadline) revert ConsentExpired(consent.deadline);
        bytes32 digest = _consentDigest(provider, operator, consent.deadline);
        if (!_accounts.isAuthorized(operator, digest, consent.proof)) revert WrongProof(operator);
    }
}
