// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseState} from "../interfaces/IControllerTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {LeaseBill, LeaseBody, LeaseHead, MachineHead} from "../libraries/Slots.sol";
import {Outages} from "./Outages.sol";

/// @title What ends leases and pays for them, for the parts of a pool.
/// @dev A lease's state moves only along
///
///     Opened → Active → Ended            start; close, failover
///     Opened → Cancelled                 decline, cancelUnstarted: everything goes back
///     Opened → Rejected ← Active         reject, close within the start window: all but the hold fee goes back
///
/// `_write` and `start` enter the live states; `_finish` is the only way out of them, so cells are freed and an escrow is
/// paid out exactly once.
abstract contract Settling is Outages {
    // --------------------------------------------------------------------------------------------------------- looking

    function _lease(uint256 id) internal view returns (Lease storage lease, LeaseHead head, LeaseBody body) {
        lease = _leases[id >> 16];
        head = lease.head;
        body = lease.body;
        if (head.state() == uint8(LeaseState.None) || body.generation() != uint16(id)) revert UnknownLease(id);
    }

    /// @dev The lease, which must be in `state`.
    function _live(uint256 id, LeaseState state)
        internal
        view
        returns (Lease storage lease, LeaseHead head, LeaseBody body)
    {
        (lease, head, body) = _lease(id);
        _require(id, head, state);
    }

    function _require(uint256 id, LeaseHead head, LeaseState state) internal pure {
        if (head.state() != uint8(state)) revert WrongState(id, head.state());
    }

    /// @dev Of a lease that still runs.
    function _notOver(uint256 id, LeaseBody body) internal view {
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
    function _total(LeaseBill bill, LeaseHead head, LeaseBody body, uint256 until) internal pure returns (uint256) {
        return Billing.total(bill, body.price(), Cells.count(head.placement()), head.start(), until);
    }

    // ---------------------------------------------------------------------------------------------------------- ending

    /// @dev Ends a lease that others than its tenant may end now, or reverts. While it is disputed that is its provider, who
    /// forgoes what is, where he says so by `close`.
    function _closeOver(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body, bool closes) internal {
        if (block.timestamp < body.end()) revert LeaseNotOver(id, body.end());
        uint256 until = _disputedUntil(head, body, _bill(lease, head));
        bool disputed = block.timestamp < until;
        if (disputed && !(closes && _actor() == _machines[head.machine()].head.provider())) {
            revert LeaseNotOver(id, until);
        }
        _close(id, lease, head, body, disputed);
    }

    /// @return refunded to the tenant's ledger
    function _close(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body, bool forgoes)
        internal
        returns (uint96 refunded)
    {
        LeaseBill bill;
        (head, body, bill) = _stop(lease, head, body, forgoes);
        return _conclude(id, lease, head, body, bill);
    }

    function _conclude(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body, LeaseBill bill)
        private
        returns (uint96 refunded)
    {
        uint96 paid;
        uint96 fee;
        (paid, fee, refunded) =
            _finish(lease, head, body, LeaseState.Ended, bill.settled(), _total(bill, head, body, body.end()));
        emit LeaseClosed(id, head.machine(), body.end(), paid, fee, refunded);
    }

    /// @dev Where the bill stops: at now if the end is still ahead, and where it is disputed.
    function _stop(Lease storage lease, LeaseHead head, LeaseBody body, bool forgoes)
        internal
        returns (LeaseHead, LeaseBody, LeaseBill bill)
    {
        if (block.timestamp < body.end()) body = body.withEnd(uint32(block.timestamp));
        bill = _bill(lease, head);
        LeaseBill undisputed = _undisputed(head, body, bill, forgoes);
        if (LeaseBill.unwrap(undisputed) == LeaseBill.unwrap(bill)) return (head, body, bill);
        return (_setBill(lease, head, undisputed), body, undisputed);
    }

    /// @dev The caller writes the head.
    function _setBill(Lease storage lease, LeaseHead head, LeaseBill bill) internal returns (LeaseHead) {
        lease.bill = bill;
        return head.withFlags(head.flags() & ~STALE);
    }

    /// @dev The one way out of a live state. Pays the provider and the pool what `total` adds to what is settled, gives the
    /// tenant what is left of the deposit, and frees the cells. `total` is never less than what is settled nor more than
    /// the deposit (`Billing`), so nothing here can fail: an exit that is allowed works.
    function _finish(
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
        if (total != 0) (paid, fee) = _pay(seen.provider(), settled, total, _rulebook(body.params()).feeBps());
        refunded = uint96(body.deposit() - total);
        _credit(head.tenant(), refunded);
    }

    /// @dev Credits what lies between what is settled and `total`. The fee is the difference of two totals, so many small
    /// claims pay to the unit what one large one pays.
    function _pay(address provider, uint256 settled, uint256 total, uint256 feeBps)
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
