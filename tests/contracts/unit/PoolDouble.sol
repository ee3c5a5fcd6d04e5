// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {
    AccountView,
    LeaseView,
    MachineStatus,
    MachineView,
    Params,
    Terms
} from "../../../contracts/interfaces/PoolTypes.sol";

/// @notice A pool for tests of companions alone: a ledger that anybody may fill, and machines, leases and records that
/// are whatever the test says.
contract PoolDouble {
    error NotAuthorized(address actor);
    error InsufficientBalance(address account, uint256 balance, uint256 needed);

    mapping(address account => uint256) public balanceOf;
    mapping(uint32 machine => MachineView) private _machines;
    mapping(uint256 lease => LeaseView) private _leases;
    mapping(address account => AccountView) private _accountViews;
    mapping(uint32 machine => uint256) public told; // how often the committee said something of it
    mapping(address provider => uint256) public slashedOf; // it is its own `Faults`
    address[4] private _companions;
    address public owner;
    address public treasury;
    uint256 public held;
    Params private _params;

    constructor(address owner_, address treasury_, Params memory params_) {
        (owner, treasury, _params) = (owner_, treasury_, params_);
    }

    function connect(address committee, address faults, address reputation, address directory) external {
        _companions = [committee, faults, reputation, directory];
    }

    function deposit(address to, uint256 amount) external {
        balanceOf[to] += amount;
        held += amount;
    }

    function transfer(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
    }

    function charge(address from, uint256 amount) external {
        if (msg.sender != _companions[0]) revert NotAuthorized(msg.sender);
        _move(from, msg.sender, amount);
    }

    function setVerified(uint32 machine, uint16 revision, bool verified) external {
        if (msg.sender != _companions[0]) revert NotAuthorized(msg.sender);
        require(_machines[machine].revision == revision && _machines[machine].status != MachineStatus.Retired);
        _machines[machine].status = verified ? MachineStatus.Verified : MachineStatus.Unverified;
        ++told[machine];
    }

    function setParams(Params calldata params_) external {
        _params = params_;
    }

    function setMachine(uint32 id, address provider, MachineStatus status, uint16 revision) external {
        _machines[id].provider = provider;
        _machines[id].status = status;
        _machines[id].revision = revision;
    }

    function setLease(uint256 id, LeaseView calldata lease) external {
        _leases[id] = lease;
    }

    function setAccount(address provider, AccountView calldata account, uint256 slashed) external {
        _accountViews[provider] = account;
        slashedOf[provider] = slashed;
    }

    function machineOf(uint32 id) external view returns (MachineView memory) {
        return _machines[id];
    }

    function leaseOf(uint256 id) external view returns (LeaseView memory) {
        return _leases[id];
    }

    function accountOf(address provider) external view returns (AccountView memory) {
        return _accountViews[provider];
    }

    function termsOf(uint32, uint16) external pure returns (Terms memory terms, uint16 version) {
        return (terms, 1);
    }

    function paramsVersion() external pure returns (uint16) {
        return 1;
    }

    function params(uint16) external view returns (Params memory) {
        return _params;
    }

    function companions() external view returns (address, address, address, address) {
        return (_companions[0], _companions[1], _companions[2], _companions[3]);
    }

    function _move(address from, address to, uint256 amount) private {
        if (balanceOf[from] < amount) revert InsufficientBalance(from, balanceOf[from], amount);
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }
}

/// @notice `Accounts` for such tests: believes keys only, and acts for whoever the test names.
contract AccountsDouble {
    address public actor;

    function isAuthorized(address account, bytes32 digest, bytes calldata proof) external pure returns (bool) {
        (address signer, ECDSA.RecoverError fault,) = ECDSA.tryRecoverCalldata(digest, proof);
        return fault == ECDSA.RecoverError.NoError && signer == account;
    }

    function act(address as_, address target, bytes calldata data) external {
        actor = as_;
        (bool ok, bytes memory answer) = target.call(data);
        actor = address(0);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(answer, 32), mload(answer))
            }
        }
    }
}

function cloneFor(address implementation, address pool) returns (address) {
    return Clones.cloneWithImmutableArgs(implementation, abi.encodePacked(pool));
}
