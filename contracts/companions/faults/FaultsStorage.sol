// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee} from "../../interfaces/ICommittee.sol";
import {Fault, FaultState, IFaults} from "../../interfaces/IFaults.sol";
import {IPoolHooks} from "../../interfaces/IPoolHooks.sol";
import {Judging, Stake, Tenancy} from "../../interfaces/PoolTypes.sol";
import {Billing} from "../../libraries/Billing.sol";
import {Companion} from "../Companion.sol";

/// @title What is known of outages, one layout for all parts of `Faults`, and the questions that all of them ask.
/// @dev The only place where `Faults` declares state variables.
abstract contract FaultsStorage is Companion, IFaults {
    // ----------------------------------------------------------------------------------------------------- what is kept

    /// @dev What is known of a machine. Three slots, the last written by its first fault.
    /// `lanes` is `Slashing`'s window, of which `day` is today. A machine that has retired stays at that day, so that all it
    /// can be charged with afterwards is what its last window still allows.
    /// `running` is the outage that has not ended, or 0; `last` the latest of all.
    /// `heldFrom`, `heldTo` and `heldUntil` are the hold that ended outages ask for; a challenge's comes on top.
    struct Watch {
        uint256 lanes;
        uint16 day;
        uint16 unsettled;
        uint48 running;
        uint96 reserved;
        uint48 last;
        uint32 heldFrom;
        uint32 heldTo;
        uint32 heldUntil;
    }

    /// @dev Two slots. `until` is the last moment for an answer.
    struct Standing {
        address challenger;
        uint96 bond;
        uint32 at;
        uint32 until;
        uint16 rules;
        uint64 id;
    }

    /// @dev The last challenge of an account that was answered.
    struct Answer {
        uint96 bond;
        uint32 at;
    }

    /// @dev A tenant is written when a lease has had its outage applied, and stays; `part` goes with the payment.
    struct Loss {
        address tenant;
        uint96 part;
    }

    struct Slashed {
        uint96 amount;
        uint32 at;
    }

    uint48 internal _faultCount;
    uint48 internal _challengeCount;
    mapping(uint256 fault => Fault) internal _faults;
    mapping(uint32 machine => Watch) internal _watches;
    mapping(uint32 machine => Standing) internal _challenges;
    mapping(uint32 machine => mapping(address challenger => Answer)) internal _answers;
    mapping(uint256 fault => mapping(uint256 lease => Loss)) internal _losses;
    mapping(uint256 round => bool) internal _reported;
    mapping(address provider => Slashed) internal _slashed;

    // ----------------------------------------------------------------------------------------- of faults and challenges

    /// @inheritdoc IFaults
    function runningFault(uint32 machine) public view returns (uint256) {
        return _watches[machine].running;
    }

    function _fault(uint256 id) internal view returns (Fault storage fault) {
        fault = _faults[id];
        if (fault.state == FaultState.None) revert UnknownFault(id);
    }

    function _faultIn(uint256 id, FaultState state) internal view returns (Fault storage fault) {
        fault = _fault(id);
        if (fault.state != state) _revertState(id, fault.state);
    }

    function _revertState(uint256 id, FaultState state) internal pure {
        revert WrongFaultState(id, state);
    }

    function _running(uint32 machine) internal view returns (uint256 id) {
        id = runningFault(machine);
        if (id == 0) revert NotDown(machine);
    }

    function _requireNotDown(uint32 machine) internal view {
        uint256 id = runningFault(machine);
        if (id != 0) revert AlreadyDown(machine, id);
    }

    /// @dev The challenge that stands, or nothing.
    function _asked(uint32 machine) internal view returns (Standing memory) {
        return _challenges[machine];
    }

    // ------------------------------------------------------------------------------------------------------ of the pool

    function _seen(uint32 machine) internal view returns (Stake memory) {
        return _controller().stakeOf(machine);
    }

    function _lease(uint256 lease) internal view returns (Tenancy memory) {
        return _controller().tenancyOf(lease);
    }

    function _rules(uint16 version) internal view returns (Judging memory) {
        return _controller().judging(version);
    }

    /// @dev Who gets what nobody has coming.
    function _sink(Judging memory rules) internal pure returns (address) {
        return rules.sink == address(0) ? BURNT : rules.sink;
    }

    function _hooks() internal view returns (IPoolHooks) {
        return IPoolHooks(address(_controller()));
    }

    function _committee() internal view returns (ICommittee) {
        (address committee,,,) = _controller().companions();
        return ICommittee(committee);
    }

    // ---------------------------------------------------------------------------------------------------------- of time

    /// @dev No later than the machine retired, if it has.
    function _inService(uint256 time, uint256 retiredAt) internal pure returns (uint256) {
        return retiredAt == 0 ? time : Billing.min(time, retiredAt);
    }

    function _today(uint256 retiredAt) internal view returns (uint256) {
        return _inService(block.timestamp, retiredAt) / 1 days;
    }

    function _later(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a : b;
    }

    function _requireIssued(address operator, uint256 issuedAt, uint256 since, bytes32 structHash, bytes calldata proof)
        internal
        view
    {
        if (
            issuedAt < since || issuedAt > block.timestamp
                || !_accounts.isAuthorized(operator, _digest(structHash), proof)
        ) revert WrongSignature(operator);
    }
}
