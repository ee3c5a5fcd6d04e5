// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {QuietToken, SizedToken} from "../../contracts/test/OddTokens.sol";
import {vm} from "./Cheats.sol";
import {ControllerInvariants} from "./Invariants.sol";

/// @notice With an ordinary token of 18 decimals.
/// forge-config: deep.invariant.runs = 8
/// forge-config: deep.invariant.depth = 50
contract ControllerInvariantsPlain is ControllerInvariants {
    function setUp() external {
        _create(address(new SizedToken(18)));
    }

    /// forge-config: default.invariant.runs = 1
    /// forge-config: deep.invariant.runs = 1000
    /// forge-config: deep.invariant.depth = 100
    function invariant_all_together() external {
        _together();
    }

    /// @notice A step that never goes through would test nothing: so many steps, and each has worked.
    function test_every_step_goes_through_now_and_then() external {
        bytes4[78] memory steps = [
            handler.pass.selector,
            handler.deposit.selector,
            handler.transfer.selector,
            handler.withdraw.selector,
            handler.donate.selector,
            handler.register.selector,
            handler.takeConsent.selector,
            handler.setTerms.selector,
            handler.configure.selector,
            handler.withhold.selector,
            handler.addStake.selector,
            handler.retire.selector,
            handler.unstake.selector,
            handler.open.selector,
            handler.start.selector,
            handler.openAndStart.selector,
            handler.gang.selector,
            handler.move.selector,
            handler.decline.selector,
            handler.cancelUnstarted.selector,
            handler.reject.selector,
            handler.extend.selector,
            handler.setWorkload.selector,
            handler.close.selector,
            handler.sweep.selector,
            handler.terminate.selector,
            handler.claim.selector,
            handler.claimAndExtend.selector,
            handler.renew.selector,
            handler.publishResult.selector,
            handler.takeOffer.selector,
            handler.retakeOffer.selector,
            handler.cancelOffers.selector,
            handler.resize.selector,
            handler.failover.selector,
            handler.transferLease.selector,
            handler.reportOutage.selector,
            handler.challenge.selector,
            handler.answer.selector,
            handler.prove.selector,
            handler.attest.selector,
            handler.recover.selector,
            handler.roll.selector,
            handler.applyOutage.selector,
            handler.appeal.selector,
            handler.rule.selector,
            handler.execute.selector,
            handler.compensate.selector,
            handler.payQuorum.selector,
            handler.overrule.selector,
            handler.outage.selector,
            handler.retireWhileDown.selector,
            handler.waitOut.selector,
            handler.openReject.selector,
            handler.openClose.selector,
            handler.endOthers.selector,
            handler.leaseToOneself.selector,
            handler.challengeOneself.selector,
            handler.join.selector,
            handler.leave.selector,
            handler.exit.selector,
            handler.topUp.selector,
            handler.requestVerification.selector,
            handler.draw.selector,
            handler.commit.selector,
            handler.reveal.selector,
            handler.finalize.selector,
            handler.verify.selector,
            handler.rate.selector,
            handler.forgeGroup.selector,
            handler.actAsGroup.selector,
            handler.delegate.selector,
            handler.replay.selector,
            handler.pullFees.selector,
            handler.govern.selector,
            handler.reform.selector,
            handler.overreach.selector,
            handler.steal.selector
        ];
        vm.pauseGasMetering();
        for (uint256 i = 0; i < 2500; i++) {
            bytes32 seed = keccak256(abi.encode(i));
            bytes memory call = abi.encodePacked(
                steps[uint256(seed) % steps.length],
                keccak256(abi.encode(seed, 1)),
                keccak256(abi.encode(seed, 2)),
                seed
            );
            (bool ok,) = address(handler).call(call);
            require(ok, "a step reverted");
        }
        for (uint256 i = 0; i < steps.length; i++) {
            require(handler.done(steps[i]) > 0, string.concat("a step never went through: ", vm.toString(i)));
        }
    }
}

/// @notice With a token of 6 decimals that returns nothing.
/// forge-config: deep.invariant.runs = 8
/// forge-config: deep.invariant.depth = 50
contract ControllerInvariantsQuiet is ControllerInvariants {
    function setUp() external {
        _create(address(new QuietToken()));
    }

    /// forge-config: default.invariant.runs = 1
    /// forge-config: deep.invariant.runs = 1000
    /// forge-config: deep.invariant.depth = 100
    function invariant_all_together() external {
        _together();
    }
}
