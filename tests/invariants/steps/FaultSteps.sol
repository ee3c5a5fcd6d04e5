// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Seat as StakedSeat} from "../../../contracts/interfaces/ICommittee.sol";
import {FaultKind, FaultState} from "../../../contracts/interfaces/IFaults.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Outages and what they cost.
abstract contract FaultSteps is Steps {
    bytes32 private constant ANSWER_TYPE =
        keccak256("Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)");
    bytes32 private constant RECOVER_TYPE = keccak256("Recover(address account,uint32 machine,uint64 issuedAt)");
    bytes32 private constant OUTAGE_TYPE = keccak256("Outage(address account,uint32 machine,uint64 from,uint64 to)");

    // ---------------------------------------------------------------------------------------------------- one at a time

    function reportOutage(uint256 seed) external {
        seed = _mix(seed);
        _report(_inService(seed), seed);
    }

    function challenge(uint256 seed) external {
        seed = _mix(seed);
        _challenge(_running(seed), seed >> 8);
    }

    function answer(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _challenged(seed);
        uint256 lease = _running(seed >> 3);
        if (faults.challengeOf(id).at == 0 && lease != 0) {
            uint256 answered = done[msg.sig];
            _challenge(lease, seed >> 8);
            done[msg.sig] = answered; // what counts is an answer
            id = _leases[lease].machine;
        }
        uint64 now_ = uint64(vm.getBlockTimestamp());
        bytes memory proof;
        address who = _operator(id);
        if (seed >> 16 & 1 == 0) {
            bytes32 hash = keccak256(abi.encode(ANSWER_TYPE, _operator(id), id, faults.challengeOf(id).id, now_));
            (proof, who) = (_proof(who, _typed(hash), seed), _person(seed >> 24));
        }
        bytes memory call = abi.encodeCall(faults.answer, (id, now_, proof));
        if (_doOn(address(faults), who, call, seed >> 8)) _neverAgain(call);
    }

    function prove(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _challenged(seed);
        if (seed >> 16 & 1 == 0) skip(1 hours);
        _prove(id, seed);
    }

    /// @dev A quorum says since when the machine is down, or that it was for a while; every other time of a while that begins
    ///      inside an outage that is over.
    function attest(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _machine(seed);
        uint256 from = vm.getBlockTimestamp() - (seed >> 8) % 12 hours;
        uint256 to = seed >> 128 & 1 == 0 ? 0 : from + (seed >> 64) % 12 hours;
        Fault storage last = _faults[_fault(seed >> 136)];
        if (seed >> 129 & 1 == 0 && last.to != 0) {
            skip(10 minutes);
            (id, from, to) = (last.machine, last.to - 1 minutes, vm.getBlockTimestamp());
        }
        if (_attest(id, from, to, seed >> 16) && seed >> 130 & 1 == 0) _attestGap(id, seed >> 24);
    }

    function recover(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _fallen(seed);
        if (_machines[id].downSince == 0) {
            _do(_operator(id), abi.encodeCall(pool.recover, (id)), seed >> 8);
            return;
        }
        _recover(id, seed);
    }

    function roll(uint256 seed) external {
        seed = _mix(seed);
        uint32 id = _fallen(seed);
        if (seed >> 16 & 3 == 0) skip(5 days + 1);
        _doOn(address(faults), _person(seed >> 24), abi.encodeCall(faults.roll, (id)), seed >> 8);
    }

    function applyOutage(uint256 seed) external {
        seed = _mix(seed);
        _applyToAll(_fault(seed), seed);
    }

    /// @dev Against a fault that waits, or an outage that is made for it.
    function appeal(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _fault(seed);
        if (_faults[id].state != FaultState.Filed || vm.getBlockTimestamp() > _faults[id].deadline) id = _filed(seed);
        _appeal(id, seed);
    }

    /// @dev On an appeal that waits, or one that is made for it.
    function rule(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _fault(seed);
        if (_faults[id].state != FaultState.Appealed) {
            id = _filed(seed);
            _appeal(id, seed >> 16);
        }
        _rule(id, seed >> 16 & 1 == 0);
    }

    function execute(uint256 seed) external {
        seed = _mix(seed);
        if (seed >> 16 & 3 == 0) skip(4 days + 1);
        _execute(_fault(seed), seed);
    }

    function compensate(uint256 seed) external {
        seed = _mix(seed);
        _compensate(_owing(seed), seed);
    }

    // ------------------------------------------------------------------------------------------------- the usual course

    /// @dev An outage from its begin to its slash, and mostly to the last tenant's part.
    function outage(uint256 seed) external {
        seed = _mix(seed);
        uint256 leased = _running(seed | 12);
        uint32 id = _leases[leased].machine;
        uint256 kind = (seed >> 32) % 3;
        uint256 lasts = (seed >> 40) % 4 == 0 ? (seed >> 48) % 6 days : (seed >> 48) % 3 hours;
        if (kind == 0) _report(id, seed);
        if (kind == 1) {
            _challenge(leased, seed);
            skip(1 hours);
            _prove(id, seed);
        }
        if (kind == 2) _attest(id, vm.getBlockTimestamp() - (seed >> 24) % 1 hours, 0, seed);
        skip(1 + lasts);
        if (_machines[id].downSince == 0) return;
        uint256 fault_ = faults.runningFault(id);
        _recover(id, seed >> 1);
        _applyToAll(fault_, seed);
        if (seed >> 72 & 3 == 0) {
            _appeal(fault_, seed);
            if (seed >> 74 & 1 == 0) _rule(fault_, seed >> 75 & 3 != 0);
        }
        skip(4 days + 1);
        _execute(fault_, seed);
        if (seed >> 80 & 1 == 0) _compensate(fault_, seed);
    }

    /// @dev A machine that leaves while it is down, and a provider who would have its stake before it has paid. It comes for
    /// that, so that the others stay in service.
    function retireWhileDown(uint256 seed) external {
        seed = _mix(seed);
        address provider = _person(seed);
        bytes memory call = abi.encodeCall(
            pool.register, (_terms(seed), 1, 1, bytes32(0), bytes32(0), provider, _consent(provider, provider, seed))
        );
        if (machines > 15 || !_do(provider, call, seed >> 8)) return;
        uint32 id = machines;
        if (!_report(id, seed) || !_do(provider, abi.encodeCall(pool.retire, (id)), 1)) return;
        skip(pool.params(_machines[id].params).unstakeDelay);
        _do(provider, abi.encodeCall(pool.unstake, (id)), 1);
        _doOn(address(faults), thief, abi.encodeCall(faults.roll, (id)), 1);
    }

    // ---------------------------------------------------------------------------------------------------------- parts

    function _report(uint32 id, uint256 seed) internal returns (bool) {
        return _doOn(address(faults), _operator(id), abi.encodeCall(faults.reportOutage, (id)), seed >> 8);
    }

    function _challenge(uint256 leased, uint256 seed) internal returns (bool) {
        uint32 id = _leases[leased].machine;
        address tenant = _leases[leased].tenant;
        if (tenant == address(0)) return false;
        _fill(tenant, faults.bondOf(id, tenant));
        return _doOn(address(faults), tenant, abi.encodeCall(faults.challenge, (id, leased)), seed);
    }

    /// @dev A machine whose operator is asked for a sign of life, if there is one.
    function _challenged(uint256 seed) internal view returns (uint32 id) {
        for (uint256 i = 0; i < machines; i++) {
            id = _machine((seed >> 1) + i);
            if (faults.challengeOf(id).at != 0) return id;
        }
    }

    function _prove(uint32 id, uint256 seed) internal returns (bool) {
        return _doOn(address(faults), _person(seed >> 24), abi.encodeCall(faults.prove, (id)), seed >> 8);
    }

    /// @dev All validators whose seats have matured; and before that, fewer than a quorum, in vain.
    function _attest(uint32 id, uint256 from, uint256 to, uint256 seed) internal returns (bool ok) {
        uint96 least = _least(id, from, to);
        vm.prank(thief);
        (ok,) = address(faults).call(_attestation(id, from, to, 4, least));
        _expect(!ok, 8, "four validators put a stake at risk");
        _attestTooCheap(id, from, to, least);
        bytes memory call = _attestation(id, from, to, type(uint256).max, least);
        ok = _doOn(address(faults), _person(seed >> 24), call, seed >> 8);
        if (ok) _neverAgain(call);
    }

    /// @dev Of an outage that is known, the hour before and a minute of it: what lies in the gap before it.
    function _attestGap(uint32 id, uint256 seed) private {
        uint256 next = _faultsOf[id][seed % _faultsOf[id].length];
        Fault storage known = _faults[next];
        if (known.kind == FaultKind.FalseHardware || known.to == 0) return;
        (uint64 from, uint64 to) = (known.from - 1 hours, known.from + 1 minutes);
        uint96 least = pool.params(pool.acceptedAt(id, from)).seatStake;
        (uint32[] memory by, bytes[] memory proofs) = _quorum(abi.encode(id, from, to), type(uint256).max, least);
        bytes memory call = abi.encodeCall(faults.attest, (id, next, from, to, by, proofs));
        _doOn(address(faults), _person(seed >> 24), call, seed >> 8);
    }

    /// @dev All seats, of which one has cost less than the rules ask: they are no quorum, however many they are.
    function _attestTooCheap(uint32 id, uint256 from, uint256 to, uint96 least) private {
        for (uint32 seat = 1; seat <= seats; seat++) {
            if (!_judges(seat, 0) || committee.seatOf(seat).level >= least) continue;
            vm.prank(thief);
            (bool ok,) = address(faults).call(_attestation(id, from, to, type(uint256).max, 0));
            _expect(!ok, 18, "a seat judges what costs more than it");
            return;
        }
    }

    /// @dev What a seat must have cost that attests an outage: of one that runs, by the rules under which it began.
    function _least(uint32 id, uint256 from, uint256 to) private view returns (uint96) {
        uint256 running = faults.runningFault(id);
        if (to == 0 && running != 0) return pool.params(_faults[running].rules).seatStake;
        uint256 lastEnd;
        for (uint256 i = 0; i < _faultsOf[id].length; i++) {
            Fault storage f = _faults[_faultsOf[id][i]];
            if (f.kind != FaultKind.FalseHardware) lastEnd = _max(lastEnd, f.to);
        }
        uint256 begin = _max(from, lastEnd);
        if (to > begin + 120 hours) begin = to - 120 hours - 1; // so far back it is filed
        return pool.params(pool.acceptedAt(id, begin)).seatStake;
    }

    function _attestation(uint32 id, uint256 from, uint256 to, uint256 most, uint96 least)
        private
        view
        returns (bytes memory)
    {
        bytes memory outage = abi.encode(id, uint64(from), uint64(to));
        (uint32[] memory by, bytes[] memory proofs) = _quorum(outage, most, least);
        return abi.encodeCall(faults.attest, (id, 0, uint64(from), uint64(to), by, proofs));
    }

    function _judges(uint32 seat, uint96 least) private view returns (bool) {
        StakedSeat memory held = committee.seatOf(seat);
        bool matured = vm.getBlockTimestamp() >= uint256(held.joinedAt) + 3 days;
        bool stays = held.leavesAt == 0;
        return _keys[held.validator] != 0 && matured && stays && held.stake >= held.level && held.level >= least;
    }

    /// @dev Each says `outage` in his own name.
    function _quorum(bytes memory outage, uint256 most, uint96 least)
        private
        view
        returns (uint32[] memory by, bytes[] memory proofs)
    {
        by = new uint32[](seats);
        proofs = new bytes[](seats);
        uint256 n;
        for (uint32 seat = 1; seat <= seats && n < most; seat++) {
            if (!_judges(seat, least)) continue;
            address validator = committee.seatOf(seat).validator;
            bytes32 said = keccak256(bytes.concat(abi.encode(OUTAGE_TYPE, validator), outage));
            (by[n], proofs[n]) = (seat, _proof(validator, _typed(said), 0));
            n++;
        }
        assembly ("memory-safe") {
            mstore(by, n)
            mstore(proofs, n)
        }
    }

    function _recover(uint32 id, uint256 seed) internal returns (bool) {
        bytes memory proof;
        address who = seed >> 17 & 1 == 0 ? _operator(id) : _provider(id);
        uint64 now_ = uint64(vm.getBlockTimestamp());
        if (seed >> 16 & 1 == 0) {
            proof = _proof(_operator(id), _typed(keccak256(abi.encode(RECOVER_TYPE, _operator(id), id, now_))), seed);
            who = _person(seed >> 24);
        }
        bytes memory call = abi.encodeCall(faults.recover, (id, now_, proof));
        bool ok = _doOn(address(faults), who, call, seed >> 8);
        if (ok) _neverAgain(call);
        return ok;
    }

    /// @dev What a signature has done once it does not do again, whoever sends it.
    function _neverAgain(bytes memory call) internal {
        vm.prank(thief);
        (bool ok,) = address(faults).call(call);
        _expect(!ok, 10, "a signature about an outage worked twice");
    }

    /// @dev A fault that is not over, if there is one.
    function _fault(uint256 seed) internal view returns (uint256 id) {
        for (uint256 i = 0; i < faultCount; i++) {
            id = 1 + (seed + i) % faultCount;
            if (_faults[id].state != FaultState.Executed && _faults[id].state != FaultState.Dropped) return id;
        }
        return faultCount == 0 ? 1 : 1 + seed % faultCount;
    }

    /// @dev A fault whose tenants have something coming, if there is one.
    function _owing(uint256 seed) private view returns (uint256 id) {
        for (uint256 i = 0; i < faultCount; i++) {
            id = 1 + (seed + i) % faultCount;
            if (_faults[id].pot != 0 && _faults[id].state == FaultState.Executed) return id;
        }
    }

    /// @dev To all leases that there ever were on its machine, in one call: those that it does not touch are passed over.
    function _applyToAll(uint256 fault_, uint256 seed) internal {
        uint256[] memory ids = new uint256[](leaseIds.length);
        uint256 n;
        for (uint256 i = 0; i < ids.length; i++) {
            Lease storage l = _leases[leaseIds[i]];
            bool touched = l.state == LeaseState.Active || l.state == LeaseState.Ended && l.end > _faults[fault_].from;
            if (l.machine == _faults[fault_].machine && touched) ids[n++] = leaseIds[i];
        }
        _shorten(ids, n);
        _doOn(address(faults), _person(seed >> 24), abi.encodeCall(faults.applyOutage, (fault_, ids)), seed >> 8);
    }

    /// @dev A short outage that has just ended, on any machine in service.
    function _filed(uint256 seed) internal returns (uint256 id) {
        uint32 on = _inService(seed);
        if (!_report(on, seed)) return _fault(seed);
        id = faultCount;
        skip(1 + seed % 3 hours);
        _recover(on, seed >> 8);
    }

    function _appeal(uint256 fault_, uint256 seed) internal {
        address provider = _provider(_faults[fault_].machine);
        if (provider == address(0)) return;
        _fill(provider, 1000 * unit);
        _doOn(address(faults), provider, abi.encodeCall(faults.appeal, (fault_)), seed >> 8);
    }

    /// @dev By whom the rules name that judge it.
    function _rule(uint256 fault_, bool stands) internal returns (bool) {
        address arbiter = pool.params(_faults[fault_].rules).arbiter;
        if (arbiter == address(0)) return false;
        return _doOn(address(faults), arbiter, abi.encodeCall(faults.rule, (fault_, stands)), 1);
    }

    function _execute(uint256 fault_, uint256 seed) internal {
        _doOn(address(faults), _person(seed >> 24), abi.encodeCall(faults.execute, (fault_)), seed >> 8);
    }

    function _compensate(uint256 fault_, uint256 seed) internal {
        bytes memory call = abi.encodeCall(faults.compensate, (fault_, _faults[fault_].leases));
        _doOn(address(faults), _person(seed >> 24), call, seed >> 8);
    }
}
