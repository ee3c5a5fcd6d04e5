// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IController} from "../../../contracts/interfaces/IController.sol";
import {IPoolHooks} from "../../../contracts/interfaces/IPoolHooks.sol";
import {LeaseRequest, LeaseView, MachineStatus, MachineView} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

/// @notice Each hook belongs to one companion (`charge` to two) and reaches what it says, no more.
abstract contract HooksFixture is LeasesFixture {
    address internal committee;
    address internal faults;
    IPoolHooks internal hooks;
    address[] private others;

    function setUp() public virtual override {
        super.setUp();
        (address a, address b, address c, address d) = pool.companions();
        (committee, faults) = (a, b);
        hooks = IPoolHooks(address(pool));
        others = [a, b, c, d, OWNER, TREASURY, PROVIDER, OPERATOR, tenant, THIEF];
        others.push(address(pool));
        others.push(address(factory));
    }

    /// @dev Refused to all but `owner`, also inside a `multicall`.
    function _onlyFor(address owner, bytes memory call) internal {
        _onlyFor(owner, owner, call);
    }

    function _onlyFor(address first, address second, bytes memory call) internal {
        bytes[] memory calls = new bytes[](1);
        calls[0] = call;
        for (uint256 i = 0; i < others.length; ++i) {
            if (others[i] == first || others[i] == second) continue;
            _notFor(others[i], call);
            _notFor(others[i], abi.encodeCall(pool.multicall, (calls)));
        }
    }

    function _unknown(address who, bytes memory call) internal {
        _refused(who, call, abi.encodeWithSelector(UnknownMachine.selector, 9));
    }

    function _care() internal view returns (MachineView memory) {
        return pool.machineOf(machine);
    }
}

contract ChargeTest is HooksFixture {
    function test_charge_is_for_two_of_the_companions() external {
        _onlyFor(committee, faults, abi.encodeCall(hooks.charge, (tenant, 0)));
    }

    function test_charge_takes_from_one_ledger_to_the_companions_own() external {
        vm.prank(tenant);
        pool.deposit(tenant, 10e18);
        _expectEvent();
        emit Charged(tenant, committee, 3e18, 7e18);
        _asCommittee().charge(tenant, 3e18);
        _expectEvent();
        emit Charged(tenant, faults, 7e18, 0);
        _asFaults().charge(tenant, 7e18);
        vm.assertEq(pool.balanceOf(committee), 3e18);
        vm.assertEq(pool.balanceOf(faults), 7e18);
        vm.assertEq(pool.balanceOf(tenant), 0);
        vm.assertEq(token.balanceOf(tenant), MINTED - 10e18);
    }

    /// @dev The wallet is not asked, whatever its allowance: a group has none, and nobody is to be surprised.
    function test_charge_never_reaches_a_wallet() external {
        bytes memory poor = abi.encodeWithSelector(InsufficientBalance.selector, tenant, 0, 1);
        _refused(faults, abi.encodeCall(hooks.charge, (tenant, 1)), poor);
        vm.prank(tenant);
        pool.deposit(tenant, 5);
        poor = abi.encodeWithSelector(InsufficientBalance.selector, tenant, 5, 6);
        _refused(committee, abi.encodeCall(hooks.charge, (tenant, 6)), poor);
    }

    /// @dev An escrow is in no ledger: a lease keeps what it holds.
    function test_charge_reaches_no_escrow() external {
        uint256 lease = _running(machine, 1, 1 hours);
        bytes memory poor = abi.encodeWithSelector(InsufficientBalance.selector, tenant, 0, HOUR);
        _refused(faults, abi.encodeCall(hooks.charge, (tenant, HOUR)), poor);
        vm.assertEq(pool.leaseOf(lease).deposit, HOUR);
    }
}

