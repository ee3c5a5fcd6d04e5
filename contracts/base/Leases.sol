// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {ILeases} from "../interfaces/ILeases.sol";
import {LeaseRequest, LeaseState} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {
    AccountSlots,
    LeaseBill,
    LeaseBody,
    LeaseHead,
    LeaseId,
    MachineHead,
    Rulebook,
    StoredTerms
} from "../libraries/Slots.sol";
import {Lifecycle} from "./Lifecycle.sol";

/// @title Leases: what tenants, operators and providers do every day. `LeaseChanges` and `Offers` hold the rest.
/// @dev Time stops no exit: each can be called for ever after, and calls nobody. Slots are read once and written once, as
/// words with named parts (`Slots`).
abstract contract Leases is Lifecycle, ILeases {
    // ------------------------------------------------------------------------------------------------------- opening

    /// @inheritdoc ILeases
    function open(LeaseRequest calldata request) external nonReentrant returns (uint256) {
        // Effect. What is over makes room first.
        _closeWhatIsOver(request.machine, request.settle);

        // Check
        (MachineHead seen, StoredTerms terms) =
            _requireRentable(request.machine, request.revision, request.allowUnverified);
        uint80 price = _listedPrice(request.machine, terms, request.spot);
        uint256 duration = request.duration;
        if (duration < terms.minDuration() || duration > terms.maxDuration()) {
            revert DurationOutOfRange(duration, terms.minDuration(), terms.maxDuration());
        }
        _requireAvailableUntil(block.timestamp + duration, terms);

        // Check, Effect, Interact, Log
        return _openAtPrice(request, seen, terms.params(), price, 0);
    }

    /// @inheritdoc ILeases
    /// @dev Billing begins here: both ends of the lease move to now. Whether the machine is down is not asked, for a slot's
    /// price: nothing is billed while it is.
    function start(uint256 id, bytes32 endpoint) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _leaseIn(id, LeaseState.Opened);
        _only(_machines[head.machine()].operator);
        uint256 deadline = _startDeadline(head, body);
        if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);

        // Effect, Log
        uint32 end = SafeCast.toUint32(block.timestamp + (body.end() - head.start()));
        lease.head = head.withState(uint8(LeaseState.Active)).withStart(uint32(block.timestamp));
        lease.body = body.withEnd(end);
        emit LeaseStarted(id, head.machine(), uint32(block.timestamp), end, endpoint);
    }

    // ------------------------------------------------------------------------------------- ending before it has begun

    /// @inheritdoc ILeases
    function decline(uint256 id, bytes32 reason) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _leaseIn(id, LeaseState.Opened);
        Machine storage machine = _machines[head.machine()];
        _only(machine.operator);
        uint256 deadline = _startDeadline(head, body);
        if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);

        // Effect, Log
        _count(machine.head.provider(), AccountSlots.DECLINED);
        _payOut(lease, head, body, LeaseState.Cancelled, 0, 0);
        emit LeaseDeclined(id, head.machine(), reason, body.deposit());
    }

    /// @inheritdoc ILeases
    function cancelUnstarted(uint256 id) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _leaseIn(id, LeaseState.Opened);
        uint256 deadline = _startDeadline(head, body);
        if (block.timestamp <= deadline) revert StartWindowOpen(id, deadline);

        // Effect, Log
        _cancel(id, lease, head, body);
    }

    /// @inheritdoc ILeases
    /// @dev A trial is cheap, never free: the hold fee pays the provider for cells that nobody else could have.
    function reject(uint256 id) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _lease(id);
        _only(head.tenant());
        if (head.state() == uint8(LeaseState.Opened)) {
            uint256 deadline = _startDeadline(head, body);
            if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);
        } else {
            _requireState(id, head, LeaseState.Active);
            uint256 deadline = _trialEnd(head, body);
            if (block.timestamp >= deadline) revert TrialOver(id, deadline);
        }

        // Effect, Log
        _reject(id, lease, head, body);
    }

    // ------------------------------------------------------------------------------------------------- while it runs

    /// @inheritdoc ILeases
    function extend(uint256 id, uint32 duration) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _leaseIn(id, LeaseState.Active);
        if (head.flags() & NOTICED != 0) revert UnderNotice(id);
        _requireNotOver(id, body);
        if (duration == 0) revert ZeroAmount();
        if (_machines[head.machine()].head.status() & DELISTED != 0) {
            revert MachineDelisted(head.machine());
        }
        StoredTerms terms = _terms[head.machine()][body.revision()];
        uint256 end = uint256(body.end()) + duration;
        uint256 ahead = end - block.timestamp;
        // What a provider signed for so many seconds lasts no longer.
        uint256 most = head.flags() & OFFERED != 0 ? body.end() - block.timestamp : terms.maxDuration();
        if (ahead > most) revert DurationOutOfRange(ahead, 0, most);
        _requireAvailableUntil(end, terms);

        // Effect. The escrow of the whole time, less what is held: never the sum of roundings.
        LeaseBill bill = _bill(lease, head);
        uint96 escrow =
            SafeCast.toUint96(Billing.held(bill, body.price(), Cells.count(head.placement()), head.start(), end));
        lease.body = body.withDeposit(escrow).withEnd(SafeCast.toUint32(end));

        // Interact, Log
        address payer = _actor();
        uint256 pulled = _charge(payer, escrow - body.deposit());
        emit LeaseExtended(id, head.machine(), payer, uint32(end), escrow, pulled);
    }

    /// @inheritdoc ILeases
    function setWorkload(uint256 id, bytes32 workload) external nonReentrant {
        (, LeaseHead head, LeaseBody body) = _lease(id);
        _only(head.tenant());
        if (head.state() != uint8(LeaseState.Opened)) {
            _requireState(id, head, LeaseState.Active);
            _requireNotOver(id, body);
        }
        emit WorkloadSet(id, head.machine(), workload);
    }

    /// @inheritdoc ILeases
    /// @dev The end is lowered, never passed over: the tenant keeps the machine until it has come. What was paid for the
    /// time cut off comes back in `close`; the penalty, out of the provider's ledger, at once. A spot lease pays none, and
    /// counts for nothing: that is what its price was for.
    function terminate(uint256 id) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _leaseIn(id, LeaseState.Active);
        Machine storage machine = _machines[head.machine()];
        address provider = machine.head.provider();
        bool spot = head.flags() & SPOT != 0;
        if (!spot || _actor() != machine.operator) _only(provider);
        if (head.flags() & NOTICED != 0) revert UnderNotice(id);
        _requireNotOver(id, body);

        // Effect
        uint256 end = body.end();
        Rulebook rules = _rulebook(body.params());
        uint256 noticed = Billing.min(end, block.timestamp + rules.noticeSeconds());
        lease.head = head.withFlags(head.flags() | NOTICED);
        lease.body = body.withEnd(uint32(noticed)); // at most the end that it was
        uint256 penalty;
        if (!spot) {
            uint256 penalized = Billing.min(end - noticed, rules.penaltySeconds());
            penalty = Billing.accrued(body.price(), Cells.count(head.placement()), penalized);
            _count(provider, AccountSlots.TERMINATED);
            if (penalty != 0) {
                _debit(provider, penalty);
                _credit(head.tenant(), penalty);
            }
        }

        // Log. No more than the deposit: a part of the same price, cells and time.
        emit LeaseTerminated(id, head.machine(), uint32(noticed), uint96(penalty));
    }

    /// @inheritdoc ILeases
    function publishResult(uint256 id, bytes calldata cid) external nonReentrant {
        (, LeaseHead head,) = _lease(id);
        _only(_machines[head.machine()].operator);
        if (head.state() != uint8(LeaseState.Ended)) _requireState(id, head, LeaseState.Active);
        emit ResultPublished(id, head.machine(), cid);
    }

    // ------------------------------------------------------------------------------------------------------- settling

    /// @inheritdoc ILeases
    /// @dev While Opened only the tenant may close, or anyone once the start window has passed. In between nobody else
    /// can make the tenant pay a hold fee, however short the lease.
    function close(uint256 id) external nonReentrant {
        // Check, Effect, Log: one way for each state and caller.
        (Lease storage lease, LeaseHead head, LeaseBody body) = _lease(id);
        if (head.state() == uint8(LeaseState.Opened)) {
            if (block.timestamp > _startDeadline(head, body)) return _cancel(id, lease, head, body);
            _only(head.tenant());
            return _reject(id, lease, head, body);
        }
        _requireState(id, head, LeaseState.Active);
        if (_actor() == head.tenant()) _close(id, lease, head, body, false);
        else if (block.timestamp < body.end()) revert NotAuthorized(_actor());
        else _closeForOthers(id, lease, head, body, true);
    }

    /// @inheritdoc ILeases
    /// @dev Leases with nothing to claim are passed over, so that nobody can spoil a batch by claiming or closing one of
    /// its leases first.
    function claim(uint256[] calldata leases) external nonReentrant {
        bool any;
        for (uint256 i = 0; i < leases.length; ++i) {
            if (_claim(leases[i])) any = true;
        }
        if (!any) revert NothingToClaim(leases.length == 0 ? 0 : leases[0]);
    }

    // --------------------------------------------------------------------------------------------------------- parts

    function _cancel(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body) private {
        (Machine storage machine, MachineHead seen) = _machine(head.machine());
        _count(seen.provider(), AccountSlots.UNSTARTED);
        if (seen.status() & STALLED == 0) _setStatus(head.machine(), machine, seen, seen.status() | STALLED);
        _payOut(lease, head, body, LeaseState.Cancelled, 0, 0);
        emit LeaseCancelled(id, head.machine(), body.deposit());
    }

    function _reject(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body) private {
        LeaseBill bill;
        (head, body, bill) = _stopBill(lease, head, body, false);
        uint256 held = Billing.portion(_owedUntil(bill, head, body, body.end()), _rulebook(body.params()).holdFeeBps());
        // Nothing is settled yet: no claim reaches into a trial, and no resize happens in one.
        (uint96 paid, uint96 fee, uint96 refunded) = _payOut(lease, head, body, LeaseState.Rejected, 0, held);
        emit LeaseRejected(id, head.machine(), paid, fee, refunded);
    }

    function _claim(uint256 id) private returns (bool) {
        // Check
        Lease storage lease = _leases[LeaseId.wrap(id).slot()];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (!body.isOf(LeaseId.wrap(id)) || head.state() != uint8(LeaseState.Active)) return false;
        Machine storage machine = _machines[head.machine()];
        MachineHead seen = machine.head;
        Rulebook rules = _rulebook(body.params());
        LeaseBill bill = _bill(lease, head);
        uint256 until = body.end();
        unchecked {
            // `claimLag` is never shorter than a trial (`Rules`), so what is reached here lies behind every trial.
            uint256 reached = block.timestamp - rules.claimLag();
            if (reached < until) until = reached;
        }
        if (seen.hasAny(DOWN | HELD)) until = _claimableUntil(machine, seen, Billing.began(bill, head.start()), until);
        uint256 total = Billing.total(bill, body.price(), Cells.count(head.placement()), head.start(), until);
        uint256 settled = bill.settled();
        if (total <= settled) return false;

        // Effect, Log
        (uint96 paid, uint96 fee) = _payProvider(seen.provider(), settled, total, rules.feeBps());
        if (head.flags() & STALE != 0) lease.head = head.withFlags(head.flags() & ~STALE);
        lease.bill = bill.withSettled(uint96(total)); // at most the deposit
        emit LeaseClaimed(id, head.machine(), uint96(total), paid, fee);
        return true;
    }

    function _count(address provider, uint256 what) private {
        _providers[provider] = _providers[provider].withOneMore(what);
    }

    function _startDeadline(LeaseHead head, LeaseBody body) private view returns (uint256) {
        return uint256(head.start()) + _rulebook(body.params()).startWindow();
    }
}
