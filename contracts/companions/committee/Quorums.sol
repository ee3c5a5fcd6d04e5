// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Seat, Signer} from "../../interfaces/ICommittee.sol";
import {Seats} from "./Seats.sol";

/// @title What more than two thirds of the seats say of an outage together, what they earn by it and answer for.
abstract contract Quorums is Seats {
    uint256 private constant QUORUM_VALIDATORS = 5;
    uint256 private constant MAX_SIGNERS = 512;
    bytes32 private constant OUTAGE_TYPE = keccak256("Outage(address account,uint32 machine,uint64 from,uint64 to)");

    /// @inheritdoc ICommittee
    /// @dev Anyone may have it logged who agrees: only what Faults makes of it counts.
    function witness(
        uint16 version,
        uint32 machine,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (bytes32 quorum) {
        Signer[] memory signers = _signers(version, seats);
        if (!_haveSigned(signers, machine, from, to, proofs)) revert NoQuorum();
        quorum = keccak256(abi.encode(signers));
        emit QuorumSigned(quorum, signers);
    }

    /// @inheritdoc ICommittee
    function credit(bytes32 quorum, uint96 amount) external onlyFaults {
        uint96 due = _dues[quorum] + amount;
        _dues[quorum] = due;
        emit QuorumCredited(quorum, due);
    }

    /// @inheritdoc ICommittee
    function disown(bytes32 quorum, address arbiter) external onlyFaults {
        _disowned[quorum][arbiter] = block.timestamp;
        emit QuorumDisowned(quorum, arbiter);
    }

    /// @inheritdoc ICommittee
    /// @dev By stake, not by seats or names: ten cheap ones earn what one does for whose price they were bought.
    function payQuorum(Signer[] calldata signers) external {
        // Check
        bytes32 quorum = keccak256(abi.encode(signers));
        uint96 due = _dues[quorum];
        if (due == 0) revert NothingForQuorum(quorum);

        // Effect
        _dues[quorum] = 0;
        uint256 all;
        for (uint256 i = 0; i < signers.length; ++i) {
            all += signers[i].level;
        }

        // Interact, Log
        uint256 left = due;
        for (uint256 i = 0; i < signers.length && all != 0; ++i) {
            uint256 part = uint256(due) * signers[i].level / all;
            left -= part;
            _pay(signers[i].validator, part);
        }
        _pay(BURNT, left);
        emit QuorumPaid(quorum, due);
    }

    /// @inheritdoc ICommittee
    /// @dev Who signed has held the seat since before the word was taken back, unless he has left meanwhile.
    function fineQuorum(Signer[] calldata signers, address arbiter) external {
        // Check
        bytes32 quorum = keccak256(abi.encode(signers));
        uint256 time = _disowned[quorum][arbiter];
        if (time == 0) revert NothingForQuorum(quorum);

        // Effect
        _disowned[quorum][arbiter] = 0;
        uint256 fines;
        for (uint256 i = 0; i < signers.length; ++i) {
            uint32 seat = signers[i].seat;
            if (_seats[seat].validator == signers[i].validator) fines += _fineUnder(arbiter, seat, time);
        }

        // Interact, Log
        _pay(BURNT, fines);
        emit QuorumFined(quorum, arbiter, fines);
    }

    /// @inheritdoc ICommittee
    function dueOf(bytes32 quorum) external view returns (uint96) {
        return _dues[quorum];
    }

    /// @inheritdoc ICommittee
    function disownedAt(bytes32 quorum, address arbiter) external view returns (uint256) {
        return _disowned[quorum][arbiter];
    }

    // -------------------------------------------------------------------------------------------------------- who signs

    function _signers(uint16 version, uint32[] calldata seats) private view returns (Signer[] memory signers) {
        uint96 least = _priceUnder(version);
        uint256 count = seats.length;
        if (count > MAX_SIGNERS || 3 * count <= 2 * _matured(least)) revert NoQuorum();
        signers = new Signer[](count);
        uint256 last;
        for (uint256 i = 0; i < count; ++i) {
            uint32 seat = seats[i];
            Seat storage held = _seats[seat];
            // Strictly ascending: no seat counts twice.
            if (seat <= last || !_judges(held, least)) revert NoQuorum();
            last = seat;
            signers[i] = Signer(seat, held.validator, held.level);
        }
    }

    /// @dev Whether a seat may sign where `least` is asked. One that leaves may not, or it would be gone when what it signed is
    /// taken back.
    function _judges(Seat storage held, uint96 least) private view returns (bool) {
        uint96 level = held.level;
        return held.validator != address(0) && level >= least && held.stake >= level && held.leavesAt == 0
            && block.timestamp >= held.joinedAt + MATURITY;
    }

    /// @dev All of them, each in his own name, and among them five different ones.
    function _haveSigned(Signer[] memory signers, uint32 machine, uint64 from, uint64 to, bytes[] calldata proofs)
        private
        view
        returns (bool)
    {
        if (proofs.length != signers.length) return false;
        address[] memory first = new address[](QUORUM_VALIDATORS);
        uint256 distinct;
        for (uint256 i = 0; i < signers.length; ++i) {
            address validator = signers[i].validator;
            if (_contains(first, distinct, validator)) continue;
            bytes32 outage = _digest(keccak256(abi.encode(OUTAGE_TYPE, validator, machine, from, to)));
            if (!_accounts.isAuthorized(validator, outage, proofs[i])) return false;
            if (distinct < QUORUM_VALIDATORS) first[distinct++] = validator;
        }
        return distinct == QUORUM_VALIDATORS;
    }

    function _contains(address[] memory list, uint256 length, address who) private pure returns (bool) {
        for (uint256 i = 0; i < length; ++i) {
            if (list[i] == who) return true;
        }
        return false;
    }
}