contract SetVerifiedTest is HooksFixture {
    function _call(uint32 id, uint16 revision, bool verified) private view returns (bytes memory) {
        return abi.encodeCall(hooks.setVerified, (id, revision, verified));
    }

    function test_setVerified_is_for_the_committee() external {
        _onlyFor(committee, _call(machine, 1, true));
    }

    function test_setVerified() external {
        LeaseRequest memory request = _request(machine, 1, 1 hours);
        request.allowUnverified = false;
        _refusedOpen(request, abi.encodeWithSelector(MachineUnverified.selector, machine));
        skip(5);
        _expectEvent();
        emit MachineStatusSet(machine, uint8(MachineStatus.Verified), false, false, false);
        _asCommittee().setVerified(machine, 1, true);
        vm.assertEq(uint256(_care().status), uint256(MachineStatus.Verified));
        vm.assertEq(_care().lastVerified, NOW + 5);
        _open(request);

        // What does not agree any more is Unverified; when it last did stays.
        skip(1 days);
        _expectEvent();
        emit MachineStatusSet(machine, uint8(MachineStatus.Unverified), false, false, false);
        _asCommittee().setVerified(machine, 1, false);
        _refusedOpen(request, abi.encodeWithSelector(MachineUnverified.selector, machine));
        vm.assertEq(_care().lastVerified, NOW + 5);
    }

    function test_setVerified_leaves_the_other_bits() external {
        vm.prank(PROVIDER);
        pool.delist(machine);
        vm.prank(OPERATOR);
        pool.withhold(machine, 3);
        _down(NOW);
        _expectEvent();
        emit MachineStatusSet(machine, uint8(MachineStatus.Verified), true, false, false);
        _asCommittee().setVerified(machine, 1, true);
        MachineView memory seen = _care();
        vm.assertTrue(seen.delisted && seen.withheld == 3 && seen.downSince == NOW);
        vm.prank(PROVIDER);
        pool.relist(machine);
        LeaseRequest memory request = _request(machine, 1, 60);
        _refusedOpen(request, abi.encodeWithSelector(MachineDown.selector, machine, NOW));
        _up();
        request.placement = 0x0101;
        _refusedOpen(request, abi.encodeWithSelector(NoFreeCells.selector, machine, 3));
    }

    function test_setVerified_refuses() external {
        _unknown(committee, _call(9, 1, true));
        _refused(committee, _call(machine, 2, true), abi.encodeWithSelector(RevisionChanged.selector, 1));
        // The hardware has changed since it was measured.
        vm.prank(PROVIDER);
        pool.setHardware(machine, "other");
        _refused(committee, _call(machine, 1, true), abi.encodeWithSelector(RevisionChanged.selector, 2));
        vm.prank(PROVIDER);
        pool.retire(machine);
        bytes memory retired = abi.encodeWithSelector(MachineRetiredAlready.selector, machine);
        _refused(committee, _call(machine, 2, true), retired);
    }
}

