// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {MachineStatus, Params} from "../interfaces/IControllerTypes.sol";
import {IFaults} from "../interfaces/IFaults.sol";
import {Billing} from "../libraries/Billing.sol";
import {Score} from "../libraries/Score.sol";
import {Account, AccountSlots, MachineHead, Rulebook} from "../libraries/Slots.sol";
import {Ledger} from "./Ledger.sol";

/// @title What all parts of a pool know about machines and parameters.
abstract contract Registry is Ledger {
    // ----------------------------------------------------------------------------------------------------- parameters

    /// @dev A proposal comes into force by time alone; nobody need send a transaction.
    function _versionInForce() internal view returns (uint16 version) {
        Pool storage pool = _pool;
        version = pool.paramsVersion;
        uint256 inForceAt = pool.inForceAt;
        if (inForceAt != 0 && block.timestamp >= inForceAt) ++version;
    }

    /// @dev What leases need of a version's rules, in one read.
    function _rulebook(uint16 version) internal view returns (Rulebook rules) {
        Params storage params_ = _params[version];
        assembly ("memory-safe") {
            rules := sload(params_.slot)
        }
    }

    // ------------------------------------------------------------------------------------------------------- machines

    function _machine(uint32 id) internal view returns (Machine storage machine, MachineHead head) {
        machine = _machines[id];
        head = machine.head;
        if (head.revision() == 0) revert UnknownMachine(id);
    }

    /// @dev The machine, for a call that only its provider may make.
    function _owned(uint32 id) internal view returns (Machine storage machine, MachineHead head) {
        (machine, head) = _machine(id);
        _only(head.provider());
    }

    /// @dev The machine, for a call that its provider and its operator may make.
    function _tended(uint32 id) internal view returns (Machine storage machine, MachineHead head) {
        (machine, head) = _machine(id);
        address actor = _actor();
        if (actor != head.provider() && actor != machine.operator) revert NotAuthorized(actor);
    }

    function _only(address who) internal view {
        address actor = _actor();
        if (actor != who) revert NotAuthorized(actor);
    }

    function _notRetired(uint32 id, MachineHead head) internal pure {
        if (_statusOf(head.status()) == MachineStatus.Retired) revert MachineRetiredAlready(id);
    }

    function _statusOf(uint8 status) internal pure returns (MachineStatus) {
        return MachineStatus(status & STATUS_MASK);
    }

    function _setStatus(uint32 id, Machine storage machine, MachineHead head, uint8 status) internal {
        machine.head = head.withStatus(status);
        emit MachineStatusSet(
            id, status & STATUS_MASK, status & DELISTED != 0, status & UNDER_STAKED != 0, status & STALLED != 0
        );
    }

    /// @dev The rules that the machine's present terms accept.
    function _rulesOf(uint32 id, MachineHead head) internal view returns (Params storage) {
        return _params[_terms[id][head.revision()].params()];
    }

    /// @dev What a provider must stake for `gpus`: less with a good name (`Score`), never under half. A provider who has
    /// paid no fees has no name yet, and nobody is asked. The same that Reputation says, at a third of the gas.
    /// Warning: calls Faults, a view. So no exit may need it.
    function _minimumStake(address provider, uint8 gpus, uint96 perGpu) internal view returns (uint256 minimum) {
        minimum = uint256(perGpu) * gpus;
        Account account = _providers[provider];
        uint256 fees = account.feesPaid();
        if (fees == 0) return minimum;
        uint256 slashed = IFaults(_arg(FAULTS)).slashedOf(provider);
        uint256 broken = uint256(account.count(AccountSlots.TERMINATED)) + account.count(AccountSlots.UNSTARTED);
        minimum -= Billing.portion(minimum, Score.discountBps(Score.compute(fees, slashed, broken, perGpu)));
    }

    /// @dev Sets or clears `UNDER_STAKED`.
    function _weighStake(uint32 id, Machine storage machine, MachineHead head) internal {
        uint256 minimum = _minimumStake(head.provider(), head.gpus(), _rulesOf(id, head).minStakePerGpu);
        uint8 weighed = machine.stake < minimum ? head.status() | UNDER_STAKED : head.status() & ~UNDER_STAKED;
        if (weighed != head.status()) _setStatus(id, machine, head, weighed);
    }
}
