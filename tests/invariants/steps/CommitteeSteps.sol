// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Round, RoundState} from "../../../contracts/interfaces/ICommittee.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {mine, skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Validators who measure machines, and tenants who rate.
abstract contract CommitteeSteps is Steps {
    bytes32 private constant SALT = "salt";

    /// @dev What a drawn seat has committed to.
    struct Ballot {
        bool pass;
        bytes32 spec;
        uint16 score;
    }

    mapping(uint256 round => mapping(uint32 seat => Ballot)) private _ballots;

    // ---------------------------------------------------------------------------------------------------------- seats

    function join(uint256 seed) external {
        seed = _mix(seed);
        if (seats > 12) return;
        _join(validators[seed % VALIDATORS], seed >> 8);
    }

    /// @dev Rarely, so that a quorum is left.
    function leave(uint256 seed) external {
        seed = _mix(seed);
        uint32 seat = _seat(seed);
        if (seat <= VALIDATORS && seed >> 16 & 7 != 0) return;
        _doOn(address(committee), committee.seatOf(seat).validator, abi.encodeCall(committee.leave, (seat)), seed >> 8);
    }

    /// @dev Whoever has left makes room, and comes again.
    function exit(uint256 seed) external {
        seed = _mix(seed);
        uint32 seat = _leaving(seed);
        if (seed >> 16 & 1 == 0) skip(21 days);
        address validator = committee.seatOf(seat).validator;
        bytes memory call = abi.encodeCall(committee.exit, (seat));
        if (_doOn(address(committee), _person(seed >> 24), call, seed >> 8)) _join(validator, seed >> 8);
    }

    function topUp(uint256 seed) external {
        seed = _mix(seed);
        address who = _person(seed >> 24);
        _fill(who, 1000 * unit);
        bytes memory call = abi.encodeCall(committee.topUp, (_seat(seed), uint96(seed % (100 * unit))));
        _doOn(address(committee), who, call, seed >> 8);
    }

    function _join(address validator, uint256 seed) internal returns (bool) {
        _fill(validator, 2000 * unit);
        _joining = pool.paramsVersion();
        if (seed & 0x30 == 0) _joining = uint16(1 + (seed >> 6) % _joining); // of any rules that there have been
        return _doOn(address(committee), validator, abi.encodeCall(committee.join, (_joining)), seed);
    }

    function _seat(uint256 seed) private view returns (uint32) {
        return seats == 0 ? 1 : uint32(1 + seed % seats);
    }

    function _leaving(uint256 seed) private view returns (uint32 seat) {
        for (uint256 i = 0; i < seats; i++) {
            seat = _seat((seed >> 1) + i);
            if (committee.seatOf(seat).leavesAt != 0) return seat;
        }
    }

    // --------------------------------------------------------------------------------------------------------- rounds

    function requestVerification(uint256 seed) external {
        seed = _mix(seed);
        _requestVerification(_inService(seed), seed);
    }

    /// @dev Mostly in time; sometimes so late that another block is named.
    function draw(uint256 seed) external {
        seed = _mix(seed);
        _draw(_roundIn(RoundState.Requested, seed), seed);
    }

    function commit(uint256 seed) external {
        seed = _mix(seed);
        _commitAll(_fresh(seed), seed);
    }

    function reveal(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _fresh(seed);
        _commitAll(id, seed);
        skip(4 hours);
        _revealAll(id, seed);
    }

    function finalize(uint256 seed) external {
        seed = _mix(seed);
        if (seed >> 16 & 1 == 0) skip(6 hours);
        _finalize(_roundIn(RoundState.Drawn, seed), seed);
    }

    /// @dev A round from its begin to its end, and what follows from it.
    function verify(uint256 seed) external {
        seed = _mix(seed);
        if (!_requestVerification(_inService(seed), seed)) return;
        uint256 id = roundCount;
        if (!_draw(id, seed)) return;
        _commitAll(id, seed);
        skip(4 hours);
        _revealAll(id, seed);
        skip(2 hours);
        _finalize(id, seed);
        if (committee.roundOf(id).state != RoundState.Failed) return;
        bytes memory call = abi.encodeCall(faults.reportFalseHardware, (id));
        if (!_doOn(address(faults), _person(seed >> 24), call, seed >> 8)) return;
        vm.prank(thief);
        (bool ok,) = address(faults).call(call);
        _expect(!ok, 9, "a machine pays twice for one finding");
    }

    function _requestVerification(uint32 id, uint256 seed) private returns (bool) {
        address who = _person(seed >> 24);
        _fill(who, 1000 * unit);
        bytes memory call = abi.encodeCall(committee.requestVerification, (id, pool.machineOf(id).revision));
        return _doOn(address(committee), who, call, seed >> 8);
    }

    function _draw(uint256 id, uint256 seed) private returns (bool) {
        mine(seed >> 32 & 7 == 0 ? 300 : 2);
        return _doOn(address(committee), _person(seed >> 24), abi.encodeCall(committee.draw, (id)), seed >> 8);
    }

    /// @dev They agree, or each says what it likes; some keep silent.
    function _commitAll(uint256 id, uint256 seed) private {
        uint32[] memory drawn = committee.drawnFor(id);
        bool agree = seed >> 40 & 1 == 0;
        for (uint256 i = 0; i < drawn.length; i++) {
            uint256 own = uint256(keccak256(abi.encode(seed, agree ? 0 : i)));
            Ballot memory b =
                Ballot(own & 1 == 0, own & 6 == 0 ? bytes32(0) : bytes32("other"), uint16(own >> 8) % 1001);
            if (agree) b.score = uint16((own >> 8) + i * 17) % 1001;
            _commit(id, drawn[i], b, own);
        }
    }

    function _commit(uint256 id, uint32 seat, Ballot memory b, uint256 seed) private {
        bytes memory said = abi.encode(block.chainid, address(pool), id, seat, b.pass, b.spec, b.score, SALT);
        bytes memory call = abi.encodeCall(committee.commit, (id, seat, keccak256(said)));
        if (_doOn(address(committee), committee.seatOf(seat).validator, call, seed)) _ballots[id][seat] = b;
    }

    function _revealAll(uint256 id, uint256 seed) private {
        uint32[] memory drawn = committee.drawnFor(id);
        for (uint256 i = 0; i < drawn.length; i++) {
            uint256 own = uint256(keccak256(abi.encode(seed, i)));
            if (own % 3 == 0) continue;
            Ballot memory b = _ballots[id][drawn[i]];
            bytes memory call = abi.encodeCall(committee.reveal, (id, drawn[i], b.pass, b.spec, b.score, SALT));
            _doOn(address(committee), committee.seatOf(drawn[i]).validator, call, own);
        }
    }

    function _finalize(uint256 id, uint256 seed) private {
        _doOn(address(committee), _person(seed >> 24), abi.encodeCall(committee.finalize, (id)), seed >> 8);
    }

    /// @dev A round whose committee still commits; one that is drawn for it, if there is none.
    function _fresh(uint256 seed) private returns (uint256 id) {
        for (id = roundCount; id > 0 && id + 3 > roundCount; id--) {
            if (vm.getBlockTimestamp() < committee.roundOf(id).commitUntil) return id;
        }
        if (_requestVerification(_inService(seed), seed)) _draw(roundCount, seed);
        return roundCount;
    }

    function _roundIn(RoundState state, uint256 seed) private view returns (uint256 id) {
        for (uint256 i = 0; i < roundCount; i++) {
            id = 1 + (seed + i) % roundCount;
            if (committee.roundOf(id).state == state) return id;
        }
        return 1;
    }

    // -------------------------------------------------------------------------------------------------------- ratings

    /// @dev By the tenant, mostly, of a lease that has ended, mostly; and then again, and by the thief.
    function rate(uint256 seed) external {
        seed = _mix(seed);
        uint256 id = _lease(seed);
        for (uint256 i = 0; i < leaseIds.length; i++) {
            uint256 tried = leaseIds[(seed + i) % leaseIds.length];
            if (_leases[tried].state == LeaseState.Ended && !rated[tried] && _leases[tried].settled != 0) {
                id = tried;
                break;
            }
        }
        bytes memory call = abi.encodeCall(reputation.rate, (id, uint8(seed % 7), bytes32(seed)));
        address who = seed >> 16 & 3 == 0 ? _person(seed >> 24) : _leases[id].tenant;
        if (who == address(0)) return;
        _doOn(address(reputation), who, call, seed >> 8);
        _doOn(address(reputation), who, abi.encodeCall(reputation.rate, (id, 5, bytes32(0))), 1);
        _doOn(address(reputation), thief, abi.encodeCall(reputation.rate, (id, 1, bytes32(0))), 1);
    }
}
