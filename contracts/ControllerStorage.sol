// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params} from "./interfaces/PoolTypes.sol";
import {Account, LeaseBill, LeaseBody, LeaseHead, MachineHead, StoredTerms} from "./libraries/Slots.sol";

/// @title The storage of a pool, one layout for all its parts.
/// @dev The only place where state variables are declared. What moves value is guarded in transient storage, which takes
/// no slot here.
abstract contract ControllerStorage {
    /// @dev Bits of `MachineHead.status` above the two that hold `MachineStatus`.
    uint8 internal constant STATUS_MASK = 0x03;
    uint8 internal constant DELISTED = 0x04;
    uint8 internal constant UNDER_STAKED = 0x08;
    uint8 internal constant STALLED = 0x10;
    /// @dev `withheld` is not zero, so that `open` reads the lazy slot only when it must.
    uint8 internal constant WITHHOLDING = 0x20;
    /// @dev An outage runs, since `downSince`. This and the next are `Outages`'.
    uint8 internal constant DOWN = 0x40;
    /// @dev `heldFrom`, `heldTo` and `heldUntil` say something. Stays when the hold has passed.
    uint8 internal constant HELD = 0x80;

    /// @dev Bits of `LeaseHead.flags`. `LeaseOpened.flags` shows the first.
    uint8 internal constant SPOT = 0x01;
    uint8 internal constant NOTICED = 0x02;
    /// @dev `bill` holds what an earlier lease in this slot left there, and counts as zero: a slot that is used again need
    /// not be cleared, nor read.
    uint8 internal constant STALE = 0x04;
    /// @dev `backup` holds the digest of this lease's standby, not that of an earlier one in this slot.
    uint8 internal constant BACKED = 0x08;
    /// @dev Opened at signed terms, whose most seconds and cells an `extend` or a `resize` must not pass.
    uint8 internal constant OFFERED = 0x10;

    struct Machine {
        MachineHead head;
        address operator;
        uint96 stake;
        MachineCare care; // written when first needed
    }

    struct MachineCare {
        uint32 downSince;
        uint32 heldFrom;
        uint32 heldTo;
        uint32 heldUntil;
        uint32 lastVerified;
        uint32 retiredAt;
        uint8 pendingSlashes;
        uint64 withheld; // a slot of its own
    }

    /// @dev When a machine's provider accepted a version, and which one it had accepted before.
    struct Acceptance {
        uint32 since;
        uint16 before;
    }

    struct Lease {
        LeaseHead head;
        LeaseBody body;
        LeaseBill bill; // written when first needed; not with STALE
        bytes32 backup; // with BACKED
    }

    /// @dev `inForceAt` is when version `paramsVersion + 1` comes into force, or 0 when nothing is proposed.
    struct Pool {
        uint32 machineCount;
        uint32 slotCount;
        uint16 paramsVersion;
        uint40 inForceAt;
        bool paused;
        bool gated;
    }

    Pool internal _pool;
    address internal _owner;
    address internal _pendingOwner;
    address internal _treasury;
    /// @dev Balance plus one, so that a used slot never returns to zero. 0 is a balance of zero too.
    mapping(address account => uint256) internal _ledger;
    mapping(address provider => Account) internal _providers;
    mapping(uint256 version => Params) internal _params;
    mapping(uint256 machine => Machine) internal _machines;
    mapping(uint256 machine => mapping(uint256 revision => StoredTerms)) internal _terms;
    /// @dev By `LeaseId.slot`.
    mapping(uint256 slot => Lease) internal _leases;
    /// @dev Bits of signed offers that were used or cancelled.
    mapping(address provider => mapping(uint256 word => uint256 mask)) internal _offers;
    /// @dev Digests by which leases were accepted.
    mapping(bytes32 digest => bool) internal _acceptances;
    /// @dev Nothing for the version that a machine was registered under.
    mapping(uint256 machine => mapping(uint256 version => Acceptance)) internal _accepted;
}
