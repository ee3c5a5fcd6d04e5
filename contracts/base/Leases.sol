// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IControllerMain} from "../interfaces/IControllerMain.sol";
import {LeaseRequest, LeaseState, MachineStatus, Params} from "../interfaces/IControllerTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {
    AccountSlots,
    LeaseBodies,
    LeaseBody,
    LeaseHead,
    LeaseHeads,
    MachineHead,
    StoredTerms
} from "../libraries/Slots.sol";
import {Registry} from "./Registry.sol";

/// @title Leases and their escrow.
/// @dev A lease's state moves only along
///
///     Opened → Active → Ended            start; close
///     Opened → Cancelled                 decline, cancelUnstarted: everything goes back
///     Opened → Rejected ← Active         reject, close within the start window: all but the hold fee goes back
///
/// `open` and `start` enter the live states; `_finish` is the only way out of them, so cells are freed and an escrow is
/// paid out exactly once. Time stops no exit: each can be called for ever after, and calls nobody.
///
/// Slots are read once and written once, as words with named parts (`Slots`).
abstract contract Leases is Registry, IControllerMain {
    // ------------------------------------------------------------------------------------------------------- opening

    /// @inheritdoc IControllerMain
    function open(LeaseRequest calldata request) external nonReentrant returns (uint256 id) {
        // Check
        if (_pool.paused) revert Paused();
        if (request.spot) revert Unsupported("spot");
        if (request.backup != 0) revert Unsupported("backup");
        _settle(request.machine, request.settle);
        (Machine storage machine, MachineHead seen) = _machine(request.machine);
        _takesLeases(seen, request);
        StoredTerms terms = _terms[request.machine][request.revision];
        uint32 end = _accepts(terms, request);

        // Effect
        uint16 placement = _place(machine, seen, request);
        machine.head = seen.withLeased(Cells.cells(placement));
        uint32 now_ = uint32(block.timestamp); // `end` is later and has passed a checked cast
        LeaseHead head = LeaseHeads.make(_actor(), request.machine, placement, uint8(LeaseState.Opened), 0, now_);
        LeaseBody body = LeaseBodies.make(
            SafeCast.toUint96(Billing.escrow(terms.price(), Cells.count(placement), request.duration)),
            terms.price(),
            end,
            request.revision,
            terms.params(),
            0
        );
        id = _write(head, body, request.reuse);

        // Interact
        uint256 pulled = _charge(head.tenant(), body.deposit());

        // Log
        _logOpened(id, head, body, request, pulled);
    }

    /// @inheritdoc IControllerMain
    /// @dev Billing begins here: both ends of the lease move to now.
    function start(uint256 id, bytes32 endpoint) external nonReentrant {
        (Lease storage lease, LeaseHead head, LeaseBody body) = _live(id, LeaseState.Opened);
        _only(_machines[head.machine()].operator);
        uint256 deadline = _startDeadline(head, body);
        if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);

        uint32 end = SafeCast.toUint32(block.timestamp + (body.end() - head.start()));
        lease.head = head.withState(uint8(LeaseState.Active)).withStart(uint32(block.timestamp));
        lease.body = body.withEnd(end);
        emit LeaseStarted(id, head.machine(), uint32(block.timestamp), end, endpoint);
    }

    // ------------------------------------------------------------------------------------- ending before it has begun

    /// @inheritdoc IControllerMain
    function decline(uint256 id, bytes32 reason) external nonReentrant {
        (Lease storage lease, LeaseHead head, LeaseBody body) = _live(id, LeaseState.Opened);
        Machine storage machine = _machines[head.machine()];
        _only(machine.operator);
        _count(machine.head.provider(), AccountSlots.DECLINED);
        _finish(lease, head, body, LeaseState.Cancelled, 0, 0);
        emit LeaseDeclined(id, head.machine(), reason, body.deposit());
    }

    /// @inheritdoc IControllerMain
    function cancelUnstarted(uint256 id) external nonReentrant {
        (Lease storage lease, LeaseHead head, LeaseBody body) = _live(id, LeaseState.Opened);
        uint256 deadline = _startDeadline(head, body);
        if (block.timestamp <= deadline) revert StartWindowOpen(id, deadline);
        _cancel(id, lease, head, body);
    }

    /// @inheritdoc IControllerMain
    /// @dev A trial is cheap, never free: the hold fee pays the provider for cells that nobody else could have.
    function reject(uint256 id) external nonReentrant {
        (Lease storage lease, LeaseHead head, LeaseBody body) = _lease(id);
        _only(head.tenant());
        if (head.state() == uint8(LeaseState.Opened)) {
            uint256 deadline = _startDeadline(head, body);
            if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);
        } else {
            _require(id, head, LeaseState.Active);
            uint256 deadline = _trialEnd(head, body);
            if (block.timestamp >= deadline) revert TrialOver(id, deadline);
        }
        _reject(id, lease, head, body);
    }

    // ------------------------------------------------------------------------------------------------- while it runs

    /// @inheritdoc IControllerMain
    function extend(uint256 id, uint32 duration) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _live(id, LeaseState.Active);
        if (head.flags() & NOTICED != 0) revert UnderNotice(id);
        if (block.timestamp >= body.end()) revert LeaseOver(id, body.end());
        if (duration == 0) revert ZeroAmount();
        if (_machines[head.machine()].head.status() & DELISTED != 0) {
            revert MachineDelisted(head.machine());
        }
        StoredTerms terms = _terms[head.machine()][body.revision()];
        uint256 end = uint256(body.end()) + duration;
        uint256 ahead = end - block.timestamp;
        if (ahead > terms.maxDuration()) revert DurationOutOfRange(ahead, 0, terms.maxDuration());
        _availableUntil(end, terms.availableUntilDay());

        // Effect. The escrow of the whole time, less what is held: never the sum of roundings.
        uint96 escrow =
            SafeCast.toUint96(Billing.escrow(body.price(), Cells.count(head.placement()), end - head.start()));
        lease.body = body.withDeposit(escrow).withEnd(SafeCast.toUint32(end));

        // Interact, Log
        address payer = _actor();
        uint256 pulled = _charge(payer, escrow - body.deposit());
        emit LeaseExtended(id, head.machine(), payer, uint32(end), escrow, pulled);
    }

    /// @inheritdoc IControllerMain
    function setWorkload(uint256 id, bytes32 workload) external nonReentrant {
        (, LeaseHead head, LeaseBody body) = _lease(id);
        _only(head.tenant());
        if (head.state() != uint8(LeaseState.Opened)) {
            _require(id, head, LeaseState.Active);
            if (block.timestamp >= body.end()) revert LeaseOver(id, body.end());
        }
        emit WorkloadSet(id, head.machine(), workload);
    }

    /// @inheritdoc IControllerMain
    /// @dev The end is lowered, never passed over: the tenant keeps the machine until it has come. What was paid for the
    /// time cut off comes back in `close`; the penalty, out of the provider's ledger, at once.
    function terminate(uint256 id) external nonReentrant {
        // Check
        (Lease storage lease, LeaseHead head, LeaseBody body) = _live(id, LeaseState.Active);
        address provider = _machines[head.machine()].head.provider();
        _only(provider);
        if (head.flags() & NOTICED != 0) revert UnderNotice(id);
        uint256 end = body.end();
        if (block.timestamp >= end) revert LeaseOver(id, end);

        // Effect
        Params storage rules = _params[body.params()];
        uint256 noticed = Billing.min(end, block.timestamp + rules.noticeSeconds);
        uint256 penalized = Billing.min(end - noticed, rules.penaltySeconds);
        uint256 penalty = Billing.accrued(body.price(), Cells.count(head.placement()), penalized);
        lease.head = head.withFlags(head.flags() | NOTICED);
        lease.body = body.withEnd(uint32(noticed)); // at most the end that it was
        _count(provider, AccountSlots.TERMINATED);
        if (penalty != 0) {
            _debit(provider, penalty);
            _credit(head.tenant(), penalty);
        }

        // Log. No more than the deposit: a part of the same price, cells and time.
        emit LeaseTerminated(id, head.machine(), uint32(noticed), uint96(penalty));
    }

    /// @inheritdoc IControllerMain
    function publishResult(uint256 id, bytes calldata cid) external nonReentrant {
        (, LeaseHead head,) = _lease(id);
        _only(_machines[head.machine()].operator);
        if (head.state() != uint8(LeaseState.Ended)) _require(id, head, LeaseState.Active);
        emit ResultPublished(id, head.machine(), cid);
    }

    // ------------------------------------------------------------------------------------------------------- settling

    /// @inheritdoc IControllerMain
    /// @dev While Opened only the tenant may close, or anyone once the start window has passed. In between nobody else
    /// can make the tenant pay a hold fee, however short the lease.
    function close(uint256 id) external nonReentrant {
        (Lease storage lease, LeaseHead head, LeaseBody body) = _lease(id);
        if (head.state() == uint8(LeaseState.Opened)) {
            if (block.timestamp > _startDeadline(head, body)) return _cancel(id, lease, head, body);
            _only(head.tenant());
            return _reject(id, lease, head, body);
        }
        _require(id, head, LeaseState.Active);
        if (block.timestamp < body.end()) _only(head.tenant());
        _close(id, lease, head, body);
    }

    /// @inheritdoc IControllerMain
    /// @dev Leases with nothing to claim are passed over, so that nobody can spoil a batch by claiming or closing one of
    /// its leases first.
    function claim(uint256[] calldata leases) external nonReentrant {
        bool any;
        for (uint256 i = 0; i < leases.length; ++i) {
            if (_claim(leases[i])) any = true;
        }
        if (!any) revert NothingToClaim(leases.length == 0 ? 0 : leases[0]);
    }

    // ----------------------------------------------------------------------------------------------- parts of opening

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
            if (block.timestamp < body.end()) revert LeaseNotOver(id, body.end());
            _close(id, lease, head, body);
        }
    }

    /// @dev Whether the machine is one that the tenant has seen and that is in service.
    function _takesLeases(MachineHead machine, LeaseRequest calldata request) private pure {
        uint8 status = machine.status();
        uint32 id = request.machine;
        if (_statusOf(status) == MachineStatus.Retired) revert MachineRetiredAlready(id);
        if (_statusOf(status) == MachineStatus.Unverified && !request.allowUnverified) revert MachineUnverified(id);
        if (status & DELISTED != 0) revert MachineDelisted(id);
        if (status & UNDER_STAKED != 0) revert MachineUnderStaked(id);
        if (status & STALLED != 0) revert MachineStalled(id);
        if (request.revision != machine.revision()) revert RevisionChanged(machine.revision());
    }

    /// @dev Whether the terms allow what is asked for, and the tenant the price.
    /// @return end if the lease began now
    function _accepts(StoredTerms terms, LeaseRequest calldata request) private view returns (uint32 end) {
        uint16 current = _versionInForce();
        if (terms.params() != current) revert ParamsOutdated(terms.params(), current);
        if (terms.price() > request.maxPrice) revert PriceTooHigh(terms.price(), request.maxPrice);
        uint256 duration = request.duration;
        if (duration < terms.minDuration() || duration > terms.maxDuration()) {
            revert DurationOutOfRange(duration, terms.minDuration(), terms.maxDuration());
        }
        end = SafeCast.toUint32(block.timestamp + duration);
        _availableUntil(end, terms.availableUntilDay());
    }

    function _availableUntil(uint256 end, uint256 day) private pure {
        uint256 until = (day + 1) * 1 days;
        if (end > until) revert NotAvailableUntil(end, until);
    }

    /// @dev Finds the share's place, or checks the one named.
    function _place(Machine storage machine, MachineHead seen, LeaseRequest calldata request)
        private
        view
        returns (uint16 placement)
    {
        uint8 share = request.share;
        if (!Cells.isShare(share, seen.gpus())) revert InvalidShare(share);
        uint64 busy = seen.leased();
        if (seen.status() & WITHHOLDING != 0) busy |= machine.care.withheld;

        placement = request.placement;
        if (placement == 0) {
            placement = Cells.place(busy, share, seen.gpus());
            if (placement == 0) revert NoFreeCells(request.machine, busy);
        } else if (!Cells.fits(placement, share, seen.gpus())) {
            revert InvalidPlacement(placement);
        } else if (Cells.cells(placement) & busy != 0) {
            revert NoFreeCells(request.machine, busy);
        }
    }

    /// @dev Into a new slot, or as the next generation of an ended lease of the tenant's own.
    function _write(LeaseHead head, LeaseBody body, uint256 reuse) private returns (uint256 id) {
        if (reuse == 0) {
            id = uint256(++_pool.slotCount) << 16;
        } else {
            (, LeaseHead old, LeaseBody last) = _lease(reuse);
            if (old.tenant() != head.tenant()) revert NotAuthorized(head.tenant());
            if (old.state() < uint8(LeaseState.Ended)) revert WrongState(reuse, old.state());
            if (last.generation() == type(uint16).max) revert SlotExhausted(reuse);
            id = reuse + 1;
            head = head.withFlags(STALE);
            body = body.withGeneration(uint16(id));
        }
        Lease storage lease = _leases[id >> 16];
        lease.head = head;
        lease.body = body;
    }

    function _logOpened(uint256 id, LeaseHead head, LeaseBody body, LeaseRequest calldata request, uint256 pulled)
        private
    {
        emit LeaseOpened(
            id,
            head.machine(),
            head.tenant(),
            head.placement(),
            body.revision(),
            body.params(),
            body.price(),
            request.duration,
            body.deposit(),
            pulled,
            request.workload,
            0, // flags: spot is not served
            0 // backup: neither
        );
    }

    // ---------------------------------------------------------------------------------------------- parts of settling

    function _cancel(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body) private {
        (Machine storage machine, MachineHead seen) = _machine(head.machine());
        _count(seen.provider(), AccountSlots.UNSTARTED);
        if (seen.status() & STALLED == 0) _setStatus(head.machine(), machine, seen, seen.status() | STALLED);
        _finish(lease, head, body, LeaseState.Cancelled, 0, 0);
        emit LeaseCancelled(id, head.machine(), body.deposit());
    }

    function _reject(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body) private {
        body = _stopped(body);
        uint256 held = Billing.portion(_bill(head, body), _params[body.params()].holdFeeBps);
        // Nothing is settled yet: no claim reaches into a trial.
        (uint96 paid, uint96 fee, uint96 refunded) = _finish(lease, head, body, LeaseState.Rejected, 0, held);
        emit LeaseRejected(id, head.machine(), paid, fee, refunded);
    }

    function _close(uint256 id, Lease storage lease, LeaseHead head, LeaseBody body) private {
        body = _stopped(body);
        (uint96 paid, uint96 fee, uint96 refunded) =
            _finish(lease, head, body, LeaseState.Ended, _settled(lease, head), _bill(head, body));
        emit LeaseClosed(id, head.machine(), body.end(), paid, fee, refunded);
    }

    /// @dev The end lowered to now, if it is still ahead.
    function _stopped(LeaseBody body) private view returns (LeaseBody) {
        return block.timestamp < body.end() ? body.withEnd(uint32(block.timestamp)) : body;
    }

    /// @dev What accrues from a lease's start to its end.
    function _bill(LeaseHead head, LeaseBody body) private pure returns (uint256) {
        return Billing.accrued(body.price(), Cells.count(head.placement()), body.end() - head.start());
    }

    /// @dev The one way out of a live state. Pays the provider and the pool what `total` adds to what is settled, gives the
    /// tenant what is left of the deposit, and frees the cells. `total` is never less than what is settled (time and end
    /// only move that way) nor more than the deposit (an escrow rounds up what accrual rounds down), so nothing here can
    /// fail: an exit that is allowed works.
    function _finish(
        Lease storage lease,
        LeaseHead head,
        LeaseBody body,
        LeaseState state,
        uint256 settled,
        uint256 total
    ) private returns (uint96 paid, uint96 fee, uint96 refunded) {
        Machine storage machine = _machines[head.machine()];
        MachineHead seen = machine.head;
        machine.head = seen.withFreed(Cells.cells(head.placement()));
        lease.head = head.withState(uint8(state));
        lease.body = body;
        if (total != 0) (paid, fee) = _pay(seen.provider(), settled, total, _params[body.params()].feeBps);
        refunded = uint96(body.deposit() - total);
        _credit(head.tenant(), refunded);
    }

    function _claim(uint256 id) private returns (bool) {
        Lease storage lease = _leases[id >> 16];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (body.generation() != uint16(id) || head.state() != uint8(LeaseState.Active)) return false;
        Params storage rules = _params[body.params()];
        uint256 total;
        unchecked {
            // `claimLag` is never shorter than a trial (`Rules`), so what is reached here lies behind every trial.
            uint256 until = Billing.min(block.timestamp - rules.claimLag, body.end());
            uint256 from = head.start();
            if (until <= from) return false;
            total = Billing.accrued(body.price(), Cells.count(head.placement()), until - from);
        }
        uint256 settled = _settled(lease, head);
        if (total <= settled) return false;

        address provider = _machines[head.machine()].head.provider();
        (uint96 paid, uint96 fee) = _pay(provider, settled, total, rules.feeBps);
        if (head.flags() & STALE != 0) lease.head = head.withFlags(head.flags() & ~STALE);
        lease.bill = total; // at most the deposit; the segment's parts stay zero
        emit LeaseClaimed(id, head.machine(), uint96(total), paid, fee);
        return true;
    }

    /// @dev Credits what lies between what is settled and `total`. The fee is the difference of two totals, so many small
    /// claims pay to the unit what one large one pays.
    function _pay(address provider, uint256 settled, uint256 total, uint256 feeBps)
        private
        returns (uint96 paid, uint96 fee)
    {
        uint256 feeAfter = Billing.portion(total, feeBps);
        uint256 feeAdded = feeAfter - Billing.portion(settled, feeBps);
        _credit(provider, total - settled - feeAdded);
        if (feeAdded != 0) _providers[provider] = _providers[provider].withFee(feeAdded);
        fee = uint96(feeAfter);
        paid = uint96(total - feeAfter);
    }

    function _settled(Lease storage lease, LeaseHead head) private view returns (uint256) {
        return head.flags() & STALE != 0 ? 0 : uint96(lease.bill);
    }

    function _count(address provider, uint256 what) private {
        _providers[provider] = _providers[provider].withOneMore(what);
    }

    // --------------------------------------------------------------------------------------------------------- looking

    function _lease(uint256 id) private view returns (Lease storage lease, LeaseHead head, LeaseBody body) {
        lease = _leases[id >> 16];
        head = lease.head;
        body = lease.body;
        if (head.state() == uint8(LeaseState.None) || body.generation() != uint16(id)) revert UnknownLease(id);
    }

    /// @dev The lease, which must be in `state`.
    function _live(uint256 id, LeaseState state)
        private
        view
        returns (Lease storage lease, LeaseHead head, LeaseBody body)
    {
        (lease, head, body) = _lease(id);
        _require(id, head, state);
    }

    function _require(uint256 id, LeaseHead head, LeaseState state) private pure {
        if (head.state() != uint8(state)) revert WrongState(id, head.state());
    }

    function _startDeadline(LeaseHead head, LeaseBody body) private view returns (uint256) {
        return uint256(head.start()) + _params[body.params()].startWindow;
    }

    /// @dev A trial does not outlast its lease: what ran to its end is paid in full.
    function _trialEnd(LeaseHead head, LeaseBody body) private view returns (uint256) {
        return Billing.min(uint256(head.start()) + _terms[head.machine()][body.revision()].trial(), body.end());
    }
}
