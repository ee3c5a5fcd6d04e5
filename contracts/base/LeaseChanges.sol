// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ILeaseChanges} from "../interfaces/ILeases.sol";
import {LeaseState} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {
    LeaseBill,
    LeaseBills,
    LeaseBodies,
    LeaseBody,
    LeaseHead,
    LeaseHeads,
    LeaseId,
    MachineHead,
    StoredTerms
} from "../libraries/Slots.sol";
import {Lifecycle} from "./Lifecycle.sol";

/// @title Leases that change their size, their machine or their tenant.
abstract contract LeaseChanges is Lifecycle, ILeaseChanges {
    // ---------------------------------------------------------------------------------------------------------- resize

    /// @inheritdoc ILeaseChanges
    /// @dev The provider has what accrued up to now, at once; then a new segment begins, whose escrow takes the place of what
    /// was left. To grow is to rent more: a machine that is delisted, or asks for other terms by now, sells no more to a lease.
    function resize(uint256 id, uint8 share, uint16 placement) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _leaseIn(id, LeaseState.Active);
        MachineHead seen = _resizable(id, head, body, share);

        // Effect. What accrued is paid, then the place and the escrow are those of the new segment.
        (LeaseBill bill, uint96 paid, uint96 fee) = _settleSegment(lease, head, body, seen.provider());
        seen = seen.withFreed(Cells.cells(head.placement()));
        head = head.withPlacement(_takeCells(head.machine(), seen, share, placement));
        head = _storeBill(lease, head, bill);
        lease.head = head;
        uint256 escrow = Billing.held(bill, body.price(), Cells.count(head.placement()), head.start(), body.end());
        uint96 held = body.deposit();
        body = body.withDeposit(SafeCast.toUint96(escrow));
        lease.body = body;

        // Effect, Interact, Log
        _levelEscrow(id, head, body, held, paid, fee);
    }

    function _resizable(uint256 id, LeaseHead head, LeaseBody body, uint8 share)
        private
        view
        returns (MachineHead seen)
    {
        _only(head.tenant());
        _requireNotOver(id, body);
        uint256 trialEnd = _trialEnd(head, body);
        if (block.timestamp < trialEnd) revert TrialRunning(id, trialEnd);
        Machine storage machine = _machines[head.machine()];
        seen = machine.head;
        _requireNotDown(head.machine(), machine, seen);
        if (share <= Cells.count(head.placement())) return seen;
        if (seen.status() & DELISTED != 0) revert MachineDelisted(head.machine());
        if (body.revision() != seen.revision()) revert RevisionChanged(seen.revision());
        if (head.flags() & OFFERED != 0) revert OfferMismatch("cells");
    }

    /// @dev Pays what accrued up to now, and begins another segment.
    function _settleSegment(Lease storage lease, LeaseHead head, LeaseBody body, address provider)
        private
        returns (LeaseBill bill, uint96 paid, uint96 fee)
    {
        bill = _bill(lease, head);
        uint96 settled = uint96(_owedUntil(bill, head, body, block.timestamp)); // at most the deposit
        (paid, fee) = _payProvider(provider, bill.settled(), settled, _rulebook(body.params()).feeBps());
        bill = LeaseBills.make(settled, 0, uint32(block.timestamp), settled); // the end is later
    }

    /// @dev Takes from the tenant what the deposit lacks, or gives back what it has too much.
    function _levelEscrow(uint256 id, LeaseHead head, LeaseBody body, uint96 held, uint96 paid, uint96 fee) private {
        uint256 pulled;
        uint96 refunded;
        if (body.deposit() > held) {
            pulled = _charge(head.tenant(), body.deposit() - held);
        } else {
            refunded = held - body.deposit();
            _credit(head.tenant(), refunded);
        }
        emit LeaseResized(id, head.machine(), head.placement(), paid + fee, paid, fee, body.deposit(), pulled, refunded);
    }

    // -------------------------------------------------------------------------------------------------------- failover

    /// @inheritdoc ILeaseChanges
    /// @dev Anyone may send it, so it does nothing that the tenant has not named: machine, revision (and with it the price),
    /// place and workload. It spends the refund and not a unit more. A provider who wants to be rid of a lease gains nothing
    /// by an outage of his own making: it costs him stake, and the bill stops where it began. Whoever would rather wait than
    /// move names no standby.
    function failover(uint256 id, uint32 machine, uint16 revision, uint16 placement, bytes32 workload)
        external
        nonReentrant
        returns (uint256 backup)
    {
        // Check, Effect. The lease ends, and its refund is the tenant's.
        (LeaseHead head, LeaseBody body, uint96 refunded) =
            _leave(id, keccak256(abi.encode(machine, revision, placement, workload)));

        // Check, Effect. The standby opens out of it.
        (MachineHead seen, StoredTerms terms) = _requireRentable(machine, revision, true);
        uint8 share = uint8(Cells.count(placement == 0 ? head.placement() : placement));
        head = LeaseHeads.make(
            head.tenant(),
            machine,
            _takeCells(machine, seen, share, placement),
            uint8(LeaseState.Opened),
            head.flags() & SPOT,
            uint32(block.timestamp)
        );
        body = _standby(id, revision, head, terms, body.end(), refunded);
        backup = LeaseId.unwrap(_storeLease(head, body, 0));
        _debit(head.tenant(), body.deposit()); // at most what `_leave` has credited

        // Log
        _logOpened(backup, body, 0, workload, head, 0);
        emit FailedOver(id, backup);
    }

    /// @dev Ends the lease as its tenant might, if its machine is down and `digest` names its standby. While an outage before
    /// that may still be taken off the bill, only the tenant says that the lease ends without it, as with `close`.
    /// `body` is as it was before, with the end that it had.
    function _leave(uint256 id, bytes32 digest) private returns (LeaseHead head, LeaseBody body, uint96 refunded) {
        Lease storage lease;
        (lease, head, body) = _leaseIn(id, LeaseState.Active);
        if (head.flags() & BACKED == 0 || lease.backup != digest) revert WrongBackup(id);
        _requireNotOver(id, body);
        Machine storage machine = _machines[head.machine()];
        MachineHead seen = machine.head;
        if (!_isDown(seen)) revert MachineNotDown(head.machine());
        uint256 since = Billing.began(_bill(lease, head), head.start());
        if (_isHeld(machine.care, seen, since, body.end()) && _actor() != head.tenant()) {
            revert LeaseNotOver(id, machine.care.heldUntil);
        }
        refunded = _close(id, lease, head, body, false);
    }

    /// @dev For the time that was left, or as much of it as the refund buys and the machine sells.
    function _standby(uint256 id, uint16 revision, LeaseHead head, StoredTerms terms, uint256 end, uint96 refunded)
        private
        view
        returns (LeaseBody)
    {
        uint80 price = _listedPrice(head.machine(), terms, head.flags() & SPOT != 0);
        uint256 cells = Cells.count(head.placement());
        uint256 duration = Billing.min(end - block.timestamp, Billing.affordable(price, cells, refunded));
        duration = Billing.min(duration, terms.maxDuration());
        if (duration < terms.minDuration()) revert NothingLeftFor(id, terms.minDuration(), duration);
        _requireAvailableUntil(block.timestamp + duration, terms);
        return LeaseBodies.make(
            uint96(Billing.escrow(price, cells, duration)), // at most the refund
            price,
            uint32(block.timestamp + duration), // at most the end of the lease before
            revision,
            terms.params(),
            0
        );
    }

    // -------------------------------------------------------------------------------------------------------- transfer

    /// @inheritdoc ILeaseChanges
    /// @dev An acceptance works once, or it would bring back a lease that was given away again. The standby that the old
    /// tenant chose goes: it would spend the new one's refund.
    function transferLease(uint256 id, address to, uint256 deadline, bytes calldata proof) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head,) = _lease(id);
        if (head.state() != uint8(LeaseState.Opened)) _requireState(id, head, LeaseState.Active);
        _only(head.tenant());
        _requireReceiver(to);
        if (block.timestamp > deadline) revert OfferExpired(deadline);
        bytes32 digest = _accounts.acceptTransferDigest(to, address(this), id, deadline);
        if (_acceptances[digest]) revert AcceptanceUsed(digest);
        if (!_accounts.isAuthorized(to, digest, proof)) revert WrongProof(to);

        // Effect, Log
        _acceptances[digest] = true;
        lease.head = head.withTenant(to).withFlags(head.flags() & ~BACKED);
        emit LeaseTransferred(id, head.tenant(), to);
    }
}
