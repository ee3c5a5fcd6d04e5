// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IDirectory} from "../interfaces/IDirectory.sol";
import {IMachines} from "../interfaces/IMachines.sol";
import {Consent, MachineStatus, Terms} from "../interfaces/PoolTypes.sol";
import {Cells} from "../libraries/Cells.sol";
import {Rules} from "../libraries/Rules.sol";
import {MachineHead, MachineHeads, TermsSlots} from "../libraries/Slots.sol";
import {Consenting} from "./Consenting.sol";

/// @title Machines and their stake. `MachineUpkeep` holds what is rarer.
/// @dev A machine's stake is its own. It leaves in `unstake`, to the provider's ledger, and by a fault.
/// All is guarded, also what moves nothing: a token that calls out could put one call's events in front of another's.
abstract contract Machines is Consenting, IMachines {
    /// @inheritdoc IMachines
    function register(
        Terms calldata terms,
        uint8 gpus,
        uint8 smallestShare,
        bytes32 hardware,
        bytes32 contact,
        address operator,
        Consent calldata consent
    ) external nonReentrant returns (uint32 id) {
        // Check
        if (_pool.paused) revert Paused();
        if (gpus == 0 || gpus > 8) revert InvalidGpuCount(gpus);
        if (!Cells.isShare(smallestShare, 1)) revert InvalidSmallestShare(smallestShare);
        address provider = _actor();
        _requireConsent(provider, operator, consent);
        if (_pool.gated && !IDirectory(_arg(DIRECTORY)).isLicensed(provider)) revert Unlicensed(provider);
        uint16 version = _versionInForce();
        uint96 stake = SafeCast.toUint96(_minimumStake(provider, gpus, _params[version].minStakePerGpu));

        // Effect
        id = ++_pool.machineCount;
        {
            Machine storage machine = _machines[id];
            machine.head = MachineHeads.make(provider, uint8(MachineStatus.Unverified), 1, gpus, smallestShare);
            machine.operator = operator;
            machine.stake = stake;
        }
        _storeTerms(id, 1, version, terms);

        // Interact
        uint256 pulled = _charge(provider, stake);

        // Log
        emit MachineRegistered(id, provider, operator, gpus, smallestShare, stake, pulled);
        emit TermsSet(id, 1, version, terms);
        emit HardwareSet(id, 1, hardware);
        emit ContactSet(id, contact);
    }

    /// @inheritdoc IMachines
    function setTerms(uint32 id, Terms calldata terms) external nonReentrant {
        (Machine storage machine, MachineHead head) = _owned(id);
        _requireNotRetired(id, head);
        uint16 version = _versionInForce();
        uint16 revision = head.revision() + 1;
        uint16 before = _terms[id][revision - 1].params();
        if (before != version) _accepted[id][version] = Acceptance(SafeCast.toUint32(block.timestamp), before);
        head = head.withRevision(revision);
        machine.head = head;
        _storeTerms(id, revision, version, terms);
        emit TermsSet(id, revision, version, terms);
        _weighStake(id, machine, head);
    }

    /// @inheritdoc IMachines
    /// @dev A machine that is down comes back through `Faults.recover`, which clears a stall too.
    function recover(uint32 id) external nonReentrant {
        (Machine storage machine, MachineHead head) = _tended(id);
        _requireNotDown(id, machine, head);
        if (head.status() & STALLED == 0) revert MachineNotStalled(id);
        _setStatus(id, machine, head, head.status() & ~STALLED);
    }

    /// @inheritdoc IMachines
    /// @dev Anyone may add: what is added can only come back to the provider, or be slashed.
    function addStake(uint32 id, uint96 amount) external nonReentrant {
        // Check
        (Machine storage machine, MachineHead head) = _machine(id);
        _requireNotRetired(id, head);
        if (amount == 0) revert ZeroAmount();
        address from = _actor();

        // Effect
        uint96 stake = machine.stake + amount;
        machine.stake = stake;
        if (head.status() & UNDER_STAKED != 0) _weighStake(id, machine, head); // more of it makes nobody's too small

        // Interact, Log
        uint256 pulled = _charge(from, amount);
        emit StakeAdded(id, from, amount, pulled, stake);
    }

    /// @inheritdoc IMachines
    /// @dev Leases that still run, or wait for someone to settle them, keep the machine in service; `delist` stops new
    /// ones, and a lease past its end can be closed by anyone.
    function retire(uint32 id) external nonReentrant {
        (Machine storage machine, MachineHead head) = _owned(id);
        _requireNotRetired(id, head);
        if (head.leased() != 0) revert MachineBusy(id, head.leased());
        uint32 retiredAt = SafeCast.toUint32(block.timestamp);
        machine.care.retiredAt = retiredAt;
        _setStatus(id, machine, head, (head.status() & ~STATUS_MASK) | uint8(MachineStatus.Retired));
        emit MachineRetired(id, retiredAt);
    }

    /// @inheritdoc IMachines
    /// @dev Anyone may settle it: the stake has one way to go, to the ledger of the provider.
    function unstake(uint32 id) external nonReentrant {
        // Check
        (Machine storage machine, MachineHead head) = _machine(id);
        if (_statusOf(head.status()) != MachineStatus.Retired) revert MachineNotRetired(id);
        uint256 until = uint256(machine.care.retiredAt) + _rulesOf(id, head).unstakeDelay;
        if (block.timestamp < until) revert StakeLocked(id, until);
        uint8 pending = machine.care.pendingSlashes; // a running outage among them
        if (pending != 0) revert SlashPending(id, pending);
        uint256 stake = machine.stake;
        if (stake == 0) revert ZeroAmount();

        // Effect, Log
        machine.stake = 0;
        _credit(head.provider(), stake);
        emit Unstaked(id, head.provider(), stake);
    }

    function _storeTerms(uint32 id, uint16 revision, uint16 version, Terms calldata terms) private {
        bytes32 fault = Rules.faultOf(terms);
        if (fault != 0) revert InvalidTerms(fault);
        _terms[id][revision] = TermsSlots.make(
            terms.price,
            terms.spotPrice,
            terms.minDuration,
            terms.maxDuration,
            terms.trial,
            version,
            terms.availableUntilDay
        );
    }
}