contract MoveStakeTest is HooksFixture {
    function _pair(uint96 first, uint96 second) private view returns (address[] memory to, uint96[] memory amounts) {
        to = new address[](2);
        (to[0], to[1]) = (tenant, TREASURY);
        amounts = new uint96[](2);
        (amounts[0], amounts[1]) = (first, second);
    }

    function _call(uint32 id, uint96 first, uint96 second) private view returns (bytes memory) {
        (address[] memory to, uint96[] memory amounts) = _pair(first, second);
        return abi.encodeCall(hooks.moveStake, (id, to, amounts));
    }

    function _move(uint96 first, uint96 second) private {
        (address[] memory to, uint96[] memory amounts) = _pair(first, second);
        _asFaults().moveStake(machine, to, amounts);
    }

    function test_moveStake_is_for_faults() external {
        _onlyFor(faults, _call(machine, 1, 1));
    }

    function test_moveStake() external {
        _expectEvent();
        emit StakeMoved(machine, tenant, 10, 2 * STAKE - 10);
        _expectEvent();
        emit StakeMoved(machine, TREASURY, 5, 2 * STAKE - 15);
        _expectEvent();
        emit MachineStatusSet(machine, uint8(MachineStatus.Unverified), false, true, false);
        _move(10, 5);
        vm.assertEq(pool.balanceOf(tenant), 10);
        vm.assertEq(pool.balanceOf(TREASURY), 5);
        MachineView memory seen = _care();
        vm.assertEq(seen.stake, 2 * STAKE - 15);
        vm.assertTrue(seen.underStaked);
        _refusedOpen(_request(machine, 1, 60), abi.encodeWithSelector(MachineUnderStaked.selector, machine));

        vm.prank(THIEF); // anyone may make it good
        pool.addStake(machine, 15);
        _open(machine, 1, 60);
    }

    /// @dev A second machine of the same provider, his ledger and his tenants' escrows are not touched.
    function test_moveStake_reaches_one_machine_only() external {
        uint32 other = _register(1);
        uint256 lease = _running(machine, 1, 1 hours);
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 7);
        _move(2 * STAKE, 0);
        vm.assertEq(_care().stake, 0);
        vm.assertEq(pool.machineOf(other).stake, STAKE);
        vm.assertEq(pool.balanceOf(PROVIDER), 7);
        vm.assertEq(pool.leaseOf(lease).deposit, HOUR);
        bytes memory poor = abi.encodeWithSelector(InsufficientBalance.selector, PROVIDER, 0, 1);
        _refused(faults, _call(machine, 1, 0), poor);
    }

    function test_moveStake_refuses() external {
        _unknown(faults, _call(9, 1, 1));
        bytes memory poor = abi.encodeWithSelector(InsufficientBalance.selector, PROVIDER, 2 * STAKE - 1, 2 * STAKE);
        _refused(faults, _call(machine, 1, 2 * STAKE), poor);
        (address[] memory to, uint96[] memory amounts) = _pair(1, 1);
        to[1] = address(0);
        bytes memory call = abi.encodeCall(hooks.moveStake, (machine, to, amounts));
        _refused(faults, call, abi.encodeWithSelector(ZeroAddress.selector));
        to[1] = address(pool);
        call = abi.encodeCall(hooks.moveStake, (machine, to, amounts));
        _refused(faults, call, abi.encodeWithSelector(SelfTransfer.selector));
        to[1] = TREASURY;
        call = abi.encodeCall(hooks.moveStake, (machine, to, new uint96[](1)));
        _refused(faults, call, abi.encodeWithSignature("Panic(uint256)", 0x32));
    }

    /// @dev What leaves the stake is in ledgers, to the unit.
    function testFuzz_moveStake_keeps_the_sum(uint96 first, uint96 second) external {
        first %= 2 * STAKE;
        second %= 2 * STAKE - first;
        _move(first, second);
        vm.assertEq(pool.balanceOf(tenant), first);
        vm.assertEq(pool.balanceOf(TREASURY), second);
        vm.assertTrue(_care().underStaked == (first + second != 0));
        _assertSolvent(0);
    }

    /// @dev Retired is not out of reach: what waits for its delay can still be lost.
    function test_moveStake_of_a_retired_machine() external {
        vm.prank(PROVIDER);
        pool.retire(machine);
        _move(STAKE, STAKE / 2);
        skip(14 days);
        pool.unstake(machine);
        vm.assertEq(pool.balanceOf(PROVIDER), STAKE / 2);
    }
}

contract SetDownTest is HooksFixture {
    function test_setDown_is_for_faults() external {
        _onlyFor(faults, abi.encodeCall(hooks.setDown, (machine, uint32(NOW))));
        _unknown(faults, abi.encodeCall(hooks.setDown, (9, uint32(NOW))));
    }

    function test_setDown() external {
        skip(1 hours);
        _expectEvent();
        emit MachineWentDown(machine, uint32(NOW + 30 minutes));
        _down(NOW + 30 minutes);
        vm.assertEq(_care().downSince, NOW + 30 minutes);
        // A quorum has seen it fall earlier.
        _expectEvent();
        emit MachineWentDown(machine, uint32(NOW + 10 minutes));
        _down(NOW + 10 minutes);
        bytes memory error_ = abi.encodeWithSelector(MachineDown.selector, machine, NOW + 10 minutes);
        _refusedOpen(_request(machine, 1, 60), error_);

        _expectEvent();
        emit MachineCameUp(machine, uint32(NOW + 1 hours));
        _up();
        vm.assertEq(_care().downSince, 0);
        _open(machine, 1, 60);
    }

    /// @dev A machine that has come back has come back: nobody must send `recover` twice.
    function test_setDown_ends_a_stall_too() external {
        uint256 lease = _open(machine, 1, 60);
        _down(NOW);
        skip(30 minutes + 1);
        pool.cancelUnstarted(lease);
        vm.assertTrue(_care().stalled);
        bytes memory down = abi.encodeWithSelector(MachineDown.selector, machine, NOW);
        _refused(OPERATOR, abi.encodeCall(pool.recover, (machine)), down);
        _expectEvent();
        emit MachineStatusSet(machine, uint8(MachineStatus.Unverified), false, false, false);
        _expectEvent();
        emit MachineCameUp(machine, uint32(NOW + 30 minutes + 1));
        _up();
        vm.assertFalse(_care().stalled);
        _open(machine, 1, 60);
    }

    function test_setDown_leaves_the_other_bits() external {
        _asCommittee().setVerified(machine, 1, true);
        vm.prank(PROVIDER);
        pool.delist(machine);
        _hold(NOW, NOW + 1 days);
        _down(NOW);
        _up();
        MachineView memory seen = _care();
        vm.assertEq(uint256(seen.status), uint256(MachineStatus.Verified));
        vm.assertTrue(seen.delisted && seen.heldUntil == NOW + 1 days);
    }
}

