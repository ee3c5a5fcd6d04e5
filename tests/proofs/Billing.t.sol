// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Billing} from "../../contracts/libraries/Billing.sol";
import {LeaseBill, LeaseBills} from "../../contracts/libraries/Slots.sol";
import {Lemmas} from "./Lemmas.sol";

/// @notice Proven of every price, share, time and fee, by symbolic execution (`make halmos`): what a lease is billed only
/// grows and never passes what it holds, and when it ends, paid, fee and refund are the deposit, to the unit.
/// @dev By induction over a lease's life. A state is its bill, its deposit, its ends and now; it is *sound* if
///
///   1. its times are in order, and a first segment has nothing before it;
///   2. what is settled is at most what holding it up to now takes, and at most the deposit;
///   3. the deposit is at least what holding it to its end takes.
///
/// `check_open…` shows that a lease begins sound, the `check_step…`s that each change of a bill leaves it so, whatever came
/// before (any number of segments, claims and pauses); `check_end…` that of a sound lease every unit is somewhere. The steps
/// do what `base/` does with `Billing`, less the authority for it. Amounts past 96 bits revert there (SafeCast).
contract BillingProofs {
    uint256 private constant K = 28_800;
    uint256 private constant BPS = 10_000;

    /// @param now_ the present moment
    struct Lease {
        LeaseBill bill;
        uint80 price;
        uint8 cells;
        uint32 start;
        uint32 end;
        uint32 now_;
        uint96 deposit;
    }

    // ------------------------------------------------------------------------------------------------------ arithmetic

    /// @notice An escrow covers what accrues, and is at most one unit more.
    function check_escrow_covers_what_accrues(uint80 price, uint8 cells, uint32 duration) external pure {
        if (cells > 64) return;
        uint256 held = Billing.escrow(price, cells, duration);
        uint256 due = Billing.accrued(price, cells, duration);
        _roundings(price, cells, duration);
        assert(due <= held && held - due <= 1);
    }

    /// @notice What accrues grows with time, and so does its escrow.
    function check_accrual_grows(uint80 price, uint8 cells, uint32 earlier, uint32 later) external pure {
        if (cells > 64 || earlier > later) return;
        _grows(price, cells, earlier, later);
        assert(Billing.accrued(price, cells, earlier) <= Billing.accrued(price, cells, later));
        assert(Billing.escrow(price, cells, earlier) <= Billing.escrow(price, cells, later));
    }

    /// @notice A further fee is at least nothing and at most what further accrued; all of them together are the fee of the
    /// whole, since each is a difference of two totals.
    function check_fees_are_within_what_accrues(uint96 before, uint96 total, uint16 bps) external pure {
        if (bps > BPS || before > total) return;
        _fees(before, total, bps);
        uint256 fee = Billing.portion(total, bps);
        uint256 feeBefore = Billing.portion(before, bps);
        assert(feeBefore <= fee && fee <= total && fee - feeBefore <= total - before);
    }

    /// @notice The time that an amount buys costs no more than the amount.
    function check_affordable_is_affordable(uint80 price, uint8 cells, uint96 amount) external pure {
        if (cells == 0 || cells > 64 || price == 0) return;
        uint256 duration = Billing.affordable(price, cells, amount);
        uint256 product;
        unchecked {
            product = uint256(price) * cells;
            Lemmas.productWithin(price, type(uint80).max, cells, 64);
            Lemmas.productWithin(amount, type(uint96).max, K, K);
            Lemmas.quotientTimesDivisor(uint256(amount) * K, product);
            Lemmas.quotientUpWithin(product * duration, amount, K);
        }
        assert(Billing.escrow(price, cells, duration) <= amount);
    }

    // --------------------------------------------------------------------------------------------------- the induction

    function check_open_is_sound(Lease memory l) external pure {
        l.bill = LeaseBill.wrap(0);
        if (l.cells == 0 || l.cells > 64 || l.start != l.now_ || l.end < l.now_) return;
        uint256 escrow = Billing.escrow(l.price, l.cells, l.end - l.start);
        if (escrow > type(uint96).max) return;
        l.deposit = uint96(escrow);
        assert(_sound(l));
    }

    /// @notice Time passes.
    function check_step_wait(Lease memory l, uint32 later) external pure {
        if (!_sound(l) || later < l.now_) return;
        _grow(l, l.now_, later);
        l.now_ = later;
        assert(_sound(l));
    }

    /// @notice A claim, up to any time before now and the end.
    function check_step_claim(Lease memory l, uint32 until) external pure {
        if (!_sound(l) || until > l.now_ || until > l.end) return;
        uint256 total = _total(l, until);
        _grow(l, until, l.now_);
        assert(total >= l.bill.settled());
        assert(total <= l.deposit); // so it fits 96 bits
        l.bill = l.bill.withSettled(uint96(total));
        assert(_sound(l));
    }

    /// @notice The end moves up, and the deposit with it.
    function check_step_extend(Lease memory l, uint32 end) external pure {
        if (!_sound(l) || l.now_ >= l.end || end <= l.end) return;
        uint256 held = Billing.held(l.bill, l.price, l.cells, l.start, end);
        if (held > type(uint96).max) return;
        _grow(l, l.now_, end);
        l.end = end;
        l.deposit = uint96(held);
        assert(_sound(l));
    }

    /// @notice The end moves down, to now at the lowest: notice, or a tenant who leaves.
    function check_step_end_sooner(Lease memory l, uint32 end) external pure {
        if (!_sound(l) || end < l.now_ || end > l.end) return;
        _grow(l, end, l.end);
        l.end = end;
        assert(_sound(l));
    }

    /// @notice An outage's time goes off the bill: what is billed falls, and never below what is settled.
    function check_step_pause(Lease memory l, uint32 from, uint32 to, uint32 until) external pure {
        if (!_sound(l) || until > l.end) return;
        uint256 before = _total(l, until);
        uint256 pausedBefore = l.bill.paused();
        l.bill = Billing.without(l.bill, l.start, Billing.min(l.end, l.now_), from, to);
        assert(l.bill.paused() >= pausedBefore);
        uint256 total = _total(l, until);
        _growBy(l, _billed(l, l.bill.paused(), until), _billed(l, pausedBefore, until));
        assert(total <= before && total >= l.bill.settled());
        assert(_sound(l));
    }

    /// @notice Another share from now on. The provider has what accrued; the rest is levelled with the tenant.
    function check_step_resize(Lease memory l, uint8 cells, uint16 bps) external pure {
        if (!_sound(l) || cells == 0 || cells > 64 || l.now_ >= l.end || l.now_ == 0 || bps > 1000) return;
        uint256 settledBefore = l.bill.settled();
        uint256 total = _total(l, l.now_);
        _grow(l, l.now_, l.end);
        assert(total >= settledBefore && total <= l.deposit);
        uint96 settled = uint96(total);
        LeaseBill bill = LeaseBills.make(settled, 0, l.now_, settled);
        uint256 held = Billing.held(bill, l.price, cells, 0, l.end);
        if (held > type(uint96).max) return;
        (l.bill, l.cells, l.deposit) = (bill, cells, uint96(held));
        assert(held >= settled);
        assert(_sound(l));
    }

    /// @notice However a lease ends and whatever it has been through: paid + fee + refunded is what was deposited.
    function check_end_every_unit_is_somewhere(Lease memory l, uint32 until, uint16 bps) external pure {
        if (!_sound(l) || until > l.end || bps > 1000) return;
        uint256 settled = l.bill.settled();
        uint256 total = _total(l, until);
        assert(total >= settled && total <= l.deposit);
        // As `_payOut` and `_payProvider`, casts and all.
        _fees(settled, total, bps);
        uint256 feeAfter = Billing.portion(total, bps);
        uint256 feeAdded = feeAfter - Billing.portion(settled, bps);
        uint256 credited = total - settled - feeAdded; // checked: it never reverts
        uint96 fee = uint96(feeAfter);
        uint96 paid = uint96(total - feeAfter);
        uint96 refunded = uint96(l.deposit - total);
        assert(uint256(paid) + fee + refunded == l.deposit);
        // What claims have credited before and what is credited now are what is said to be paid.
        assert(settled - Billing.portion(settled, bps) + credited == paid);
    }

    // ----------------------------------------------------------------------------------------------------- what it says

    function _sound(Lease memory l) private pure returns (bool) {
        uint256 began = Billing.began(l.bill, l.start);
        if (l.cells == 0 || l.cells > 64 || began > l.now_ || began > l.end) return false;
        if (l.bill.segmentStart() == 0 && l.bill.segmentSettled() != 0) return false;
        if (l.bill.settled() > l.deposit) return false;
        if (l.bill.settled() > Billing.held(l.bill, l.price, l.cells, l.start, l.now_)) return false;
        return Billing.held(l.bill, l.price, l.cells, l.start, l.end) <= l.deposit;
    }

    /// @dev The total, with what must be known of the two products in it and in what is held to the end.
    function _total(Lease memory l, uint32 until) private pure returns (uint256) {
        unchecked {
            uint256 began = Billing.began(l.bill, l.start);
            uint256 billed = until - (began + l.bill.paused());
            _roundings(l.price, l.cells, billed);
            _grows(l.price, l.cells, billed, until - began);
            _roundings(l.price, l.cells, until - began);
            _grows(l.price, l.cells, until - began, l.end - began);
        }
        return Billing.total(l.bill, l.price, l.cells, l.start, until);
    }

    function _billed(Lease memory l, uint256 paused, uint256 until) private pure returns (uint256) {
        unchecked {
            return until - (Billing.began(l.bill, l.start) + paused);
        }
    }

    // ------------------------------------------------------------------------------------------------- lemmas, applied

    function _grow(Lease memory l, uint256 earlier, uint256 later) private pure {
        uint256 began = Billing.began(l.bill, l.start);
        unchecked {
            _growBy(l, earlier - began, later - began);
        }
    }

    function _growBy(Lease memory l, uint256 earlier, uint256 later) private pure {
        _grows(l.price, l.cells, earlier, later);
    }

    function _grows(uint80 price, uint256 cells, uint256 earlier, uint256 later) private pure {
        unchecked {
            uint256 rate = uint256(price) * cells;
            Lemmas.productGrows(rate, earlier, later);
            Lemmas.quotientGrows(rate * earlier, rate * later, K);
            _bounded(price, cells, earlier);
            _bounded(price, cells, later);
            Lemmas.quotientGrows(rate * earlier + K - 1, rate * later + K - 1, K);
        }
    }

    function _roundings(uint80 price, uint256 cells, uint256 duration) private pure {
        unchecked {
            uint256 product = uint256(price) * cells * duration;
            _bounded(price, cells, duration);
            Lemmas.quotientGrows(product, product + K - 1, K);
            Lemmas.quotientRoundedUp(product, K);
        }
    }

    /// @dev No product passes 119 bits.
    function _bounded(uint80 price, uint256 cells, uint256 duration) private pure {
        unchecked {
            Lemmas.productWithin(price, type(uint80).max, cells, 64);
            Lemmas.productWithin(uint256(price) * cells, uint256(type(uint80).max) * 64, duration, type(uint32).max);
            Lemmas.quotientWithin(uint256(price) * cells * duration, K);
            Lemmas.quotientWithin(uint256(price) * cells * duration + K - 1, K);
        }
    }

    function _fees(uint256 before, uint256 total, uint256 bps) private pure {
        unchecked {
            Lemmas.growsTimes(before, total, bps);
            Lemmas.quotientGrows(before * bps, total * bps, BPS);
            Lemmas.partOfDifference(before, total, bps, BPS);
            Lemmas.partOfDifference(0, total, bps, BPS);
            Lemmas.quotientWithin(total * bps, BPS);
        }
    }
}
