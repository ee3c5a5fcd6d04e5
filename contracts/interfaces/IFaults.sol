// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICompanion} from "./ICompanion.sol";

enum FaultKind {
    None,
    SelfReported, // the operator said so, from then on
    Challenged, // the operator did not answer a tenant: the lowest tier, whatever it lasts
    Attested, // a quorum of seats said so
    FalseHardware // a committee measured something else than what was declared
}

enum FaultState {
    None,
    Running, // an outage that has not ended
    Filed, // may be appealed until `filedAt + appealWindow`, then executed
    Appealed, // may be ruled on until `deadline`, then executed
    Upheld, // the arbiter let it stand: executed once tenants have had `appealWindow` to register
    Executed, // paid for; at once if it cost nothing (`amount` 0), unless a quorum or a committee said so
    Dropped // the arbiter took it back
}

/// @param machine what failed
/// @param from begin of the outage; of false hardware, a week before its verification was asked for
/// @param to its end, exclusive; 0 while Running; of false hardware, when its verification was asked for
/// @param filedAt when what it costs was fixed
/// @param deadline until when the provider may appeal, while Filed, the arbiter rule, while Appealed, and tenants register
/// what they lost, while Upheld; it is executed after that
/// @param bps what it charged the machine's window with
/// @param rules the parameter version that judges it in all: the one that the provider had accepted when the outage, as it
/// was first known, began; of false hardware, the one of the revision that was measured
/// @param round of false hardware, the committee's
/// @param amount of stake to be moved, token units; 0 if it cost nothing
/// @param bond of the appeal, token units, while it stands
/// @param previous the machine's outage before this one in time, or 0; 0 too for false hardware, which is no outage
/// @param pot what registered tenants have coming, token units; it is moved here when the fault is executed
/// @param reporter who has a tenth: the challenger, or the quorum (`ICommittee.witness`), or 0 for nobody
struct Fault {
    uint32 machine;
    FaultKind kind;
    FaultState state;
    uint32 from;
    uint32 to;
    uint32 filedAt;
    uint32 deadline;
    uint16 bps;
    uint16 rules;
    uint48 round;
    uint96 amount;
    uint96 bond;
    uint48 previous;
    uint96 pot;
    bytes32 reporter;
}

/// @param id counts a pool's challenges; an `Answer` names it
struct Challenge {
    address challenger;
    uint96 bond;
    uint32 at;
    uint256 id;
}

/// @title Outages, what they cost, and appeals. The only contract that can move a machine's stake to anyone but its owner.
/// @notice The scale, in basis points of the machine's stake, by its downtime over the last seven whole days and today:
/// up to 7 minutes, 48 hours, 120 hours, more. Self-reported 200, 400, 3000, 5000; proven 400, 800, 6000, 10000; false
/// hardware 10000. Less what those days already cost; at most `maxSlashBps` in them, and after retirement in all.
interface IFaults is ICompanion {
    /// @notice A tenant says that the machine is down, and staked `bond` on it. The operator has to answer.
    event Challenged(
        uint32 indexed machine, uint256 indexed challenge, address indexed challenger, uint256 lease, uint96 bond
    );
    /// @notice The operator answered the challenge in time: the machine is up, and the challenger lost its bond.
    event Answered(uint32 indexed machine, uint256 indexed challenge);
    /// @notice A machine is down since `from`. `rules` is the version of the pool's rules that judges it.
    event OutageOpened(
        uint256 indexed fault, uint32 indexed machine, FaultKind kind, uint32 from, uint16 rules, bytes32 reporter
    );
    /// @notice A running outage is now known from a quorum, perhaps from an earlier time.
    event OutageAttested(uint256 indexed fault, uint32 indexed machine, uint32 from, bytes32 reporter);
    /// @notice Nobody proved in time that the challenge was not answered: the bond goes back, and it moves nothing.
    event ChallengeEnded(uint32 indexed machine, uint256 indexed challenge);
    /// @notice The outage has ended. `amount` may be 0: then nothing follows.
    event FaultFiled(
        uint256 indexed fault, uint32 indexed machine, FaultKind kind, uint32 from, uint32 to, uint16 bps, uint96 amount
    );
    /// @notice The outage's time came off a lease's bill, and `part` is its share of what the provider loses.
    event OutageApplied(uint256 indexed fault, uint256 indexed lease, address indexed tenant, uint96 part);
    /// @notice The provider appealed, with a bond: the arbiter rules until `deadline`.
    event Appealed(uint256 indexed fault, uint32 indexed machine, uint32 deadline);
    /// @notice The arbiter ruled: the fault stands, or it is dropped.
    event Ruled(uint256 indexed fault, bool stands);
    /// @notice The machine lost `amount` of its stake: `pot` for its tenants, `reported` for who reported it, `rest`
    /// for `sink`.
    event FaultExecuted(
        uint256 indexed fault,
        uint32 indexed machine,
        uint96 amount,
        uint96 pot,
        uint96 reported,
        uint96 rest,
        address sink
    );
    /// @notice A tenant's part of what the provider lost went into its ledger.
    event Compensated(uint256 indexed fault, uint256 indexed lease, address indexed tenant, uint256 amount);

