// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ILeaseChanges} from "../interfaces/ILeases.sol";
import {LeaseRequest, Offer} from "../interfaces/PoolTypes.sol";
import {MachineHead, StoredTerms} from "../libraries/Slots.sol";
import {Lifecycle} from "./Lifecycle.sol";

/// @title Leases at terms that a provider signed.
/// @dev An offer stands in place of the listed price, durations and last day; all else that `open` asks for holds. It works
/// once, for what it says and no more: neither `extend` nor a larger `resize` stretches it.
abstract contract Offers is Lifecycle, ILeaseChanges {
    bytes32 private constant OFFER_TYPE = keccak256(
        "Offer(address account,uint32 machine,uint16 revision,uint80 price,uint8 cells,uint32 duration,bool spot,"
        "address tenant,uint256 nonce,uint64 expiresAt)"
    );

    /// @inheritdoc ILeaseChanges
    function openWithOffer(LeaseRequest calldata request, Offer calldata offer, bytes calldata proof)
        external
        nonReentrant
        returns (uint256 id)
    {
        // Check. The proof is asked for by a static call, before the offer is used.
        bytes32 fault = _mismatch(request, offer);
        if (fault != 0) revert OfferMismatch(fault);
        if (block.timestamp > offer.expiresAt) revert OfferExpired(offer.expiresAt);
        _closeWhatIsOver(request.machine, request.settle);
        (MachineHead seen, StoredTerms terms) =
            _requireRentable(request.machine, request.revision, request.allowUnverified);
        address provider = seen.provider();
        if (offer.account != provider) revert OfferMismatch("account");
        if (!_accounts.isAuthorized(provider, offerDigest(offer), proof)) revert WrongProof(provider);

        // Effect, Interact, Log
        uint256 used = _offers[provider][offer.nonce >> 8];
        uint256 bit = 1 << (offer.nonce & 0xFF);
        if (used & bit != 0) revert OfferUsed(offer.nonce);
        _offers[provider][offer.nonce >> 8] = used | bit;
        id = _openAtPrice(request, seen, terms.params(), offer.price, OFFERED);
        emit OfferTaken(provider, offer.nonce, id);
    }

    /// @inheritdoc ILeaseChanges
    function cancelOffers(uint256 word, uint256 mask) external nonReentrant {
        address provider = _actor();
        mask |= _offers[provider][word];
        _offers[provider][word] = mask;
        emit OffersCancelled(provider, word, mask);
    }

    /// @inheritdoc ILeaseChanges
    function offersOf(address provider, uint256 word) external view returns (uint256) {
        return _offers[provider][word];
    }

    /// @inheritdoc ILeaseChanges
    function offerDigest(Offer calldata offer) public view returns (bytes32) {
        return _digest(keccak256(abi.encode(OFFER_TYPE, offer)));
    }

    /// @dev The first field of the request that the offer does not allow, or zero.
    function _mismatch(LeaseRequest calldata request, Offer calldata offer) private view returns (bytes32) {
        if (request.machine != offer.machine) return "machine";
        if (request.revision != offer.revision) return "revision";
        if (request.share > offer.cells) return "cells";
        if (request.duration == 0 || request.duration > offer.duration) return "duration";
        if (request.spot != offer.spot) return "spot";
        if (offer.tenant != address(0) && offer.tenant != _actor()) return "tenant";
        return 0;
    }
}
