// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Accounts} from "../../../contracts/Accounts.sol";
import {Controller} from "../../../contracts/Controller.sol";
import {ControllerExt} from "../../../contracts/ControllerExt.sol";
import {ControllerFactory} from "../../../contracts/ControllerFactory.sol";
import {Committee} from "../../../contracts/companions/Committee.sol";
import {Directory} from "../../../contracts/companions/Directory.sol";
import {Faults} from "../../../contracts/companions/Faults.sol";
import {Reputation} from "../../../contracts/companions/Reputation.sol";
import {ICompanion} from "../../../contracts/interfaces/ICompanion.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {IControllerFactory} from "../../../contracts/interfaces/IControllerFactory.sol";
import {SizedToken} from "../../../contracts/test/OddTokens.sol";
import {vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice A contract that says it belongs to a pool.
contract Claimant {
    bytes private _answer;

    constructor(bytes memory answer) {
        _answer = answer;
    }

    function controller() external view {
        bytes memory answer = _answer;
        if (answer.length == 0) revert("none");
        if (answer.length == 1) while (true) {}
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }
}

contract FactoryTest is Fixture {
    /// @dev Where the factory keeps the number of its pools.
    bytes32 private constant POOLS = bytes32(uint256(1));

    function _create(address token_) private returns (address) {
        return factory.createPool(token_, OWNER, TREASURY, _params());
    }

    function test_wiring() external view {
        vm.assertEq(factory.accounts(), address(accounts));
        vm.assertEq(address(accounts.factory()), address(factory));
        vm.assertEq(factory.implementation(), address(implementation));
        vm.assertTrue(factory.isPool(address(pool)));
        vm.assertFalse(factory.isPool(address(implementation)));
    }

    /// @dev A factory whose `Accounts` believes another would make pools that anybody could act in.
    function test_accounts_must_name_the_factory() external {
        address[4] memory mine = _companions(accounts);
        _expect(abi.encodeWithSelector(IControllerFactory.WrongAccounts.selector, accounts));
        new ControllerFactory(address(implementation), mine[0], mine[1], mine[2], mine[3]);
    }

    /// @dev A companion that believes another would take anybody's word for whom it acts.
    function test_every_companion_believes_the_same_accounts() external {
        Accounts another = new Accounts(factory);
        address[4] memory mine = _companions(accounts);
        address[4] memory others = _companions(another);
        for (uint256 i = 0; i < 4; ++i) {
            address[4] memory made = [mine[0], mine[1], mine[2], mine[3]];
            made[i] = others[i];
            _expect(abi.encodeWithSelector(IControllerFactory.WrongAccounts.selector, another));
            new ControllerFactory(address(implementation), made[0], made[1], made[2], made[3]);
        }
    }

    function _companions(Accounts believed) private returns (address[4] memory) {
        return [
            address(new Committee(believed)),
            address(new Faults(believed)),
            address(new Reputation(believed)),
            address(new Directory(believed))
        ];
    }

    /// @dev Else the ledger could believe one that the factory has never seen.
    function test_both_halves_believe_the_same_accounts() external {
        Accounts another = new Accounts(factory);
        _expect(abi.encodeWithSelector(IControllerFactory.WrongAccounts.selector, accounts));
        new Controller(another, address(extension));
    }

    function test_createPool() external {
        address predicted = vm.computeCreateAddress(address(factory), vm.getNonce(address(factory)) + 4);
        vm.expectEmit(true, true, true, true, address(factory));
        emit IControllerFactory.PoolCreated(1, predicted, address(token), OWNER, TREASURY);
        IController made = IController(_create(address(token)));
        vm.assertEq(made.token(), address(token));
        vm.assertEq(made.owner(), OWNER);
        vm.assertEq(made.treasury(), TREASURY);
        vm.assertEq(made.paramsVersion(), 1);
        vm.assertFalse(made.paused());
    }

    function test_createPool_refuses() external {
        address five = address(new SizedToken(5));
        _expect(abi.encodeWithSelector(IControllerFactory.TokenDecimals.selector, 5));
        _create(five);
        address nineteen = address(new SizedToken(19));
        _expect(abi.encodeWithSelector(IControllerFactory.TokenDecimals.selector, 19));
        _create(nineteen);
        vm.expectRevert();
        _create(address(0)); // no token
        vm.expectRevert();
        _create(address(factory)); // a contract that is no token
        _expect(abi.encodeWithSelector(ZeroAddress.selector));
        factory.createPool(address(token), address(0), TREASURY, _params());
        _expect(abi.encodeWithSelector(ZeroAddress.selector));
        factory.createPool(address(token), OWNER, address(0), _params());
    }

    function test_six_and_eighteen_decimals() external {
        _create(address(new SizedToken(6)));
        _create(address(new SizedToken(18)));
    }

    function test_pools_by_pages() external {
        address second = _create(address(token));
        address third = _create(address(token));
        vm.assertEq(factory.poolCount(), 3);
        address[] memory page = factory.pools(0, 2);
        vm.assertTrue(page.length == 2 && page[0] == address(pool) && page[1] == second);
        page = factory.pools(2, 9);
        vm.assertTrue(page.length == 1 && page[0] == third);
        vm.assertEq(factory.pools(3, 9).length, 0);
        vm.assertEq(factory.pools(9, 9).length, 0);
    }

    // ------------------------------------------------------------------------------------------- addresses foretold

    /// @dev As if `count` pools had been made, each with its four companions.
    function _after(uint256 count) private {
        vm.store(address(factory), POOLS, bytes32(count));
        vm.setNonce(address(factory), uint64(1 + 5 * count));
        vm.assertEq(factory.poolCount(), count);
    }

    /// @dev A nonce takes one byte, then two, three and four of RLP: on both sides of each border. The factory asserts
    /// that what it foretold is what it made.
    function test_addresses_at_every_length_of_a_nonce() external {
        uint256[6] memory counts = [uint256(24), 25, 50, 51, 13_106, 13_107];
        uint256[6] memory nonces = [uint256(0x7D), 0x82, 0xFF, 0x104, 0xFFFF, 0x10004];
        for (uint256 i = 0; i < counts.length; ++i) {
            _after(counts[i]);
            uint256 nonce = vm.getNonce(address(factory)) + 4;
            vm.assertEq(nonce, nonces[i]);
            IController made = IController(_create(address(token)));
            vm.assertEq(address(made), vm.computeCreateAddress(address(factory), nonce));
            (address committee, address faults, address reputation, address directory) = made.companions();
            vm.assertEq(ICompanion(committee).controller(), address(made));
            vm.assertEq(ICompanion(faults).controller(), address(made));
            vm.assertEq(ICompanion(reputation).controller(), address(made));
            vm.assertEq(ICompanion(directory).controller(), address(made));
        }
    }

    function test_the_last_pool_of_a_factory() external {
        _after(3_355_442);
        _create(address(token));
        _expect(abi.encodeWithSelector(SafeCast.SafeCastOverflowedUintDowncast.selector, 24, 0x1000004));
        _create(address(token));
    }

    // -------------------------------------------------------------------------------------------- what belongs to pools

    function _claims(bytes memory answer) private returns (bool) {
        return factory.isPoolContract(address(new Claimant(answer)));
    }

    function test_pools_and_their_companions() external {
        IController second = IController(_create(address(token)));
        IController[2] memory both = [pool, second];
        for (uint256 i = 0; i < both.length; ++i) {
            (address committee, address faults, address reputation, address directory) = both[i].companions();
            vm.assertTrue(factory.isPoolContract(address(both[i])));
            vm.assertTrue(factory.isPoolContract(committee));
            vm.assertTrue(factory.isPoolContract(faults));
            vm.assertTrue(factory.isPoolContract(reputation));
            vm.assertTrue(factory.isPoolContract(directory));
            vm.assertFalse(factory.isPool(committee));
        }
    }

    /// @dev Only a pool of this factory says who its companions are.
    function test_strangers_and_liars() external {
        vm.assertFalse(factory.isPoolContract(address(0)));
        vm.assertFalse(factory.isPoolContract(THIEF)); // no code
        vm.assertFalse(factory.isPoolContract(address(2))); // answers anything with a hash
        vm.assertFalse(factory.isPoolContract(address(token)));
        vm.assertFalse(factory.isPoolContract(address(factory)));
        vm.assertFalse(factory.isPoolContract(address(accounts)));
        vm.assertFalse(factory.isPoolContract(address(implementation)));
        vm.assertFalse(factory.isPoolContract(address(extension)));
        vm.assertFalse(_claims(abi.encode(pool))); // the pool knows nothing of it
        vm.assertFalse(_claims(abi.encode(this))); // no pool
        vm.assertFalse(_claims(""));
        vm.assertFalse(_claims(abi.encodePacked(pool))); // too short
        vm.assertFalse(_claims(abi.encode(1 << 160 | uint160(address(pool))))); // more than an address
        vm.assertFalse(_claims(abi.encode(pool, pool, pool)));
    }

    function test_a_stranger_who_burns_everything() external {
        Claimant burner = new Claimant(hex"00");
        vm.assertFalse(factory.isPoolContract{gas: 1_000_000}(address(burner)));
    }

    function test_another_factory_s_pools_are_strangers() external {
        (ControllerFactory other,) = _deploy();
        IController made = IController(other.createPool(address(token), OWNER, TREASURY, _params()));
        (address committee,,,) = made.companions();
        vm.assertTrue(other.isPoolContract(committee));
        vm.assertFalse(factory.isPoolContract(committee));
        vm.assertFalse(factory.isPoolContract(address(made)));
    }

    /// @dev All three parts of a pool.
    function test_the_extension_and_its_part_believe_the_same_accounts() external {
        Accounts another = new Accounts(factory);
        _expect(abi.encodeWithSelector(IControllerFactory.WrongAccounts.selector, accounts));
        new ControllerExt(another, address(moves));
        vm.assertEq(moves.accounts(), address(accounts));
        vm.assertEq(extension.moves(), address(moves));
    }
}
