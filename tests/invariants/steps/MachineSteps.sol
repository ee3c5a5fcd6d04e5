// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Machines, and the stake of machines.
abstract contract MachineSteps is Steps {
    function register(uint256 seed, uint256 gpus, uint256 terms) external {
        seed = _mix(seed);
        gpus = _mix(gpus);
        terms = _mix(terms);
        (address provider, address operator) = (_person(seed), _person(seed >> 16));
        Consent memory consent = _consent(provider, operator, seed >> 24);
        bytes memory call = abi.encodeCall(
            pool.register,
            (
                _terms(terms),
                uint8(1 + gpus % 8),
                uint8(gpus >> 8 & 3 != 0 ? 1 : 1 << (gpus >> 16) % 4), // mostly all shares, so that few are refused
                bytes32(seed),
                bytes32(terms),
                operator,
                consent
            )
        );
        _do(provider, call, seed >> 8);
    }

    /// @dev A thief sees a consent on its way and sends it as his own; and its provider once more, after its deadline.
    function takeConsent(uint256 seed) external {
        seed = _mix(seed);
        (address provider, address operator) = (_person(seed), _person(seed >> 8));
        Consent memory consent = _consent(provider, operator, seed >> 16);
        bytes memory call =
            abi.encodeCall(pool.register, (_terms(seed), 1, 1, bytes32(0), bytes32(0), operator, consent));
        vm.prank(thief);
        (bool ok,) = address(pool).call(call);
        _expect(!ok, 10, "a consent served another provider");
        skip(61);
        vm.prank(provider);
        (ok,) = address(pool).call(call);
        _expect(!ok, 10, "a consent worked after its deadline");
        _count(msg.sig);
    }

    function setTerms(uint256 seed, uint256 terms) external {
        seed = _mix(seed);
        terms = _mix(terms);
        uint32 id = _machine(seed);
        _do(_machines[id].provider, abi.encodeCall(pool.setTerms, (id, _terms(terms))), seed >> 8);
    }

    function configure(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        address provider = _machines[id].provider;
        uint256 kind = (seed >> 16) % 5;
        if (kind == 0) _do(provider, abi.encodeCall(pool.setHardware, (id, bytes32(seed))), seed >> 8);
        if (kind == 1) _do(provider, abi.encodeCall(pool.setContact, (id, bytes32(seed))), seed >> 8);
        if (kind == 2) _rotate(id, provider, _person(seed >> 24), seed >> 8);
        if (kind == 3) _do(provider, abi.encodeCall(pool.delist, (id)), seed >> 8);
        if (kind >= 3) _do(provider, abi.encodeCall(pool.relist, (id)), seed >> 8);
    }

    function _rotate(uint32 id, address provider, address operator, uint256 seed) private {
        Consent memory consent = _consent(provider, operator, seed >> 32);
        _do(provider, abi.encodeCall(pool.setOperator, (id, operator, consent)), seed);
    }

    function withhold(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        uint32 id = _machine(seed);
        uint64 cells = uint64(wish) & uint64(type(uint64).max >> (64 - 8 * uint256(_machines[id].gpus)));
        // Mostly few, so that machines do not silt up.
        if (seed >> 16 & 3 != 0) cells &= uint64(wish >> 64) & uint64(wish >> 128) & uint64(wish >> 192);
        _do(_machines[id].operator, abi.encodeCall(pool.withhold, (id, cells)), seed >> 8);
    }

    function addStake(uint256 seed, uint256 amount) external {
        seed = _mix(seed);
        amount = _mix(amount);
        amount = 1 + amount % (100 * unit);
        _do(_person(seed >> 8), abi.encodeCall(pool.addStake, (_machine(seed), uint96(amount))), seed >> 16);
    }

    function retire(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        if (seed >> 16 & 3 != 0) return; // rarely, or nothing is left to rent
        _do(_machines[id].provider, abi.encodeCall(pool.retire, (id)), seed >> 8);
    }

    /// @dev Of a machine that has retired, if there is one, half of the time when its delay is over.
    function unstake(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        for (uint256 i = 0; i < machines; i++) {
            uint32 tried = _machine((seed >> 1) + i);
            if (_machines[tried].retiredAt == 0 || _machines[tried].stake == 0) continue;
            id = tried;
            if (seed >> 16 & 1 == 0) skip(pool.params(_machines[id].params).unstakeDelay);
            break;
        }
        _do(_machines[id].provider, abi.encodeCall(pool.unstake, (id)), seed >> 8);
    }
}
