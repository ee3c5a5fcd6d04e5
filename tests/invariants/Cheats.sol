// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @notice The few of forge's cheat codes that these tests use.
interface Cheats {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function addr(uint256 key) external pure returns (address);
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function getBlockTimestamp() external view returns (uint256);
    function getNonce(address account) external view returns (uint64);
    function getRecordedLogs() external returns (Log[] memory);
    function prank(address sender) external;
    function recordLogs() external;
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function warp(uint256 timestamp) external;
}

Cheats constant vm = Cheats(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

/// @notice Moves time on. Not `warp(block.timestamp + n)`: the optimizer may take `block.timestamp` out of a loop.
function skip(uint256 secs) {
    vm.warp(vm.getBlockTimestamp() + secs);
}
