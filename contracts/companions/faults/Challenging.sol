// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Challenge, FaultKind, IFaults} from "../../interfaces/IFaults.sol";
import {Judging, LeaseState, Stake, Tenancy} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Filing} from "./Filing.sol";

/// @title Questions that tenants put to a machine: a bond, and silence for a window, prove an outage.
abstract contract Challenging is Filing {
    using SafeCast for uint256;

    uint256 private constant BOND_MEMORY = 24 hours;
    /// @dev Of a challenge's bond, for the answer.
    uint256 private constant ANSWER_DIVISOR = 10;
    bytes32 private constant ANSWER_TYPE =
        keccak256("Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)");

    /// @inheritdoc IFaults
    function challenge(uint32 machine, uint256 lease) external returns (uint256 id) {
        // Check. Only a running lease makes a tenant: one that waits for its start has `cancelUnstarted`.
        address actor = _actor();
        Tenancy memory seen = _lease(lease);
        if (seen.machine != machine) revert WrongLease(lease, machine);
        if (seen.tenant != actor || seen.state != LeaseState.Active || block.timestamp >= seen.end) {
            revert NotATenant(lease, actor);
        }
        _requireNotDown(machine);
        _requireNoChallenge(machine);

        // Effect
        uint16 version = _seen(machine).params;
        Judging memory rules = _rules(version);
        // What the tenant's own rules ask is the most: else a provider could accept others in front of the question.
        uint256 least = Billing.min(rules.bond, _rules(seen.params).bond);
        uint96 bond = _bondOf(machine, actor, uint96(least));
        id = ++_challengeCount;
        Standing storage standing = _challenges[machine];
        standing.challenger = actor;
        standing.bond = bond;
        standing.at = uint32(block.timestamp); // `until` is later and passes a checked cast
        standing.until = (block.timestamp + rules.challengeWindow).toUint32();
        standing.rules = version;
        standing.id = uint64(id); // of 48 bits

        // Interact, Log
        _charge(bond);
        _hold(machine);
        emit Challenged(machine, id, actor, lease, bond);
    }

    /// @inheritdoc IFaults
    function answer(uint32 machine, uint64 issuedAt, bytes calldata proof) external {
        // Check. The proof names the challenge: it answers no other.
        Standing memory standing = _standing(machine);
        if (block.timestamp > standing.until) revert ChallengeLapsed(machine, standing.until);
        Stake memory seen = _seen(machine);
        if (_actor() != seen.operator) {
            bytes32 hash = keccak256(abi.encode(ANSWER_TYPE, seen.operator, machine, standing.id, issuedAt));
            _requireIssued(seen.operator, issuedAt, standing.at, hash, proof);
        }

        // Effect
        delete _challenges[machine];
        _answers[machine][standing.challenger] = Answer(standing.bond, uint32(block.timestamp));

        // Interact, Log
        _hold(machine);
        uint256 fee = standing.bond / ANSWER_DIVISOR;
        _pay(seen.provider, fee);
        _pay(_sink(_rules(standing.rules)), standing.bond - fee);
        emit Answered(machine, standing.id);
    }

    /// @inheritdoc IFaults
    function prove(uint32 machine) external returns (uint256 fault) {
        // Check
        Standing memory standing = _standing(machine);
        if (block.timestamp <= standing.until) _revertStanding(machine, standing);
        if (_isOver(standing)) {
            _dismiss(machine, standing);
            return 0;
        }
        Stake memory seen = _seen(machine);

        // Effect, Interact. What a quorum has attested meanwhile is not counted twice.
        delete _challenges[machine];
        uint256 from = _later(standing.at, _lastEnd(machine));
        if (seen.retiredAt == 0 || from < seen.retiredAt) {
            bytes32 challenger = bytes32(uint256(uint160(standing.challenger)));
            fault = _begin(machine, FaultKind.Challenged, from, standing.rules, challenger, seen);
        } else {
            _hold(machine);
        }
        _pay(standing.challenger, standing.bond);
    }

    /// @inheritdoc IFaults
    function challengeOf(uint32 machine) external view returns (Challenge memory) {
        Standing memory standing = _asked(machine);
        return Challenge(standing.challenger, standing.bond, standing.at, standing.id);
    }

    /// @inheritdoc IFaults
    function bondOf(uint32 machine, address challenger) external view returns (uint96) {
        return _bondOf(machine, challenger, _rules(_seen(machine).params).bond);
    }

    // -------------------------------------------------------------------------------------------------------- inside it

    /// @dev What a challenge must hold: twice the last one's bond if that was answered within 24 hours.
    function _bondOf(uint32 machine, address challenger, uint96 least) private view returns (uint96) {
        Answer storage last = _answers[machine][challenger];
        if (block.timestamp > last.at + BOND_MEMORY) return least;
        uint256 twice = Billing.min(2 * uint256(last.bond), type(uint96).max);
        return twice > least ? uint96(twice) : least;
    }

    function _standing(uint32 machine) private view returns (Standing memory standing) {
        standing = _asked(machine);
        if (standing.at == 0) revert NoChallenge(machine);
    }

    /// @dev Whether nobody has proven in time that it was not answered.
    function _isOver(Standing memory standing) private view returns (bool) {
        return block.timestamp > standing.until + PROVE_TIME;
    }

    function _revertStanding(uint32 machine, Standing memory standing) private pure {
        revert ChallengeStands(machine, standing.until);
    }

    function _dismiss(uint32 machine, Standing memory standing) private {
        // Effect
        delete _challenges[machine];

        // Interact, Log
        _hold(machine);
        _pay(standing.challenger, standing.bond);
        emit ChallengeEnded(machine, standing.id);
    }

    /// @dev None that stands: one that is over goes.
    function _requireNoChallenge(uint32 machine) internal {
        Standing memory standing = _asked(machine);
        if (standing.at == 0) return;
        if (!_isOver(standing)) _revertStanding(machine, standing);
        _dismiss(machine, standing);
    }
}
