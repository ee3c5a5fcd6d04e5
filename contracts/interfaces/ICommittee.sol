// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICompanion} from "./ICompanion.sol";

/// @param validator who staked
/// @param stake what is left of it, token units. It was bought with `level` and a tenth of that, out of which fines come.
/// @param level what it judges with: it sits and signs under all rules whose `seatStake` is no more. One whose stake falls
/// under its level leaves of itself, and judges nothing more.
/// @param joinedAt matures three days later
/// @param leavesAt from when `exit` gives the stake back; 0 while it stays. It is drawn for no round whose block is named
/// after it began to leave; where it was drawn before, it must reveal.
/// @param finedAt when it was fined last; not again within seven days
/// @param version of the rules, by which it joined: it answers to the arbiter whom that names, and to no other
struct Seat {
    address validator;
    uint96 stake;
    uint96 level;
    uint32 joinedAt;
    uint32 leavesAt;
    uint32 finedAt;
    uint16 version;
}

/// @notice Who has signed with which seat, and what that seat weighs.
struct Signer {
    uint32 seat;
    address validator;
    uint96 level;
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
/// @param fee what of it is still held, token units; once it was shared, what each of the majority got
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
    /// @notice A validator staked a seat of this level. It matures in three days.
    event SeatJoined(uint32 indexed seat, address indexed validator, uint96 level, uint96 stake);
    /// @notice A fine was made good: the seat's stake is `stake` again.
    event SeatToppedUp(uint32 indexed seat, uint96 stake);
    /// @notice The seat is drawn for no further round, and gives its stake back from `leavesAt` on.
    event SeatLeaving(uint32 indexed seat, uint32 leavesAt);
    /// @notice The seat's stake went back into its validator's ledger.
    event SeatExited(uint32 indexed seat, address indexed validator, uint96 stake);
    /// @notice A tenth of its level is gone: it was silent, or the arbiter took back what it had signed.
    event SeatFined(uint32 indexed seat, uint96 amount, uint96 stake);
    /// @notice These validators signed an attestation together. `quorum` stands for exactly them.
    event QuorumSigned(bytes32 indexed quorum, Signer[] signers);
    /// @notice A fault that they reported brought these signers a share: `due` to them by now.
    event QuorumCredited(bytes32 indexed quorum, uint96 due);
    /// @notice What was due to these signers was shared among them; what could not be divided is burnt.
    event QuorumPaid(bytes32 indexed quorum, uint96 amount);
    /// @notice An arbiter overturned what these signers had attested: their seats under it may be fined.
    event QuorumDisowned(bytes32 indexed quorum, address indexed arbiter);
    /// @notice The seats of these signers under the arbiter lost `amount` together.
    event QuorumFined(bytes32 indexed quorum, address indexed arbiter, uint256 amount);
    /// @notice The arbiter took back what came of the round: `amount` for each of the `count` members who had seen otherwise.
    event RoundOverturned(uint256 indexed round, uint256 count, uint256 amount);
    /// @notice Somebody paid to have a machine measured. The committee is drawn with the hash of `block_`.
    event VerificationRequested(
        uint256 indexed round,
        uint32 indexed machine,
        uint16 revision,
        address indexed requester,
        uint96 fee,
        uint64 block_
    );
    /// @notice Nobody drew the committee in time: another block, `block_`, is named for it.
    event DrawMissed(uint256 indexed round, uint64 block_);
    /// @notice These seats measure the machine: commitments until `commitUntil`, then reveals until `revealUntil`.
    event CommitteeDrawn(uint256 indexed round, uint32[] seats, uint32 commitUntil, uint32 revealUntil);
    /// @notice A seat has committed to what it measured.
    event Committed(uint256 indexed round, uint32 indexed seat, bytes32 commitment);
    /// @notice A seat has said what it measured, and it is what it had committed to.
    event Revealed(uint256 indexed round, uint32 indexed seat, bool pass, bytes32 spec, uint16 score);
    /// @notice The verification is over: what `agreed` seats saw alike, or that too few did.
    event RoundFinalized(
        uint256 indexed round, uint32 indexed machine, RoundState state, bytes32 spec, uint16 score, uint8 agreed
    );

