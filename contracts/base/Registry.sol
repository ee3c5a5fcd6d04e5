// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {MachineStatus, Params} from "../interfaces/IControllerTypes.sol";
import {MachineHead} from "../libraries/Slots.sol";
import {Ledger} from "./Ledger.sol";

/// @title What both halves of a pool know about machines and parameters.
abstract contract Registry is Ledger {
    // ----------------------------------------------------------------------------------------------------- parameters

    /// @dev A proposal comes into force by time alone; nobody need send a transaction.
    function _versionInForce() internal view returns (uint16 version) {
        Pool storage pool = _pool;
        version = pool.paramsVersion;
        uint256 inForceAt = pool.inForceAt;
        if (inForceAt != 0 && block.timestamp >= inForceAt) ++version;
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

    /// @dev Sets or clears `UNDER_STAKED`.
    function _weighStake(uint32 id, Machine storage machine, MachineHead head) internal {
        uint256 minimum = uint256(_rulesOf(id, head).minStakePerGpu) * head.gpus();
        uint8 weighed = machine.stake < minimum ? head.status() | UNDER_STAKED : head.status() & ~UNDER_STAKED;
        if (weighed != head.status()) _setStatus(id, machine, head, weighed);
    }
}
