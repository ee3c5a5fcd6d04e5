// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Billing} from "../../../contracts/libraries/Billing.sol";
import {Cells} from "../../../contracts/libraries/Cells.sol";
import {
    Account,
    AccountSlots,
    LeaseBill,
    LeaseBills,
    LeaseBodies,
    LeaseBody,
    LeaseHead,
    LeaseHeads,
    MachineHead,
    MachineHeads,
    StoredTerms,
    TermsSlots
} from "../../../contracts/libraries/Slots.sol";
import {vm} from "./Check.sol";

contract BillingTest {
    function testFuzz_escrow_covers_what_accrues(uint80 price, uint8 cells, uint32 whole, uint32 part) external pure {
        uint256 count = 1 + cells % 64;
        uint256 ran = whole == 0 ? 0 : part % whole;
        uint256 escrow = Billing.escrow(price, count, whole);
        uint256 product = uint256(price) * count * whole;
        vm.assertTrue(escrow * 28_800 >= product && (escrow == 0 || (escrow - 1) * 28_800 < product));
        vm.assertTrue(Billing.accrued(price, count, ran) <= escrow);
        vm.assertTrue(Billing.accrued(price, count, whole) <= escrow);
    }

    function test_a_cell_hour_is_an_eighth_of_the_price() external pure {
        vm.assertEq(Billing.accrued(2.88e18, 1, 3600), 0.36e18);
        vm.assertEq(Billing.accrued(1, 1, 28_799), 0);
        vm.assertEq(Billing.escrow(1, 1, 1), 1);
        vm.assertEq(Billing.escrow(1, 1, 0), 0);
    }

    function testFuzz_portion(uint96 amount, uint16 bps) external pure {
        vm.assertEq(Billing.portion(amount, bps), uint256(amount) * bps / 10_000);
        vm.assertEq(Billing.min(amount, bps), amount < bps ? amount : bps);
    }

    /// @dev The longest time that the amount covers: so long, and not a second longer.
    function testFuzz_affordable(uint80 price, uint8 cells, uint96 amount) external pure {
        price = price == 0 ? 1 : price;
        uint256 count = 1 + cells % 64;
        uint256 longest = Billing.affordable(price, count, amount);
        vm.assertTrue(uint256(price) * count * longest <= uint256(amount) * 28_800);
        vm.assertTrue(uint256(price) * count * (longest + 1) > uint256(amount) * 28_800);
        if (longest <= type(uint32).max) vm.assertTrue(Billing.escrow(price, count, longest) <= amount);
    }

    // --------------------------------------------------------------------------------------------------- the bill's word

    uint80 private constant PRICE = 28_800; // a unit for each cell-second
    uint256 private constant START = 1000;

    function _owes(LeaseBill bill, uint256 until, uint256 expected) private pure {
        vm.assertEq(Billing.total(bill, PRICE, 2, START, until), expected);
    }

    function test_an_empty_bill_counts_from_the_start() external pure {
        LeaseBill bill = LeaseBills.make(0, 0, 0, 0);
        vm.assertTrue(bill.plain());
        vm.assertEq(Billing.began(bill, START), START);
        _owes(bill, START - 1, 0);
        _owes(bill, START, 0);
        _owes(bill, START + 10, 20);
        vm.assertEq(Billing.held(bill, PRICE, 2, START, START + 10), 20);
    }

    function test_what_is_settled_stays() external pure {
        LeaseBill bill = LeaseBills.make(15, 0, 0, 0);
        vm.assertTrue(bill.plain());
        _owes(bill, START, 15);
        _owes(bill, START + 7, 15);
        _owes(bill, START + 8, 16);
    }

    function test_pauses_are_no_progress() external pure {
        LeaseBill bill = LeaseBills.make(0, 5, 0, 0);
        vm.assertFalse(bill.plain());
        _owes(bill, START + 5, 0);
        _owes(bill, START + 6, 2);
        bill = bill.withSettled(8);
        _owes(bill, START + 6, 8);
        _owes(bill, START + 10, 10);
        // What is held pays for the whole time, for no outage is known in advance.
        vm.assertEq(Billing.held(bill, PRICE, 2, START, START + 10), 20);
    }

    function test_a_segment_counts_from_its_begin() external pure {
        LeaseBill bill = LeaseBills.make(40, 0, uint32(START + 20), 40);
        vm.assertEq(Billing.began(bill, START), START + 20);
        _owes(bill, START + 10, 40);
        _owes(bill, START + 20, 40);
        _owes(bill, START + 30, 60);
        _owes(bill.withPaused(4), START + 30, 52);
        vm.assertEq(Billing.held(bill, PRICE, 2, START, START + 30), 60);
    }

    function test_no_segment_begins_at_zero() external pure {
        vm.assertFalse(LeaseBills.make(0, 0, 1, 0).plain());
        vm.assertFalse(LeaseBills.make(0, 0, 0, 1).plain());
    }

    /// @dev What `[from, to)` has in common with `[begin of the segment, end)`, beside a count of its edges.
    function testFuzz_without(uint32 paused, uint32 segmentStart, uint32 start, uint32 end, uint32 from, uint32 to)
        external
        pure
    {
        LeaseBill bill = LeaseBills.make(7, paused, segmentStart, 9);
        LeaseBill less = Billing.without(bill, start, end, from, to);
        uint256 low = segmentStart == 0 ? start : segmentStart;
        if (from > low) low = from;
        uint256 high = to < end ? to : end;
        uint256 sum = high > low ? paused + (high - low) : paused;
        vm.assertEq(less.paused(), sum > type(uint32).max ? type(uint32).max : sum);
        vm.assertTrue(less.settled() == 7 && less.segmentStart() == segmentStart && less.segmentSettled() == 9);
    }

    /// @dev A lease never owes more than it holds, never less than was settled, and a second adds at most its price.
    function testFuzz_total(uint80 price, uint8 cells, uint32 ran, uint32 left, uint32 paused, uint96 before)
        external
        pure
    {
        before %= 1 << 90;
        cells = 1 + cells % 64;
        LeaseBill bill = LeaseBills.make(before, paused, uint32(START), before);
        uint256 owed = Billing.total(bill, price, cells, 1, START + ran);
        vm.assertEq(owed, before + Billing.accrued(price, cells, ran > paused ? ran - paused : 0));
        uint256 next = Billing.total(bill, price, cells, 1, START + ran + 1);
        vm.assertTrue(next >= owed && next - owed <= Billing.escrow(price, cells, 1));
        uint256 held = Billing.held(bill, price, cells, 1, START + ran + left);
        vm.assertLe(owed, held, "more than it holds");
    }
}

