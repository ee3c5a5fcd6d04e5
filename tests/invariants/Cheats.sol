// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @notice The few of forge's cheat codes that these tests use.
interface Cheats {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function addr(uint256 key) external pure returns (address);
    function chainId(uint256 id) external;
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function getBlockNumber() external view returns (uint256);
    function getBlockTimestamp() external view returns (uint256);
    function getNonce(address account) external view returns (uint64);
    function getRecordedLogs() external returns (Log[] memory);
    function pauseGasMetering() external;
    function prank(address sender) external;
    function recordLogs() external;
    function revertToState(uint256 snapshot) external returns (bool);
    function roll(uint256 number) external;
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function snapshotState() external returns (uint256 snapshot);
    function toString(uint256 value) external pure returns (string memory);
    function warp(uint256 timestamp) external;
}

Cheats constant vm = Cheats(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

/// @notice Moves time on. Not `warp(block.timestamp + n)`: the optimizer may take `block.timestamp` out of a loop.
function skip(uint256 secs) {
    vm.warp(vm.getBlockTimestamp() + secs);
}

/// @notice Moves the chain on by so many blocks.
function mine(uint256 blocks) {
    vm.roll(vm.getBlockNumber() + blocks);
}
