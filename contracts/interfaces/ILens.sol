// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {AccountView, LeaseView, MachineView, Params} from "./PoolTypes.sol";

/// @param discountBps by how much the least stake of its provider's machines is lowered
struct MachineRow {
    uint32 machine;
    MachineView view_;
    uint256 score;
    uint256 discountBps;
}

/// @param lease the newest one of its slot
struct LeaseRow {
    uint256 lease;
    LeaseView view_;
}

/// @param slashed all that it was slashed, halving every 90 days, token units
struct ProviderView {
    AccountView account;
    uint256 balance;
    uint256 score;
    uint256 discountBps;
    uint256 slashed;
}

/// @notice Who has which power over a pool, and by what rules. `params` are those that may be accepted now: who judges a
/// machine, and by what, is what its own provider has accepted.
/// @param maturedSeats that `params` admit
/// @param proposedVersion 0 when nothing is proposed; then `proposed` is empty
struct PoolView {
    address token;
    address accounts;
    address owner;
    address pendingOwner;
    address treasury;
    address committee;
    address faults;
    address reputation;
    address directory;
    bool paused;
    bool gated;
    uint32 machineCount;
    uint32 slotCount;
    uint32 seatCount;
    uint256 maturedSeats;
    uint16 paramsVersion;
    Params params;
    uint16 proposedVersion;
    uint40 inForceAt;
    Params proposed;
}

/// @title Reads for programs and people: much in one call, of any pool.
interface ILens {
    /// @notice The table of powers.
    function pool(address controller) external view returns (PoolView memory);
    /// @notice Machines `offset + 1` to `offset + limit`, as far as there are any.
    function machines(address controller, uint256 offset, uint256 limit) external view returns (MachineRow[] memory);
    /// @notice The newest lease of each slot, that is of each `lease >> 16`.
    function leases(address controller, uint256[] calldata slots) external view returns (LeaseRow[] memory);
    function provider(address controller, address account) external view returns (ProviderView memory);
}