/// @notice `Cells` beside loops that say the same plainly.
contract CellsTest {
    function _cells(uint16 placement) private pure returns (uint64 mask, uint256 count) {
        for (uint256 i = 0; i < 64; ++i) {
            if (placement >> (8 + i / 8) & 1 == 1 && placement >> (i % 8) & 1 == 1) {
                mask |= uint64(1) << uint64(i);
                ++count;
            }
        }
    }

    function _ones(uint256 word) private pure returns (uint256 ones) {
        for (; word != 0; word &= word - 1) {
            ++ones;
        }
    }

    /// @dev The geometry of the specification: 1 cell at 0 to 6, 2 at 0, 2, 4, 4 at 0, 4, or whole GPUs.
    function _fits(uint16 placement, uint8 share, uint8 gpus) private pure returns (bool) {
        uint256 gpuMask = placement >> 8;
        uint256 cellMask = placement & 0xFF;
        if (gpuMask == 0 || gpuMask >= 1 << gpus) return false;
        if (share >= 8) return cellMask == 0xFF && _ones(gpuMask) == share / 8;
        if (_ones(gpuMask) != 1) return false;
        for (uint256 at = 0; at < 7; at += share) {
            if (share == 2 && at == 6) break;
            if (cellMask == ((1 << share) - 1) << at) return true;
        }
        return false;
    }

    function test_cells_and_count_over_all_placements() external pure {
        for (uint256 p = 0; p < 65_536; p += 7) {
            (uint64 mask, uint256 count) = _cells(uint16(p));
            vm.assertTrue(Cells.cells(uint16(p)) == mask && Cells.count(uint16(p)) == count);
        }
    }

    function testFuzz_cells_and_count(uint16 placement) external pure {
        (uint64 mask, uint256 count) = _cells(placement);
        vm.assertTrue(Cells.cells(placement) == mask && Cells.count(placement) == count);
    }

    function testFuzz_fits(uint16 placement, uint8 share, uint8 gpus) external pure {
        gpus = 1 + gpus % 8;
        if (!Cells.isShare(share, gpus)) share = 1;
        vm.assertTrue(Cells.fits(placement, share, gpus) == _fits(placement, share, gpus));
    }

    function test_every_place_fits() external pure {
        uint8[4] memory shares = [1, 2, 4, 8];
        for (uint256 s = 0; s < 4; ++s) {
            for (uint256 cellMask = 0; cellMask < 256; ++cellMask) {
                uint16 placement = uint16(1 << 8 | cellMask);
                vm.assertTrue(Cells.fits(placement, shares[s], 1) == _fits(placement, shares[s], 1));
            }
        }
    }

    function test_shares() external pure {
        for (uint256 share = 0; share < 256; ++share) {
            for (uint8 gpus = 1; gpus <= 8; ++gpus) {
                bool sold = share == 1 || share == 2 || share == 4 || (share > 0 && share % 8 == 0 && share / 8 <= gpus);
                vm.assertTrue(Cells.isShare(uint8(share), gpus) == sold);
            }
        }
    }

    function test_all() external pure {
        vm.assertEq(Cells.all(1), 0xFF);
        vm.assertEq(Cells.all(3), 0xFFFFFF);
        vm.assertEq(Cells.all(8), type(uint64).max);
    }

    /// @dev What is placed fits and is free; and when nothing is placed, no placement at all would have fitted.
    function testFuzz_place(uint64 busy, uint8 share, uint8 gpus) external pure {
        gpus = 1 + gpus % 8;
        if (!Cells.isShare(share, gpus)) share = [1, 2, 4, 8][share % 4];
        uint16 placement = Cells.place(busy, share, gpus);
        if (placement != 0) {
            vm.assertTrue(_fits(placement, share, gpus));
            vm.assertEq(Cells.cells(placement) & busy, 0);
            return;
        }
        uint256 free;
        for (uint256 gpu = 0; gpu < gpus; ++gpu) {
            if (share >= 8 && (busy >> (8 * gpu)) & 0xFF == 0) ++free;
            if (share >= 8) continue;
            for (uint256 at = 0; at + share <= 8; at += share) {
                uint16 tried = uint16((1 << (8 + gpu)) | (((1 << share) - 1) << at));
                vm.assertTrue(!_fits(tried, share, gpus) || Cells.cells(tried) & busy != 0);
            }
        }
        if (share >= 8) vm.assertTrue(free < share / 8);
    }

    function _place(uint64 busy, uint8 share, uint8 gpus, uint256 expected) private pure {
        vm.assertEq(Cells.place(busy, share, gpus), expected);
    }

    function test_place_takes_the_smallest_hole() external pure {
        _place(0, 1, 2, 0x0101); // nothing taken: the first cell of the first GPU
        _place(0x01, 1, 2, 0x0102); // the other half of a broken pair
        _place(0x03, 1, 2, 0x0104); // a broken quad before a whole one
        _place(0x0F, 1, 2, 0x0110); // a broken GPU before a whole one
        _place(0xFF, 1, 2, 0x0201); // the next GPU
        _place(0x04, 1, 1, 0x0108); // not the lowest cell: the half of a broken pair above it
        _place(0x30, 1, 1, 0x0140); // and what is left of a broken quad
        _place(0x0100, 1, 2, 0x0202); // whichever GPU has the hole
        _place(0x01, 2, 2, 0x010C);
        _place(0x0F, 2, 2, 0x0130);
        _place(0x3F, 2, 2, 0x0203); // cells 6 and 7 are no pair that MIG has
        _place(0x1000, 4, 2, 0x020F);
        _place(0x01, 4, 1, 0x01F0);
        _place(0x0001, 8, 2, 0x02FF);
        _place(0x000100, 16, 3, 0x05FF); // whole GPUs need not be neighbours
        _place(0, 64, 8, 0xFFFF);
    }

    function test_place_finds_no_room() external pure {
        _place(0x7F, 1, 1, 0); // cell 7 is never sold by itself
        _place(0x15, 2, 1, 0);
        _place(0x11, 4, 1, 0);
        _place(0x01, 8, 1, 0);
        _place(0x01, 16, 2, 0);
    }
}

