// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee} from "../../interfaces/ICommittee.sol";
import {Fault, FaultKind, FaultState, IFaults} from "../../interfaces/IFaults.sol";
import {LeaseState, Tenancy} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Cells} from "../../libraries/Cells.sol";
import {Slashing} from "../../libraries/Slashing.sol";
import {Filing} from "./Filing.sol";

/// @title What an outage takes off the bills, and where a slash goes.
abstract contract Paying is Filing {
    /// @inheritdoc IFaults
    function applyOutage(uint256 id, uint256[] calldata leases) external {
        // Check
        Fault storage fault = _fault(id);
        FaultState state = fault.state;
        if (state == FaultState.Running || state == FaultState.Dropped) _revertState(id, state);
        bool registers = state < FaultState.Executed;
        uint256 cells = 8 * uint256(_seen(fault.machine).gpus);

        // Effect, Interact, Log of each lease
        bool any;
        for (uint256 i = 0; i < leases.length; ++i) {
            if (_apply(id, fault, leases[i], registers, cells)) any = true;
        }
        if (!any) revert NothingToApply(id);
    }

    /// @inheritdoc IFaults
    function execute(uint256 id) external {
        // Check
        Fault storage fault = _fault(id);
        FaultState state = fault.state;
        if (state < FaultState.Filed || state > FaultState.Upheld) _revertState(id, state);
        if (block.timestamp <= fault.deadline) revert AppealOpen(id, fault.deadline);

        // Effect
        uint96 bond = fault.bond;
        fault.bond = 0;
        address provider = _seen(fault.machine).provider;
        if (fault.amount != 0) _remember(provider, fault.amount);

        // Effect, Interact. Only inside the pool's ledger.
        _conclude(fault, FaultState.Executed);
        _distribute(id, fault);
        _pay(provider, bond);
    }

    /// @inheritdoc IFaults
    function compensate(uint256 id, uint256[] calldata leases) external {
        // Check
        Fault storage fault = _faultIn(id, FaultState.Executed);

        // Effect, Interact, Log of each part. Only inside the pool's ledger.
        for (uint256 i = 0; i < leases.length; ++i) {
            Loss storage loss = _losses[id][leases[i]];
            uint96 part = loss.part;
            if (part == 0) continue;
            loss.part = 0;
            fault.pot -= part;
            _pay(loss.tenant, part);
            emit Compensated(id, leases[i], loss.tenant, part);
        }
    }

    /// @inheritdoc IFaults
    function slashedOf(address provider) public view returns (uint256) {
        Slashed storage slashed = _slashed[provider];
        return Slashing.decayed(slashed.amount, block.timestamp - slashed.at);
    }

    // -------------------------------------------------------------------------------------------------------- inside it

    /// @return applied whether the outage had something for the lease
    function _apply(uint256 id, Fault storage fault, uint256 lease, bool registers, uint256 cells)
        private
        returns (bool applied)
    {
        // Check
        Loss storage loss = _losses[id][lease];
        if (loss.tenant != address(0)) return false;
        // Nothing is known of a lease that is no more: nobody spoils a batch by using its slot again.
        Tenancy memory seen = _lease(lease);
        bool active = seen.state == LeaseState.Active;
        if (seen.machine != fault.machine || (!active && seen.state != LeaseState.Ended)) return false;
        // The time before a change of share counts no longer: it had another share.
        uint256 time = Slashing.overlap(fault.from, fault.to, seen.since, seen.end);
        bool pauses = active && fault.kind != FaultKind.FalseHardware;
        if (time == 0 || !(registers || pauses)) return false;

        // Effect, Interact, Log
        uint96 part;
        if (registers) part = _register(fault, Cells.count(seen.placement), time, cells);
        (loss.tenant, loss.part) = (seen.tenant, part);
        if (pauses) _hooks().pause(lease, fault.from, fault.to);
        emit OutageApplied(id, lease, seen.tenant, part);
        return true;
    }

    /// @return part of the slash that whoever had `cells` of `all` for `time` of the outage has coming
    function _register(Fault storage fault, uint256 cells, uint256 time, uint256 all) private returns (uint96 part) {
        uint96 slash = fault.amount;
        uint96 pot = fault.pot;
        part = uint96(Slashing.loss(slash, slash / 2 - pot, cells, time, all, fault.to - fault.from)); // of a half of it
        fault.pot = pot + part;
    }

    function _distribute(uint256 id, Fault storage fault) private {
        uint96 slash = fault.amount;
        uint96 pot = fault.pot;
        bytes32 reporter = fault.reporter;
        bool attested = fault.kind == FaultKind.Attested;
        uint96 reported = reporter == 0 ? 0 : uint96(Slashing.tenth(slash));
        ICommittee committee = _committee();
        address[] memory to = new address[](3);
        uint96[] memory amounts = new uint96[](3);
        to[0] = _sink(_rules(fault.rules));
        to[1] = address(this);
        to[2] = attested ? address(committee) : address(uint160(uint256(reporter)));
        (amounts[0], amounts[1], amounts[2]) = (slash - pot - reported, pot, reported);
        if (reporter == 0) to[2] = to[0]; // nobody gets nothing

        // Interact, Log
        _hooks().moveStake(fault.machine, to, amounts);
        if (attested) committee.credit(reporter, reported);
        emit FaultExecuted(id, fault.machine, slash, pot, reported, amounts[0], to[0]);
    }

    /// @dev Adds to what the provider was slashed, the earlier part decayed until now.
    function _remember(address provider, uint96 amount) private {
        // Both at most what the pool ever held in stake; a record, not money, so it may stop at its greatest value.
        uint256 sum = slashedOf(provider) + amount;
        _slashed[provider] = Slashed(uint96(Billing.min(sum, type(uint96).max)), uint32(block.timestamp));
    }
}
