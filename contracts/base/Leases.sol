// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IControllerMain} from "../interfaces/IControllerMain.sol";
import {LeaseRequest, LeaseState, MachineStatus, Params} from "../interfaces/IControllerTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {Registry} from "./Registry.sol";

/// @title Leases and their escrow.
/// @dev A lease's state moves only along
///
///     Opened → Active → Ended            start; close
///     Opened → Cancelled                 decline, cancelUnstarted: everything goes back
///     Opened → Rejected ← Active         reject, close within the start window: all but the hold fee goes back
///
/// `_open` and `start` enter the live states; `_finish` is the only way out of them, so cells are freed and an escrow is
/// paid out exactly once. Time stops no exit: each can be called for ever after, and calls nobody.
abstract contract Leases is Registry, IControllerMain {
    /// @dev What `open` decides, carried from one step to the next.
    struct Opening {
        address tenant;
        uint16 placement;
        uint96 deposit;
    }

    // ------------------------------------------------------------------------------------------------------- opening

    /// @inheritdoc IControllerMain
    function open(LeaseRequest calldata request) external nonReentrant returns (uint256 id) {
        // Check
        if (_pool.paused) revert Paused();
        if (request.spot) revert Unsupported("spot");
        if (request.backup != 0) revert Unsupported("backup");
        Machine storage machine = _machine(request.machine);
        _settle(request.machine, request.settle);
        _takesLeases(machine, request);
        StoredTerms memory terms = _terms[request.machine][request.revision];
        uint32 end = _accepts(terms, request);

        // Effect
        Opening memory opening;
        opening.tenant = _actor();
        opening.placement = _occupy(machine, request);
        opening.deposit =
            SafeCast.toUint96(Billing.escrow(terms.price, Cells.count(opening.placement), request.duration));
        id = _write(opening, terms, request, end);

        // Interact
        uint256 pulled = _charge(opening.tenant, opening.deposit);

        // Log
        _logOpened(id, opening, terms, request, pulled);
    }

    /// @inheritdoc IControllerMain
    /// @dev Billing begins here: both ends of the lease move to now.
    function start(uint256 id, bytes32 endpoint) external {
        Lease storage lease = _lease(id);
        _onlyOperator(_machines[lease.machine]);
        _require(id, lease, LeaseState.Opened);
        uint256 openedAt = lease.start;
        uint256 deadline = openedAt + _params[lease.params].startWindow;
        if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);

        uint32 end = SafeCast.toUint32(block.timestamp + (lease.end - openedAt));
        lease.state = uint8(LeaseState.Active);
        lease.start = uint32(block.timestamp);
        lease.end = end;
        emit LeaseStarted(id, lease.machine, uint32(block.timestamp), end, endpoint);
    }

    // ------------------------------------------------------------------------------------- ending before it has begun

    /// @inheritdoc IControllerMain
    function decline(uint256 id, bytes32 reason) external nonReentrant {
        Lease storage lease = _lease(id);
        Machine storage machine = _machines[lease.machine];
        _onlyOperator(machine);
        _require(id, lease, LeaseState.Opened);
        _count(machine.provider, 0, 1);
        (,, uint96 refunded) = _finish(lease, machine, LeaseState.Cancelled, 0);
        emit LeaseDeclined(id, lease.machine, reason, refunded);
    }

    /// @inheritdoc IControllerMain
    function cancelUnstarted(uint256 id) external nonReentrant {
        Lease storage lease = _lease(id);
        _require(id, lease, LeaseState.Opened);
        uint256 deadline = _startDeadline(lease);
        if (block.timestamp <= deadline) revert StartWindowOpen(id, deadline);
        _cancel(id, lease);
    }

    /// @inheritdoc IControllerMain
    /// @dev A trial is cheap, never free: the hold fee pays the provider for cells that nobody else could have.
    function reject(uint256 id) external nonReentrant {
        Lease storage lease = _lease(id);
        _onlyTenant(lease);
        if (lease.state == uint8(LeaseState.Opened)) {
            uint256 deadline = _startDeadline(lease);
            if (block.timestamp > deadline) revert StartWindowPassed(id, deadline);
        } else {
            _require(id, lease, LeaseState.Active);
            uint256 deadline = _trialEnd(lease);
            if (block.timestamp >= deadline) revert TrialOver(id, deadline);
        }
        _reject(id, lease);
    }

    // ------------------------------------------------------------------------------------------------- while it runs

    /// @inheritdoc IControllerMain
    function extend(uint256 id, uint32 duration) external nonReentrant {
        // Check
        Lease storage lease = _lease(id);
        _require(id, lease, LeaseState.Active);
        if (lease.flags & NOTICED != 0) revert UnderNotice(id);
        uint256 end = lease.end;
        if (block.timestamp >= end) revert LeaseOver(id, end);
        if (duration == 0) revert ZeroAmount();
        uint32 machineId = lease.machine;
        if (_machines[machineId].status & DELISTED != 0) revert MachineDelisted(machineId);
        StoredTerms storage terms = _terms[machineId][lease.revision];
        end += duration;
        uint256 latest = block.timestamp + terms.maxDuration;
        if (end > latest) revert DurationOutOfRange(end - block.timestamp, 0, latest - block.timestamp);
        _availableUntil(end, terms.availableUntilDay);

        // Effect. The escrow of the whole time, less what is held: never the sum of roundings.
        uint96 held = lease.deposit;
        uint96 escrow = SafeCast.toUint96(Billing.escrow(lease.price, Cells.count(lease.placement), end - lease.start));
        lease.deposit = escrow;
        lease.end = SafeCast.toUint32(end);

        // Interact, Log
        address payer = _actor();
        uint256 pulled = _charge(payer, escrow - held);
        emit LeaseExtended(id, machineId, payer, uint32(end), escrow, pulled);
    }

    /// @inheritdoc IControllerMain
    function setWorkload(uint256 id, bytes32 workload) external {
        Lease storage lease = _lease(id);
        _onlyTenant(lease);
        if (lease.state != uint8(LeaseState.Opened)) {
            _require(id, lease, LeaseState.Active);
            if (block.timestamp >= lease.end) revert LeaseOver(id, lease.end);
        }
        emit WorkloadSet(id, lease.machine, workload);
    }

    /// @inheritdoc IControllerMain
    /// @dev The end is lowered, never passed over: the tenant keeps the machine until it has come. What was paid for the
    /// time cut off comes back in `close`; the penalty, out of the provider's ledger, at once.
    function terminate(uint256 id) external nonReentrant {
        // Check
        Lease storage lease = _lease(id);
        address provider = _onlyProvider(_machines[lease.machine]);
        _require(id, lease, LeaseState.Active);
        if (lease.flags & NOTICED != 0) revert UnderNotice(id);
        uint256 end = lease.end;
        if (block.timestamp >= end) revert LeaseOver(id, end);

        // Effect
        Params storage rules = _params[lease.params];
        uint256 noticed = Billing.min(end, block.timestamp + rules.noticeSeconds);
        uint256 penalized = Billing.min(end - noticed, rules.penaltySeconds);
        uint256 penalty = Billing.accrued(lease.price, Cells.count(lease.placement), penalized);
        lease.flags |= NOTICED;
        lease.end = uint32(noticed); // at most the end that it was
        _count(provider, 40, 1);
        if (penalty != 0) {
            _debit(provider, penalty);
            _credit(lease.tenant, penalty);
        }

        // Log. No more than the deposit: a part of the same price, cells and time.
        emit LeaseTerminated(id, lease.machine, uint32(noticed), uint96(penalty));
    }

    /// @inheritdoc IControllerMain
    function publishResult(uint256 id, bytes calldata cid) external {
        Lease storage lease = _lease(id);
        _onlyOperator(_machines[lease.machine]);
        if (lease.state != uint8(LeaseState.Ended)) _require(id, lease, LeaseState.Active);
        emit ResultPublished(id, lease.machine, cid);
    }

    // ------------------------------------------------------------------------------------------------------- settling

    /// @inheritdoc IControllerMain
    /// @dev While Opened only the tenant may close, or anyone once the start window has passed. In between nobody else
    /// can make the tenant pay a hold fee, however short the lease.
    function close(uint256 id) external nonReentrant {
        Lease storage lease = _lease(id);
        if (lease.state == uint8(LeaseState.Opened)) {
            if (block.timestamp > _startDeadline(lease)) {
                _cancel(id, lease);
            } else {
                _onlyTenant(lease);
                _reject(id, lease);
            }
            return;
        }
        _require(id, lease, LeaseState.Active);
        if (block.timestamp < lease.end) _onlyTenant(lease);
        _close(id, lease);
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

    // -------------------------------------------------------------------------------------------------------- private

    /// @dev Closes leases of the machine that are past their end, to make room. One that somebody has closed already is
    /// passed over: nobody can spoil an `open` by closing first.
    function _settle(uint32 machine, uint256[] calldata leases) private {
        for (uint256 i = 0; i < leases.length; ++i) {
            uint256 id = leases[i];
            Lease storage lease = _leases[id >> 16];
            if (lease.generation != uint16(id) || lease.state != uint8(LeaseState.Active)) continue;
            if (lease.machine != machine) revert WrongMachine(id, lease.machine);
            if (block.timestamp < lease.end) revert LeaseNotOver(id, lease.end);
            _close(id, lease);
        }
    }

    /// @dev Whether the machine is one that the tenant has seen and that is in service.
    function _takesLeases(Machine storage machine, LeaseRequest calldata request) private view {
        uint8 status = machine.status;
        uint32 id = request.machine;
        if (_statusOf(status) == MachineStatus.Retired) revert MachineRetiredAlready(id);
        if (_statusOf(status) == MachineStatus.Unverified && !request.allowUnverified) revert MachineUnverified(id);
        if (status & DELISTED != 0) revert MachineDelisted(id);
        if (status & UNDER_STAKED != 0) revert MachineUnderStaked(id);
        if (status & STALLED != 0) revert MachineStalled(id);
        if (request.revision != machine.revision) revert RevisionChanged(machine.revision);
    }

    /// @dev Whether the terms allow what is asked for, and the tenant the price.
    /// @return end if the lease began now
    function _accepts(StoredTerms memory terms, LeaseRequest calldata request) private view returns (uint32 end) {
        uint16 current = _versionInForce();
        if (terms.params != current) revert ParamsOutdated(terms.params, current);
        if (terms.price > request.maxPrice) revert PriceTooHigh(terms.price, request.maxPrice);
        uint256 duration = request.duration;
        if (duration < terms.minDuration || duration > terms.maxDuration) {
            revert DurationOutOfRange(duration, terms.minDuration, terms.maxDuration);
        }
        end = SafeCast.toUint32(block.timestamp + duration);
        _availableUntil(end, terms.availableUntilDay);
    }

    function _availableUntil(uint256 end, uint256 day) private pure {
        uint256 until = (day + 1) * 1 days;
        if (end > until) revert NotAvailableUntil(end, until);
    }

    /// @dev A new slot, or the next generation of an ended lease of the tenant's own.
    function _slot(address tenant, uint256 reuse) private returns (uint256 id, Lease storage lease, uint16 generation) {
        if (reuse == 0) {
            uint256 slot = ++_pool.slotCount;
            return (slot << 16, _leases[slot], 0);
        }
        lease = _lease(reuse);
        if (lease.tenant != tenant) revert NotAuthorized(tenant);
        if (lease.state < uint8(LeaseState.Ended)) revert WrongState(reuse, lease.state);
        generation = lease.generation;
        if (generation == type(uint16).max) revert SlotExhausted(reuse);
        unchecked {
            ++generation;
        }
        id = reuse + 1;
    }

    function _write(Opening memory opening, StoredTerms memory terms, LeaseRequest calldata request, uint32 end)
        private
        returns (uint256 id)
    {
        Lease storage lease;
        uint16 generation;
        (id, lease, generation) = _slot(opening.tenant, request.reuse);
        lease.tenant = opening.tenant;
        lease.machine = request.machine;
        lease.placement = opening.placement;
        lease.state = uint8(LeaseState.Opened);
        lease.flags = 0;
        lease.start = uint32(block.timestamp); // `end` is later and has passed a checked cast
        lease.deposit = opening.deposit;
        lease.price = terms.price;
        lease.end = end;
        lease.revision = request.revision;
        lease.params = terms.params;
        lease.generation = generation;
    }

    function _logOpened(
        uint256 id,
        Opening memory opening,
        StoredTerms memory terms,
        LeaseRequest calldata request,
        uint256 pulled
    ) private {
        emit LeaseOpened(
            id,
            request.machine,
            opening.tenant,
            opening.placement,
            request.revision,
            terms.params,
            terms.price,
            request.duration,
            opening.deposit,
            pulled,
            request.workload,
            0, // flags: spot is not served
            0 // backup: neither
        );
    }

    /// @dev Finds the share's place, or checks the one named, and takes its cells.
    function _occupy(Machine storage machine, LeaseRequest calldata request) private returns (uint16 placement) {
        uint8 gpus = machine.gpus;
        if (!Cells.isShare(request.share, gpus)) revert InvalidShare(request.share);
        uint64 leased = machine.leased;
        uint64 busy = leased;
        if (machine.status & WITHHOLDING != 0) busy |= machine.withheld;

        placement = request.placement;
        if (placement == 0) {
            placement = Cells.place(busy, request.share, gpus);
            if (placement == 0) revert NoFreeCells(request.machine, busy);
        } else if (!Cells.fits(placement, request.share, gpus)) {
            revert InvalidPlacement(placement);
        } else if (Cells.cells(placement) & busy != 0) {
            revert NoFreeCells(request.machine, busy);
        }
        machine.leased = leased | Cells.cells(placement);
    }

    function _cancel(uint256 id, Lease storage lease) private {
        uint32 machineId = lease.machine;
        Machine storage machine = _machines[machineId];
        _count(machine.provider, 20, 1);
        if (machine.status & STALLED == 0) _setStatus(machineId, machine, machine.status | STALLED);
        (,, uint96 refunded) = _finish(lease, machine, LeaseState.Cancelled, 0);
        emit LeaseCancelled(id, machineId, refunded);
    }

    function _reject(uint256 id, Lease storage lease) private {
        uint32 machineId = lease.machine;
        uint32 end = uint32(Billing.min(block.timestamp, lease.end));
        uint256 held = Billing.accrued(lease.price, Cells.count(lease.placement), end - lease.start);
        lease.end = end;
        (uint96 paid, uint96 fee, uint96 refunded) = _finish(
            lease, _machines[machineId], LeaseState.Rejected, Billing.portion(held, _params[lease.params].holdFeeBps)
        );
        emit LeaseRejected(id, machineId, paid, fee, refunded);
    }

    function _close(uint256 id, Lease storage lease) private {
        uint32 machineId = lease.machine;
        uint32 end = uint32(Billing.min(block.timestamp, lease.end));
        lease.end = end;
        (uint96 paid, uint96 fee, uint96 refunded) = _finish(
            lease,
            _machines[machineId],
            LeaseState.Ended,
            Billing.accrued(lease.price, Cells.count(lease.placement), end - lease.start)
        );
        emit LeaseClosed(id, machineId, end, paid, fee, refunded);
    }

    /// @dev The one way out of a live state. Pays the provider and the pool what `total` adds to what is settled, gives the
    /// tenant what is left of the deposit, and frees the cells. `total` is never less than what is settled (time and end
    /// only move that way) nor more than the deposit (an escrow rounds up what accrual rounds down), so nothing here can
    /// fail: an exit that is allowed works.
    function _finish(Lease storage lease, Machine storage machine, LeaseState state, uint256 total)
        private
        returns (uint96 paid, uint96 fee, uint96 refunded)
    {
        lease.state = uint8(state);
        machine.leased &= ~Cells.cells(lease.placement);
        (paid, fee) = _pay(lease, machine.provider, total);
        refunded = uint96(lease.deposit - total);
        _credit(lease.tenant, refunded);
    }

    function _claim(uint256 id) private returns (bool) {
        Lease storage lease = _leases[id >> 16];
        if (lease.generation != uint16(id) || lease.state != uint8(LeaseState.Active)) return false;
        if (block.timestamp < _trialEnd(lease)) return false;
        uint256 until = Billing.min(block.timestamp - _params[lease.params].claimLag, lease.end);
        uint256 from = lease.start;
        if (until <= from) return false;
        uint256 total = Billing.accrued(lease.price, Cells.count(lease.placement), until - from);
        if (total <= _settled(lease)) return false;

        uint32 machineId = lease.machine;
        (uint96 paid, uint96 fee) = _pay(lease, _machines[machineId].provider, total);
        lease.flags |= BILLED;
        lease.settled = uint96(total); // at most the deposit
        emit LeaseClaimed(id, machineId, uint96(total), paid, fee);
        return true;
    }

    /// @dev Credits what lies between what is settled and `total`. The fee is the difference of two totals, so many small
    /// claims pay to the unit what one large one pays.
    function _pay(Lease storage lease, address provider, uint256 total) private returns (uint96 paid, uint96 fee) {
        uint256 settled = _settled(lease);
        uint256 feeBps = _params[lease.params].feeBps;
        uint256 feeAfter = Billing.portion(total, feeBps);
        uint256 feeAdded = feeAfter - Billing.portion(settled, feeBps);
        _credit(provider, total - settled - feeAdded);
        if (feeAdded != 0) {
            Account storage account = _providers[provider];
            // What is due is held, and all that is held fits 96 bits (`_pull`). What was ever paid may not: it stays at
            // its greatest value then, and no exit fails.
            account.feesDue += uint96(feeAdded);
            account.feesPaid = uint96(Billing.min(uint256(account.feesPaid) + feeAdded, type(uint96).max));
        }
        fee = uint96(feeAfter);
        paid = uint96(total - feeAfter);
    }

    function _settled(Lease storage lease) private view returns (uint256) {
        return lease.flags & BILLED == 0 ? 0 : lease.settled;
    }

    /// @dev Adds to one of the counts in the account's slot, which stays at its greatest value: no exit fails on it.
    /// @param shift 40 for terminated (24 bits), 20 for unstarted, 0 for declined (20 bits each)
    function _count(address provider, uint256 shift, uint64 one) private {
        uint64 counts = _providers[provider].counts;
        uint64 greatest = shift == 40 ? 0xFFFFFF : 0xFFFFF;
        if ((counts >> shift) & greatest != greatest) _providers[provider].counts = counts + (one << shift);
    }

    function _lease(uint256 id) private view returns (Lease storage lease) {
        lease = _leases[id >> 16];
        if (lease.state == uint8(LeaseState.None) || lease.generation != uint16(id)) revert UnknownLease(id);
    }

    function _require(uint256 id, Lease storage lease, LeaseState state) private view {
        if (lease.state != uint8(state)) revert WrongState(id, lease.state);
    }

    function _onlyTenant(Lease storage lease) private view {
        address actor = _actor();
        if (actor != lease.tenant) revert NotAuthorized(actor);
    }

    function _startDeadline(Lease storage lease) private view returns (uint256) {
        return uint256(lease.start) + _params[lease.params].startWindow;
    }

    /// @dev A trial does not outlast its lease: what ran to its end is paid in full.
    function _trialEnd(Lease storage lease) private view returns (uint256) {
        return Billing.min(uint256(lease.start) + _terms[lease.machine][lease.revision].trial, lease.end);
    }
}
