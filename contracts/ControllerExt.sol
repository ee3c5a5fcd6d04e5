// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Hooks} from "./base/Hooks.sol";
import {Ledger} from "./base/Ledger.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";
import {IControllerExt} from "./interfaces/IControllerExt.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";
import {IControllerHooks} from "./interfaces/IControllerHooks.sol";
import {
    AccountView,
    Judging,
    LeaseState,
    LeaseView,
    MachineStatus,
    MachineView,
    Params,
    Stake,
    Tenancy,
    Terms
} from "./interfaces/IControllerTypes.sol";
import {Billing} from "./libraries/Billing.sol";
import {
    Account,
    AccountSlots,
    LeaseBill,
    LeaseBody,
    LeaseHead,
    LeaseId,
    MachineHead,
    StoredTerms
} from "./libraries/Slots.sol";
import {Rules} from "./libraries/Rules.sol";

/// @title The colder part of a pool: the companions' hooks, its owner's affairs, and reads.
/// @dev Reached by delegatecall from `Controller` only. Its own storage is locked by the constructor of `Ledger`.
/// The owner can change rules for leases that are yet to be opened, and stop openings. It can reach no ledger, no escrow,
/// no stake and no open lease, and cannot stop an exit.
contract ControllerExt is Hooks, IControllerExt {
    /// @notice The part that serves what neither `Controller` nor this one knows, for ever.
    address public immutable moves;

    /// @dev All parts must believe the same `Accounts`.
    constructor(IAccounts accounts_, address moves_) Ledger(accounts_) {
        address other = IControllerExt(moves_).accounts();
        if (other != address(accounts_)) revert IControllerFactory.WrongAccounts(other);
        moves = moves_;
    }

    /// @dev What is served neither by `Controller` nor here, on the pool's storage still.
    fallback() external {
        _delegate(moves);
    }

    modifier onlyOwner() {
        address actor = _actor();
        if (actor != _owner) revert NotAuthorized(actor);
        _;
    }

    /// @inheritdoc IControllerHooks
    /// @dev The factory calls it in the transaction that makes the clone. What is not a clone counts as initialized.
    function initialize(address owner_, address treasury_, Params calldata params_) external {
        if (_pool.paramsVersion != 0) revert AlreadyInitialized();
        if (owner_ == address(0)) revert ZeroAddress();
        _setTreasury(treasury_);
        _owner = owner_;
        emit OwnershipTransferred(owner_);
        _storeParams(1, params_);
        _pool.paramsVersion = 1;
        emit ParamsProposed(1, SafeCast.toUint40(block.timestamp), params_);
    }

    // ---------------------------------------------------------------------------------------------------- pool's affairs

    /// @inheritdoc IControllerExt
    function pullFees(address[] calldata providers) external nonReentrant {
        address treasury_ = _treasury;
        for (uint256 i = 0; i < providers.length; ++i) {
            Account account = _providers[providers[i]];
            uint256 due = account.feesDue();
            if (due == 0) continue;

            // Effect, Log
            _providers[providers[i]] = account.withNoneDue();
            _credit(treasury_, due);
            emit FeesPulled(providers[i], treasury_, due);
        }
    }

    /// @inheritdoc IControllerExt
    function proposeParams(Params calldata params_) external onlyOwner {
        Pool storage pool = _pool;
        uint256 pending = pool.inForceAt;
        if (block.timestamp < pending) revert ProposalPending(pending);
        uint16 current = _versionInForce();
        uint40 inForceAt = SafeCast.toUint40(block.timestamp + Rules.TIMELOCK);
        _storeParams(current + 1, params_);
        pool.paramsVersion = current;
        pool.inForceAt = inForceAt;
        emit ParamsProposed(current + 1, inForceAt, params_);
    }

    /// @inheritdoc IControllerExt
    function cancelParams() external onlyOwner {
        Pool storage pool = _pool;
        if (block.timestamp >= pool.inForceAt) revert NoProposal();
        pool.inForceAt = 0;
        emit ParamsCancelled(pool.paramsVersion + 1);
    }

    /// @inheritdoc IControllerExt
    function setPaused(bool paused_) external onlyOwner {
        _pool.paused = paused_;
        emit PausedSet(paused_);
    }

    /// @inheritdoc IControllerExt
    function setGated(bool gated_) external onlyOwner {
        _pool.gated = gated_;
        emit GatedSet(gated_);
    }

    /// @inheritdoc IControllerExt
    function setTreasury(address treasury_) external onlyOwner {
        _setTreasury(treasury_);
    }

    /// @inheritdoc IControllerExt
    /// @dev Zero takes back an offer that was not accepted.
    function transferOwnership(address owner_) external onlyOwner {
        _pendingOwner = owner_;
        emit OwnershipTransferStarted(_owner, owner_);
    }

    /// @inheritdoc IControllerExt
    function acceptOwnership() external {
        address actor = _actor();
        if (actor != _pendingOwner) revert NotAuthorized(actor);
        _owner = actor;
        _pendingOwner = address(0);
        emit OwnershipTransferred(actor);
    }

    // ---------------------------------------------------------------------------------------------------------- reads

    /// @inheritdoc IControllerExt
    function gated() external view returns (bool) {
        return _pool.gated;
    }

    /// @inheritdoc IControllerExt
    function companions() external view returns (address, address, address, address) {
        return (_arg(COMMITTEE), _arg(FAULTS), _arg(REPUTATION), _arg(DIRECTORY));
    }

    /// @inheritdoc IControllerExt
    function machineOf(uint32 id) external view returns (MachineView memory seen) {
        Machine storage machine = _machines[id];
        MachineHead head = machine.head;
        uint8 status = head.status();
        seen.provider = head.provider();
        seen.operator = machine.operator;
        seen.status = _statusOf(status);
        seen.delisted = status & DELISTED != 0;
        seen.underStaked = status & UNDER_STAKED != 0;
        seen.stalled = status & STALLED != 0;
        seen.gpus = head.gpus();
        seen.smallestShare = head.smallestShare();
        seen.revision = head.revision();
        seen.stake = machine.stake;
        seen.leased = head.leased();
        MachineCare memory care = machine.care;
        seen.withheld = care.withheld;
        seen.busy = seen.leased | seen.withheld;
        seen.retiredAt = care.retiredAt;
        seen.downSince = care.downSince;
        seen.heldFrom = care.heldFrom;
        seen.heldTo = care.heldTo;
        seen.heldUntil = care.heldUntil;
        seen.lastVerified = care.lastVerified;
        seen.pendingSlashes = care.pendingSlashes;
        (seen.terms, seen.params) = termsOf(id, seen.revision);
    }

    /// @inheritdoc IControllerExt
    function stakeOf(uint32 id) external view returns (Stake memory seen) {
        Machine storage machine = _machines[id];
        MachineHead head = machine.head;
        seen.provider = head.provider();
        seen.operator = machine.operator;
        seen.amount = machine.stake;
        seen.gpus = head.gpus();
        seen.params = _terms[id][head.revision()].params();
        seen.retiredAt = machine.care.retiredAt;
    }

    /// @inheritdoc IControllerExt
    function tenancyOf(uint256 id) external view returns (Tenancy memory seen) {
        Lease storage lease = _leases[LeaseId.wrap(id).slot()];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (!body.isOf(LeaseId.wrap(id))) return seen;
        seen.tenant = head.tenant();
        seen.machine = head.machine();
        seen.placement = head.placement();
        seen.state = LeaseState(head.state());
        seen.since = uint32(Billing.began(_bill(lease, head), head.start()));
        seen.end = body.end();
        seen.params = body.params();
    }

    /// @inheritdoc IControllerExt
    function leaseOf(uint256 id) external view returns (LeaseView memory seen) {
        Lease storage lease = _leases[LeaseId.wrap(id).slot()];
        LeaseHead head = lease.head;
        LeaseBody body = lease.body;
        if (!body.isOf(LeaseId.wrap(id))) return seen;
        seen.tenant = head.tenant();
        seen.machine = head.machine();
        seen.placement = head.placement();
        seen.state = LeaseState(head.state());
        seen.spot = head.flags() & SPOT != 0;
        seen.noticed = head.flags() & NOTICED != 0;
        seen.start = head.start();
        seen.end = body.end();
        seen.deposit = body.deposit();
        seen.price = body.price();
        seen.revision = body.revision();
        seen.params = body.params();
        LeaseBill bill = _bill(lease, head);
        seen.settled = uint96(_settledOf(bill, head, body));
        if (head.flags() & BACKED != 0) seen.backup = lease.backup;
        seen.paused = bill.paused();
        seen.segmentStart = uint32(Billing.began(bill, head.start()));
        seen.segmentSettled = bill.segmentSettled();
    }

    /// @inheritdoc IControllerExt
    function termsOf(uint32 machine, uint16 revision) public view returns (Terms memory terms, uint16 params_) {
        StoredTerms stored = _terms[machine][revision];
        terms = Terms({
            price: stored.price(),
            spotPrice: stored.spotPrice(),
            minDuration: stored.minDuration(),
            maxDuration: stored.maxDuration(),
            trial: stored.trial(),
            availableUntilDay: stored.availableUntilDay()
        });
        params_ = stored.params();
    }

    /// @inheritdoc IControllerExt
    function judging(uint16 version) external view returns (Judging memory) {
        Params storage rules = _params[version];
        return Judging({
            maxSlashBps: rules.maxSlashBps,
            challengeWindow: rules.challengeWindow,
            filingWindow: rules.filingWindow,
            appealWindow: rules.appealWindow,
            rulingWindow: rules.rulingWindow,
            bond: rules.bond,
            arbiter: rules.arbiter,
            sink: rules.sink
        });
    }

    /// @inheritdoc IControllerExt
    /// @dev Back from the present one. No version comes sooner than `Rules.TIMELOCK` after another.
    function acceptedAt(uint32 machine, uint256 time) external view returns (uint16 version) {
        (, version) = termsOf(machine, _machines[machine].head.revision());
        Acceptance memory accepted = _accepted[machine][version];
        while (accepted.since > time) {
            version = accepted.before;
            accepted = _accepted[machine][version];
        }
    }

    /// @inheritdoc IControllerExt
    function accountOf(address provider) external view returns (AccountView memory) {
        Account account = _providers[provider];
        return AccountView({
            feesPaid: account.feesPaid(),
            feesDue: account.feesDue(),
            terminated: account.count(AccountSlots.TERMINATED),
            unstarted: account.count(AccountSlots.UNSTARTED),
            declined: account.count(AccountSlots.DECLINED)
        });
    }

    /// @inheritdoc IControllerExt
    function params(uint16 version) external view returns (Params memory) {
        return _params[version];
    }

    /// @inheritdoc IControllerExt
    function paramsVersion() external view returns (uint16) {
        return _versionInForce();
    }

    /// @inheritdoc IControllerExt
    function proposedParams() external view returns (uint16 version, uint40 inForceAt) {
        if (block.timestamp >= _pool.inForceAt) return (0, 0);
        return (_pool.paramsVersion + 1, _pool.inForceAt);
    }

    /// @inheritdoc IControllerExt
    function machineCount() external view returns (uint32) {
        return _pool.machineCount;
    }

    /// @inheritdoc IControllerExt
    function slotCount() external view returns (uint32) {
        return _pool.slotCount;
    }

    /// @inheritdoc IControllerExt
    function paused() external view returns (bool) {
        return _pool.paused;
    }

    /// @inheritdoc IControllerExt
    function treasury() external view returns (address) {
        return _treasury;
    }

    /// @inheritdoc IControllerExt
    function owner() external view returns (address) {
        return _owner;
    }

    /// @inheritdoc IControllerExt
    function pendingOwner() external view returns (address) {
        return _pendingOwner;
    }

    /// @inheritdoc IControllerExt
    function token() external view returns (address) {
        return address(_token());
    }

    /// @inheritdoc IControllerExt
    function accounts() external view returns (address) {
        return address(_accounts);
    }

    /// @inheritdoc IControllerExt
    function extsload(bytes32[] calldata slots) external view returns (bytes32[] memory values) {
        values = new bytes32[](slots.length);
        for (uint256 i = 0; i < slots.length; ++i) {
            bytes32 slot = slots[i];
            bytes32 value;
            assembly ("memory-safe") {
                value := sload(slot)
            }
            values[i] = value;
        }
    }

    /// @inheritdoc IControllerExt
    /// @dev Name and version are constants of the code; `address(this)` is the clone.
    function eip712Domain()
        external
        view
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return (0x0f, "Leasehold", "1", block.chainid, address(this), 0, new uint256[](0));
    }

    // -------------------------------------------------------------------------------------------------------- private

    /// @dev Of a live lease what claims have settled, of one that is over what it was billed in all, which needs no storage
    /// of its own: `end` is where the bill stopped.
    function _settledOf(LeaseBill bill, LeaseHead head, LeaseBody body) private view returns (uint256) {
        LeaseState state = LeaseState(head.state());
        if (state != LeaseState.Ended && state != LeaseState.Rejected) return bill.settled();
        uint256 total = _owedUntil(bill, head, body, body.end());
        return state == LeaseState.Ended ? total : Billing.portion(total, _rulebook(body.params()).holdFeeBps());
    }

    function _storeParams(uint16 version, Params calldata params_) private {
        bytes32 fault = Rules.faultOf(params_);
        if (fault != 0) revert InvalidParams(fault);
        address sink = params_.sink;
        bool rules = sink == _owner || sink == _treasury || sink == address(this);
        if (sink != address(0) && rules) revert InvalidParams("sink");
        _params[version] = params_;
    }

    function _setTreasury(address treasury_) private {
        _requireReceiver(treasury_);
        _treasury = treasury_;
        emit TreasurySet(treasury_);
    }
}
