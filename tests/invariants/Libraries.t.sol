// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params} from "../../contracts/interfaces/PoolTypes.sol";
import {Billing} from "../../contracts/libraries/Billing.sol";
import {Cells} from "../../contracts/libraries/Cells.sol";
import {Rules} from "../../contracts/libraries/Rules.sol";

/// @notice What must hold of the libraries over whole histories: the unit tests look at one call at a time.
contract LibrariesTest {
    uint256 private constant HISTORY = 12;

    /// @notice However a lease is claimed, its parts add up to what one claim of the whole pays, to the unit, and never
    /// pass what was deposited for it.
    function testFuzz_many_claims_pay_what_one_pays(
        uint80 price,
        uint8 cells,
        uint16 feeBps,
        uint24 duration,
        uint24[HISTORY] calldata moments
    ) external pure {
        uint256 n = 1 + cells % 64;
        uint256 bps = feeBps % 1001;
        uint256 deposit = Billing.escrow(price, n, duration);
        uint256 settled;
        uint256 paid;
        uint256 fees;
        uint256 reached;
        for (uint256 i = 0; i <= HISTORY; i++) {
            // Some moment later than the last, and in the end the whole.
            if (i < HISTORY) reached = Billing.min(duration, reached + moments[i] / (i + 1));
            else reached = duration;
            uint256 total = Billing.accrued(price, n, reached);
            uint256 fee = Billing.portion(total, bps) - Billing.portion(settled, bps);
            require(total >= settled, "accrual fell");
            require(fee <= total - settled, "a fee above what accrued");
            paid += total - settled - fee;
            fees += fee;
            settled = total;
        }
        uint256 whole = Billing.accrued(price, n, duration);
        require(paid + fees == whole, "the parts are not the whole");
        require(fees == Billing.portion(whole, bps), "small claims pay another fee");
        require(whole <= deposit && deposit - whole <= 1, "a deposit that does not fit");
    }

    /// @notice The dearest and longest lease that terms can describe has a deposit that fits its 96 bits.
    function testFuzz_no_lease_is_too_dear_to_open(uint80 price, uint16 placement, uint24 duration) external pure {
        require(Billing.escrow(price, Cells.count(placement), duration) <= type(uint96).max, "a deposit too large");
    }

    /// @notice Shares placed and freed in any order never overlap, stay on the machine, and leave it empty in the end.
    function testFuzz_a_day_on_a_machine(uint8 gpus, uint16[32] calldata wishes) external pure {
        gpus = 1 + gpus % 8;
        uint8[5] memory shares = [1, 2, 4, 8, 16];
        uint16[] memory placed = new uint16[](wishes.length);
        uint64 busy;
        for (uint256 i = 0; i < wishes.length; i++) {
            uint256 gone = (wishes[i] >> 8) % wishes.length;
            if (wishes[i] & 0x80 != 0 && placed[gone] != 0) {
                busy ^= Cells.cells(placed[gone]);
                placed[gone] = 0;
            }
            uint8 share = shares[wishes[i] % 5];
            if (!Cells.isShare(share, gpus)) continue;
            uint16 place = Cells.place(busy, share, gpus);
            if (place == 0) continue;
            uint64 mask = Cells.cells(place);
            require(Cells.fits(place, share, gpus) && Cells.count(place) == share, "a place that does not fit");
            require(mask & busy == 0 && mask & ~Cells.all(gpus) == 0, "a place that was taken");
            busy |= mask;
            placed[i] = place;
        }
        for (uint256 i = 0; i < placed.length; i++) {
            if (placed[i] != 0) busy ^= Cells.cells(placed[i]);
        }
        require(busy == 0, "cells that nobody holds");
    }

    /// @notice Whatever parameters the rules let through, the promises made of them hold.
    function testFuzz_rules_hold_their_promises(Params calldata p) external pure {
        if (Rules.faultOf(p) != 0) return;
        _promised(p);
    }

    /// @notice The same from inside the bounds, where chance alone rarely comes.
    function testFuzz_rules_let_through_what_is_in_bounds(Params memory p) external view {
        p.feeBps %= 1001;
        p.holdFeeBps %= 10_001;
        p.maxSlashBps %= 10_001;
        p.startWindow = 60 + p.startWindow % (1 days - 59);
        p.noticeSeconds %= 30 days + 1;
        p.challengeWindow = 10 minutes + p.challengeWindow % 1 days;
        p.claimLag = p.challengeWindow + 5 minutes + p.claimLag % 1 days;
        p.filingWindow %= 5 days;
        p.appealWindow = 1 days + p.appealWindow % 12 days;
        p.rulingWindow = 1 days + p.rulingWindow % (13 days - p.appealWindow + 1);
        p.unstakeDelay = 60 days + p.unstakeDelay % (30 days + 1);
        if (p.bond > p.minStakePerGpu) (p.bond, p.minStakePerGpu) = (p.minStakePerGpu, p.bond);
        if (p.seatStake < p.minStakePerGpu) p.seatStake = p.minStakePerGpu;
        p.committeeSize = 3 + 2 * (p.committeeSize % 7);
        p.verificationFee = uint96(p.verificationFee % (uint256(p.seatStake) / 10 + 1));
        if (p.sink == p.arbiter) p.sink = address(0);
        require(this.faultOf(p) == 0, "parameters in bounds were refused");
    }

    function faultOf(Params calldata p) external pure returns (bytes32 fault) {
        fault = Rules.faultOf(p);
        if (fault == 0) _promised(p);
    }

    function _promised(Params calldata p) private pure {
        require(p.feeBps <= 1000 && p.holdFeeBps <= 10_000 && p.maxSlashBps <= 10_000, "a share out of bounds");
        require(p.challengeWindow >= 10 minutes, "too short a time to answer");
        require(p.claimLag >= p.challengeWindow && p.claimLag >= 15 minutes, "a claim reaches too far");
        require(p.filingWindow < 5 days && p.unstakeDelay <= 90 days, "faults or stakes wait too long");
        require(
            p.unstakeDelay >= uint256(p.filingWindow) + p.challengeWindow + p.appealWindow + p.rulingWindow,
            "stake leaves before a fault could be ruled on"
        );
        require(p.appealWindow >= 1 days && p.rulingWindow >= 1 days, "too short a time to appeal or to rule");
        require(uint256(p.appealWindow) + p.rulingWindow <= 14 days, "a seat is gone before it is ruled on");
        require(uint256(p.verificationFee) * 10 <= p.seatStake, "a lie earns more than it costs");
        require(p.sink == address(0) || p.sink != p.arbiter, "whoever rules gains");
        require(p.bond <= p.minStakePerGpu, "an appeal costs more than what it is about");
        require(p.seatStake >= p.minStakePerGpu, "a quorum costs less than what it judges");
        require(p.committeeSize % 2 == 1 && p.committeeSize >= 3 && p.committeeSize <= 15, "a vote may be a draw");
    }
}
