// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ControllerStorage} from "./ControllerStorage.sol";
import {ICommittee} from "./interfaces/ICommittee.sol";
import {IController} from "./interfaces/IController.sol";
import {IFaults} from "./interfaces/IFaults.sol";
import {ILens, LeaseRow, MachineRow, PoolView, ProviderView} from "./interfaces/ILens.sol";
import {IReputation} from "./interfaces/IReputation.sol";
import {LeaseBody, LeaseId, LeaseIds} from "./libraries/Slots.sol";

/// @title Reads for programs and people: much in one call, of any pool.
/// @dev It inherits the pool's storage to know where things lie, and keeps nothing there itself. What it is told by a
/// contract that is no pool is that contract's word.
contract Lens is ControllerStorage, ILens {
    /// @inheritdoc ILens
    function pool(address controller) external view returns (PoolView memory seen) {
        IController asked = IController(controller);
        (seen.committee, seen.faults, seen.reputation, seen.directory) = asked.companions();
        seen.token = asked.token();
        seen.accounts = asked.accounts();
        seen.owner = asked.owner();
        seen.pendingOwner = asked.pendingOwner();
        seen.treasury = asked.treasury();
        seen.paused = asked.paused();
        seen.gated = asked.gated();
        seen.machineCount = asked.machineCount();
        seen.slotCount = asked.slotCount();
        seen.seatCount = ICommittee(seen.committee).seatCount();
        seen.paramsVersion = asked.paramsVersion();
        seen.maturedSeats = ICommittee(seen.committee).maturedSeats(seen.paramsVersion);
        seen.params = asked.params(seen.paramsVersion);
        (seen.proposedVersion, seen.inForceAt) = asked.proposedParams();
        seen.proposed = asked.params(seen.proposedVersion);
    }

    /// @inheritdoc ILens
    function machines(address controller, uint256 offset, uint256 limit)
        external
        view
        returns (MachineRow[] memory page)
    {
        IController asked = IController(controller);
        IReputation reputation = _reputation(asked);
        uint256 count = asked.machineCount();
        uint256 first = offset < count ? offset : count;
        page = new MachineRow[](count - first < limit ? count - first : limit);
        for (uint256 i = 0; i < page.length; ++i) {
            MachineRow memory row = page[i];
            row.machine = uint32(first + i + 1); // no more than their number
            row.view_ = asked.machineOf(row.machine);
            row.score = reputation.scoreOf(row.view_.provider);
            row.discountBps = reputation.discountBpsOf(row.view_.provider);
        }
    }

    /// @inheritdoc ILens
    /// @dev A slot's newest generation stands in the second word of its lease.
    function leases(address controller, uint256[] calldata slots) external view returns (LeaseRow[] memory rows) {
        IController asked = IController(controller);
        rows = new LeaseRow[](slots.length);
        bytes32[] memory bodies = new bytes32[](slots.length);
        for (uint256 i = 0; i < slots.length; ++i) {
            Lease storage lease = _leases[slots[i]];
            bytes32 place;
            assembly ("memory-safe") {
                place := add(lease.slot, 1)
            }
            bodies[i] = place;
        }
        bodies = asked.extsload(bodies);
        for (uint256 i = 0; i < slots.length; ++i) {
            uint256 id = LeaseId.unwrap(LeaseIds.make(slots[i], LeaseBody.wrap(uint256(bodies[i])).generation()));
            rows[i].lease = id;
            rows[i].view_ = asked.leaseOf(id);
        }
    }

    /// @inheritdoc ILens
    function provider(address controller, address account) external view returns (ProviderView memory seen) {
        IController asked = IController(controller);
        IReputation reputation = _reputation(asked);
        (, address faults,,) = asked.companions();
        seen.account = asked.accountOf(account);
        seen.balance = asked.balanceOf(account);
        seen.score = reputation.scoreOf(account);
        seen.discountBps = reputation.discountBpsOf(account);
        seen.slashed = IFaults(faults).slashedOf(account);
    }

    function _reputation(IController asked) private view returns (IReputation) {
        (,, address reputation,) = asked.companions();
        return IReputation(reputation);
    }
}
