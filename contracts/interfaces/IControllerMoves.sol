// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent, LeaseRequest, Offer} from "./IControllerTypes.sol";

/// @title What `ControllerMoves` serves: what is rarely done to machines and to leases.
/// @dev Callers use `IController`.
interface IControllerMoves {
    /// @notice Another hardware document. Raises the revision; the machine is Unverified again.
    function setHardware(uint32 machine, bytes32 hardware) external;
    /// @notice Another operator key, at once, if it consents.
    function setOperator(uint32 machine, address operator, Consent calldata consent) external;
    /// @notice What `operator` signs to serve `provider` until `deadline`.
    function consentDigest(address provider, address operator, uint64 deadline) external view returns (bytes32);
    /// @notice Another contact document. The operator may say so too.
    function setContact(uint32 machine, bytes32 contact) external;
    /// @notice Takes cells out of sale, or puts them back. The operator may say so too.
    /// @param cells the cells out of sale from now on, bit `8 × gpu + cell`; leased ones stay leased
    function withhold(uint32 machine, uint64 cells) external;
    /// @notice Takes no new leases and no extensions until `relist`.
    function delist(uint32 machine) external;
    function relist(uint32 machine) external;

    /// @notice `open` at terms that the provider signed (`Offer`, in this pool's domain), listed or not.
    /// @param proof of the machine's provider, as `Accounts.isAuthorized` takes it
    function openWithOffer(LeaseRequest calldata request, Offer calldata offer, bytes calldata proof)
        external
        returns (uint256 lease);
    /// @notice Spoils offers of the actor: each bit of `mask` is the nonce `word << 8 | bit`.
    function cancelOffers(uint256 word, uint256 mask) external;
    /// @notice Another share of the same machine from now on, at the same price and until the same end. Pays the provider
    /// what accrued, so an outage that has ended is worth having applied first. Not inside the trial, nor while the machine is
    /// down; and to more cells only while the machine is listed at the terms that the lease opened with.
    /// @param placement to name the place, or 0 to let the contract choose
    function resize(uint256 lease, uint8 share, uint16 placement) external;
    /// @notice While the machine is down: ends the lease, billed to the outage's begin, and opens its backup for the tenant
    /// for the time that was left, or as much of it as the refund buys. Anyone may send it; while an earlier outage may still
    /// be applied, only the tenant. The arguments are what `backup` is the digest of; a machine so named need not be Verified.
    function failover(uint256 lease, uint32 machine, uint16 revision, uint16 placement, bytes32 workload)
        external
        returns (uint256 backup);
    /// @notice Gives the lease to `to`, who has accepted it, with all that it holds. Its backup goes; to oneself, that is all.
    /// Warning: an acceptance says yes to the lease as it is when it arrives. Until then it is its tenant's, who may shrink it
    /// and keep what that frees: nobody should pay for a lease before it has arrived.
    /// @param deadline last timestamp at which the acceptance works
    /// @param proof of `to`, over `AcceptTransfer(account, controller, lease, deadline)` in the domain of `Accounts`
    function transferLease(uint256 lease, address to, uint256 deadline, bytes calldata proof) external;

    /// @notice Bits of used and cancelled offers.
    function offersOf(address provider, uint256 word) external view returns (uint256 mask);
    function offerDigest(Offer calldata offer) external view returns (bytes32);
}