contract HoldTest is HooksFixture {
    function test_hold_is_for_faults() external {
        _onlyFor(faults, abi.encodeCall(hooks.hold, (machine, uint32(NOW), uint32(NOW + 1), uint32(NOW + 1))));
        _unknown(faults, abi.encodeCall(hooks.hold, (9, uint32(NOW), uint32(NOW + 1), uint32(NOW + 1))));
    }

    /// @dev The newest word counts alone, be it wider or narrower: an answered challenge holds nothing up any longer.
    function test_hold_takes_the_place_of_the_hold_before() external {
        _expectEvent();
        emit MachineHeld(machine, uint32(NOW + 10), uint32(NOW + 20), uint32(NOW + 2 days));
        _hold(NOW + 10, NOW + 20, NOW + 2 days);
        _held(NOW + 10, NOW + 20, NOW + 2 days);
        skip(20);
        _expectEvent();
        emit MachineHeld(machine, uint32(NOW + 15), uint32(NOW + 18), uint32(NOW + 1 hours));
        _hold(NOW + 15, NOW + 18, NOW + 1 hours);
        _held(NOW + 15, NOW + 18, NOW + 1 hours);
        _hold(NOW + 5, NOW + 20, NOW + 3 days);
        _held(NOW + 5, NOW + 20, NOW + 3 days);
        _hold(NOW + 20, NOW + 20, NOW + 20);
        _held(NOW + 20, NOW + 20, NOW + 20);
    }

    function _held(uint256 from, uint256 to, uint256 until) private view {
        vm.assertEq(_care().heldFrom, from);
        vm.assertEq(_care().heldTo, to);
        vm.assertEq(_care().heldUntil, until);
    }

    /// @dev Lifted, it stops neither a claim nor a close by others.
    function test_a_hold_can_be_lifted() external {
        uint256 lease = _running(machine, 1, 1 hours);
        _hold(NOW, NOW + 1 days);
        skip(1 hours);
        _refused(
            THIEF,
            abi.encodeCall(pool.close, (lease)),
            abi.encodeWithSelector(LeaseNotOver.selector, lease, NOW + 1 days)
        );
        _hold(NOW + 1 hours, NOW + 1 hours);
        _claim(lease);
        vm.assertEq(pool.leaseOf(lease).settled, HOUR * 2 / 3);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR));
    }

    /// @dev It stops no lease from being opened, started or extended.
    function test_a_hold_stops_nothing_else() external {
        _hold(NOW, NOW + 1 days);
        uint256 lease = _running(machine, 1, 1 hours);
        vm.prank(tenant);
        pool.extend(lease, 1 hours);
        skip(10 minutes);
        _resize(lease, 2);
        vm.assertEq(pool.leaseOf(lease).deposit, HOUR / 6 + 2 * HOUR * 11 / 6);
    }
}

