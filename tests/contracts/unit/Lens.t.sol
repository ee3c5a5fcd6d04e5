// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Lens} from "../../../contracts/Lens.sol";
import {LeaseRow, MachineRow, PoolView, ProviderView} from "../../../contracts/interfaces/ILens.sol";
import {LeaseRequest, LeaseState, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {CommitteeOfPool} from "./CommitteeOfPool.sol";

contract LensTest is CommitteeOfPool {
    Lens private lens;

    function setUp() public override {
        super.setUp();
        lens = new Lens();
    }

    function test_the_table_of_powers() external {
        PoolView memory seen = lens.pool(address(pool));
        vm.assertEq(seen.token, address(token));
        vm.assertEq(seen.accounts, address(accounts));
        vm.assertEq(seen.owner, OWNER);
        vm.assertEq(seen.pendingOwner, address(0));
        vm.assertEq(seen.treasury, TREASURY);
        vm.assertEq(seen.committee, address(committee));
        vm.assertEq(seen.reputation, address(reputation));
        vm.assertEq(seen.directory, address(directory));
        (, address faults,,) = pool.companions();
        vm.assertEq(seen.faults, faults);
        vm.assertFalse(seen.paused || seen.gated);
        vm.assertTrue(seen.machineCount == 1 && seen.slotCount == 0 && seen.seatCount == 0 && seen.maturedSeats == 0);
        vm.assertEq(seen.paramsVersion, 1);
        vm.assertEq(keccak256(abi.encode(seen.params)), keccak256(abi.encode(_params())));
        vm.assertTrue(seen.proposedVersion == 0 && seen.inForceAt == 0 && seen.proposed.unstakeDelay == 0);

        _seats(2);
        Params memory next = _params();
        next.feeBps = 700;
        vm.prank(OWNER);
        pool.proposeParams(next);
        vm.prank(OWNER);
        pool.transferOwnership(THIEF);
        vm.prank(OWNER);
        pool.setPaused(true);
        seen = lens.pool(address(pool));
        vm.assertTrue(seen.paused && seen.seatCount == 2 && seen.maturedSeats == 2);
        vm.assertEq(seen.pendingOwner, THIEF);
        vm.assertTrue(seen.paramsVersion == 1 && seen.proposedVersion == 2 && seen.proposed.feeBps == 700);
        vm.assertEq(seen.inForceAt, block.timestamp + 2 days);
    }

    function test_machines_by_pages() external {
        _register(1);
        _register(4);
        MachineRow[] memory page = lens.machines(address(pool), 1, 5);
        vm.assertEq(page.length, 2);
        vm.assertTrue(page[0].machine == 2 && page[0].view_.gpus == 1 && page[1].view_.gpus == 4);
        vm.assertEq(page[1].view_.provider, PROVIDER);
        vm.assertTrue(page[0].score == 0 && page[0].discountBps == 0);
        page = lens.machines(address(pool), 0, 1);
        vm.assertTrue(page.length == 1 && page[0].machine == 1);
        vm.assertEq(lens.machines(address(pool), 3, 5).length, 0);
        vm.assertEq(lens.machines(address(pool), 9, 5).length, 0);
        vm.assertEq(lens.machines(address(pool), 0, type(uint256).max).length, 3);
    }

    function test_the_newest_lease_of_each_slot() external {
        uint256 first = _running(machine, 8, 1 hours);
        skip(1 hours);
        _close(first);
        LeaseRequest memory request = _request(machine, 8, 1 hours);
        request.reuse = first;
        uint256 second = _open(request);
        uint256 other = _open(machine, 8, 1 hours);
        uint256[] memory slots = new uint256[](3);
        (slots[0], slots[1], slots[2]) = (other >> 16, second >> 16, 77);
        LeaseRow[] memory rows = lens.leases(address(pool), slots);
        vm.assertEq(rows.length, 3);
        vm.assertEq(rows[0].lease, other);
        vm.assertEq(rows[1].lease, second);
        vm.assertTrue(second != first && rows[1].view_.state == LeaseState.Opened);
        vm.assertEq(rows[1].view_.tenant, tenant);
        vm.assertTrue(rows[2].lease == 77 << 16 && rows[2].view_.state == LeaseState.None);
    }

    function test_a_provider() external {
        uint256 lease = _running(machine, 8, 7 days);
        skip(7 days);
        _close(lease);
        ProviderView memory seen = lens.provider(address(pool), PROVIDER);
        vm.assertEq(seen.account.feesPaid, pool.accountOf(PROVIDER).feesPaid);
        vm.assertTrue(seen.account.feesPaid != 0);
        vm.assertEq(seen.balance, pool.balanceOf(PROVIDER));
        vm.assertEq(seen.score, reputation.scoreOf(PROVIDER));
        vm.assertEq(seen.discountBps, seen.score * 5);
        vm.assertEq(seen.slashed, 0);
        vm.assertEq(lens.machines(address(pool), 0, 1)[0].score, seen.score);
    }
}
