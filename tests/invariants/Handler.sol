// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {
    LeaseRequest,
    LeaseState,
    MachineStatus,
    MachineView,
    Params
} from "../../contracts/interfaces/IControllerTypes.sol";
import {QuietToken, SizedToken} from "../../contracts/test/OddTokens.sol";
import {skip, vm} from "./Cheats.sol";
import {World} from "./World.sol";

/// @notice What the people of the pool do, at random. A step chooses arguments that would do, mostly; whether the call
/// then goes through is the contract's affair, and `done` counts those that did.
contract Handler is World {
    mapping(bytes4 step => uint256) public done;
    bytes4[] public steps;
    uint256 private _mixed;

    constructor(IController pool_, IAccounts accounts_, SizedToken token_, address owner_, address treasury_) {
        (pool, accounts, token, owner, treasury) = (pool_, accounts_, token_, owner_, treasury_);
        unit = 10 ** token_.decimals();
        versions = 1;
        paramsHash[1] = keccak256(abi.encode(pool_.params(1)));
        _populate();
    }

    /// @dev forge likes small and extreme arguments, and likes them again; a step wants any, and others each time.
    function _mix(uint256 seed) private returns (uint256) {
        return uint256(keccak256(abi.encode(seed, ++_mixed)));
    }

    /// @dev Wraps every step: afterwards the ghost has read what the pool said, and the step is counted if it went through.
    function _do(address who, bytes memory call, uint256 seed) private returns (bool ok) {
        vm.recordLogs();
        (ok,) = _as(who, call, seed);
        _absorb(ok);
        if (ok) _count(msg.sig);
    }

    function _count(bytes4 step) private {
        if (done[step]++ == 0) steps.push(step);
    }

    /// @dev Three times of four a lease that has not ended, if there is one.
    function _lease(uint256 seed) private view returns (uint256 id) {
        uint256 n = leaseIds.length;
        if (n == 0) return 1 << 16;
        for (uint256 i = 0; i < n; i++) {
            id = leaseIds[((seed >> 2) % n + i) % n];
            if (seed & 3 == 0 || _leases[id].endings == 0) return id;
        }
    }

    /// @dev Three times of four a lease that runs, rented on the spot if there is none; else any, in whatever state.
    function _running(uint256 seed) private returns (uint256 id) {
        if (seed & 12 == 0) return _lease(seed >> 4);
        uint256 n = leaseIds.length;
        for (uint256 i = 0; i < n; i++) {
            id = leaseIds[((seed >> 4) % n + i) % n];
            if (_leases[id].state == LeaseState.Active && vm.getBlockTimestamp() < _leases[id].end) return id;
        }
        return _rent(seed >> 4, seed >> 12) ? leaseIds[leaseIds.length - 1] : _lease(seed);
    }

    /// @dev Three times of four a lease that waits for its start, opened on the spot if there is none; else any.
    function _waiting(uint256 seed) private returns (uint256 id) {
        if (seed & 12 == 0) return _lease(seed >> 4);
        for (uint256 i = leaseIds.length; i > 0; i--) {
            if (_leases[leaseIds[i - 1]].state == LeaseState.Opened) return leaseIds[i - 1];
        }
        return _hold(seed >> 4, seed >> 12) ? leaseIds[leaseIds.length - 1] : _lease(seed);
    }

    function _hold(uint256 seed, uint256 wish) private returns (bool) {
        _prepare(_inService(wish), 1);
        LeaseRequest memory r = _request(seed, wish);
        r.reuse = 0;
        return _do(_person(seed), abi.encodeCall(pool.open, (r)), 1);
    }

    function _rent(uint256 seed, uint256 wish) private returns (bool) {
        if (!_hold(seed, wish)) return false;
        uint256 id = leaseIds[leaseIds.length - 1];
        return _do(_machines[_leases[id].machine].operator, abi.encodeCall(pool.start, (id, bytes32(seed))), 1);
    }

    function _machine(uint256 seed) private view returns (uint32) {
        return machines == 0 ? 1 : uint32(1 + seed % machines);
    }

    /// @dev A machine that has not retired, if there is one.
    function _inService(uint256 seed) private view returns (uint32 id) {
        for (uint256 i = 0; i < machines; i++) {
            id = _machine((seed >> 1) + i);
            if (_machines[id].retiredAt == 0) return id;
        }
        return _machine(seed);
    }

    // ------------------------------------------------------------------------------------------------------- time

    function pass(uint256 seed) external {
        seed = _mix(seed);
        uint256 kind = seed % 32;
        if (kind < 12) skip(1 + (seed >> 8) % 5 minutes);
        else if (kind < 28) skip(1 + (seed >> 8) % 2 hours);
        else if (kind < 31) skip(1 + (seed >> 8) % 2 days);
        else skip(1 + (seed >> 8) % 30 days);
        _count(msg.sig);
    }

    // ------------------------------------------------------------------------------------------------------ ledger

    /// @dev Always directly: `Accounts` has no tokens to deposit.
    function deposit(uint256 seed, uint256 to, uint256 amount) external {
        seed = _mix(seed);
        to = _mix(to);
        amount = _mix(amount);
        amount = 1 + amount % (100_000 * unit);
        _do(_person(seed), abi.encodeCall(pool.deposit, (_person(to), amount)), 1);
    }

    function transfer(uint256 seed, uint256 to, uint256 amount) external {
        seed = _mix(seed);
        to = _mix(to);
        amount = _mix(amount);
        address who = _person(seed);
        amount = 1 + amount % (ledger[who] + 1);
        _do(who, abi.encodeCall(pool.transfer, (_person(to), amount)), seed >> 8);
    }

    function withdraw(uint256 seed, uint256 to, uint256 amount) external {
        seed = _mix(seed);
        to = _mix(to);
        amount = _mix(amount);
        address who = _person(seed);
        amount = 1 + amount % (ledger[who] + 1);
        _do(who, abi.encodeCall(pool.withdraw, (_person(to), amount)), seed >> 8);
    }

    function donate(uint256 amount) external {
        amount = _mix(amount);
        amount %= unit;
        QuietToken(address(token)).transfer(address(pool), amount);
        donated += amount;
        _count(msg.sig);
    }

    // ---------------------------------------------------------------------------------------------------- machines

    function register(uint256 seed, uint256 gpus, uint256 terms) external {
        seed = _mix(seed);
        gpus = _mix(gpus);
        terms = _mix(terms);
        bytes memory call = abi.encodeCall(
            pool.register, (_terms(terms), uint8(1 + gpus % 8), bytes32(seed), bytes32(terms), _person(seed >> 16))
        );
        _do(_person(seed), call, seed >> 8);
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
        if (kind == 2) _do(provider, abi.encodeCall(pool.setOperator, (id, _person(seed >> 24))), seed >> 8);
        if (kind == 3) _do(provider, abi.encodeCall(pool.delist, (id)), seed >> 8);
        if (kind >= 3) _do(provider, abi.encodeCall(pool.relist, (id)), seed >> 8);
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

    function recover(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        _do(_machines[id].operator, abi.encodeCall(pool.recover, (id)), seed >> 8);
    }

    function retire(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        if (seed >> 16 & 3 != 0) return; // rarely, or nothing is left to rent
        _do(_machines[id].provider, abi.encodeCall(pool.retire, (id)), seed >> 8);
    }

    function unstake(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        _do(_machines[id].provider, abi.encodeCall(pool.unstake, (id)), seed >> 8);
    }

    // ------------------------------------------------------------------------------------------------------ leases

    /// @dev Three times of four the machine's people and the owner have done what they must before anyone can rent it.
    function _prepare(uint32 id, uint256 seed) private {
        if (seed & 3 == 0 || machines == 0) return;
        MachineView memory m = pool.machineOf(id);
        if (m.status == MachineStatus.Retired) return;
        vm.recordLogs();
        if (pool.paused()) _as(owner, abi.encodeCall(pool.setPaused, (false)), 1);
        if (m.stalled) _as(m.operator, abi.encodeCall(pool.recover, (id)), 1);
        if (m.delisted) _as(m.provider, abi.encodeCall(pool.relist, (id)), 1);
        if (m.params != pool.paramsVersion() || m.terms.availableUntilDay < vm.getBlockTimestamp() / 1 days + 20) {
            _as(m.provider, abi.encodeCall(pool.setTerms, (id, _terms(seed >> 2))), 1);
        }
        uint256 minimum = uint256(pool.params(pool.paramsVersion()).minStakePerGpu) * m.gpus;
        if (m.stake < minimum) _as(m.provider, abi.encodeCall(pool.addStake, (id, uint96(minimum - m.stake))), 1);
        _absorb(true);
    }

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
        vm.recordLogs();
        (bool ok,) = _as(_person(seed), abi.encodeCall(pool.open, (_request(seed, wish))), seed >> 8);
        _absorb(ok);
        if (!ok) return;
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
        (bool ok,) = _as(_person(seed), abi.encodeCall(pool.multicall, (calls)), seed >> 8);
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
        Lease storage l = _leases[id];
        bool over = l.state == LeaseState.Active && vm.getBlockTimestamp() >= l.end;
        if (over || l.state != LeaseState.Active) {
            _do(_person(seed >> 8), abi.encodeCall(pool.close, (id)), seed >> 16);
        }
    }

    function terminate(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _running(seed);
        address provider = _machines[_leases[id].machine].provider;
        _do(provider, abi.encodeCall(pool.terminate, (id)), seed >> 8);
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

    function _request(uint256 seed, uint256 wish) private view returns (LeaseRequest memory r) {
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
        r.allowUnverified = true;
        r.workload = bytes32(wish);
        r.settle = _over(r.machine);
        if (wish >> 48 & 1 == 0) r.reuse = _reusable(_person(seed), seed >> 8);
    }

    function _placement(uint256 seed, uint8 gpus) private pure returns (uint16) {
        uint8[8] memory cells = [0x01, 0x02, 0x40, 0x03, 0x30, 0x0F, 0xF0, 0xFF];
        uint256 gpuMask = seed % 5 == 0 || gpus == 0 ? (seed >> 8) % 256 : 1 << (seed >> 8) % gpus;
        return uint16(gpuMask << 8 | cells[(seed >> 16) % 8]);
    }

    /// @dev Up to three leases on `machine_` whose end has passed and that nobody closed.
    function _over(uint32 machine_) private view returns (uint256[] memory ids) {
        ids = new uint256[](3);
        uint256 n;
        for (uint256 i = 0; i < leaseIds.length && n < 3; i++) {
            Lease storage l = _leases[leaseIds[i]];
            if (l.machine == machine_ && l.state == LeaseState.Active && vm.getBlockTimestamp() >= l.end) {
                ids[n++] = leaseIds[i];
            }
        }
        assembly ("memory-safe") {
            mstore(ids, n)
        }
    }

    function _reusable(address tenant, uint256 seed) private view returns (uint256) {
        for (uint256 i = 0; i < leaseIds.length; i++) {
            uint256 id = leaseIds[(seed + i) % leaseIds.length];
            if (_leases[id].tenant == tenant && _leases[id].endings > 0 && pool.leaseOf(id).tenant == tenant) {
                return id;
            }
        }
        return 0;
    }

    // -------------------------------------------------------------------------------------------- owner and thief

    function pullFees(uint256 seed) external {
        seed = _mix(seed);
        address[] memory providers = new address[](2);
        (providers[0], providers[1]) = (_person(seed), _person(seed >> 8));
        _do(_person(seed >> 16), abi.encodeCall(pool.pullFees, (providers)), seed >> 24);
    }

    function govern(uint256 seed) external {
        seed = _mix(seed);
        uint256 kind = seed % 12;
        if (kind < 2) _do(owner, abi.encodeCall(pool.proposeParams, (_params(seed >> 8))), seed);
        else if (kind < 3) _do(owner, abi.encodeCall(pool.cancelParams, ()), seed);
        else if (kind < 4) _do(owner, abi.encodeCall(pool.setPaused, (true)), seed);
        else _do(owner, abi.encodeCall(pool.setPaused, (false)), seed);
    }

    /// @dev New parameters, at once in force, while leases run on under the old ones.
    function reform(uint256 seed) external {
        seed = _mix(seed);
        _running(seed);
        if (!_do(owner, abi.encodeCall(pool.proposeParams, (_params(seed))), 1)) return;
        skip(2 days);
    }

    /// @dev An owner who wants more than the rules allow, one field at a time.
    function overreach(uint256 seed) external {
        seed = _mix(seed);
        _do(owner, abi.encodeCall(pool.cancelParams, ()), 1); // one proposal waits at a time
        for (uint256 field = 0; field < 6; field++) {
            Params memory p = _params(seed);
            if (field == 0) p.feeBps = uint16(1001 + seed % 9000);
            if (field == 1) p.holdFeeBps = uint16(10_001 + seed % 9000);
            if (field == 2) p.maxSlashBps = uint16(10_001 + seed % 9000);
            if (field == 3) p.startWindow = uint24(1 days + 1 + seed % 30 days);
            if (field == 4) p.claimLag = uint24(seed % 15 minutes);
            if (field == 5) p.unstakeDelay = uint32(seed % 7 days);
            (bool ok,) = _as(owner, abi.encodeCall(pool.proposeParams, (p)), 1);
            _expect(!ok, 19, "parameters out of bounds were taken");
        }
        _count(msg.sig);
    }

    /// @dev Everything that is not his to do, with a lease that waits for its start and one that is further. None of it
    /// may work.
    function steal(uint256 seed) external {
        seed = _mix(seed);
        _steal(_waiting(seed), seed);
        _steal(_running(seed), seed);
    }

    function _steal(uint256 id, uint256 seed) private {
        uint32 m = _machine(seed);
        bytes[20] memory tries = [
            abi.encodeCall(pool.withdraw, (thief, 1)),
            abi.encodeCall(pool.transfer, (thief, 1)),
            abi.encodeCall(pool.start, (id, bytes32(seed))),
            abi.encodeCall(pool.decline, (id, "no-disk")),
            abi.encodeCall(pool.reject, (id)),
            abi.encodeCall(pool.setWorkload, (id, bytes32(seed))),
            abi.encodeCall(pool.terminate, (id)),
            abi.encodeCall(pool.publishResult, (id, hex"00")),
            abi.encodeCall(pool.setTerms, (m, _terms(seed))),
            abi.encodeCall(pool.setHardware, (m, bytes32(seed))),
            abi.encodeCall(pool.setContact, (m, bytes32(seed))),
            abi.encodeCall(pool.setOperator, (m, thief)),
            abi.encodeCall(pool.withhold, (m, type(uint64).max)),
            abi.encodeCall(pool.delist, (m)),
            abi.encodeCall(pool.retire, (m)),
            abi.encodeCall(pool.recover, (m)),
            abi.encodeCall(pool.proposeParams, (_params(seed))),
            abi.encodeCall(pool.setPaused, (true)),
            abi.encodeCall(pool.setTreasury, (thief)),
            abi.encodeCall(pool.transferOwnership, (thief))
        ];
        for (uint256 i = 0; i < tries.length; i++) {
            vm.prank(thief);
            (bool ok,) = address(pool).call(tries[i]);
            _expect(!ok, 7, "the thief did what is not his to do");
        }
        Lease storage l = _leases[id];
        if (l.state == LeaseState.Active && vm.getBlockTimestamp() < l.end) {
            vm.prank(thief);
            (bool ok,) = address(pool).call(abi.encodeCall(pool.close, (id)));
            _expect(!ok, 7, "the thief closed a lease before its end");
        }
        _count(msg.sig);
    }

    /// @dev A proof that served once, again; and one of another account's.
    function replay(uint256 seed) external {
        seed = _mix(seed);
        if (_used.length == 0) return;
        bytes memory attempt = _used[seed % _used.length];
        vm.prank(thief);
        (bool ok,) = address(accounts).call(attempt);
        _expect(!ok, 10, "a proof worked twice");
        attempt = _signed(people[0], abi.encodeCall(pool.withdraw, (thief, 1)));
        // The account is the call's first argument: the proof of the first person, for the second.
        address victim = people[1];
        assembly ("memory-safe") {
            mstore(add(attempt, 36), victim)
        }
        vm.prank(thief);
        (ok,) = address(accounts).call(attempt);
        _expect(!ok, 10, "a proof worked for another account");
        _count(msg.sig);
    }
}