    /// @notice There is no seat {seat} in this pool: look for it among the pool's seats.
    error UnknownSeat(uint32 seat);
    /// @notice Version {version} of the parameters is not in force and never was: buy a seat for one that is.
    error UnknownVersion(uint16 version);
    /// @notice Seats have been sold at 32 prices, and at no other: buy one for an earlier version of the parameters.
    error TooManyLevels();
    /// @notice Too few validators have signed: collect more than two thirds of the matured seats, of at least five
    /// validators.
    error NoQuorum();
    /// @notice These signers have nothing coming, or to lose: name those of one attestation, in their order.
    error NothingForQuorum(bytes32 quorum);
    /// @notice Verification {round} found no other hardware than declared: there is nothing to report.
    error NoFalseHardware(uint256 round);
    /// @notice Seat {seat} matures {maturesAt:utc}: try again after that.
    error SeatNotMatured(uint32 seat, uint256 maturesAt);
    /// @notice Seat {seat} is leaving already: take its stake out with `exit` once its time is up.
    error SeatLeavingAlready(uint32 seat);
    /// @notice Seat {seat} has not begun to leave: call `leave` first.
    error SeatNotLeaving(uint32 seat);
    /// @notice The stake of seat {seat} is locked until {until:utc}: exit after that.
    error SeatLocked(uint32 seat, uint256 until);
    /// @notice There is no verification {round} in this pool: check its number.
    error UnknownRound(uint256 round);
    /// @notice Verification {round} is {state:round}, in which this cannot be done: look at it again.
    error WrongRoundState(uint256 round, RoundState state);
    /// @notice Machine {machine} was verified lately: ask again after {nextAt:utc}.
    error TooSoon(uint32 machine, uint256 nextAt);
    /// @notice The machine is at revision {current} now: look at it and ask again for that one.
    error WrongRevision(uint16 current);
    /// @notice Machine {machine} is not in service, so there is nothing to measure: choose another.
    error MachineNotInService(uint32 machine);
    /// @notice Machine {machine} is being verified already (verification {round}): wait until it has ended.
    error RoundRunning(uint32 machine, uint256 round);
    /// @notice The committee is drawn with the hash of block {block_}: try again once it is mined.
    error BlockNotMined(uint256 block_);
    /// @notice There are {seats} seats that may be drawn and {needed} are needed: try again when more validators have
    /// joined.
    error TooFewSeats(uint256 seats, uint256 needed);
    /// @notice Seat {seat} is not of the committee of verification {round}: use the seat that was drawn.
    error NotDrawn(uint256 round, uint32 seat);
    /// @notice Verification {round} took commitments until {until:utc}: there is nothing left to commit.
    error CommitOver(uint256 round, uint256 until);
    /// @notice Verification {round} takes reveals from {from:utc} on: reveal then.
    error RevealNotOpen(uint256 round, uint256 from);
    /// @notice Verification {round} took reveals until {until:utc}: it is too late to reveal.
    error RevealOver(uint256 round, uint256 until);
    /// @notice Verification {round} runs until {until:utc}: finalize it after that.
    error RoundOpen(uint256 round, uint256 until);
    /// @notice Seat {seat} has committed in verification {round} already: reveal that commitment.
    error AlreadyCommitted(uint256 round, uint32 seat);
    /// @notice That is not what seat {seat} committed in verification {round}: reveal the very values and salt.
    error WrongReveal(uint256 round, uint32 seat);
    /// @notice A score is 0 to 1000, not {score}: correct it.
    error InvalidScore(uint16 score);

    /// @notice Stakes a seat that judges under the rules of `version`, which are or were in force, and under all that ask no
    /// more: their `seatStake` and a tenth of it, out of the actor's ledger. It matures in three days, and answers to the
    /// arbiter of `version`.
    function join(uint16 version) external returns (uint32 seat);
    /// @notice Makes good a fine out of the actor's ledger, as far as there was one. Anyone may.
    function topUp(uint32 seat, uint96 amount) external;
    /// @notice Begins to leave, once matured. `exit` in three weeks: so long it answers for what it has signed.
    function leave(uint32 seat) external;
    /// @notice Gives the stake back to the validator's ledger. Anyone may send it.
    function exit(uint32 seat) external;

