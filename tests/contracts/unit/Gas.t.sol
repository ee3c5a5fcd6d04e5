// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice What each operation costs, beside its ceiling (docs/contracts.md, "Cost"). Each is a transaction of its own
/// (`isolate`). The figures are in tests/contracts/snapshots/gas.json; one that differs from the committed file fails, and
/// `FORGE_SNAPSHOT_CHECK=false forge test --match-contract GasTest` writes the new ones.
/// @dev Through the clone, an 18-decimal OpenZeppelin token, a standing allowance. Nobody has anything in the ledger
/// unless a test says so; the pool, its provider and the token have traded before.
/// forge-config: default.isolate = true
/// forge-config: deep.isolate = true
contract GasTest is Fixture {
    address private constant OTHER = address(0x07BE4);
    uint32 private machine;

    function setUp() public override {
        super.setUp();
        _fund(OTHER);
        // The pool, the treasury and the provider have traded before.
        machine = _register(8);
        uint256 lease = _otherOpens();
        _start(lease);
        skip(1 hours);
        vm.prank(OTHER);
        pool.close(lease);
    }

    function _otherOpens() private returns (uint256) {
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        vm.prank(OTHER);
        return pool.open(request);
    }

    function _log(string memory name, uint256 ceiling) private {
        uint256 gas = vm.snapshotGasLastCall("gas", name);
        vm.assertLe(gas, ceiling, name);
    }

    function test_register_first() external {
        vm.prank(tenant);
        pool.register(
            _terms(), 8, 1, keccak256("hardware"), keccak256("contact"), OPERATOR, _consent(address(pool), tenant)
        );
        _log("register_first", 162_000);
    }

    function test_register_next() external {
        uint256 balance = pool.balanceOf(PROVIDER);
        vm.prank(PROVIDER);
        pool.withdraw(PROVIDER, balance);
        vm.prank(PROVIDER);
        pool.register(
            _terms(), 8, 1, keccak256("hardware"), keccak256("contact"), OPERATOR, _consent(address(pool), PROVIDER)
        );
        _log("register_next", 158_000); // the operator's consent is in it
    }

    function test_open_new() external {
        _open(machine, 8, 2 hours);
        _log("open_new", 121_000);
    }

    function test_open_reused() external {
        uint256 lease = _running(machine, 8, 2 hours);
        skip(1 hours);
        _close(lease);
        vm.prank(tenant);
        pool.withdraw(tenant, 0.5e18);
        LeaseRequest memory request = _request(machine, 8, 2 hours);
        request.reuse = lease;
        _open(request);
        _log("open_reused", 88_000);
    }

    function test_start() external {
        uint256 lease = _open(machine, 8, 2 hours);
        skip(5);
        vm.prank(OPERATOR);
        pool.start(lease, keccak256("endpoint"));
        _log("start", 44_000);
    }

    function test_close_warm() external {
        vm.prank(tenant);
        pool.deposit(tenant, 1);
        uint256 lease = _running(machine, 8, 2 hours);
        skip(1 hours);
        _close(lease);
        _log("close_warm", 76_000);
    }

    function test_close_cold() external {
        uint256 lease = _running(machine, 8, 2 hours);
        skip(1 hours);
        _close(lease);
        _log("close_cold", 92_000);
    }

    function test_claim_first() external {
        uint256 lease = _running(machine, 8, 2 hours);
        skip(1 hours);
        _claim(lease);
        _log("claim_first", 75_000);
    }

    function test_claim_later() external {
        uint256 lease = _running(machine, 8, 2 hours);
        skip(1 hours);
        _claim(lease);
        skip(10 minutes);
        _claim(lease);
        _log("claim_later", 58_000);
    }

    /// @dev What one more lease of the same machine adds: a batch of eleven less a batch of one, over ten.
    function test_claim_next() external {
        uint256 lease = _running(machine, 1, 6 hours);
        uint256[] memory leases = new uint256[](11);
        for (uint256 i = 0; i < 11; ++i) {
            leases[i] = _running(machine, 1, 6 hours);
        }
        _recordNext(lease, leases, "claim_next_first", 33_000);
        _recordNext(lease, leases, "claim_next_later", 16_000);
    }

    function _recordNext(uint256 lease, uint256[] memory leases, string memory name, uint256 ceiling) private {
        skip(1 hours);
        _claim(lease);
        uint256 one = vm.lastCallGas().gasTotalUsed;
        pool.claim(leases);
        uint256 eleven = vm.lastCallGas().gasTotalUsed;
        vm.snapshotValue("gas", name, (eleven - one) / 10);
        vm.assertLe((eleven - one) / 10, ceiling, name);
    }

    function test_withdraw() external {
        uint256 amount = pool.balanceOf(PROVIDER) / 2;
        vm.prank(PROVIDER);
        pool.withdraw(PROVIDER, amount);
        _log("withdraw", 50_000);
    }

    function test_pool() external {
        factory.createPool(address(token), OWNER, TREASURY, _params());
        _log("pool", 600_000);
    }
}