contract PendingSlashesTest is HooksFixture {
    function test_setPendingSlashes_is_for_faults() external {
        _onlyFor(faults, abi.encodeCall(hooks.setPendingSlashes, (machine, 1)));
        _unknown(faults, abi.encodeCall(hooks.setPendingSlashes, (9, 1)));
    }

    function test_setPendingSlashes_keeps_the_stake() external {
        vm.prank(PROVIDER);
        pool.retire(machine);
        _expectEvent();
        emit PendingSlashesSet(machine, 2);
        _asFaults().setPendingSlashes(machine, 2);
        vm.assertEq(_care().pendingSlashes, 2);
        bytes memory call = abi.encodeCall(pool.unstake, (machine));
        // The delay comes first: until it has passed nothing else matters.
        skip(14 days - 1);
        _refused(PROVIDER, call, abi.encodeWithSelector(StakeLocked.selector, machine, NOW + 14 days));
        skip(1);
        _refused(PROVIDER, call, abi.encodeWithSelector(SlashPending.selector, machine, 2));
        _asFaults().setPendingSlashes(machine, 1);
        _refused(THIEF, call, abi.encodeWithSelector(SlashPending.selector, machine, 1));
        _asFaults().setPendingSlashes(machine, 0);
        pool.unstake(machine);
        vm.assertEq(pool.balanceOf(PROVIDER), 2 * STAKE);
    }

    /// @dev Faults counts an outage from its first second (`_create`), so a running one keeps the stake as a filed one does.
    function test_a_running_outage_keeps_the_stake() external {
        vm.prank(PROVIDER);
        pool.retire(machine);
        skip(14 days);
        _asFaults().setPendingSlashes(machine, 1);
        _down(NOW);
        bytes memory call = abi.encodeCall(pool.unstake, (machine));
        _refused(PROVIDER, call, abi.encodeWithSelector(SlashPending.selector, machine, 1));
        vm.assertEq(_care().stake, 2 * STAKE);
    }
}

contract PauseTest is HooksFixture {
    uint256 private lease;

    function setUp() public override {
        super.setUp();
        lease = _running(machine, 1, 2 hours);
    }

    function _call(uint256 id) private view returns (bytes memory) {
        return abi.encodeCall(hooks.pause, (id, uint32(NOW), uint32(NOW + 1)));
    }

    function test_pause_is_for_faults() external {
        _onlyFor(faults, _call(lease));
    }

    function test_pause() external {
        skip(1 hours);
        _expectEvent();
        emit LeasePaused(lease, machine, 10 minutes);
        _pause(lease, NOW + 20 minutes, NOW + 30 minutes);
        _expectEvent();
        emit LeasePaused(lease, machine, 15 minutes); // the total
        _pause(lease, NOW + 40 minutes, NOW + 45 minutes);
        _close(lease);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(45 * 60 * CELL_SECOND));
        vm.assertEq(pool.balanceOf(tenant), 2 * HOUR - 45 * 60 * CELL_SECOND);
    }

    /// @dev A batch is not spoiled by a lease that was closed, replaced, or never started.
    function test_pause_passes_over_what_does_not_run() external {
        uint256 opened = _open(machine, 1, 1 hours);
        skip(1 hours);
        _pausesNothing(opened, NOW, NOW + 1 hours);
        _pausesNothing(lease + 1, NOW, NOW + 1 hours);
        _pausesNothing(77 << 16, NOW, NOW + 1 hours);
        _pausesNothing(lease, NOW - 1 hours, NOW); // runs, but did not then
        vm.assertEq(pool.leaseOf(opened).paused, 0);
        vm.assertEq(pool.leaseOf(lease).paused, 0);
        _close(lease);
        _pausesNothing(lease, NOW, NOW + 1 hours);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.paused == 0 && seen.settled == HOUR);
    }

    function _pausesNothing(uint256 id, uint256 from, uint256 to) private {
        vm.prank(faults);
        vm.expectEmit(false, false, false, false, address(pool), 0);
        emit LeasePaused(id, machine, 0);
        hooks.pause(id, uint32(from), uint32(to));
    }
}

contract OtherPoolTest is HooksFixture {
    /// @dev A companion is one of its own pool, and nobody in another.
    function test_the_companions_of_another_pool_may_not() external {
        pool = IController(factory.createPool(address(token), OWNER, TREASURY, _params()));
        _fund(PROVIDER);
        _register(2);
        _notFor(committee, abi.encodeCall(hooks.charge, (PROVIDER, 0)));
        _notFor(committee, abi.encodeCall(hooks.setVerified, (1, 1, true)));
        _notFor(faults, abi.encodeCall(hooks.setDown, (1, uint32(NOW))));
        _notFor(faults, abi.encodeCall(hooks.moveStake, (1, new address[](0), new uint96[](0))));
    }
}
