// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {ICommittee} from "../interfaces/ICommittee.sol";
import {IController} from "../interfaces/IController.sol";
import {IControllerErrors} from "../interfaces/IControllerErrors.sol";
import {IControllerHooks} from "../interfaces/IControllerHooks.sol";
import {Judging, LeaseState, Stake, Tenancy} from "../interfaces/IControllerTypes.sol";
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
///                       Appealed → Dropped               rule
///     Running → Executed                     it cost nothing, and nobody has to answer for it
///
/// Each arrow but `appeal` and `rule` is anyone's to send once its time has come, so a fault keeps a stake from leaving for
/// no longer than an outage lasts, an appeal window and a ruling window. Once a machine has retired nothing new begins on
/// it but what was before, and that no later than `filingWindow` after. So nobody keeps a stake for ever.
///
/// A fault is judged by one version of the pool's rules in all (`Fault.rules`): the one that the provider had accepted when
/// the outage began. What he accepts later neither helps nor harms him, and what is in force matters to nobody.
///
/// A machine's outages are disjoint and stand in a list in the order of time (`Fault.previous`): each begins no sooner than
/// the one before it ends. What is attested late fills one gap of it, which its sender names by the outage after it; nothing
/// walks the list. False hardware is no outage and stands in no order.
///
/// Nobody who judges gains: half of a slash at most goes to tenants, each by what he lost, a tenth to who proved the outage,
/// the rest, and every bond that is lost, where the accepted rules say, or to nobody for ever.
///
/// What is filed is put aside out of the stake at once (`reserved`), so that however many faults wait, each finds what it
/// was filed for. Those of one window take together what one fault would have taken, into however many parts it is cut.
///
/// This contract's ledger balance is at least Σ bonds of challenges + Σ `bond` + Σ `pot` of executed faults: money comes in by `_charge`, of
/// whoever calls, and by `moveStake`, and each unit of it is written down. No function needs a guard against reentrancy:
/// only the pool, the committee and `Accounts` are called, money moves inside the pool's ledger, where nobody's code runs,
/// and a wallet that `Accounts` asks for a signature is asked by a static call.
contract Faults is Companion, IFaults {
    using SafeCast for uint256;

    uint256 private constant ROLL_AFTER = Slashing.LONG;
    /// @dev What a running attestation says, it says without a date: an old one must not open an outage that is long over.
    uint256 private constant ATTESTATION = 1 days;
    /// @dev How far back a late word reaches: to where the scale ends. Further, whoever gives it would choose by which rules of
    /// long ago a machine is judged, and by whose seats.
    uint256 private constant REACH = Slashing.LONG + 1;
    /// @dev For whom it takes to see that a challenge was not answered, and to send `prove`.
    uint256 private constant PROVE_TIME = 1 hours;
    uint256 private constant BOND_MEMORY = 24 hours;
    /// @dev Of a challenge's bond, for the answer.
    uint256 private constant ANSWER_DIVISOR = 10;
    /// @dev Of a machine whose hardware is not what it was said to be, so much counts before it was asked for.
    uint256 private constant FALSE_TIME = 7 days;

    bytes32 private constant ANSWER_TYPE =
        keccak256("Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)");
    bytes32 private constant RECOVER_TYPE = keccak256("Recover(address account,uint32 machine,uint64 issuedAt)");

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
        Stake memory seen = _seen(machine);
        _only(seen.operator);
        _notDown(machine);
        // What is not in service cannot fail; and an operator's key must not hold up a stake on its way out.
        if (seen.retiredAt != 0) revert IControllerErrors.MachineRetiredAlready(machine);
        _noChallenge(machine);
        fault = _begin(machine, FaultKind.SelfReported, block.timestamp, seen.params, 0, seen);
    }

    /// @inheritdoc IFaults
    function challenge(uint32 machine, uint256 lease) external returns (uint256 id) {
        // Check. Only a running lease makes a tenant: one that waits for its start has `cancelUnstarted`.
        address actor = _actor();
        Tenancy memory seen = _lease(lease);
        if (seen.machine != machine) revert WrongLease(lease, machine);
        if (seen.tenant != actor || seen.state != LeaseState.Active || block.timestamp >= seen.end) {
            revert NotATenant(lease, actor);
        }
        _notDown(machine);
        _noChallenge(machine);

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
            _issued(seen.operator, issuedAt, standing.at, hash, proof);
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
        if (block.timestamp <= standing.until) _stands(machine, standing);
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
    function attest(
        uint32 machine,
        uint256 next,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (uint256) {
        (uint256 after_, uint256 begin, uint16 version) = _gap(machine, next, from, to);
        bytes32 quorum = _committee().witness(version, machine, from, to, seats, proofs);
        if (to == 0) return _attestRunning(machine, from, version, quorum);
        return _attestPast(machine, after_, begin, to, version, quorum);
    }

    /// @inheritdoc IFaults
    function reportFalseHardware(uint256 round) external returns (uint256 id) {
        // Check
        if (_reported[round]) revert ReportedAlready(round);
        (uint32 machine, uint16 revision, uint32 requestedAt, uint256 event_) = _committee().falseHardwareOf(round);
        Stake memory seen = _seen(machine);
        (, uint16 version) = _controller().termsOf(machine, revision);
        event_ = _inService(event_, seen.retiredAt);
        if (event_ + _rules(version).filingWindow < block.timestamp) revert OutageOutOfRange(event_, block.timestamp);

        // Effect, Interact. Who leases once it is asked for, or after it was found, shares in nothing.
        _reported[round] = true;
        id = _create(machine, FaultKind.FalseHardware, requestedAt - FALSE_TIME, version, 0);
        _faults[id].round = uint48(round); // a round's number has its own transaction
        _file(id, requestedAt, seen);
    }

    // -------------------------------------------------------------------------------------------------- an outage ends

    /// @inheritdoc IFaults
    function recover(uint32 machine, uint64 issuedAt, bytes calldata proof) external {
        uint256 id = _running(machine);
        Stake memory seen = _seen(machine);
        address actor = _actor();
        if (actor != seen.operator && actor != seen.provider) {
            bytes32 hash = keccak256(abi.encode(RECOVER_TYPE, seen.operator, machine, issuedAt));
            _issued(seen.operator, issuedAt, _faults[id].from, hash, proof);
        }
        _end(id, seen);
    }

    /// @inheritdoc IFaults
    function roll(uint32 machine) external {
        uint256 id = _running(machine);
        Stake memory seen = _seen(machine);
        if (seen.retiredAt != 0) return _end(id, seen);
        Fault storage fault = _faults[id];
        uint256 until = fault.from + ROLL_AFTER;
        if (block.timestamp <= until) revert OutageTooShort(until);
        _file(id, block.timestamp, seen);
        _begin(machine, fault.kind, block.timestamp, fault.rules, fault.reporter, seen);
    }

    // ------------------------------------------------------------------------------------------------- what it costs

    /// @inheritdoc IFaults
    function applyOutage(uint256 id, uint256[] calldata leases) external {
        Fault storage fault = _fault(id);
        FaultState state = fault.state;
        if (state == FaultState.Running || state == FaultState.Dropped) _wrong(id, state);
        bool registers = state < FaultState.Executed;
        uint256 cells = 8 * uint256(_seen(fault.machine).gpus);
        bool any;
        for (uint256 i = 0; i < leases.length; ++i) {
            if (_apply(id, fault, leases[i], registers, cells)) any = true;
        }
        if (!any) revert NothingToApply(id);
    }

    /// @inheritdoc IFaults
    function appeal(uint256 id) external {
        // Check
        Fault storage fault = _in(id, FaultState.Filed);
        _only(_seen(fault.machine).provider);
        Judging memory rules = _rules(fault.rules);
        if (rules.arbiter == address(0)) revert NobodyRules(id);
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
        Judging memory rules = _rules(fault.rules);
        _only(rules.arbiter);
        if (block.timestamp > fault.deadline) revert RulingOver(id, fault.deadline);

        // Effect, Interact
        uint96 bond = fault.bond;
        fault.bond = 0;
        if (stands) {
            // However soon the arbiter rules, tenants have the time that they would have had without an appeal.
            fault.state = FaultState.Upheld;
            fault.deadline = (uint256(fault.filedAt) + rules.appealWindow).toUint32();
            _pay(_sink(rules), bond);
        } else {
            _drop(fault, bond, rules.arbiter);
        }

        // Log
        emit Ruled(id, stands);
    }

    /// @inheritdoc IFaults
    function execute(uint256 id) external {
        // Check
        Fault storage fault = _fault(id);
        FaultState state = fault.state;
        if (state < FaultState.Filed || state > FaultState.Upheld) _wrong(id, state);
        if (block.timestamp <= fault.deadline) revert AppealOpen(id, fault.deadline);

        // Effect
        uint96 bond = fault.bond;
        fault.bond = 0;
        address provider = _seen(fault.machine).provider;
        if (fault.amount != 0) _remember(provider, fault.amount);

        // Effect, Interact. Only inside the pool's ledger.
        _conclude(fault, FaultState.Executed);
        _distribute(id, fault);
        _pay(provider, bond);
    }

    /// @inheritdoc IFaults
    function compensate(uint256 id, uint256[] calldata leases) external {
        Fault storage fault = _in(id, FaultState.Executed);
        for (uint256 i = 0; i < leases.length; ++i) {
            Loss storage loss = _losses[id][leases[i]];
            uint96 part = loss.part;
            if (part == 0) continue;
            loss.part = 0;
            fault.pot -= part;
            _pay(loss.tenant, part);
            emit Compensated(id, leases[i], loss.tenant, part);
        }
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
        return _watches[machine].running;
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

    /// @inheritdoc IFaults
    function windowOf(uint32 machine) external view returns (uint256 downtime, uint256 chargedBps) {
        return Slashing.total(_window(_watches[machine], _today(_seen(machine).retiredAt)));
    }

    /// @inheritdoc IFaults
    function slashedOf(address provider) public view returns (uint256) {
        Slashed storage slashed = _slashed[provider];
        return Slashing.decayed(slashed.amount, block.timestamp - slashed.at);
    }

    // ------------------------------------------------------------------------------------------- parts of a beginning

    /// @dev The gap that a word on `[from, to)` is about, and the rules whose seats may give it: an outage that is known keeps
    /// those by which it began.
    /// @return after_ the outage right after the gap, 0 if none is @return begin of what lies in the gap
    function _gap(uint32 machine, uint256 next, uint256 from, uint256 to)
        private
        view
        returns (uint256 after_, uint256 begin, uint16 version)
    {
        Watch storage watch = _watches[machine];
        after_ = next == 0 || to == 0 ? watch.running : next;
        Fault storage known = _faults[after_];
        if (after_ != 0 && (known.machine != machine || known.kind == FaultKind.FalseHardware)) {
            revert UnknownFault(after_);
        }
        begin = _later(from, _upSince(watch, after_));
        uint256 end = _pastEnd(machine, after_, to); // 0 of one that runs
        if (end > begin + REACH) begin = end - REACH;
        version = after_ != 0 && to == 0 ? known.rules : _controller().acceptedAt(machine, begin);
    }

    /// @dev Where a late word that says `to` ends: before the outage `next`, and when the machine retired.
    function _pastEnd(uint32 machine, uint256 next, uint256 to) private view returns (uint256 end) {
        end = next == 0 ? to : Billing.min(to, _faults[next].from);
        return _inService(end, _seen(machine).retiredAt);
    }

    /// @dev When the outage before `next` ended, or, with 0, the last of all.
    function _upSince(Watch storage watch, uint256 next) private view returns (uint256) {
        return _faults[next == 0 ? watch.last : _faults[next].previous].to;
    }

    function _lastEnd(uint32 machine) private view returns (uint256) {
        Watch storage watch = _watches[machine];
        return _upSince(watch, watch.running);
    }

    function _attestRunning(uint32 machine, uint256 from, uint16 version, bytes32 reporter)
        private
        returns (uint256 id)
    {
        // From after the outage before, so that no word given before a recovery is good after it.
        uint256 most = Billing.min(ATTESTATION, _rules(version).filingWindow);
        Stake memory seen = _seen(machine);
        uint256 until = _inService(block.timestamp, seen.retiredAt);
        bool late = from > until || from == seen.retiredAt;
        if (late || from <= _lastEnd(machine) || from + most < block.timestamp) revert OutageOutOfRange(from, until);

        id = _watches[machine].running;
        if (id == 0) {
            // Whoever waits for an answer was right.
            Standing memory standing = _asked(machine);
            delete _challenges[machine];
            id = _begin(machine, FaultKind.Attested, from, version, reporter, seen);
            _pay(standing.challenger, standing.bond);
            return id;
        }

        // A self-report keeps its price, or nobody would report; and the same word twice changes nothing.
        Fault storage fault = _faults[id];
        FaultKind kind = fault.kind;
        if (kind == FaultKind.SelfReported || (kind == FaultKind.Attested && from >= fault.from)) {
            _notDown(machine); // it is, and so reverts
        }
        fault.kind = FaultKind.Attested;
        fault.reporter = reporter;
        if (from < fault.from) {
            fault.from = uint32(from);
            _setDown(machine, from);
        }
        emit OutageAttested(id, machine, fault.from, reporter);
    }

    /// @dev Files what of `[begin, to)` lies before the outage `next`, or the one that runs, or now. `begin` is in that gap.
    function _attestPast(uint32 machine, uint256 next, uint256 begin, uint256 to, uint16 version, bytes32 reporter)
        private
        returns (uint256 id)
    {
        Stake memory seen = _seen(machine);
        Watch storage watch = _watches[machine];
        uint256 end = _pastEnd(machine, next, to);
        if (begin >= end || to > block.timestamp || end + _rules(version).filingWindow < block.timestamp) {
            revert OutageOutOfRange(begin, end);
        }

        id = _create(machine, FaultKind.Attested, begin, version, reporter);
        Fault storage after_ = _faults[next];
        _faults[id].previous = next == 0 ? watch.last : after_.previous;
        if (next == 0) watch.last = uint48(id); // as it is counted
        else after_.previous = uint48(id);
        _file(id, end, seen);
    }

    /// @dev An outage that runs from now on, or ended when the machine retired.
    function _begin(uint32 machine, FaultKind kind, uint256 from, uint16 version, bytes32 reporter, Stake memory seen)
        private
        returns (uint256 id)
    {
        id = _create(machine, kind, from, version, reporter);
        Watch storage watch = _watches[machine];
        _faults[id].previous = watch.last;
        watch.running = watch.last = uint48(id); // as it is counted
        _setDown(machine, from);
        if (seen.retiredAt != 0) _end(id, seen);
    }

    function _create(uint32 machine, FaultKind kind, uint256 from, uint16 version, bytes32 reporter)
        private
        returns (uint256 id)
    {
        id = ++_faultCount;
        Fault storage fault = _faults[id];
        fault.machine = machine;
        fault.kind = kind;
        fault.state = FaultState.Running;
        fault.from = from.toUint32();
        fault.rules = version;
        if (reporter != 0) fault.reporter = reporter;
        _tell(machine, ++_watches[machine].unsettled);
        emit OutageOpened(id, machine, kind, uint32(from), version, reporter);
    }

    // -------------------------------------------------------------------------------------------------- parts of an end

    /// @dev The outage that runs ends now, or did when the machine retired.
    function _end(uint256 id, Stake memory seen) private {
        uint32 machine = _faults[id].machine;
        uint256 to = _inService(block.timestamp, seen.retiredAt);
        Watch storage watch = _watches[machine];
        watch.running = 0;
        _setDown(machine, 0);
        _file(id, to, seen);
    }

    /// @dev Fixes what the fault costs, and holds up claims so that tenants have the time to have it applied.
    function _file(uint256 id, uint256 to, Stake memory seen) private {
        Fault storage fault = _faults[id];
        uint32 machine = fault.machine;
        FaultKind kind = fault.kind;
        Watch storage watch = _watches[machine];
        Judging memory rules = _rules(fault.rules);
        uint32 deadline = (block.timestamp + rules.appealWindow).toUint32();
        fault.to = uint32(to); // at most now
        fault.filedAt = uint32(block.timestamp); // the deadline is later
        fault.deadline = deadline;

        (uint16 bps, uint256 charged) = _price(fault, watch, _today(seen.retiredAt), rules.maxSlashBps);
        // Of 96 bits. A stake is never less than what is put aside: while any is, nothing else takes from it.
        uint96 amount = uint96(Slashing.amount(seen.amount - watch.reserved, bps, charged));
        fault.bps = bps;
        fault.amount = amount;
        fault.state = FaultState.Filed;
        watch.reserved += amount;
        // What others say of a machine may be appealed whatever it costs: it is taken off the bills, and they answer for it.
        if (amount == 0 && kind < FaultKind.Attested) _conclude(fault, FaultState.Executed);
        if (kind != FaultKind.FalseHardware) {
            uint32 from = fault.from;
            bool none = watch.heldUntil <= block.timestamp;
            if (none || from < watch.heldFrom) watch.heldFrom = from;
            if (none || to > watch.heldTo) watch.heldTo = uint32(to);
            if (watch.heldUntil < deadline) watch.heldUntil = deadline;
            _hold(machine);
        }
        emit FaultFiled(id, machine, kind, fault.from, uint32(to), bps, amount);
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
            downtime = _later(downtime, to - from);
            full = Slashing.tier(kind != FaultKind.SelfReported, kind == FaultKind.Challenged ? 0 : downtime);
        }
        (, charged) = Slashing.total(window);
        bps = uint16(Slashing.due(full, charged, most)); // at most 10000
        watch.lanes = Slashing.withCharge(window, bps);
        watch.day = uint16(today); // until the year 2149
    }

    /// @dev The arbiter takes it back, from the provider and from who had found it.
    function _drop(Fault storage fault, uint96 bond, address arbiter) private {
        uint32 machine = fault.machine;
        Stake memory seen = _seen(machine);
        fault.pot = 0;
        _forget(fault, _watches[machine], seen.retiredAt);
        _conclude(fault, FaultState.Dropped);
        _pay(seen.provider, bond);
        FaultKind kind = fault.kind;
        if (kind == FaultKind.FalseHardware) _committee().overturn(fault.round, arbiter);
        else if (kind == FaultKind.Attested) _committee().disown(fault.reporter, arbiter);
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

    /// @dev No later than the machine retired, if it has.
    function _inService(uint256 time, uint256 retiredAt) private pure returns (uint256) {
        return retiredAt == 0 ? time : Billing.min(time, retiredAt);
    }

    function _today(uint256 retiredAt) private view returns (uint256) {
        return _inService(block.timestamp, retiredAt) / 1 days;
    }

    function _window(Watch storage watch, uint256 today) private view returns (uint256) {
        return Slashing.advance(watch.lanes, today - watch.day);
    }

    /// @dev Tells the pool the hold of ended outages together with that of the challenge that stands.
    function _hold(uint32 machine) private {
        Watch storage watch = _watches[machine];
        uint256 from = block.timestamp;
        uint256 to = from;
        uint256 until = from; // holds nothing
        if (until < watch.heldUntil) (from, to, until) = (watch.heldFrom, watch.heldTo, watch.heldUntil);
        Standing memory standing = _asked(machine);
        if (standing.at != 0) {
            from = Billing.min(from, standing.at);
            uint256 proven = standing.until + PROVE_TIME;
            // What is asked about has no end yet; if nobody proves it, nothing later was ever in question.
            to = _later(to, proven);
            until = _later(until, proven);
        }
        _hooks().hold(machine, uint32(from), uint32(to), until.toUint32()); // in this order
    }

    /// @dev Tells the pool since when an outage runs, or, with 0, that none does.
    function _setDown(uint32 machine, uint256 since) private {
        _hooks().setDown(machine, uint32(since)); // never later than now
    }

    // --------------------------------------------------------------------------------------------- parts of its costs

    /// @return applied whether the outage had something for the lease
    function _apply(uint256 id, Fault storage fault, uint256 lease, bool registers, uint256 cells)
        private
        returns (bool applied)
    {
        Loss storage loss = _losses[id][lease];
        if (loss.tenant != address(0)) return false;
        // Nothing is known of a lease that is no more: nobody spoils a batch by using its slot again.
        Tenancy memory seen = _lease(lease);
        bool active = seen.state == LeaseState.Active;
        if (seen.machine != fault.machine || (!active && seen.state != LeaseState.Ended)) return false;
        // The time before a change of share counts no longer: it had another share.
        uint256 time = Slashing.overlap(fault.from, fault.to, seen.since, seen.end);
        bool pauses = active && fault.kind != FaultKind.FalseHardware;
        if (time == 0 || !(registers || pauses)) return false;

        uint96 part;
        if (registers) part = _register(fault, Cells.count(seen.placement), time, cells);
        (loss.tenant, loss.part) = (seen.tenant, part);
        if (pauses) _hooks().pause(lease, fault.from, fault.to);
        emit OutageApplied(id, lease, seen.tenant, part);
        return true;
    }

    /// @return part of the slash that whoever had `cells` of `all` for `time` of the outage has coming
    function _register(Fault storage fault, uint256 cells, uint256 time, uint256 all) private returns (uint96 part) {
        uint96 slash = fault.amount;
        uint96 pot = fault.pot;
        part = uint96(Slashing.loss(slash, slash / 2 - pot, cells, time, all, fault.to - fault.from)); // of a half of it
        fault.pot = pot + part;
    }

    function _distribute(uint256 id, Fault storage fault) private {
        uint96 slash = fault.amount;
        uint96 pot = fault.pot;
        bytes32 reporter = fault.reporter;
        bool attested = fault.kind == FaultKind.Attested;
        uint96 reported = reporter == 0 ? 0 : uint96(Slashing.tenth(slash));
        ICommittee committee = _committee();
        address[] memory to = new address[](3);
        uint96[] memory amounts = new uint96[](3);
        to[0] = _sink(_rules(fault.rules));
        to[1] = address(this);
        to[2] = attested ? address(committee) : address(uint160(uint256(reporter)));
        (amounts[0], amounts[1], amounts[2]) = (slash - pot - reported, pot, reported);
        if (reporter == 0) to[2] = to[0]; // nobody gets nothing
        _hooks().moveStake(fault.machine, to, amounts);
        if (attested) committee.credit(reporter, reported);
        emit FaultExecuted(id, fault.machine, slash, pot, reported, amounts[0], to[0]);
    }

    /// @dev Adds to what the provider was slashed, the earlier part decayed until now.
    function _remember(address provider, uint96 amount) private {
        // Both at most what the pool ever held in stake; a record, not money, so it may stop at its greatest value.
        uint256 sum = slashedOf(provider) + amount;
        _slashed[provider] = Slashed(uint96(Billing.min(sum, type(uint96).max)), uint32(block.timestamp));
    }

    /// @dev Nothing of the stake waits for the fault any more.
    function _conclude(Fault storage fault, FaultState state) private {
        uint32 machine = fault.machine;
        Watch storage watch = _watches[machine];
        fault.state = state;
        watch.reserved -= fault.amount;
        _tell(machine, --watch.unsettled);
    }

    /// @dev Tells the pool how many faults of the machine are to be settled.
    function _tell(uint32 machine, uint256 unsettled) private {
        _hooks().setPendingSlashes(machine, uint8(Billing.min(unsettled, type(uint8).max)));
    }

    // --------------------------------------------------------------------------------------------------------- others

    /// @dev What a challenge must hold: twice the last one's bond if that was answered within 24 hours.
    function _bondOf(uint32 machine, address challenger, uint96 least) private view returns (uint96) {
        Answer storage last = _answers[machine][challenger];
        if (block.timestamp > last.at + BOND_MEMORY) return least;
        uint256 twice = Billing.min(2 * uint256(last.bond), type(uint96).max);
        return twice > least ? uint96(twice) : least;
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

    function _seen(uint32 machine) private view returns (Stake memory) {
        return _controller().stakeOf(machine);
    }

    function _lease(uint256 lease) private view returns (Tenancy memory) {
        return _controller().tenancyOf(lease);
    }

    function _rules(uint16 version) private view returns (Judging memory) {
        return _controller().judging(version);
    }

    /// @dev Who gets what nobody has coming.
    function _sink(Judging memory rules) private pure returns (address) {
        return rules.sink == address(0) ? BURNT : rules.sink;
    }

    function _later(uint256 a, uint256 b) private pure returns (uint256) {
        return a > b ? a : b;
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
        if (fault.state != state) _wrong(id, fault.state);
    }

    function _wrong(uint256 id, FaultState state) private pure {
        revert WrongFaultState(id, state);
    }

    function _standing(uint32 machine) private view returns (Standing memory standing) {
        standing = _asked(machine);
        if (standing.at == 0) revert NoChallenge(machine);
    }

    /// @dev The challenge that stands, or nothing.
    function _asked(uint32 machine) private view returns (Standing memory) {
        return _challenges[machine];
    }

    /// @dev Whether nobody has proven in time that it was not answered.
    function _isOver(Standing memory standing) private view returns (bool) {
        return block.timestamp > standing.until + PROVE_TIME;
    }

    function _stands(uint32 machine, Standing memory standing) private pure {
        revert ChallengeStands(machine, standing.until);
    }

    function _dismiss(uint32 machine, Standing memory standing) private {
        delete _challenges[machine];
        _hold(machine);
        _pay(standing.challenger, standing.bond);
        emit ChallengeEnded(machine, standing.id);
    }

    /// @dev None that stands: one that is over goes.
    function _noChallenge(uint32 machine) private {
        Standing memory standing = _asked(machine);
        if (standing.at == 0) return;
        if (!_isOver(standing)) _stands(machine, standing);
        _dismiss(machine, standing);
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
