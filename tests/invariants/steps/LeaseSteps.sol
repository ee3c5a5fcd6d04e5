// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest, LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Leases, as tenants, operators and providers use them every day.
abstract contract LeaseSteps is Steps {
    function open(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        _prepare(_inService(wish), wish >> 56);
        _do(_person(seed), abi.encodeCall(pool.open, (_request(seed, wish))), seed >> 8);
    }

    function start(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _waiting(seed);
        address operator = _machines[_leases[id].machine].operator;
        _do(operator, abi.encodeCall(pool.start, (id, bytes32(seed))), seed >> 8);
    }

    /// @dev The common course of things, so that steps further on find leases that run.
    function openAndStart(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        _prepare(_inService(wish), wish >> 56);
        if (!_do(_person(seed), abi.encodeCall(pool.open, (_request(seed, wish))), seed >> 8)) return;
        skip(seed % 60);
        uint256 id = leaseIds[leaseIds.length - 1];
        address operator = _machines[_leases[id].machine].operator;
        _do(operator, abi.encodeCall(pool.start, (id, bytes32(seed))), seed >> 8);
    }

    /// @dev Two to four opens at once, which happen whole or not at all.
    function gang(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        _prepare(_inService(wish), wish >> 56);
        bytes[] memory calls = new bytes[](2 + seed % 3);
        for (uint256 i = 0; i < calls.length; i++) {
            LeaseRequest memory r = _request((seed >> 8) + i * 7, (wish >> 8) + i);
            (r.settle, r.reuse) = (new uint256[](0), 0);
            calls[i] = abi.encodeCall(pool.open, (r));
        }
        vm.recordLogs();
        (bool ok,) = _as(_person(seed), address(pool), abi.encodeCall(pool.multicall, (calls)), seed >> 8);
        _expect(_absorb(ok) == (ok ? calls.length : 0), 12, "a gang opened in part");
        if (ok) _count(msg.sig);
    }

    /// @dev Moving by one's own wish.
    function move(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        uint256 id = _lease(seed);
        bytes[] memory calls = new bytes[](2);
        calls[0] = abi.encodeCall(pool.close, (id));
        calls[1] = abi.encodeCall(pool.open, (_request(seed, wish)));
        _do(_leases[id].tenant, abi.encodeCall(pool.multicall, (calls)), seed >> 8);
    }

    function decline(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _waiting(seed);
        address operator = _machines[_leases[id].machine].operator;
        _do(operator, abi.encodeCall(pool.decline, (id, "image-unknown")), seed >> 8);
    }

    function cancelUnstarted(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _waiting(seed);
        if (seed >> 248 & 1 == 0) skip(pool.params(pool.paramsVersion()).startWindow + 1);
        _do(_person(seed >> 8), abi.encodeCall(pool.cancelUnstarted, (id)), seed >> 16);
    }

    function reject(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = seed & 16 == 0 ? _waiting(seed) : _running(seed);
        _do(_leases[id].tenant, abi.encodeCall(pool.reject, (id)), seed >> 8);
    }

    function extend(uint256 seed, uint256 duration) external {
        seed = _mix(seed);
        duration = _mix(duration);
        uint256 id = _running(seed);
        address payer = seed & 0x300 == 0 ? _person(seed >> 16) : _leases[id].tenant;
        _do(payer, abi.encodeCall(pool.extend, (id, uint32(1 + duration % 2 days))), seed >> 8);
    }

    function setWorkload(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _running(seed);
        _do(_leases[id].tenant, abi.encodeCall(pool.setWorkload, (id, bytes32(seed))), seed >> 8);
    }

    function close(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _running(seed);
        _do(_leases[id].tenant, abi.encodeCall(pool.close, (id)), seed >> 8);
    }

    /// @dev Past its end, a lease is closed by whoever passes by.
    function sweep(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _lease(seed);
        _do(_person(seed >> 8), abi.encodeCall(pool.close, (id)), seed >> 16);
    }

    function terminate(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _running(seed);
        uint32 on = _leases[id].machine;
        address who = _leases[id].spot && seed >> 16 & 1 == 0 ? _operator(on) : _provider(on);
        _do(who, abi.encodeCall(pool.terminate, (id)), seed >> 8);
    }

    /// @dev Half of the time after waiting until there is something to claim.
    function claim(uint256 seed) external {
        seed = _mix(seed);
        uint256[] memory ids = new uint256[](1 + seed % 3);
        for (uint256 i = 0; i < ids.length; i++) {
            ids[i] = i == 0 ? _running(seed) : _lease(seed >> 8 * i); // perhaps one of them twice
        }
        if (seed >> 255 == 0) skip(pool.params(pool.paramsVersion()).claimLag + 1);
        _do(_person(seed >> 32), abi.encodeCall(pool.claim, (ids)), seed >> 40);
    }

    /// @dev What is settled must survive an extension.
    function claimAndExtend(uint256 seed, uint256 duration) external {
        seed = _mix(seed);
        duration = _mix(duration);
        uint256 id = _running(seed);
        _claimLate(id, seed);
        duration = 1 + duration % 10 minutes;
        _do(_leases[id].tenant, abi.encodeCall(pool.extend, (id, uint32(duration))), seed >> 8);
    }

    /// @dev What was settled must not survive into the slot's next lease.
    function renew(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        uint256 id = _running(seed);
        address tenant = _leases[id].tenant;
        _claimLate(id, seed);
        _do(tenant, abi.encodeCall(pool.close, (id)), seed >> 8);
        _prepare(_inService(wish), wish >> 56);
        LeaseRequest memory r = _request(seed, wish);
        r.reuse = id;
        if (!_do(tenant, abi.encodeCall(pool.open, (r)), 1)) return;
        _do(_machines[r.machine].operator, abi.encodeCall(pool.start, (id + 1, bytes32(seed))), seed >> 8);
    }

    function _claimLate(uint256 id, uint256 seed) private {
        uint256[] memory ids = new uint256[](1);
        ids[0] = id;
        skip(pool.params(pool.paramsVersion()).claimLag + 1 + seed % 1 hours);
        _do(_person(seed >> 32), abi.encodeCall(pool.claim, (ids)), seed >> 40);
    }

    function publishResult(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _running(seed);
        address operator = _machines[_leases[id].machine].operator;
        _do(operator, abi.encodeCall(pool.publishResult, (id, hex"01551220")), seed >> 8);
    }
}
