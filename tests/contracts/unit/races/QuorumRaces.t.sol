// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Signer} from "../../../../contracts/interfaces/ICommittee.sol";
import {FaultKind, FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {Params} from "../../../../contracts/interfaces/PoolTypes.sol";
import {Cheats, skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice Whoever would speak for the validators without being them. A word of a quorum moves up to half of a stake, 50e18,
/// of which reporters have a tenth of the slash, 5e18.
contract QuorumRaces is RaceWorld {
    uint32[] private _crowd;

    /// @dev So many seats of whoever holds `key`, found in `_crowd`.
    function _crowdOf(uint256 key, uint256 count) private {
        for (uint256 i = 0; i < count; ++i) {
            _crowd.push(_join(vm.addr(key)));
        }
    }

    function _attestBy(uint256[] memory keys, uint32[] memory who, uint256 from, uint256 to)
        private
        returns (uint256 fault)
    {
        bytes[] memory proofs = new bytes[](who.length);
        for (uint256 i = 0; i < who.length; ++i) {
            proofs[i] = _word(keys[i], from, to);
        }
        return faults.attest(machine, 0, uint64(from), uint64(to), who, proofs);
    }

    function _same(uint256 key, uint256 count) private pure returns (uint256[] memory keys) {
        keys = new uint256[](count);
        for (uint256 i = 0; i < count; ++i) {
            keys[i] = key;
        }
    }

    /// @dev A single validator calling itself a quorum. A seat's stake comes back, so 20 seats cost the use of 10,000e18 for
    /// ten days; with them it has 20 of 26 matured seats, more than two thirds, and would have 5e18 of each slash, of every
    /// machine, each week. Two thirds of the seats are not enough: it takes five validators.
    function test_a_single_validator_calls_itself_a_quorum() external {
        _crowdOf(0xB16, 20);
        skip(3 days);
        uint256 from = _now() - 3 days;
        uint256 to = _now();
        bytes[] memory proofs = new bytes[](20);
        proofs[0] = _word(0xB16, from, to);
        _expect(abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        faults.attest(machine, 0, uint64(from), uint64(to), _crowd, proofs);
        for (uint256 i = 0; i < 20; ++i) {
            proofs[i] = proofs[0];
        }
        _expect(abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        faults.attest(machine, 0, uint64(from), uint64(to), _crowd, proofs);
        vm.assertEq(_stake(), STAKE);
        vm.assertEq(pool.machineOf(machine).pendingSlashes, 0);
    }

    /// @dev The same where seats cost next to nothing, if a pool's rules allowed it: the stake of a seat is what makes a
    /// crowd dear, and it is never less than that of a GPU. Five names of one person in a crowd of six honest seats need
    /// thirteen seats between them: 6,500e18 locked at 500e18 a seat, 13 units at a unit each.
    function test_seats_are_never_cheap() external {
        Params memory cheap = _params();
        cheap.seatStake = STAKE - 1;
        vm.prank(OWNER);
        _expect(abi.encodeWithSelector(InvalidParams.selector, bytes32("seatStake")));
        pool.proposeParams(cheap);
    }

    /// @dev Five names of one person with twelve seats are two thirds of eighteen, and no more: no quorum. With thirteen of
    /// nineteen they are one, and file three dark days that never were, for 5e18. The provider appeals, the arbiter takes it
    /// back: they have nothing, and he has lost nothing. What a false word can do is what the table of powers says: hold
    /// up a stake on its way out for a week, and claims for two days.
    function test_five_names_of_one_person() external {
        uint256[] memory keys = new uint256[](13);
        for (uint256 i = 0; i < 12; ++i) {
            keys[i] = 0xB16 + i % 5;
            _crowdOf(keys[i], 1);
        }
        keys[12] = 0xB16;
        skip(3 days);
        uint256 from = _now() - 3 days;
        uint256 to = _now();
        uint256[] memory twelve = new uint256[](12);
        for (uint256 i = 0; i < 12; ++i) {
            twelve[i] = keys[i];
        }
        try this.attestBy(twelve, from, to) {
            vm.assertTrue(false, "two thirds are not more than two thirds");
        } catch (bytes memory error_) {
            vm.assertEq(error_, abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        }
        _crowdOf(keys[12], 1);
        skip(3 days);
        (from, to) = (_now() - 3 days, _now());
        uint256 before = _providers();
        uint256 fault = this.attestBy(keys, from, to);
        _assertFault(fault, FaultState.Filed, 50e18);
        vm.prank(PROVIDER);
        faults.appeal(fault);
        vm.prank(OWNER);
        faults.rule(fault, false);
        _assertFault(fault, FaultState.Dropped, 50e18);
        vm.assertEq(_providers(), before);
        vm.assertEq(pool.machineOf(machine).pendingSlashes, 0);
        for (uint256 i = 0; i < 5; ++i) {
            vm.assertEq(_wealth(vm.addr(0xB16 + i)), 0);
        }
        // And a tenth of each of their seats, whoever ruled: it is burnt.
        committee.fineQuorum(_signersOf(_crowd), OWNER);
        vm.assertEq(_wealth(BURNT), 13 * 50e18);
        vm.assertEq(committee.seatOf(_crowd[0]).stake, 500e18);
        (uint256 downtime, uint256 charged) = faults.windowOf(machine);
        vm.assertEq(downtime, 0);
        vm.assertEq(charged, 0);
        _assertSolvent();
    }

    function _signersOf(uint32[] memory who) private view returns (Signer[] memory signers) {
        signers = new Signer[](who.length);
        for (uint256 i = 0; i < who.length; ++i) {
            signers[i] = Signer(who[i], committee.seatOf(who[i]).validator, committee.seatOf(who[i]).level);
        }
    }

    function attestBy(uint256[] calldata keys, uint256 from, uint256 to) external returns (uint256) {
        return _attestBy(keys, _crowd, from, to);
    }

    /// @dev Making a quorum of the few by emptying the seats of the many: six matured, five sign; were leaving seats not to
    /// count, four honest ones leaving would make two a quorum. They count until they have exited.
    function test_a_quorum_of_those_who_stay() external {
        for (uint32 seat = 1; seat <= 4; ++seat) {
            vm.prank(vm.addr(SEAT_KEY + seat - 1));
            committee.leave(seat);
        }
        _crowdOf(0xB16, 3);
        skip(3 days);
        vm.assertEq(committee.maturedSeats(1), 9);
        uint32[] memory who = new uint32[](5);
        (who[0], who[1], who[2], who[3], who[4]) = (5, 6, 7, 8, 9);
        uint256[] memory keys = _same(0xB16, 5);
        (keys[0], keys[1]) = (SEAT_KEY + 4, SEAT_KEY + 5);
        bytes[] memory proofs = new bytes[](5);
        for (uint256 i = 0; i < 5; ++i) {
            proofs[i] = _word(keys[i], _now() - 1, 0);
        }
        _expect(abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        faults.attest(machine, 0, uint64(_now() - 1), 0, who, proofs);
    }

    /// @dev The same word twice, in parts, or both before and after a recovery: each part would be a fault of its own, 8e18
    /// apiece. An hour is charged once, whoever says it and how often.
    function test_the_same_word_twice() external {
        uint256 from = _now() - 2 hours;
        uint256 to = _now() - 1 hours;
        bytes[] memory words = _words(from, to);
        uint256 fault = faults.attest(machine, 0, uint64(from), uint64(to), seats, words);
        _assertFault(fault, FaultState.Filed, 8e18);
        _expect(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, to, to));
        faults.attest(machine, 0, uint64(from), uint64(to), seats, words);
        // Wider by a second on both sides: what is left of it costs nothing more.
        uint256 wide = _attest(from - 1, to + 1);
        _assertFault(wide, FaultState.Filed, 0);
        // Running, kept back, sent after the recovery: no.
        uint64 began = uint64(_now());
        skip(10 minutes);
        bytes[] memory running = _words(began, 0);
        uint256 now_ = faults.attest(machine, 0, began, 0, seats, running);
        _recover();
        _assertFault(now_, FaultState.Filed, 0); // 71 minutes in the week: 800 still
        skip(1 hours);
        _expect(abi.encodeWithSelector(IFaults.OutageOutOfRange.selector, began, _now()));
        faults.attest(machine, 0, began, 0, seats, running);
        vm.assertTrue(faults.faultOf(now_).kind == FaultKind.Attested);
    }

    /// @dev A word about one machine, one pool, one chain, shown to another.
    function test_a_word_belongs_where_it_was_said() external {
        uint32 other = _machineOf(PROVIDER, 1);
        uint64 from = uint64(_now() - 1 hours);
        uint64 to = uint64(_now());
        bytes[] memory words = _words(from, to);
        _expect(abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        faults.attest(other, 0, from, to, seats, words);
        vm.chainId(block.chainid + 1);
        _expect(abi.encodeWithSelector(ICommittee.NoQuorum.selector));
        faults.attest(machine, 0, from, to, seats, words);
    }

    /// @dev Five signers hand their word in through a contract of their own, so that no transaction names them to whoever reads
    /// inputs. Without the list nobody is paid or fined: an event carries it.
    function test_a_word_through_a_stranger_s_contract() external {
        Messenger messenger = new Messenger();
        uint256 from = _now();
        skip(1 hours);
        bytes[] memory words = _words(from, _now());
        vm.recordLogs();
        uint256 fault = messenger.attest(faults, machine, uint64(from), uint64(_now()), seats, words);
        Signer[] memory named = _named(faults.faultOf(fault).reporter);
        vm.assertEq(named.length, seats.length);
        vm.prank(PROVIDER);
        pool.retire(machine);
        skip(90 days);
        faults.execute(fault);
        pool.unstake(machine);
        committee.payQuorum(named);
        vm.assertEq(_wealth(vm.addr(SEAT_KEY)), uint256(0.8e18) / 6);
    }

    /// @dev Who stands behind that hash, from the events alone.
    function _named(bytes32 hash) private returns (Signer[] memory) {
        Cheats.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            bool found = logs[i].topics[0] == ICommittee.QuorumSigned.selector && logs[i].topics[1] == hash;
            if (found && logs[i].emitter == address(committee)) return abi.decode(logs[i].data, (Signer[]));
        }
        revert("nobody is named");
    }
}

contract Messenger {
    function attest(
        IFaults faults,
        uint32 machine,
        uint64 from,
        uint64 to,
        uint32[] calldata seats,
        bytes[] calldata proofs
    ) external returns (uint256) {
        return faults.attest(machine, 0, from, to, seats, proofs);
    }
}
