// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ILeases} from "../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../contracts/interfaces/ILedger.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {ISafe, SafeFixture} from "./SafeFixture.sol";

/// @notice A Safe rents, by its own transactions and by its signatures, and nobody else by them.
contract AccountsSafeTest is SafeFixture {
    uint32 private machine;
    uint256 private constant LEASE = 1 << 16;

    function setUp() public override {
        super.setUp();
        machine = _register(8);
    }

    function _opening() private view returns (bytes memory) {
        return abi.encodeCall(ILeases.open, (_request(machine, 8, 1 hours)));
    }

    function _digestOf(ISafe account, IAccounts.Call[] memory calls) private view returns (bytes32) {
        uint256 nonce = accounts.nonceOf(address(account), 0);
        return accounts.executeDigest(address(account), calls, nonce, NOW + 1 days);
    }

    function _bySignature(bytes memory data) private {
        IAccounts.Call[] memory calls = _call(data);
        uint256 nonce = accounts.nonceOf(address(safe), 0);
        _submit(address(safe), calls, nonce, _safeProof(safe, _digestOf(safe, calls)));
    }

    function _assertRented(uint256 seconds_) private view {
        vm.assertEq(pool.leaseOf(LEASE).tenant, address(safe));
        _assertState(LEASE, LeaseState.Ended);
        vm.assertEq(pool.balanceOf(address(safe)), 1000e18 - seconds_ * 8 * CELL_SECOND);
    }

    function test_a_safe_rents_by_its_transactions() external {
        _bySafe(_opening());
        _start(LEASE);
        _bySafe(abi.encodeCall(ILeases.extend, (LEASE, 1 hours)));
        skip(90 minutes);
        _bySafe(abi.encodeCall(ILeases.close, (LEASE)));
        _assertRented(90 minutes);
    }

    function test_a_safe_rents_by_its_signatures() external {
        _bySignature(_opening());
        _start(LEASE);
        _bySignature(abi.encodeCall(ILeases.extend, (LEASE, 1 hours)));
        skip(90 minutes);
        _bySignature(abi.encodeCall(ILeases.close, (LEASE)));
        _assertRented(90 minutes);
    }

    /// @dev As a tenant's key is: for requests to agents, for taking over a lease, for whatever there will be.
    function test_a_safe_s_signature_is_a_tenant_s() external view {
        bytes32 digest = accounts.acceptTransferDigest(address(safe), address(pool), LEASE, NOW);
        bytes memory proof = _safeProof(safe, digest);
        vm.assertTrue(accounts.isAuthorized(address(safe), digest, proof));
        vm.assertFalse(accounts.isAuthorized(address(safe), "other", proof));
        proof[40] ^= 0x01;
        vm.assertFalse(accounts.isAuthorized(address(safe), digest, proof));
    }

    /// @dev The same owners have two Safes and a group: a signature for one is none for the others.
    function test_a_safe_s_signature_is_no_other_s() external {
        ISafe other = _newSafe(1);
        vm.prank(tenant);
        pool.deposit(address(other), 1e18);
        IAccounts.Call[] memory calls = _call(abi.encodeCall(ILedger.transfer, (PROVIDER, 1)));
        bytes memory proof = _safeProof(safe, _digestOf(safe, calls));
        _expect(abi.encodeWithSelector(IAccounts.InvalidProof.selector, other));
        _submit(address(other), calls, 0, proof);
        proof = _safeProof(safe, _digestOf(other, calls));
        _expect(abi.encodeWithSelector(IAccounts.InvalidProof.selector, other));
        _submit(address(other), calls, 0, proof);
        proof = _proof(_digestOf(safe, calls)); // a group's, of the same people
        _expect(abi.encodeWithSelector(IAccounts.WrongGroup.selector, safe, group));
        _submit(address(safe), calls, 0, proof);
    }

    /// @dev A Safe is a signer among others.
    function test_a_safe_signs_in_a_group() external view {
        address[] memory two = new address[](2);
        bool first = address(safe) < tenant;
        (two[0], two[1]) = first ? (address(safe), tenant) : (tenant, address(safe));
        bytes32 digest = keccak256("digest");
        bytes memory signature = _slice(_safeProof(safe, digest));
        bytes memory asked = abi.encodePacked(uint8(first ? 0 : 1), CONTRACT, uint16(signature.length), signature);
        bytes memory key = abi.encodePacked(uint8(first ? 1 : 0), KEY, _bare(TENANT_KEY, digest));
        bytes memory proof = _head(2, two, SALT);
        proof = first ? abi.encodePacked(proof, asked, key) : abi.encodePacked(proof, key, asked);
        vm.assertTrue(accounts.isAuthorized(accounts.groupAddress(2, two, SALT), digest, proof));
    }

    /// @dev Without the proof's kind.
    function _slice(bytes memory proof) private pure returns (bytes memory signature) {
        signature = new bytes(proof.length - 1);
        for (uint256 i = 0; i < signature.length; ++i) {
            signature[i] = proof[i + 1];
        }
    }
}
