// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICompanion} from "./ICompanion.sol";

/// @param validator who staked
/// @param stake what is left of it, token units; a seat that falls under half of `full` leaves of itself
/// @param joinedAt matures `MATURITY` later
/// @param leavesAt from when `exit` gives the stake back; 0 while it stays. It is drawn for no round whose block is named
/// after it began to leave; where it was drawn before, it must reveal.
struct Seat {
    address validator;
    uint96 stake;
    uint96 full;
    uint32 joinedAt;
    uint32 leavesAt;
}

enum RoundState {
    None,
    Requested, // to be drawn with the hash of `block_`
    Drawn, // commits before `commitUntil`, then reveals before `revealUntil`
    Passed,
    Failed,
    Inconclusive
}

/// @param misses blocks that were named and did not lead to a draw
/// @param fee what of it is still held, token units
/// @param size seats to be drawn
/// @param spec what the majority measured: a digest of the hardware document, or 0 for what could not be measured
/// @param score median of the majority's scores (of an even number the lower one), 0 to 1000
struct Round {
    uint32 machine;
    uint16 revision;
    RoundState state;
    uint8 misses;
    uint32 requestedAt;
    uint64 block_;
    uint32 commitUntil;
    uint32 revealUntil;
    uint96 fee;
    uint16 score;
    uint8 size;
    address requester;
    bytes32 spec;
}

/// @title Validators' seats, and verification of machines by a committee drawn from them.
interface ICommittee is ICompanion {
    event SeatJoined(uint32 indexed seat, address indexed validator, uint96 stake);
    event SeatToppedUp(uint32 indexed seat, uint96 stake);
    event SeatLeaving(uint32 indexed seat, uint32 leavesAt);
    event SeatExited(uint32 indexed seat, address indexed validator, uint96 stake);
    event SeatPenalized(uint32 indexed seat, uint256 indexed round, uint96 amount, uint96 stake);
    event VerificationRequested(
        uint256 indexed round,
        uint32 indexed machine,
        uint16 revision,
        address indexed requester,
        uint96 fee,
        uint64 block_
    );
    event DrawMissed(uint256 indexed round, uint64 block_);
    event CommitteeDrawn(uint256 indexed round, uint32[] seats, uint32 commitUntil, uint32 revealUntil);
    event Committed(uint256 indexed round, uint32 indexed seat, bytes32 commitment);
    event Revealed(uint256 indexed round, uint32 indexed seat, bool pass, bytes32 spec, uint16 score);
    event RoundFinalized(
        uint256 indexed round, uint32 indexed machine, RoundState state, bytes32 spec, uint16 score, uint8 agreed
    );

    error UnknownSeat(uint32 seat);
    error SeatNotMatured(uint32 seat, uint256 maturesAt);
    error SeatLeavingAlready(uint32 seat);
    error SeatNotLeaving(uint32 seat);
    error SeatLocked(uint32 seat, uint256 until);
    error UnknownRound(uint256 round);
    error WrongRoundState(uint256 round, RoundState state);
    error TooSoon(uint32 machine, uint256 nextAt);
    error WrongRevision(uint16 current);
    error MachineNotInService(uint32 machine);
    error RoundRunning(uint32 machine, uint256 round);
    error BlockNotMined(uint256 block_);
    error TooFewSeats(uint256 seats, uint256 needed);
    error NotDrawn(uint256 round, uint32 seat);
    error CommitOver(uint256 round, uint256 until);
    error RevealNotOpen(uint256 round, uint256 from);
    error RevealOver(uint256 round, uint256 until);
    error RoundOpen(uint256 round, uint256 until);
    error AlreadyCommitted(uint256 round, uint32 seat);
    error WrongReveal(uint256 round, uint32 seat);
    error InvalidScore(uint16 score);

    /// @notice Stakes a seat out of the actor's ledger. It matures in three days.
    function join() external returns (uint32 seat);
    /// @notice Adds to a seat's stake out of the actor's ledger, up to what is full. Anyone may.
    function topUp(uint32 seat, uint96 amount) external;
    /// @notice Begins to leave, once matured. `exit` in seven days.
    function leave(uint32 seat) external;
    /// @notice Gives the stake back to the validator's ledger. Anyone may send it.
    function exit(uint32 seat) external;

    /// @notice Asks for the machine to be measured as `revision` describes it, for `verificationFee` out of the actor's
    /// ledger. One round a machine at a time, and one in `reverifyInterval`, unless the last was inconclusive.
    function requestVerification(uint32 machine, uint16 revision) external returns (uint256 round);
    /// @notice Draws the committee with the hash of the round's block, for a reward out of the fee that grows with each
    /// miss. If that block is too old, or its hash leads to too few seats, names another block, for nothing; after
    /// `MAX_MISSES` of these the round is inconclusive and the whole fee goes back. Anyone may send it.
    function draw(uint256 round) external;
    /// @param commitment `keccak256(abi.encode(chain id, controller, round, seat, pass, spec, score, salt))`
    function commit(uint256 round, uint32 seat, bytes32 commitment) external;
    function reveal(uint256 round, uint32 seat, bool pass, bytes32 spec, uint16 score, bytes32 salt) external;
    /// @notice Counts. An outcome needs more than half of those drawn to agree on (pass, spec). They share what is left of
    /// the fee; the others lose a tenth of a full stake to the treasury. Without an outcome nobody loses anything, and what
    /// is left of the fee goes back. Anyone may send it.
    function finalize(uint256 round) external;

    function seatOf(uint32 seat) external view returns (Seat memory);
    /// @notice The highest seat there has been. The number of one that exited goes to a later one.
    function seatCount() external view returns (uint32);
    /// @notice Seats that have matured and not exited.
    function maturedSeats() external view returns (uint256);
    function roundOf(uint256 round) external view returns (Round memory);
    function roundCount() external view returns (uint256);
    function drawnFor(uint256 round) external view returns (uint32[] memory seats);
    /// @notice Whether more than two thirds of the matured seats, of at least five validators, have signed `digest`.
    /// @param seats strictly ascending
    /// @param proofs of their validators, as `Accounts.isAuthorized` takes them, one a seat. For a further seat of one of
    /// the first five validators it is not looked at and may be empty.
    function isQuorum(bytes32 digest, uint32[] calldata seats, bytes[] calldata proofs) external view returns (bool);
    /// @notice The validators of `seats`, each once, in the order of the seats.
    function validatorsOf(uint32[] calldata seats) external view returns (address[] memory);
}
