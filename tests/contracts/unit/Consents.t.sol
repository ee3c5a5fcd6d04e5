// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IController} from "../../../contracts/interfaces/IController.sol";
import {Consent, LeaseRequest} from "../../../contracts/interfaces/PoolTypes.sol";
import {SmartWallet} from "../../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice Nobody's agent serves a stranger's machine: what an operator signs, and what it is not good for.
contract ConsentsTest is Fixture {
    function _registering(address operator, Consent memory consent) private view returns (bytes memory) {
        return abi.encodeCall(pool.register, (_terms(), 1, 1, "hardware", "contact", operator, consent));
    }

    function _wrong() private pure returns (bytes memory) {
        return abi.encodeWithSelector(WrongProof.selector, OPERATOR);
    }

    function test_what_is_signed() external view {
        Consent memory consent = _consentBy(OPERATOR_KEY, address(pool), PROVIDER, 7);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(OPERATOR_KEY, pool.consentDigest(PROVIDER, OPERATOR, 7));
        vm.assertEq(consent.proof, abi.encodePacked(hex"01", r, s, v));
    }

    /// @dev A thief sees it on its way, and sends his own first: it is worth nothing to him.
    function test_it_is_the_providers_alone() external {
        Consent memory consent = _consent(address(pool), PROVIDER);
        _refused(THIEF, _registering(OPERATOR, consent), _wrong());
        vm.prank(PROVIDER);
        (bool ok,) = address(pool).call(_registering(OPERATOR, consent));
        vm.assertTrue(ok);
        _refused(
            THIEF,
            abi.encodeCall(pool.setOperator, (1, OPERATOR, consent)),
            abi.encodeWithSelector(NotAuthorized.selector, THIEF)
        );
    }

    function test_it_is_for_one_pool_and_one_chain() external {
        IController other = IController(factory.createPool(address(token), OWNER, TREASURY, _params()));
        _refused(PROVIDER, _registering(OPERATOR, _consent(address(other), PROVIDER)), _wrong());
        Consent memory consent = _consent(address(pool), PROVIDER);
        vm.chainId(block.chainid + 1);
        _refused(PROVIDER, _registering(OPERATOR, consent), _wrong());
    }

    function test_it_is_for_one_operator() external {
        Consent memory consent = _consentBy(0x09E9, address(pool), PROVIDER, uint64(NOW));
        _refused(PROVIDER, _registering(OPERATOR, consent), _wrong());
        uint32 machine = _register(1);
        _refused(PROVIDER, abi.encodeCall(pool.setOperator, (machine, OPERATOR, consent)), _wrong());
    }

    function test_its_deadline_passes_and_cannot_be_moved() external {
        Consent memory consent = _consent(address(pool), PROVIDER);
        skip(1 days);
        _register(1);
        skip(1);
        bytes memory expired = abi.encodeWithSelector(ConsentExpired.selector, NOW + 1 days);
        _refused(PROVIDER, _registering(OPERATOR, consent), expired);
        _refused(PROVIDER, abi.encodeCall(pool.setOperator, (1, OPERATOR, consent)), expired);
        consent.deadline += 1;
        _refused(PROVIDER, _registering(OPERATOR, consent), _wrong());
    }

    /// @dev Good for his next machine too, until its deadline: whose machines the key serves is all that it says.
    function test_it_is_good_for_another_machine_of_the_same_provider() external {
        Consent memory consent = _consent(address(pool), PROVIDER);
        for (uint32 id = 1; id < 3; ++id) {
            vm.prank(PROVIDER);
            vm.assertEq(pool.register(_terms(), 1, 1, "hardware", "contact", OPERATOR, consent), id);
        }
    }

    /// @dev A provider that is a contract is named like any other, and an operator that is one says so itself.
    function test_contracts_on_either_side() external {
        SmartWallet wallet = new SmartWallet(OPERATOR);
        Consent memory consent = _consent(address(pool), address(wallet));
        _fund(address(wallet));
        vm.prank(address(wallet));
        uint32 machine = pool.register(_terms(), 1, 1, "hardware", "contact", OPERATOR, consent);

        uint64 deadline = uint64(NOW);
        bytes32 digest = pool.consentDigest(address(wallet), address(wallet), deadline);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(OPERATOR_KEY, digest);
        consent = Consent(deadline, abi.encodePacked(hex"02", r, s, v));
        vm.prank(address(wallet));
        pool.setOperator(machine, address(wallet), consent);
        vm.assertEq(pool.machineOf(machine).operator, address(wallet));
        consent.proof[5] ^= 0x01;
        bytes memory call = abi.encodeCall(pool.setOperator, (machine, address(wallet), consent));
        _refused(address(wallet), call, abi.encodeWithSelector(WrongProof.selector, address(wallet)));
    }
}

/// @notice The smallest share that a machine leases, however it is asked for more or less.
contract SmallestShareTest is Fixture {
    uint32 private machine;

    function setUp() public override {
        super.setUp();
        machine = _serving(2, 4);
    }

    function _serving(uint8 gpus, uint8 smallest) private returns (uint32) {
        vm.prank(PROVIDER);
        return
            pool.register(_terms(), gpus, smallest, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
    }

    function _small(uint8 share, uint8 smallest) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ShareTooSmall.selector, share, smallest);
    }

    function test_open_refuses_less() external {
        vm.assertEq(pool.machineOf(machine).smallestShare, 4);
        vm.assertEq(pool.machineOf(machine).gpus, 2);
        for (uint8 share = 1; share < 4; share *= 2) {
            _refused(tenant, abi.encodeCall(pool.open, (_request(machine, share, 1 hours))), _small(share, 4));
        }
        _open(machine, 4, 1 hours);
        _open(machine, 8, 1 hours);
    }

    function test_whole_cards_only() external {
        uint32 whole = _serving(8, 8);
        vm.assertEq(pool.machineOf(whole).gpus, 8);
        _refused(tenant, abi.encodeCall(pool.open, (_request(whole, 4, 1 hours))), _small(4, 8));
        _open(whole, 64, 1 hours);
    }

    function test_resize_refuses_less() external {
        uint256 lease = _running(machine, 8, 2 hours);
        skip(20 minutes);
        _refused(tenant, abi.encodeCall(pool.resize, (lease, 2, 0)), _small(2, 4));
        vm.prank(tenant);
        pool.resize(lease, 4, 0);
    }

    /// @dev A standby that does not serve so little is no standby: the tenant keeps what he has.
    function test_failover_refuses_less() external {
        uint32 small = _register(1);
        LeaseRequest memory request = _request(small, 2, 2 hours);
        request.backup = keccak256(abi.encode(machine, uint16(1), uint16(0), WORKLOAD));
        uint256 lease = _open(request);
        _start(lease);
        _asFaults().setDown(small, uint32(NOW));
        bytes memory call = abi.encodeCall(pool.failover, (lease, machine, 1, 0, WORKLOAD));
        _refused(THIEF, call, _small(2, 4));
    }
}
