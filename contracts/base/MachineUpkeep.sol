// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IMachineUpkeep} from "../interfaces/IMachines.sol";
import {Consent, MachineStatus} from "../interfaces/PoolTypes.sol";
import {Cells} from "../libraries/Cells.sol";
import {MachineHead} from "../libraries/Slots.sol";
import {Consenting} from "./Consenting.sol";

/// @title What a provider rarely does to a machine that is in.
abstract contract MachineUpkeep is Consenting, IMachineUpkeep {
    /// @inheritdoc IMachineUpkeep
    function setHardware(uint32 id, bytes32 hardware) external nonReentrant {
        (Machine storage machine, MachineHead head) = _owned(id);
        _requireNotRetired(id, head);
        uint16 revision = head.revision() + 1;
        head = head.withRevision(revision);
        machine.head = head;
        _terms[id][revision] = _terms[id][revision - 1];
        emit HardwareSet(id, revision, hardware);
        if (_statusOf(head.status()) == MachineStatus.Verified) {
            _setStatus(id, machine, head, (head.status() & ~STATUS_MASK) | uint8(MachineStatus.Unverified));
        }
    }

    /// @inheritdoc IMachineUpkeep
    /// @dev Also after `retire`: a leaked key must always be replaceable.
    function setOperator(uint32 id, address operator, Consent calldata consent) external nonReentrant {
        (Machine storage machine, MachineHead head) = _owned(id);
        _requireConsent(head.provider(), operator, consent);
        machine.operator = operator;
        emit OperatorSet(id, operator);
    }

    /// @inheritdoc IMachineUpkeep
    function consentDigest(address provider, address operator, uint64 deadline) external view returns (bytes32) {
        return _consentDigest(provider, operator, deadline);
    }

    /// @inheritdoc IMachineUpkeep
    function setContact(uint32 id, bytes32 contact) external nonReentrant {
        _tended(id);
        emit ContactSet(id, contact);
    }

    /// @inheritdoc IMachineUpkeep
    function withhold(uint32 id, uint64 cells) external nonReentrant {
        (Machine storage machine, MachineHead head) = _tended(id);
        if (cells & ~Cells.all(head.gpus()) != 0) revert InvalidCells(cells);
        machine.care.withheld = cells;
        machine.head = head.withStatus(cells == 0 ? head.status() & ~WITHHOLDING : head.status() | WITHHOLDING);
        emit Withheld(id, cells);
    }

    /// @inheritdoc IMachineUpkeep
    function delist(uint32 id) external nonReentrant {
        (Machine storage machine, MachineHead head) = _owned(id);
        _requireNotRetired(id, head);
        _setStatus(id, machine, head, head.status() | DELISTED);
    }

    /// @inheritdoc IMachineUpkeep
    function relist(uint32 id) external nonReentrant {
        (Machine storage machine, MachineHead head) = _owned(id);
        _requireNotRetired(id, head);
        _setStatus(id, machine, head, head.status() & ~DELISTED);
    }
}
