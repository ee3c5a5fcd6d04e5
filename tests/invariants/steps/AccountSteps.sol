// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {skip, vm} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice Groups, delegates, and what proofs must not do.
abstract contract AccountSteps is Steps {
    /// @dev Everything that looks like two signatures of three and is not.
    function forgeGroup(uint256 seed) external {
        seed = _mix(seed);
        _fill(group, unit);
        bytes memory call = abi.encodeCall(pool.withdraw, (people[seed % 3], 1));
        uint8 a = uint8(seed >> 8) % 3;
        uint8 b = uint8((a + 1 + (seed >> 16) % 2) % 3);
        _refused(call, new uint8[](0));
        _refused(call, _list(a));
        _refused(call, _list(a, a)); // one who signs twice
        _refused(call, a < b ? _list(b, a) : _list(a, b)); // not in ascending order
        _refused(call, _list(a, b, a));

        _otherGroups(call, a, _oneSignature(call, a));
        _uninvited(call, _signers[a]);
        _count(msg.sig);
    }

    /// @dev Another threshold, fewer signers, or one of them twice: that is another group, whose address is not this.
    function _otherGroups(bytes memory call, uint8 a, bytes memory one) private {
        address s = _signers[a];
        bytes memory head = abi.encodePacked(bytes1(0x03), uint8(1), uint8(3), _heads(), bytes32(0));
        _refusedProof(call, abi.encodePacked(head, a, one));
        head = abi.encodePacked(bytes1(0x03), uint8(1), uint8(1), s, bytes32(0));
        _refusedProof(call, abi.encodePacked(head, uint8(0), one));
        head = abi.encodePacked(bytes1(0x03), uint8(2), uint8(2), s, s, bytes32(0));
        _refusedProof(call, abi.encodePacked(head, uint8(0), one, uint8(1), one));
    }

    function _uninvited(bytes memory call, address signer) private {
        vm.prank(signer);
        (bool ok,) = address(accounts).call(abi.encodeCall(IAccounts.executeAsDelegate, (group, address(pool), call)));
        _expect(!ok, 11, "a signer acted for the group as a delegate that nobody named");
    }

    /// @dev Two of three, whichever, may: the group is not stuck either.
    function actAsGroup(uint256 seed) external {
        seed = _mix(seed);
        _fill(group, unit);
        bool ok = _do(group, abi.encodeCall(pool.withdraw, (people[seed % 3], 1)), seed);
        _expect(ok, 11, "two of three signers could not act");
    }

    /// @dev A delegate spends no more than his cap, in calls of the kinds he may make, however often he tries.
    function delegate(uint256 seed, uint256 wish) external {
        seed = _mix(seed);
        wish = _mix(wish);
        address account = _person(seed);
        address friend = _person(seed >> 8);
        _fill(account, 20_000 * unit);
        uint256 cap = 1 + (seed >> 16) % (2000 * unit);
        if (!_doOn(address(accounts), account, _naming(friend, cap, vm.getBlockTimestamp() + 1 days), seed >> 24)) {
            return;
        }
        _prepare(_inService(wish), 1);
        _expect(_spend(friend, account, seed, wish) <= cap, 11, "a delegate spent more than his cap");
        if (wish & 1 == 0) skip(1 days + 1);
        else _doOn(address(accounts), account, _naming(friend, 0, 0), 1);
        bytes memory open = abi.encodeCall(pool.open, (_request(seed >> 40, wish)));
        _expect(_delegated(friend, account, open) == 0, 11, "a delegate spends whose time is over");
    }

    function _naming(address friend, uint256 cap, uint256 expiry) private view returns (bytes memory) {
        return abi.encodeCall(IAccounts.setDelegate, (address(pool), friend, uint96(cap), 0, uint40(expiry)));
    }

    /// @return spent what a delegate's calls took, all in all
    function _spend(address friend, address account, uint256 seed, uint256 wish) private returns (uint256 spent) {
        spent = _delegated(friend, account, abi.encodeCall(pool.open, (_request(seed >> 32, wish))));
        uint256 id = _ownLease(account, seed);
        spent += _delegated(friend, account, abi.encodeCall(pool.extend, (id, uint32(1 + wish % 1 days))));
        spent += _delegated(friend, account, abi.encodeCall(pool.resize, (id, 1, 0)));
        spent += _delegated(friend, account, abi.encodeCall(pool.close, (id)));
        uint256 before = ledger[account];
        _delegated(friend, account, abi.encodeCall(pool.transfer, (thief, 1)));
        _delegated(friend, account, abi.encodeCall(pool.withdraw, (thief, 1)));
        _delegated(friend, account, abi.encodeCall(pool.transferLease, (id, thief, 0, "")));
        _expect(ledger[account] == before, 11, "a delegate made a call that is not his to make");
    }

    /// @dev A proof that served once, again; one of another account's, on another chain, too late, or for another target.
    function replay(uint256 seed) external {
        seed = _mix(seed);
        if (_used.length == 0) return;
        _expect(!_submit(_used[seed % _used.length]), 10, "a proof worked twice");

        address who = people[seed % KEYS];
        _fill(who, unit);
        bytes memory call = abi.encodeCall(pool.withdraw, (who, 1));
        bytes memory attempt = _signed(who, address(pool), call, seed);
        address victim = people[(seed + 1) % KEYS];
        _expect(!_submit(_patched(attempt, 36, bytes32(uint256(uint160(victim))))), 10, "a proof for another account");
        uint256 later = vm.getBlockTimestamp() + 61;
        _expect(!_submit(_patched(attempt, 132, bytes32(later))), 10, "a proof worked with a later deadline");
        bytes memory moved = _patched(attempt, 260, bytes32(uint256(uint160(address(other)))));
        _expect(!_submit(moved), 10, "a proof worked in another pool");
        vm.chainId(block.chainid + 1);
        _expect(!_submit(attempt), 10, "a proof worked on another chain");
        vm.chainId(block.chainid - 1);
        attempt = _signedUntil(who, address(pool), call, seed, vm.getBlockTimestamp() - 1);
        _expect(!_submit(attempt), 10, "a proof worked after its deadline");
        attempt = _signed(who, address(pool), call, seed);
        _acting = who;
        vm.recordLogs();
        bool once = _submit(attempt);
        _absorb(once);
        if (once) {
            _sequences[who]++;
            _expect(!_submit(attempt), 10, "a proof worked twice in a row");
        }
        _count(msg.sig);
    }

    // ---------------------------------------------------------------------------------------------------------- parts

    function _submit(bytes memory attempt) private returns (bool ok) {
        vm.prank(thief);
        (ok,) = address(accounts).call(attempt);
    }

    /// @dev The same bytes with one word of them replaced, `at` bytes behind the length.
    function _patched(bytes memory original, uint256 at, bytes32 word) private pure returns (bytes memory copy) {
        copy = abi.encodePacked(original);
        assembly ("memory-safe") {
            mstore(add(copy, at), word)
        }
    }

    function _refused(bytes memory call, uint8[] memory by) private {
        _refusedProof(call, _groupProof(_digestOf(call), by));
    }

    function _refusedProof(bytes memory call, bytes memory proof) private {
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(address(pool), call);
        uint256 deadline = vm.getBlockTimestamp();
        bool ok = _submit(abi.encodeCall(IAccounts.execute, (group, calls, _nonce(group), deadline, proof)));
        _expect(!ok, 11, "a group acted without two distinct signers");
        _expect(!accounts.isAuthorized(group, _digestOf(call), proof), 11, "a group's word without two signers");
    }

    function _digestOf(bytes memory call) private view returns (bytes32) {
        IAccounts.Call[] memory calls = new IAccounts.Call[](1);
        calls[0] = IAccounts.Call(address(pool), call);
        return accounts.executeDigest(group, calls, _nonce(group), vm.getBlockTimestamp());
    }

    function _oneSignature(bytes memory call, uint8 by) private view returns (bytes memory) {
        return abi.encodePacked(bytes1(0x01), _signature(_keys[_signers[by]], _digestOf(call)));
    }

    function _heads() private view returns (bytes memory) {
        return abi.encodePacked(_signers[0], _signers[1], _signers[2]);
    }

    function _list(uint8 a) private pure returns (uint8[] memory by) {
        by = new uint8[](1);
        by[0] = a;
    }

    function _list(uint8 a, uint8 b) private pure returns (uint8[] memory by) {
        by = new uint8[](2);
        (by[0], by[1]) = (a, b);
    }

    function _list(uint8 a, uint8 b, uint8 c) private pure returns (uint8[] memory by) {
        by = new uint8[](3);
        (by[0], by[1], by[2]) = (a, b, c);
    }

    /// @return spent by how much the account's ledger fell
    function _delegated(address friend, address account, bytes memory call) private returns (uint256 spent) {
        uint256 before = ledger[account];
        vm.recordLogs();
        _acting = account;
        vm.prank(friend);
        (bool ok,) = address(accounts).call(abi.encodeCall(IAccounts.executeAsDelegate, (account, address(pool), call)));
        _absorb(ok);
        return ledger[account] < before ? before - ledger[account] : 0;
    }

    function _ownLease(address account, uint256 seed) private view returns (uint256 id) {
        for (uint256 i = 0; i < leaseIds.length; i++) {
            id = leaseIds[(seed + i) % leaseIds.length];
            if (_leases[id].tenant == account && _leases[id].endings == 0) return id;
        }
    }
}
