// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {ILeases} from "../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../contracts/interfaces/ILedger.sol";
import {LeaseRequest} from "../../../contracts/interfaces/PoolTypes.sol";
import {EagerToken} from "../../../contracts/test/OddTokens.sol";
import {SmartWallet} from "../../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

contract AccountsTest is Fixture {
    uint256 private constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    uint256 private constant ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;

    function _calls(bytes memory data) private view returns (IAccounts.Call[] memory calls) {
        calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(address(pool), data);
    }

    function _transfer(uint256 amount) private view returns (IAccounts.Call[] memory) {
        return _calls(abi.encodeCall(ILedger.transfer, (PROVIDER, amount)));
    }

    function _proof(address account, IAccounts.Call[] memory calls, uint256 nonce) private view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(TENANT_KEY, accounts.executeDigest(account, calls, nonce, NOW + 60));
        return abi.encodePacked(account == tenant ? bytes1(0x01) : bytes1(0x02), r, s, v);
    }

    function _execute(address account, IAccounts.Call[] memory calls, uint256 nonce, bytes memory proof) private {
        vm.prank(THIEF); // anyone may submit it
        accounts.execute(account, calls, nonce, NOW + 60, proof);
    }

    function _execute(IAccounts.Call[] memory calls, uint256 nonce) private {
        _execute(tenant, calls, nonce, _proof(tenant, calls, nonce));
    }

    function _refused(IAccounts.Call[] memory calls, uint256 nonce, bytes memory error_) private {
        bytes memory proof = _proof(tenant, calls, nonce);
        _expect(error_);
        _execute(tenant, calls, nonce, proof);
    }

    function _deposit(address account, uint256 amount) private {
        vm.prank(tenant);
        pool.deposit(account, amount);
    }

    // ------------------------------------------------------------------------------------------------------- execute

    function test_execute_acts_for_the_account() external {
        _deposit(tenant, 10);
        IAccounts.Call[] memory calls = new IAccounts.Call[](2);
        calls[0] = _transfer(4)[0];
        calls[1] = _transfer(1)[0];
        vm.expectEmit(true, true, true, true, address(accounts));
        emit IAccounts.Executed(tenant, 0, THIEF);
        _execute(calls, 0);
        vm.assertEq(pool.balanceOf(tenant), 5);
        vm.assertEq(pool.balanceOf(PROVIDER), 5);
        vm.assertEq(accounts.actor(), address(0));
        vm.assertEq(accounts.nonceOf(tenant, 0), 1);
    }

    /// @dev The digest as EIP-712 says, put together by hand.
    function test_executeDigest() external view {
        IAccounts.Call[] memory calls = _transfer(4);
        bytes32 domainType =
            keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        bytes32 domain =
            keccak256(abi.encode(domainType, keccak256("Leasehold"), keccak256("1"), block.chainid, address(accounts)));
        bytes32 callHash = keccak256(
            abi.encode(keccak256("Call(address target,bytes data)"), calls[0].target, keccak256(calls[0].data))
        );
        bytes32 executeType = keccak256(
            "Execute(address account,Call[] calls,uint256 nonce,uint256 deadline)Call(address target,bytes data)"
        );
        bytes32 hash =
            keccak256(abi.encode(executeType, tenant, keccak256(abi.encodePacked(callHash)), uint256(7), uint256(8)));
        bytes32 digest = keccak256(abi.encodePacked(hex"1901", domain, hash));
        vm.assertEq(accounts.executeDigest(tenant, calls, 7, 8), digest);
        (, string memory name, string memory version,, address verifyingContract,,) = accounts.eip712Domain();
        vm.assertEq(name, "Leasehold");
        vm.assertEq(version, "1");
        vm.assertEq(verifyingContract, address(accounts));
    }

    function test_a_proof_works_once() external {
        _deposit(tenant, 10);
        IAccounts.Call[] memory calls = _transfer(1);
        bytes memory proof = _proof(tenant, calls, 0);
        _execute(tenant, calls, 0, proof);
        _expect(abi.encodeWithSelector(IAccounts.InvalidNonce.selector, 0, 1));
        _execute(tenant, calls, 0, proof);
        _expect(abi.encodeWithSelector(IAccounts.InvalidProof.selector, tenant));
        _execute(tenant, calls, 1, proof);
    }

    /// @dev Sequences count for each key, so that signers need not wait for one another.
    function test_nonces_have_keys() external {
        _deposit(tenant, 10);
        uint256 nonce = uint256(7) << 64;
        _refused(_transfer(1), nonce | 1, abi.encodeWithSelector(IAccounts.InvalidNonce.selector, nonce | 1, nonce));
        _execute(_transfer(1), nonce);
        vm.assertEq(accounts.nonceOf(tenant, 7), nonce | 1);
        vm.assertEq(accounts.nonceOf(tenant, 0), 0);
        _execute(_transfer(1), 0);
    }

    function test_a_proof_binds_everything() external {
        _deposit(tenant, 10);
        IAccounts.Call[] memory calls = _transfer(1);
        bytes memory proof = _proof(tenant, calls, 0);
        bytes memory invalid = abi.encodeWithSelector(IAccounts.InvalidProof.selector, tenant);
        _expect(invalid); // another amount
        _execute(tenant, _transfer(2), 0, proof);
        _expect(invalid); // another deadline
        accounts.execute(tenant, calls, 0, NOW + 61, proof);
        _expect(abi.encodeWithSelector(IAccounts.InvalidProof.selector, THIEF)); // another account
        _execute(THIEF, calls, 0, proof);
        IAccounts.Call[] memory twice = new IAccounts.Call[](2);
        (twice[0], twice[1]) = (calls[0], calls[0]);
        _expect(invalid); // once more
        _execute(tenant, twice, 0, proof);
        address other = factory.createPool(address(token), OWNER, TREASURY, _params());
        calls[0].target = other;
        _expect(invalid); // another pool
        _execute(tenant, calls, 0, proof);
        calls[0].target = address(pool);
        vm.chainId(5);
        _expect(invalid); // another chain
        _execute(tenant, calls, 0, proof);
    }

    function test_execute_refuses() external {
        IAccounts.Call[] memory calls = _transfer(1);
        bytes memory proof = _proof(tenant, calls, 0);
        skip(61);
        _expect(abi.encodeWithSelector(IAccounts.ExpiredDeadline.selector, NOW + 60));
        _execute(tenant, calls, 0, proof);
        vm.warp(NOW);
        _refused(new IAccounts.Call[](0), 0, abi.encodeWithSelector(IAccounts.NoCalls.selector));
        calls[0].target = address(token);
        _refused(calls, 0, abi.encodeWithSelector(IAccounts.InvalidTarget.selector, token));
        calls[0].target = address(accounts);
        _refused(calls, 0, abi.encodeWithSelector(IAccounts.InvalidTarget.selector, accounts));
    }

    /// @dev A call that fails takes all with it, the nonce included.
    function test_execute_is_all_or_nothing() external {
        _deposit(tenant, 10);
        IAccounts.Call[] memory calls = new IAccounts.Call[](2);
        (calls[0], calls[1]) = (_transfer(4)[0], _transfer(7)[0]);
        _refused(calls, 0, abi.encodeWithSelector(InsufficientBalance.selector, tenant, 6, 7));
        vm.assertEq(pool.balanceOf(tenant), 10);
        vm.assertEq(accounts.nonceOf(tenant, 0), 0);
        vm.assertEq(accounts.actor(), address(0));
    }

    /// @dev Acting for an account moves its ledger only: not its wallet, whatever its allowance, and not the submitter's.
    function test_only_the_ledger_pays() external {
        uint32 machine = _register(1);
        uint256 cost = 3600 * CELL_SECOND;
        IAccounts.Call[] memory calls = _calls(abi.encodeCall(ILeases.open, (_request(machine, 1, 1 hours))));
        _refused(calls, 0, abi.encodeWithSelector(InsufficientBalance.selector, tenant, 0, cost));
        _deposit(tenant, cost);
        _execute(calls, 0);
        vm.assertEq(pool.leaseOf(1 << 16).tenant, tenant);
        vm.assertEq(pool.balanceOf(tenant), 0);
    }

    function test_a_multicall_keeps_the_actor() external {
        _deposit(tenant, 10);
        bytes[] memory inner = new bytes[](2);
        inner[0] = abi.encodeCall(ILedger.transfer, (PROVIDER, 1));
        inner[1] = abi.encodeCall(ILedger.withdraw, (tenant, 9));
        _execute(_calls(abi.encodeCall(ILedger.multicall, (inner))), 0);
        vm.assertEq(token.balanceOf(tenant), MINTED - 1);
    }

    function test_a_proof_works_in_its_last_second() external {
        vm.prank(tenant);
        pool.deposit(tenant, 1);
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(address(pool), abi.encodeCall(ILedger.withdraw, (tenant, 1)));
        bytes memory proof = _proof(tenant, calls, 0);
        vm.warp(NOW + 60);
        accounts.execute(tenant, calls, 0, NOW + 60, proof);
        vm.assertEq(pool.balanceOf(tenant), 0);
    }

    /// @dev A token that calls out in the midst of an `execute` finds no way to act in the account's name.
    function test_nothing_runs_inside_an_execute() external {
        EagerToken eager = new EagerToken();
        IController odd = IController(factory.createPool(address(eager), OWNER, TREASURY, _params()));
        eager.mint(tenant, 10);
        vm.prank(tenant);
        eager.approve(address(odd), type(uint256).max);
        vm.prank(tenant);
        odd.deposit(tenant, 10);
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(address(odd), abi.encodeCall(ILedger.withdraw, (tenant, 1)));
        uint256 other = uint256(1) << 64;
        bytes memory nested =
            abi.encodeCall(IAccounts.execute, (tenant, calls, other, NOW + 60, _proof(tenant, calls, other)));
        eager.arm(address(accounts), nested);
        _execute(calls, 0);
        vm.assertFalse(eager.succeeded());
        vm.assertEq(eager.answer(), abi.encodeWithSelector(IAccounts.Nested.selector));
        vm.assertEq(odd.balanceOf(tenant), 9);
    }

    // -------------------------------------------------------------------------------------------------------- proofs

    function _authorized(address account, bytes memory proof) private view returns (bool) {
        return accounts.isAuthorized(account, "digest", proof);
    }

    function test_proof_of_a_key() external view {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(TENANT_KEY, "digest");
        vm.assertTrue(_authorized(tenant, abi.encodePacked(bytes1(0x01), r, s, v)));
        vm.assertFalse(_authorized(THIEF, abi.encodePacked(bytes1(0x01), r, s, v)));
        vm.assertFalse(_authorized(address(0), abi.encodePacked(bytes1(0x01), r, s, uint8(0))));
        // The other signature that the curve allows: high s.
        vm.assertTrue(uint256(s) <= HALF_ORDER);
        bytes32 high = bytes32(ORDER - uint256(s));
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x01), r, high, v == 27 ? 28 : 27)));
    }

    function test_proofs_that_are_none() external view {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(TENANT_KEY, "digest");
        vm.assertFalse(_authorized(tenant, ""));
        vm.assertFalse(_authorized(tenant, hex"01"));
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x01), r, s)));
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x01), r, s, v, v)));
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x00), r, s, v)));
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x02), r, s, v))); // it has no code
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x03), r, s, v))); // that is no group
        vm.assertFalse(_authorized(tenant, abi.encodePacked(bytes1(0x04), r, s, v))); // a session moves no money
    }

    function test_proof_of_a_contract() external {
        SmartWallet wallet = new SmartWallet(tenant);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(TENANT_KEY, "digest");
        bytes memory proof = abi.encodePacked(bytes1(0x02), r, s, v);
        vm.assertTrue(_authorized(address(wallet), proof));
        vm.assertFalse(_authorized(address(wallet), abi.encodePacked(bytes1(0x01), r, s, v)));
        vm.assertFalse(_authorized(address(wallet), abi.encodePacked(bytes1(0x02), r, s)));
        vm.assertFalse(_authorized(address(token), proof)); // a contract that knows nothing of it
        vm.assertFalse(_authorized(address(4), proof)); // the precompile that echoes
        wallet.setMood(1);
        vm.assertFalse(_authorized(address(wallet), proof)); // reverts
        wallet.setMood(2);
        vm.assertFalse(_authorized(address(wallet), proof)); // answers too little
    }

    function test_execute_for_a_contract() external {
        SmartWallet wallet = new SmartWallet(tenant);
        _deposit(address(wallet), 10);
        IAccounts.Call[] memory calls = _transfer(3);
        _execute(address(wallet), calls, 0, _proof(address(wallet), calls, 0));
        vm.assertEq(pool.balanceOf(address(wallet)), 7);
    }
}
