// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICompanion} from "./ICompanion.sol";

struct Licence {
    uint32 seats;
    uint40 expiresAt;
}

/// @title Who serves the pool, and, where its owner wants that, who may.
interface IDirectory is ICompanion {
    /// @notice An account serves the pool, or does no longer.
    /// @param kind "access", "scheduler", "gateway", "ipfs" or "seed"
    /// @param endpoint SHA-256 of the document that says where; 0 when the service ends
    event ServiceAnnounced(address indexed account, bytes32 indexed kind, bytes32 endpoint, bytes peerId);
    /// @notice The owner granted, changed or, with an expiry in the past, took back a licence.
    event LicenceIssued(address indexed account, bytes32 indexed kind, uint32 seats, uint40 expiresAt);

    /// @notice There is no service of the kind `{kind}`: use access, scheduler, gateway, ipfs or seed.
    error UnknownKind(bytes32 kind);

    /// @notice Says that the actor offers a service, or, with an endpoint of 0, that it does no longer.
    function announce(bytes32 kind, bytes32 endpoint, bytes calldata peerId) external;
    /// @notice The pool's owner grants, changes or, with an expiry in the past, takes back a licence.
    /// @param kind "provider", which `register` in a gated pool asks for, or the name of a software
    /// @param seats how many at a time, for software; counted off-chain from live leases
    function issueLicence(address account, bytes32 kind, uint32 seats, uint40 expiresAt) external;
    function licenceOf(address account, bytes32 kind) external view returns (Licence memory);
    /// @notice Whether `account` may register machines in a gated pool.
    function isLicensed(address account) external view returns (bool);
}
