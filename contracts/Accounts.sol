// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";

/// @title Who may act for an account, and acting for it.
/// @dev Pools believe `actor()` when this contract calls them. So it calls nothing but pools, and only inside `execute`,
/// after the account itself has approved exactly these calls. It holds no money and has no owner.
contract Accounts is IAccounts, EIP712 {
    bytes1 private constant KEY = 0x01;
    bytes1 private constant ERC1271 = 0x02;

    bytes32 private constant CALL_TYPE = keccak256("Call(address target,bytes data)");
    bytes32 private constant EXECUTE_TYPE = keccak256(
        "Execute(address account,Call[] calls,uint256 nonce,uint256 deadline)Call(address target,bytes data)"
    );

    /// @notice Says which contracts are pools.
    IControllerFactory public immutable factory;

    address private transient _actor;
    mapping(address account => mapping(uint256 key => uint64 sequence)) private _sequences;

    /// @param factory_ where the factory is or will be: the two name each other, and the factory checks it
    constructor(IControllerFactory factory_) EIP712("Leasehold", "1") {
        factory = factory_;
    }

    /// @inheritdoc IAccounts
    function execute(address account, Call[] calldata calls, uint256 nonce, uint256 deadline, bytes calldata proof)
        external
        returns (bytes[] memory results)
    {
        // Check. A call that runs inside another one could borrow its actor's name: there are none.
        if (_actor != address(0)) revert Nested();
        if (block.timestamp > deadline) revert ExpiredDeadline(deadline);
        if (calls.length == 0) revert NoCalls();
        // Effect. The nonce is spent before anyone is asked anything.
        _useNonce(account, nonce);
        if (!isAuthorized(account, executeDigest(account, calls, nonce, deadline), proof)) {
            revert InvalidProof(account);
        }

        // Interact. All calls happen or none; the actor is cleared before anybody else's code can run again.
        _actor = account;
        results = new bytes[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            address target = calls[i].target;
            if (!factory.isPool(target)) revert InvalidTarget(target);
            results[i] = Address.functionCall(target, calls[i].data);
        }
        _actor = address(0);

        // Log
        emit Executed(account, nonce, msg.sender);
    }

    /// @inheritdoc IAccounts
    function actor() external view returns (address) {
        return _actor;
    }

    /// @inheritdoc IAccounts
    /// @dev A key's signature has 65 bytes and a low s (OpenZeppelin's ECDSA), so a digest has one proof per key; nothing
    /// relies on that, for nonces are what makes a proof single-use. An account is asked by a static call.
    function isAuthorized(address account, bytes32 digest, bytes calldata proof) public view returns (bool) {
        if (proof.length == 0) return false;
        bytes1 kind = proof[0];
        bytes calldata signature = proof[1:];
        if (kind == KEY) {
            (address signer, ECDSA.RecoverError fault,) = ECDSA.tryRecoverCalldata(digest, signature);
            return fault == ECDSA.RecoverError.NoError && signer == account;
        }
        if (kind == ERC1271) return SignatureChecker.isValidERC1271SignatureNowCalldata(account, digest, signature);
        return false;
    }

    /// @inheritdoc IAccounts
    function nonceOf(address account, uint192 key) external view returns (uint256) {
        return (uint256(key) << 64) | _sequences[account][key];
    }

    /// @inheritdoc IAccounts
    function executeDigest(address account, Call[] calldata calls, uint256 nonce, uint256 deadline)
        public
        view
        returns (bytes32)
    {
        bytes32[] memory hashes = new bytes32[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            hashes[i] = keccak256(abi.encode(CALL_TYPE, calls[i].target, keccak256(calls[i].data)));
        }
        bytes32 callsHash = keccak256(abi.encodePacked(hashes));
        return _hashTypedDataV4(keccak256(abi.encode(EXECUTE_TYPE, account, callsHash, nonce, deadline)));
    }

    /// @inheritdoc IAccounts
    function eip712Domain()
        public
        view
        override(EIP712, IAccounts)
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return super.eip712Domain();
    }

    function _useNonce(address account, uint256 nonce) private {
        uint256 key = nonce >> 64;
        uint64 sequence = _sequences[account][key];
        uint256 expected = (key << 64) | sequence;
        if (nonce != expected) revert InvalidNonce(nonce, expected);
        _sequences[account][key] = sequence + 1;
    }
}
