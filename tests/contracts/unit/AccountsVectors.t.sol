// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Accounts} from "../../../contracts/Accounts.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {IControllerFactory} from "../../../contracts/interfaces/IControllerFactory.sol";
import {vm} from "./Check.sol";

/// @notice tests/vectors/typed_data.json, which every language must agree with, here as the contracts see it.
contract AccountsVectorsTest {
    // Whose first contract lies where the vectors have `Accounts`.
    address private constant DEPLOYER = 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266;
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant CALL_TYPE = keccak256("Call(address target,bytes data)");

    string private json;
    Accounts private accounts;
    string private at; // the vector that is looked at

    function setUp() external {
        json = vm.readFile("tests/vectors/typed_data.json");
        vm.chainId(31337);
        vm.prank(DEPLOYER);
        accounts = new Accounts(IControllerFactory(address(0)));
        vm.assertEq(address(accounts), vm.parseJsonAddress(json, ".groups[0].accounts"));
    }

    function _select(string memory list, uint256 index) private returns (bool) {
        at = string.concat(".", list, "[", vm.toString(index), "].");
        return vm.keyExistsJson(json, string.concat(at, "digest"));
    }

    function _path(string memory key) private view returns (string memory) {
        return string.concat(at, key);
    }

    function _text(string memory key) private view returns (string memory) {
        return vm.parseJsonString(json, _path(key));
    }

    function _word(string memory key) private view returns (bytes32) {
        return vm.parseJsonBytes32(json, _path(key));
    }

    function _uint(string memory key) private view returns (uint256) {
        return vm.parseJsonUint(json, _path(key));
    }

    function _address(string memory key) private view returns (address) {
        return vm.parseJsonAddress(json, _path(key));
    }

    function _is(string memory name) private view returns (bool) {
        return keccak256(bytes(_text("name"))) == keccak256(bytes(name));
    }

    /// @dev Each message hashed by Solidity's own encoding, signed, and recovered.
    function test_typed_data() external {
        uint256 count = 0;
        for (; _select("vectors", count); ++count) {
            bytes32 separator = keccak256(
                abi.encode(
                    DOMAIN_TYPE,
                    keccak256("Leasehold"),
                    keccak256("1"),
                    _uint("domain.chainId"),
                    _address("domain.verifyingContract")
                )
            );
            vm.assertEq(separator, _word("domain_separator"));
            bytes32 typeHash = keccak256(bytes(_text("type")));
            vm.assertEq(typeHash, _word("type_hash"));
            bytes32 structHash = keccak256(bytes.concat(typeHash, _members()));
            vm.assertEq(structHash, _word("struct_hash"));
            bytes32 digest = keccak256(abi.encodePacked(hex"1901", separator, structHash));
            vm.assertEq(digest, _word("digest"));
            bytes memory proof = bytes.concat(hex"01", vm.parseJsonBytes(json, _path("signature")));
            vm.assertTrue(accounts.isAuthorized(_address("signer"), digest, proof));
        }
        vm.assertEq(count, 14);
    }

    /// @dev What a message's members contribute, by hand.
    function _members() private view returns (bytes memory) {
        if (_is("Execute")) {
            bytes memory hashes;
            IAccounts.Call[] memory calls = _calls();
            for (uint256 i = 0; i < calls.length; ++i) {
                hashes =
                    bytes.concat(hashes, keccak256(abi.encode(CALL_TYPE, calls[i].target, keccak256(calls[i].data))));
            }
            return abi.encode(
                _address("message.account"), keccak256(hashes), _uint("message.nonce"), _uint("message.deadline")
            );
        }
        if (_is("AcceptTransfer")) {
            return abi.encode(
                _address("message.account"),
                _address("message.controller"),
                _uint("message.lease"),
                _uint("message.deadline")
            );
        }
        if (_is("Offer")) {
            return bytes.concat(
                abi.encode(
                    _address("message.account"),
                    _uint("message.machine"),
                    _uint("message.revision"),
                    _uint("message.price"),
                    _uint("message.cells"),
                    _uint("message.duration"),
                    vm.parseJsonBool(json, _path("message.spot"))
                ),
                abi.encode(_address("message.tenant"), _uint("message.nonce"), _uint("message.expiresAt"))
            );
        }
        if (_is("Answer")) {
            return abi.encode(
                _address("message.account"), _uint("message.machine"), _uint("message.fault"), _uint("message.issuedAt")
            );
        }
        if (_is("Recover")) {
            return abi.encode(_address("message.account"), _uint("message.machine"), _uint("message.issuedAt"));
        }
        if (_is("Operate")) {
            return abi.encode(
                _uint("message.chain"),
                _address("message.controller"),
                _address("message.provider"),
                _address("message.operator"),
                _uint("message.deadline")
            );
        }
        if (_is("Outage")) {
            return abi.encode(
                _address("message.account"), _uint("message.machine"), _uint("message.from"), _uint("message.to")
            );
        }
        if (_is("Contact")) {
            return abi.encode(_uint("message.machine"), _word("message.digest"), _uint("message.issuedAt"));
        }
        if (_is("Receipt")) {
            return abi.encode(
                _uint("message.chain"),
                _address("message.controller"),
                _uint("message.machine"),
                _word("message.digest"),
                _uint("message.expiresAt")
            );
        }
        if (_is("Statement")) {
            return abi.encode(
                _uint("message.chain"),
                _address("message.controller"),
                _uint("message.machine"),
                _word("message.digest"),
                _uint("message.issuedAt")
            );
        }
        bytes memory place =
            abi.encode(_address("message.account"), _uint("message.chain"), _address("message.controller"));
        if (_is("VolumeKey")) {
            return bytes.concat(place, abi.encode(keccak256(bytes(_text("message.name")))));
        }
        if (_is("Request")) {
            return bytes.concat(
                place,
                abi.encode(
                    _uint("message.machine"),
                    _uint("message.lease"),
                    keccak256(bytes(_text("message.op"))),
                    _word("message.paramsHash"),
                    _uint("message.issuedAt"),
                    _uint("message.expiresAt"),
                    _word("message.nonce")
                )
            );
        }
        vm.assertTrue(_is("Session"), _text("name"));
        bytes memory leases = abi.encode(_uint("message.leases[0]"), _uint("message.leases[1]"));
        bytes memory ops =
            abi.encode(keccak256(bytes(_text("message.ops[0]"))), keccak256(bytes(_text("message.ops[1]"))));
        return bytes.concat(
            place, abi.encode(keccak256(leases), keccak256(ops), _address("message.key"), _uint("message.expiresAt"))
        );
    }

    function _calls() private view returns (IAccounts.Call[] memory calls) {
        uint256 count = 0;
        while (vm.keyExistsJson(json, _path(string.concat("message.calls[", vm.toString(count), "]")))) ++count;
        calls = new IAccounts.Call[](count);
        for (uint256 i = 0; i < count; ++i) {
            string memory call = string.concat("message.calls[", vm.toString(i), "].");
            calls[i] = IAccounts.Call(
                _address(string.concat(call, "target")), vm.parseJsonBytes(json, _path(string.concat(call, "data")))
            );
        }
    }

    /// @dev The digests that `Accounts` itself computes.
    function test_digests_of_accounts() external {
        uint256 seen = 0;
        for (uint256 i = 0; _select("vectors", i); ++i) {
            if (!_is("Execute") && !_is("AcceptTransfer")) continue;
            ++seen;
            address account = _address("message.account");
            uint256 deadline = _uint("message.deadline");
            bytes32 digest = _is("Execute")
                ? accounts.executeDigest(account, _calls(), _uint("message.nonce"), deadline)
                : accounts.acceptTransferDigest(
                    account, _address("message.controller"), _uint("message.lease"), deadline
                );
            vm.assertEq(digest, _word("digest"));
        }
        vm.assertEq(seen, 3);
    }

    /// @dev Addresses of groups, and proofs as `Accounts` takes them; with a contract among the signers, that it gets as
    /// far as to ask it.
    function test_groups() external {
        uint256 count = 0;
        for (; _select("groups", count); ++count) {
            address account = _address("account");
            address[] memory signers = vm.parseJsonAddressArray(json, _path("signers"));
            // casting to 'uint8' is safe because a threshold is 16 at most
            // forge-lint: disable-next-line(unsafe-typecast)
            uint8 threshold = uint8(_uint("threshold"));
            vm.assertEq(accounts.groupAddress(threshold, signers, _word("salt")), account);
            IAccounts.Call[] memory none = new IAccounts.Call[](0);
            bytes32 digest = accounts.executeDigest(account, none, 0, _uint("message.deadline"));
            vm.assertEq(digest, _word("digest"));
            bytes memory proof = vm.parseJsonBytes(json, _path("proof"));
            bool keysOnly = vm.parseJsonBool(json, _path("keys_only"));
            vm.assertTrue(accounts.isAuthorized(account, digest, proof) == keysOnly);
        }
        vm.assertEq(count, 6);
    }
}
