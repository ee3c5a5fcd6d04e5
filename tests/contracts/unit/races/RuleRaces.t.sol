// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, RoundState, Signer} from "../../../../contracts/interfaces/ICommittee.sol";
import {FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {ILeaseChanges} from "../../../../contracts/interfaces/ILeases.sol";
import {LeaseRequest, MachineStatus, Params} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice Whoever would judge by other rules than those that were accepted, or have a judge pay for having been right: an
/// owner with a version of his own, a stranger with seats that cost nothing, an arbiter whom nobody named.
contract RuleRaces is RaceWorld {
    uint256 private constant PENALTY = 50e18; // a tenth of a seat
    uint256 private constant COMMIT = 4 hours;
    uint256 private constant REVEAL = 2 hours;
    bytes32 private constant SPEC = keccak256("spec");
    bytes32 private constant SALT = keccak256("salt");
    uint256 private constant CROWD_KEY = 0xB16; // of the crowd's first; the others follow

    // --------------------------------------------------------------------------------------------------------- parties

    function _propose(Params memory params) private {
        vm.prank(OWNER);
        pool.proposeParams(params);
    }

    /// @dev The least that a version may ask.
    function _free() private pure returns (Params memory params) {
        params = _params();
        (params.minStakePerGpu, params.bond, params.seatStake, params.verificationFee) = (0, 0, 0, 0);
    }

    /// @dev Seats of five names by that version, after the honest ones.
    function _crowd(uint256 count, uint16 version) private {
        uint96 price = pool.params(version).seatStake * 11 / 10;
        for (uint256 i = 0; i < count; ++i) {
            address who = vm.addr(CROWD_KEY + i % 5);
            if (price != 0) _give(who, price);
            vm.prank(who);
            committee.join(version);
        }
    }

    function _give(address who, uint256 amount) private {
        token.mint(address(this), amount);
        token.approve(address(pool), amount);
        pool.deposit(who, amount);
    }

    function _attestAs(uint256 first, uint256 firstKey, uint256 count, uint256 from, uint256 to)
        private
        returns (uint256)
    {
        (uint32[] memory who, bytes[] memory words) = (new uint32[](count), new bytes[](count));
        for (uint256 i = 0; i < count; ++i) {
            uint256 key = firstKey == CROWD_KEY ? CROWD_KEY + i % 5 : firstKey + i;
            (who[i], words[i]) = (uint32(first + i), _word(key, from, to));
        }
        return faults.attest(machine, 0, uint64(from), uint64(to), who, words);
    }

    function _heldBy(uint32 seat) private view returns (address) {
        return committee.seatOf(seat).validator;
    }

    // ---------------------------------------------------------------------------------------------------------- rounds

    function _requestAs(address who, uint32 which) private returns (uint256) {
        uint16 revision = pool.machineOf(which).revision;
        vm.prank(who);
        return committee.requestVerification(which, revision);
    }

    /// @dev Each of those drawn says whether it passes as `pass` has it for its seat; who is not heard says nothing.
    function _vote(uint256[] memory rounds, bool[] memory pass, bool[] memory heard) private {
        for (uint256 step = 0; step < 2; ++step) {
            for (uint256 i = 0; i < rounds.length; ++i) {
                uint32[] memory drawn = committee.drawnFor(rounds[i]);
                for (uint256 j = 0; j < drawn.length; ++j) {
                    uint32 seat = drawn[j];
                    if (heard[seat]) _say(rounds[i], seat, pass[seat], step == 0);
                }
            }
            skip(step == 0 ? COMMIT : REVEAL);
        }
    }

    function _say(uint256 round, uint32 seat, bool pass, bool commits) private {
        bytes32 sealed_ = keccak256(abi.encode(block.chainid, address(pool), round, seat, pass, SPEC, uint16(9), SALT));
        address who = _heldBy(seat);
        vm.prank(who);
        if (commits) committee.commit(round, seat, sealed_);
        else committee.reveal(round, seat, pass, SPEC, 9, SALT);
    }

    /// @dev A round of that machine in which all say the same.
    function _round(address who, uint32 which, bool pass) private returns (uint256 round) {
        round = _requestAs(who, which);
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
        uint256[] memory rounds = new uint256[](1);
        rounds[0] = round;
        uint256 count = committee.seatCount() + 1;
        (bool[] memory says, bool[] memory heard) = (new bool[](count), new bool[](count));
        for (uint256 i = 0; i < count; ++i) {
            (says[i], heard[i]) = (pass, true);
        }
        _vote(rounds, says, heard);
        committee.finalize(round);
    }

    // ----------------------------------------------------------------------------------------------------- free seats

    /// @dev An owner lowers the price of a seat to nothing; five days later, two until it is in force and three until they have
    /// matured, 13 free seats of five names stand against 6 of 500e18, and are more than two thirds of 19. Were seats only
    /// counted they could slash 50e18 of every 100e18, of machines that accepted the dear rules. They judge none of those:
    /// neither are they a quorum, nor do they keep the six from being one; nor do they count where a later version is dear.
    function test_free_seats_judge_nothing_dear() external {
        _propose(_free());
        skip(2 days);
        _crowd(13, 2);
        _propose(_params());
        skip(3 days);
        vm.assertEq(committee.maturedSeats(1), 6);
        vm.assertEq(committee.maturedSeats(2), 19);
        vm.assertEq(committee.maturedSeats(3), 6);
        uint256 from = _now() - 3 days;
        uint256 to = _now();
        try this.attestAs(7, CROWD_KEY, 13, from, to) {
            vm.assertTrue(false, "free seats are a quorum");
        } catch (bytes memory error_) {
            vm.assertEq(error_, abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        }
        vm.assertEq(_stake(), STAKE);
        _assertFault(_attestAs(1, SEAT_KEY, 5, from, to), FaultState.Filed, 50e18); // five of six
    }

    function attestAs(uint256 first, uint256 firstKey, uint256 count, uint256 from, uint256 to)
        external
        returns (uint256)
    {
        return _attestAs(first, firstKey, count, from, to);
    }

    /// @dev The same committee: of 19 seats the free ones would have three of five in nearly every draw.
    function test_free_seats_are_never_drawn() external {
        _propose(_free());
        skip(2 days);
        _crowd(13, 2);
        skip(3 days);
        for (uint256 i = 0; i < 5; ++i) {
            skip(1 days);
            uint256 round = _requestAs(tenant, machine);
            vm.roll(vm.getBlockNumber() + 2);
            committee.draw(round);
            uint32[] memory drawn = committee.drawnFor(round);
            for (uint256 j = 0; j < drawn.length; ++j) {
                vm.assertLe(drawn[j], SEATS, "a free seat");
            }
            skip(COMMIT + REVEAL);
            committee.finalize(round);
        }
    }

    /// @dev A provider retires in the second in which a version is proposed that he will not have. Five days later its cheapest
    /// seats have matured, and would have half of his stake: by then no fault of his can be filed, by nobody. A version
    /// whose `filingWindow` would leave room for that cannot be proposed.
    function test_retiring_when_it_is_proposed() external {
        Params memory longer = _free();
        longer.filingWindow = 5 days;
        vm.prank(OWNER);
        _expect(abi.encodeWithSelector(InvalidParams.selector, bytes32("filingWindow")));
        pool.proposeParams(longer);

        uint256 from = _now();
        skip(1 hours);
        _propose(_free());
        vm.prank(PROVIDER);
        pool.retire(machine);
        uint256 retired = _now();
        skip(2 days);
        _crowd(13, 2);
        skip(3 days);
        (uint32[] memory who, bytes[] memory words) = (seats, _words(from, retired));
        _expect(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, from, retired));
        faults.attest(machine, 0, uint64(from), uint64(retired), who, words);
    }

    // ------------------------------------------------------------------------------------------------ punished dissent

    /// @dev A third of the seats, 6 of 18, 60 machines of one's own and 300e18 in fees, all asked for at once: in each draw in
    /// which three of five are theirs the honest ones see otherwise than the majority. Were a tenth taken for that, the other
    /// twelve would fall from 6,600e18 to 750e18 in days, and a third would be a quorum. Dissent costs nothing; who slept
    /// through all of it loses one tenth, for there is one fine a week; and nobody has what is lost.
    function test_dissent_in_sixty_rounds() external {
        for (uint32 i = 7; i <= 12; ++i) {
            _join(vm.addr(SEAT_KEY + i - 1));
        }
        _crowd(6, 1);
        skip(3 days);
        _give(SYBIL, 60 * STAKE);
        uint256[] memory rounds = new uint256[](60);
        for (uint256 i = 0; i < 60; ++i) {
            rounds[i] = _requestAs(SYBIL, _machineOf(SYBIL, 1));
        }
        vm.roll(vm.getBlockNumber() + 2);
        for (uint256 i = 0; i < 60; ++i) {
            committee.draw(rounds[i]);
        }
        (bool[] memory pass, bool[] memory heard) = (new bool[](19), new bool[](19));
        for (uint256 seat = 1; seat <= 18; ++seat) {
            (pass[seat], heard[seat]) = (seat > 12, seat != 1);
        }
        _vote(rounds, pass, heard);
        uint256 lies;
        for (uint256 i = 0; i < 60; ++i) {
            committee.finalize(rounds[i]);
            if (committee.roundOf(rounds[i]).state == RoundState.Passed) ++lies;
        }
        vm.assertLe(6, lies, "lies"); // a fifth of the draws are theirs
        vm.assertEq(committee.seatOf(1).stake, 500e18);
        for (uint32 seat = 2; seat <= 12; ++seat) {
            vm.assertEq(committee.seatOf(seat).stake, 550e18);
        }
        vm.assertEq(_wealth(TREASURY), 0);
        vm.assertEq(committee.maturedSeats(1), 18);
    }

    // ---------------------------------------------------------------------------------------------- rules of a round

    /// @dev An owner has size 3, fee 0 and no interval come into force: two of three would be a third's in every fourth draw, as
    /// often as he likes and for nothing. A machine that has accepted five, 5e18 and a day is measured by five, for 5e18,
    /// once a day; his own may do as they please.
    function test_small_committees_of_rules_that_nobody_accepted() external {
        Params memory small = _params();
        (small.committeeSize, small.verificationFee, small.reverifyInterval) = (3, 0, 0);
        _propose(small);
        skip(2 days);
        uint256 before = _wealth(THIEF);
        uint256 round = _round(THIEF, machine, true);
        vm.assertEq(committee.drawnFor(round).length, 5);
        vm.assertEq(before - _wealth(THIEF), 5e18);
        uint256 next = uint256(committee.roundOf(round).requestedAt) + 1 days;
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(ICommittee.TooSoon.selector, machine, next));
        committee.requestVerification(machine, 1);

        uint32 own = _machineOf(SYBIL, 1);
        vm.assertEq(committee.drawnFor(_round(THIEF, own, true)).length, 3);
        _round(THIEF, own, true);
        vm.assertEq(before - _wealth(THIEF), 5e18);
    }

    /// @dev In mid-round a provider sends the terms that he has: another revision, the same hardware. Whoever then said "it
    /// passes" would be fined, could that be wrong: five honest seats, 250e18 a round. All are paid, and the machine passes
    /// for nothing that was not measured.
    function test_the_same_terms_in_mid_round() external {
        uint256 round = _requestAs(tenant, machine);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
        uint256[] memory rounds = new uint256[](1);
        rounds[0] = round;
        (bool[] memory pass, bool[] memory heard) = (new bool[](7), new bool[](7));
        for (uint256 seat = 1; seat <= 6; ++seat) {
            (pass[seat], heard[seat]) = (true, true);
        }
        _vote(rounds, pass, heard);
        committee.finalize(round);
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(_wealth(_heldBy(drawn[i])), 0.95e18);
            vm.assertEq(committee.seatOf(drawn[i]).stake, 550e18);
        }
        vm.assertTrue(pool.machineOf(machine).status == MachineStatus.Unverified);
    }

    // -------------------------------------------------------------------------------------------------- tenants' half

    /// @dev One cell of 64, leased before or after it is known that the hardware is false. Were the half parted among those who
    /// came, 0.72 of rent would be 200e18 of a slash of 400e18. Who comes after it was asked for has nothing; who was there
    /// all the week has a 128th, 3.125e18, whoever else comes; and nobody's part grows by an idle machine.
    function test_one_cell_of_sixty_four() external {
        machine = _machineOf(PROVIDER, 8);
        uint256 own = _leaseOf(THIEF, 1, 7 days);
        skip(7 days - 1);
        uint256 round = _round(tenant, machine, false);
        uint256 late = _leaseOf(SYBIL, 1, 1 days);
        uint256 fault = faults.reportFalseHardware(round);
        _assertFault(fault, FaultState.Filed, 400e18);
        _expect(abi.encodeWithSelector(IFaults.NothingToApply.selector, fault));
        faults.applyOutage(fault, _one(late));
        faults.applyOutage(fault, _two(own, late));
        _execute(fault);
        uint256 before = _wealth(THIEF);
        faults.compensate(fault, _two(own, late));
        uint256 part = uint256(200e18) * (7 days - 1) / (64 * 7 days);
        vm.assertEq(_wealth(THIEF) - before, part);
        vm.assertEq(_wealth(BURNT), 400e18 - part);
    }

    // -------------------------------------------------------------------------------------- a question that is over

    /// @dev A challenge lapsed and nobody sent `prove`. Half a year later a rival, whose machine is a tenant's standby, sends it
    /// and `failover` in one transaction: 4e18 of a healthy machine, and its tenant. The question is over an hour after its
    /// window: the bond goes back, and nothing moves.
    function test_a_question_of_half_a_year_ago() external {
        uint256 asked = _leaseOf(tenant, 1, 1 days);
        uint256 before = _wealth(tenant);
        _challengeAs(tenant, asked);
        skip(180 days);
        uint32 standby = _machineOf(SYBIL, 1);
        LeaseRequest memory request = _request(machine, 4, 1 days);
        request.backup = keccak256(abi.encode(standby, uint16(1), uint16(0), WORKLOAD));
        vm.prank(THIEF);
        uint256 lease = pool.open(request);
        _startBy(lease);
        skip(1 hours);
        vm.assertEq(faults.prove(machine), 0);
        vm.assertEq(_wealth(tenant), before); // with the bond
        vm.prank(SYBIL);
        (bool moved,) = address(pool).call(abi.encodeCall(ILeaseChanges.failover, (lease, standby, 1, 0, WORKLOAD)));
        vm.assertFalse(moved);
        vm.assertEq(_stake(), STAKE);
        vm.assertEq(pool.machineOf(machine).pendingSlashes, 0);
    }

    // ----------------------------------------------------------------------------------------------------- the arbiter

    /// @dev An arbiter who is exchanged before a fault is filed would let a wrong slash stand: half of each stake. The new one
    /// rules on nothing that began under the old version, whatever its provider accepts meanwhile.
    function test_another_arbiter_for_what_has_begun() external {
        Params memory other = _params();
        other.arbiter = THIEF;
        _propose(other);
        skip(2 days);
        uint256 from = _now();
        skip(1 hours);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        uint256 fault = _attest(from, _now());
        vm.assertEq(faults.faultOf(fault).rules, 1);
        vm.prank(PROVIDER);
        faults.appeal(fault);
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(NotAuthorized.selector, THIEF));
        faults.rule(fault, true);
        vm.prank(OWNER);
        faults.rule(fault, false);
        _assertFault(fault, FaultState.Dropped, 8e18);
    }

    /// @dev An owner proposes a version with an arbiter of his own, which machines of his own accept. They are not what they say;
    /// honest seats say so, and he takes it back. Were they fined for it, a tenth a week and round, eight days after the
    /// version is in force every honest seat would be under its level and a third of the seats a quorum, for every pool's
    /// machine. They answer to the arbiter under whom they joined; who joined under that of the owner's answers to it.
    function test_an_arbiter_whom_only_his_own_machines_accepted() external {
        Params memory own = _params();
        own.arbiter = THIEF;
        _propose(own);
        skip(2 days);
        _crowd(1, 2);
        skip(3 days);
        uint32 honest = machine;
        machine = _machineOf(SYBIL, 1);
        vm.assertEq(pool.machineOf(machine).params, 2);
        _takenBack(faults.reportFalseHardware(_round(tenant, machine, false)));
        skip(8 days);
        // And the same where a quorum of all seven says that it was down.
        uint256 from = _now() - 1 hours;
        (uint32[] memory who, bytes[] memory words) = (new uint32[](7), new bytes[](7));
        Signer[] memory signers = new Signer[](7);
        for (uint32 i = 0; i < 7; ++i) {
            (who[i], words[i]) = (i + 1, _word(i < 6 ? SEAT_KEY + i : CROWD_KEY, from, _now()));
            signers[i] = Signer(i + 1, _heldBy(i + 1), 500e18);
        }
        uint256 had = committee.seatOf(7).stake;
        _takenBack(faults.attest(machine, 0, uint64(from), uint64(_now()), who, words));
        committee.fineQuorum(signers, THIEF);
        for (uint32 seat = 1; seat <= 6; ++seat) {
            vm.assertEq(committee.seatOf(seat).stake, 550e18);
        }
        vm.assertEq(had - committee.seatOf(7).stake, PENALTY);
        // So they are a quorum as ever.
        machine = honest;
        _assertFault(_attest(_now() - 1 hours, _now()), FaultState.Filed, 8e18);
    }

    function _takenBack(uint256 fault) private {
        vm.prank(SYBIL);
        faults.appeal(fault);
        vm.prank(THIEF);
        faults.rule(fault, false);
        _assertFault(fault, FaultState.Dropped, faults.faultOf(fault).amount);
    }

    // ------------------------------------------------------------------------------------------- reporting afterwards

    /// @dev Dark for three days, unattested; he comes back, reports himself for a minute and recovers, three times: 2e18 instead
    /// of 50e18, if what is attested later began only after the last that is known. It names the gap, and costs the rest:
    /// 48e18, once.
    function test_reporting_oneself_after_the_dark() external {
        uint256 from = _now();
        uint256 lease = _leaseOf(tenant, 8, 7 days);
        skip(3 days);
        uint256 first = _outage(1 minutes);
        _outage(1 minutes);
        _outage(1 minutes);
        uint256 to = _now();
        bytes[] memory words = _words(from, to);
        _expect(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, to, to));
        faults.attest(machine, 0, uint64(from), uint64(to), seats, words);
        uint256 fault = faults.attest(machine, first, uint64(from), uint64(to), seats, words);
        _assertFault(fault, FaultState.Filed, 48e18);
        _apply(fault, lease);
        _expect(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, from + 3 days, from + 3 days));
        faults.attest(machine, first, uint64(from), uint64(to), seats, words);
        _execute(fault);
        faults.execute(first);
        uint256 before = _wealth(tenant);
        faults.compensate(fault, _one(lease));
        vm.assertEq(_wealth(tenant) - before, 24e18); // half: he had all of it, all the time
        vm.assertEq(_stake(), 50e18);
    }
}
