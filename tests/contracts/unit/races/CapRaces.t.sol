// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../../../contracts/interfaces/IController.sol";
import {ILeaseChanges, ILeases} from "../../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../../contracts/interfaces/ILedger.sol";
import {LeaseRequest, Offer, Terms} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {GroupFixture} from "../GroupFixture.sol";

/// @notice A student whom a group of two out of three gave 10e18 a week wants more out of its ledger of 1,000e18. What
/// AccountsDelegates.t.sol tries already, on the same pool, is not repeated here.
contract CapRaces is GroupFixture {
    address private constant STUDENT = address(0x57D);
    uint96 private constant CAP = 10e18;
    uint256 private constant HOUR_OF_CELL = 3600 * CELL_SECOND; // 0.36e18

    uint32 private machine;

    function setUp() public override {
        super.setUp();
        machine = _register(8);
        _asGroup(
            _call(
                address(accounts),
                abi.encodeCall(IAccounts.setDelegate, (address(pool), STUDENT, CAP, 7 days, uint40(NOW + 365 days)))
            )
        );
    }

    function _byStudent(bytes memory data) private returns (bytes memory) {
        vm.prank(STUDENT);
        return accounts.executeAsDelegate(group, address(pool), data);
    }

    function _opens(LeaseRequest memory request) private returns (uint256) {
        return abi.decode(_byStudent(abi.encodeCall(ILeases.open, (request))), (uint256));
    }

    function _spent() private view returns (uint256) {
        return accounts.delegationOf(group, address(pool), STUDENT).spent;
    }

    function _outOfScope(bytes memory data) private {
        vm.prank(STUDENT);
        _expect(abi.encodeWithSelector(IAccounts.ScopeExceeded.selector, bytes4(data)));
        accounts.executeAsDelegate(group, address(pool), data);
    }

    /// @dev Several calls as one, between which the ledger rises and falls: [close, open, open] would count only its end. And
    /// the ways to have a lease, or money, that are none of the six functions: to give the group's lease to oneself and
    /// close it would bring its whole escrow; an offer of an accomplice would take any price.
    function test_a_multicall_a_transfer_and_an_offer() external {
        uint256 lease = _opens(_request(machine, 8, 1 hours));
        bytes[] memory inner = new bytes[](2);
        inner[0] = abi.encodeCall(ILeases.close, (lease));
        inner[1] = abi.encodeCall(ILeases.open, (_request(machine, 8, 1 hours)));
        _outOfScope(abi.encodeCall(ILedger.multicall, (inner)));
        _outOfScope(abi.encodeCall(ILeaseChanges.transferLease, (lease, STUDENT, NOW + 1 days, "")));
        Offer memory offer =
            Offer(PROVIDER, machine, 1, 1000 * PRICE, 8, 1 hours, false, group, 0, uint64(NOW + 1 days));
        _outOfScope(abi.encodeCall(ILeaseChanges.openWithOffer, (_request(machine, 8, 1 hours), offer, "")));
        _outOfScope(abi.encodeCall(ILeaseChanges.failover, (lease, machine, 1, 0, WORKLOAD)));
        vm.assertEq(_spent(), 8 * HOUR_OF_CELL);
    }

    /// @dev Refund and open again: each hour of eight cells is 2.88e18, and closed at once it comes back less nothing. If a
    /// refund made room, the student would rent for ever on one cap; three times is what 10e18 allows, though the group
    /// has its money back.
    function test_refund_and_open_again() external {
        uint256 before = pool.balanceOf(group);
        for (uint256 i = 0; i < 3; ++i) {
            uint256 lease = _opens(_request(machine, 8, 1 hours));
            _start(lease);
            _byStudent(abi.encodeCall(ILeases.close, (lease)));
        }
        vm.assertEq(pool.balanceOf(group), before);
        bytes memory more = abi.encodeCall(ILeases.open, (_request(machine, 8, 1 hours)));
        vm.prank(STUDENT);
        _expect(abi.encodeWithSelector(IAccounts.CapExceeded.selector, 11.52e18, CAP));
        accounts.executeAsDelegate(group, address(pool), more);
        vm.assertEq(pool.balanceOf(group), before);
    }

    /// @dev A group that rents its own machine is paid by its own leases. A change of share pays it what accrued and takes
    /// the larger escrow in one call, so by the ledger's fall alone the larger escrow would cost the cap next to nothing:
    /// 0.09e18 instead of 1.8e18 here, and with a dearer machine any sum. It counts as what it takes.
    function test_growing_on_the_group_s_own_machine() external {
        bytes memory register = abi.encodeCall(
            pool.register, (_terms(), 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), group))
        );
        uint32 own = abi.decode(_asGroup(_call(register)), (uint32));
        uint256 lease = _opens(_request(own, 1, 10 hours));
        _start(lease);
        skip(5 hours);
        uint256 before = pool.balanceOf(group);
        _byStudent(abi.encodeCall(ILeaseChanges.resize, (lease, 2, 0)));
        vm.assertEq(before - pool.balanceOf(group), 0.09e18); // 1.8e18 less the 1.71e18 that it earned
        vm.assertEq(_spent(), 3.6e18 + 1.8e18);
        _byStudent(abi.encodeCall(ILeaseChanges.resize, (lease, 1, 0)));
        vm.assertEq(_spent(), 3.6e18 + 1.8e18); // and what comes back makes no room
    }

    /// @dev A standby that is dearer than what it stands by for: it is opened by anybody in an outage, out of the refund and
    /// for as long as that lasts. The student names a machine of his own at ten times the price; the group has not a unit
    /// less in its ledger for it than without.
    function test_a_dear_standby() external {
        vm.prank(STUDENT);
        token.approve(address(pool), type(uint256).max);
        token.mint(STUDENT, STAKE);
        Terms memory terms = _terms();
        terms.price = 10 * PRICE;
        vm.prank(STUDENT);
        uint32 dear = pool.register(terms, 1, 1, "hardware", "contact", OPERATOR, _consent(address(pool), STUDENT));
        LeaseRequest memory request = _request(machine, 8, 3 hours);
        request.backup = keccak256(abi.encode(dear, uint16(1), uint16(0), WORKLOAD));
        uint256 before = pool.balanceOf(group);
        uint256 lease = _opens(request);
        _start(lease);
        _asFaults().setDown(machine, uint32(block.timestamp));
        skip(1 hours);
        vm.prank(STUDENT);
        uint256 standby = pool.failover(lease, dear, 1, 0, WORKLOAD);
        vm.assertEq(pool.leaseOf(standby).deposit, 8.64e18); // all that came back, and no more
        vm.assertEq(before - pool.balanceOf(group), 8.64e18);
        vm.assertEq(_spent(), 8.64e18);
    }

    /// @dev A second pool with the same token and owner: what is allowed in one is nothing in the other.
    function test_another_pool() external {
        IController other = IController(factory.createPool(address(token), OWNER, TREASURY, _params()));
        bytes memory open = abi.encodeCall(ILeases.open, (_request(1, 1, 1 hours)));
        vm.prank(STUDENT);
        _expect(abi.encodeWithSelector(IAccounts.NotAuthorized.selector, STUDENT));
        accounts.executeAsDelegate(group, address(other), open);
    }
}
