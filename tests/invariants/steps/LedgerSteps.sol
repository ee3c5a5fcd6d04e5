// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {QuietToken} from "../../../contracts/test/OddTokens.sol";
import {mine, skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Time, and money that moves.
abstract contract LedgerSteps is Steps {
    function pass(uint256 seed) external {
        seed = _mix(seed);
        uint256 kind = seed % 32;
        if (kind < 12) skip(1 + (seed >> 8) % 5 minutes);
        else if (kind < 28) skip(1 + (seed >> 8) % 2 hours);
        else if (kind < 31) skip(1 + (seed >> 8) % 2 days);
        else skip(1 + (seed >> 8) % 30 days);
        mine(1 + seed % 8);
        _count(msg.sig);
    }

    /// @dev Always directly: `Accounts` has no tokens to deposit.
    function deposit(uint256 seed, uint256 to, uint256 amount) external {
        seed = _mix(seed);
        to = _mix(to);
        amount = _mix(amount);
        amount = 1 + amount % (100_000 * unit);
        address who = people[seed % (PEOPLE - 1)]; // the group has no wallet
        _do(who, abi.encodeCall(pool.deposit, (_person(to), amount)), 1);
    }

    function transfer(uint256 seed, uint256 to, uint256 amount) external {
        seed = _mix(seed);
        to = _mix(to);
        amount = _mix(amount);
        address who = _person(seed);
        amount = 1 + amount % (ledger[who] + 1);
        _do(who, abi.encodeCall(pool.transfer, (_person(to), amount)), seed >> 8);
    }

    function withdraw(uint256 seed, uint256 to, uint256 amount) external {
        seed = _mix(seed);
        to = _mix(to);
        amount = _mix(amount);
        address who = _person(seed);
        amount = 1 + amount % (ledger[who] + 1);
        _do(who, abi.encodeCall(pool.withdraw, (_person(to), amount)), seed >> 8);
    }

    function donate(uint256 amount) external {
        amount = _mix(amount);
        amount %= unit;
        QuietToken(address(token)).transfer(address(pool), amount);
        donated += amount;
        _count(msg.sig);
    }
}
