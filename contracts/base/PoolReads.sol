// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IPoolReads} from "../interfaces/IPoolReads.sol";
import {AccountView, LeaseState, LeaseView, MachineView, Stake, Tenancy, Terms} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {
    Account,
    AccountSlots,
    LeaseBill,
    LeaseBody,
    LeaseHead,
    LeaseId,
    MachineHead,
    StoredTerms
} from "../libraries/Slots.sol";
import {Lifecycle} from "./Lifecycle.sol";

/// @title What of a pool, its machines and its leases can be read.
abstract contract PoolReads is Lifecycle, IPoolReads {
    /// @inheritdoc IPoolReads
    function machineOf(uint32 id) external view returns (MachineView memory seen) {
        Machine storage machine = _machines[id];
        MachineHead head = machine.head;
        uint8 status = head.status();
        seen.provider = head.provider();
        seen.operator = machine.operator;
        seen.status = _statusOf(status);
        seen.delisted = status & DELISTED != 0;
        seen.underStaked = status & UNDER_STAKED != 0;
        seen.stalled = status & STALLED != 0;
        seen.gpus = head.gpus();
        seen.smallestShare = head.smallestShare();
        seen.revision = head.revision();
        seen.stake = machine.stake;
        seen.leased = head.leased();
        MachineCare memory care = machine.care;
        seen.withheld = care.withheld;
        seen.busy = seen.leased | seen.withheld;
        seen.retiredAt = care.retiredAt;
        seen.downSince = care.downSince;
        seen.heldFrom = care.heldFrom;
        seen.heldTo = care.heldTo;
        seen.heldUntil = care.heldUntil;
        seen.lastVerified = care.lastVerified;
        seen.pendingSlashes = care.pendingSlashes;
        (seen.terms, seen.params) = termsOf(id, seen.revision);
    }

    /// @inheritdoc IPoolReads
    function stakeOf(uint32 id) external view returns (Stake memory seen) {
        Machine storage machine = _machines[id];
        MachineHead head = machine.head;
        seen.provider = head.provider();
        seen.operator = machine.operator;
        seen.amount = machine.stake;
        seen.gpus = head.gpus();
        seen.params = _terms[id][head.revision()].params();
        seen.retiredAt = machine.care.retiredAt;
    }

    /// @inheritdoc IPoolReads
    function termsOf(uint32 machine, uint16 revision) public view returns (Terms memory terms, uint16 params_) {
        StoredTerms stored = _terms[machine][revision];
        terms = Terms({
            price: stored.price(),
            spotPrice: stored.spotPrice(),
            minDuration: stored.minDuration(),
            maxDuration: stored.maxDuration(),
            trial: stored.trial(),
            availableUntilDay: stored.availableUntilDay()
        });
        params_ = stored.params();
    }

    /// @inheritdoc IPoolReads
    /// @dev Back from the present one. No version comes sooner than `Rules.TIMELOCK` after another.
    function acceptedAt(uint32 machine, uint256 time) external view returns (uint16 version) {
        (, version) = termsOf(machine, _machines[machine].head.revision());
        Acceptance memory accepted = _accepted[machine][version];
        while (accepted.since > time) {
            version = accepted.before;
            accepted = _accepted[machine][version];
        }
    }

    /// @inheritdoc IPoolReads
    function tenancyOf(uint256 id) external view returns (Tenancy memory seen) {
        Lease storage lease = _leases[LeaseId.wrap(id).slot()];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (!body.isOf(LeaseId.wrap(id))) return seen;
        seen.tenant = head.tenant();
        seen.machine = head.machine();
        seen.placement = head.placement();
        seen.state = LeaseState(head.state());
        seen.since = uint32(Billing.began(_bill(lease, head), head.start()));
        seen.end = body.end();
        seen.params = body.params();
    }

    /// @inheritdoc IPoolReads
    function leaseOf(uint256 id) external view returns (LeaseView memory seen) {
        Lease storage lease = _leases[LeaseId.wrap(id).slot()];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (!body.isOf(LeaseId.wrap(id))) return seen;
        seen.tenant = head.tenant();
        seen.machine = head.machine();
        seen.placement = head.placement();
        seen.state = LeaseState(head.state());
        seen.spot = head.flags() & SPOT != 0;
        seen.noticed = head.flags() & NOTICED != 0;
        seen.start = head.start();
        seen.end = body.end();
        seen.deposit = body.deposit();
        seen.price = body.price();
        seen.revision = body.revision();
        seen.params = body.params();
        LeaseBill bill = _bill(lease, head);
        seen.settled = uint96(_settledOf(bill, head, body));
        if (head.flags() & BACKED != 0) seen.backup = lease.backup;
        seen.paused = bill.paused();
        seen.segmentStart = uint32(Billing.began(bill, head.start()));
        seen.segmentSettled = bill.segmentSettled();
    }

    /// @inheritdoc IPoolReads
    function accountOf(address provider) external view returns (AccountView memory) {
        Account account = _providers[provider];
        return AccountView({
            feesPaid: account.feesPaid(),
            feesDue: account.feesDue(),
            terminated: account.count(AccountSlots.TERMINATED),
            unstarted: account.count(AccountSlots.UNSTARTED),
            declined: account.count(AccountSlots.DECLINED)
        });
    }

    /// @inheritdoc IPoolReads
    function machineCount() external view returns (uint32) {
        return _pool.machineCount;
    }

    /// @inheritdoc IPoolReads
    function slotCount() external view returns (uint32) {
        return _pool.slotCount;
    }

    /// @inheritdoc IPoolReads
    function companions() external view returns (address, address, address, address) {
        return (_arg(COMMITTEE), _arg(FAULTS), _arg(REPUTATION), _arg(DIRECTORY));
    }

    /// @inheritdoc IPoolReads
    function token() external view returns (address) {
        return address(_token());
    }

    /// @inheritdoc IPoolReads
    function accounts() external view returns (address) {
        return address(_accounts);
    }

    /// @inheritdoc IPoolReads
    function extsload(bytes32[] calldata slots) external view returns (bytes32[] memory values) {
        values = new bytes32[](slots.length);
        for (uint256 i = 0; i < slots.length; ++i) {
            bytes32 slot = slots[i];
            bytes32 value;
            assembly ("memory-safe") {
                value := sload(slot)
            }
            values[i] = value;
        }
    }

    /// @inheritdoc IPoolReads
    /// @dev Name and version are constants of the code; `address(this)` is the clone.
    function eip712Domain()
        external
        view
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return (0x0f, "Leasehold", "1", block.chainid, address(this), 0, new uint256[](0));
    }

    /// @dev Of a live lease what claims have settled, of one that is over what it was billed in all, which needs no storage
    /// of its own: `end` is where the bill stopped.
    function _settledOf(LeaseBill bill, LeaseHead head, LeaseBody body) private view returns (uint256) {
        LeaseState state = LeaseState(head.state());
        if (state != LeaseState.Ended && state != LeaseState.Rejected) return bill.settled();
        uint256 total = _owedUntil(bill, head, body, body.end());
        return state == LeaseState.Ended ? total : Billing.portion(total, _rulebook(body.params()).holdFeeBps());
    }
}
