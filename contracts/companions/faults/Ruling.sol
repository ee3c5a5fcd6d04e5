// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Fault, FaultKind, FaultState, IFaults} from "../../interfaces/IFaults.sol";
import {Judging, Stake} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Slashing} from "../../libraries/Slashing.sol";
import {Filing} from "./Filing.sol";

/// @title Appeals, and what an arbiter takes back.
abstract contract Ruling is Filing {
    using SafeCast for uint256;

    /// @inheritdoc IFaults
    function appeal(uint256 id) external {
        // Check
        Fault storage fault = _faultIn(id, FaultState.Filed);
        _only(_seen(fault.machine).provider);
        Judging memory rules = _rules(fault.rules);
        if (rules.arbiter == address(0)) revert NobodyRules(id);
        if (block.timestamp > fault.deadline) revert AppealOver(id, fault.deadline);

        // Effect
        uint32 deadline = (block.timestamp + rules.rulingWindow).toUint32();
        fault.state = FaultState.Appealed;
        fault.deadline = deadline;
        fault.bond = rules.bond;

        // Interact, Log
        _charge(rules.bond);
        emit Appealed(id, fault.machine, deadline);
    }

    /// @inheritdoc IFaults
    function rule(uint256 id, bool stands) external {
        // Check
        Fault storage fault = _faultIn(id, FaultState.Appealed);
        Judging memory rules = _rules(fault.rules);
        _only(rules.arbiter);
        if (block.timestamp > fault.deadline) revert RulingOver(id, fault.deadline);

        // Effect, Interact
        uint96 bond = fault.bond;
        fault.bond = 0;
        if (stands) {
            // However soon the arbiter rules, tenants have the time that they would have had without an appeal.
            fault.state = FaultState.Upheld;
            fault.deadline = (uint256(fault.filedAt) + rules.appealWindow).toUint32();
            _pay(_sink(rules), bond);
        } else {
            _drop(fault, bond, rules.arbiter);
        }

        // Log
        emit Ruled(id, stands);
    }

    // -------------------------------------------------------------------------------------------------------- inside it

    /// @dev The arbiter takes it back, from the provider and from who had found it.
    function _drop(Fault storage fault, uint96 bond, address arbiter) private {
        uint32 machine = fault.machine;
        Stake memory seen = _seen(machine);
        fault.pot = 0;
        _forget(fault, _watches[machine], seen.retiredAt);
        _conclude(fault, FaultState.Dropped);
        _pay(seen.provider, bond);
        FaultKind kind = fault.kind;
        if (kind == FaultKind.FalseHardware) _committee().overturn(fault.round, arbiter);
        else if (kind == FaultKind.Attested) _committee().disown(fault.reporter, arbiter);
    }

    /// @dev Takes a fault that the arbiter took back out of the machine's window.
    function _forget(Fault storage fault, Watch storage watch, uint256 retiredAt) private {
        uint256 today = _today(retiredAt);
        uint256 window = _window(watch, today);
        if (fault.kind != FaultKind.FalseHardware) {
            (uint256 from, uint256 to) = _counted(fault);
            window = Slashing.withoutDowntime(window, today, from, to);
        }
        uint256 day = Billing.min(fault.filedAt / 1 days, today);
        watch.lanes = Slashing.withoutCharge(window, today - day, fault.bps);
        watch.day = uint16(today);
    }
}
