// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState, MachineStatus, MachineView, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {World} from "../World.sol";

/// @notice What all steps need. A step chooses arguments that would do, mostly; whether the call then goes through is the
/// contract's affair, and `done` counts the steps of which one did.
abstract contract Steps is World {
    mapping(bytes4 step => uint256) public done;
    uint256 private _mixed;
    /// @dev What a lease's backup is the digest of.
    mapping(bytes32 digest => LeaseRequest) internal _backups;

    /// @dev forge likes small and extreme arguments, and likes them again; a step wants any, and others each time.
    function _mix(uint256 seed) internal returns (uint256) {
        return uint256(keccak256(abi.encode(seed, ++_mixed)));
    }

    /// @dev Wraps every call: afterwards the ghost has read what was said, and the step counts if it went through.
    function _do(address who, bytes memory call, uint256 seed) internal returns (bool ok) {
        return _doOn(address(pool), who, call, seed);
    }

    function _doOn(address target, address who, bytes memory call, uint256 seed) internal returns (bool ok) {
        if (who == group) _fill(group, 10_000 * unit);
        vm.recordLogs();
        (ok,) = _as(who, target, call, seed);
        _absorb(ok);
        if (ok) _count(msg.sig);
    }

    function _count(bytes4 step) internal {
        done[step]++;
    }

    /// @dev Who has less in its ledger gets as much again, out of nothing.
    function _fill(address who, uint256 amount) internal {
        if (ledger[who] >= amount) return;
        token.mint(address(this), amount);
        vm.recordLogs();
        _acting = address(this);
        pool.deposit(who, amount);
        _absorb(true);
    }

    // ------------------------------------------------------------------------------------------------------- choosing

    /// @dev Three times of four a lease that has not ended, if there is one.
    function _lease(uint256 seed) internal view returns (uint256 id) {
        uint256 n = leaseIds.length;
        if (n == 0) return 1 << 16;
        for (uint256 i = 0; i < n; i++) {
            id = leaseIds[((seed >> 2) % n + i) % n];
            if (seed & 3 == 0 || _leases[id].endings == 0) return id;
        }
    }

    /// @dev Three times of four a lease that runs, rented on the spot if there is none; else any, in whatever state.
    function _running(uint256 seed) internal returns (uint256 id) {
        if (seed & 12 == 0) return _lease(seed >> 4);
        uint256 n = leaseIds.length;
        for (uint256 i = 0; i < n; i++) {
            id = leaseIds[((seed >> 4) % n + i) % n];
            if (_runs(id)) return id;
        }
        return _rent(seed >> 4, seed >> 12) ? leaseIds[leaseIds.length - 1] : _lease(seed);
    }

    function _runs(uint256 id) internal view returns (bool) {
        return _leases[id].state == LeaseState.Active && vm.getBlockTimestamp() < _leases[id].end;
    }

    /// @dev Three times of four a lease that waits for its start, opened on the spot if there is none; else any.
    function _waiting(uint256 seed) internal returns (uint256 id) {
        if (seed & 12 == 0) return _lease(seed >> 4);
        for (uint256 i = leaseIds.length; i > 0; i--) {
            if (_leases[leaseIds[i - 1]].state == LeaseState.Opened) return leaseIds[i - 1];
        }
        return _hold(seed >> 4, seed >> 12) ? leaseIds[leaseIds.length - 1] : _lease(seed);
    }

    function _hold(uint256 seed, uint256 wish) internal returns (bool) {
        _prepare(_inService(wish), 1);
        LeaseRequest memory r = _request(seed, wish);
        r.reuse = 0;
        return _do(_person(seed), abi.encodeCall(pool.open, (r)), 1);
    }

    function _rent(uint256 seed, uint256 wish) internal returns (bool) {
        if (!_hold(seed, wish)) return false;
        return _start(leaseIds[leaseIds.length - 1], 1);
    }

    function _start(uint256 id, uint256 seed) internal returns (bool) {
        return _do(_operator(_leases[id].machine), abi.encodeCall(pool.start, (id, bytes32(seed))), seed);
    }

    function _machine(uint256 seed) internal view returns (uint32) {
        return machines == 0 ? 1 : uint32(1 + seed % machines);
    }

    /// @dev A machine that has not retired, if there is one.
    function _inService(uint256 seed) internal view returns (uint32 id) {
        for (uint256 i = 0; i < machines; i++) {
            id = _machine((seed >> 1) + i);
            if (_machines[id].retiredAt == 0) return id;
        }
        return _machine(seed);
    }

    /// @dev A machine that is down, if there is one.
    function _fallen(uint256 seed) internal view returns (uint32 id) {
        for (uint256 i = 0; i < machines; i++) {
            id = _machine((seed >> 1) + i);
            if (_machines[id].downSince != 0) return id;
        }
        return _machine(seed);
    }

    function _provider(uint32 id) internal view returns (address) {
        return _machines[id].provider;
    }

    function _operator(uint32 id) internal view returns (address) {
        return _machines[id].operator;
    }

    // ------------------------------------------------------------------------------------------------------ requesting

    /// @dev Three times of four the machine's people and the owner have done what they must before anyone can rent it.
    function _prepare(uint32 id, uint256 seed) internal {
        if (seed & 3 == 0 || machines == 0) return;
        MachineView memory m = pool.machineOf(id);
        if (m.status == MachineStatus.Retired) return;
        if (pool.paused()) _help(owner, address(pool), abi.encodeCall(pool.setPaused, (false)));
        if (m.downSince != 0) _help(m.provider, address(faults), abi.encodeCall(faults.recover, (id, 0, "")));
        else if (m.stalled) _help(m.operator, address(pool), abi.encodeCall(pool.recover, (id)));
        if (m.delisted) _help(m.provider, address(pool), abi.encodeCall(pool.relist, (id)));
        if (m.params != pool.paramsVersion() || m.terms.availableUntilDay < vm.getBlockTimestamp() / 1 days + 20) {
            _help(m.provider, address(pool), abi.encodeCall(pool.setTerms, (id, _terms(seed >> 2))));
        }
        uint256 minimum = uint256(pool.params(pool.paramsVersion()).minStakePerGpu) * m.gpus;
        if (m.stake >= minimum) return;
        _fill(m.provider, minimum);
        _help(m.provider, address(pool), abi.encodeCall(pool.addStake, (id, uint96(minimum - m.stake))));
    }

    function _help(address who, address target, bytes memory call) private {
        vm.recordLogs();
        (bool ok,) = _as(who, target, call, 1);
        _absorb(ok);
    }

    function _request(uint256 seed, uint256 wish) internal returns (LeaseRequest memory r) {
        r.machine = _inService(wish);
        MachineView memory m = pool.machineOf(r.machine);
        r.revision = m.revision;
        uint8[5] memory shares = [1, 2, 4, 8, uint8(8 * (1 + wish % (m.gpus == 0 ? 1 : m.gpus)))];
        r.share = shares[(wish >> 16) % 5];
        if (wish >> 24 & 1 == 0) {
            r.placement = _placement(wish >> 32, m.gpus);
            if (wish >> 25 & 7 != 0) r.share = uint8(cellsOf(r.placement));
        }
        uint256 span = m.terms.maxDuration - m.terms.minDuration + 1;
        r.duration = uint32(m.terms.minDuration + (wish >> 40) % span);
        r.maxPrice = type(uint80).max;
        r.spot = m.terms.spotPrice != 0 && wish >> 28 & 1 == 0;
        r.allowUnverified = true;
        r.workload = bytes32(wish);
        r.settle = _over(r.machine);
        if (wish >> 48 & 1 == 0) r.reuse = _reusable(_person(seed), seed >> 8);
        if (wish >> 49 & 1 == 0) r.backup = _backup(wish >> 50, r.workload);
    }

    /// @dev A standby on any machine, as it is now.
    function _backup(uint256 seed, bytes32 workload) internal returns (bytes32 digest) {
        LeaseRequest memory b;
        b.machine = _inService(seed);
        b.revision = pool.machineOf(b.machine).revision;
        b.workload = workload;
        digest = keccak256(abi.encode(b.machine, b.revision, b.placement, b.workload));
        _backups[digest] = b;
    }

    function _placement(uint256 seed, uint8 gpus) internal pure returns (uint16) {
        uint8[8] memory cells = [0x01, 0x02, 0x40, 0x03, 0x30, 0x0F, 0xF0, 0xFF];
        uint256 gpuMask = seed % 5 == 0 || gpus == 0 ? (seed >> 8) % 256 : 1 << (seed >> 8) % gpus;
        return uint16(gpuMask << 8 | cells[(seed >> 16) % 8]);
    }

    /// @dev Up to three leases on `machine_` whose end has passed and that nobody closed.
    function _over(uint32 machine_) internal view returns (uint256[] memory ids) {
        ids = new uint256[](3);
        uint256 n;
        for (uint256 i = 0; i < leaseIds.length && n < 3; i++) {
            if (_leases[leaseIds[i]].machine == machine_ && openToAll(leaseIds[i])) ids[n++] = leaseIds[i];
        }
        _shorten(ids, n);
    }

    function _reusable(address tenant, uint256 seed) internal view returns (uint256) {
        for (uint256 i = 0; i < leaseIds.length; i++) {
            uint256 id = leaseIds[(seed + i) % leaseIds.length];
            if (_leases[id].tenant == tenant && _leases[id].endings > 0 && pool.leaseOf(id).tenant == tenant) {
                return id;
            }
        }
        return 0;
    }

    function _shorten(uint256[] memory list, uint256 length) internal pure {
        assembly ("memory-safe") {
            mstore(list, length)
        }
    }
}
