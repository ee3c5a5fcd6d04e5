// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {LeaseRequest, LeaseState, MachineStatus} from "../interfaces/IControllerTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {LeaseBodies, LeaseBody, LeaseHead, LeaseHeads, MachineHead, StoredTerms} from "../libraries/Slots.sol";
import {Settling} from "./Settling.sol";

/// @title What opens leases, for the parts of a pool.
abstract contract Opening is Settling {
    /// @dev What every request must pass, whatever its price: the pool is open, the machine is the one that the tenant has
    /// seen and in service, and its terms accept the rules in force. Makes room first (`settle`).
    function _admit(LeaseRequest calldata request) internal returns (MachineHead seen, StoredTerms terms) {
        _settle(request.machine, request.settle);
        return _admit(request.machine, request.revision, request.allowUnverified);
    }

    function _admit(uint32 id, uint16 revision, bool allowUnverified)
        internal
        view
        returns (MachineHead seen, StoredTerms terms)
    {
        if (_pool.paused) revert Paused();
        Machine storage machine;
        (machine, seen) = _machine(id);
        uint8 status = seen.status();
        if (_statusOf(status) == MachineStatus.Retired) revert MachineRetiredAlready(id);
        if (_statusOf(status) == MachineStatus.Unverified && !allowUnverified) revert MachineUnverified(id);
        if (status & DELISTED != 0) revert MachineDelisted(id);
        if (status & UNDER_STAKED != 0) revert MachineUnderStaked(id);
        _notDown(id, machine, seen);
        if (status & STALLED != 0) revert MachineStalled(id);
        if (revision != seen.revision()) revert RevisionChanged(seen.revision());
        terms = _terms[id][revision];
        uint16 current = _versionInForce();
        if (terms.params() != current) revert ParamsOutdated(terms.params(), current);
    }

    /// @dev Closes leases of the machine that are past their end, to make room. One that somebody has closed already is
    /// passed over: nobody can spoil an `open` by closing first.
    function _settle(uint32 machine, uint256[] calldata leases) private {
        for (uint256 i = 0; i < leases.length; ++i) {
            uint256 id = leases[i];
            Lease storage lease = _leases[id >> 16];
            LeaseHead head = lease.head;
            LeaseBody body = lease.body;
            if (body.generation() != uint16(id) || head.state() != uint8(LeaseState.Active)) continue;
            if (head.machine() != machine) revert WrongMachine(id, head.machine());
            _closeOver(id, lease, head, body, false);
        }
    }

    /// @dev The listed price, or the one for leases that may be ended with notice.
    function _listed(uint32 machine, StoredTerms terms, bool spot) internal pure returns (uint80 price) {
        if (!spot) return terms.price();
        price = terms.spotPrice();
        if (price == 0) revert NotSpot(machine);
    }

    function _availableUntil(uint256 end, StoredTerms terms) internal pure {
        uint256 until = (uint256(terms.availableUntilDay()) + 1) * 1 days;
        if (end > until) revert NotAvailableUntil(end, until);
    }

    /// @dev Opens what has been admitted, and takes its escrow from the actor.
    /// @param flags OFFERED, or 0
    function _open(LeaseRequest calldata request, MachineHead seen, uint16 version, uint80 price, uint8 flags)
        internal
        returns (uint256 id)
    {
        // Check
        if (price > request.maxPrice) revert PriceTooHigh(price, request.maxPrice);

        // Effect
        uint16 placement = _occupy(request.machine, seen, request.share, request.placement);
        if (request.spot) flags |= SPOT;
        if (request.backup != 0) flags |= BACKED;
        LeaseHead head = LeaseHeads.make(
            _actor(), request.machine, placement, uint8(LeaseState.Opened), flags, uint32(block.timestamp)
        );
        LeaseBody body = LeaseBodies.make(
            SafeCast.toUint96(Billing.escrow(price, Cells.count(placement), request.duration)),
            price,
            SafeCast.toUint32(block.timestamp + request.duration), // and so is now, above
            request.revision,
            version,
            0
        );
        id = _write(head, body, request.reuse);
        if (request.backup != 0) _leases[id >> 16].backup = request.backup;

        // Interact, Log
        _logOpened(id, body, _charge(head.tenant(), body.deposit()), request.workload, head, request.backup);
    }

    /// @dev Finds the share's place, or checks the one named, and takes it.
    /// @param seen the machine's head, less the cells that the share may take over
    function _occupy(uint32 id, MachineHead seen, uint8 share, uint16 named) internal returns (uint16 placement) {
        if (!Cells.isShare(share, seen.gpus())) revert InvalidShare(share);
        if (share < seen.smallestShare()) revert ShareTooSmall(share, seen.smallestShare());
        Machine storage machine = _machines[id];
        uint64 busy = seen.leased();
        if (seen.status() & WITHHOLDING != 0) {
            busy |= machine.care.withheld & ~(machine.head.leased() & ~busy); // what the share has it may keep
        }

        placement = named;
        if (placement == 0) {
            placement = Cells.place(busy, share, seen.gpus());
            if (placement == 0) revert NoFreeCells(id, busy);
        } else if (!Cells.fits(placement, share, seen.gpus())) {
            revert InvalidPlacement(placement);
        } else if (Cells.cells(placement) & busy != 0) {
            revert NoFreeCells(id, busy);
        }
        machine.head = seen.withLeased(Cells.cells(placement));
    }

    /// @dev Into a new slot, or as the next generation of an ended lease of the tenant's own.
    function _write(LeaseHead head, LeaseBody body, uint256 reuse) internal returns (uint256 id) {
        if (reuse == 0) {
            id = uint256(++_pool.slotCount) << 16;
        } else {
            (, LeaseHead old, LeaseBody last) = _lease(reuse);
            if (old.tenant() != head.tenant()) revert NotAuthorized(head.tenant());
            if (old.state() < uint8(LeaseState.Ended)) revert WrongState(reuse, old.state());
            if (last.generation() == type(uint16).max) revert SlotExhausted(reuse);
            id = reuse + 1;
            head = head.withFlags(head.flags() | STALE);
            body = body.withGeneration(uint16(id));
        }
        Lease storage lease = _leases[id >> 16];
        lease.head = head;
        lease.body = body;
    }

    /// @dev The order of the parameters is what the stack can reach.
    function _logOpened(uint256 id, LeaseBody body, uint256 pulled, bytes32 workload, LeaseHead head, bytes32 backup)
        internal
    {
        emit LeaseOpened(
            id,
            head.machine(),
            head.tenant(),
            head.placement(),
            body.revision(),
            body.params(),
            body.price(),
            body.end() - head.start(),
            body.deposit(),
            pulled,
            workload,
            head.flags() & SPOT,
            backup
        );
    }
}
