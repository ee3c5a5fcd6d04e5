// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @notice A contract that owns things: it signs by ERC-1271 with its owner's key and calls what its owner tells it to.
/// Only for tests.
contract SmartWallet {
    address public immutable owner;
    /// @notice What `isValidSignature` does besides: nothing, revert, return too little, or burn all gas.
    uint8 public mood;

    error NotOwner();
    error Moody();

    constructor(address owner_) {
        owner = owner_;
    }

    function setMood(uint8 mood_) external {
        mood = mood_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (mood == 1) revert Moody();
        if (mood == 2) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        if (mood == 3) {
            while (true) {}
        }
        if (signature.length != 65) return 0xffffffff;
        address signer = ecrecover(digest, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer == owner && signer != address(0) ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    function run(address target, bytes calldata data) external returns (bytes memory) {
        if (msg.sender != owner) revert NotOwner();
        (bool ok, bytes memory returned) = target.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(returned, 32), mload(returned))
            }
        }
        return returned;
    }
}
