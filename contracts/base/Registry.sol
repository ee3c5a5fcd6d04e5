// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Params, MachineStatus, Terms} from "../interfaces/IControllerTypes.sol";
import {Rules} from "../libraries/Rules.sol";
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

    function _machine(uint32 id) internal view returns (Machine storage machine) {
        machine = _machines[id];
        if (machine.revision == 0) revert UnknownMachine(id);
    }

    function _statusOf(uint8 status) internal pure returns (MachineStatus) {
        return MachineStatus(status & STATUS_MASK);
    }

    function _notRetired(uint32 id, Machine storage machine) internal view {
        if (_statusOf(machine.status) == MachineStatus.Retired) revert MachineRetiredAlready(id);
    }

    function _onlyProvider(Machine storage machine) internal view returns (address actor) {
        actor = _actor();
        if (actor != machine.provider) revert NotAuthorized(actor);
    }

    function _onlyOperator(Machine storage machine) internal view {
        address actor = _actor();
        if (actor != machine.operator) revert NotAuthorized(actor);
    }

    function _onlyProviderOrOperator(Machine storage machine) internal view {
        address actor = _actor();
        if (actor != machine.provider && actor != machine.operator) revert NotAuthorized(actor);
    }

    function _setStatus(uint32 id, Machine storage machine, uint8 status) internal {
        machine.status = status;
        emit MachineStatusSet(
            id, status & STATUS_MASK, status & DELISTED != 0, status & UNDER_STAKED != 0, status & STALLED != 0
        );
    }

    /// @dev Sets or clears `UNDER_STAKED` by the minimum of the parameters that the machine's terms accept.
    function _weighStake(uint32 id, Machine storage machine) internal {
        uint256 minimum = uint256(_params[_terms[id][machine.revision].params].minStakePerGpu) * machine.gpus;
        uint8 status = machine.status;
        uint8 weighed = machine.stake < minimum ? status | UNDER_STAKED : status & ~UNDER_STAKED;
        if (weighed != status) _setStatus(id, machine, weighed);
    }
}
