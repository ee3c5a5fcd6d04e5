// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {ILeaseChanges, ILeases} from "../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../contracts/interfaces/ILedger.sol";
import {LeaseRequest, LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {EagerToken} from "../../../contracts/test/OddTokens.sol";
import {SmartWallet} from "../../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Check.sol";
import {GroupFixture} from "./GroupFixture.sol";

/// @notice A group's delegate: what it may do, what it may spend, and every way round that.
contract AccountsDelegatesTest is GroupFixture {
    address private constant STUDENT = address(0x57D);
    uint96 private constant CAP = 10e18;
    uint32 private constant PERIOD = 7 days;
    uint40 private constant EXPIRY = uint40(NOW + 365 days);
    uint256 private constant HOUR_OF_CELL = 3600 * CELL_SECOND; // 0.36

    uint32 private machine;

    function setUp() public override {
        super.setUp();
        machine = _register(8);
        _delegate(STUDENT, CAP, PERIOD, EXPIRY);
    }

    function _delegate(address who, uint96 cap, uint32 period, uint40 expiry) private {
        _delegateIn(pool, who, cap, period, expiry);
    }

    function _delegateIn(IController where, address who, uint96 cap, uint32 period, uint40 expiry) private {
        bytes memory set = abi.encodeCall(IAccounts.setDelegate, (address(where), who, cap, period, expiry));
        IAccounts.Call[] memory calls = _call(address(accounts), set);
        uint256 nonce = accounts.nonceOf(group, 0);
        bytes32 digest = accounts.executeDigest(group, calls, nonce, type(uint256).max);
        accounts.execute(group, calls, nonce, type(uint256).max, _proof(digest));
    }

    function _by(address who, bytes memory data) private returns (bytes memory) {
        vm.prank(who);
        return accounts.executeAsDelegate(group, address(pool), data);
    }

    function _byStudent(bytes memory data) private returns (bytes memory) {
        return _by(STUDENT, data);
    }

    function _refusedTo(address who, bytes memory data, bytes memory error_) private {
        vm.prank(who);
        _expect(error_);
        accounts.executeAsDelegate(group, address(pool), data);
    }

    function _refusedToStudent(bytes memory data, bytes memory error_) private {
        _refusedTo(STUDENT, data, error_);
    }

    function _opening(uint8 share, uint32 duration) private view returns (bytes memory) {
        return abi.encodeCall(ILeases.open, (_request(machine, share, duration)));
    }

    function _opens(uint8 share, uint32 duration) private returns (uint256) {
        return abi.decode(_byStudent(_opening(share, duration)), (uint256));
    }

    function _spent(address who) private view returns (uint256) {
        return accounts.delegationOf(group, address(pool), who).spent;
    }

    function _assertSpent(uint256 amount) private view {
        vm.assertEq(_spent(STUDENT), amount, "spent");
    }

    function _tooMuch(uint256 spent) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IAccounts.CapExceeded.selector, spent, CAP);
    }

    // ----------------------------------------------------------------------------------------------------------- scopes

    function test_a_delegate_runs_leases() external {
        uint256 before = pool.balanceOf(group);
        vm.expectEmit(true, true, true, true, address(accounts));
        emit IAccounts.DelegateSpent(group, address(pool), STUDENT, HOUR_OF_CELL, uint96(HOUR_OF_CELL));
        uint256 lease = _opens(1, 1 hours);
        vm.assertEq(pool.leaseOf(lease).tenant, group);
        vm.assertEq(before - pool.balanceOf(group), HOUR_OF_CELL);
        _byStudent(abi.encodeCall(ILeases.setWorkload, (lease, "other")));
        _start(lease);
        _byStudent(abi.encodeCall(ILeases.extend, (lease, 1 hours)));
        _assertSpent(2 * HOUR_OF_CELL);
        skip(1 hours);
        _byStudent(abi.encodeCall(ILeases.close, (lease)));
        _assertState(lease, LeaseState.Ended);
        // What comes back is the group's, and offsets nothing.
        vm.assertEq(before - pool.balanceOf(group), HOUR_OF_CELL);
        vm.assertEq(pool.balanceOf(STUDENT), 0);
        _assertSpent(2 * HOUR_OF_CELL);
        lease = _opens(1, 1 hours);
        _start(lease);
        _byStudent(abi.encodeCall(ILeases.reject, (lease)));
        _assertState(lease, LeaseState.Rejected);
        _assertSpent(3 * HOUR_OF_CELL);
        vm.assertEq(accounts.actor(), address(0));
    }

    function _outOfScope(bytes memory data) private {
        _refusedToStudent(data, abi.encodeWithSelector(IAccounts.ScopeExceeded.selector, bytes4(data)));
    }

    /// @dev Nothing that gives away money or a lease, and no call that holds other calls.
    function test_what_a_delegate_may_not() external {
        uint256 lease = _opens(1, 1 hours);
        _outOfScope(abi.encodeCall(ILedger.withdraw, (STUDENT, 1)));
        _outOfScope(abi.encodeCall(ILedger.transfer, (STUDENT, 1)));
        _outOfScope(abi.encodeCall(ILedger.deposit, (STUDENT, 1)));
        _outOfScope(abi.encodeCall(ILeases.terminate, (lease)));
        _outOfScope(abi.encodeCall(ILeases.claim, (_one(lease))));
        _outOfScope(abi.encodeCall(ILedger.balanceOf, (group)));
        bytes[] memory inner = new bytes[](1);
        inner[0] = _opening(1, 1 hours);
        _outOfScope(abi.encodeCall(ILedger.multicall, (inner)));
        _outOfScope("");
        _outOfScope(hex"00");
        _outOfScope(abi.encodeCall(IAccounts.setDelegate, (address(pool), STUDENT, CAP, 0, EXPIRY)));
    }

    function testFuzz_no_other_selector(bytes4 selector, bytes calldata rest) external {
        bytes4[6] memory scope = [
            ILeases.open.selector,
            ILeases.extend.selector,
            ILeases.close.selector,
            ILeases.reject.selector,
            ILeaseChanges.resize.selector,
            ILeases.setWorkload.selector
        ];
        for (uint256 i = 0; i < scope.length; ++i) {
            vm.assume(selector != scope[i]);
        }
        _outOfScope(abi.encodePacked(selector, rest));
    }

    function test_a_failing_call_tells_why() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.revision = 2;
        _refusedToStudent(
            abi.encodeCall(ILeases.open, (request)), abi.encodeWithSelector(RevisionChanged.selector, machine, 1, 2)
        );
    }

    // -------------------------------------------------------------------------------------------------------------- cap

    function test_a_cap_is_the_last_unit() external {
        uint256 cost = 2 hours * CELL_SECOND;
        _delegate(STUDENT, uint96(cost), PERIOD, EXPIRY);
        _opens(1, 1 hours);
        _opens(1, 1 hours);
        _delegate(STUDENT, uint96(cost - 1), PERIOD, EXPIRY);
        _opens(1, 1 hours);
        _refusedToStudent(_opening(1, 1 hours), abi.encodeWithSelector(IAccounts.CapExceeded.selector, cost, cost - 1));
        vm.assertEq(pool.balanceOf(group), 1000e18 - 3 * HOUR_OF_CELL);
    }

    function test_a_cap_of_nothing_allows_what_is_free() external {
        uint256 lease = _opens(1, 1 hours);
        _start(lease);
        _delegate(STUDENT, 0, PERIOD, EXPIRY);
        _byStudent(abi.encodeCall(ILeases.setWorkload, (lease, "other")));
        _refusedToStudent(
            abi.encodeCall(ILeases.extend, (lease, 1)),
            abi.encodeWithSelector(IAccounts.CapExceeded.selector, CELL_SECOND, 0)
        );
        _byStudent(abi.encodeCall(ILeases.close, (lease)));
    }

    function test_a_period_ends_at_its_end() external {
        _opens(8, 10_000); // 8e18
        skip(PERIOD - 1);
        _refusedToStudent(_opening(1, 20_001), _tooMuch(10.0001e18));
        skip(1);
        _assertSpent(0);
        _opens(1, 20_001);
        _assertSpent(2.0001e18);
        vm.assertEq(accounts.delegationOf(group, address(pool), STUDENT).since, NOW + PERIOD);
        // Periods count from when the delegate was set, however long nobody asked.
        skip(3 * PERIOD + 5);
        _opens(1, 1 hours);
        vm.assertEq(accounts.delegationOf(group, address(pool), STUDENT).since, NOW + 4 * PERIOD);
    }

    function test_no_period_is_one_for_life() external {
        _delegate(STUDENT, CAP, 0, EXPIRY);
        _opens(8, 10_000);
        skip(100 days);
        _refusedToStudent(_opening(1, 20_001), _tooMuch(10.0001e18));
        _assertSpent(8e18);
    }

    function test_an_expiry_is_the_last_second() external {
        _delegate(STUDENT, CAP, PERIOD, uint40(NOW + 60));
        vm.warp(NOW + 60);
        uint256 lease = _opens(1, 1 hours);
        vm.warp(NOW + 61);
        bytes memory error_ = abi.encodeWithSelector(IAccounts.DelegationExpired.selector, NOW + 60);
        _refusedToStudent(_opening(1, 1 hours), error_);
        _refusedToStudent(abi.encodeCall(ILeases.close, (lease)), error_);
    }

    function test_the_wallet_is_never_touched() external {
        vm.prank(tenant); // has tokens and an allowance, and nothing in the ledger
        accounts.setDelegate(address(pool), STUDENT, CAP, PERIOD, EXPIRY);
        vm.prank(STUDENT);
        _expect(abi.encodeWithSelector(InsufficientBalance.selector, tenant, 0, HOUR_OF_CELL));
        accounts.executeAsDelegate(tenant, address(pool), _opening(1, 1 hours));
    }

    // --------------------------------------------------------------------------------------------------- ways round a cap

    /// @dev The group has a lease that was terminated with 9 of 10 hours unused. Settling it in the same `open` refunds more
    /// than the new lease takes, so the ledger rises; counted by the ledger alone the lease would be free, every time.
    function test_settling_offsets_nothing() external {
        uint256 old = _opens(1, 10 hours); // 3.6e18
        _start(old);
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 100e18);
        vm.prank(PROVIDER);
        pool.terminate(old);
        vm.warp(pool.leaseOf(old).end);
        LeaseRequest memory request = _request(machine, 1, 5 hours);
        request.settle = _one(old);
        uint256 before = pool.balanceOf(group);
        _byStudent(abi.encodeCall(ILeases.open, (request)));
        vm.assertTrue(pool.balanceOf(group) > before);
        _assertSpent(15 * HOUR_OF_CELL);
    }

    function test_a_slot_used_again_counts_whole() external {
        uint256 old = _opens(1, 1 hours);
        _start(old);
        skip(1 minutes);
        _byStudent(abi.encodeCall(ILeases.close, (old)));
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.reuse = old;
        _byStudent(abi.encodeCall(ILeases.open, (request)));
        _assertSpent(2 * HOUR_OF_CELL);
    }

    /// @dev Opening and closing for ever costs the group hold fees, and the student his cap.
    function test_opening_and_closing_wears_the_cap_out() external {
        for (uint256 i = 0; i < 3; ++i) {
            uint256 lease = _opens(8, 1 hours); // 2.88e18
            _byStudent(abi.encodeCall(ILeases.close, (lease)));
        }
        _refusedToStudent(_opening(8, 1 hours), _tooMuch(4 * 8 * HOUR_OF_CELL));
    }

    /// @dev Shrinking pays back, growing again is paid for: the rise between is nobody's to spend twice.
    function test_shrinking_offsets_no_growing() external {
        uint256 lease = _opens(2, 5 hours); // 3.6e18
        _start(lease);
        skip(15 minutes);
        _byStudent(abi.encodeCall(ILeaseChanges.resize, (lease, 1, 0)));
        _assertSpent(10 * HOUR_OF_CELL);
        uint256 before = pool.balanceOf(group);
        _byStudent(abi.encodeCall(ILeaseChanges.resize, (lease, 2, 0)));
        uint256 charged = before - pool.balanceOf(group);
        vm.assertTrue(charged > 0);
        _assertSpent(10 * HOUR_OF_CELL + charged);
    }

    /// @dev Anyone may pay for anyone's lease. If a student has the group pay for his own, the cap has it.
    function test_paying_for_another_counts() external {
        uint256 lease = _running(machine, 1, 1 hours); // the tenant's
        uint256 cost = 9 hours * CELL_SECOND;
        _byStudent(abi.encodeCall(ILeases.extend, (lease, 9 hours)));
        _assertSpent(cost);
    }

    /// @dev Each has what he was given; together no more than the sum.
    function test_many_delegates() external {
        address other = address(0x0777E2);
        _delegate(other, 1e18, PERIOD, EXPIRY);
        _opens(8, 10_000);
        _by(other, _opening(1, 10_000));
        vm.assertEq(_spent(other), 1e18);
        _refusedTo(other, _opening(1, 60), abi.encodeWithSelector(IAccounts.CapExceeded.selector, 1.006e18, 1e18));
        _assertSpent(8e18);
        _opens(2, 10_000);
    }

    /// @dev Set anew is a new period: the account approved this cap now, whatever came before.
    function test_revoked_and_set_again() external {
        _opens(8, 10_000);
        vm.expectEmit(true, true, true, true, address(accounts));
        emit IAccounts.DelegateSet(group, address(pool), STUDENT, 0, 0, 0);
        _delegate(STUDENT, 0, 0, 0);
        bytes memory refusal = abi.encodeWithSelector(IAccounts.NotAuthorized.selector, STUDENT);
        _refusedToStudent(_opening(1, 60), refusal);
        skip(1 days);
        _delegate(STUDENT, CAP, PERIOD, EXPIRY);
        IAccounts.Delegation memory now_ = accounts.delegationOf(group, address(pool), STUDENT);
        vm.assertEq(now_.since, NOW + 1 days);
        vm.assertEq(now_.spent, 0);
        vm.assertEq(now_.cap, CAP);
        vm.assertEq(now_.period, PERIOD);
        vm.assertEq(now_.expiry, EXPIRY);
        _opens(8, 10_000);
    }

    function test_a_contract_is_a_delegate() external {
        SmartWallet bot = new SmartWallet(STUDENT);
        _delegate(address(bot), CAP, PERIOD, EXPIRY);
        bytes memory act = abi.encodeCall(IAccounts.executeAsDelegate, (group, address(pool), _opening(1, 1 hours)));
        vm.prank(STUDENT);
        bot.run(address(accounts), act);
        vm.assertEq(_spent(address(bot)), HOUR_OF_CELL);
        _assertSpent(0);
        vm.assertEq(pool.leaseOf(1 << 16).tenant, group);
    }

    function test_each_pool_has_its_own() external {
        IController other = IController(factory.createPool(address(token), OWNER, TREASURY, _params()));
        vm.prank(STUDENT);
        _expect(abi.encodeWithSelector(IAccounts.NotAuthorized.selector, STUDENT));
        accounts.executeAsDelegate(group, address(other), _opening(1, 1 hours));

        vm.prank(PROVIDER);
        token.approve(address(other), type(uint256).max);
        vm.prank(PROVIDER);
        other.register(_terms(), 8, 1, "hardware", "contact", OPERATOR, _consent(address(other), PROVIDER));
        vm.prank(tenant);
        token.approve(address(other), type(uint256).max);
        vm.prank(tenant);
        other.deposit(group, 100e18);
        _delegateIn(other, STUDENT, 1e18, PERIOD, EXPIRY);
        vm.prank(STUDENT);
        accounts.executeAsDelegate(group, address(other), _opening(1, 10_000));
        vm.assertEq(accounts.delegationOf(group, address(other), STUDENT).spent, 1e18);
        _assertSpent(0);
    }

    function test_only_pools_have_delegates() external {
        address[3] memory none = [address(token), address(accounts), THIEF];
        for (uint256 i = 0; i < none.length; ++i) {
            _expect(abi.encodeWithSelector(IAccounts.InvalidTarget.selector, none[i]));
            accounts.setDelegate(none[i], STUDENT, CAP, PERIOD, EXPIRY);
        }
    }

    /// @dev A delegate is one for whom it was said, and hands nothing on.
    function test_delegates_of_delegates() external {
        bytes memory refusal = abi.encodeWithSelector(IAccounts.NotAuthorized.selector, THIEF);
        vm.prank(STUDENT);
        accounts.setDelegate(address(pool), THIEF, CAP, PERIOD, EXPIRY); // for himself
        _refusedTo(THIEF, _opening(1, 1 hours), refusal);
        // For himself he needs no delegation, and has none.
        _expect(abi.encodeWithSelector(IAccounts.NotAuthorized.selector, STUDENT));
        vm.prank(STUDENT);
        accounts.executeAsDelegate(STUDENT, address(pool), _opening(1, 1 hours));
        // The account itself has no more by this way than it gave itself.
        vm.prank(tenant);
        pool.deposit(tenant, 1e18);
        vm.prank(tenant);
        accounts.setDelegate(address(pool), tenant, 1, PERIOD, EXPIRY);
        _expect(abi.encodeWithSelector(IAccounts.CapExceeded.selector, HOUR_OF_CELL, 1));
        vm.prank(tenant);
        accounts.executeAsDelegate(tenant, address(pool), _opening(1, 1 hours));
    }

    /// @dev By proof there is no acting as somebody's delegate: one name at a time.
    function test_no_delegate_acts_inside_an_execute() external {
        vm.prank(tenant);
        accounts.setDelegate(address(pool), group, CAP, PERIOD, EXPIRY);
        IAccounts.Call[] memory calls = _call(
            address(accounts),
            abi.encodeCall(IAccounts.executeAsDelegate, (tenant, address(pool), _opening(1, 1 hours)))
        );
        bytes memory proof = _proof(_digest(calls));
        _expect(abi.encodeWithSelector(IAccounts.InvalidTarget.selector, accounts));
        _submit(group, calls, 1, proof);
    }

    /// @dev A token that calls out gets the turn only when tokens move, and a delegate's calls move none.
    function test_tokens_that_call_out() external {
        EagerToken eager = new EagerToken();
        IController odd = IController(factory.createPool(address(eager), OWNER, TREASURY, _params()));
        eager.mint(tenant, 100e18);
        eager.mint(PROVIDER, 1000e18);
        vm.prank(tenant);
        eager.approve(address(odd), type(uint256).max);
        vm.prank(tenant);
        odd.deposit(group, 20e18);
        vm.prank(PROVIDER);
        eager.approve(address(odd), type(uint256).max);
        vm.prank(PROVIDER);
        odd.register(_terms(), 8, 1, "hardware", "contact", OPERATOR, _consent(address(odd), PROVIDER));
        _delegateIn(odd, address(eager), CAP, PERIOD, EXPIRY);
        _delegateIn(odd, STUDENT, CAP, PERIOD, EXPIRY);
        eager.arm(
            address(accounts), abi.encodeCall(IAccounts.executeAsDelegate, (group, address(odd), _opening(1, 1 hours)))
        );
        vm.prank(STUDENT);
        accounts.executeAsDelegate(group, address(odd), _opening(1, 1 hours));
        vm.assertEq(eager.attempts(), 0);
        // In an `execute` that moves tokens it gets it, and is refused.
        IAccounts.Call[] memory calls = _call(address(odd), abi.encodeCall(ILedger.withdraw, (tenant, 1)));
        _asGroup(calls);
        vm.assertEq(eager.attempts(), 1);
        vm.assertEq(eager.answer(), abi.encodeWithSelector(IAccounts.Nested.selector));
    }

    /// @dev Whatever a delegate does and whenever, what he took out of the ledger in a period stays within the cap.
    function testFuzz_no_period_costs_more_than_the_cap(uint256[24] calldata moves) external {
        uint256 period = 0;
        uint256 taken = 0;
        uint256[] memory leases = new uint256[](moves.length);
        uint256 count = 0;
        for (uint256 i = 0; i < moves.length; ++i) {
            uint256 dice = moves[i];
            skip((dice >> 8) % 2 days);
            uint256 now_ = (vm.getBlockTimestamp() - NOW) / PERIOD;
            if (now_ != period) (period, taken) = (now_, 0);
            uint256 lease = count == 0 ? 0 : leases[(dice >> 64) % count];
            uint256 balance = pool.balanceOf(group);
            bytes memory data;
            if (dice % 4 == 0) data = _opening(uint8(1 << ((dice >> 128) % 4)), uint32(60 + (dice >> 136) % 20_000));
            else if (dice % 4 == 1) data = abi.encodeCall(ILeases.extend, (lease, uint32(dice >> 240)));
            else if (dice % 4 == 2) data = abi.encodeCall(ILeases.close, (lease));
            else data = abi.encodeCall(ILeases.reject, (lease));
            vm.prank(STUDENT);
            try accounts.executeAsDelegate(group, address(pool), data) returns (bytes memory result) {
                if (dice % 4 == 0) leases[count++] = abi.decode(result, (uint256));
                uint256 left = pool.balanceOf(group);
                if (left < balance) taken += balance - left;
            } catch {}
            vm.assertLe(taken, CAP, "taken in a period");
            vm.assertEq(_spent(STUDENT), taken, "counted");
        }
    }
}
