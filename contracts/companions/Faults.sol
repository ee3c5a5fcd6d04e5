// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {ICommittee, Round, RoundState} from "../interfaces/ICommittee.sol";
import {IController} from "../interfaces/IController.sol";
import {IControllerErrors} from "../interfaces/IControllerErrors.sol";
import {IControllerHooks} from "../interfaces/IControllerHooks.sol";
import {LeaseState, LeaseView, MachineView, Params} from "../interfaces/IControllerTypes.sol";
import {Challenge, Fault, FaultKind, FaultState, IFaults} from "../interfaces/IFaults.sol";
import {Billing} from "../libraries/Billing.sol";
import {Cells} from "../libraries/Cells.sol";
import {Slashing} from "../libraries/Slashing.sol";
import {Companion} from "./Companion.sol";

/// @title Outages, what they cost, and appeals.
/// @dev A fault's state moves only along
///
///     Running → Filed → Executed             recover, roll; execute
///               Filed → Appealed → Upheld → Executed     appeal; rule
///                       Appealed → Executed              silence; execute
///     Running → Dropped, Appealed → Dropped  it cost nothing; rule
///
/// Each arrow but `appeal` and `rule` is anyone's to send once its time has come, so a fault keeps a stake from leaving for
/// no longer than an outage lasts, an appeal window and a ruling window. Once a machine has retired nothing new begins on
/// it but what was before, and that no later than `filingWindow` after. So nobody keeps a stake for ever.
///
/// A machine's outages are a list in the order of time, linked backwards, disjoint: a new one is put at its end or into a
/// gap. False hardware is no outage and stands in no list.
///
/// What is filed is put aside out of the stake at once (`reserved`), so that however many faults wait, each finds what it
/// was filed for. Those of one window take together what one fault would have taken, into however many parts it is cut.
///
/// This contract's ledger balance is at least Σ bonds of challenges + Σ `bond` + Σ `pot`: money comes in by `_charge`, of
/// whoever calls, and by `moveStake`, and each unit of it is written down. No function needs a guard against reentrancy:
/// only the pool, the committee and `Accounts` are called, money moves inside the pool's ledger, where nobody's code runs,
/// and a wallet that `Accounts` asks for a signature is asked by a static call.
contract Faults is Companion, IFaults {
    using SafeCast for uint256;

    uint256 private constant ROLL_AFTER = Slashing.LONG;
    /// @dev What a running attestation says, it says without a date: an old one must not open an outage that is long over.
    uint256 private constant ATTESTATION = 1 days;
    /// @dev For whom it takes to see that a challenge was not answered, and to send `prove`.
    uint256 private constant PROVE_TIME = 1 hours;
    uint256 private constant BOND_MEMORY = 24 hours;
    /// @dev Of a challenge's bond, for the answer.
    uint256 private constant ANSWER_DIVISOR = 10;
    /// @dev Who shares a tenth, at most: `execute` credits each of them, and must never cost more than a block holds.
    uint256 private constant MAX_REPORTERS = 64;

    bytes32 private constant ANSWER_TYPE =
        keccak256("Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)");
    bytes32 private constant RECOVER_TYPE = keccak256("Recover(address account,uint32 machine,uint64 issuedAt)");
    bytes32 private constant OUTAGE_TYPE = keccak256("Outage(uint32 machine,uint64 from,uint64 to)");

    /// @dev What is known of a machine. Three slots, the last written by its first fault.
    /// `lanes` is `Slashing`'s window, of which `day` is today. A machine that has retired stays at that day, so that all it
    /// can be charged with afterwards is what its last window still allows.
    /// `heldFrom`, `heldTo` and `heldUntil` are the hold that ended outages ask for; a challenge's comes on top.
    struct Watch {
        uint256 lanes;
        uint16 day;
        uint16 unsettled;
        uint64 last;
        uint96 reserved;
        uint32 heldFrom;
        uint32 heldUntil;
        uint32 heldTo;
    }

    /// @dev Two slots. `until` is the last moment for an answer.
    struct Standing {
        address challenger;
        uint96 bond;
        uint32 at;
        uint32 until;
        uint64 id;
    }

    /// @dev The last challenge of an account that was answered.
    struct Answer {
        uint96 bond;
        uint32 at;
    }

    /// @dev A tenant is written when a lease has had its outage applied, and stays; `weight` goes with the payment.
    struct Loss {
        address tenant;
        uint64 weight;
    }

    struct Slashed {
        uint96 amount;
        uint32 at;
    }

    address private _arbiter;
    uint48 private _faultCount;
    uint48 private _challengeCount;
    mapping(uint256 fault => Fault) private _faults;
    mapping(uint32 machine => Watch) private _watches;
    mapping(uint32 machine => Standing) private _challenges;
    mapping(uint32 machine => mapping(address challenger => Answer)) private _answers;
    mapping(uint256 fault => mapping(uint256 lease => Loss)) private _losses;
    mapping(uint256 round => bool) private _reported;
    mapping(address provider => Slashed) private _slashed;

    constructor(IAccounts accounts_) Companion(accounts_) {}

    // ------------------------------------------------------------------------------------------------ an outage begins

    /// @inheritdoc IFaults
    function reportOutage(uint32 machine) external returns (uint256 fault) {
        (MachineView memory seen,) = _machine(machine);
        _only(seen.operator);
        _notDown(machine);
        // What is not in service cannot fail; and an operator's key must not hold up a stake on its way out.
        if (seen.retiredAt != 0) revert IControllerErrors.MachineRetiredAlready(machine);
        Standing storage standing = _challenges[machine];
        if (standing.at != 0) revert ChallengeStands(machine, standing.until);
        fault = _begin(machine, FaultKind.SelfReported, block.timestamp, 0);
    }

    /// @inheritdoc IFaults
    function challenge(uint32 machine, uint256 lease) external returns (uint256 id) {
        // Check. Only a running lease makes a tenant: one that waits for its start has `cancelUnstarted`.
        address actor = _actor();
        LeaseView memory seen = _controller().leaseOf(lease);
        if (seen.machine != machine) revert WrongLease(lease, machine);
        if (seen.tenant != actor || seen.state != LeaseState.Active || block.timestamp >= seen.end) {
            revert NotATenant(lease, actor);
        }
        _notDown(machine);
        Standing storage standing = _challenges[machine];
        if (standing.at != 0) revert ChallengeStands(machine, standing.until);

        // Effect
        (, Params memory rules) = _machine(machine);
        uint96 bond = _bondOf(machine, actor, rules.bond);
        id = ++_challengeCount;
        standing.challenger = actor;
        standing.bond = bond;
        standing.at = uint32(block.timestamp); // `until` is later and passes a checked cast
        standing.until = (block.timestamp + rules.challengeWindow).toUint32();
        standing.id = uint64(id); // of 48 bits

        // Interact, Log
        _charge(bond);
        _hold(machine, _watches[machine]);
        emit Challenged(machine, id, actor, lease, bond);
    }

    /// @inheritdoc IFaults
    function answer(uint32 machine, uint64 issuedAt, bytes calldata proof) external {
        // Check. The proof names the challenge: it answers no other.
        Standing memory standing = _standing(machine);
        if (block.timestamp > standing.until) revert ChallengeLapsed(machine, standing.until);
        MachineView memory seen = _seen(machine);
        if (_actor() != seen.operator) {
            bytes32 hash = keccak256(abi.encode(ANSWER_TYPE, seen.operator, machine, standing.id, issuedAt));
            _issued(seen.operator, issuedAt, standing.at, hash, proof);
        }

        // Effect
        delete _challenges[machine];
        _answers[machine][standing.challenger] = Answer(standing.bond, uint32(block.timestamp));

        // Interact, Log
        _hold(machine, _watches[machine]);
        uint256 fee = standing.bond / ANSWER_DIVISOR;
        _pay(seen.provider, fee);
        _pay(_treasury(), standing.bond - fee);
        emit Answered(machine, standing.id);
    }

    /// @inheritdoc IFaults
    function prove(uint32 machine) external returns (uint256 fault) {
        // Check
        Standing memory standing = _standing(machine);
        if (block.timestamp <= standing.until) revert ChallengeStands(machine, standing.until);
        (MachineView memory seen, Params memory rules) = _machine(machine);

        // Effect, Interact. Who waits before proving makes the outage no longer for it: while leases run it reaches back as far
        // as claims were held for it (`_hold`). And what a quorum has attested meanwhile is not counted twice.
        delete _challenges[machine];
        uint256 from = standing.at;
        uint256 earliest =
            block.timestamp - rules.challengeWindow - (seen.retiredAt == 0 ? PROVE_TIME : rules.filingWindow);
        if (from < earliest) from = earliest;
        earliest = _faults[_watches[machine].last].to;
        if (from < earliest) from = earliest;
        if (seen.retiredAt == 0 || from < seen.retiredAt) {
            address[] memory reporters = new address[](1);
            reporters[0] = standing.challenger;
            fault = _begin(machine, FaultKind.Challenged, from, _name(reporters));
            if (seen.retiredAt != 0) _end(fault, seen, rules);
        }
        _pay(standing.challenger, standing.bond);
    }

    /// @inheritdoc IFaults
    function attest(uint32 machine, uint64 from, uint64 to, uint32[] calldata seats, bytes[] calldata proofs)
        external
        returns (uint256)
    {
        bytes32 reporters = _quorum(machine, from, to, seats, proofs);
        if (to == 0) return _attestRunning(machine, from, reporters);
        return _attestGap(machine, runningFault(machine), from, to, reporters);
    }

    /// @inheritdoc IFaults
    function attestBefore(uint256 next, uint64 from, uint64 to, uint32[] calldata seats, bytes[] calldata proofs)
        external
        returns (uint256)
    {
        Fault storage fault = _fault(next);
        if (fault.kind == FaultKind.FalseHardware) revert WrongFaultState(next, fault.state);
        uint32 machine = fault.machine;
        return _attestGap(machine, next, from, to, _quorum(machine, from, to, seats, proofs));
    }

    /// @inheritdoc IFaults
    function reportFalseHardware(uint256 round) external returns (uint256 id) {
        // Check
        Round memory seen = _committee().roundOf(round);
        if (seen.state != RoundState.Failed || seen.spec == 0 || _reported[round]) revert NoFalseHardware(round);
        (MachineView memory machine, Params memory rules) = _machine(seen.machine);
        uint256 event_ = seen.revealUntil;
        if (machine.retiredAt != 0) event_ = Billing.min(event_, machine.retiredAt);
        if (event_ + rules.filingWindow < block.timestamp) revert OutageOutOfRange(event_, block.timestamp);

        // Effect, Interact
        _reported[round] = true;
        id = _create(seen.machine, FaultKind.FalseHardware, seen.requestedAt, 0);
        _file(id, event_, machine, rules); // who leases after it was found shares in nothing
    }

    // -------------------------------------------------------------------------------------------------- an outage ends

    /// @inheritdoc IFaults
    function recover(uint32 machine, uint64 issuedAt, bytes calldata proof) external {
        uint256 id = _running(machine);
        (MachineView memory seen, Params memory rules) = _machine(machine);
        address actor = _actor();
        if (actor != seen.operator && actor != seen.provider) {
            bytes32 hash = keccak256(abi.encode(RECOVER_TYPE, seen.operator, machine, issuedAt));
            _issued(seen.operator, issuedAt, _faults[id].from, hash, proof);
        }
        _end(id, seen, rules);
    }

    /// @inheritdoc IFaults
    function roll(uint32 machine) external {
        uint256 id = _running(machine);
        (MachineView memory seen, Params memory rules) = _machine(machine);
        if (seen.retiredAt != 0) return _end(id, seen, rules);
        Fault storage fault = _faults[id];
        uint256 until = fault.from + ROLL_AFTER;
        if (block.timestamp <= until) revert OutageTooShort(until);
        _file(id, block.timestamp, seen, rules);
        _begin(machine, fault.kind, block.timestamp, fault.reporters);
    }

    // ------------------------------------------------------------------------------------------------- what it costs

    /// @inheritdoc IFaults
    function applyOutage(uint256 id, uint256[] calldata leases) external {
        Fault storage fault = _fault(id);
        FaultState state = fault.state;
        // One that cost nothing is taken off the bills all the same; one that the arbiter took back is not.
        if (state == FaultState.Running || (state == FaultState.Dropped && fault.amount != 0)) {
            revert WrongFaultState(id, state);
        }
        bool registers = state < FaultState.Executed;
        uint64 weight;
        bool any;
        for (uint256 i = 0; i < leases.length; ++i) {
            (bool applied, uint64 lost) = _apply(id, fault, leases[i], registers);
            if (!applied) continue;
            any = true;
            weight += lost;
        }
        if (!any) revert NothingToApply(id);
        if (weight != 0) fault.weight += weight;
    }

    /// @inheritdoc IFaults
    function appeal(uint256 id) external {
        // Check
        Fault storage fault = _in(id, FaultState.Filed);
        (MachineView memory seen, Params memory rules) = _machine(fault.machine);
        _only(seen.provider);
        if (block.timestamp > fault.deadline) revert AppealOver(id, fault.deadline);

        // Effect
        uint32 deadline = (block.timestamp + rules.rulingWindow).toUint32();
        fault.state = FaultState.Appealed;
        fault.deadline = deadline;
        fault.bond = rules.bond;

        // Interact, Log
        _charge(rules.bond);
        emit Appealed(id, fault.machine, deadline);
    }

    /// @inheritdoc IFaults
    function rule(uint256 id, bool stands) external {
        // Check
        Fault storage fault = _in(id, FaultState.Appealed);
        _only(fault.arbiter);
        if (block.timestamp > fault.deadline) revert RulingOver(id, fault.deadline);

        // Effect, Interact
        (MachineView memory seen, Params memory rules) = _machine(fault.machine);
        uint96 bond = fault.bond;
        fault.bond = 0;
        if (stands) {
            // However soon the arbiter rules, tenants have the time that they would have had without an appeal.
            fault.state = FaultState.Upheld;
            fault.deadline = (uint256(fault.filedAt) + rules.appealWindow).toUint32();
            _pay(_treasury(), bond);
        } else {
            fault.state = FaultState.Dropped;
            Watch storage watch = _watches[fault.machine];
            _forget(fault, watch, seen.retiredAt);
            watch.reserved -= fault.amount;
            _settled(fault.machine, watch);
            _pay(seen.provider, bond);
        }

        // Log
        emit Ruled(id, stands);
    }

    /// @inheritdoc IFaults
    function execute(uint256 id, address[] calldata reporters) external {
        // Check
        Fault storage fault = _fault(id);
        FaultState state = fault.state;
        if (state < FaultState.Filed || state > FaultState.Upheld) revert WrongFaultState(id, state);
        if (block.timestamp <= fault.deadline) revert AppealOpen(id, fault.deadline);
        bytes32 hash = reporters.length == 0 ? bytes32(0) : keccak256(abi.encode(reporters));
        if (hash != fault.reporters) revert WrongReporters(id);

        // Effect
        uint96 bond = fault.bond;
        fault.bond = 0;
        fault.state = FaultState.Executed;
        address provider = _seen(fault.machine).provider;
        _remember(provider, fault.amount);
        Watch storage watch = _watches[fault.machine];
        watch.reserved -= fault.amount;

        // Interact. Only inside the pool's ledger.
        _settled(fault.machine, watch);
        _distribute(id, fault, reporters);
        _pay(provider, bond);
    }

    /// @inheritdoc IFaults
    function compensate(uint256 id, uint256[] calldata leases) external {
        Fault storage fault = _in(id, FaultState.Executed);
        for (uint256 i = 0; i < leases.length; ++i) {
            Loss storage loss = _losses[id][leases[i]];
            uint64 weight = loss.weight;
            if (weight == 0) continue;
            uint96 part = uint96(Slashing.part(fault.pot, weight, fault.weight)); // at most the pot
            loss.weight = 0;
            fault.weight -= weight;
            fault.pot -= part;
            _pay(loss.tenant, part);
            emit Compensated(id, leases[i], loss.tenant, part);
        }
    }

    /// @inheritdoc IFaults
    function setArbiter(address arbiter_) external {
        _only(_owner());
        _arbiter = arbiter_;
        emit ArbiterSet(arbiter_);
    }

    // ---------------------------------------------------------------------------------------------------------- reads

    /// @inheritdoc IFaults
    function faultOf(uint256 id) external view returns (Fault memory) {
        return _faults[id];
    }

    /// @inheritdoc IFaults
    function faultCount() external view returns (uint256) {
        return _faultCount;
    }

    /// @inheritdoc IFaults
    function runningFault(uint32 machine) public view returns (uint256) {
        uint256 last = _watches[machine].last;
        return _faults[last].state == FaultState.Running ? last : 0;
    }

    /// @inheritdoc IFaults
    function challengeOf(uint32 machine) external view returns (Challenge memory) {
        Standing storage standing = _challenges[machine];
        return Challenge(standing.challenger, standing.bond, standing.at, standing.id);
    }

    /// @inheritdoc IFaults
    function bondOf(uint32 machine, address challenger) external view returns (uint96) {
        (, Params memory rules) = _machine(machine);
        return _bondOf(machine, challenger, rules.bond);
    }

    /// @inheritdoc IFaults
    function windowOf(uint32 machine) external view returns (uint256 downtime, uint256 chargedBps) {
        return Slashing.total(_window(_watches[machine], _today(_seen(machine).retiredAt)));
    }

    /// @inheritdoc IFaults
    function slashedOf(address provider) public view returns (uint256) {
        Slashed storage slashed = _slashed[provider];
        return Slashing.decayed(slashed.amount, block.timestamp - slashed.at);
    }

    /// @inheritdoc IFaults
    function arbiter() public view returns (address) {
        return _arbiter == address(0) ? _owner() : _arbiter;
    }

    // ------------------------------------------------------------------------------------------- parts of a beginning

    function _attestRunning(uint32 machine, uint256 from, bytes32 reporters) private returns (uint256 id) {
        (MachineView memory seen, Params memory rules) = _machine(machine);
        id = runningFault(machine);
        Fault storage fault = _faults[id];
        uint256 before = id == 0 ? _watches[machine].last : fault.previous;

        // From after the outage before, so that no word given before a recovery is good after it.
        uint256 end = _faults[before].to;
        uint256 most = Billing.min(ATTESTATION, rules.filingWindow);
        if (from <= end || from > block.timestamp || from + most < block.timestamp) {
            revert OutageOutOfRange(from, block.timestamp);
        }
        if (seen.retiredAt != 0 && from >= seen.retiredAt) revert OutageOutOfRange(from, seen.retiredAt);

        if (id == 0) {
            // Whoever waits for an answer was right.
            Standing memory standing = _challenges[machine];
            delete _challenges[machine];
            id = _begin(machine, FaultKind.Attested, from, reporters);
            if (seen.retiredAt != 0) _end(id, seen, rules);
            _pay(standing.challenger, standing.bond);
            return id;
        }

        // A self-report keeps its price, or nobody would report; and the same word twice changes nothing.
        FaultKind kind = fault.kind;
        if (kind == FaultKind.SelfReported || (kind == FaultKind.Attested && from >= fault.from)) {
            revert AlreadyDown(machine, id);
        }
        fault.kind = FaultKind.Attested;
        fault.reporters = reporters;
        if (from < fault.from) {
            fault.from = uint32(from);
            _hooks().setDown(machine, uint32(from));
        }
        emit OutageAttested(id, machine, fault.from);
    }

    /// @dev Files what of `[from, to)` lies between the outage `next` (0: now) and the one before it.
    function _attestGap(uint32 machine, uint256 next, uint256 from, uint256 to, bytes32 reporters)
        private
        returns (uint256 id)
    {
        (MachineView memory seen, Params memory rules) = _machine(machine);
        Watch storage watch = _watches[machine];
        uint256 before = next == 0 ? watch.last : _faults[next].previous;
        uint256 begin = _faults[before].to;
        if (from > begin) begin = from;
        uint256 end = next == 0 ? block.timestamp : _faults[next].from;
        if (seen.retiredAt != 0) end = Billing.min(end, seen.retiredAt);
        end = Billing.min(end, to);
        if (begin >= end || to > block.timestamp || end + rules.filingWindow < block.timestamp) {
            revert OutageOutOfRange(begin, end);
        }

        id = _create(machine, FaultKind.Attested, begin, reporters);
        _faults[id].previous = uint64(before); // of 48 bits, as `id`
        if (next == 0) watch.last = uint64(id);
        else _faults[next].previous = uint64(id);
        _file(id, end, seen, rules);
    }

    /// @dev An outage that runs from now on, at the end of the list.
    function _begin(uint32 machine, FaultKind kind, uint256 from, bytes32 reporters) private returns (uint256 id) {
        id = _create(machine, kind, from, reporters);
        Watch storage watch = _watches[machine];
        _faults[id].previous = watch.last;
        watch.last = uint64(id); // of 48 bits
        _hooks().setDown(machine, uint32(from)); // in the past
    }

    function _create(uint32 machine, FaultKind kind, uint256 from, bytes32 reporters) private returns (uint256 id) {
        id = ++_faultCount;
        Fault storage fault = _faults[id];
        fault.machine = machine;
        fault.kind = kind;
        fault.state = FaultState.Running;
        fault.from = from.toUint32();
        address judge = arbiter();
        fault.arbiter = judge;
        if (reporters != 0) fault.reporters = reporters;
        _unsettled(machine, _watches[machine]);
        emit OutageOpened(id, machine, kind, uint32(from), judge);
    }

    // -------------------------------------------------------------------------------------------------- parts of an end

    /// @dev The outage that runs ends now, or did when the machine retired.
    function _end(uint256 id, MachineView memory seen, Params memory rules) private {
        uint32 machine = _faults[id].machine;
        uint256 to = seen.retiredAt == 0 ? block.timestamp : seen.retiredAt;
        _hooks().setDown(machine, 0);
        _file(id, to, seen, rules);
    }

    /// @dev Fixes what the fault costs, and holds up claims so that tenants have the time to have it applied.
    function _file(uint256 id, uint256 to, MachineView memory seen, Params memory rules) private {
        Fault storage fault = _faults[id];
        uint32 machine = fault.machine;
        Watch storage watch = _watches[machine];
        uint32 deadline = (block.timestamp + rules.appealWindow).toUint32();
        fault.to = uint32(to); // at most now
        fault.filedAt = uint32(block.timestamp); // the deadline is later
        fault.deadline = deadline;

        (uint16 bps, uint256 charged) = _price(fault, watch, _today(seen.retiredAt), rules.maxSlashBps);
        // Of 96 bits. A stake is never less than what is put aside: while any is, nothing else takes from it.
        uint96 amount = uint96(Slashing.amount(seen.stake - watch.reserved, bps, charged));
        fault.bps = bps;
        fault.amount = amount;
        if (amount == 0) {
            fault.state = FaultState.Dropped;
            _settled(machine, watch);
        } else {
            fault.state = FaultState.Filed;
            watch.reserved += amount;
        }
        if (fault.kind != FaultKind.FalseHardware) {
            uint32 from = fault.from;
            bool none = watch.heldUntil <= block.timestamp;
            if (none || from < watch.heldFrom) watch.heldFrom = from;
            if (none || to > watch.heldTo) watch.heldTo = uint32(to);
            if (watch.heldUntil < deadline) watch.heldUntil = deadline;
            _hold(machine, watch);
        }
        emit FaultFiled(id, machine, fault.kind, fault.from, uint32(to), bps, amount);
    }

    /// @dev Writes the outage, and what it costs, into the machine's window.
    /// @return bps that are charged @return charged before them
    function _price(Fault storage fault, Watch storage watch, uint256 today, uint256 most)
        private
        returns (uint16 bps, uint256 charged)
    {
        uint256 window = _window(watch, today);
        FaultKind kind = fault.kind;
        uint256 full = Slashing.BPS;
        if (kind != FaultKind.FalseHardware) {
            (uint256 from, uint256 to) = _counted(fault);
            window = Slashing.withDowntime(window, today, from, to);
            (uint256 downtime,) = Slashing.total(window);
            // What is filed late may lie before the window: it is as long as it is.
            if (downtime < to - from) downtime = to - from;
            full = Slashing.tier(kind != FaultKind.SelfReported, kind == FaultKind.Challenged ? 0 : downtime);
        }
        (, charged) = Slashing.total(window);
        bps = uint16(Slashing.due(full, charged, most)); // at most 10000
        watch.lanes = Slashing.withCharge(window, bps);
        watch.day = uint16(today); // until the year 2149
    }

    /// @dev Takes a fault that the arbiter took back out of the machine's window.
    function _forget(Fault storage fault, Watch storage watch, uint256 retiredAt) private {
        uint256 today = _today(retiredAt);
        uint256 window = _window(watch, today);
        if (fault.kind != FaultKind.FalseHardware) {
            (uint256 from, uint256 to) = _counted(fault);
            window = Slashing.withoutDowntime(window, today, from, to);
        }
        uint256 day = Billing.min(fault.filedAt / 1 days, today);
        watch.lanes = Slashing.withoutCharge(window, today - day, fault.bps);
        watch.day = uint16(today);
    }

    /// @dev The part of an outage that counts as downtime. That a challenge was not answered shows no long outage.
    function _counted(Fault storage fault) private view returns (uint256 from, uint256 to) {
        from = fault.from;
        to = fault.to;
        if (fault.kind == FaultKind.Challenged) to = Billing.min(to, from + Slashing.SHORT);
    }

    function _today(uint256 retiredAt) private view returns (uint256) {
        return (retiredAt == 0 ? block.timestamp : retiredAt) / 1 days;
    }

    function _window(Watch storage watch, uint256 today) private view returns (uint256) {
        return Slashing.advance(watch.lanes, today - watch.day);
    }

    /// @dev Tells the pool the hold of ended outages together with that of the challenge that stands.
    function _hold(uint32 machine, Watch storage watch) private {
        uint256 from = block.timestamp;
        uint256 to = from;
        uint256 until = from; // holds nothing
        if (until < watch.heldUntil) (from, to, until) = (watch.heldFrom, watch.heldTo, watch.heldUntil);
        Standing storage standing = _challenges[machine];
        if (standing.at != 0) {
            from = Billing.min(from, standing.at);
            uint256 proven = standing.until + PROVE_TIME;
            if (until < proven) until = proven;
            to = until; // what is asked about has no end yet
        }
        _hooks().hold(machine, uint32(from), uint32(to), until.toUint32()); // in this order
    }

    // --------------------------------------------------------------------------------------------- parts of its costs

    /// @return applied whether the outage had something for the lease
    /// @return lost what its tenant lost, cell-seconds, if that is still registered
    function _apply(uint256 id, Fault storage fault, uint256 lease, bool registers)
        private
        returns (bool applied, uint64 lost)
    {
        Loss storage loss = _losses[id][lease];
        if (loss.tenant != address(0)) return (false, 0);
        LeaseView memory seen;
        // Nothing for a lease that is no more: nobody spoils a batch by using its slot again.
        try _controller().leaseOf(lease) returns (LeaseView memory found) {
            seen = found;
        } catch {}
        bool active = seen.state == LeaseState.Active;
        if (seen.machine != fault.machine || (!active && seen.state != LeaseState.Ended)) return (false, 0);
        // The time before a change of share counts no longer: it had another share.
        uint256 begin = seen.segmentStart > seen.start ? seen.segmentStart : seen.start;
        uint256 time = Slashing.overlap(fault.from, fault.to, begin, seen.end);
        bool pauses = active && fault.kind != FaultKind.FalseHardware;
        if (time == 0 || !(registers || pauses)) return (false, 0);

        applied = true;
        loss.tenant = seen.tenant;
        if (registers) {
            lost = uint64(Cells.count(seen.placement) * time); // of 7 and 32 bits
            loss.weight = lost;
        }
        if (pauses) _hooks().pause(lease, fault.from, fault.to);
        emit OutageApplied(id, lease, seen.tenant, lost);
    }

    function _distribute(uint256 id, Fault storage fault, address[] calldata reporters) private {
        uint96 slash = fault.amount;
        (uint256 pot, uint256 each, uint256 rest) = Slashing.split(slash, fault.weight != 0, reporters.length);
        fault.pot = uint96(pot); // at most the slash, like every part
        uint256 reported = each * reporters.length;
        uint256 count = each == 0 ? 0 : reporters.length;
        address[] memory to = new address[](count + 2);
        uint96[] memory amounts = new uint96[](count + 2);
        for (uint256 i = 0; i < count; ++i) {
            to[i] = reporters[i];
            amounts[i] = uint96(each);
        }
        to[count] = _treasury();
        amounts[count] = uint96(rest);
        to[count + 1] = address(this);
        amounts[count + 1] = uint96(pot);
        if (pot == 0) {
            assembly ("memory-safe") {
                mstore(to, add(count, 1)) // without the tenants' entry, which is the last
                mstore(amounts, add(count, 1))
            }
        }
        _hooks().moveStake(fault.machine, to, amounts);
        emit FaultExecuted(id, fault.machine, slash, uint96(pot), uint96(reported), uint96(rest));
    }

    /// @dev Adds to what the provider was slashed, the earlier part decayed until now.
    function _remember(address provider, uint96 amount) private {
        // Both at most what the pool ever held in stake; a record, not money, so it may stop at its greatest value.
        uint256 sum = slashedOf(provider) + amount;
        _slashed[provider] = Slashed(uint96(Billing.min(sum, type(uint96).max)), uint32(block.timestamp));
    }

    function _unsettled(uint32 machine, Watch storage watch) private {
        _tell(machine, ++watch.unsettled);
    }

    function _settled(uint32 machine, Watch storage watch) private {
        _tell(machine, --watch.unsettled);
    }

    function _tell(uint32 machine, uint256 unsettled) private {
        _hooks().setPendingSlashes(machine, uint8(Billing.min(unsettled, type(uint8).max)));
    }

    // --------------------------------------------------------------------------------------------------------- others

    /// @dev What a challenge must hold: twice the last one's bond if that was answered within 24 hours.
    function _bondOf(uint32 machine, address challenger, uint96 least) private view returns (uint96) {
        Answer storage last = _answers[machine][challenger];
        if (last.at == 0 || block.timestamp > last.at + BOND_MEMORY) return least;
        uint256 twice = Billing.min(2 * uint256(last.bond), type(uint96).max);
        return twice > least ? uint96(twice) : least;
    }

    /// @dev Who signed, as `reporters` of a fault: the first of them, in the order of the seats.
    function _quorum(uint32 machine, uint64 from, uint64 to, uint32[] calldata seats, bytes[] calldata proofs)
        private
        returns (bytes32)
    {
        ICommittee committee = _committee();
        bytes32 digest = _digest(keccak256(abi.encode(OUTAGE_TYPE, machine, from, to)));
        if (!committee.isQuorum(digest, seats, proofs)) revert NoQuorum();
        address[] memory validators = committee.validatorsOf(seats);
        if (validators.length > MAX_REPORTERS) {
            assembly ("memory-safe") {
                mstore(validators, MAX_REPORTERS)
            }
        }
        return _name(validators);
    }

    /// @dev A fault keeps the hash, the log keeps the list.
    function _name(address[] memory reporters) private returns (bytes32 hash) {
        hash = keccak256(abi.encode(reporters));
        emit ReportersNamed(hash, reporters);
    }

    function _issued(address operator, uint256 issuedAt, uint256 since, bytes32 structHash, bytes calldata proof)
        private
        view
    {
        if (
            issuedAt < since || issuedAt > block.timestamp
                || !_accounts.isAuthorized(operator, _digest(structHash), proof)
        ) revert WrongSignature(operator);
    }

    function _machine(uint32 machine) private view returns (MachineView memory seen, Params memory rules) {
        seen = _seen(machine);
        rules = _controller().params(seen.params); // those that the provider has accepted
    }

    function _seen(uint32 machine) private view returns (MachineView memory) {
        return _controller().machineOf(machine);
    }

    function _treasury() private view returns (address) {
        return _controller().treasury();
    }

    function _owner() private view returns (address) {
        return _controller().owner();
    }

    function _hooks() private view returns (IControllerHooks) {
        return IControllerHooks(address(_controller()));
    }

    function _committee() private view returns (ICommittee) {
        (address committee,,,) = _controller().companions();
        return ICommittee(committee);
    }

    function _fault(uint256 id) private view returns (Fault storage fault) {
        fault = _faults[id];
        if (fault.state == FaultState.None) revert UnknownFault(id);
    }

    function _in(uint256 id, FaultState state) private view returns (Fault storage fault) {
        fault = _fault(id);
        if (fault.state != state) revert WrongFaultState(id, fault.state);
    }

    function _standing(uint32 machine) private view returns (Standing memory standing) {
        standing = _challenges[machine];
        if (standing.at == 0) revert NoChallenge(machine);
    }

    function _running(uint32 machine) private view returns (uint256 id) {
        id = runningFault(machine);
        if (id == 0) revert NotDown(machine);
    }

    function _notDown(uint32 machine) private view {
        uint256 id = runningFault(machine);
        if (id != 0) revert AlreadyDown(machine, id);
    }
}
