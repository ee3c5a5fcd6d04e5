// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IGovernance} from "../interfaces/IGovernance.sol";
import {IPoolHooks} from "../interfaces/IPoolHooks.sol";
import {Judging, Params} from "../interfaces/PoolTypes.sol";
import {Rules} from "../libraries/Rules.sol";
import {Account} from "../libraries/Slots.sol";
import {Registry} from "./Registry.sol";

/// @title The pool's own affairs: its rules, its owner and its treasury.
/// @dev The owner can change rules for leases that are yet to be opened, and stop openings. It can reach no ledger, no escrow,
/// no stake and no open lease, and cannot stop an exit.
abstract contract Governance is Registry, IGovernance, IPoolHooks {
    modifier onlyOwner() {
        address actor = _actor();
        if (actor != _owner) revert NotAuthorized(actor);
        _;
    }

    /// @inheritdoc IPoolHooks
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

    /// @inheritdoc IGovernance
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

    /// @inheritdoc IGovernance
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

    /// @inheritdoc IGovernance
    function cancelParams() external onlyOwner {
        Pool storage pool = _pool;
        if (block.timestamp >= pool.inForceAt) revert NoProposal();
        pool.inForceAt = 0;
        emit ParamsCancelled(pool.paramsVersion + 1);
    }

    /// @inheritdoc IGovernance
    function setPaused(bool paused_) external onlyOwner {
        _pool.paused = paused_;
        emit PausedSet(paused_);
    }

    /// @inheritdoc IGovernance
    function setGated(bool gated_) external onlyOwner {
        _pool.gated = gated_;
        emit GatedSet(gated_);
    }

    /// @inheritdoc IGovernance
    function setTreasury(address treasury_) external onlyOwner {
        _setTreasury(treasury_);
    }

    /// @inheritdoc IGovernance
    /// @dev Zero takes back an offer that was not accepted.
    function transferOwnership(address owner_) external onlyOwner {
        _pendingOwner = owner_;
        emit OwnershipTransferStarted(_owner, owner_);
    }

    /// @inheritdoc IGovernance
    function acceptOwnership() external {
        address actor = _actor();
        if (actor != _pendingOwner) revert NotAuthorized(actor);
        _owner = actor;
        _pendingOwner = address(0);
        emit OwnershipTransferred(actor);
    }

    // ------------------------------------------------------------------------------------------------------------ reads

    /// @inheritdoc IGovernance
    function params(uint16 version) external view returns (Params memory) {
        return _params[version];
    }

    /// @inheritdoc IGovernance
    function paramsVersion() external view returns (uint16) {
        return _versionInForce();
    }

    /// @inheritdoc IGovernance
    function proposedParams() external view returns (uint16 version, uint40 inForceAt) {
        if (block.timestamp >= _pool.inForceAt) return (0, 0);
        return (_pool.paramsVersion + 1, _pool.inForceAt);
    }

    /// @inheritdoc IGovernance
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

    /// @inheritdoc IGovernance
    function paused() external view returns (bool) {
        return _pool.paused;
    }

    /// @inheritdoc IGovernance
    function gated() external view returns (bool) {
        return _pool.gated;
    }

    /// @inheritdoc IGovernance
    function treasury() external view returns (address) {
        return _treasury;
    }

    /// @inheritdoc IGovernance
    function owner() external view returns (address) {
        return _owner;
    }

    /// @inheritdoc IGovernance
    function pendingOwner() external view returns (address) {
        return _pendingOwner;
    }

    // -------------------------------------------------------------------------------------------------------- inside it

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
