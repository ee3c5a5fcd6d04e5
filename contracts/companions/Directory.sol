// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../interfaces/IAccounts.sol";
import {IDirectory, Licence} from "../interfaces/IDirectory.sol";
import {Companion} from "./Companion.sol";

/// @title Who serves the pool, and, where its owner wants that, who may.
contract Directory is Companion, IDirectory {
    bytes32 private constant PROVIDER = "provider";

    mapping(address account => mapping(bytes32 kind => Licence)) private _licences;

    constructor(IAccounts accounts_) Companion(accounts_) {}

    /// @inheritdoc IDirectory
    function announce(bytes32 kind, bytes32 endpoint, bytes calldata peerId) external {
        if (kind != "access" && kind != "scheduler" && kind != "gateway" && kind != "ipfs" && kind != "seed") {
            revert UnknownKind(kind);
        }
        emit ServiceAnnounced(_actor(), kind, endpoint, peerId);
    }

    /// @inheritdoc IDirectory
    function issueLicence(address account, bytes32 kind, uint32 seats, uint40 expiresAt) external {
        _only(_controller().owner());
        if (kind == 0) revert UnknownKind(kind);
        _licences[account][kind] = Licence(seats, expiresAt);
        emit LicenceIssued(account, kind, seats, expiresAt);
    }

    /// @inheritdoc IDirectory
    function licenceOf(address account, bytes32 kind) external view returns (Licence memory) {
        return _licences[account][kind];
    }

    /// @inheritdoc IDirectory
    function isLicensed(address account) external view returns (bool) {
        return block.timestamp < _licences[account][PROVIDER].expiresAt;
    }
}
