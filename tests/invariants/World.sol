// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {Params, Terms} from "../../contracts/interfaces/IControllerTypes.sol";
import {SmartWallet} from "../../contracts/test/SmartWallet.sol";
import {QuietToken, SizedToken} from "../../contracts/test/OddTokens.sol";
import {vm} from "./Cheats.sol";
import {Ghost} from "./Ghost.sol";

/// @notice Who lives in the pool, and how each of them calls it: directly, or through `Accounts` by a proof that somebody
/// else submits.
abstract contract World is Ghost {
    uint256 internal constant KEYS = 4; // people: accounts with a key of their own
    uint256 internal constant PEOPLE = 5; // and a smart wallet that the first of them owns

    IAccounts public accounts;
    SizedToken public token; // perhaps a `QuietToken`: only calls that both answer alike go through this
    uint256 public unit; // one whole token
    address[] public people;
    address public thief = address(0x7417EF);
    address public treasury = address(0x77EA5);
    address public owner = address(0x03E4);
    uint256 public donated; // sent to the pool without `deposit`
    uint256 public thiefsWealth;

    mapping(address account => uint256 key) internal _keys;
    mapping(address account => uint256 sequence) internal _sequences;
    bytes[] internal _used; // calls of `execute` that went through, for the thief to try again

    function _populate() internal {
        for (uint256 i = 0; i < KEYS; i++) {
            address person = vm.addr(i + 1);
            _keys[person] = i + 1;
            people.push(person);
        }
        address wallet = address(new SmartWallet(people[0]));
        _keys[wallet] = 1;
        people.push(wallet);
        for (uint256 i = 0; i < PEOPLE; i++) {
            _fund(people[i]);
        }
        _fund(thief);
        _fund(address(this)); // donations
        thiefsWealth = token.balanceOf(thief);
    }

    function _fund(address who) private {
        token.mint(who, 10_000_000 * unit);
        vm.prank(who);
        QuietToken(address(token)).approve(address(pool), type(uint256).max);
    }

    function _person(uint256 seed) internal view returns (address) {
        return people[seed % PEOPLE];
    }

    /// @dev Makes `call` on the pool as `who`. A `who` with a key goes through `Accounts` in one case of three, submitted
    /// by the thief, who wants nothing better than a proof in his hands.
    function _as(address who, bytes memory call, uint256 seed) internal returns (bool ok, bytes memory returned) {
        if (_keys[who] != 0 && seed % 3 == 0) {
            bytes memory execute = _signed(who, call);
            vm.prank(thief);
            (ok, returned) = address(accounts).call(execute);
            if (ok) {
                _sequences[who]++;
                _used.push(execute);
            }
        } else {
            vm.prank(who);
            (ok, returned) = address(pool).call(call);
        }
    }

    function _signed(address who, bytes memory call) internal view returns (bytes memory) {
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(address(pool), call);
        uint256 nonce = uint256(7) << 64 | _sequences[who];
        uint256 deadline = vm.getBlockTimestamp() + 60;
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(_keys[who], accounts.executeDigest(who, calls, nonce, deadline));
        bytes memory proof = abi.encodePacked(who.code.length == 0 ? bytes1(0x01) : bytes1(0x02), r, s, v);
        return abi.encodeCall(IAccounts.execute, (who, calls, nonce, deadline, proof));
    }

    function _terms(uint256 seed) internal view returns (Terms memory t) {
        t.price = uint80(seed % 4 == 0 ? 1 + seed % 1000 : unit / 1000 + seed % (5 * unit));
        t.minDuration = uint24(60 * (1 + seed % 10));
        t.maxDuration = uint24(uint256(t.minDuration) + seed % 14 days);
        t.trial = uint16(seed % 901);
        t.availableUntilDay = uint16(vm.getBlockTimestamp() / 1 days + 30 + seed % 365);
    }

    function _params(uint256 seed) internal view returns (Params memory p) {
        p.minStakePerGpu = uint96(unit * (1 + seed % 500));
        p.feeBps = uint16(seed % 1001);
        p.holdFeeBps = uint16(seed % 10_001);
        p.maxSlashBps = 5000;
        p.startWindow = uint24(60 + seed % 1 hours);
        p.noticeSeconds = uint24(60 + seed % 1 hours);
        p.penaltySeconds = uint24(seed % 1 days);
        p.challengeWindow = uint24(10 minutes + seed % 1 hours);
        p.claimLag = uint24(p.challengeWindow + 5 minutes + seed % 1 hours);
        p.filingWindow = 3 days;
        p.appealWindow = 2 days;
        p.rulingWindow = 2 days;
        p.unstakeDelay = uint32(8 days + seed % 10 days);
    }
}
