// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../../contracts/interfaces/IAccounts.sol";
import {FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {ILeaseChanges, ILeases} from "../../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../../contracts/interfaces/ILedger.sol";
import {IPoolErrors} from "../../../../contracts/interfaces/IPoolErrors.sol";
import {LeaseRequest, LeaseState, Offer} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice Blocks that were are no more, and everything signed in them is in the thief's hands: he sends it again, on the
/// other fork, in the order that he likes. What was signed means there what it meant here, or nothing.
contract Reorgs is RaceWorld {
    uint256 private constant PROVIDER_KEY = 0x980733;
    uint256 private constant STEPS = 8;
    uint256 private constant WORDS = 6;

    address private immutable _seller = vm.addr(PROVIDER_KEY);

    struct Word {
        address target;
        bytes data;
    }

    function setUp() public override {
        super.setUp();
        _fund(_seller);
        _deposit(_seller);
        parties.push(_seller);
        machine = _machineOf(_seller, 1);
    }

    // ------------------------------------------------------------------------------------------------------ what is signed

    function _offer(address to, uint256 nonce) private view returns (Offer memory offer, bytes memory proof) {
        offer = Offer(_seller, machine, 1, PRICE / 2, 8, 6 hours, false, to, nonce, uint64(_now() + 1 days));
        proof = _signed(PROVIDER_KEY, pool.offerDigest(offer));
    }

    function _offered(Offer memory offer, bytes memory proof) private view returns (bytes memory) {
        LeaseRequest memory request = _request(machine, 8, 6 hours);
        return abi.encodeCall(ILeaseChanges.openWithOffer, (request, offer, proof));
    }

    function _answerOf(uint256 id, uint256 at) private view returns (bytes memory) {
        bytes32 type_ = keccak256("Answer(address account,uint32 machine,uint256 fault,uint64 issuedAt)");
        bytes32 digest = _poolDigest(keccak256(abi.encode(type_, operator, machine, id, uint64(at))));
        return abi.encodeCall(IFaults.answer, (machine, uint64(at), _signed(OPERATOR_KEY, digest)));
    }

    function _recoverOf(uint256 at) private view returns (bytes memory) {
        bytes32 digest = _poolDigest(
            keccak256(
                abi.encode(
                    keccak256("Recover(address account,uint32 machine,uint64 issuedAt)"), operator, machine, uint64(at)
                )
            )
        );
        return abi.encodeCall(IFaults.recover, (machine, uint64(at), _signed(OPERATOR_KEY, digest)));
    }

    function _attestOf(uint256 from, uint256 to) private view returns (bytes memory) {
        return abi.encodeCall(IFaults.attest, (machine, 0, uint64(from), uint64(to), seats, _words(from, to)));
    }

    /// @dev The tenant's approval of one call, by Accounts.
    function _approved(bytes memory data, uint256 nonce) private view returns (bytes memory) {
        return _approved(address(pool), data, nonce);
    }

    function _approved(address target, bytes memory data, uint256 nonce) private view returns (bytes memory) {
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(target, data);
        bytes32 digest = accounts.executeDigest(tenant, calls, nonce, _now() + 7 days);
        return abi.encodeCall(IAccounts.execute, (tenant, calls, nonce, _now() + 7 days, _signed(TENANT_KEY, digest)));
    }

    function _sends(address who, address target, bytes memory data) private returns (bool ok) {
        vm.prank(who);
        (ok,) = target.call(data);
    }

    // ---------------------------------------------------------------------------------------------- at each of its steps

    /// @dev A lease from its offer to its end, with a challenge that is answered and an outage that is attested and
    /// recovered from. After every step all that was signed, earlier and later, comes again: forwards, backwards, twice.
    /// Each word works once at most; the tenant never pays more than the offer's price for the time, which is 1.44e18 an
    /// hour; the provider loses no more than the 8e18 that the outage is worth; and the books agree to the unit. A word that
    /// worked twice would be worth a bond, a slash, or an escrow of 8.64e18.
    function test_at_each_step() external {
        (Word[] memory words, uint256[] memory snapshots, uint256[] memory spent) = _story();
        for (uint256 left = STEPS; left != 0; --left) {
            uint256 step = left - 1;
            for (uint256 backwards = 0; backwards < 2; ++backwards) {
                vm.revertToState(snapshots[step]);
                snapshots[step] = vm.snapshotState();
                skip(1);
                uint256[] memory worked = new uint256[](WORDS);
                for (uint256 i = 0; i < 2 * WORDS; ++i) {
                    uint256 word = backwards == 1 ? WORDS - 1 - i % WORDS : i % WORDS;
                    if (_sends(THIEF, words[word].target, words[word].data)) ++worked[word];
                }
                for (uint256 i = 0; i < WORDS; ++i) {
                    // What was spent before the fork is spent on both of them.
                    vm.assertLe(worked[i], step >= spent[i] ? 0 : 1, "a word worked twice");
                }
                _settled();
            }
        }
    }

    /// @return words that were signed @return snapshots before each step @return spent after which step each was used
    function _story() private returns (Word[] memory words, uint256[] memory snapshots, uint256[] memory spent) {
        words = new Word[](WORDS);
        snapshots = new uint256[](STEPS);
        spent = new uint256[](WORDS);
        (Offer memory offer, bytes memory proof) = _offer(tenant, 7);
        uint256 lease = uint256(pool.slotCount() + 1) << 16;

        snapshots[0] = vm.snapshotState(); // the offer is taken; the thief is not whom it is for
        words[0] = Word(address(pool), _offered(offer, proof));
        _sendsOr(tenant, words[0]);
        snapshots[1] = vm.snapshotState();
        skip(1 minutes);
        _startBy(lease);
        snapshots[2] = vm.snapshotState();
        skip(1 hours);
        uint256 id = _challengeAs(tenant, lease);
        snapshots[3] = vm.snapshotState();
        skip(1 minutes);
        words[1] = Word(address(faults), _answerOf(id, _now()));
        (spent[0], spent[1]) = (0, 4);
        _sendsOr(THIEF, words[1]);
        snapshots[4] = vm.snapshotState();
        skip(20 minutes);
        words[2] = Word(address(faults), _attestOf(_now() - 10 minutes, 0));
        spent[2] = 5;
        _sendsOr(THIEF, words[2]);
        snapshots[5] = vm.snapshotState();
        skip(10 minutes);
        words[3] = Word(address(faults), _recoverOf(_now()));
        spent[3] = 6;
        _sendsOr(THIEF, words[3]);
        snapshots[6] = vm.snapshotState();
        words[4] = Word(address(accounts), _approved(abi.encodeCall(ILeases.close, (lease)), 0));
        spent[4] = 7;
        _sendsOr(THIEF, words[4]);
        snapshots[7] = vm.snapshotState();
        words[5] = Word(address(faults), _attestOf(_now() - 30 minutes, _now())); // the same outage, as one that is over
        spent[5] = STEPS;
    }

    function _sendsOr(address who, Word memory word) private {
        vm.assertTrue(_sends(who, word.target, word.data), "the story itself");
    }

    /// @dev Everybody ends honestly what is left on this fork.
    function _settled() private {
        if (faults.challengeOf(machine).challenger != address(0)) _answer();
        if (faults.runningFault(machine) != 0) _recover();
        uint256 lease = uint256(pool.slotCount()) << 16;
        if (pool.slotCount() != 0) {
            for (uint256 id = 1; id <= faults.faultCount(); ++id) {
                try faults.applyOutage(id, _one(lease)) {} catch {}
            }
            if (_state(lease) == LeaseState.Active) _closeAs(tenant, lease);
            if (_state(lease) == LeaseState.Opened) {
                vm.prank(operator);
                pool.decline(lease, "");
            }
        }
        for (uint256 id = 1; id <= faults.faultCount(); ++id) {
            if (faults.faultOf(id).state != FaultState.Filed) continue;
            _execute(id);
            if (faults.faultOf(id).pot != 0) faults.compensate(id, _one(lease));
        }
        vm.assertLe(STAKE - _stake(), 8e18, "slashed for more than there was");
        uint256 most = 4 * CELL_SECOND * (2 hours); // at half the price
        vm.assertLe(LEDGER, pool.balanceOf(tenant) + most + BOND, "the tenant paid for more than there was");
        _assertSolvent();
    }

    // --------------------------------------------------------------------------------------------------- step by step

    /// @dev On the other fork the same number is another challenge, asked a minute later of a machine that is dark by then.
    /// The old answer would save its provider 4e18. It was issued before anybody asked, and so answers nothing.
    function test_an_answer_to_another_challenge() external {
        uint256 lease = _leaseOf(tenant, 8, 1 days);
        uint256 snapshot = vm.snapshotState();
        uint256 id = _challengeAs(tenant, lease);
        bytes memory answer = _answerOf(id, _now());
        vm.revertToState(snapshot);
        skip(1 minutes);
        vm.assertEq(_challengeAs(tenant, lease), id);
        vm.prank(_seller);
        vm.expectRevert(abi.encodeWithSelector(IFaults.WrongSignature.selector, operator));
        (bool ok,) = address(faults).call(answer);
        ok; // the expectation has looked at it
        skip(_params().challengeWindow + 1);
        faults.prove(machine);
    }

    /// @dev A recovery of an outage that, on the other fork, begins later: it would end it before it has been.
    function test_a_recovery_of_another_outage() external {
        uint256 snapshot = vm.snapshotState();
        _report();
        skip(1 minutes);
        bytes memory recover = _recoverOf(_now());
        vm.revertToState(snapshot);
        skip(5 minutes);
        uint256 fault = _report();
        vm.assertFalse(_sends(_newcomer(1, 0), address(faults), recover));
        vm.assertEq(faults.runningFault(machine), fault);
    }

    /// @dev A quorum's word and the operator's report change places. Here the word came first and 8e18 were due; there the
    /// report and the recovery come first, and the word, that it is still down, is about something that is over: 200 and
    /// what the quorum says of the gap before. It costs what it is worth once, in either order.
    function test_a_word_and_a_report_change_places() external {
        skip(1 hours);
        uint256 from = _now() - 30 minutes;
        bytes memory running = _attestOf(from, 0);
        bytes memory over = _attestOf(from, _now());
        uint256 snapshot = vm.snapshotState();
        vm.assertTrue(_sends(THIEF, address(faults), running));
        _recover();
        _assertFault(1, FaultState.Filed, 8e18);
        vm.revertToState(snapshot);

        _report();
        vm.assertTrue(_sends(THIEF, address(faults), over)); // the gap before it
        skip(1 minutes);
        _recover();
        vm.assertFalse(_sends(THIEF, address(faults), running));
        vm.assertFalse(_sends(THIEF, address(faults), over));
        (, uint256 charged) = faults.windowOf(machine);
        vm.assertEq(charged, 800);
    }

    /// @dev Two approvals of the tenant's in the other order: those with one key of nonces wait for one another, those with
    /// two do not and need not. None works twice, and one that fails is not spent.
    function test_approvals_change_places() external {
        uint256 lease = uint256(pool.slotCount() + 1) << 16;
        bytes memory open = _approved(abi.encodeCall(ILeases.open, (_request(machine, 8, 1 hours))), 0);
        bytes memory close = _approved(abi.encodeCall(ILeases.close, (lease)), 1);
        bytes memory pay = _approved(abi.encodeCall(ILedger.transfer, (TREASURY, 1e18)), uint256(1) << 64);
        vm.assertFalse(_sends(THIEF, address(accounts), close));
        vm.assertTrue(_sends(THIEF, address(accounts), pay));
        vm.assertTrue(_sends(THIEF, address(accounts), open));
        vm.assertFalse(_sends(THIEF, address(accounts), pay));
        vm.assertFalse(_sends(THIEF, address(accounts), open));
        vm.assertTrue(_sends(THIEF, address(accounts), close));
        vm.assertEq(pool.balanceOf(tenant), LEDGER - 1e18);
        vm.assertEq(pool.balanceOf(TREASURY), 1e18);
    }

    /// @dev On the other fork the thief's `open` comes first and has the number that was the tenant's. To close, reject,
    /// resize or give away that number is refused to the tenant, and nothing of the tenant's is lost.
    function test_a_number_that_is_another_s_now() external {
        uint256 snapshot = vm.snapshotState();
        uint256 lease = _leaseOf(tenant, 4, 1 hours);
        bytes memory close = _approved(abi.encodeCall(ILeases.close, (lease)), 0);
        bytes memory resize = _approved(abi.encodeCall(ILeaseChanges.resize, (lease, 8, 0)), 1 << 64);
        vm.revertToState(snapshot);
        vm.assertEq(_leaseOf(THIEF, 4, 1 hours), lease);
        uint256 own = _leaseOf(tenant, 4, 1 hours);
        skip(_terms().trial);
        vm.assertFalse(_sends(THIEF, address(accounts), close));
        vm.assertFalse(_sends(THIEF, address(accounts), resize));
        _assertState(own, LeaseState.Active);
        _assertState(lease, LeaseState.Active);
    }

    /// @dev To extend is for everybody, so there the number decides who has the time: a tenant who, on the other fork, extends
    /// the thief's lease by a day gives him 34.56e18, which he closes into his ledger. No call can know what number its
    /// author meant: extend what is final. A wallet that cannot wait says first something that only its tenant may say, in
    /// the same approval, and then it is refused. (docs/decisions/0079-numbers-are-positions.md)
    function test_an_extension_names_a_number() external {
        uint256 snapshot = vm.snapshotState();
        uint256 lease = _leaseOf(tenant, 4, 1 hours);
        bytes memory extend = abi.encodeCall(ILeases.extend, (lease, 1 days));
        bytes memory careless = _approved(extend, 0);
        bytes[] memory both = new bytes[](2);
        both[0] = abi.encodeCall(ILeases.setWorkload, (lease, WORKLOAD));
        both[1] = extend;
        bytes memory careful = _approved(abi.encodeCall(ILedger.multicall, (both)), 1 << 64);
        vm.assertTrue(_sends(THIEF, address(accounts), careful)); // here it is the tenant's own

        vm.revertToState(snapshot);
        vm.assertEq(_leaseOf(THIEF, 4, 1 hours), lease);
        uint256 before = pool.balanceOf(tenant);
        vm.assertFalse(_sends(THIEF, address(accounts), careful));
        vm.assertEq(pool.balanceOf(tenant), before);
        vm.assertTrue(_sends(THIEF, address(accounts), careless));
        vm.assertEq(before - pool.balanceOf(tenant), 4 * CELL_SECOND * 1 days); // a gift, as every extension by another
        _assertSolvent();
    }

    /// @dev An offer for anyone, taken here by the tenant and there by somebody else, or spoilt first: it works once on each
    /// fork, and whoever comes second pays nothing.
    function test_an_offer_is_taken_by_another() external {
        (Offer memory offer, bytes memory proof) = _offer(address(0), 3);
        bytes memory open = _offered(offer, proof);
        uint256 snapshot = vm.snapshotState();
        vm.assertTrue(_sends(tenant, address(pool), open));
        vm.revertToState(snapshot);
        uint256 before = _wealth(tenant);
        vm.assertTrue(_sends(SYBIL, address(pool), open));
        _closeAs(SYBIL, uint256(pool.slotCount()) << 16);
        _refused(tenant, open, abi.encodeWithSelector(IPoolErrors.OfferUsed.selector, 3));
        vm.revertToState(snapshot);
        vm.prank(_seller);
        pool.cancelOffers(0, 1 << 3);
        _refused(tenant, open, abi.encodeWithSelector(IPoolErrors.OfferUsed.selector, 3));
        vm.assertEq(_wealth(tenant), before);
    }

    /// @dev An acceptance of a lease whose number is another's on the other fork: whoever has it gives it away, with its
    /// escrow, to one who pays nothing for it; and not twice.
    function test_an_acceptance_of_another_lease() external {
        uint256 lease = uint256(pool.slotCount() + 1) << 16;
        uint256 until = _now() + 1 days;
        bytes32 digest = accounts.acceptTransferDigest(tenant, address(pool), lease, until);
        bytes memory proof = _signed(TENANT_KEY, digest);
        vm.assertEq(_leaseOf(THIEF, 8, 2 hours), lease); // it was to be SYBIL's
        uint256 before = pool.balanceOf(tenant);
        vm.prank(THIEF);
        pool.transferLease(lease, tenant, until, proof);
        _closeAs(tenant, lease);
        vm.assertEq(pool.balanceOf(tenant) - before, 2 hours * GPU_SECOND); // the thief's own money
        vm.prank(THIEF);
        _expect(abi.encodeWithSelector(IPoolErrors.WrongState.selector, lease, uint8(LeaseState.Ended)));
        pool.transferLease(lease, tenant, until, proof);
    }
}
