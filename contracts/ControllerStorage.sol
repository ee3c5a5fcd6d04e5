// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Params} from "./interfaces/IControllerTypes.sol";

/// @title The storage of a pool, one layout for `Controller` and `ControllerExt`.
/// @dev The only place where state variables are declared. What moves value is guarded in transient storage, which takes
/// no slot here.
abstract contract ControllerStorage {
    /// @dev Bits of `Machine.status` above the two that hold `MachineStatus`.
    uint8 internal constant STATUS_MASK = 0x03;
    uint8 internal constant DELISTED = 0x04;
    uint8 internal constant UNDER_STAKED = 0x08;
    uint8 internal constant STALLED = 0x10;
    /// @dev `withheld` is not zero, so that `open` reads the lazy slot only when it must.
    uint8 internal constant WITHHOLDING = 0x20;

    /// @dev Bits of `Lease.flags`. `LeaseOpened.flags` shows the first.
    uint8 internal constant SPOT = 0x01;
    uint8 internal constant NOTICED = 0x02;
    /// @dev The third slot belongs to this generation. Until it is set the slot may hold what an earlier lease left there:
    /// a slot that is used again need not be cleared.
    uint8 internal constant BILLED = 0x04;

    struct Machine {
        // slot 0
        address provider;
        uint64 leased; // cells of live leases; `busy` is these and the withheld ones
        uint8 status; // MachineStatus and bits
        uint16 revision;
        uint8 gpus;
        // slot 1
        address operator;
        uint96 stake;
        // slot 2, written when first needed
        uint32 downSince;
        uint32 lastOutageEnd;
        uint32 lastVerified;
        uint64 withheld;
        uint32 retiredAt;
        uint8 pendingSlashes;
    }

    /// @dev `Terms` and the version of `Params` that came with them.
    struct StoredTerms {
        uint80 price;
        uint80 spotPrice;
        uint24 minDuration;
        uint24 maxDuration;
        uint16 trial;
        uint16 params;
        uint16 availableUntilDay;
    }

    /// @dev While Opened, `start` is when it was opened, and `end - start` its duration.
    struct Lease {
        // slot 0
        address tenant;
        uint32 machine;
        uint16 placement;
        uint8 state; // LeaseState
        uint8 flags;
        uint32 start;
        // slot 1
        uint96 deposit;
        uint80 price;
        uint32 end;
        uint16 revision;
        uint16 params;
        uint16 generation;
        // slot 2, valid only with BILLED
        uint96 settled;
        uint32 paused;
        uint32 segmentStart;
        uint96 segmentSettled;
        // slot 3, written when first needed
        bytes32 backup;
    }

    /// @dev `counts` is `terminated << 40 | unstarted << 20 | declined`, 24, 20 and 20 bits.
    struct Account {
        uint96 feesPaid;
        uint96 feesDue;
        uint64 counts;
    }

    /// @dev `inForceAt` is when version `paramsVersion + 1` comes into force, or 0 when nothing is proposed.
    struct Pool {
        uint32 machineCount;
        uint32 slotCount;
        uint16 paramsVersion;
        uint40 inForceAt;
        bool paused;
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
    /// @dev By slot, that is `leaseId >> 16`.
    mapping(uint256 slot => Lease) internal _leases;
}
