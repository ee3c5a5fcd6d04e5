// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Score} from "../../../contracts/libraries/Score.sol";
import {vm} from "./Check.sol";

contract ScoreTest {
    uint256 private constant U = 100e18; // stake of a GPU

    function test_nobody_begins_with_a_score() external pure {
        vm.assertEq(Score.compute(0, 0, 0, U), 0);
        vm.assertEq(Score.compute(0, 0, 0, 0), 0);
        vm.assertEq(Score.compute(0, 5e18, 3, U), 0);
    }

    /// @dev The worked examples of docs/decisions/0076-score.md.
    function test_examples() external pure {
        vm.assertEq(Score.compute(100e18, 0, 0, U), 500);
        vm.assertEq(Score.compute(900e18, 0, 0, U), 900);
        vm.assertEq(Score.compute(100e18, 20e18, 0, U), 250);
        vm.assertEq(Score.compute(100e18, 0, 50, U), 400);
        vm.assertEq(Score.compute(100e18, 0, 0, 0), 1000);
    }

    function test_half_at_most() external pure {
        vm.assertEq(Score.discountBps(0), 0);
        vm.assertEq(Score.discountBps(500), 2500);
        vm.assertEq(Score.discountBps(1000), 5000);
    }

    function testFuzz_stays_in_bounds(uint96 fees, uint128 slashed, uint32 broken, uint96 unit) external pure {
        uint256 score = Score.compute(fees, slashed, broken, unit);
        vm.assertLe(score, 1000, "score");
        vm.assertLe(Score.discountBps(score), 5000, "discount");
    }

    function testFuzz_fees_raise_it_and_nothing_else_does(
        uint96 fees,
        uint96 more,
        uint128 slashed,
        uint32 broken,
        uint96 unit
    ) external pure {
        vm.assume(uint256(fees) + more <= type(uint96).max);
        uint256 score = Score.compute(fees, slashed, broken, unit);
        vm.assertLe(score, Score.compute(uint256(fees) + more, slashed, broken, unit), "fees");
        vm.assertLe(Score.compute(fees, uint256(slashed) + more, broken, unit), score, "slashed");
        vm.assertLe(Score.compute(fees, slashed, uint256(broken) + 1, unit), score, "broken");
    }

    /// @dev A forger who is not the owner burns fees `f` to save stake. With n GPUs he saves n·u·discount, and at any f he
    /// has burnt more than half of what one GPU saves: docs/decisions/0076-score.md says from how many GPUs on it pays.
    function testFuzz_forging_never_pays_for_one_gpu(uint96 fees) external pure {
        uint256 saved = U * Score.discountBps(Score.compute(fees, 0, 0, U)) / 10_000;
        vm.assertLe(saved, fees, "one GPU's stake");
    }
}
