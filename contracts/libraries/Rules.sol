// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params, Terms} from "../interfaces/PoolTypes.sol";

/// @title The hard bounds on what providers and owners may set.
/// @dev Each function names the first field that is out of bounds, or returns zero.
library Rules {
    uint256 internal constant MAX_TRIAL = 15 minutes;
    uint256 internal constant MAX_FEE_BPS = 1000;
    uint256 internal constant MAX_BPS = 10_000;
    uint256 internal constant MIN_START_WINDOW = 1 minutes;
    uint256 internal constant MAX_START_WINDOW = 1 days;
    uint256 internal constant MAX_NOTICE = 30 days;
    uint256 internal constant MIN_CHALLENGE_WINDOW = 10 minutes;
    uint256 internal constant MAX_CLAIM_LAG = 7 days;
    uint256 internal constant TIMELOCK = 2 days;
    uint256 internal constant MATURITY = 3 days;
    /// @dev How long a seat that leaves answers for what it has signed.
    uint256 internal constant LEAVE_DELAY = 21 days;
    /// @dev With the longest filing window, or the longest outage, less than `LEAVE_DELAY`.
    uint256 internal constant MAX_APPEAL = 14 days;
    uint256 internal constant MIN_APPEAL_WINDOW = 1 days;
    uint256 internal constant MIN_RULING_WINDOW = 1 days;
    /// @dev Longer than anything of an older version takes to be filed, or to be asked and proven, once a machine has retired:
    /// less than five days, and less than eight. What is filed holds the stake by itself.
    uint256 internal constant MIN_UNSTAKE_DELAY = 8 days;
    uint256 internal constant MAX_UNSTAKE_DELAY = 90 days;
    /// @dev Of what a seat was bought for: its fine.
    uint256 internal constant FINE_DIVISOR = 10;
    uint256 internal constant MIN_COMMITTEE = 3;
    uint256 internal constant MAX_COMMITTEE = 15;

    function faultOf(Terms calldata terms) internal pure returns (bytes32) {
        if (terms.price == 0) return "price";
        if (terms.minDuration == 0) return "minDuration";
        if (terms.maxDuration < terms.minDuration) return "maxDuration";
        if (terms.trial > MAX_TRIAL) return "trial";
        return 0;
    }

    /// @dev An owner can neither take more than these bounds say nor hold a stake longer than `MAX_UNSTAKE_DELAY`.
    function faultOf(Params calldata params) internal pure returns (bytes32) {
        if (params.feeBps > MAX_FEE_BPS) return "feeBps";
        if (params.holdFeeBps > MAX_BPS) return "holdFeeBps";
        if (params.maxSlashBps > MAX_BPS) return "maxSlashBps";
        if (params.startWindow < MIN_START_WINDOW || params.startWindow > MAX_START_WINDOW) return "startWindow";
        if (params.noticeSeconds > MAX_NOTICE) return "noticeSeconds";
        if (params.challengeWindow < MIN_CHALLENGE_WINDOW) return "challengeWindow";
        // Not shorter than a trial either: so a claim never reaches into one, and need not look.
        if (params.claimLag < params.challengeWindow || params.claimLag < MAX_TRIAL) return "claimLag";
        if (params.claimLag > MAX_CLAIM_LAG) return "claimLag";
        // Whoever leaves when a version is proposed has left before a seat can be old enough that was bought under it.
        if (params.filingWindow >= TIMELOCK + MATURITY) return "filingWindow";
        if (params.appealWindow < MIN_APPEAL_WINDOW) return "appealWindow";
        if (params.rulingWindow < MIN_RULING_WINDOW) return "rulingWindow";
        if (uint256(params.appealWindow) + params.rulingWindow > MAX_APPEAL) return "rulingWindow";
        uint256 open = uint256(params.filingWindow) + params.challengeWindow + params.appealWindow + params.rulingWindow;
        if (params.unstakeDelay < open || params.unstakeDelay < MIN_UNSTAKE_DELAY) return "unstakeDelay";
        if (params.unstakeDelay > MAX_UNSTAKE_DELAY) return "unstakeDelay";
        if (params.bond > params.minStakePerGpu) return "bond";
        // Else a quorum that judges machines would cost less than what it judges.
        if (params.seatStake < params.minStakePerGpu) return "seatStake";
        // Odd, so that no vote is a draw.
        if (params.committeeSize < MIN_COMMITTEE || params.committeeSize > MAX_COMMITTEE) return "committeeSize";
        if (params.committeeSize % 2 == 0) return "committeeSize";
        // A fine is a tenth: so nobody earns more by a lie than it costs where it comes out.
        if (uint256(params.verificationFee) * FINE_DIVISOR > params.seatStake) return "verificationFee";
        // Whoever rules gains nothing.
        if (params.sink != address(0) && params.sink == params.arbiter) return "sink";
        return 0;
    }
}
