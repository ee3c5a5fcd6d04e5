// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {ILeases} from "../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../contracts/interfaces/ILedger.sol";
import {Consent} from "../../../contracts/interfaces/PoolTypes.sol";
import {EagerToken, QuietToken, RefusingToken, SizedToken, TaxedToken} from "../../../contracts/test/OddTokens.sol";
import {vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

contract LedgerTest is Fixture {
    function _deposit(uint256 amount) private {
        vm.prank(tenant);
        pool.deposit(tenant, amount);
    }

    function test_deposit() external {
        _expectEvent();
        emit Deposited(PROVIDER, tenant, 7, 7);
        vm.prank(tenant);
        pool.deposit(PROVIDER, 7);
        vm.assertEq(pool.balanceOf(PROVIDER), 7);
        vm.assertEq(pool.balanceOf(tenant), 0);
        vm.assertEq(token.balanceOf(address(pool)), 7);
    }

    function test_deposit_refuses() external {
        _expect(abi.encodeWithSelector(ZeroAddress.selector));
        pool.deposit(address(0), 1);
        _expect(abi.encodeWithSelector(SelfTransfer.selector));
        pool.deposit(address(pool), 1);
        _expect(abi.encodeWithSelector(ZeroAmount.selector));
        pool.deposit(tenant, 0);
        vm.expectRevert();
        pool.deposit(tenant, 1); // this contract has neither tokens nor given an allowance
    }

    function _permit(uint256 amount) private view returns (uint8 v, bytes32 r, bytes32 s) {
        bytes32 permit = keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
        bytes32 hash = keccak256(abi.encode(permit, tenant, pool, amount, token.nonces(tenant), NOW));
        return vm.sign(TENANT_KEY, keccak256(abi.encodePacked(hex"1901", token.DOMAIN_SEPARATOR(), hash)));
    }

    function test_deposit_with_permit() external {
        vm.prank(tenant);
        token.approve(address(pool), 0);
        (uint8 v, bytes32 r, bytes32 s) = _permit(9);
        vm.prank(tenant);
        pool.depositWithPermit(tenant, 9, NOW, v, r, s);
        vm.assertEq(pool.balanceOf(tenant), 9);
    }

    /// @dev Somebody sends the permit first: the deposit goes through all the same.
    function test_deposit_with_permit_survives_front_running() external {
        (uint8 v, bytes32 r, bytes32 s) = _permit(9);
        vm.prank(THIEF);
        token.permit(tenant, address(pool), 9, NOW, v, r, s);
        vm.prank(tenant);
        pool.depositWithPermit(tenant, 9, NOW, v, r, s);
        vm.assertEq(pool.balanceOf(tenant), 9);
    }

    /// @dev A stolen permit gives the thief nothing: only the caller's tokens are pulled.
    function test_deposit_with_anothers_permit_pulls_ones_own() external {
        (uint8 v, bytes32 r, bytes32 s) = _permit(9);
        vm.prank(THIEF);
        pool.depositWithPermit(THIEF, 9, NOW, v, r, s);
        vm.assertEq(token.balanceOf(tenant), MINTED);
        vm.assertEq(token.balanceOf(THIEF), MINTED - 9);
    }

    function test_transfer() external {
        _deposit(10);
        _expectEvent();
        emit Transferred(tenant, PROVIDER, 4);
        vm.prank(tenant);
        pool.transfer(PROVIDER, 4);
        vm.assertEq(pool.balanceOf(tenant), 6);
        vm.assertEq(pool.balanceOf(PROVIDER), 4);
        vm.prank(tenant);
        pool.transfer(tenant, 6); // to oneself: nothing changes
        vm.assertEq(pool.balanceOf(tenant), 6);
    }

    function test_transfer_refuses() external {
        _deposit(10);
        _expect(abi.encodeWithSelector(InsufficientBalance.selector, tenant, 10, 11));
        vm.prank(tenant);
        pool.transfer(PROVIDER, 11);
        _expect(abi.encodeWithSelector(InsufficientBalance.selector, THIEF, 0, 1));
        vm.prank(THIEF);
        pool.transfer(THIEF, 1);
        _expect(abi.encodeWithSelector(ZeroAddress.selector));
        pool.transfer(address(0), 1);
        _expect(abi.encodeWithSelector(SelfTransfer.selector));
        pool.transfer(address(pool), 1);
    }

    function test_withdraw() external {
        _deposit(10);
        _expectEvent();
        emit Withdrawn(tenant, PROVIDER, 4, 6);
        vm.prank(tenant);
        pool.withdraw(PROVIDER, 4);
        vm.assertEq(pool.balanceOf(tenant), 6);
        vm.assertEq(token.balanceOf(PROVIDER), MINTED + 4);
        vm.prank(tenant);
        pool.withdraw(tenant, 6);
        vm.assertEq(pool.balanceOf(tenant), 0);
        vm.assertEq(token.balanceOf(address(pool)), 0);
    }

    function test_withdraw_refuses() external {
        _deposit(10);
        _expect(abi.encodeWithSelector(InsufficientBalance.selector, THIEF, 0, 1));
        vm.prank(THIEF);
        pool.withdraw(THIEF, 1);
        _expect(abi.encodeWithSelector(ZeroAddress.selector));
        pool.withdraw(address(0), 1);
        _expect(abi.encodeWithSelector(SelfTransfer.selector));
        pool.withdraw(address(pool), 1);
        _expect(abi.encodeWithSelector(ZeroAmount.selector));
        pool.withdraw(tenant, 0);
    }

    function test_multicall_is_all_or_nothing() external {
        bytes[] memory calls = new bytes[](2);
        calls[0] = abi.encodeCall(ILedger.deposit, (tenant, 10));
        calls[1] = abi.encodeCall(ILedger.transfer, (PROVIDER, 4));
        vm.prank(tenant);
        bytes[] memory results = pool.multicall(calls);
        vm.assertEq(results.length, 2);
        vm.assertEq(pool.balanceOf(tenant), 6);

        calls[1] = abi.encodeCall(ILedger.transfer, (PROVIDER, 17));
        _expect(abi.encodeWithSelector(InsufficientBalance.selector, tenant, 16, 17));
        vm.prank(tenant);
        pool.multicall(calls);
        vm.assertEq(pool.balanceOf(tenant), 6);
    }

    /// @dev Reads, which the extension serves, work inside a multicall too.
    function test_multicall_reaches_the_extension() external {
        bytes[] memory calls = new bytes[](1);
        calls[0] = abi.encodeCall(pool.owner, ());
        vm.assertEq(abi.decode(pool.multicall(calls)[0], (address)), OWNER);
    }

    // -------------------------------------------------------------------------------------------------- odd tokens

    function _poolOf(address odd) private returns (IController) {
        return IController(factory.createPool(odd, OWNER, TREASURY, _params()));
    }

    function test_a_token_that_takes_a_fee_is_refused() external {
        TaxedToken taxed = new TaxedToken();
        IController odd = _poolOf(address(taxed));
        taxed.mint(address(this), 1000e18);
        taxed.approve(address(odd), type(uint256).max);
        taxed.setTaxed(true);
        _expect(abi.encodeWithSelector(TokenTakesFee.selector, 1000e18, 990e18));
        odd.deposit(tenant, 1000e18);
    }

    function test_a_token_that_returns_nothing_works() external {
        QuietToken quiet = new QuietToken();
        IController odd = _poolOf(address(quiet));
        quiet.mint(address(this), 10);
        quiet.approve(address(odd), type(uint256).max);
        // It has no permit either; the allowance suffices.
        odd.depositWithPermit(address(this), 10, NOW, 27, 0, 0);
        odd.withdraw(tenant, 10);
        vm.assertEq(quiet.balanceOf(tenant), 10);
    }

    function test_a_token_that_says_false_is_refused() external {
        RefusingToken refusing = new RefusingToken();
        IController odd = _poolOf(address(refusing));
        refusing.mint(address(this), 10);
        refusing.approve(address(odd), type(uint256).max);
        odd.deposit(address(this), 10);
        refusing.setRefusing(true);
        _expect(abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, refusing));
        odd.withdraw(tenant, 10);
        vm.assertEq(odd.balanceOf(address(this)), 10);
    }

    /// @dev A token with hooks cannot come back in: not to withdraw while it is being deposited, nor the reverse.
    function test_reentrancy() external {
        EagerToken eager = new EagerToken();
        IController odd = _poolOf(address(eager));
        eager.mint(address(this), 20);
        eager.approve(address(odd), type(uint256).max);
        odd.deposit(address(eager), 10); // so that the token has something to withdraw
        eager.arm(address(odd), abi.encodeCall(ILedger.withdraw, (address(eager), 10)));
        odd.deposit(address(this), 10);
        vm.assertFalse(eager.succeeded());
        vm.assertEq(
            eager.answer(), abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector)
        );
        odd.withdraw(tenant, 10);
        vm.assertFalse(eager.succeeded());
        vm.assertEq(odd.balanceOf(address(eager)), 10);
    }

    /// @dev Nor to change what the call it interrupts has yet to log: `LeaseStarted` never comes before `LeaseOpened`.
    function test_events_keep_their_order() external {
        EagerToken eager = new EagerToken();
        IController odd = _poolOf(address(eager));
        eager.mint(address(this), 1e30);
        eager.approve(address(odd), type(uint256).max);
        bytes4 yes = IERC1271.isValidSignature.selector;
        vm.mockCall(address(eager), abi.encodeWithSelector(yes), abi.encode(yes)); // its operator, which consents
        Consent memory consent = Consent(uint64(NOW), hex"02");
        uint32 machine = odd.register(_terms(), 1, 1, "hardware", "contact", address(eager), consent);
        uint256 lease = uint256(1) << 16;
        eager.arm(address(odd), abi.encodeCall(ILeases.start, (lease, "endpoint")));
        vm.assertEq(odd.open(_request(machine, 8, 3600)), lease);
        vm.assertEq(eager.attempts(), 1);
        vm.assertFalse(eager.succeeded());
        vm.assertEq(
            eager.answer(), abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector)
        );
    }

    function test_a_pool_never_holds_more_than_96_bits() external {
        SizedToken vast = new SizedToken(18);
        IController odd = _poolOf(address(vast));
        vast.mint(address(this), uint256(type(uint96).max) + 1);
        vast.approve(address(odd), type(uint256).max);
        odd.deposit(tenant, type(uint96).max);
        _expect(
            abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 96, uint256(type(uint96).max) + 1)
        );
        odd.deposit(tenant, 1);
    }
}
