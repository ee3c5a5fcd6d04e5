// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {FaultState} from "../../../contracts/interfaces/IFaults.sol";
import {LeaseRequest, LeaseState, MachineView} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {FaultSteps} from "./FaultSteps.sol";

/// @notice Someone who keeps to the rules and plays them for his gain, under two names: he counts what he owns before and
/// after each play, in his wallets, the ledger, in escrow and in stake, and must never have won.
abstract contract RogueSteps is FaultSteps {
    uint32 private _own; // his machine

    /// @dev He opens, and lets the start window pass.
    function waitOut(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        uint256 before = _wealth();
        (bool ok, uint256 id) = _openOn(_inService(wish), rogue, wish);
        if (!ok) return;
        skip(pool.params(_leases[id].params).startWindow + 1);
        _expect(
            _do(rogue, abi.encodeCall(pool.cancelUnstarted, (id)), seed), 7, "a lease that nobody started stays open"
        );
        _expect(_wealth() <= before, 21, "waiting out a start made its author richer");
    }

    /// @dev He opens, has it started or not, uses it for a while, and gives it up.
    function openReject(uint256 seed, uint256 wish) external {
        _freeRide(seed, wish, true);
    }

    function openClose(uint256 seed, uint256 wish) external {
        _freeRide(seed, wish, false);
    }

    function _freeRide(uint256 seed, uint256 wish, bool rejects) private {
        seed = _mix(seed);
        wish = _mix(wish);
        uint32 on = _inService(wish);
        if (_provider(on) == rogue) return;
        uint256 before = _wealth();
        (bool ok, uint256 id) = _openOn(on, rogue, wish);
        if (!ok) return;
        bool started = seed >> 20 & 3 != 0 && _start(id, 1);
        skip(1 + (seed >> 24) % 10 minutes);
        uint256 due = _giveUp(id, started, rejects);
        _expect(_wealth() + due <= before, 21, "a ride for less than its price");
    }

    /// @return due what it must have cost him
    function _giveUp(uint256 id, bool started, bool rejects) private returns (uint256 due) {
        Lease storage l = _leases[id];
        due = gross(id, _min(vm.getBlockTimestamp(), began(id) + l.duration));
        uint256 part = due * pool.params(l.params).holdFeeBps / 10_000;
        if (rejects && _do(rogue, abi.encodeCall(pool.reject, (id)), 1)) return part;
        // Too late to reject: he pays like everybody, and before the start no more than to hold it.
        if (!_do(rogue, abi.encodeCall(pool.close, (id)), 1)) return 0;
        if (l.state == LeaseState.Cancelled) return 0;
        return started ? due : part;
    }

    /// @dev He ends what others have left open, as anyone may.
    function endOthers(uint256 seed) external {
        seed = _mix(seed);
        uint256 before = _wealth();
        uint256 n;
        for (uint256 i = 0; i < leaseIds.length && n < 3; i++) {
            uint256 id = leaseIds[(seed + i) % leaseIds.length];
            Lease storage l = _leases[id];
            if (l.endings != 0 || l.tenant == rogue || l.tenant == accomplice || l.machine == _own) continue;
            bytes memory call = l.state == LeaseState.Opened
                ? abi.encodeCall(pool.cancelUnstarted, (id))
                : abi.encodeCall(pool.close, (id));
            _do(rogue, call, 1);
            n++;
        }
        _expect(_wealth() <= before, 21, "ending others' leases made its author richer");
    }

    /// @dev His machine is about to be slashed; he leases the rest of it to himself, at whatever price he likes.
    function leaseToOneself(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        if (!_tendOwn(wish)) return;
        uint256 before = _wealth();
        (bool ok, uint256 id) = _openOn(_own, accomplice, wish);
        if (!ok || !_doOn(address(pool), rogue, abi.encodeCall(pool.start, (id, bytes32(0))), 1)) return;
        skip(1 + seed % 1 hours);
        if (!_report(_own, 1)) return;
        skip(1 + (seed >> 16) % 3 hours);
        _pay(id, before, false);
    }

    /// @dev He challenges his own machine and does not answer, to have the reporters' and the tenants' part himself.
    function challengeOneself(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        if (!_tendOwn(wish)) return;
        _fill(accomplice, 1000 * unit);
        uint256 before = _wealth();
        (bool ok, uint256 id) = _openOn(_own, accomplice, wish);
        if (!ok || !_doOn(address(pool), rogue, abi.encodeCall(pool.start, (id, bytes32(0))), 1)) return;
        skip(1 + seed % 100);
        if (!_runs(id) || !_challenge(id, 1)) return;
        if (seed >> 16 & 3 == 0) {
            // Or he answers, to have had a sign of life for nothing.
            _doOn(address(faults), rogue, abi.encodeCall(faults.answer, (_own, 0, "")), 1);
            _doOn(address(pool), accomplice, abi.encodeCall(pool.close, (id)), 1);
            _expect(_wealth() <= before, 21, "challenging himself made its author richer");
            return;
        }
        skip(pool.params(_machines[_own].params).challengeWindow + 1);
        if (!_doOn(address(faults), accomplice, abi.encodeCall(faults.prove, (_own)), 1)) return;
        skip(1 + (seed >> 24) % 3 hours);
        _pay(id, before, true);
    }

    /// @dev The outage that runs on his machine ends, is applied, executed and compensated; what he has lost is counted.
    function _pay(uint256 id, uint256 before, bool reported) private {
        uint256 fault_ = faults.runningFault(_own);
        if (!_doOn(address(faults), rogue, abi.encodeCall(faults.recover, (_own, 0, "")), 1)) return;
        uint256[] memory one = new uint256[](1);
        one[0] = id;
        _doOn(address(faults), rogue, abi.encodeCall(faults.applyOutage, (fault_, one)), 1);
        if (_leases[id].endings == 0) _doOn(address(pool), accomplice, abi.encodeCall(pool.close, (id)), 1);
        skip(4 days + 1);
        uint256 slash = _faults[fault_].amount;
        _execute(fault_, 1);
        if (_faults[fault_].state != FaultState.Executed) return;
        _doOn(address(faults), rogue, abi.encodeCall(faults.compensate, (fault_, one)), 1);
        uint256 lost = reported ? slash / 2 - slash / 10 : slash / 2;
        _expect(_wealth() + lost <= before, 21, "leasing to himself saved his stake");
    }

    // ---------------------------------------------------------------------------------------------------------- parts

    /// @dev His machine, with a stake, in service, and at a price of his own.
    function _tendOwn(uint256 seed) private returns (bool) {
        if (pool.paused()) {
            vm.recordLogs();
            (bool unpaused,) = _as(owner, address(pool), abi.encodeCall(pool.setPaused, (false)), 1);
            _absorb(unpaused);
        }
        if (_own == 0 || _machines[_own].retiredAt != 0) {
            bytes memory call = abi.encodeCall(
                pool.register, (_terms(seed), 1, 1, bytes32(0), bytes32(0), rogue, _consent(rogue, rogue, seed))
            );
            if (!_doOn(address(pool), rogue, call, 1)) return false;
            _own = machines;
        }
        if (_machines[_own].operator != rogue) {
            _doOn(
                address(pool), rogue, abi.encodeCall(pool.setOperator, (_own, rogue, _consent(rogue, rogue, seed))), 1
            );
        }
        if (_machines[_own].withheld != 0) _doOn(address(pool), rogue, abi.encodeCall(pool.withhold, (_own, 0)), 1);
        _prepare(_own, 1);
        return true;
    }

    function _openOn(uint32 on, address tenant, uint256 wish) private returns (bool ok, uint256 id) {
        MachineView memory m = pool.machineOf(on);
        LeaseRequest memory r;
        (r.machine, r.revision, r.share, r.maxPrice) = (on, m.revision, 1, type(uint80).max);
        r.duration = uint32(_min(m.terms.maxDuration, m.terms.minDuration + wish % 1 days));
        r.allowUnverified = true;
        ok = _doOn(address(pool), tenant, abi.encodeCall(pool.open, (r)), 1);
        if (ok) id = leaseIds[leaseIds.length - 1];
    }

    /// @dev All that is his, under both names. What the pool owes him for leases of others counts when it is paid.
    function _wealth() private view returns (uint256 sum) {
        sum = _purse(rogue) + _purse(accomplice);
        for (uint32 m = 1; m <= machines; m++) {
            if (_machines[m].provider == rogue) sum += _machines[m].stake;
        }
        for (uint256 i = 0; i < leaseIds.length; i++) {
            Lease storage l = _leases[leaseIds[i]];
            if (l.endings == 0 && (l.tenant == rogue || l.tenant == accomplice)) sum += l.deposit - l.settled;
        }
        if (_own != 0 && faults.challengeOf(_own).challenger == accomplice) sum += faults.challengeOf(_own).bond;
    }

    function _purse(address who) private view returns (uint256) {
        return token.balanceOf(who) + pool.balanceOf(who);
    }
}
