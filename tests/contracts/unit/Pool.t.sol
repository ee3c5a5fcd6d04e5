// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IController} from "../../../contracts/interfaces/IController.sol";
import {IPoolHooks} from "../../../contracts/interfaces/IPoolHooks.sol";
import {LeaseView, Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {Rules} from "../../../contracts/libraries/Rules.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

abstract contract PoolFixture is Fixture {}

contract OwnerTest is PoolFixture {
    function test_only_the_owner() external {
        bytes[] memory calls = new bytes[](6);
        calls[0] = abi.encodeCall(pool.proposeParams, (_params()));
        calls[1] = abi.encodeCall(pool.cancelParams, ());
        calls[2] = abi.encodeCall(pool.setPaused, (true));
        calls[3] = abi.encodeCall(pool.setTreasury, (THIEF));
        calls[4] = abi.encodeCall(pool.transferOwnership, (THIEF));
        calls[5] = abi.encodeCall(pool.setGated, (true));
        for (uint256 i = 0; i < calls.length; ++i) {
            _notFor(THIEF, calls[i]);
            _notFor(TREASURY, calls[i]);
        }
    }

    function test_ownership_in_two_steps() external {
        _expectEvent();
        emit OwnershipTransferStarted(OWNER, THIEF);
        vm.prank(OWNER);
        pool.transferOwnership(THIEF);
        vm.assertEq(pool.pendingOwner(), THIEF);
        _notFor(OWNER, abi.encodeCall(pool.acceptOwnership, ()));
        vm.assertEq(pool.owner(), OWNER);
        _expectEvent();
        emit OwnershipTransferred(THIEF);
        vm.prank(THIEF);
        pool.acceptOwnership();
        vm.assertEq(pool.owner(), THIEF);
        vm.assertEq(pool.pendingOwner(), address(0));
        _notFor(THIEF, abi.encodeCall(pool.acceptOwnership, ()));
    }

    function test_an_offer_of_ownership_is_taken_back() external {
        vm.prank(OWNER);
        pool.transferOwnership(THIEF);
        vm.prank(OWNER);
        pool.transferOwnership(address(0));
        _notFor(THIEF, abi.encodeCall(pool.acceptOwnership, ()));
        vm.assertEq(pool.owner(), OWNER);
    }

    function test_pause() external {
        _expectEvent();
        emit PausedSet(true);
        vm.prank(OWNER);
        pool.setPaused(true);
        vm.assertTrue(pool.paused());
    }

    function test_treasury() external {
        _expectEvent();
        emit TreasurySet(THIEF);
        vm.prank(OWNER);
        pool.setTreasury(THIEF);
        vm.assertEq(pool.treasury(), THIEF);
        bytes memory call = abi.encodeCall(pool.setTreasury, (address(0)));
        _refused(OWNER, call, abi.encodeWithSelector(ZeroAddress.selector));
        call = abi.encodeCall(pool.setTreasury, (address(pool)));
        _refused(OWNER, call, abi.encodeWithSelector(SelfTransfer.selector));
    }

    function test_pullFees() external {
        uint32 machine = _register(1);
        uint256 lease = _running(machine, 8, 1 hours);
        skip(1 hours);
        pool.close(lease);
        uint256 due = pool.accountOf(PROVIDER).feesDue;
        vm.assertEq(due, PRICE / 20);
        address[] memory providers = new address[](3);
        providers[0] = PROVIDER;
        providers[1] = PROVIDER;
        providers[2] = THIEF;
        _expectEvent();
        emit FeesPulled(PROVIDER, TREASURY, due);
        pool.pullFees(providers);
        vm.assertEq(pool.balanceOf(TREASURY), due);
        vm.assertEq(pool.accountOf(PROVIDER).feesDue, 0);
        vm.assertEq(pool.accountOf(PROVIDER).feesPaid, due);
    }
}

contract ParamsTest is PoolFixture {
    function _propose(Params memory params) private {
        vm.prank(OWNER);
        pool.proposeParams(params);
    }

    function test_the_first_version_is_in_force_at_once() external view {
        vm.assertEq(pool.paramsVersion(), 1);
        vm.assertEq(abi.encode(pool.params(1)), abi.encode(_params()));
        (uint16 version, uint40 inForceAt) = pool.proposedParams();
        vm.assertTrue(version == 0 && inForceAt == 0);
    }

    function test_a_proposal_waits_two_days() external {
        Params memory params = _params();
        params.feeBps = 1000;
        _expectEvent();
        emit ParamsProposed(2, uint40(NOW + 2 days), params);
        _propose(params);
        skip(2 days - 1);
        vm.assertEq(pool.paramsVersion(), 1);
        (uint16 version, uint40 inForceAt) = pool.proposedParams();
        vm.assertTrue(version == 2 && inForceAt == NOW + 2 days);
        bytes memory again = abi.encodeCall(pool.proposeParams, (_params()));
        _refused(OWNER, again, abi.encodeWithSelector(ProposalPending.selector, NOW + 2 days));
        skip(1);
        vm.assertEq(pool.paramsVersion(), 2);
        vm.assertEq(pool.params(2).feeBps, 1000);
        (version,) = pool.proposedParams();
        vm.assertEq(version, 0);
        _refused(OWNER, abi.encodeCall(pool.cancelParams, ()), abi.encodeWithSelector(NoProposal.selector));

        _propose(_params()); // the next one counts on from what came into force by time alone
        vm.assertEq(pool.paramsVersion(), 2);
        skip(2 days);
        vm.assertEq(pool.paramsVersion(), 3);
    }

    function test_a_proposal_may_be_cancelled() external {
        _refused(OWNER, abi.encodeCall(pool.cancelParams, ()), abi.encodeWithSelector(NoProposal.selector));
        Params memory params = _params();
        params.feeBps = 1000;
        _propose(params);
        skip(1 days);
        _expectEvent();
        emit ParamsCancelled(2);
        vm.prank(OWNER);
        pool.cancelParams();
        skip(2 days);
        vm.assertEq(pool.paramsVersion(), 1);
        _propose(_params());
        skip(2 days);
        vm.assertEq(pool.paramsVersion(), 2);
        vm.assertEq(pool.params(2).feeBps, 500);
    }

    function _invalid(Params memory params, bytes32 field) private {
        bytes memory error_ = abi.encodeWithSelector(InvalidParams.selector, field);
        _refused(OWNER, abi.encodeCall(pool.proposeParams, (params)), error_);
        _expect(error_);
        factory.createPool(address(token), OWNER, TREASURY, params);
    }

    function test_bounds() external {
        Params memory p = _params();
        p.feeBps = 1001;
        _invalid(p, "feeBps");
        p = _params();
        p.holdFeeBps = 10_001;
        _invalid(p, "holdFeeBps");
        p = _params();
        p.maxSlashBps = 10_001;
        _invalid(p, "maxSlashBps");
        p = _params();
        p.startWindow = 59;
        _invalid(p, "startWindow");
        p.startWindow = 1 days + 1;
        _invalid(p, "startWindow");
        p = _params();
        p.noticeSeconds = 30 days + 1;
        _invalid(p, "noticeSeconds");
        p = _params();
        p.challengeWindow = 10 minutes - 1;
        _invalid(p, "challengeWindow");
        p.challengeWindow = 20 minutes + 1; // more than the lag
        _invalid(p, "claimLag");
        p = _params();
        p.claimLag = 15 minutes - 1; // less than a trial
        _invalid(p, "claimLag");
        p.claimLag = 7 days + 1;
        _invalid(p, "claimLag");
        p = _params();
        p.filingWindow = 5 days; // not shorter than the timelock and a seat's maturity together
        _invalid(p, "filingWindow");
        p = _params();
        p.unstakeDelay = 9 days + 10 minutes - 1;
        _invalid(p, "unstakeDelay");
        (p.filingWindow, p.unstakeDelay) = (0, 8 days - 1); // of older rules something may come for so long
        _invalid(p, "unstakeDelay");
        p = _params();
        p.unstakeDelay = 90 days + 1;
        _invalid(p, "unstakeDelay");
        p = _params();
        p.appealWindow = 1 days - 1;
        _invalid(p, "appealWindow");
        p = _params();
        p.rulingWindow = 1 days - 1;
        _invalid(p, "rulingWindow");
        p.rulingWindow = 12 days + 1; // with the appeal window longer than a seat answers
        _invalid(p, "rulingWindow");
        p = _params();
        p.bond = STAKE + 1;
        _invalid(p, "bond");
        p = _params();
        p.seatStake = STAKE - 1;
        _invalid(p, "seatStake");
        p.seatStake = 0; // anybody could be a quorum
        _invalid(p, "seatStake");
        p = _params();
        p.committeeSize = 1;
        _invalid(p, "committeeSize");
        p.committeeSize = 4;
        _invalid(p, "committeeSize");
        p.committeeSize = 17;
        _invalid(p, "committeeSize");
        p = _params();
        p.verificationFee = p.seatStake / 10 + 1; // a lie would earn more than it costs
        _invalid(p, "verificationFee");
        p = _params();
        p.sink = p.arbiter; // whoever rules gains
        _invalid(p, "sink");
        p.arbiter = address(0);
        p.sink = TREASURY;
        _invalid(p, "sink");
        p.sink = OWNER;
        _invalid(p, "sink");
    }

    function test_the_bounds_themselves_are_allowed() external {
        Params memory p = _params();
        p.feeBps = 1000;
        p.holdFeeBps = 10_000;
        p.maxSlashBps = 10_000;
        p.startWindow = 60;
        p.noticeSeconds = 30 days;
        p.challengeWindow = 10 minutes;
        p.claimLag = 15 minutes;
        p.filingWindow = 5 days - 1;
        p.appealWindow = 1 days;
        p.rulingWindow = 1 days;
        p.unstakeDelay = 8 days;
        p.bond = STAKE;
        p.seatStake = STAKE;
        p.verificationFee = STAKE / 10;
        p.committeeSize = 3;
        p.arbiter = address(0);
        p.sink = THIEF;
        _propose(p);
        skip(2 days);
        p.startWindow = 1 days;
        p.claimLag = 7 days;
        p.unstakeDelay = 90 days;
        p.committeeSize = 15;
        _propose(p);
        skip(2 days);
        vm.assertEq(abi.encode(pool.params(3)), abi.encode(p));
    }

    /// @dev An open lease keeps the fee that it opened with.
    function test_new_rules_reach_no_open_lease() external {
        uint256 lease = _running(_register(1), 8, 3 days);
        Params memory params = _params();
        params.feeBps = 1000;
        _propose(params);
        skip(3 days);
        pool.close(lease);
        vm.assertEq(pool.accountOf(PROVIDER).feesPaid, 72 * uint256(PRICE) / 20);
    }
}

contract InitializeTest is PoolFixture {
    function test_initialize_works_once() external {
        bytes memory call = abi.encodeCall(IPoolHooks.initialize, (THIEF, THIEF, _params()));
        bytes memory error_ = abi.encodeWithSelector(AlreadyInitialized.selector);
        _refused(THIEF, call, error_);
        pool = IController(address(implementation));
        _refused(THIEF, call, error_);
        pool = IController(address(extension));
        _refused(THIEF, call, error_);
    }

    /// @dev What is not a clone serves nobody: it has no owner, opens and registers nothing, and holds nothing.
    function test_the_implementation_alone_is_of_no_use() external {
        pool = IController(address(implementation));
        vm.assertTrue(pool.paused());
        vm.assertEq(pool.owner(), address(0));
        _notFor(THIEF, abi.encodeCall(pool.setPaused, (false)));
        _notFor(THIEF, abi.encodeCall(pool.acceptOwnership, ()));
        vm.expectRevert();
        pool.deposit(tenant, 1);
        pool = IController(address(extension));
        _notFor(THIEF, abi.encodeCall(pool.setPaused, (false)));
        vm.expectRevert();
        pool.deposit(tenant, 1); // the extension has no such function
    }
}

contract ReadsTest is PoolFixture {
    function test_reads() external view {
        vm.assertEq(pool.token(), address(token));
        vm.assertEq(pool.accounts(), address(accounts));
        vm.assertEq(pool.owner(), OWNER);
        vm.assertEq(pool.treasury(), TREASURY);
        vm.assertFalse(pool.paused());
        vm.assertEq(implementation.extension(), address(extension));
    }

    function test_domain() external view {
        (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        ) = pool.eip712Domain();
        vm.assertTrue(fields == 0x0f && salt == 0 && extensions.length == 0);
        vm.assertEq(name, "Leasehold");
        vm.assertEq(version, "1");
        vm.assertEq(chainId, block.chainid);
        vm.assertEq(verifyingContract, address(pool));
    }

    /// @dev Where things lie is public: readers ask for raw slots.
    function test_extsload() external view {
        bytes32[] memory slots = new bytes32[](2);
        (slots[0], slots[1]) = (bytes32(uint256(1)), bytes32(uint256(3)));
        bytes32[] memory values = pool.extsload(slots);
        vm.assertEq(values[0], bytes32(uint256(uint160(OWNER))));
        vm.assertEq(values[1], bytes32(uint256(uint160(TREASURY))));
    }

    function test_unknown_functions_revert() external {
        (bool ok,) = address(pool).call(hex"deadbeef");
        vm.assertFalse(ok);
    }

    function test_no_value_is_taken() external {
        (bool ok,) = address(pool).call{value: 1}("");
        vm.assertFalse(ok);
        (ok,) = address(pool).call{value: 1}(abi.encodeCall(pool.multicall, (new bytes[](0))));
        vm.assertFalse(ok);
    }

    function test_a_lease_that_never_was() external view {
        LeaseView memory seen = pool.leaseOf(5 << 16);
        vm.assertEq(seen.tenant, address(0));
        vm.assertEq(uint256(seen.state), 0);
        vm.assertEq(pool.tenancyOf(5 << 16 | 1).tenant, address(0)); // nor of that number in its slot
    }
}
