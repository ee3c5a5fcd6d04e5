// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Accounts} from "./Accounts.sol";
import {IControllerExt} from "./interfaces/IControllerExt.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";
import {IControllerHooks} from "./interfaces/IControllerHooks.sol";
import {Params} from "./interfaces/IControllerTypes.sol";

/// @title Makes pools and remembers which contracts are pools. It has no owner and no power over them.
contract ControllerFactory is IControllerFactory {
    uint8 private constant MIN_DECIMALS = 6;
    uint8 private constant MAX_DECIMALS = 18;

    /// @inheritdoc IControllerFactory
    address public immutable accounts;
    /// @inheritdoc IControllerFactory
    address public immutable implementation;
    /// @inheritdoc IControllerFactory
    mapping(address controller => bool) public isPool;
    address[] private _pools;

    /// @param implementation_ a `Controller` whose `Accounts` names this factory: neither believes another
    constructor(address implementation_) {
        implementation = implementation_;
        accounts = IControllerExt(implementation_).accounts();
        if (address(Accounts(accounts).factory()) != address(this)) revert WrongAccounts(accounts);
    }

    /// @inheritdoc IControllerFactory
    /// @dev The companions are zero until they exist: hooks that belong to zero belong to nobody.
    function createPool(address token, address owner, address treasury, Params calldata params)
        external
        returns (address controller)
    {
        uint8 decimals = IERC20Metadata(token).decimals();
        if (decimals < MIN_DECIMALS || decimals > MAX_DECIMALS) revert TokenDecimals(decimals);
        bytes memory args = abi.encodePacked(token, address(0), address(0), address(0), address(0));
        controller = Clones.cloneWithImmutableArgs(implementation, args);
        isPool[controller] = true;
        _pools.push(controller);
        emit PoolCreated(_pools.length - 1, controller, token, owner, treasury);
        IControllerHooks(controller).initialize(owner, treasury, params);
    }

    /// @inheritdoc IControllerFactory
    function pools(uint256 offset, uint256 limit) external view returns (address[] memory page) {
        uint256 count = _pools.length;
        uint256 first = offset < count ? offset : count;
        uint256 size = count - first < limit ? count - first : limit;
        page = new address[](size);
        for (uint256 i = 0; i < size; ++i) {
            page[i] = _pools[first + i];
        }
    }

    /// @inheritdoc IControllerFactory
    function poolCount() external view returns (uint256) {
        return _pools.length;
    }
}