    /// @notice There is no fault {fault} in this pool: check its number.
    error UnknownFault(uint256 fault);
    /// @notice The rules that judge fault {fault} name no arbiter: there is no appeal, and it stands.
    error NobodyRules(uint256 fault);
    /// @notice Fault {fault} is {state:fault}, in which this cannot be done: look at it again.
    error WrongFaultState(uint256 fault, FaultState state);
    /// @notice Machine {machine} is down already (fault {fault}): there is nothing to report.
    error AlreadyDown(uint32 machine, uint256 fault);
    /// @notice Machine {machine} is not down: there is nothing to end or to roll.
    error NotDown(uint32 machine);
    /// @notice Machine {machine} is challenged until {until:utc}: its operator answers first, or anybody proves it in
    /// the hour after that.
    error ChallengeStands(uint32 machine, uint256 until);
    /// @notice Machine {machine} is not challenged: there is nothing to answer or to prove.
    error NoChallenge(uint32 machine);
    /// @notice The challenge of machine {machine} had to be answered by {deadline:utc}: for an hour after that anybody
    /// may prove it, then it is over.
    error ChallengeLapsed(uint32 machine, uint256 deadline);
    /// @notice {actor} has no running lease {lease:lease}: only a tenant of the machine challenges it.
    error NotATenant(uint256 lease, address actor);
    /// @notice Lease {lease:lease} is not on machine {machine}: name one of that machine.
    error WrongLease(uint256 lease, uint32 machine);
    /// @notice An outage from {from:utc} to {to:utc} cannot be filed: name a time after the last one and inside the
    /// filing window.
    error OutageOutOfRange(uint256 from, uint256 to);
    /// @notice The outage has not reached the highest tier: file it after {until:utc}, or let it end.
    error OutageTooShort(uint256 until);
    /// @notice Fault {fault} could be appealed until {deadline:utc}: it stands now.
    error AppealOver(uint256 fault, uint256 deadline);
    /// @notice Fault {fault} may be appealed or ruled on, and tenants register what they lost, until {deadline:utc}:
    /// execute it after that.
    error AppealOpen(uint256 fault, uint256 deadline);
    /// @notice Fault {fault} could be ruled on until {deadline:utc}: it stands now.
    error RulingOver(uint256 fault, uint256 deadline);
    /// @notice Fault {fault} takes nothing off these leases: name leases that ran during the outage.
    error NothingToApply(uint256 fault);
    /// @notice What verification {round} found was reported already: look at the pool's faults.
    error ReportedAlready(uint256 round);
    /// @dev As the error of this name of `IAccounts`, whose notice says what it means.
    error WrongSignature(address account);

