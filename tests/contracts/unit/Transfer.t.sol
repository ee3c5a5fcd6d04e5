// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ILeaseChanges} from "../../../contracts/interfaces/ILeases.sol";
import {LeaseRequest, LeaseState, LeaseView} from "../../../contracts/interfaces/PoolTypes.sol";
import {SmartWallet} from "../../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Check.sol";
import {GroupFixture} from "./GroupFixture.sol";
import {LeasesFixture} from "./LeasesFixture.sol";

/// @notice A lease changes hands when both say so, whole and for good.
contract TransferTest is GroupFixture, LeasesFixture {
    uint256 private constant BUYER_KEY = 0xB0B;
    uint256 private constant DEADLINE = NOW + 1 days;
    uint256 private constant HOLD_FEE = 600 * CELL_SECOND / 10; // of ten minutes
    address private immutable buyer = vm.addr(BUYER_KEY);
    uint256 private lease;

    function setUp() public override(GroupFixture, LeasesFixture) {
        super.setUp();
        lease = _running(machine, 1, 2 hours);
    }

    function _acceptance(address to, uint256 id, uint256 deadline) private view returns (bytes32) {
        return accounts.acceptTransferDigest(to, address(pool), id, deadline);
    }

    function _signed(uint256 key, bytes32 digest) private pure returns (bytes memory) {
        return abi.encodePacked(KEY, _bare(key, digest));
    }

    function _accepted(uint256 id, uint256 deadline) private view returns (bytes memory) {
        return _signed(BUYER_KEY, _acceptance(buyer, id, deadline));
    }

    function _transfer(uint256 id, address to, bytes memory proof) private pure returns (bytes memory) {
        return abi.encodeCall(ILeaseChanges.transferLease, (id, to, DEADLINE, proof));
    }

    /// @dev The tenant gives the lease to the buyer, who has accepted it.
    function _sell() private {
        bytes memory proof = _accepted(lease, DEADLINE);
        vm.prank(tenant);
        pool.transferLease(lease, buyer, DEADLINE, proof);
    }

    function _giveBack(uint256 deadline) private {
        bytes memory proof = _signed(TENANT_KEY, _acceptance(tenant, lease, deadline));
        vm.prank(buyer);
        pool.transferLease(lease, tenant, deadline, proof);
    }

    function _wrongProof(address to, bytes memory proof) private {
        _refused(tenant, _transfer(lease, to, proof), abi.encodeWithSelector(WrongProof.selector, to));
    }

    // ----------------------------------------------------------------------------------------------------- what it does

    /// @dev Nothing but the tenant changes, and with it who is refunded.
    function test_transfer() external {
        skip(1 hours);
        LeaseView memory before = pool.leaseOf(lease);
        bytes memory proof = _accepted(lease, DEADLINE);
        _expectEvent();
        emit LeaseTransferred(lease, tenant, buyer);
        vm.prank(tenant);
        pool.transferLease(lease, buyer, DEADLINE, proof);
        LeaseView memory seen = pool.leaseOf(lease);
        before.tenant = buyer;
        vm.assertEq(abi.encode(seen), abi.encode(before));

        vm.prank(buyer);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(buyer), HOUR);
        vm.assertEq(pool.balanceOf(tenant), 0);
        vm.assertEq(pool.balanceOf(PROVIDER), _net(HOUR));
    }

    /// @dev Whoever gave it away is a stranger to it.
    function test_the_old_tenant_has_no_right_left() external {
        _sell();
        _notFor(tenant, abi.encodeCall(pool.close, (lease)));
        _notFor(tenant, abi.encodeCall(pool.reject, (lease)));
        _notFor(tenant, abi.encodeCall(pool.resize, (lease, 2, 0)));
        _notFor(tenant, abi.encodeCall(pool.setWorkload, (lease, "mine")));
        _notFor(tenant, _transfer(lease, tenant, _signed(TENANT_KEY, _acceptance(tenant, lease, DEADLINE))));
        // Nor has anybody whom he lets act for himself.
        vm.prank(tenant);
        accounts.setDelegate(address(pool), THIEF, 1e18, 1 days, uint40(NOW + 30 days));
        _expect(abi.encodeWithSelector(IAccounts.ScopeExceeded.selector, pool.close.selector));
        vm.prank(THIEF);
        accounts.executeAsDelegate(tenant, address(pool), abi.encodeCall(pool.close, (lease)));

        skip(3 hours);
        vm.prank(buyer);
        pool.close(lease);
        LeaseRequest memory request = _request(machine, 1, 60);
        request.reuse = lease; // the slot is the buyer's, too
        _notFor(tenant, abi.encodeCall(pool.open, (request)));
    }

    function test_an_opened_lease() external {
        lease = _open(machine, 1, 1 hours);
        _sell();
        _assertState(lease, LeaseState.Opened);
        skip(10 minutes);
        _notFor(tenant, abi.encodeCall(pool.close, (lease)));
        uint256 before = vm.snapshotState();
        vm.prank(buyer);
        pool.reject(lease);
        vm.assertEq(pool.balanceOf(buyer), HOUR - HOLD_FEE);
        vm.revertToState(before);
        before = vm.snapshotState();
        vm.prank(OPERATOR);
        pool.decline(lease, "no disk");
        vm.assertEq(pool.balanceOf(buyer), HOUR);
        vm.revertToState(before);
        _start(lease);
        skip(1 hours);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(buyer), 0);
        vm.assertEq(pool.leaseOf(lease).settled, HOUR);
    }

    function test_what_is_over_stays() external {
        _refused(tenant, _transfer(99 << 16, buyer, ""), abi.encodeWithSelector(UnknownLease.selector, 99 << 16));
        uint256 opened = _open(machine, 1, 1 hours);
        vm.prank(OPERATOR);
        pool.decline(opened, "no disk");
        bytes memory over = abi.encodeWithSelector(WrongState.selector, opened, LeaseState.Cancelled);
        _refused(tenant, _transfer(opened, buyer, _accepted(opened, DEADLINE)), over);
        _close(lease);
        over = abi.encodeWithSelector(WrongState.selector, lease, LeaseState.Ended);
        _refused(tenant, _transfer(lease, buyer, _accepted(lease, DEADLINE)), over);
    }

    /// @dev The standby was the old tenant's choice: it would take the new one's refund to a machine he has never seen.
    function test_the_backup_goes() external {
        uint32 standby = _register(1);
        LeaseRequest memory request = _request(machine, 1, 2 hours);
        request.backup = keccak256(abi.encode(standby, uint16(1), uint16(0), WORKLOAD));
        lease = _open(request);
        _start(lease);
        _sell();
        vm.assertEq(pool.leaseOf(lease).backup, 0);
        skip(30 minutes);
        _down(NOW + 20 minutes);
        bytes memory call = abi.encodeCall(pool.failover, (lease, standby, 1, 0, WORKLOAD));
        _refused(tenant, call, abi.encodeWithSelector(WrongBackup.selector, lease));
        vm.prank(buyer);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(buyer), 2 * HOUR - HOUR / 3);
    }

    /// @dev Under notice, down, resized, spot: what it is, it is for the next one.
    function test_it_goes_as_it_is() external {
        skip(30 minutes);
        _resize(lease, 2);
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 10 * HOUR);
        vm.prank(PROVIDER);
        pool.terminate(lease);
        skip(10 minutes);
        _down(NOW + 35 minutes);
        uint256 before = pool.balanceOf(tenant);
        LeaseView memory seen = pool.leaseOf(lease);
        _sell();
        seen.tenant = buyer;
        vm.assertEq(abi.encode(pool.leaseOf(lease)), abi.encode(seen));
        vm.prank(buyer);
        pool.close(lease);
        vm.assertEq(pool.leaseOf(lease).settled, HOUR / 2 + HOUR / 6);
        vm.assertEq(pool.balanceOf(tenant), before);
    }

    /// @dev Also for the first tenant: who trusts his standby no longer gives the lease to himself.
    function test_to_oneself_drops_the_backup() external {
        LeaseRequest memory request = _request(machine, 1, 2 hours);
        request.backup = "somewhere";
        lease = _open(request);
        LeaseView memory before = pool.leaseOf(lease);
        bytes memory proof = _signed(TENANT_KEY, _acceptance(tenant, lease, DEADLINE));
        vm.prank(tenant);
        pool.transferLease(lease, tenant, DEADLINE, proof);
        vm.assertEq(before.backup, "somewhere");
        before.backup = 0;
        vm.assertEq(abi.encode(pool.leaseOf(lease)), abi.encode(before));
    }

    // ------------------------------------------------------------------------------------------------------ acceptances

    function test_an_acceptance_works_once() external {
        _sell();
        _giveBack(DEADLINE);
        vm.assertEq(pool.leaseOf(lease).tenant, tenant);
        bytes memory proof = _accepted(lease, DEADLINE);
        bytes memory used = abi.encodeWithSelector(AcceptanceUsed.selector, _acceptance(buyer, lease, DEADLINE));
        _refused(tenant, _transfer(lease, buyer, proof), used);
        // Another word of the same buyer is another acceptance.
        proof = _accepted(lease, DEADLINE + 1);
        vm.prank(tenant);
        pool.transferLease(lease, buyer, DEADLINE + 1, proof);
        vm.assertEq(pool.leaseOf(lease).tenant, buyer);
    }

    function test_an_acceptance_works_until_its_deadline() external {
        vm.prank(tenant);
        pool.extend(lease, 2 days);
        bytes memory call = _transfer(lease, buyer, _accepted(lease, DEADLINE));
        vm.warp(DEADLINE + 1);
        _refused(tenant, call, abi.encodeWithSelector(OfferExpired.selector, DEADLINE));
        vm.warp(DEADLINE);
        _sell();
        vm.assertEq(pool.leaseOf(lease).tenant, buyer);
    }

    /// @dev It names the account, the pool, the lease, the deadline and the chain.
    function test_an_acceptance_of_something_else() external {
        uint256 other = _running(machine, 1, 1 hours);
        _wrongProof(buyer, _accepted(other, DEADLINE));
        _wrongProof(buyer, _accepted(lease + 1, DEADLINE)); // the slot's next lease
        _wrongProof(buyer, _accepted(lease, DEADLINE + 1));
        _wrongProof(buyer, _signed(TENANT_KEY, _acceptance(buyer, lease, DEADLINE)));
        _wrongProof(buyer, _signed(BUYER_KEY, _acceptance(tenant, lease, DEADLINE)));
        _wrongProof(THIEF, _accepted(lease, DEADLINE));
        address twin = factory.createPool(address(token), OWNER, TREASURY, _params());
        _wrongProof(buyer, _signed(BUYER_KEY, accounts.acceptTransferDigest(buyer, twin, lease, DEADLINE)));
        _wrongProof(buyer, "");
        _wrongProof(buyer, hex"01");
        uint256 here = block.chainid;
        bytes memory proof = _accepted(lease, DEADLINE);
        vm.chainId(here + 1);
        _wrongProof(buyer, proof);
        vm.chainId(here);
        vm.assertEq(pool.leaseOf(lease).tenant, tenant);
    }

    /// @dev An acceptance takes nothing from anybody: without the tenant it is nothing.
    function test_nobody_takes_a_lease() external {
        bytes memory call = _transfer(lease, buyer, _accepted(lease, DEADLINE));
        _notFor(buyer, call);
        _notFor(THIEF, call);
        _notFor(PROVIDER, call);
        _notFor(OPERATOR, call);
        _notFor(OWNER, call);
    }

    function test_receivers_that_cannot_be() external {
        _refused(tenant, _transfer(lease, address(0), ""), abi.encodeWithSelector(ZeroAddress.selector));
        _refused(tenant, _transfer(lease, address(pool), ""), abi.encodeWithSelector(SelfTransfer.selector));
    }

    // ---------------------------------------------------------------------------------------------- groups and contracts

    function test_to_a_group() external {
        bytes32 digest = _acceptance(group, lease, DEADLINE);
        _wrongProof(group, abi.encodePacked(_head(), _signature(0, digest))); // one of two
        bytes memory proof = _proof(digest);
        vm.prank(tenant);
        pool.transferLease(lease, group, DEADLINE, proof);
        skip(1 hours);
        uint256 before = pool.balanceOf(group);
        _asGroup(_call(abi.encodeCall(pool.close, (lease))));
        vm.assertEq(pool.balanceOf(group), before + HOUR);
    }

    /// @dev How a group replaces a signer: it becomes another group.
    function test_from_a_group_to_its_next() external {
        lease = abi.decode(_asGroup(_call(abi.encodeCall(pool.open, (_request(machine, 1, 1 hours))))), (uint256));
        _start(lease);
        address[] memory pair = new address[](2);
        (pair[0], pair[1]) = (signers[0], signers[2]);
        address next = accounts.groupAddress(2, pair, SALT);
        bytes32 digest = _acceptance(next, lease, DEADLINE);
        bytes memory first = abi.encodePacked(uint8(0), KEY, _bare(keys[0], digest));
        bytes memory second = abi.encodePacked(uint8(1), KEY, _bare(keys[2], digest));
        bytes memory proof = abi.encodePacked(_head(2, pair, SALT), first, second);
        _asGroup(_call(_transfer(lease, next, proof)));
        vm.assertEq(pool.leaseOf(lease).tenant, next);
        IAccounts.Call[] memory close = _call(abi.encodeCall(pool.close, (lease)));
        bytes memory approved = _proof(_digest(close));
        uint256 nonce = accounts.nonceOf(group, 0);
        _expect(abi.encodeWithSelector(NotAuthorized.selector, group));
        _submit(group, close, nonce, approved);
    }

    function test_to_a_contract_that_signs() external {
        SmartWallet wallet = new SmartWallet(buyer);
        bytes32 digest = _acceptance(address(wallet), lease, DEADLINE);
        _wrongProof(address(wallet), abi.encodePacked(CONTRACT, _bare(TENANT_KEY, digest)));
        wallet.setMood(1); // it reverts: a no like any other
        _wrongProof(address(wallet), abi.encodePacked(CONTRACT, _bare(BUYER_KEY, digest)));
        wallet.setMood(0);
        bytes memory proof = abi.encodePacked(CONTRACT, _bare(BUYER_KEY, digest));
        vm.prank(tenant);
        pool.transferLease(lease, address(wallet), DEADLINE, proof);
        vm.prank(buyer);
        wallet.run(address(pool), abi.encodeCall(pool.close, (lease)));
        vm.assertEq(pool.balanceOf(address(wallet)), 2 * HOUR);
    }

    // ------------------------------------------------------------------------------------------------------------ money

    /// @dev An acceptance is a yes to the lease as it is when it arrives. A seller who shrinks 16 cells to one keeps what that
    /// frees (15 of 16 parts of the 90 minutes that were left), and the buyer has one cell: so nobody should pay first.
    function test_a_seller_may_shrink_before_it_goes() external {
        _close(lease);
        lease = _running(machine, 16, 2 hours);
        bytes memory proof = _accepted(lease, DEADLINE);
        skip(30 minutes);
        uint256 before = pool.balanceOf(tenant);
        _resize(lease, 1);
        vm.prank(tenant);
        pool.transferLease(lease, buyer, DEADLINE, proof);
        vm.assertEq(pool.balanceOf(tenant) - before, 15 * uint256(HOUR) * 3 / 2);
        LeaseView memory seen = pool.leaseOf(lease);
        vm.assertTrue(seen.tenant == buyer && seen.placement == 0x0101);
        vm.prank(buyer);
        pool.close(lease);
        vm.assertEq(pool.balanceOf(buyer), HOUR * 3 / 2);
    }

    /// @dev A transfer moves no money: ledgers, escrow and stake are what they were.
    function testFuzz_a_transfer_moves_no_money(uint32 after_) external {
        skip(after_ % 1 days);
        bytes32 before = _money();
        _sell();
        vm.assertEq(_money(), before);
    }

    function _money() private view returns (bytes32) {
        return keccak256(
            abi.encode(
                pool.balanceOf(tenant),
                pool.balanceOf(buyer),
                pool.balanceOf(PROVIDER),
                pool.leaseOf(lease).deposit,
                pool.leaseOf(lease).settled,
                token.balanceOf(address(pool))
            )
        );
    }
}
