// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params} from "./PoolTypes.sol";

/// @title What only the other contracts of a pool may call. `ControllerExt` serves it.
/// @dev Each hook belongs to one companion, whose address the pool's own code holds; where that is zero, to nobody.
interface IPoolHooks {
    /// @notice Gives a new pool its owner, treasury and first parameters, which are in force at once. Works once.
    function initialize(address owner, address treasury, Params calldata params) external;

    /// @notice Committee and Faults take a stake, a fee or a bond from the ledger of the account that calls *them*, into
    /// their own ledger. `Companion._charge` is the only place that calls it.
    function charge(address from, uint256 amount) external;

    /// @notice Committee: what was measured agrees with `revision`, or does not.
    function setVerified(uint32 machine, uint16 revision, bool verified) external;

    /// @notice Faults: gives stake of a machine to others' ledgers. Too little left bars the machine from new leases.
    function moveStake(uint32 machine, address[] calldata to, uint96[] calldata amounts) external;

    /// @notice Faults: an outage runs since `from`, or, with 0, none does (any more). Clears a stall when it ends.
    function setDown(uint32 machine, uint32 from) external;

    /// @notice Faults: until `until`, what lies in `[from, to)` of leases that lived through some of it is held, so that it
    /// can be taken off their bills (`pause`). `to` is the end of the outages held; while a challenge stands, `until`. Takes
    /// the place of the hold before, which Faults has counted in: an answered challenge holds nothing up any longer.
    function hold(uint32 machine, uint32 from, uint32 to, uint32 until) external;

    /// @notice Faults: how many faults of the machine are not settled. Above 0 it is not unstaked.
    function setPendingSlashes(uint32 machine, uint8 count) external;

    /// @notice Faults: takes `[from, to)` off the bill of a running lease, as far as it lies in its present segment.
    /// Once for each lease and outage: Faults sees to that.
    function pause(uint256 lease, uint32 from, uint32 to) external;
}
