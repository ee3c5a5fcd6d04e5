// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice The pool of `Fixture`, and a group of two out of three keys.
abstract contract GroupFixture is Fixture {
    uint256 internal constant HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;
    uint256 internal constant ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
    uint8 internal constant THRESHOLD = 2;
    bytes32 internal constant SALT = keccak256("salt");
    bytes1 internal constant GROUP = 0x03;
    bytes1 internal constant KEY = 0x01;
    bytes1 internal constant CONTRACT = 0x02;

    uint256[] internal keys;
    address[] internal signers;
    address internal group;

    function setUp() public virtual override {
        super.setUp();
        (keys, signers) = _signers(3);
        group = accounts.groupAddress(THRESHOLD, signers, SALT);
        vm.prank(tenant);
        pool.deposit(group, 1000e18);
    }

    /// @dev `count` keys in the order of their addresses.
    function _signers(uint256 count) internal pure returns (uint256[] memory made, address[] memory addresses) {
        made = new uint256[](count);
        addresses = new address[](count);
        for (uint256 i = 0; i < count; ++i) {
            uint256 key = uint256(keccak256(abi.encode("signer", i))) >> 1;
            address signer = vm.addr(key);
            uint256 at = i;
            for (; at > 0 && addresses[at - 1] > signer; --at) {
                (made[at], addresses[at]) = (made[at - 1], addresses[at - 1]);
            }
            (made[at], addresses[at]) = (key, signer);
        }
    }

    // --------------------------------------------------------------------------------------------- proofs, piece by piece

    function _head(uint8 threshold, address[] memory who, bytes32 salt) internal pure returns (bytes memory head) {
        head = abi.encodePacked(GROUP, threshold, uint8(who.length));
        for (uint256 i = 0; i < who.length; ++i) {
            head = abi.encodePacked(head, who[i]);
        }
        head = abi.encodePacked(head, salt);
    }

    function _head() internal view returns (bytes memory) {
        return _head(THRESHOLD, signers, SALT);
    }

    function _bare(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function _signature(uint8 index, bytes32 digest) internal view returns (bytes memory) {
        return abi.encodePacked(index, KEY, _bare(keys[index], digest));
    }

    /// @dev The signature's mirror image, which the curve allows too.
    function _mirrored(uint8 index, bytes32 digest) internal view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(keys[index], digest);
        return abi.encodePacked(index, KEY, r, ORDER - uint256(s), v == 27 ? uint8(28) : uint8(27));
    }

    function _proof(bytes32 digest, uint8 first, uint8 second) internal view returns (bytes memory) {
        return abi.encodePacked(_head(), _signature(first, digest), _signature(second, digest));
    }

    function _proof(bytes32 digest) internal view returns (bytes memory) {
        return _proof(digest, 0, 2);
    }

    // ---------------------------------------------------------------------------------------------------------- acting

    function _call(address target, bytes memory data) internal pure returns (IAccounts.Call[] memory calls) {
        calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(target, data);
    }

    function _call(bytes memory data) internal view returns (IAccounts.Call[] memory calls) {
        return _call(address(pool), data);
    }

    function _digest(IAccounts.Call[] memory calls) internal view returns (bytes32) {
        return accounts.executeDigest(group, calls, accounts.nonceOf(group, 0), NOW + 1 days);
    }

    /// @dev What the group's first and last signer approved, sent by a thief.
    function _asGroup(IAccounts.Call[] memory calls) internal returns (bytes memory result) {
        uint256 nonce = accounts.nonceOf(group, 0);
        bytes memory proof = _proof(_digest(calls));
        vm.prank(THIEF);
        bytes[] memory results = accounts.execute(group, calls, nonce, NOW + 1 days, proof);
        return results[results.length - 1];
    }

    function _submit(address account, IAccounts.Call[] memory calls, uint256 nonce, bytes memory proof) internal {
        vm.prank(THIEF);
        accounts.execute(account, calls, nonce, NOW + 1 days, proof);
    }
}