/// @notice Each part of a slot keeps what was put there and touches no other.
contract SlotsTest {
    function testFuzz_leaseHead(
        address tenant,
        uint32 machine,
        uint16 placement,
        uint8 state,
        uint8 flags,
        uint32 start
    ) external pure {
        _leaseHead(LeaseHeads.make(tenant, machine, placement, state, flags, start), tenant, machine, placement, state);
        LeaseHead head = LeaseHeads.make(tenant, machine, placement, ~state, ~flags, ~start);
        vm.assertTrue(head.state() == (~state) && head.flags() == (~flags) && head.start() == (~start));
        head = head.withState(state).withFlags(flags).withStart(start);
        _leaseHead(head, tenant, machine, placement, state);
        vm.assertTrue(head.flags() == flags && head.start() == start);
        head = LeaseHeads.make(address(~uint160(tenant)), machine, ~placement, state, flags, start);
        head = head.withTenant(tenant).withPlacement(placement);
        _leaseHead(head, tenant, machine, placement, state);
        vm.assertTrue(head.flags() == flags && head.start() == start);
    }

    function testFuzz_leaseBill(uint96 settled, uint32 paused, uint32 segmentStart, uint96 segmentSettled)
        external
        pure
    {
        LeaseBill bill = LeaseBills.make(~settled, ~paused, segmentStart, segmentSettled);
        vm.assertTrue(bill.settled() == ~settled && bill.paused() == ~paused);
        bill = bill.withSettled(settled).withPaused(paused);
        vm.assertTrue(bill.settled() == settled && bill.paused() == paused);
        vm.assertTrue(bill.segmentStart() == segmentStart && bill.segmentSettled() == segmentSettled);
        vm.assertTrue(bill.plain() == (paused == 0 && segmentStart == 0 && segmentSettled == 0));
    }

    function _leaseHead(LeaseHead head, address tenant, uint32 machine, uint16 placement, uint8 state) private pure {
        vm.assertTrue(head.tenant() == tenant && head.machine() == machine);
        vm.assertTrue(head.placement() == placement && head.state() == state);
    }

    function testFuzz_leaseBody(uint96 deposit, uint80 price, uint32 end, uint16 revision, uint16 params, uint16 gen)
        external
        pure
    {
        LeaseBody body = LeaseBodies.make(~deposit, price, ~end, revision, params, 0).withDeposit(deposit).withEnd(end);
        body = body.withGeneration(gen);
        vm.assertTrue(body.deposit() == deposit && body.price() == price && body.end() == end);
        vm.assertTrue(body.revision() == revision && body.params() == params && body.generation() == gen);
    }

    function testFuzz_machineHead(
        address provider,
        uint64 leased,
        uint64 freed,
        uint8 status,
        uint16 revision,
        uint8 gpus,
        uint8 smallest
    ) external pure {
        (gpus, smallest) = (gpus & 15, smallest & 15);
        MachineHead head = MachineHeads.make(provider, ~status, ~revision, gpus, smallest).withStatus(status);
        head = head.withRevision(revision).withLeased(leased).withFreed(freed);
        vm.assertTrue(head.provider() == provider && head.leased() == leased & ~freed);
        vm.assertTrue(head.status() == status && head.revision() == revision);
        vm.assertTrue(head.gpus() == gpus && head.smallestShare() == smallest);
    }

    function testFuzz_terms(
        uint80 price,
        uint80 spot,
        uint24 least,
        uint24 most,
        uint16 trial,
        uint16 params,
        uint16 day
    ) external pure {
        StoredTerms terms = TermsSlots.make(price, spot, least, most, trial, params, day);
        vm.assertTrue(terms.price() == price && terms.spotPrice() == spot);
        vm.assertTrue(terms.minDuration() == least && terms.maxDuration() == most);
        vm.assertTrue(terms.trial() == trial && terms.params() == params && terms.availableUntilDay() == day);
    }

    function test_counts_stay_at_their_greatest_value() external pure {
        Account account = Account.wrap(0);
        account = account.withOneMore(AccountSlots.UNSTARTED).withOneMore(AccountSlots.UNSTARTED);
        account = account.withOneMore(AccountSlots.DECLINED).withOneMore(AccountSlots.TERMINATED);
        _counts(account, 1, 2, 1);
        account = Account.wrap(Account.unwrap(account) | AccountSlots.DECLINED | AccountSlots.TERMINATED);
        account = account.withOneMore(AccountSlots.DECLINED).withOneMore(AccountSlots.TERMINATED);
        _counts(account, 0xFFFFF, 2, 0xFFFFFF);
        account = Account.wrap(type(uint256).max).withOneMore(AccountSlots.UNSTARTED);
        _counts(account, 0xFFFFF, 0xFFFFF, 0xFFFFFF);
    }

    function _counts(Account account, uint256 declined, uint256 unstarted, uint256 terminated) private pure {
        vm.assertEq(account.count(AccountSlots.DECLINED), declined);
        vm.assertEq(account.count(AccountSlots.UNSTARTED), unstarted);
        vm.assertEq(account.count(AccountSlots.TERMINATED), terminated);
    }

    function testFuzz_fees(uint96 paid, uint96 due, uint64 counts, uint96 fee) external pure {
        vm.assume(uint256(due) + fee <= type(uint96).max);
        Account account = Account.wrap(uint256(counts) << 192 | uint256(due) << 96 | paid).withFee(fee);
        uint256 sum = uint256(paid) + fee;
        vm.assertEq(account.feesPaid(), sum > type(uint96).max ? type(uint96).max : sum);
        vm.assertEq(account.feesDue(), uint256(due) + fee);
        vm.assertEq(Account.unwrap(account) >> 192, counts);
        account = account.withNoneDue();
        vm.assertTrue(account.feesDue() == 0 && Account.unwrap(account) >> 192 == counts);
    }
}
