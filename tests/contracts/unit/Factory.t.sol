// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Accounts} from "../../../contracts/Accounts.sol";
import {Controller} from "../../../contracts/Controller.sol";
import {ControllerFactory} from "../../../contracts/ControllerFactory.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {IControllerFactory} from "../../../contracts/interfaces/IControllerFactory.sol";
import {SizedToken} from "../../../contracts/test/OddTokens.sol";
import {vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

contract FactoryTest is Fixture {
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
        _expect(abi.encodeWithSelector(IControllerFactory.WrongAccounts.selector, accounts));
        new ControllerFactory(address(implementation), address(0), address(0), address(0), address(0));
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
}
