// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {GroupAccount} from "./GroupAccount.sol";
import {IAccounts} from "./interfaces/IAccounts.sol";
import {IControllerFactory} from "./interfaces/IControllerFactory.sol";
import {ILeaseChanges, ILeases} from "./interfaces/ILeases.sol";
import {ILedger} from "./interfaces/ILedger.sol";
import {IPoolReads} from "./interfaces/IPoolReads.sol";
import {LeaseView} from "./interfaces/PoolTypes.sol";
import {Groups} from "./libraries/Groups.sol";
import {Signatures} from "./libraries/Signatures.sol";

/// @title Who may act for an account, and acting for it.
/// @dev Pools and their companions believe `actor()` when this contract calls them. So it calls nothing else but groups'
/// own accounts, whose code it knows, and itself, and only after the account has approved exactly these calls or a
/// delegate of its makes one that he may. While one call runs no other can begin, so nobody borrows the actor's name. It
/// holds no money and has no owner.
contract Accounts is IAccounts, EIP712 {
    using SafeCast for uint256;

    bytes32 private constant CALL_TYPE = keccak256("Call(address target,bytes data)");
    bytes32 private constant EXECUTE_TYPE = keccak256(
        "Execute(address account,Call[] calls,uint256 nonce,uint256 deadline)Call(address target,bytes data)"
    );
    bytes32 private constant ACCEPT_TRANSFER_TYPE =
        keccak256("AcceptTransfer(address account,address controller,uint256 lease,uint256 deadline)");

    /// @notice Says which contracts are pools and their companions.
    IControllerFactory public immutable factory;
    /// @notice Of which groups' accounts are clones. With this contract's address it gives every group's.
    address public immutable groupImplementation;
    bytes32 private immutable _groupCodeHash;

    address private transient _actor;
    mapping(address account => mapping(uint256 key => uint64 sequence)) private _sequences;
    mapping(address account => mapping(address pool => mapping(address delegate => Delegation))) private _delegations;

    /// @param factory_ where the factory is or will be: the two name each other, and the factory checks it
    constructor(IControllerFactory factory_) EIP712("Leasehold", "1") {
        factory = factory_;
        address group = address(new GroupAccount());
        groupImplementation = group;
        // A clone's code as ERC-1167 has it. What is found at a group's address is that or nothing.
        _groupCodeHash =
            keccak256(abi.encodePacked(hex"363d3d373d3d3d363d73", group, hex"5af43d82803e903d91602b57fd5bf3"));
    }

    // ----------------------------------------------------------------------------------------------- acting by a proof

    /// @inheritdoc IAccounts
    function execute(address account, Call[] calldata calls, uint256 nonce, uint256 deadline, bytes calldata proof)
        external
        returns (bytes[] memory results)
    {
        // Check
        if (_actor != address(0)) revert Nested();
        if (block.timestamp > deadline) revert ExpiredDeadline(deadline);
        if (calls.length == 0) revert NoCalls();
        // Effect. The nonce is spent before anyone is asked anything.
        _useNonce(account, nonce);
        _requireProof(account, executeDigest(account, calls, nonce, deadline), proof);

        // Interact. All calls happen or none; the actor is cleared before anybody else's code can run again.
        _actor = account;
        results = new bytes[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            (address target, bytes calldata data) = (calls[i].target, calls[i].data);
            if (!_mayCall(target, bytes4(data))) revert InvalidTarget(target);
            results[i] = Address.functionCall(target, data);
        }
        _actor = address(0);

        // Log
        emit Executed(account, nonce, msg.sender);
    }

    /// @inheritdoc IAccounts
    function actor() external view returns (address) {
        return _actor;
    }

    /// @inheritdoc IAccounts
    function nonceOf(address account, uint192 key) external view returns (uint256) {
        return (uint256(key) << 64) | _sequences[account][key];
    }

    /// @dev Every proof fails with its own error where it has one.
    function _requireProof(address account, bytes32 digest, bytes calldata proof) private view {
        if (bytes1(proof) == Signatures.GROUP) Groups.raise(_groupFault(account, digest, proof));
        else if (!isAuthorized(account, digest, proof)) revert InvalidProof(account);
    }

    function _useNonce(address account, uint256 nonce) private {
        uint256 key = nonce >> 64;
        uint64 sequence = _sequences[account][key];
        uint256 expected = (key << 64) | sequence;
        if (nonce != expected) revert InvalidNonce(nonce, expected);
        _sequences[account][key] = sequence + 1;
    }

    /// @dev Of this contract what an account does for itself, and nothing that runs calls in turn.
    function _mayCall(address target, bytes4 selector) private view returns (bool) {
        if (target != address(this)) return factory.isPoolContract(target);
        return selector == IAccounts.setDelegate.selector || selector == IAccounts.rescue.selector
            || selector == IAccounts.deployGroup.selector;
    }

    // ------------------------------------------------------------------------------------------------------- delegates

    /// @inheritdoc IAccounts
    function setDelegate(address pool, address delegate, uint96 cap, uint32 period, uint40 expiry) external {
        if (!factory.isPool(pool)) revert InvalidTarget(pool);
        address account = msg.sender == address(this) ? _actor : msg.sender;
        if (cap == 0 && expiry == 0) {
            delete _delegations[account][pool][delegate];
        } else {
            _delegations[account][pool][delegate] =
                Delegation({cap: cap, period: period, expiry: expiry, since: uint40(block.timestamp), spent: 0});
        }
        emit DelegateSet(account, pool, delegate, cap, period, expiry);
    }

    /// @inheritdoc IAccounts
    /// @dev One call, and none that takes others (`multicall`): between its begin and its end nothing can be put into the
    /// ledger but by the call itself. Of those that a delegate may make two can take from it and put there at once: `open`,
    /// by the leases that it settles, and `resize`, where the account is the provider too. There the lease says what it
    /// took. The pool calls no token on the way, for an account that is acted for pays from its ledger alone.
    function executeAsDelegate(address account, address pool, bytes calldata data)
        external
        returns (bytes memory result)
    {
        // Check
        if (_actor != address(0)) revert Nested();
        Delegation memory delegation = delegationOf(account, pool, msg.sender);
        if (delegation.since == 0) revert NotAuthorized(msg.sender);
        if (block.timestamp > delegation.expiry) revert DelegationExpired(delegation.expiry);
        bytes4 selector = bytes4(data);
        if (!_inScope(selector)) revert ScopeExceeded(selector);
        // What a provider gives up by closing another's lease stands in nobody's ledger, so no cap bounds it.
        if (selector == ILeases.close.selector && _leaseIn(pool, data).tenant != account) {
            revert ScopeExceeded(selector);
        }
        uint256 before = _measured(account, pool, data);

        // Interact
        _actor = account;
        result = Address.functionCall(pool, data);
        _actor = address(0);

        // Effect. Known only now, and undone with all the rest if it is too much.
        uint256 amount = _spentSince(before, account, pool, data, result);
        if (amount == 0) return result;
        uint256 spent = delegation.spent + amount;
        if (spent > delegation.cap) revert CapExceeded(spent, delegation.cap);
        delegation.spent = spent.toUint96();
        _delegations[account][pool][msg.sender] = delegation;

        // Log
        emit DelegateSpent(account, pool, msg.sender, amount, delegation.spent);
    }

    /// @inheritdoc IAccounts
    /// @dev Periods follow one another without a gap from when the delegate was set. So two caps can be spent around the
    /// border of two periods, never more than `n + 1` in a time of `n` periods.
    function delegationOf(address account, address pool, address delegate)
        public
        view
        returns (Delegation memory delegation)
    {
        delegation = _delegations[account][pool][delegate];
        uint256 period = delegation.period;
        if (period == 0) return delegation;
        uint256 periods = (block.timestamp - delegation.since) / period;
        if (periods == 0) return delegation;
        delegation.since += (periods * period).toUint40();
        delegation.spent = 0;
    }

    /// @return what tells how much a call takes: the lease's escrow, in `resize`, or the account's ledger
    function _measured(address account, address pool, bytes calldata data) private view returns (uint256) {
        if (bytes4(data) != ILeaseChanges.resize.selector) return ILedger(pool).balanceOf(account);
        return _leaseIn(pool, data).deposit;
    }

    /// @dev The lease that a call's first argument names.
    function _leaseIn(address pool, bytes calldata data) private view returns (LeaseView memory) {
        return IPoolReads(pool).leaseOf(uint256(bytes32(data[4:])));
    }

    /// @return amount what a delegate's call took out of the ledger, whatever it put there
    function _spentSince(uint256 before, address account, address pool, bytes calldata data, bytes memory result)
        private
        view
        returns (uint256 amount)
    {
        bytes4 selector = bytes4(data);
        if (selector == ILeases.open.selector) {
            return IPoolReads(pool).leaseOf(abi.decode(result, (uint256))).deposit;
        }
        uint256 now_ = _measured(account, pool, data);
        if (selector == ILeaseChanges.resize.selector) (before, now_) = (now_, before); // what an escrow gains is spent
        return now_ < before ? before - now_ : 0;
    }

    function _inScope(bytes4 selector) private pure returns (bool) {
        return selector == ILeases.open.selector || selector == ILeases.extend.selector
            || selector == ILeases.close.selector || selector == ILeases.reject.selector
            || selector == ILeaseChanges.resize.selector || selector == ILeases.setWorkload.selector;
    }

    // ---------------------------------------------------------------------------------------------------------- groups

    /// @inheritdoc IAccounts
    function groupAddress(uint8 threshold, address[] calldata signers, bytes32 salt) external view returns (address) {
        return Clones.predictDeterministicAddress(groupImplementation, Groups.identity(threshold, signers, salt));
    }

    /// @inheritdoc IAccounts
    /// @dev Once it is there nothing happens: nobody can spoil a proof that deploys and rescues by deploying first.
    function deployGroup(uint8 threshold, address[] calldata signers, bytes32 salt) external returns (address account) {
        bytes32 identity = Groups.identity(threshold, signers, salt);
        account = Clones.predictDeterministicAddress(groupImplementation, identity);
        if (account.codehash == _groupCodeHash) return account;
        Clones.cloneDeterministic(groupImplementation, identity);
        emit GroupDeployed(account, threshold, signers, salt);
    }

    /// @inheritdoc IAccounts
    function rescue(address token, address to, uint256 amount) external {
        // Check
        if (msg.sender != address(this)) revert NotAuthorized(msg.sender);
        address account = _actor;
        if (account.codehash != _groupCodeHash) revert NotDeployed(account);

        // Interact
        GroupAccount(payable(account)).send(token, to, amount);
    }

    function _groupFault(address account, bytes32 digest, bytes calldata proof) private view returns (bytes memory) {
        return Groups.fault(account, digest, proof, groupImplementation);
    }

    // ---------------------------------------------------------------------------------------------------------- proofs

    /// @inheritdoc IAccounts
    function isAuthorized(address account, bytes32 digest, bytes calldata proof) public view returns (bool) {
        if (proof.length == 0) return false;
        bytes1 kind = proof[0];
        if (kind == Signatures.KEY) return Signatures.isValidKey(account, digest, proof[1:]);
        if (kind == Signatures.ERC1271) return Signatures.isValidERC1271(account, digest, proof[1:]);
        if (kind == Signatures.GROUP) return _groupFault(account, digest, proof).length == 0;
        return false;
    }

    /// @inheritdoc IAccounts
    function executeDigest(address account, Call[] calldata calls, uint256 nonce, uint256 deadline)
        public
        view
        returns (bytes32)
    {
        bytes32[] memory hashes = new bytes32[](calls.length);
        for (uint256 i = 0; i < calls.length; ++i) {
            hashes[i] = keccak256(abi.encode(CALL_TYPE, calls[i].target, keccak256(calls[i].data)));
        }
        bytes32 callsHash = keccak256(abi.encodePacked(hashes));
        return _hashTypedDataV4(keccak256(abi.encode(EXECUTE_TYPE, account, callsHash, nonce, deadline)));
    }

    /// @inheritdoc IAccounts
    function acceptTransferDigest(address account, address controller, uint256 lease, uint256 deadline)
        external
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(keccak256(abi.encode(ACCEPT_TRANSFER_TYPE, account, controller, lease, deadline)));
    }

    /// @inheritdoc IAccounts
    function eip712Domain()
        public
        view
        override(EIP712, IAccounts)
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return super.eip712Domain();
    }
}
