// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Slashing} from "../../../contracts/libraries/Slashing.sol";
import {vm} from "./Check.sol";

contract SlashingTest {
    uint256 private constant DAY = 20_000;

    function test_the_scale() external pure {
        uint256[8] memory at =
            [0, 7 minutes, 7 minutes + 1, 48 hours, 48 hours + 1, 120 hours, 120 hours + 1, uint256(30 days)];
        uint256[8] memory self = [uint256(200), 200, 400, 400, 3000, 3000, 5000, 5000];
        uint256[8] memory proven = [uint256(400), 400, 800, 800, 6000, 6000, 10_000, 10_000];
        for (uint256 i = 0; i < 8; ++i) {
            vm.assertEq(Slashing.tier(false, at[i]), self[i]);
            vm.assertEq(Slashing.tier(true, at[i]), proven[i]);
        }
    }

    function test_what_is_due() external pure {
        vm.assertEq(Slashing.due(400, 0, 5000), 400);
        vm.assertEq(Slashing.due(800, 400, 5000), 400);
        vm.assertEq(Slashing.due(6000, 400, 5000), 4600);
        vm.assertEq(Slashing.due(400, 800, 5000), 0);
        vm.assertEq(Slashing.due(10_000, 5000, 5000), 0);
        vm.assertEq(Slashing.due(10_000, 5000, 4000), 0); // the limit was lowered since
    }

    function test_the_window_slides() external pure {
        uint256 window = Slashing.withCharge(Slashing.withDowntime(0, DAY, DAY * 1 days, DAY * 1 days + 5), 400);
        for (uint256 i = 0; i < 8; ++i) {
            (uint256 downtime, uint256 charged) = Slashing.total(Slashing.advance(window, i));
            vm.assertTrue(downtime == 5 && charged == 400);
        }
        vm.assertEq(Slashing.advance(window, 8), 0);
        vm.assertEq(Slashing.advance(window, type(uint256).max), 0);
    }

    function test_downtime_lies_on_its_days() external pure {
        // From noon nine days ago until six this morning: today's six hours and seven whole days are in the window.
        uint256 window = Slashing.withDowntime(0, DAY, (DAY - 9) * 1 days + 12 hours, DAY * 1 days + 6 hours);
        (uint256 downtime,) = Slashing.total(window);
        vm.assertEq(downtime, 7 days + 6 hours);
        (downtime,) = Slashing.total(Slashing.advance(window, 7));
        vm.assertEq(downtime, 6 hours);
        vm.assertEq(Slashing.withoutDowntime(window, DAY, (DAY - 9) * 1 days + 12 hours, DAY * 1 days + 6 hours), 0);
    }

    function test_a_day_has_no_more_seconds_than_it_has() external pure {
        uint256 window = Slashing.withDowntime(0, DAY, DAY * 1 days, (DAY + 1) * 1 days);
        vm.assertEq(Slashing.withDowntime(window, DAY, DAY * 1 days, (DAY + 1) * 1 days), window);
        vm.assertEq(Slashing.withoutDowntime(0, DAY, DAY * 1 days, (DAY + 1) * 1 days), 0);
    }

    function test_the_first_days_of_all() external pure {
        (uint256 downtime,) = Slashing.total(Slashing.withDowntime(0, 1, 0, 2 days));
        vm.assertEq(downtime, 2 days);
        vm.assertEq(Slashing.withoutDowntime(Slashing.withDowntime(0, 1, 0, 2 days), 1, 0, 2 days), 0);
    }

    function test_a_charge_is_taken_back_from_its_day() external pure {
        uint256 window = Slashing.advance(Slashing.withCharge(0, 400), 3);
        vm.assertEq(Slashing.withoutCharge(window, 3, 400), 0);
        vm.assertEq(Slashing.withoutCharge(window, 8, 400), window); // long forgotten
    }

    function test_decay() external pure {
        vm.assertEq(Slashing.decayed(800, 0), 800);
        vm.assertEq(Slashing.decayed(800, 45 days), 600);
        vm.assertEq(Slashing.decayed(800, 90 days), 400);
        vm.assertEq(Slashing.decayed(800, 135 days), 300);
        vm.assertEq(Slashing.decayed(800, 180 days), 200);
        vm.assertEq(Slashing.decayed(type(uint96).max, 128 * 90 days), 0);
        vm.assertEq(Slashing.decayed(type(uint96).max, type(uint32).max), 0);
    }

    function testFuzz_decay_never_rises(uint96 slashed, uint32 a, uint32 b) external pure {
        (uint256 sooner, uint256 later) = a < b ? (a, b) : (b, a);
        vm.assertLe(Slashing.decayed(slashed, later), Slashing.decayed(slashed, sooner), "rose");
        vm.assertLe(Slashing.decayed(slashed, sooner), slashed, "more than it was");
    }

    /// @dev A later slash, from which counting begins anew, forgives the earlier one no sooner (but for rounding).
    function testFuzz_counting_anew_forgives_no_sooner(uint96 slashed, uint32 a, uint32 b) external pure {
        uint256 whole = Slashing.decayed(slashed, uint256(a) + b);
        uint256 anew = Slashing.decayed(Slashing.decayed(slashed, a), b);
        vm.assertLe(whole, anew + 2, "forgiven");
    }

    /// @dev Tenants of disjoint cells and times, in any order: together never more than half, each never more than his part.
    function testFuzz_losses_stay_within_the_half(
        uint96 slash,
        uint8[6] calldata cells,
        uint32[6] calldata times,
        uint32 all
    ) external pure {
        uint256 left = slash / 2;
        uint256 most = uint256(all) + 1;
        for (uint256 i = 0; i < 6; ++i) {
            (uint256 share, uint256 time) = (cells[i] % 65, times[i] % (most + 1));
            uint256 loss = Slashing.loss(slash, left, share, time, 64, most);
            vm.assertLe(loss, left, "more than is left");
            vm.assertLe(loss, uint256(slash) / 2 * share / 64, "more than his cells");
            if (share == 1) vm.assertLe(loss * 128, slash, "more than a 128th");
            left -= loss;
        }
        vm.assertLe(uint256(slash) / 2 - left + Slashing.tenth(slash), slash, "more than the slash");
    }

    /// @dev Days pass and outages of every length and kind are charged: no eight days in a row cost more than the limit.
    function testFuzz_no_eight_days_cost_more_than_the_limit(
        uint16 most,
        uint8[24] calldata gaps,
        uint8[24] calldata tiers
    ) external pure {
        most = uint16(most % 10_001);
        uint256[8] memory steps = [uint256(200), 400, 3000, 5000, 400, 800, 6000, 10_000];
        uint256[24] memory day;
        uint256[24] memory bps;
        uint256 window;
        for (uint256 i = 0; i < 24; ++i) {
            uint256 gap = gaps[i] % 4;
            day[i] = (i == 0 ? DAY : day[i - 1]) + gap;
            window = Slashing.advance(window, gap);
            (, uint256 charged) = Slashing.total(window);
            bps[i] = Slashing.due(steps[tiers[i] % 8], charged, most);
            window = Slashing.withCharge(window, bps[i]);
        }
        for (uint256 i = 0; i < 24; ++i) {
            uint256 sum;
            for (uint256 j = i; j < 24 && day[j] < day[i] + 8; ++j) {
                sum += bps[j];
            }
            vm.assertLe(sum, most, "too much");
        }
    }

    /// @dev However a sum of basis points is cut into charges, they take what the sum takes, but for a unit's part each.
    function testFuzz_parts_take_what_the_whole_takes(uint96 stake, uint16[5] calldata parts) external pure {
        uint256 left = stake;
        uint256 charged;
        for (uint256 i = 0; i < 5; ++i) {
            uint256 bps = parts[i] % (Slashing.BPS - charged + 1);
            uint256 amount = Slashing.amount(left, bps, charged);
            vm.assertLe(amount, left, "more than there is");
            left -= amount;
            charged += bps;
        }
        uint256 whole = Slashing.amount(stake, charged, 0);
        vm.assertLe(stake - left, whole, "more than the whole");
        // A unit that one part leaves for want of a whole one, the next takes its part of.
        vm.assertLe(whole, stake - left + 5, "less than the whole");
    }

    function testFuzz_downtime_comes_and_goes(uint40 from, uint24 length, uint24 later) external pure {
        uint256 begin = DAY * 1 days + from % 30 days;
        uint256 end = begin + length;
        uint256 today = (end + later) / 1 days;
        uint256 window = Slashing.withDowntime(0, today, begin, end);
        (uint256 downtime, uint256 charged) = Slashing.total(window);
        vm.assertEq(charged, 0);
        vm.assertEq(downtime, Slashing.overlap(begin, end, (today - 7) * 1 days, (today + 1) * 1 days));
        vm.assertEq(Slashing.withoutDowntime(window, today, begin, end), 0);
    }
}
