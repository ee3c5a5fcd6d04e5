// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {LeaseRequest, LeaseState, MachineStatus} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {
    LeaseBill,
    LeaseBodies,
    LeaseBody,
    LeaseHead,
    LeaseHeads,
    LeaseId,
    LeaseIds,
    MachineHead,
    StoredTerms
} from "../libraries/Slots.sol";
import {Registry} from "./Registry.sol";

/// @title How a lease begins, what it owes, and how it ends: one text for all parts of a pool.
/// @dev A lease's state moves only along
///
///     Opened → Active → Ended            start; close, failover
///     Opened → Cancelled                 decline, cancelUnstarted: everything goes back
///     Opened → Rejected ← Active         reject, close within the start window: all but the hold fee goes back
///
/// `_storeLease` and `start` enter the live states; `_payOut` is the only way out of them, so cells are freed and an escrow is
/// paid out exactly once.
abstract contract Lifecycle is Registry {
    // ---------------------------------------------------------------------------------------------------------- looking

    function _lease(uint256 id) internal view returns (Lease storage lease, LeaseHead head, LeaseBody body) {
        lease = _leases[LeaseId.wrap(id).slot()];
        head = lease.head;
        body = lease.body;
        if (LeaseHead.unwrap(head) == 0 || !body.isOf(LeaseId.wrap(id))) revert UnknownLease(id); // a slot never used is 0
    }

    /// @dev The lease, which must be in `state`.
    function _leaseIn(uint256 id, LeaseState state)
        internal
        view
        returns (Lease storage lease, LeaseHead head, LeaseBody body)
    {
        (lease, head, body) = _lease(id);
        if (head.state() != uint8(state)) revert WrongState(id, head.state());
    }

    function _requireState(uint256 id, LeaseHead head, LeaseState state) internal pure {
        if (head.state() != uint8(state)) revert WrongState(id, head.state());
    }

    /// @dev Of a lease that still runs.
    function _requireNotOver(uint256 id, LeaseBody body) internal view {
        if (block.timestamp >= body.end()) revert LeaseOver(id, body.end());
    }

    /// @dev A trial does not outlast its lease: what ran to its end is paid in full.
    function _trialEnd(LeaseHead head, LeaseBody body) internal view returns (uint256) {
        return Billing.min(uint256(head.start()) + _terms[head.machine()][body.revision()].trial(), body.end());
    }

    function _bill(Lease storage lease, LeaseHead head) internal view returns (LeaseBill) {
        return head.flags() & STALE != 0 ? LeaseBill.wrap(0) : lease.bill;
    }

    /// @dev What the lease owes for its time up to `until`.
    function _owedUntil(LeaseBill bill, LeaseHead head, LeaseBody body, uint256 until) internal pure returns (uint256) {
        return Billing.total(bill, body.price(), Cells.count(head.placement()), head.start(), until);
    }

    // -------------------------------------------------------------------------------------------------------- beginning

    /// @dev What every request must pass, whatever its price: the pool is open, the machine is the one that the tenant has
    /// seen and in service, and its terms accept the rules in force.
    function _requireRentable(uint32 id, uint16 revision, bool allowUnverified)
        internal
        view
        returns (MachineHead seen, StoredTerms terms)
    {
        if (_pool.paused) revert Paused();
        Machine storage machine;
        (machine, seen) = _machine(id);
        uint8 status = seen.status();
        MachineStatus standing = _statusOf(status);
        if (standing == MachineStatus.Retired) revert MachineRetiredAlready(id);
        if (standing == MachineStatus.Unverified && !allowUnverified) revert MachineUnverified(id);
        if (status & DELISTED != 0) revert MachineDelisted(id);
        if (status & UNDER_STAKED != 0) revert MachineUnderStaked(id);
        _requireNotDown(id, machine, seen);
        if (status & STALLED != 0) revert MachineStalled(id);
        if (revision != seen.revision()) revert RevisionChanged(seen.revision());
        terms = _terms[id][revision];
        uint16 current = _versionInForce();
        if (terms.params() != current) revert ParamsOutdated(terms.params(), current);
    }

    /// @dev Closes leases of the machine that are past their end, to make room. One that somebody has closed already is
    /// passed over: nobody can spoil an `open` by closing first.
    function _closeWhatIsOver(uint32 machine, uint256[] calldata leases) internal {
        for (uint256 i = 0; i < leases.length; ++i) {
            uint256 id = leases[i];
            Lease storage lease = _leases[LeaseId.wrap(id).slot()];
            LeaseHead head = lease.head;
            LeaseBody body = lease.body;
            if (!body.isOf(LeaseId.wrap(id)) || head.state() != uint8(LeaseState.Active)) continue;
            if (head.machine() != machine) revert WrongMachine(id, head.machine());
            _closeForOthers(id, lease, head, body, false);
        }
    }

    /// @dev The listed price, or the one for leases that may be ended with notice.
    function _listedPrice(uint32 machine, StoredTerms terms, bool spot) internal pure returns (uint80 price) {
        if (!spot) return terms.price();
        price = terms.spotPrice();
        if (price == 0) revert NotSpot(machine);
    }

    function _requireAvailableUntil(uint256 end, StoredTerms terms) internal pure {
        uint256 until = (uint256(terms.availableUntilDay()) + 1) * 1 days;
        if (end > until) revert NotAvailableUntil(end, until);
    }

    /// @dev Opens what has been admitted, and takes its escrow from the actor.
    /// @param flags OFFERED, or 0
    function _openAtPrice(LeaseRequest calldata request, MachineHead seen, uint16 version, uint80 price, uint8 flags)
        internal
        returns (uint256 id)
    {
        // Check
        if (price > request.maxPrice) revert PriceTooHigh(price, request.maxPrice);

        // Effect
        uint16 placement = _takeCells(request.machine, seen, request.share, request.placement);
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
        id = LeaseId.unwrap(_storeLease(head, body, request.reuse));
        if (request.backup != 0) _leases[LeaseId.wrap(id).slot()].backup = request.backup;

        // Interact, Log
        _logOpened(id, body, _charge(head.tenant(), body.deposit()), request.workload, head, request.backup);
    }

    /// @dev Finds the share's place, or checks the one named, and takes it.
    /// @param seen the machine's head, less the cells that the share may take over
    function _takeCells(uint32 id, MachineHead seen, uint8 share, uint16 named) internal returns (uint16 placement) {
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
    function _storeLease(LeaseHead head, LeaseBody body, uint256 reuse) internal returns (LeaseId id) {
        if (reuse == 0) {
            id = LeaseIds.first(++_pool.slotCount);
        } else {
            (, LeaseHead old, LeaseBody last) = _lease(reuse);
            if (old.tenant() != head.tenant()) revert NotAuthorized(head.tenant());
            if (old.state() < uint8(LeaseState.Ended)) revert WrongState(reuse, old.state());
            if (last.generation() == type(uint16).max) revert SlotExhausted(reuse);
            id = LeaseId.wrap(reuse).next();
            head = head.withFlags(head.flags() | STALE);
            body = body.withGeneration(id.generation());
        }
        Lease storage lease = _leases[id.slot()];
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

    // ----------------------------------------------------------------------------------------------------------- ending

    /// @dev Ends a lease that others than its tenant may end now, or reverts. While it is disputed that is its provider, who
    /// forgoes what is, where he says so by `close`.
    function _closeForOthers(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body, bool closes) internal {
        // Check
        if (block.timestamp < body.end()) revert LeaseNotOver(id, body.end());
        uint256 until = _disputedUntil(head, body, _bill(lease, head));
        bool disputed = block.timestamp < until;
        if (disputed && !(closes && _actor() == _machines[head.machine()].head.provider())) {
            revert LeaseNotOver(id, until);
        }

        // Effect, Log
        _close(id, lease, head, body, disputed);
    }

    /// @return refunded to the tenant's ledger
    function _close(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body, bool forgoes)
        internal
        returns (uint96 refunded)
    {
        LeaseBill bill;
        (head, body, bill) = _stopBill(lease, head, body, forgoes);
        uint256 total = _owedUntil(bill, head, body, body.end());
        uint96 paid;
        uint96 fee;
        (paid, fee, refunded) = _payOut(lease, head, body, LeaseState.Ended, bill.settled(), total);
        emit LeaseClosed(id, head.machine(), body.end(), paid, fee, refunded);
    }

    /// @dev Where the bill stops: at now if the end is still ahead, and where it is disputed.
    function _stopBill(Lease storage lease, LeaseHead head, LeaseBody body, bool forgoes)
        internal
        returns (LeaseHead, LeaseBody, LeaseBill bill)
    {
        if (block.timestamp < body.end()) body = body.withEnd(uint32(block.timestamp));
        bill = _bill(lease, head);
        LeaseBill undisputed = _undisputed(head, body, bill, forgoes);
        if (LeaseBill.unwrap(undisputed) == LeaseBill.unwrap(bill)) return (head, body, bill);
        return (_storeBill(lease, head, undisputed), body, undisputed);
    }

    /// @dev The caller writes the head.
    function _storeBill(Lease storage lease, LeaseHead head, LeaseBill bill) internal returns (LeaseHead) {
        lease.bill = bill;
        return head.withFlags(head.flags() & ~STALE);
    }

    /// @dev The one way out of a live state. Pays the provider and the pool what `total` adds to what is settled, gives the
    /// tenant what is left of the deposit, and frees the cells. `total` is never less than what is settled nor more than
    /// the deposit (`Billing`), so nothing here can fail: an exit that is allowed works.
    function _payOut(
        Lease storage lease,
        LeaseHead head,
        LeaseBody body,
        LeaseState state,
        uint256 settled,
        uint256 total
    ) internal returns (uint96 paid, uint96 fee, uint96 refunded) {
        Machine storage machine = _machines[head.machine()];
        MachineHead seen = machine.head;
        machine.head = seen.withFreed(Cells.cells(head.placement()));
        lease.head = head.withState(uint8(state));
        lease.body = body;
        if (total != 0) (paid, fee) = _payProvider(seen.provider(), settled, total, _rulebook(body.params()).feeBps());
        refunded = uint96(body.deposit() - total);
        _credit(head.tenant(), refunded);
    }

    /// @dev Credits what lies between what is settled and `total`. The fee is the difference of two totals, so many small
    /// claims pay to the unit what one large one pays.
    function _payProvider(address provider, uint256 settled, uint256 total, uint256 feeBps)
        internal
        returns (uint96 paid, uint96 fee)
    {
        uint256 feeAfter = Billing.portion(total, feeBps);
        uint256 feeAdded;
        unchecked {
            // Of a total that is no less, or else the next line reverts; and a fee is a part.
            feeAdded = feeAfter - Billing.portion(settled, feeBps);
            paid = uint96(total - feeAfter);
        }
        _credit(provider, total - settled - feeAdded);
        if (feeAdded != 0) _providers[provider] = _providers[provider].withFee(feeAdded);
        fee = uint96(feeAfter);
    }
}
