// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IPoolEvents} from "../../../contracts/interfaces/IPoolEvents.sol";
import {Params, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {Cheats, vm} from "../Cheats.sol";
import {Book} from "./Book.sol";

/// @notice The ledger, the rules, and machines with their stake.
abstract contract PoolEvents is Book {
    function _absorbLedger(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        if (kind == IPoolEvents.Deposited.selector) {
            (uint256 amount, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            _credit(_account(log, 1), amount);
            _expect(ledger[_account(log, 1)] == balance, 1, "Deposited tells another balance");
        } else if (kind == IPoolEvents.Withdrawn.selector) {
            (uint256 amount, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            _debit(_account(log, 1), amount);
            _expect(ledger[_account(log, 1)] == balance, 1, "Withdrawn tells another balance");
        } else if (kind == IPoolEvents.Transferred.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            _debit(_account(log, 1), amount);
            _credit(_account(log, 2), amount);
            bool judged = _account(log, 1) == address(committee) || _account(log, 1) == address(faults);
            _expect(!judged || !_rules(_account(log, 2)), 24, "whoever rules gains by a fine, a bond or a part");
        } else if (kind == IPoolEvents.Charged.selector) {
            (uint256 amount, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            _expect(_account(log, 1) == _acting, 1, "a companion charged another than its caller");
            _debit(_account(log, 1), amount);
            _credit(_account(log, 2), amount);
            _expect(ledger[_account(log, 1)] == balance, 1, "Charged tells another balance");
        } else if (kind == IPoolEvents.FeesPulled.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            address provider = _account(log, 1);
            _expect(feesDue[provider] == amount, 1, "FeesPulled moves other than what was due");
            unchecked {
                feesDue[provider] -= amount;
                totalFeesDue -= amount;
            }
            _credit(_account(log, 2), amount);
        }
    }

    /// @dev Its owner, its treasury, and the arbiters of the rules in these tests.
    function _rules(address who) private view returns (bool) {
        bool judges = who == ARBITER || who == OWNERS_ARBITER;
        return judges || who == pool.owner() || who == pool.treasury();
    }

    function _absorbRules(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        if (kind == IPoolEvents.ParamsProposed.selector) {
            (uint40 inForceAt, Params memory p) = abi.decode(log.data, (uint40, Params));
            uint16 version = uint16(uint256(log.topics[1]));
            _expect(
                inForceAt >= vm.getBlockTimestamp() + 2 days, 19, "parameters proposed with less than two days' delay"
            );
            _expect(
                paramsHash[version] == 0 || vm.getBlockTimestamp() < paramsInForceAt[version],
                19,
                "a version in force was proposed again"
            );
            paramsHash[version] = keccak256(abi.encode(p));
            paramsInForceAt[version] = inForceAt;
            versions = version;
        } else if (kind == IPoolEvents.ParamsCancelled.selector) {
            uint16 version = uint16(uint256(log.topics[1]));
            _expect(vm.getBlockTimestamp() < paramsInForceAt[version], 19, "parameters in force were cancelled");
            delete paramsHash[version];
            delete paramsInForceAt[version];
            versions = version - 1;
        }
    }

    function _absorbMachine(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        uint32 id = log.topics.length > 1 ? uint32(uint256(log.topics[1])) : 0;
        Machine storage m = _machines[id];
        if (kind == IPoolEvents.MachineRegistered.selector) {
            (uint8 gpus, uint8 smallest, uint96 stake, uint256 pulled) =
                abi.decode(log.data, (uint8, uint8, uint96, uint256));
            (m.provider, m.operator, m.gpus, m.smallest) = (_account(log, 2), _account(log, 3), gpus, smallest);
            m.stake = stake;
            _consented(m);
            machines++;
            totalStake += stake;
            _debit(m.provider, stake - pulled);
        } else if (kind == IPoolEvents.TermsSet.selector) {
            (, m.params,) = abi.decode(log.data, (uint16, uint16, Terms));
        } else if (kind == IPoolEvents.OperatorSet.selector) {
            m.operator = _account(log, 2);
            _consented(m);
        } else if (kind == IPoolEvents.Withheld.selector) {
            m.withheld = abi.decode(log.data, (uint64));
        } else if (kind == IPoolEvents.MachineWentDown.selector) {
            m.downSince = abi.decode(log.data, (uint32));
        } else if (kind == IPoolEvents.MachineCameUp.selector) {
            m.downSince = 0;
        } else if (kind == IPoolEvents.MachineHeld.selector) {
            (m.heldFrom, m.heldTo, m.heldUntil) = abi.decode(log.data, (uint32, uint32, uint32));
        } else if (kind == IPoolEvents.MachineRetired.selector) {
            m.retiredAt = abi.decode(log.data, (uint32));
        } else {
            _absorbStake(log, id, m);
        }
    }

    function _absorbStake(Cheats.Log memory log, uint32 id, Machine storage m) private {
        bytes32 kind = log.topics[0];
        if (kind == IPoolEvents.StakeAdded.selector) {
            (uint256 amount, uint256 pulled, uint96 stake) = abi.decode(log.data, (uint256, uint256, uint96));
            m.stake += uint96(amount);
            totalStake += amount;
            _debit(_account(log, 2), amount - pulled);
            _expect(m.stake == stake, 1, "StakeAdded tells another stake");
        } else if (kind == IPoolEvents.StakeMoved.selector) {
            (uint256 amount, uint96 stake) = abi.decode(log.data, (uint256, uint96));
            unchecked {
                m.stake -= uint96(amount);
                totalStake -= amount;
                _stakeMoved += amount;
            }
            _credit(_account(log, 2), amount);
            _expect(!_rules(_account(log, 2)), 24, "whoever rules gains by a slash");
            _expect(m.stake == stake, 9, "StakeMoved tells another stake");
        } else if (kind == IPoolEvents.Unstaked.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            _expect(_account(log, 2) == m.provider, 8, "stake went to another than its provider");
            _expect(amount == m.stake, 8, "Unstaked tells another stake");
            _mayUnstake(id, m);
            totalStake -= m.stake;
            m.stake = 0;
            _credit(_account(log, 2), amount);
        }
    }

    /// @dev What a machine's terms accepted says how long its stake waits.
    function _mayUnstake(uint32 id, Machine storage m) private {
        _expect(m.retiredAt != 0, 8, "stake of a machine in service was withdrawn");
        uint256 delay = pool.params(pool.machineOf(id).params).unstakeDelay;
        _expect(m.params == pool.machineOf(id).params, 8, "a machine's terms accept other rules than TermsSet said");
        _expect(vm.getBlockTimestamp() >= m.retiredAt + delay, 8, "stake was withdrawn inside its delay");
        _expect(m.unsettled == 0, 8, "stake was withdrawn while a fault was pending");
    }

    /// @dev What the operator has signed is known to whoever had it sign (`consents`).
    function _consented(Machine storage m) private {
        bool good = vm.getBlockTimestamp() <= consents[m.provider][m.operator];
        _expect(good, 10, "a key operates a machine of a provider to whom it has not consented");
    }
}
