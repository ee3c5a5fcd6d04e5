// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../../contracts/interfaces/IAccounts.sol";
import {ICommittee, RoundState, Signer} from "../../../../contracts/interfaces/ICommittee.sol";
import {FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {IGovernance} from "../../../../contracts/interfaces/IGovernance.sol";
import {ILeases} from "../../../../contracts/interfaces/ILeases.sol";
import {IMachines} from "../../../../contracts/interfaces/IMachines.sol";
import {IPoolErrors} from "../../../../contracts/interfaces/IPoolErrors.sol";
import {MachineStatus, MachineView, Params} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice A thief with money who reads the code: who may judge, until when, and what stays of a judgement that is taken
/// back. Each test says what he would have of it, or, where that is accepted (docs/THREATS.md says which), what he has.
contract ThiefRaces is RaceWorld {
    uint256 private constant CROWD = 13; // of 19 seats: more than two thirds
    uint256 private constant CROWD_KEY = 0xB16; // of five names
    bytes32 private constant SPEC = keccak256("spec");
    bytes32 private constant SALT = keccak256("salt");

    // --------------------------------------------------------------------------------------------------------- parties

    function _crowd(uint16 version) private {
        uint96 price = pool.params(version).seatStake * 11 / 10;
        for (uint256 i = 0; i < CROWD; ++i) {
            address who = vm.addr(CROWD_KEY + i % 5);
            token.mint(address(this), price);
            token.approve(address(pool), price);
            pool.deposit(who, price);
            vm.prank(who);
            committee.join(version);
        }
        skip(3 days);
    }

    function _crowdsWealth() private view returns (uint256 sum) {
        for (uint256 i = 0; i < 5; ++i) {
            sum += _wealth(vm.addr(CROWD_KEY + i));
        }
    }

    function _crowdLeaves() private {
        for (uint32 i = 0; i < CROWD; ++i) {
            vm.prank(vm.addr(CROWD_KEY + i % 5));
            committee.leave(uint32(SEATS) + 1 + i);
        }
    }

    function _crowdExits() private {
        for (uint32 i = 0; i < CROWD; ++i) {
            committee.exit(uint32(SEATS) + 1 + i);
        }
    }

    function _signers() private view returns (Signer[] memory signers) {
        signers = new Signer[](CROWD);
        for (uint32 i = 0; i < CROWD; ++i) {
            uint32 seat = uint32(SEATS) + 1 + i;
            signers[i] = Signer(seat, committee.seatOf(seat).validator, committee.seatOf(seat).level);
        }
    }

    function lie(uint256 from, uint256 to) public returns (uint256) {
        return _lieBefore(0, from, to);
    }

    function _lieBefore(uint256 next, uint256 from, uint256 to) private returns (uint256) {
        (uint32[] memory who, bytes[] memory words) = (new uint32[](CROWD), new bytes[](CROWD));
        for (uint32 i = 0; i < CROWD; ++i) {
            (who[i], words[i]) = (uint32(SEATS) + 1 + i, _word(CROWD_KEY + i % 5, from, to));
        }
        return faults.attest(machine, next, uint64(from), uint64(to), who, words);
    }

    function _accept(Params memory params) private {
        vm.prank(OWNER);
        pool.proposeParams(params);
        skip(2 days);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
    }

    function _takenBack(uint256 fault) private {
        vm.prank(PROVIDER);
        faults.appeal(fault);
        vm.prank(OWNER);
        faults.rule(fault, false);
        _assertFault(fault, FaultState.Dropped, faults.faultOf(fault).amount);
    }

    // -------------------------------------------------------------------------------------------- rules of long ago

    /// @dev A provider once accepted rules whose seats cost 10e18 and which name no arbiter, then dear ones with an arbiter, and
    /// lives by these for 300 days. Thirteen seats of the old price, 143e18 that come back whole, cannot say that he was down
    /// in any of these days. If they could say that he has been down since a second before, the rules before would judge it:
    /// half of each stake, no appeal, and a tenth for the thieves, from every machine that is as old as that. But a late word
    /// reaches back as far as the scale, and no further.
    function test_seats_of_rules_left_long_ago() external {
        Params memory cheap = _params();
        (cheap.minStakePerGpu, cheap.seatStake, cheap.verificationFee) = (10e18, 10e18, 1e18);
        cheap.arbiter = address(0);
        _accept(cheap);
        _accept(_params());
        uint256 accepted = _now();
        skip(300 days);
        _crowd(2);
        _noLie(accepted, _now());
        _noLie(accepted - 1, _now());
        _noLie(1, _now());
        vm.assertEq(_stake(), 100e18);
        // Who does judge says it of the last 120 hours and a second, which is the highest step.
        uint256 fault = _attest(accepted - 1, _now());
        vm.assertEq(faults.faultOf(fault).rules, 3);
        vm.assertEq(faults.faultOf(fault).from, _now() - 120 hours - 1);
        _assertFault(fault, FaultState.Filed, 50e18);
    }

    function _noLie(uint256 from, uint256 to) private {
        try this.lie(from, to) {
            vm.assertTrue(false, "these seats judge");
        } catch (bytes memory error_) {
            vm.assertEq(error_, abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        }
    }

    /// @dev Dark for three days; then a provider accepts rules by which a stake is free as early as any may have it, and
    /// retires. What failed before is judged by the older rules, which give four days to file it. Rules that gave a stake back
    /// after two days and ten minutes would save him 50e18: there are none.
    function test_unstaking_by_shorter_rules() external {
        uint256 from = _now();
        skip(1 days);
        Params memory short = _params();
        (short.filingWindow, short.appealWindow, short.rulingWindow) = (0, 1 days, 1 days);
        short.unstakeDelay = uint32(2 days + short.challengeWindow);
        bytes memory proposal = abi.encodeCall(IGovernance.proposeParams, (short));
        _refused(OWNER, proposal, abi.encodeWithSelector(IPoolErrors.InvalidParams.selector, bytes32("unstakeDelay")));
        short.unstakeDelay = 8 days;
        _accept(short);
        vm.prank(PROVIDER);
        pool.retire(machine);
        uint256 to = _now();
        skip(4 days);
        _refused(PROVIDER, abi.encodeCall(IMachines.unstake, (machine)), _locked(to + short.unstakeDelay));
        uint256 fault = _attest(from, to);
        vm.assertEq(faults.faultOf(fault).rules, 1);
        _assertFault(fault, FaultState.Filed, 50e18);
    }

    // ------------------------------------------------------------------------------------------- a seat on its way out

    /// @dev Thirteen seats, 7,150e18, begin to leave; three weeks later less a second they would sign that the machine was dark
    /// for three days, of every machine there is, and exit in the next second. When the arbiter takes it back nobody would be
    /// left to pay a tenth of each seat, 650e18. Who leaves signs nothing; who signs first is there for three weeks more.
    function test_signing_on_the_way_out() external {
        _crowd(1);
        Signer[] memory signers = _signers();
        uint256 fault = lie(_now() - 1 days, _now());
        _crowdLeaves();
        _noLie(_now() - 3 days, _now() - 2 days);
        _takenBack(fault);
        committee.fineQuorum(signers, OWNER);
        vm.assertEq(_wealth(BURNT), 13 * 50e18);
        skip(21 days - 1);
        _noLie(_now() - 3 days, _now());
        skip(1);
        _crowdExits();
        vm.assertEq(_crowdsWealth(), 13 * 500e18);
    }

    // ------------------------------------------------------------------------------------- what stays of what is not

    /// @dev Eight cells are rented for a week; three days are claimed, 207.36e18. A quorum, of which the tenant is one, says that
    /// the machine was dark all that time; it is applied, appealed, and taken back within the hour. The pause stays: three
    /// more days go by before the lease owes anything again, 207.36e18 of rent for nothing.
    function test_a_bill_after_the_lie_was_taken_back() external {
        _crowd(1);
        uint256 began = _now();
        uint256 lease = _leaseOf(THIEF, 8, 7 days);
        skip(3 days + 20 minutes);
        _claim(lease);
        uint256 claimed = 3 days * GPU_SECOND;
        vm.assertEq(pool.leaseOf(lease).settled, claimed);
        uint256 fault = lie(began, _now());
        _apply(fault, lease);
        _takenBack(fault);
        skip(3 days);
        _closeAs(THIEF, lease);
        vm.assertEq(pool.leaseOf(lease).settled, claimed); // accepted
    }

    /// @dev The same in two parts: the last hour, which costs 8e18 and may be appealed, and the forty hours before it, of the
    /// same step, which cost nothing more. Were what costs nothing settled when it is filed, nobody could appeal it, nor take it
    /// back, nor fine who signed it; and it would be off the bill, 115.2e18, whatever becomes of the other.
    function test_a_lie_that_costs_nothing() external {
        _crowd(1);
        uint256 lease = _leaseOf(THIEF, 8, 7 days);
        skip(3 days);
        uint256 hour = lie(_now() - 1 hours, _now());
        uint256 rest = _lieBefore(hour, _now() - 41 hours, _now() - 1 hours);
        _assertFault(hour, FaultState.Filed, 8e18);
        _assertFault(rest, FaultState.Filed, 0);
        _takenBack(hour);
        _takenBack(rest);
        uint256[] memory leases = new uint256[](1);
        leases[0] = lease;
        _expect(abi.encodeWithSelector(IFaults.WrongFaultState.selector, rest, FaultState.Dropped));
        faults.applyOutage(rest, leases);
        _closeAs(THIEF, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 3 days * GPU_SECOND);
    }

    // -------------------------------------------------------------------------------------------------- not his call

    /// @dev A provider lets somebody rent for him, 1e18 a week. Of twelve hours the machine is down for five; that is taken off
    /// the tenant's bill, who owes seven. If the delegate, who is that tenant, could close in the provider's name what only the
    /// provider may close, he would forgo the five hours again: 14.4e18 of the provider's, of a cap of 1e18, and none of it
    /// spent.
    function test_a_delegate_forgoes() external {
        vm.prank(PROVIDER);
        accounts.setDelegate(address(pool), THIEF, 1e18, 7 days, uint40(_now() + 365 days));
        uint256 lease = _leaseOf(THIEF, 8, 12 hours);
        skip(1 hours);
        _apply(_outage(5 hours), lease);
        skip(6 hours);
        bytes memory close = abi.encodeCall(ILeases.close, (lease));
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(IAccounts.ScopeExceeded.selector, ILeases.close.selector));
        accounts.executeAsDelegate(PROVIDER, address(pool), close);
        _closeAs(THIEF, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 7 hours * GPU_SECOND);
    }

    // --------------------------------------------------------------------------------------- a question that is over

    /// @dev A minute's outage is held for two days. A tenant asks, the answer is missed and nobody proves it: his bond is back
    /// after 70 minutes. While he asked, the hold had no end. If that stayed so, whoever rents for a day afterwards would be
    /// freed by nobody until the two days are over, and the provider who wants his cells back would forgo all of that day,
    /// 34.56e18. But it is over with the question.
    function test_a_lapsed_question_goes_on_holding() external {
        uint256 fault = _outage(1 minutes);
        uint256 before = _wealth(SYBIL);
        uint256 asked = _leaseOf(SYBIL, 1, 1 days);
        uint256 rent = before - _wealth(SYBIL);
        _challengeAs(SYBIL, asked);
        skip(70 minutes + 1);
        vm.assertEq(faults.prove(machine), 0);
        vm.assertEq(before - rent, _wealth(SYBIL));
        MachineView memory seen = pool.machineOf(machine);
        vm.assertEq(seen.heldTo, faults.faultOf(fault).to);
        vm.assertTrue(seen.heldTo < seen.heldUntil);
        uint256 later = _leaseOf(THIEF, 4, 1 days);
        skip(1 days);
        _closeAs(OWNER, later);
        vm.assertEq(pool.leaseOf(later).settled, 1 days * 4 * CELL_SECOND);
    }

    // ------------------------------------------------------------------------------------------- a word that is kept

    /// @dev A machine is off the network for five minutes; six honest validators sign that it is down now, and it comes back
    /// before anybody has sent that. Its tenant keeps their words for a day less a second: then they open an outage of a day. It is
    /// taken off his bill, 69.12e18 for five minutes; half of 8e18 is his if nobody appeals; and if the arbiter says what is
    /// true, those pay a tenth of their seats, 300e18, who said what was true.
    function test_a_word_kept_for_a_day() external {
        uint256 lease = _leaseOf(THIEF, 8, 2 days);
        uint256 from = _now();
        skip(5 minutes);
        bytes[] memory words = _words(from, 0);
        vm.warp(from + 1 days - 1);
        uint256 fault = faults.attest(machine, 0, uint64(from), 0, seats, words); // accepted
        _recover();
        _apply(fault, lease);
        _assertFault(fault, FaultState.Filed, 8e18);
        _takenBack(fault);
        Signer[] memory honest = new Signer[](SEATS);
        for (uint32 i = 0; i < SEATS; ++i) {
            honest[i] = Signer(i + 1, committee.seatOf(i + 1).validator, committee.seatOf(i + 1).level);
        }
        committee.fineQuorum(honest, OWNER);
        vm.assertEq(_wealth(BURNT), 300e18); // accepted
        skip(1);
        _closeAs(THIEF, lease);
        vm.assertEq(pool.leaseOf(lease).settled, GPU_SECOND); // accepted: all but five minutes of a day
    }

    // ---------------------------------------------------------------------------------------------- a sum not named

    /// @dev An owner has rules come into force whose bond is 4,900e18, and a provider is his friend. Their machine falls silent; its
    /// tenant, whose lease and whose provider know a bond of 5e18, asks. In front of that the provider accepts the new rules, and
    /// behind it he answers: a tenth of 4,900e18 of the tenant's ledger would be the provider's, the rest the owner's other
    /// name's. But a question costs no more than the lease's own rules say.
    function test_a_bond_that_grew_in_front_of_the_question() external {
        address sink = address(0x5144);
        Params memory dear = _params();
        (dear.minStakePerGpu, dear.seatStake, dear.bond, dear.sink) = (4900e18, 4900e18, 4900e18, sink);
        uint256 lease = _leaseOf(tenant, 1, 7 days);
        vm.prank(OWNER);
        pool.proposeParams(dear);
        skip(2 days);
        vm.assertEq(faults.bondOf(machine, tenant), BOND);
        (uint256 before, uint256 providers) = (pool.balanceOf(tenant), _wealth(PROVIDER));
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        _challengeAs(tenant, lease);
        _answer();
        vm.assertEq(before - pool.balanceOf(tenant), BOND);
        vm.assertEq(_wealth(PROVIDER) - providers, BOND / 10);
        vm.assertEq(_wealth(sink), BOND - BOND / 10);
    }

    /// @dev Somebody pays another day of another's lease: a cell, 8.64e18. Its tenant grows it to eight cells first, and closes it
    /// afterwards: the call named no sum, so 69.12e18 were taken, and what is not used is the tenant's.
    function test_extending_what_has_grown_meanwhile() external {
        uint256 lease = _leaseOf(THIEF, 1, 1 days);
        skip(10 minutes);
        uint256 before = _wealth(tenant);
        uint256 thiefs = _wealth(THIEF);
        vm.prank(THIEF);
        pool.resize(lease, 8, 0);
        vm.prank(tenant);
        pool.extend(lease, 1 days);
        vm.assertEq(before - _wealth(tenant), 1 days * GPU_SECOND); // accepted
        _closeAs(THIEF, lease);
        // With what was left of his own cell's day.
        vm.assertEq(_wealth(THIEF) - thiefs, 1 days * GPU_SECOND + (1 days - 10 minutes) * CELL_SECOND);
    }

    // ------------------------------------------------------------------------------------------------ whose question

    /// @dev A provider asks for his own machine's measurement under another name, in the first second in which a stranger may.
    /// So each day has one hour, of his choice, at which the hardware has to be what he says; no tenant ever names another.
    function test_who_is_measured_says_when() external {
        for (uint256 day = 0; day < 3; ++day) {
            uint256 next = _now() + 1 days;
            _passes(SYBIL);
            vm.prank(tenant);
            _expect(abi.encodeWithSelector(ICommittee.TooSoon.selector, machine, next)); // accepted
            committee.requestVerification(machine, 1);
            vm.warp(next);
        }
    }

    // -------------------------------------------------------------------------------------------- two rounds at once

    /// @dev A provider's own round measures true hardware; when the last seat has committed he exchanges it. A tenant's round, asked
    /// for an hour later, finds the false. The provider's is finalized first, and after it he sends his terms again: the tenant's
    /// failure is of an older revision. If that were not told where a pass was told since, the machine would be Verified that was
    /// found false last. What counts is when a round was asked for, in whatever order they are finalized.
    function test_a_pass_that_is_older_than_the_failure() external {
        uint256 older = _asked(PROVIDER);
        skip(1 hours);
        uint256 later = _asked(tenant);
        _commits(older, true);
        skip(3 hours);
        _commits(later, false);
        _reveals(older, true);
        skip(1 hours);
        _reveals(later, false);
        skip(1 hours);
        committee.finalize(older);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        skip(1 hours);
        committee.finalize(later);
        vm.assertTrue(committee.roundOf(later).state == RoundState.Failed);
        vm.assertTrue(pool.machineOf(machine).status == MachineStatus.Unverified);
    }

    /// @dev The other way round: a round found a mistake that the provider has mended since, and is kept back until his own round,
    /// asked for afterwards, has passed. It would take the mark of hardware that is right.
    function test_a_failure_that_is_older_than_the_pass() external {
        uint256 older = _asked(tenant);
        skip(1 hours);
        uint256 later = _asked(PROVIDER);
        _commits(older, false);
        skip(3 hours);
        _commits(later, true);
        _reveals(older, false);
        skip(1 hours);
        _reveals(later, true);
        skip(2 hours);
        committee.finalize(later);
        committee.finalize(older);
        vm.assertTrue(committee.roundOf(older).state == RoundState.Failed);
        vm.assertTrue(pool.machineOf(machine).status == MachineStatus.Verified);
    }

    function _passes(address who) private {
        uint256 round = _asked(who);
        _commits(round, true);
        skip(4 hours);
        _reveals(round, true);
        skip(2 hours);
        committee.finalize(round);
    }

    function _asked(address who) private returns (uint256 round) {
        vm.prank(who);
        round = committee.requestVerification(machine, 1);
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
    }

    function _commits(uint256 round, bool pass) private {
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < drawn.length; ++i) {
            bytes memory said = abi.encode(block.chainid, address(pool), round, drawn[i], pass, SPEC, uint16(9), SALT);
            vm.prank(vm.addr(SEAT_KEY + drawn[i] - 1));
            committee.commit(round, drawn[i], keccak256(said));
        }
    }

    function _reveals(uint256 round, bool pass) private {
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < drawn.length; ++i) {
            vm.prank(vm.addr(SEAT_KEY + drawn[i] - 1));
            committee.reveal(round, drawn[i], pass, SPEC, 9, SALT);
        }
    }
}
