// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {Consent, Params, Terms} from "../../contracts/interfaces/PoolTypes.sol";
import {QuietToken, SizedToken} from "../../contracts/test/OddTokens.sol";
import {SmartWallet} from "../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Cheats.sol";
import {Ghost} from "./Ghost.sol";

/// @notice Who lives in the pool, and how each of them calls it: directly, or through `Accounts` by a proof that somebody
/// else submits.
abstract contract World is Ghost {
    uint256 internal constant KEYS = 4; // people: accounts with a key of their own,
    uint256 internal constant PEOPLE = 6; // a smart wallet that the first of them owns, and a group of the first three
    uint256 internal constant VALIDATORS = 7;
    bytes32 private constant DOMAIN_TYPE =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

    IController public other; // a second pool of the same kind
    IAccounts public accounts;
    SizedToken public token; // perhaps a `QuietToken`: only calls that both answer alike go through this
    uint256 public unit; // one whole token
    address[] public people;
    address[] public validators;
    address public group;
    address public thief = address(0x7417EF);
    address public rogue = vm.addr(31); // provider and tenant who plays the rules for his gain,
    address public accomplice = vm.addr(32); // and his second name
    address public treasury = address(0x77EA5);
    address public owner = address(0x03E4);
    uint256 public donated; // sent to the pool without `deposit`
    uint256 public thiefsWealth;

    mapping(address account => uint256 key) internal _keys;
    mapping(address account => uint256 sequence) internal _sequences;
    bytes[] internal _used; // calls of `execute` that went through, for the thief to try again
    address[] internal _signers; // of the group, ascending

    function _populate() internal {
        for (uint256 i = 0; i < KEYS; i++) {
            people.push(_withKey(i + 1));
        }
        address wallet = address(new SmartWallet(people[0]));
        _keys[wallet] = 1;
        people.push(wallet);
        for (uint256 i = 0; i < 3; i++) {
            _signers.push(people[i]);
            for (uint256 j = i; j > 0 && _signers[j] < _signers[j - 1]; j--) {
                (_signers[j], _signers[j - 1]) = (_signers[j - 1], _signers[j]);
            }
        }
        group = accounts.groupAddress(2, _signers, 0);
        people.push(group);
        for (uint256 i = 0; i < VALIDATORS; i++) {
            validators.push(_withKey(11 + i));
            _fund(validators[i]);
        }
        for (uint256 i = 0; i < PEOPLE; i++) {
            if (people[i] != group) _fund(people[i]);
        }
        _withKey(31);
        _withKey(32);
        _fund(rogue);
        _fund(accomplice);
        _fund(thief);
        _fund(address(this)); // donations
        thiefsWealth = token.balanceOf(thief);
    }

    function _withKey(uint256 key) private returns (address account) {
        account = vm.addr(key);
        _keys[account] = key;
    }

    function _fund(address who) private {
        token.mint(who, 10_000_000 * unit);
        vm.prank(who);
        QuietToken(address(token)).approve(address(pool), type(uint256).max);
    }

    function _person(uint256 seed) internal view returns (address) {
        return people[seed % PEOPLE];
    }

    // -------------------------------------------------------------------------------------------------------- acting

    /// @dev Makes `call` on `target` as `who`. A `who` with a key goes through `Accounts` in one case of three, submitted
    /// by the thief, who wants nothing better than a proof in his hands; a group has no other way.
    function _as(address who, address target, bytes memory call, uint256 seed)
        internal
        returns (bool ok, bytes memory returned)
    {
        _acting = who;
        if (who == group || (_keys[who] != 0 && seed % 3 == 0)) {
            bytes memory execute = _signed(who, target, call, seed);
            vm.prank(thief);
            (ok, returned) = address(accounts).call(execute);
            if (ok) {
                _sequences[who]++;
                _used.push(execute);
            }
        } else {
            vm.prank(who);
            (ok, returned) = target.call(call);
        }
    }

    function _signed(address who, address target, bytes memory call, uint256 seed)
        internal
        view
        returns (bytes memory)
    {
        return _signedUntil(who, target, call, seed, vm.getBlockTimestamp() + 60);
    }

    function _signedUntil(address who, address target, bytes memory call, uint256 seed, uint256 deadline)
        internal
        view
        returns (bytes memory)
    {
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(target, call);
        uint256 nonce = _nonce(who);
        bytes memory proof = _proof(who, accounts.executeDigest(who, calls, nonce, deadline), seed);
        return abi.encodeCall(IAccounts.execute, (who, calls, nonce, deadline, proof));
    }

    function _nonce(address who) internal view returns (uint256) {
        return uint256(7) << 64 | _sequences[who];
    }

    // -------------------------------------------------------------------------------------------------------- proofs

    /// @dev What shows that `who` approved `digest`; of a group, by two of its three, as the seed says. A stranger signs for
    ///      nobody: before the first machine there is no operator and no provider.
    function _proof(address who, bytes32 digest, uint256 seed) internal view returns (bytes memory) {
        if (who == group) {
            uint8[] memory by = new uint8[](2);
            (by[0], by[1]) = seed & 0x10 == 0 ? (0, 1 + uint8(seed >> 5 & 1)) : (1, 2);
            return _groupProof(digest, by);
        }
        bytes1 kind = who.code.length == 0 ? bytes1(0x01) : bytes1(0x02);
        return abi.encodePacked(kind, _signature(_keys[who] == 0 ? 1 : _keys[who], digest));
    }

    function _groupProof(bytes32 digest, uint8[] memory by) internal view returns (bytes memory proof) {
        proof = abi.encodePacked(bytes1(0x03), uint8(2), uint8(3), _signers[0], _signers[1], _signers[2], bytes32(0));
        for (uint256 i = 0; i < by.length; i++) {
            bytes memory signature = _signature(_keys[_signers[by[i]]], digest);
            proof = abi.encodePacked(proof, by[i], bytes1(0x01), signature);
        }
    }

    function _signature(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function consentOf(address provider, address operator) external returns (Consent memory) {
        return _consent(provider, operator, 0);
    }

    /// @dev What `operator` signs to serve `provider`, for a minute.
    function _consent(address provider, address operator, uint256 seed) internal returns (Consent memory) {
        uint64 deadline = uint64(vm.getBlockTimestamp() + 60);
        consents[provider][operator] = deadline;
        return Consent(deadline, _proof(operator, pool.consentDigest(provider, operator, deadline), seed));
    }

    /// @dev The digest of typed data in the pool's domain.
    function _typed(bytes32 structHash) internal view returns (bytes32) {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN_TYPE, keccak256("Leasehold"), keccak256("1"), block.chainid, address(pool)));
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    // ----------------------------------------------------------------------------------------------- terms and rules

    function _terms(uint256 seed) internal view returns (Terms memory t) {
        t.price = uint80(seed % 4 == 0 ? 1 + seed % 1000 : unit / 1000 + seed % (5 * unit));
        t.spotPrice = uint80(seed & 0x100 == 0 ? 0 : 1 + t.price / 2);
        t.minDuration = uint24(60 * (1 + seed % 10));
        t.maxDuration = uint24(uint256(t.minDuration) + seed % 14 days);
        t.trial = uint16(seed % 901);
        t.availableUntilDay = uint16(vm.getBlockTimestamp() / 1 days + 30 + seed % 365);
    }

    function _params(uint256 seed) internal view returns (Params memory p) {
        p.minStakePerGpu = uint96(unit * (1 + seed % 500));
        p.feeBps = uint16(seed % 1001);
        p.holdFeeBps = uint16(seed % 10_001);
        p.maxSlashBps = uint16(1 + seed % 10_000);
        p.startWindow = uint24(60 + seed % 1 hours);
        p.noticeSeconds = uint24(60 + seed % 1 hours);
        p.penaltySeconds = uint24(seed % 1 days);
        p.challengeWindow = uint24(10 minutes + seed % 1 hours);
        p.claimLag = uint24(p.challengeWindow + 5 minutes + seed % 1 hours);
        p.filingWindow = 3 days;
        p.appealWindow = uint24(1 days + seed % 1 days);
        p.rulingWindow = 2 days;
        p.unstakeDelay = uint32(8 days + seed % 10 days);
        p.bond = uint96(seed % (p.minStakePerGpu + 1));
        p.reverifyInterval = uint32(seed % 1 days);
        p.seatStake = uint96(p.minStakePerGpu + unit * (seed >> 16 & 511)); // often less than the first seats cost
        p.verificationFee = uint96(seed % (10 * unit));
        p.committeeSize = seed & 0x100 == 0 ? 3 : 5;
        p.arbiter = seed & 0x600 == 0 ? address(0) : seed & 0x200 == 0 ? OWNERS_ARBITER : ARBITER;
    }
}