    /// @notice Asks for the machine to be measured as `revision` describes it, for `verificationFee` out of the actor's
    /// ledger. Fee, size, interval and seats are those of the rules that the revision accepts. The provider has one round at a
    /// time, and one in `reverifyInterval` unless the last was inconclusive; all others together have one as well, which
    /// so stands in the way of none of the provider's.
    function requestVerification(uint32 machine, uint16 revision) external returns (uint256 round);
    /// @notice Draws the committee with the hash of the round's block, for a reward out of the fee that grows with each
    /// miss. If that block is too old, or its hash leads to too few seats, names another block, for nothing; after
    /// `MAX_MISSES` of these the round is inconclusive and the whole fee goes back. Anyone may send it.
    function draw(uint256 round) external;
    /// @param commitment `keccak256(abi.encode(chain id, controller, round, seat, pass, spec, score, salt))`
    function commit(uint256 round, uint32 seat, bytes32 commitment) external;
    function reveal(uint256 round, uint32 seat, bool pass, bytes32 spec, uint16 score, bytes32 salt) external;
    /// @notice Counts. An outcome needs more than half of those drawn to agree on (pass, spec). Each of
    /// them has his part of what is left of the fee, as many parts as were drawn, and the rest is burnt; who revealed another
    /// view has none and loses nothing; who was silent is fined. Without an outcome nobody loses anything, and what is left of
    /// the fee goes back. Anyone may send it.
    function finalize(uint256 round) external;

    /// @notice Faults: `arbiter` has taken back what came of a round. Who agreed in it, and joined under rules that name him,
    /// is fined; out of that who revealed another view gets the part of the fee that he went without, and the rest is burnt.
    function overturn(uint256 round, address arbiter) external;
    /// @notice Faults: `Outage(account, machine, from, to)` is signed by more than two thirds of the matured seats that the rules of `version`
    /// admit, of at least five validators, or it reverts. Logs who they are.
    /// @param seats strictly ascending, 512 at most
    /// @param proofs of their validators, as `Accounts.isAuthorized` takes them, one a seat. For a further seat of one of
    /// the first five validators it is not looked at and may be empty.
    /// @return quorum `keccak256(abi.encode(Signer[]))`
    function witness(
        uint16 version,
        uint32 machine,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (bytes32 quorum);
    /// @notice Faults: `amount`, which is in this contract's ledger, is that quorum's.
    function credit(bytes32 quorum, uint96 amount) external;
    /// @notice Faults: `arbiter` has taken back what that quorum signed.
    function disown(bytes32 quorum, address arbiter) external;
    /// @notice Credits a quorum's signers with what they have earned, each by the level of his seat. Anyone may send it.
    function payQuorum(Signer[] calldata signers) external;
    /// @notice Fines those signers of a quorum, whose word `arbiter` has taken back, who joined under rules that name him; it
    /// is burnt. Anyone may send it, once.
    function fineQuorum(Signer[] calldata signers, address arbiter) external;

    function seatOf(uint32 seat) external view returns (Seat memory);
    /// @notice The highest seat there has been. The number of one that exited goes to a later one.
    function seatCount() external view returns (uint32);
    /// @notice Seats that have matured, have not exited and may judge under the rules of `version`.
    function maturedSeats(uint16 version) external view returns (uint256);
    function roundOf(uint256 round) external view returns (Round memory);
    function roundCount() external view returns (uint256);
    function drawnFor(uint256 round) external view returns (uint32[] memory seats);
    /// @notice What a quorum has earned and was not credited with yet, token units.
    function dueOf(bytes32 quorum) external view returns (uint96);
    /// @notice When `arbiter` took back a quorum's word for which it was not fined yet, or 0.
    function disownedAt(bytes32 quorum, address arbiter) external view returns (uint256);
    /// @notice Whose hardware a round found to be other than declared, in what revision, asked for and measured when.
    function falseHardwareOf(uint256 round)
        external
        view
        returns (uint32 machine, uint16 revision, uint32 requestedAt, uint32 revealedAt);
}
