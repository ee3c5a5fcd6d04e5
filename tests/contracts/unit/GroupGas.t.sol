// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ILeases} from "../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../contracts/interfaces/ILedger.sol";
import {vm} from "./Check.sol";
import {SafeFixture} from "./SafeFixture.sol";

/// @notice What it adds to an `open` that two of three signers make it, as a group and as a Safe. Figures as in `GasTest`.
/// @dev All pay from the ledger, which each has used before, and have sent something before: the plain account a
/// transaction, the group a proof, the Safe one of its transactions. Whoever submits pays 21,000 and the calldata.
/// forge-config: default.isolate = true
/// forge-config: deep.isolate = true
contract GroupGasTest is SafeFixture {
    uint32 private machine;

    function setUp() public override {
        super.setUp();
        machine = _register(8);
        vm.prank(tenant);
        pool.deposit(tenant, 1000e18);
    }

    function _opening() private view returns (bytes memory) {
        return abi.encodeCall(ILeases.open, (_request(machine, 8, 2 hours)));
    }

    /// @dev Somebody has opened, so that no measured lease is the pool's first.
    function _plain() private returns (uint256) {
        _open(machine, 8, 2 hours);
        _open(machine, 8, 2 hours);
        return vm.lastCallGas().gasTotalUsed;
    }

    function _record(string memory name, uint256 gas, uint256 ceiling) private {
        vm.snapshotValue("gas", name, gas);
        vm.assertLe(gas, ceiling, name);
    }

    function test_group_2of3_extra() external {
        uint256 plain = _plain();
        _asGroup(_call(abi.encodeCall(ILedger.transfer, (PROVIDER, 1))));
        _asGroup(_call(_opening()));
        _record("group_2of3_extra", vm.lastCallGas().gasTotalUsed - plain, 42_000);
    }

    /// @dev The yardstick: docs/contracts.md has 37,600 and 295,606 as published.
    function test_safe_2of3_extra() external {
        uint256 plain = _plain();
        _bySafe(abi.encodeCall(ILedger.transfer, (PROVIDER, 1)));
        _bySafe(_opening());
        _record("safe_2of3_extra", vm.lastCallGas().gasTotalUsed - plain, 50_000);
    }

    function test_safe_deploy() external {
        _newSafe(1);
        _record("safe_deploy", vm.lastCallGas().gasTotalUsed, 320_000);
    }
}
