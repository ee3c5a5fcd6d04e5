// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {FaultState} from "../../../../contracts/interfaces/IFaults.sol";
import {ILeaseChanges, ILeases} from "../../../../contracts/interfaces/ILeases.sol";
import {IPoolErrors} from "../../../../contracts/interfaces/IPoolErrors.sol";
import {LeaseRequest, LeaseState, Offer, Params, Terms} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice Whoever is first with a claim, a close, an extension, new terms: it changes what nobody owes.
contract BillRaces is RaceWorld {
    uint256 private constant HOUR = 1 hours * GPU_SECOND; // 2.88e18

    function _fee(uint256 amount) private pure returns (uint256) {
        return amount * 500 / 10_000;
    }

    function _notOver(uint256 lease, uint256 until) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IPoolErrors.LeaseNotOver.selector, lease, until);
    }

    // ------------------------------------------------------------------------------------------------------- notice

    /// @dev Notice against extend. The tenant has three hours left; the provider gives an hour's notice and pays for the
    /// two cut off, 5.76e18. To extend past the notice, second after second, would keep the machine for ever for the rent
    /// alone. After the notice nobody extends, in whatever order the two come; and nothing is pulled for the attempt.
    function test_notice_against_extend() external {
        uint256 lease = _leaseOf(tenant, 8, 3 hours);
        uint256 snapshot = vm.snapshotState();

        vm.prank(PROVIDER);
        pool.terminate(lease);
        uint256 before = _wealth(tenant);
        _refused(
            tenant,
            abi.encodeCall(ILeases.extend, (lease, 1 hours)),
            abi.encodeWithSelector(IPoolErrors.UnderNotice.selector, lease)
        );
        _refused(
            THIEF,
            abi.encodeCall(ILeases.extend, (lease, 1 hours)),
            abi.encodeWithSelector(IPoolErrors.UnderNotice.selector, lease)
        );
        vm.assertEq(_wealth(tenant), before);
        vm.assertEq(pool.leaseOf(lease).end, _now() + 1 hours);

        // The other order: an extension in front of the notice is given notice too.
        vm.revertToState(snapshot);
        before = _wealth(tenant);
        vm.prank(tenant);
        pool.extend(lease, 3 days);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        vm.assertEq(pool.leaseOf(lease).end, _now() + 1 hours);
        skip(1 hours);
        pool.close(lease);
        // The penalty is no larger than for two hours, however far ahead the end was; the rest of the escrow is back.
        vm.assertEq(_wealth(tenant), before + 3 * HOUR - HOUR + 2 * HOUR);
        _assertSolvent();
    }

    /// @dev An extension seen coming raises what a notice costs from what is left to two hours, 5.76e18 at most: the tenant
    /// extends a lease that has but a minute more than the notice, in front of it. A provider who wants to pay nothing
    /// delists first: after that no end moves, and what is left runs out.
    function test_extending_to_be_paid_for_notice() external {
        uint256 lease = _leaseOf(tenant, 8, 1 hours + 1 minutes);
        vm.prank(PROVIDER);
        pool.delist(machine);
        _refused(
            tenant,
            abi.encodeCall(ILeases.extend, (lease, 7 days - 2 hours)),
            abi.encodeWithSelector(IPoolErrors.MachineDelisted.selector, machine)
        );
        skip(1 minutes);
        uint256 before = _wealth(tenant);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        vm.assertEq(_wealth(tenant), before); // nothing was cut off
    }

    /// @dev Extending for ever, to keep a machine from retiring and its stake from leaving. A lease may be extended by
    /// anybody at any time, so a machine that sells would never be free: 100e18 held for the price of the rent. Delisting
    /// stops every way to more time: after `maxDuration` at the latest anyone settles, and it retires.
    function test_extending_for_ever() external {
        uint256 lease = _leaseOf(tenant, 4, 7 days);
        skip(6 days);
        vm.prank(tenant);
        pool.extend(lease, 6 days);
        vm.prank(PROVIDER);
        pool.delist(machine);
        bytes memory delisted = abi.encodeWithSelector(IPoolErrors.MachineDelisted.selector, machine);
        uint256 last = pool.leaseOf(lease).end;
        vm.assertEq(last, _now() + 7 days);
        LeaseRequest memory request = _request(machine, 4, 1 hours);
        for (uint256 day = 0; day < 7; ++day) {
            _refused(tenant, abi.encodeCall(ILeases.extend, (lease, 1)), delisted);
            _refused(tenant, abi.encodeCall(ILeaseChanges.resize, (lease, 8, 0)), delisted);
            _refused(tenant, abi.encodeCall(ILeases.open, (request)), delisted);
            skip(1 days);
        }
        vm.prank(PROVIDER);
        pool.close(lease);
        vm.prank(PROVIDER);
        pool.retire(machine);
        skip(_params().unstakeDelay);
        uint256 before = pool.balanceOf(PROVIDER);
        pool.unstake(machine);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, STAKE);
    }

    /// @dev The same by challenges: a tenant who challenges in the last second and lets it lapse keeps the lease from being
    /// closed by others, and so the machine from retiring. For an hour and ten minutes; no second one is possible, for the
    /// lease is over, and a provider who forgoes what is held has his machine back at once. Had it worked for ever, a bond of
    /// 5e18 that comes back would hold 100e18.
    function test_challenging_for_ever() external {
        uint256 lease = _leaseOf(tenant, 8, 1 hours);
        skip(1 hours - 1);
        _challengeAs(tenant, lease);
        uint256 until = _now() + _params().challengeWindow + 1 hours;
        skip(1);
        _refused(THIEF, abi.encodeCall(ILeases.close, (lease)), _notOver(lease, until));
        uint256 snapshot = vm.snapshotState();
        vm.prank(PROVIDER);
        pool.close(lease);
        vm.prank(PROVIDER);
        pool.retire(machine);
        vm.revertToState(snapshot);
        vm.warp(until);
        vm.prank(THIEF);
        pool.close(lease);
        vm.prank(PROVIDER);
        pool.retire(machine);
    }

    // ------------------------------------------------------------------------------------------------------- outages

    /// @return what tenant, provider and pool have in the end
    function _ended(uint256 lease, uint256 fault) private returns (bytes32) {
        vm.warp(pool.leaseOf(lease).end);
        if (_now() < pool.machineOf(machine).heldUntil) vm.warp(pool.machineOf(machine).heldUntil);
        if (_state(lease) == LeaseState.Active) pool.close(lease);
        _execute(fault);
        faults.compensate(fault, _one(lease));
        _assertSolvent();
        return keccak256(abi.encode(_wealth(tenant), _providers(), _feesPaid(), _wealth(TREASURY)));
    }

    /// @dev Claim against outage, both orders. The machine is dark for an hour, seen by a quorum. To claim first would earn
    /// the provider that hour, 2.88e18 less the fee. Claimed before the attestation, between it and the application, after
    /// it, or not at all: everybody has the same in the end, to the unit, for what a claim took too early is worked off by
    /// the hours after.
    function test_claim_against_outage_in_every_order() external {
        uint256 lease = _leaseOf(tenant, 8, 10 hours);
        skip(2 hours);
        uint256 from = _now();
        skip(1 hours);
        uint256 tenants = _wealth(tenant) + pool.leaseOf(lease).deposit;
        bytes32 expected;
        for (uint256 order = 0; order < 4; ++order) {
            uint256 snapshot = vm.snapshotState();
            if (order == 0) pool.claim(_one(lease)); // reaches 40 dark minutes
            uint256 fault = _attest(from, _now());
            if (order == 1) pool.claim(_one(lease)); // reaches none
            _apply(fault, lease);
            if (order == 2) pool.claim(_one(lease));
            bytes32 ended = _ended(lease, fault);
            if (order == 0) expected = ended;
            vm.assertEq(ended, expected);
            // Ten hours less the dark one, and half of the 8e18 that it cost.
            vm.assertEq(_wealth(tenant), tenants - 9 * HOUR + 4e18);
            vm.revertToState(snapshot);
        }
    }

    /// @dev Close against outage: the lease's last hour is dark. In its last second the tenant challenges; in the first one
    /// after it somebody closes: that would bank the hour while nobody has proven anything. Nobody but the tenant closes while
    /// the challenge stands, while the machine is down, and for two days after; or the provider, who then forgoes that time.
    function test_close_against_a_challenge() external {
        uint256 lease = _leaseOf(tenant, 8, 3 hours);
        skip(3 hours - 5 minutes);
        uint256 before = _wealth(tenant) + pool.leaseOf(lease).deposit;
        _challengeAs(tenant, lease);
        uint256 asked = _now();
        skip(5 minutes);
        bytes memory close = abi.encodeCall(ILeases.close, (lease));
        _refused(THIEF, close, _notOver(lease, asked + 70 minutes));
        skip(5 minutes + 1);
        uint256 fault = faults.prove(machine);
        _refused(THIEF, close, _notOver(lease, type(uint256).max));
        skip(1 hours);
        _recover();
        _refused(THIEF, close, _notOver(lease, _now() + 2 days));
        pool.claim(_one(lease));
        vm.assertEq(pool.leaseOf(lease).settled, (3 hours - 5 minutes) * GPU_SECOND);
        _apply(fault, lease);
        _execute(fault);
        pool.close(lease);
        faults.compensate(fault, _one(lease));
        // The five minutes are not billed; of half of 4e18 their part of the outage's 70, and a tenth for having asked.
        uint256 part = uint256(2e18) * 5 minutes / (70 minutes + 1);
        vm.assertEq(_wealth(tenant), before - (3 hours - 5 minutes) * GPU_SECOND + part + 0.4e18);
        _assertSolvent();
    }

    /// @dev The tenant's own close, in the outage or after it and its application: the same to the unit.
    function test_close_by_the_tenant_in_both_orders() external {
        uint256 lease = _leaseOf(tenant, 8, 10 hours);
        skip(2 hours);
        uint256 fault = _report();
        skip(1 hours);
        uint256 snapshot = vm.snapshotState();
        uint256 before = _wealth(tenant);

        _closeAs(tenant, lease); // while it is down
        vm.assertEq(_wealth(tenant) - before, 8 * HOUR);
        _recover();
        _apply(fault, lease); // weighs, and pauses nothing: it is paid already
        vm.assertEq(faults.faultOf(fault).pot, 2e18);
        vm.revertToState(snapshot);

        _recover();
        _apply(fault, lease);
        _closeAs(tenant, lease);
        vm.assertEq(_wealth(tenant) - before, 8 * HOUR);
        vm.assertEq(faults.faultOf(fault).pot, 2e18);
        _assertSolvent();
    }

    /// @dev Claiming every block from a dark machine. In two dark hours a claim a minute would carry off 2 × 2.88e18. A claim
    /// stays twenty minutes behind, so a tenant who asks within that has paid for nothing after his question: the five
    /// minutes before it are what the provider gets.
    function test_claiming_every_block_from_a_dark_machine() external {
        uint256 lease = _leaseOf(tenant, 8, 1 days);
        skip(1 hours); // and now it goes dark
        for (uint256 i = 0; i < 5; ++i) {
            skip(1 minutes);
            pool.claim(_one(lease));
        }
        _challengeAs(tenant, lease);
        uint256 asked = _now();
        uint256 fault;
        for (uint256 i = 0; i < 115; ++i) {
            skip(1 minutes);
            if (i == 10) fault = faults.prove(machine);
            try pool.claim(_one(lease)) {} catch {}
            vm.assertLe(pool.leaseOf(lease).settled, (1 hours + 5 minutes) * GPU_SECOND, "claimed the dark");
        }
        vm.assertEq(pool.leaseOf(lease).settled, (1 hours + 5 minutes) * GPU_SECOND);
        uint256 before = _wealth(tenant);
        _closeAs(tenant, lease);
        vm.assertEq(_wealth(tenant) - before, pool.leaseOf(lease).deposit - (1 hours + 5 minutes) * GPU_SECOND);
        vm.assertEq(faults.faultOf(fault).from, asked);
    }

    /// @dev The same darkness twice. A tenant asks, is not answered, and waits with `prove` until a quorum has said what it
    /// saw: from ten minutes before the question to half an hour after. Were the question's outage to begin at the question
    /// all the same, half an hour would be taken off the bill twice, 1.44e18 of the provider's. It begins where the other
    /// ended.
    function test_a_challenge_proven_after_a_quorum_s_word() external {
        uint256 lease = _leaseOf(tenant, 8, 7 days);
        skip(1 hours);
        _challengeAs(tenant, lease);
        uint256 asked = _now();
        skip(30 minutes);
        uint256 seen = _attest(asked - 10 minutes, _now());
        skip(20 minutes); // it works again, and nobody has told
        uint256 fault = faults.prove(machine);
        vm.assertEq(faults.faultOf(fault).from, faults.faultOf(seen).to);
        _recover();
        _apply(seen, lease);
        _apply(fault, lease);
        vm.assertEq(pool.leaseOf(lease).paused, 10 minutes + 50 minutes);
        (uint256 downtime,) = faults.windowOf(machine);
        vm.assertEq(downtime, 10 minutes + 30 minutes + 7 minutes);
        _closeAs(tenant, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 50 minutes * GPU_SECOND);
        _assertSolvent();
    }

    /// @dev An operator blinks for eleven minutes, a tenant asks in them, and waits with `prove`: claims would be held for
    /// another hour, which is what waiting can take off the bill. A question that has lapsed is anybody's to prove, the
    /// provider's first of all: it costs the lowest tier, 4e18, and ends at once.
    function test_waiting_with_a_proof() external {
        uint256 lease = _leaseOf(tenant, 8, 7 days);
        skip(1 hours);
        _challengeAs(tenant, lease);
        skip(11 minutes);
        vm.prank(operator); // it is back, and sees the question
        uint256 fault = faults.prove(machine);
        _recover();
        _apply(fault, lease);
        _assertFault(fault, FaultState.Filed, 4e18);
        vm.warp(pool.leaseOf(lease).end);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, (7 days - 11 minutes) * GPU_SECOND);
    }

    /// @dev Nobody asks, and a quorum finds out after three hours. By then two hours and forty minutes of darkness are
    /// claimed, 7.68e18 less the fee. While the lease runs on, its next hours pay them back; where it has ended, the tenant
    /// has half of the slash instead.
    function test_what_a_dark_machine_claimed_is_worked_off() external {
        uint256 lease = _leaseOf(tenant, 8, 1 days);
        uint256 from = _now();
        skip(3 hours);
        pool.claim(_one(lease));
        vm.assertEq(pool.leaseOf(lease).settled, (3 hours - 20 minutes) * GPU_SECOND);
        uint256 fault = _attest(from, _now());
        _apply(fault, lease);
        skip(2 days + 1);
        uint256 before = _wealth(tenant);
        pool.close(lease);
        vm.assertEq(_wealth(tenant) - before, pool.leaseOf(lease).deposit - 21 hours * GPU_SECOND);
        vm.assertEq(pool.leaseOf(lease).settled, 21 hours * GPU_SECOND); // of 24: not a dark second was paid
    }

    /// @dev Failover against an outage that is over and that nobody has applied yet. Others than the tenant do not close in
    /// that time, but anyone may fail over while the machine is down; so a provider who recovers after three hours and goes
    /// down again in the same second could have his tenant moved on, billed for them: 8.64e18 for nothing.
    function test_failover_against_an_outage_not_applied() external {
        uint32 standby = _machineOf(SYBIL, 1);
        LeaseRequest memory request = _request(machine, 8, 4 days);
        request.backup = keccak256(abi.encode(standby, uint16(1), uint16(0), WORKLOAD));
        vm.prank(tenant);
        uint256 lease = pool.open(request);
        _startBy(lease);
        skip(1 hours);
        uint256 fault = _outage(3 hours);
        uint256 until = _now() + _params().appealWindow;
        _report();
        bytes memory call = abi.encodeCall(ILeaseChanges.failover, (lease, standby, 1, 0, WORKLOAD));
        _refused(PROVIDER, call, _notOver(lease, until));

        // The tenant says when. Whoever applies the outage first, the hour is paid and no more.
        uint256 before = pool.balanceOf(PROVIDER);
        uint256 snapshot = vm.snapshotState();
        _apply(fault, lease);
        _refused(THIEF, call, _notOver(lease, until));
        vm.prank(tenant);
        pool.failover(lease, standby, 1, 0, WORKLOAD);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, HOUR - _fee(HOUR));
        _assertSolvent();

        // Once the time for it has passed, and the machine is still down, anyone may move it again.
        vm.revertToState(snapshot);
        vm.warp(until);
        _apply(fault, lease);
        vm.prank(THIEF);
        pool.failover(lease, standby, 1, 0, WORKLOAD);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, HOUR - _fee(HOUR));
        _assertSolvent();
    }

    /// @dev A machine misses one answer by a minute and serves on. Its tenant keeps the lapsed question back for a week, and
    /// proves it in the last minute. To have the week for nothing would earn 483.8: the question is over after an hour,
    /// and he has his bond.
    function test_keeping_a_lapsed_question_back() external {
        uint256 lease = _leaseOf(tenant, 8, 7 days);
        skip(1 hours);
        _challengeAs(tenant, lease);
        uint256 asked = _now();
        skip(6 days);
        uint256 had = _wealth(tenant);
        vm.assertEq(faults.prove(machine), 0);
        vm.assertEq(_wealth(tenant) - had, BOND);
        vm.assertEq(_stake(), STAKE);
        _closeAs(tenant, lease);
        vm.assertEq(pool.leaseOf(lease).settled, (_now() - asked + 1 hours) * GPU_SECOND);
        _assertSolvent();
    }

    /// @dev The same with a provider who claims every six hours. What was claimed would be worked off by the next week, were
    /// it free.
    function test_keeping_a_lapsed_question_back_from_one_who_claims() external {
        uint256 lease = _leaseOf(tenant, 8, 7 days);
        skip(1 hours);
        _challengeAs(tenant, lease);
        for (uint256 i = 0; i < 27; ++i) {
            skip(6 hours);
            pool.claim(_one(lease));
        }
        vm.prank(tenant);
        pool.extend(lease, 6 days); // less than two weeks in all
        vm.assertEq(faults.prove(machine), 0);
        vm.warp(pool.leaseOf(lease).end);
        _closeAs(tenant, lease);
        vm.assertEq(pool.leaseOf(lease).settled, 13 days * GPU_SECOND);
        _assertSolvent();
    }

    // --------------------------------------------------------------------------------------------------------- rounding

    /// @dev Dust claims that round the fee away. At a price of 28,800 units a cell costs one unit a second, of which the fee
    /// of 5 % is nothing: 7,200 claims of one second each would pay 0 instead of 360. It is the difference of two totals.
    function test_dust_claims_round_no_fee_away() external {
        Terms memory terms = _terms();
        terms.price = 28_800;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        uint256 lease = _leaseOf(tenant, 1, 2 hours);
        uint256 before = pool.balanceOf(PROVIDER);
        skip(20 minutes);
        for (uint256 i = 0; i < 600; ++i) {
            skip(1);
            pool.claim(_one(lease));
        }
        vm.assertEq(_feesPaid(), 30); // 600 × 5 %
        vm.warp(pool.leaseOf(lease).end);
        pool.close(lease);
        vm.assertEq(_feesPaid(), 360);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, 7200 - 360);
    }

    /// @dev The tenant's way to round: a change of share begins a new segment, whose time is rounded down apart. At 1.5 units
    /// a second a resize every second would halve the rent. It saves less than a unit each, here 1 in 2 seconds, which is a
    /// millionth of a dollar for a transaction; the fee is that of the sum, and what was paid never falls.
    function test_resizing_every_second_rounds_off_less_than_a_unit() external {
        Terms memory terms = _terms();
        terms.price = 43_200; // 1.5 units a second and cell
        terms.trial = 0;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        uint256 lease = _leaseOf(tenant, 1, 2 hours);
        uint256 settled;
        uint256 exact; // in half units
        for (uint256 i = 1; i <= 100; ++i) {
            uint256 cells = i % 2 == 1 ? 1 : 2;
            skip(1);
            exact += 3 * cells;
            vm.prank(tenant);
            pool.resize(lease, cells == 1 ? 2 : 1, 0);
            uint256 now_ = pool.leaseOf(lease).settled;
            vm.assertTrue(now_ >= settled);
            settled = now_;
            vm.assertLe(exact / 2 - settled, i, "more than a unit each");
        }
        vm.assertEq(_feesPaid(), settled * 500 / 10_000);
        _closeAs(tenant, lease);
        vm.assertEq(pool.leaseOf(lease).settled, settled);
        _assertSolvent();
    }

    // ------------------------------------------------------------------------------------------------ terms and trials

    function _revisionChanged(uint16 revision) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IPoolErrors.RevisionChanged.selector, revision);
    }

    /// @dev Terms changed against open. The tenant saw 2.88e18 an hour and allows the pool to take everything he has; in front
    /// of his `open` the provider raises the price a thousandfold: 2,880e18 for the hour. The request names the revision
    /// that was seen, and a greatest price besides.
    function test_terms_changed_against_open() external {
        LeaseRequest memory request = _request(machine, 8, 1 hours);
        request.maxPrice = type(uint80).max; // careless
        Terms memory dear = _terms();
        dear.price = 1000 * PRICE;
        vm.prank(PROVIDER);
        pool.setTerms(machine, dear);
        uint256 before = _wealth(tenant);
        bytes memory open = abi.encodeCall(ILeases.open, (request));
        _refused(tenant, open, _revisionChanged(2));
        request.revision = 2; // more careless still, but for the price
        request.maxPrice = PRICE;
        _refused(
            tenant,
            abi.encodeCall(ILeases.open, (request)),
            abi.encodeWithSelector(IPoolErrors.PriceTooHigh.selector, dear.price, PRICE)
        );
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        vm.prank(PROVIDER);
        pool.setHardware(machine, "something less");
        _refused(tenant, open, _revisionChanged(4));
        vm.assertEq(_wealth(tenant), before);
    }

    /// @dev The same against an extension, a larger share and a standby: a thousandfold, each of them would spend 1,440e18 of
    /// the tenant's for an hour of four cells. More time costs what was agreed, more cells are not had at terms that are
    /// no longer listed, and a standby is its revision or none.
    function test_terms_changed_against_what_is_agreed() external {
        uint32 standby = _machineOf(PROVIDER, 1);
        LeaseRequest memory request = _request(machine, 4, 3 hours);
        request.backup = keccak256(abi.encode(standby, uint16(1), uint16(0), WORKLOAD));
        vm.prank(tenant);
        uint256 lease = pool.open(request);
        _startBy(lease);
        Terms memory dear = _terms();
        dear.price = 1000 * PRICE;
        vm.prank(PROVIDER);
        pool.setTerms(machine, dear);
        vm.prank(PROVIDER);
        pool.setTerms(standby, dear);
        skip(1 hours);

        uint256 before = _wealth(tenant);
        vm.prank(tenant);
        pool.extend(lease, 1 hours);
        vm.assertEq(before - _wealth(tenant), HOUR / 2);
        _refused(tenant, abi.encodeCall(ILeaseChanges.resize, (lease, 8, 0)), _revisionChanged(2));
        _report();
        bytes memory failover = abi.encodeCall(ILeaseChanges.failover, (lease, standby, 1, 0, WORKLOAD));
        _refused(THIEF, failover, _revisionChanged(2));
        failover = abi.encodeCall(ILeaseChanges.failover, (lease, standby, 2, 0, WORKLOAD));
        _refused(PROVIDER, failover, abi.encodeWithSelector(IPoolErrors.WrongBackup.selector, lease));
        _closeAs(tenant, lease); // as it may at any time
        vm.assertEq(_wealth(tenant) - before, 3 * HOUR / 2 - HOUR / 2); // of three hours' escrow it paid for the first
    }

    /// @dev An offer signed for one revision is no offer for the next: neither side can take the other by surprise with it.
    function test_terms_changed_against_an_offer() external {
        uint256 key = 0x9807;
        address provider = vm.addr(key);
        _fund(provider);
        uint32 id = _machineOf(provider, 1);
        Offer memory offer =
            Offer(provider, id, 1, PRICE / 2, 8, 1 hours, false, address(0), 0, uint64(_now() + 1 days));
        bytes memory proof = _signed(key, pool.offerDigest(offer));
        LeaseRequest memory request = _request(id, 8, 1 hours);
        vm.prank(provider);
        pool.setHardware(id, "something less");
        bytes memory open = abi.encodeCall(ILeaseChanges.openWithOffer, (request, offer, proof));
        _refused(tenant, open, _revisionChanged(2));
        request.revision = 2;
        open = abi.encodeCall(ILeaseChanges.openWithOffer, (request, offer, proof));
        _refused(tenant, open, abi.encodeWithSelector(IPoolErrors.OfferMismatch.selector, bytes32("revision")));
        offer.revision = 2; // what nobody signed
        open = abi.encodeCall(ILeaseChanges.openWithOffer, (request, offer, proof));
        _refused(tenant, open, abi.encodeWithSelector(IPoolErrors.WrongProof.selector, provider));
    }

    /// @dev The owner's way: a fee of 10 % instead of 5, in front of an `open`. Parameters come into force two days after they
    /// were proposed, and a machine takes leases under them only once its provider has accepted them.
    function test_parameters_changed_against_open() external {
        Params memory params = _params();
        params.feeBps = 1000;
        params.holdFeeBps = 10_000;
        vm.prank(OWNER);
        pool.proposeParams(params);
        uint256 lease = _openAs(tenant, 8, 3 hours);
        skip(2 days);
        _refused(
            tenant,
            abi.encodeCall(ILeases.open, (_request(machine, 8, 1 hours))),
            abi.encodeWithSelector(IPoolErrors.ParamsOutdated.selector, 1, 2)
        );
        uint256 before = _wealth(tenant);
        pool.cancelUnstarted(lease); // the one that was open gets everything back, as it was agreed
        vm.assertEq(_wealth(tenant) - before, 3 * HOUR);
    }

    /// @dev Open-reject loops from fresh addresses. A trial of ten minutes that costs a tenth: six names in a row have a
    /// machine for an hour, for 0.288e18 instead of 2.88e18. That is what a trial is for: the thief saves 2.592e18 of rent
    /// and has earned no money; the provider has his 0.288e18 less the fee. A provider who minds asks for none, and then
    /// the same hour costs 2.88e18.
    function test_opening_and_rejecting_from_fresh_addresses() external {
        uint256 before = pool.balanceOf(PROVIDER);
        uint256 spent = _loop(1);
        vm.assertEq(spent, (10 minutes - 1) * 6 * GPU_SECOND / 10);
        vm.assertEq(pool.balanceOf(PROVIDER) - before, spent - _feesPaid());

        Terms memory terms = _terms();
        terms.trial = 0;
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        vm.assertEq(_loop(7), (10 minutes - 1) * 6 * GPU_SECOND);
        _assertSolvent();
    }

    function _loop(uint256 first) private returns (uint256 spent) {
        for (uint256 i = first; i < first + 6; ++i) {
            address name = _newcomer(i, HOUR);
            uint256 lease = _leaseOf(name, 8, 1 hours);
            skip(10 minutes - 1);
            bytes memory reject = abi.encodeCall(ILeases.reject, (lease));
            vm.prank(name);
            (bool rejected,) = address(pool).call(reject);
            if (!rejected) _closeAs(name, lease);
            spent += HOUR - pool.balanceOf(name);
        }
    }

    /// @dev Open-close loops before the start, to keep a machine from others: 30 minutes of all its cells for a tenth of
    /// their price, 0.144e18, which is the provider's. Free would be denial of service for gas alone.
    function test_blocking_a_machine_before_its_starts() external {
        uint256 before = pool.balanceOf(PROVIDER);
        for (uint256 i = 0; i < 4; ++i) {
            address name = _newcomer(i, HOUR);
            uint256 lease = _openAs(name, 8, 1 hours);
            skip(_params().startWindow);
            _closeAs(name, lease);
            vm.assertEq(HOUR - pool.balanceOf(name), HOUR / 20);
        }
        vm.assertEq(pool.balanceOf(PROVIDER) - before, 4 * HOUR / 20 - _fee(4 * HOUR / 20));
    }

    /// @dev Waiting out a start, the tenant's way: an ambush of an operator who sleeps. Were stake to move for it, a lease of
    /// all cells at any price would earn a share of 100e18 for the escrow's use alone. It earns its escrow back and nothing
    /// else; the machine stalls until its operator says it is awake, and its provider's score has a scratch.
    function test_waiting_out_a_start() external {
        uint256 before = _wealth(THIEF);
        uint256 providers = _providers();
        uint256 lease = _openAs(THIEF, 8, 7 days);
        skip(_params().startWindow + 1);
        vm.prank(THIEF);
        pool.cancelUnstarted(lease);
        vm.assertEq(_wealth(THIEF), before);
        vm.assertEq(_providers(), providers);
        vm.assertEq(_stake(), STAKE);
        vm.assertEq(pool.accountOf(PROVIDER).unstarted, 1);
        vm.prank(operator);
        pool.recover(machine);
        _openAs(tenant, 8, 1 hours);
    }

    /// @dev Waiting out a start, the provider's way: he never starts, and hopes that the tenant gives up and pays the hold
    /// fee: 0.144e18 for half an hour of nothing. After the window there is no fee, whoever ends it and however.
    function test_waiting_for_a_tenant_to_give_up() external {
        uint256 lease = _openAs(tenant, 8, 1 hours);
        uint256 before = _wealth(tenant);
        skip(_params().startWindow + 1);
        _refused(
            tenant,
            abi.encodeCall(ILeases.reject, (lease)),
            abi.encodeWithSelector(IPoolErrors.StartWindowPassed.selector, lease, _now() - 1)
        );
        _closeAs(tenant, lease);
        vm.assertEq(_wealth(tenant) - before, HOUR);
    }

    /// @dev Nobody is kept large (0071). The operator withholds the cells that a tenant has, which stay the tenant's, so that he
    /// finds no room for fewer: full rent, or his container. To grow into them is refused to him as to others.
    function test_withholding_what_a_tenant_has() external {
        uint256 lease = _leaseOf(tenant, 4, 7 days);
        skip(1 hours);
        vm.prank(operator);
        pool.withhold(machine, 0xFF);
        vm.prank(tenant);
        pool.resize(lease, 1, 0);
        vm.assertEq(pool.leaseOf(lease).placement, 0x0101);
        bytes memory full = abi.encodeWithSelector(IPoolErrors.NoFreeCells.selector, machine, 0xFE);
        _refused(tenant, abi.encodeCall(ILeaseChanges.resize, (lease, 2, 0)), full);
    }

    /// @dev "Take leases and start none": the machine stalls and the score falls. To decline in front of whoever would say so
    /// spared both, for gas: an operator who means it says it inside the start window.
    function test_declining_past_the_start_window() external {
        uint256 lease = _openAs(tenant, 8, 1 hours);
        uint256 until = _now() + _params().startWindow;
        vm.warp(until + 1);
        bytes memory late = abi.encodeWithSelector(IPoolErrors.StartWindowPassed.selector, lease, until);
        _refused(operator, abi.encodeCall(ILeases.decline, (lease, "late")), late);
        pool.cancelUnstarted(lease);
        vm.assertTrue(pool.machineOf(machine).stalled);
        vm.assertEq(pool.accountOf(PROVIDER).unstarted, 1);
        vm.assertEq(pool.accountOf(PROVIDER).declined, 0);
    }

    // ----------------------------------------------------------------------------------------------------------- slots

    /// @dev Reusing another's lease: to take over a slot that an ended lease of the tenant's left would save 17,100 of gas
    /// and wipe out what the tenant has still to get from it: 4e18 of a slash. Only its tenant's, and only once it has ended;
    /// and what an outage has registered stays with the old lease's number, whoever has the slot.
    function test_reusing_another_s_lease() external {
        uint256 lease = _leaseOf(tenant, 8, 3 hours);
        skip(1 hours);
        uint256 fault = _report();
        skip(1 hours);
        _recover();
        LeaseRequest memory request = _request(machine, 4, 1 hours);
        request.reuse = lease;
        bytes memory open = abi.encodeCall(ILeases.open, (request));
        _apply(fault, lease);
        _closeAs(tenant, lease);
        _refused(THIEF, open, abi.encodeWithSelector(IPoolErrors.NotAuthorized.selector, THIEF));
        vm.prank(tenant);
        uint256 next = pool.open(request);
        vm.assertEq(next, lease + 1);
        _refused(tenant, open, abi.encodeWithSelector(IPoolErrors.UnknownLease.selector, lease));
        _execute(fault);
        uint256 before = _wealth(tenant);
        vm.prank(THIEF);
        faults.compensate(fault, _two(lease, next));
        vm.assertEq(_wealth(tenant) - before, 2e18);
        _assertSolvent();
    }
}
