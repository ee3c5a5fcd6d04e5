// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Checkpoints} from "@openzeppelin/contracts/utils/structs/Checkpoints.sol";
import {ICommittee, RoundState, Seat} from "../../interfaces/ICommittee.sol";
import {MachineStatus, MachineView, Params} from "../../interfaces/PoolTypes.sol";
import {Rules} from "../../libraries/Rules.sol";
import {Companion} from "../Companion.sol";

/// @title What is known of seats, rounds and quorums, one layout for all parts of `Committee`.
/// @dev The only place where `Committee` declares state variables.
abstract contract CommitteeStorage is Companion, ICommittee {
    uint256 internal constant MATURITY = Rules.MATURITY;
    uint256 internal constant REVEAL_WINDOW = 2 hours;

    // ----------------------------------------------------------------------------------------------------- what is kept

    /// @dev `seats` is the highest id.
    struct Census {
        uint32 seats;
        uint64 rounds;
    }

    /// @dev The seats that were bought for one price. `places` numbers them: a seat keeps its place, and whoever joins where
    /// one has exited gets both. It is as long as ids go, so that eight share a slot and a draw reads few of them; only what is
    /// written costs anything. `gone` counts those that exited or are weak, all of which had matured.
    struct Level {
        uint96 price;
        uint32 gone;
        /// At each time `joins so far << 32 | places so far`.
        Checkpoints.Trace224 joins;
        uint32[] free;
        uint32[1 << 32] places;
    }

    /// @dev A round as it is stored. `namedAt` fixes, with `requestedAt` and the revision's rules, who may be drawn.
    struct Stored {
        uint32 machine;
        uint16 revision;
        RoundState state;
        uint8 misses;
        uint32 requestedAt;
        uint32 namedAt;
        uint40 block_;
        uint32 commitUntil;
        uint16 score;
        uint8 size;
        // slot 1
        address requester;
        uint96 fee;
        // slot 2
        bytes32 spec; // written when it is not zero
        // slot 3
        uint256 votes;
        // slots 4 and 5
        uint32[16] drawn;
    }

    Census internal _census;
    Level[] internal _levels;
    mapping(uint256 seat => Seat) internal _seats;
    mapping(uint256 round => Stored) internal _rounds;
    /// @dev What signers have earned together, and when an arbiter took back what they had signed.
    mapping(bytes32 signers => uint96 due) internal _dues;
    mapping(bytes32 signers => mapping(address arbiter => uint256 time)) internal _disowned;
    mapping(uint256 machine => mapping(bool byProvider => uint256 round)) internal _lastRound;
    /// @dev Of the rounds whose outcome the pool was told, when the latest was asked for.
    mapping(uint256 machine => uint256 time) internal _told;
    /// @dev A drawn seat's commitment, and, once it is revealed, the spec that it held.
    mapping(uint256 round => mapping(uint256 seat => bytes32)) internal _sealed;

    // ------------------------------------------------------------------------------------------------------ of the pool

    modifier onlyFaults() {
        _onlyFaults();
        _;
    }

    /// @dev Apart from the modifier, whose code stands in each function that has it.
    function _onlyFaults() private view {
        (, address faults,,) = _controller().companions();
        if (msg.sender != faults) revert NotAuthorized(msg.sender);
    }

    function _machine(uint32 machine) internal view returns (MachineView memory) {
        return _controller().machineOf(machine);
    }

    function _rules(uint16 version) internal view returns (Params memory) {
        return _controller().params(version);
    }

    function _priceUnder(uint16 version) internal view returns (uint96) {
        return _rules(version).seatStake;
    }

    function _inService(MachineView memory seen) internal pure returns (bool) {
        return seen.status == MachineStatus.Unverified || seen.status == MachineStatus.Verified;
    }
}