    /// @notice The operator says that the machine is down from now on. Not while a challenge stands.
    /// A quorum does not make a self-reported outage dearer; it may attest what was before it, while it runs.
    function reportOutage(uint32 machine) external returns (uint256 fault);
    /// @notice A tenant of the machine asks its operator for a sign of life, with a bond out of the ledger.
    function challenge(uint32 machine, uint256 lease) external returns (uint256 id);
    /// @notice The operator lives. Sent by it, or by anyone with its proof over `Answer(account, machine, fault, issuedAt)`,
    /// where `fault` is the challenge's id. A tenth of the bond goes to the provider, the rest to the accepted rules' sink.
    function answer(uint32 machine, uint64 issuedAt, bytes calldata proof) external;
    /// @notice Nobody answered inside `challengeWindow`: an outage runs since the challenge. The bond goes back. Anyone may send
    /// it. An hour after the window the question is over: then only the bond goes back.
    /// @return fault 0 if the question is over, or the machine had retired by then
    function prove(uint32 machine) external returns (uint256 fault);
    /// @notice More than two thirds of the matured seats that the accepted rules admit, of at least five validators, signed
    /// `Outage(account, machine, from, to)`. With `to` 0 the machine is still down: opens an outage, or turns a challenged one into an
    /// attested one, perhaps from an earlier time; that word is good for a day after `from`. Else files what of it lies in one
    /// gap between outages that are known, of a longer one its last 120 hours and a second: one word is sent once for each of
    /// its gaps, as long as they may be filed. Seats that leave sign nothing.
    /// @param next the outage right after the gap, or 0: the gap ends with the outage that runs, or now
    function attest(
        uint32 machine,
        uint256 next,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (uint256 fault);
    /// @notice Ends the outage now. Sent by the operator or the provider, or by anyone with the operator's proof over
    /// `Recover(account, machine, issuedAt)`, issued since the outage began.
    function recover(uint32 machine, uint64 issuedAt, bytes calldata proof) external;
    /// @notice Files an outage that has reached the highest tier, or whose machine has retired, and, unless it has retired,
    /// lets another one run on from now. Anyone may send it.
    function roll(uint32 machine) external;
    /// @notice A committee's round ended with agreement on other hardware than was declared: a fault of the week up to the
    /// request. Anyone may send it, once.
    function reportFalseHardware(uint256 round) external returns (uint256 fault);

    /// @notice Takes the outage off what the leases owe and, until it is executed, registers what their tenants lost: their
    /// cells times seconds, of all the machine's cells times the outage's seconds, is their part of half the slash. The
    /// fault's tenants are those who have the leases then. Leases that have it already, that it does not touch, or that are
    /// no more, are passed over.
    function applyOutage(uint256 fault, uint256[] calldata leases) external;
    /// @notice The provider appeals, with a bond out of the ledger. Not where the rules name no arbiter.
    function appeal(uint256 fault) external;
    /// @notice The arbiter rules whom the fault's rules name. Silence lets it stand and gives the bond back, for nobody has said
    /// that the appeal was wrong; where it is said to stand, the bond goes to the sink. What the
    /// arbiter takes back costs those who had found or signed it (`ICommittee`).
    function rule(uint256 fault, bool stands) external;
    /// @notice LeaseChanges the stake: to tenants what they registered (`compensate`), a tenth to reporters, the rest to the sink of
    /// the fault's rules, or to nobody for ever. Once the window for an appeal or a ruling has passed; if it was upheld
    /// before, once that for an appeal would have. Anyone may send it.
    function execute(uint256 fault) external;
    /// @notice Credits tenants with what they registered. Leases that have nothing coming are passed over.
    function compensate(uint256 fault, uint256[] calldata leases) external;

    function faultOf(uint256 fault) external view returns (Fault memory);
    function faultCount() external view returns (uint256);
    /// @notice The machine's running outage, or 0.
    function runningFault(uint32 machine) external view returns (uint256 fault);
    function challengeOf(uint32 machine) external view returns (Challenge memory);
    /// @notice The most that a challenge of `challenger` must hold: twice the last one if that was answered within 24 hours.
    /// It is less where the rules of the lease for which it asks had a smaller bond than those accepted now.
    function bondOf(uint32 machine, address challenger) external view returns (uint96);
    /// @notice Downtime and basis points charged over the last seven whole days and today.
    function windowOf(uint32 machine) external view returns (uint256 downtime, uint256 chargedBps);
    /// @notice All that a provider was slashed, halving every 90 days, token units.
    function slashedOf(address provider) external view returns (uint256);
}
