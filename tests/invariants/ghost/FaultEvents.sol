// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {FaultKind, FaultState, IFaults} from "../../../contracts/interfaces/IFaults.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {Cheats, vm} from "../Cheats.sol";
import {Book} from "./Book.sol";

/// @notice Outages and what they cost.
abstract contract FaultEvents is Book {
    function _absorbFault(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        uint256 id = log.topics.length > 1 ? uint256(log.topics[1]) : 0;
        Fault storage f = _faults[id];
        if (kind == IFaults.OutageOpened.selector) {
            bytes32 reporter;
            (f.kind, f.from, f.rules, reporter) = abi.decode(log.data, (FaultKind, uint32, uint16, bytes32));
            if (f.kind == FaultKind.Attested) _signed(f, reporter);
            f.machine = uint32(uint256(log.topics[2]));
            f.state = FaultState.Running;
            faultCount++;
            _faultsOf[f.machine].push(id);
            _machines[f.machine].unsettled++;
        } else if (kind == IFaults.OutageAttested.selector) {
            bytes32 reporter;
            (f.from, reporter) = abi.decode(log.data, (uint32, bytes32));
            f.kind = FaultKind.Attested;
            _signed(f, reporter);
        } else if (kind == IFaults.FaultFiled.selector) {
            _filed(log, id, f);
        } else if (kind == IFaults.OutageApplied.selector) {
            _outageApplied(log, id, f);
        } else if (kind == IFaults.Appealed.selector) {
            _expect(f.state == FaultState.Filed && _acting == _machines[f.machine].provider, 9, "a stray appeal");
            (f.state, f.deadline) = (FaultState.Appealed, abi.decode(log.data, (uint32)));
        } else if (kind == IFaults.Ruled.selector) {
            bool stands = abi.decode(log.data, (bool));
            f.state = stands ? FaultState.Upheld : FaultState.Dropped;
            if (stands) {
                f.deadline = f.filedAt + pool.params(f.rules).appealWindow;
            } else {
                f.pot = 0; // what was registered of a slash that is none
                _settled(f);
            }
        } else if (kind == IFaults.FaultExecuted.selector) {
            _executed(log, f);
        } else if (kind == IFaults.Compensated.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            _expect(amount <= f.pot, 9, "tenants are credited with more than their part of a slash");
            unchecked {
                f.pot -= uint96(amount);
            }
        }
    }

    /// @dev None of those who attest an outage has cost less than the rules ask by which it is judged.
    function _signed(Fault storage f, bytes32 quorum) private {
        uint96 least = pool.params(f.rules).seatStake;
        Quorum storage q = _quorums[quorum];
        _expect(q.signers.length != 0, 18, "an outage was attested by nobody");
        for (uint256 i = 0; i < q.signers.length; i++) {
            _expect(_seats[q.signers[i].seat].level >= least, 18, "a seat judges what costs more than it");
        }
    }

    function _settled(Fault storage f) private {
        Machine storage m = _machines[f.machine];
        unchecked {
            m.unsettled--;
            m.reserved -= f.amount;
        }
    }

    function _filed(Cheats.Log memory log, uint256 id, Fault storage f) private {
        (, f.from, f.to, f.bps, f.amount) = abi.decode(log.data, (FaultKind, uint32, uint32, uint16, uint96));
        Machine storage m = _machines[f.machine];
        uint256 most = pool.params(f.rules).maxSlashBps;
        f.filedAt = uint32(vm.getBlockTimestamp());
        f.deadline = f.filedAt + pool.params(f.rules).appealWindow;
        _expect(f.bps == 0 || _charged(f.machine, id) + f.bps <= most, 9, "a machine is charged above the weekly limit");
        _expect(f.amount <= m.stake - m.reserved, 9, "a slash above what is left of the stake");
        // Of the stake as it was before the week's first charge, into however many faults the week is cut.
        uint256 part = f.bps == 0 ? 0 : uint256(m.stake - m.reserved) * f.bps / (10_000 - _charged(f.machine, id));
        _expect(f.amount == part, 9, "a slash is not what its basis points come to");
        if (f.kind != FaultKind.FalseHardware) _disjoint(id, f);
        m.reserved += f.amount;
        f.state = FaultState.Filed;
        if (f.amount != 0 || f.kind > FaultKind.Challenged) return;
        f.state = FaultState.Executed;
        _settled(f);
    }

    /// @dev What faults that were not taken back have charged today and on the seven days before, or the last ones in service.
    function _charged(uint32 id, uint256 but) private view returns (uint256 bps) {
        Machine storage m = _machines[id];
        uint256 today = (m.retiredAt == 0 ? vm.getBlockTimestamp() : m.retiredAt) / 1 days;
        for (uint256 i = 0; i < _faultsOf[id].length; i++) {
            Fault storage other = _faults[_faultsOf[id][i]];
            bool takenBack = other.state == FaultState.Dropped;
            if (_faultsOf[id][i] != but && !takenBack && other.filedAt / 1 days + 7 >= today) bps += other.bps;
        }
    }

    function _disjoint(uint256 id, Fault storage f) private {
        for (uint256 i = 0; i < _faultsOf[f.machine].length; i++) {
            uint256 other = _faultsOf[f.machine][i];
            Fault storage g = _faults[other];
            if (other == id || g.kind == FaultKind.FalseHardware) continue;
            uint256 to = g.state == FaultState.Running ? type(uint256).max : g.to;
            _expect(_overlap(f.from, f.to, g.from, to) == 0, 13, "two outages of a machine overlap");
        }
    }

    function _outageApplied(Cheats.Log memory log, uint256 id, Fault storage f) private {
        uint256 leased = uint256(log.topics[2]);
        Lease storage l = _leases[leased];
        _expect(!_applied[id][leased], 13, "an outage was taken off a bill twice");
        _expect(_account(log, 3) == l.tenant && l.machine == f.machine, 13, "an outage was applied to a stranger");
        _applied[id][leased] = true;
        f.leases.push(leased);
        uint256 time = _overlap(f.from, f.to, began(leased), l.end);
        uint256 all = 8 * uint256(_machines[f.machine].gpus) * (f.to - f.from);
        uint256 part = f.state >= FaultState.Executed ? 0 : uint256(f.amount / 2) * cellsOf(l.placement) * time / all;
        _expect(abi.decode(log.data, (uint96)) == part, 9, "a tenant's part is not what he lost of the machine");
        f.pot += uint96(part);
        if (l.state != LeaseState.Active || f.kind == FaultKind.FalseHardware) return;
        l.paused += uint32(_overlap(f.from, f.to, began(leased), _min(l.end, vm.getBlockTimestamp())));
        _expect(l.paused == l.pausedTold, 13, "another time is paused than what the outage took");
    }

    function _executed(Cheats.Log memory log, Fault storage f) private {
        (uint96 amount, uint96 pot, uint96 reported, uint96 rest,) =
            abi.decode(log.data, (uint96, uint96, uint96, uint96, address));
        bool due = f.state >= FaultState.Filed && f.state <= FaultState.Upheld && vm.getBlockTimestamp() > f.deadline;
        _expect(due, 8, "stake went to others before its fault could be appealed and ruled on");
        _expect(amount == f.amount, 9, "another sum is slashed than was filed");
        _expect(uint256(pot) + reported + rest == amount, 9, "a slash's shares do not sum to it");
        _expect(_stakeMoved == amount, 9, "another stake moves than is slashed");
        _expect(pot <= amount / 2 && reported <= amount / 10, 9, "a share of a slash above its limit");
        _stakeMoved = 0;
        _expect(pot == f.pot, 9, "tenants have another sum coming than they registered");
        _settled(f);
        f.state = FaultState.Executed;
    }
}
