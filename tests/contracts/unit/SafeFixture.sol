// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {vm} from "./Check.sol";
import {GroupFixture} from "./GroupFixture.sol";

/// @notice What is used of Safe 1.4.1.
interface ISafe {
    function setup(
        address[] calldata owners,
        uint256 threshold,
        address to,
        bytes calldata data,
        address fallbackHandler,
        address paymentToken,
        uint256 payment,
        address payable paymentReceiver
    ) external;
    function execTransaction(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256 safeTxGas,
        uint256 baseGas,
        uint256 gasPrice,
        address gasToken,
        address payable refundReceiver,
        bytes calldata signatures
    ) external payable returns (bool);
    function getTransactionHash(
        address to,
        uint256 value,
        bytes calldata data,
        uint8 operation,
        uint256 safeTxGas,
        uint256 baseGas,
        uint256 gasPrice,
        address gasToken,
        address refundReceiver,
        uint256 nonce
    ) external view returns (bytes32);
    function nonce() external view returns (uint256);
    function domainSeparator() external view returns (bytes32);
}

interface ISafeFactory {
    function createProxyWithNonce(address singleton, bytes calldata initializer, uint256 saltNonce)
        external
        returns (address);
}

/// @notice A real Safe of the group's three signers, two of whom must sign: the bytecode that its authors published.
abstract contract SafeFixture is GroupFixture {
    string private constant ARTIFACTS = "node_modules/@safe-global/safe-contracts/build/artifacts/contracts/";
    bytes32 private constant MESSAGE_TYPE = keccak256("SafeMessage(bytes message)");

    address private singleton;
    address private handler;
    ISafeFactory private safes;
    ISafe internal safe;

    function setUp() public virtual override {
        super.setUp();
        singleton = _published("Safe.sol/Safe.json");
        handler = _published("handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json");
        safes = ISafeFactory(_published("proxies/SafeProxyFactory.sol/SafeProxyFactory.json"));
        safe = _newSafe(0);
        vm.prank(tenant);
        pool.deposit(address(safe), 1000e18);
    }

    function _published(string memory path) private returns (address at) {
        bytes memory code = vm.parseJsonBytes(vm.readFile(string.concat(ARTIFACTS, path)), ".bytecode");
        assembly ("memory-safe") {
            at := create(0, add(code, 32), mload(code))
        }
        vm.assertTrue(at != address(0), path);
    }

    function _newSafe(uint256 salt) internal returns (ISafe) {
        bytes memory setup =
            abi.encodeCall(ISafe.setup, (signers, 2, address(0), "", handler, address(0), 0, payable(0)));
        return ISafe(safes.createProxyWithNonce(singleton, setup, salt));
    }

    /// @dev Two owners' signatures in the order of their addresses, as Safe wants them.
    function _owners(bytes32 hash) internal view returns (bytes memory) {
        return abi.encodePacked(_bare(keys[0], hash), _bare(keys[2], hash));
    }

    /// @dev A transaction of the Safe that calls the pool.
    function _bySafe(bytes memory data) internal {
        bytes32 hash = safe.getTransactionHash(address(pool), 0, data, 0, 0, 0, 0, address(0), address(0), safe.nonce());
        bytes memory signatures = _owners(hash);
        vm.prank(THIEF); // anyone may submit it
        safe.execTransaction(address(pool), 0, data, 0, 0, 0, 0, address(0), payable(0), signatures);
    }

    /// @dev A proof of `at` over `digest`: its owners sign what Safe makes of it, which names the Safe.
    function _safeProof(ISafe at, bytes32 digest) internal view returns (bytes memory) {
        bytes32 message = keccak256(abi.encode(MESSAGE_TYPE, keccak256(abi.encode(digest))));
        bytes32 hash = keccak256(abi.encodePacked(hex"1901", at.domainSeparator(), message));
        return abi.encodePacked(CONTRACT, _owners(hash));
    }
}
