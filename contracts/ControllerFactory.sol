// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Accounts} from "./Accounts.sol";
import {ICompanion} from "./interfaces/ICompanion.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";
import {IPoolHooks} from "./interfaces/IPoolHooks.sol";
import {IPoolReads} from "./interfaces/IPoolReads.sol";
import {Params} from "./interfaces/PoolTypes.sol";

/// @title Makes pools and remembers which contracts are pools. It has no owner and no power over them.
contract ControllerFactory is IControllerFactory {
    uint8 private constant MIN_DECIMALS = 6;
    uint8 private constant MAX_DECIMALS = 18;

    /// @dev A pool and its companions: a contract's own nonce begins at 1 and counts what it creates.
    uint256 private constant PARTS = 5;

    /// @inheritdoc IControllerFactory
    address public immutable accounts;
    /// @inheritdoc IControllerFactory
    address public immutable implementation;
    address private immutable _committee;
    address private immutable _faults;
    address private immutable _reputation;
    address private immutable _directory;
    /// @inheritdoc IControllerFactory
    mapping(address controller => bool) public isPool;
    address[] private _pools;

    /// @param implementation_ a `Controller` whose `Accounts` names this factory: neither believes another, and all parts one
    /// @param committee_ and the others: what the companions of every pool are clones of, for ever
    constructor(address implementation_, address committee_, address faults_, address reputation_, address directory_) {
        implementation = implementation_;
        _committee = committee_;
        _faults = faults_;
        _reputation = reputation_;
        _directory = directory_;
        accounts = IPoolReads(implementation_).accounts();
        address[4] memory companions = [committee_, faults_, reputation_, directory_];
        for (uint256 i = 0; i < companions.length; ++i) {
            address believed = ICompanion(companions[i]).accounts();
            if (believed != accounts) revert WrongAccounts(believed);
        }
        if (address(Accounts(accounts).factory()) != address(this)) revert WrongAccounts(accounts);
    }

    /// @inheritdoc IControllerFactory
    /// @dev The companions come first, with the address that the pool will have, and then the pool with theirs: so neither
    /// side can ever be told another.
    function createPool(address token, address owner, address treasury, Params calldata params)
        external
        returns (address controller)
    {
        // Check
        uint8 decimals = IERC20Metadata(token).decimals();
        if (decimals < MIN_DECIMALS || decimals > MAX_DECIMALS) revert TokenDecimals(decimals);

        // Effect
        uint256 index = _pools.length;
        controller = _addressOf(PARTS * (index + 1));
        isPool[controller] = true;
        _pools.push(controller);
        bytes memory args = abi.encodePacked(controller);
        args = abi.encodePacked(
            token,
            Clones.cloneWithImmutableArgs(_committee, args),
            Clones.cloneWithImmutableArgs(_faults, args),
            Clones.cloneWithImmutableArgs(_reputation, args),
            Clones.cloneWithImmutableArgs(_directory, args)
        );
        assert(Clones.cloneWithImmutableArgs(implementation, args) == controller);

        // Log, Interact
        emit PoolCreated(index, controller, token, owner, treasury);
        IPoolHooks(controller).initialize(owner, treasury, params);
    }

    /// @inheritdoc IControllerFactory
    /// @dev A companion is what its pool says it is; what `target` says of itself only tells which pool to ask. Any stranger
    /// may be asked: what it answers, or not at all, makes nothing fail.
    function isPoolContract(address target) external view returns (bool) {
        if (isPool[target]) return true;
        (bool ok, bytes memory answer) = target.staticcall(abi.encodeCall(ICompanion.controller, ()));
        if (!ok || answer.length < 32) return false;
        uint256 word = abi.decode(answer, (uint256));
        address controller = address(uint160(word));
        if (word >> 160 != 0 || !isPool[controller]) return false;
        (address committee, address faults, address reputation, address directory) = IPoolReads(controller).companions();
        return target == committee || target == faults || target == reputation || target == directory;
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

    /// @dev Where the contract that this one creates with `nonce` lies: the hash of both in RLP. Good for 3,355,443 pools;
    /// more need another factory.
    function _addressOf(uint256 nonce) private view returns (address) {
        bytes memory rlp = nonce < 0x80
            ? abi.encodePacked(uint8(nonce))
            : nonce < 0x100
                ? abi.encodePacked(hex"81", uint8(nonce))
                : nonce < 0x10000
                    ? abi.encodePacked(hex"82", uint16(nonce))
                    : abi.encodePacked(hex"83", SafeCast.toUint24(nonce));
        bytes1 length = bytes1(uint8(0xC0 + 21 + rlp.length));
        return address(uint160(uint256(keccak256(abi.encodePacked(length, hex"94", address(this), rlp)))));
    }
}
