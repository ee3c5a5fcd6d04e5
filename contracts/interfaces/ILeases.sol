// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, Offer} from "./PoolTypes.sol";

/// @title Leases from `open` to `claim`, as they are used every day. `Controller` serves it.
/// @dev Callers use `IController`.
interface ILeases {
    /// @notice Opens a lease and holds what it will cost, from the ledger first and the wallet for the rest.
    /// @return lease `slot << 16 | generation`
    function open(LeaseRequest calldata request) external returns (uint256 lease);
    /// @notice The operator says that the lease can be used. Billing begins.
    /// @param endpoint SHA-256 of the document that says where the lease can be reached
    function start(uint256 lease, bytes32 endpoint) external;
    /// @notice The operator cannot serve the lease, and says so inside the start window. Everything goes back.
    /// @param reason a short ASCII code
    function decline(uint256 lease, bytes32 reason) external;
    /// @notice Gives everything back once the start window has passed, and stalls the machine. Anyone may send it.
    function cancelUnstarted(uint256 lease) external;
    /// @notice Gives a lease up before its start, or inside its trial, for the hold fee.
    function reject(uint256 lease) external;
    /// @notice Moves the end of a running lease, at the price it opened with. Anyone may who pays.
    /// @param duration seconds added to the end
    function extend(uint256 lease, uint32 duration) external;
    /// @notice Another job on the same lease.
    /// @param workload SHA-256 of the sealed workload
    function setWorkload(uint256 lease, bytes32 workload) external;
    /// @notice Ends and pays. The tenant at any time, anyone past the end. While Opened it is `reject` inside the start
    /// window and `cancelUnstarted` past it.
    function close(uint256 lease) external;
    /// @notice Gives notice: the lease ends `noticeSeconds` from now at the latest, and the penalty moves at once.
    /// Warning: it is that of the moment, and a tenant may extend or grow the lease just before. `delist` first stops both; or
    /// a `multicall` that first withdraws all but what the provider means to pay.
    function terminate(uint256 lease) external;
    /// @notice Credits the provider of each lease with what accrued up to `claimLag` ago. Leases with nothing to claim are
    /// passed over; if none has anything, `NothingToClaim` of the first.
    function claim(uint256[] calldata leases) external;
    /// @notice The operator says where a lease's output is, until the slot is used again.
    /// @param cid the output's CID in its binary form
    function publishResult(uint256 lease, bytes calldata cid) external;
}

/// @title What is rarer: leases at terms that a provider signed, and leases that change their share, machine or tenant.
/// `ControllerMoves` serves it.
/// @dev Callers use `IController`.
interface ILeaseChanges {
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
