// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {Errors} from "@openzeppelin/contracts/utils/Errors.sol";
import {GroupAccount} from "../../../contracts/GroupAccount.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {ILeases} from "../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../contracts/interfaces/ILedger.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {EagerToken, QuietToken} from "../../../contracts/test/OddTokens.sol";
import {SmartWallet} from "../../../contracts/test/SmartWallet.sol";
import {skip, vm} from "./Check.sol";
import {GroupFixture} from "./GroupFixture.sol";

/// @notice Asks back whether somebody else's proof is good, from within `isValidSignature`.
contract Asker is IERC1271 {
    IAccounts private immutable _accounts;
    bytes private _proof;

    constructor(IAccounts accounts_) {
        _accounts = accounts_;
    }

    function arm(bytes calldata proof) external {
        _proof = proof;
    }

    function isValidSignature(bytes32 digest, bytes calldata) external view returns (bytes4) {
        return _accounts.isAuthorized(address(this), digest, _proof) ? this.isValidSignature.selector : bytes4(0);
    }
}

/// @notice Answers yes with a megabyte behind it.
contract Bomb {
    fallback() external {
        assembly {
            mstore(0, shl(224, 0x1626ba7e))
            return(0, 500000)
        }
    }
}

contract AccountsGroupsTest is GroupFixture {
    bytes32 private constant DIGEST = keccak256("digest");

    function _pay(uint256 amount) private view returns (IAccounts.Call[] memory) {
        return _call(abi.encodeCall(ILedger.transfer, (PROVIDER, amount)));
    }

    /// @dev `proof` approves nothing: `execute` tells why and `isAuthorized` says no.
    function _refused(bytes memory proof, bytes memory error_) private {
        IAccounts.Call[] memory calls = _pay(1);
        vm.assertFalse(accounts.isAuthorized(group, _digest(calls), proof));
        _expect(error_);
        _submit(group, calls, 0, proof);
    }

    function _fault(bytes4 selector, uint256 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(selector, value);
    }

    function _fault(bytes4 selector, address value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(selector, value);
    }

    function _malformed(bytes memory proof) private {
        _refused(proof, abi.encodeWithSelector(IAccounts.MalformedProof.selector));
    }

    function _wrong(uint256 index) private view returns (bytes memory) {
        return _fault(IAccounts.WrongSignature.selector, signers[index]);
    }

    // ----------------------------------------------------------------------------------------------------- what works

    function test_a_group_rents_extends_and_closes_without_deploying_anything() external {
        uint32 machine = _register(1);
        bytes memory opened = _asGroup(_call(abi.encodeCall(ILeases.open, (_request(machine, 8, 1 hours)))));
        uint256 lease = abi.decode(opened, (uint256));
        vm.assertEq(pool.leaseOf(lease).tenant, group);
        _start(lease);
        _asGroup(_call(abi.encodeCall(ILeases.extend, (lease, 1 hours))));
        vm.assertEq(pool.balanceOf(group), 1000e18 - 7200 * 8 * CELL_SECOND);
        skip(30 minutes);
        _asGroup(_call(abi.encodeCall(ILeases.close, (lease))));
        _assertState(lease, LeaseState.Ended);
        vm.assertEq(pool.balanceOf(group), 1000e18 - 1800 * 8 * CELL_SECOND);
        _asGroup(_call(abi.encodeCall(ILedger.withdraw, (signers[0], 1e18))));
        vm.assertEq(token.balanceOf(signers[0]), 1e18);
        vm.assertEq(group.code.length, 0);
    }

    function test_any_two_of_three_will_do() external view {
        for (uint8 i = 0; i < 3; ++i) {
            for (uint8 j = i + 1; j < 3; ++j) {
                vm.assertTrue(accounts.isAuthorized(group, DIGEST, _proof(DIGEST, i, j)));
            }
        }
    }

    function test_sixteen_of_sixteen() external {
        (keys, signers) = _signers(16);
        bytes memory proof = _head(16, signers, SALT);
        for (uint8 i = 0; i < 16; ++i) {
            proof = abi.encodePacked(proof, _signature(i, DIGEST));
        }
        vm.assertTrue(accounts.isAuthorized(accounts.groupAddress(16, signers, SALT), DIGEST, proof));
    }

    function test_one_of_one() external view {
        address[] memory alone = new address[](1);
        alone[0] = signers[0];
        address account = accounts.groupAddress(1, alone, 0);
        bytes memory proof = abi.encodePacked(_head(1, alone, 0), _signature(0, DIGEST));
        vm.assertTrue(accounts.isAuthorized(account, DIGEST, proof));
        vm.assertFalse(accounts.isAuthorized(group, DIGEST, proof));
    }

    /// @dev A key and a contract sign together, whichever comes first.
    function test_a_contract_signs_in_a_group() external {
        SmartWallet wallet = new SmartWallet(tenant);
        (address account, bytes memory proof) = _with(address(wallet), _bare(TENANT_KEY, DIGEST));
        vm.assertTrue(accounts.isAuthorized(account, DIGEST, proof));
        (, proof) = _with(address(wallet), _bare(keys[1], DIGEST));
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof));
    }

    /// @dev What a deployed group is to others, a contract that signs, it is to another group.
    function test_a_deployed_group_signs_in_a_group() external {
        (address account, bytes memory proof) = _with(group, _proof(DIGEST));
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof));
        accounts.deployGroup(THRESHOLD, signers, SALT);
        vm.assertTrue(accounts.isAuthorized(account, DIGEST, proof));
    }

    /// @dev A group of both `signer` and the first key, and a proof with `signature` of the one and a good one of the other.
    function _with(address signer, bytes memory signature) private view returns (address account, bytes memory proof) {
        address[] memory two = new address[](2);
        bool first = signer < signers[0];
        (two[0], two[1]) = first ? (signer, signers[0]) : (signers[0], signer);
        account = accounts.groupAddress(2, two, SALT);
        proof = _head(2, two, SALT);
        bytes memory asked = abi.encodePacked(uint8(first ? 0 : 1), CONTRACT, uint16(signature.length), signature);
        bytes memory key = abi.encodePacked(uint8(first ? 1 : 0), KEY, _bare(keys[0], DIGEST));
        proof = first ? abi.encodePacked(proof, asked, key) : abi.encodePacked(proof, key, asked);
    }

    // ------------------------------------------------------------------------------------------------- who a group is

    /// @dev The address by hand, as anybody computes it who knows where `Accounts` is.
    function test_groupAddress() external view {
        address implementation = vm.computeCreateAddress(address(accounts), 1);
        vm.assertEq(implementation, accounts.groupImplementation());
        bytes memory creation = abi.encodePacked(
            hex"3d602d80600a3d3981f3363d3d373d3d3d363d73", implementation, hex"5af43d82803e903d91602b57fd5bf3"
        );
        bytes32 identity = keccak256(abi.encodePacked(uint8(2), uint8(3), signers[0], signers[1], signers[2], SALT));
        bytes32 hash = keccak256(abi.encodePacked(hex"ff", address(accounts), identity, keccak256(creation)));
        vm.assertEq(group, address(uint160(uint256(hash))));
    }

    function test_other_groups_have_other_addresses() external view {
        vm.assertTrue(group != accounts.groupAddress(THRESHOLD, signers, "other"));
        vm.assertTrue(group != accounts.groupAddress(3, signers, SALT));
        (, address[] memory four) = _signers(4);
        vm.assertTrue(group != accounts.groupAddress(THRESHOLD, four, SALT));
    }

    function test_groups_that_cannot_be() external {
        _notAGroup(0, signers, abi.encodeWithSelector(IAccounts.InvalidThreshold.selector, 0, 3));
        _notAGroup(4, signers, abi.encodeWithSelector(IAccounts.InvalidThreshold.selector, 4, 3));
        _notAGroup(0, new address[](0), abi.encodeWithSelector(IAccounts.InvalidThreshold.selector, 0, 0));
        _notAGroup(1, new address[](0), abi.encodeWithSelector(IAccounts.InvalidThreshold.selector, 1, 0));
        _notAGroup(1, new address[](1), _fault(IAccounts.InvalidSigners.selector, 0));
        (, address[] memory many) = _signers(17);
        _notAGroup(2, many, _fault(IAccounts.InvalidSigners.selector, 16));
        address[] memory other = new address[](3);
        (other[0], other[1], other[2]) = (signers[0], signers[2], signers[1]);
        _notAGroup(2, other, _fault(IAccounts.InvalidSigners.selector, 2));
        (other[1], other[2]) = (signers[0], signers[1]);
        _notAGroup(2, other, _fault(IAccounts.InvalidSigners.selector, 1));
    }

    /// @dev Neither has an address, nor can be deployed, nor signs as another.
    function _notAGroup(uint8 threshold, address[] memory who, bytes memory error_) private {
        _expect(error_);
        accounts.groupAddress(threshold, who, SALT);
        _expect(error_);
        accounts.deployGroup(threshold, who, SALT);
        _refused(_head(threshold, who, SALT), error_);
    }

    // ------------------------------------------------------------------------------------------- what a proof may not be

    function test_a_replay() external {
        IAccounts.Call[] memory calls = _pay(1);
        bytes memory proof = _proof(_digest(calls));
        _submit(group, calls, 0, proof);
        _expect(abi.encodeWithSelector(IAccounts.InvalidNonce.selector, 0, 1));
        _submit(group, calls, 0, proof);
        _expect(_wrong(0));
        _submit(group, calls, 1, proof);
        vm.assertEq(pool.balanceOf(group), 1000e18 - 1);
    }

    /// @dev The same people are another group with another salt, or another threshold, and their signatures say for which.
    function test_another_group_of_the_same_signers() external {
        IAccounts.Call[] memory calls = _pay(1);
        bytes memory signed = abi.encodePacked(_signature(0, _digest(calls)), _signature(2, _digest(calls)));
        _anotherGroup(THRESHOLD, "other", calls, signed);
        _anotherGroup(1, SALT, calls, signed);
    }

    function _anotherGroup(uint8 threshold, bytes32 salt, IAccounts.Call[] memory calls, bytes memory signed) private {
        address other = accounts.groupAddress(threshold, signers, salt);
        vm.prank(tenant);
        pool.deposit(other, 10);
        // The proof of the one for the other: it names another group.
        _expect(abi.encodeWithSelector(IAccounts.WrongGroup.selector, other, group));
        _submit(other, calls, 0, abi.encodePacked(_head(), signed));
        // With the other's signers, threshold and salt: they signed for another account.
        _expect(_wrong(0));
        _submit(other, calls, 0, abi.encodePacked(_head(threshold, signers, salt), signed));
        // And the other's for the one.
        _refused(
            abi.encodePacked(_head(threshold, signers, salt), signed),
            abi.encodeWithSelector(IAccounts.WrongGroup.selector, group, other)
        );
        vm.assertEq(pool.balanceOf(other), 10);
    }

    function test_another_wallet_of_the_same_owners() external {
        SmartWallet wallet = new SmartWallet(signers[0]);
        vm.prank(tenant);
        pool.deposit(address(wallet), 10);
        IAccounts.Call[] memory calls = _pay(1);
        bytes memory signature = _bare(keys[0], _digest(calls));
        _expect(_fault(IAccounts.InvalidProof.selector, address(wallet)));
        _submit(address(wallet), calls, 0, abi.encodePacked(CONTRACT, signature));
        _expect(_fault(IAccounts.InvalidProof.selector, signers[0]));
        _submit(signers[0], calls, 0, abi.encodePacked(KEY, signature));
        bytes memory proof = _proof(_digest(calls));
        _expect(abi.encodeWithSelector(IAccounts.WrongGroup.selector, wallet, group));
        _submit(address(wallet), calls, 0, proof);
    }

    function test_permuted_signatures() external {
        _refused(_proof(_digest(_pay(1)), 2, 0), _fault(IAccounts.UnorderedSignatures.selector, 0));
        _refused(_proof(_digest(_pay(1)), 2, 1), _fault(IAccounts.UnorderedSignatures.selector, 1));
    }

    function test_one_signature_twice() external {
        _refused(_proof(_digest(_pay(1)), 0, 0), _fault(IAccounts.DuplicateSignature.selector, 0));
        _refused(_proof(_digest(_pay(1)), 2, 2), _fault(IAccounts.DuplicateSignature.selector, 2));
    }

    /// @dev One signer under the index of another, to count twice.
    function test_one_signer_under_two_names() external {
        bytes32 digest = _digest(_pay(1));
        bytes memory second = abi.encodePacked(uint8(1), KEY, _bare(keys[0], digest));
        _refused(abi.encodePacked(_head(), _signature(0, digest), second), _wrong(1));
    }

    function test_a_signature_with_a_high_s() external {
        bytes32 digest = _digest(_pay(1));
        bytes memory proof = abi.encodePacked(_head(), _signature(0, digest), _mirrored(2, digest));
        _refused(proof, _fault(IAccounts.MalleableSignature.selector, signers[2]));
        proof = abi.encodePacked(_head(), _signature(0, digest), _mirrored(0, digest));
        _refused(proof, _fault(IAccounts.DuplicateSignature.selector, 0));
    }

    function test_anything_changed() external {
        IAccounts.Call[] memory calls = _pay(1);
        bytes memory proof = _proof(_digest(calls));
        _expect(_wrong(0)); // another amount
        _submit(group, _pay(2), 0, proof);
        _expect(_wrong(0)); // another deadline
        accounts.execute(group, calls, 0, NOW + 2 days, proof);
        _expect(_wrong(0)); // another nonce
        _submit(group, calls, 1 << 64, proof);
        IAccounts.Call[] memory twice = new IAccounts.Call[](2);
        (twice[0], twice[1]) = (calls[0], calls[0]);
        _expect(_wrong(0)); // once more
        _submit(group, twice, 0, proof);
        calls[0].target = factory.createPool(address(token), OWNER, TREASURY, _params());
        _expect(_wrong(0)); // another pool
        _submit(group, calls, 0, proof);
        calls[0].target = address(pool);
        vm.chainId(5);
        _expect(_wrong(0)); // another chain
        _submit(group, calls, 0, proof);
    }

    function test_an_expired_deadline() external {
        IAccounts.Call[] memory calls = _pay(1);
        bytes memory proof = _proof(_digest(calls));
        vm.warp(NOW + 1 days + 1);
        _expect(_fault(IAccounts.ExpiredDeadline.selector, NOW + 1 days));
        _submit(group, calls, 0, proof);
        vm.warp(NOW + 1 days);
        _submit(group, calls, 0, proof);
    }

    function test_too_few_and_too_many_signatures() external {
        bytes32 digest = _digest(_pay(1));
        _malformed(abi.encodePacked(_head(), _signature(0, digest)));
        _malformed(abi.encodePacked(_proof(digest, 0, 1), _signature(2, digest)));
        _malformed(abi.encodePacked(_proof(digest), bytes1(0)));
    }

    function test_a_stranger_signs() external {
        bytes32 digest = _digest(_pay(1));
        bytes memory third = abi.encodePacked(uint8(3), KEY, _bare(TENANT_KEY, digest));
        _malformed(abi.encodePacked(_head(), _signature(0, digest), third));
        third[0] = 0x02;
        _refused(abi.encodePacked(_head(), _signature(0, digest), third), _wrong(2));
    }

    function test_signatures_of_no_known_kind() external {
        bytes32 digest = _digest(_pay(1));
        bytes1[3] memory kinds = [bytes1(0), GROUP, bytes1(0x04)];
        for (uint256 i = 0; i < kinds.length; ++i) {
            bytes memory second = abi.encodePacked(uint8(2), kinds[i], _bare(keys[2], digest));
            _malformed(abi.encodePacked(_head(), _signature(0, digest), second));
        }
        // A signature that the curve knows nobody for.
        bytes memory none = abi.encodePacked(uint8(2), KEY, bytes32(0), bytes32(0), uint8(27));
        _refused(abi.encodePacked(_head(), _signature(0, digest), none), _wrong(2));
        // A contract's, of one that has no code.
        none = abi.encodePacked(uint8(2), CONTRACT, uint16(65), _bare(keys[2], digest));
        _refused(abi.encodePacked(_head(), _signature(0, digest), none), _wrong(2));
    }

    /// @dev Cut off after each byte.
    function test_a_proof_cut_short() external {
        bytes32 digest = _digest(_pay(1));
        bytes memory asked = abi.encodePacked(uint8(2), CONTRACT, uint16(65), _bare(keys[2], digest));
        _cut(_proof(digest), 1);
        _cut(abi.encodePacked(_head(), _signature(0, digest), asked), 1 + _head().length + 67);
    }

    function _cut(bytes memory proof, uint256 from) private {
        for (uint256 length = from; length < proof.length; ++length) {
            bytes memory part = new bytes(length);
            for (uint256 i = 0; i < length; ++i) {
                part[i] = proof[i];
            }
            _malformed(part);
        }
    }

    // ---------------------------------------------------------------------------------------------- `isAuthorized` answers

    function testFuzz_isAuthorized_never_reverts(address account, bytes32 digest, bytes calldata proof) external view {
        vm.assertFalse(accounts.isAuthorized(account, digest, proof));
        vm.assertFalse(accounts.isAuthorized(group, digest, abi.encodePacked(GROUP, proof)));
        vm.assertFalse(accounts.isAuthorized(group, digest, abi.encodePacked(_head(), proof)));
        vm.assertFalse(accounts.isAuthorized(group, digest, abi.encodePacked(_head(), _signature(0, digest), proof)));
    }

    /// @dev No byte of a proof is free: whatever is changed, it is none any more.
    function testFuzz_every_byte_of_a_proof_counts(uint256 at, uint8 change) external view {
        vm.assume(change != 0);
        bytes memory proof = _proof(DIGEST);
        at %= proof.length;
        proof[at] = bytes1(uint8(proof[at]) ^ change);
        vm.assertFalse(accounts.isAuthorized(group, DIGEST, proof));
    }

    function testFuzz_a_group_approves_nothing_it_did_not_sign(bytes32 digest) external view {
        vm.assume(digest != DIGEST);
        vm.assertFalse(accounts.isAuthorized(group, digest, _proof(DIGEST)));
    }

    // ---------------------------------------------------------------------------------------------- contracts that misbehave

    function test_a_signer_in_a_mood() external {
        SmartWallet wallet = new SmartWallet(tenant);
        (address account, bytes memory proof) = _with(address(wallet), _bare(TENANT_KEY, DIGEST));
        wallet.setMood(1);
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof)); // reverts
        wallet.setMood(2);
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof)); // answers too little
        wallet.setMood(3);
        uint256 gas = gasleft();
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof)); // burns all the gas it gets
        vm.assertLe(gas - gasleft(), 1_100_000, "gas burnt");
        vm.assertFalse(accounts.isAuthorized{gas: 400_000}(account, DIGEST, proof)); // also where that is less
        gas = gasleft();
        vm.assertFalse(accounts.isAuthorized(address(wallet), DIGEST, abi.encodePacked(CONTRACT, DIGEST)));
        vm.assertLe(gas - gasleft(), 1_100_000, "gas burnt");
    }

    /// @dev More than a word of an answer is not looked at, so it costs nobody but who gives it.
    function test_a_signer_with_much_to_say() external {
        Bomb bomb = new Bomb();
        (address account, bytes memory proof) = _with(address(bomb), "");
        uint256 gas = gasleft();
        vm.assertTrue(accounts.isAuthorized(account, DIGEST, proof));
        vm.assertLe(gas - gasleft(), 1_100_000, "gas burnt");
    }

    /// @dev Asking back finds nothing that was not there: each answer stands alone.
    function test_a_signer_who_asks_back() external {
        Asker asker = new Asker(accounts);
        (address account, bytes memory proof) = _with(address(asker), "");
        asker.arm(hex"0202"); // itself, and again
        uint256 gas = gasleft();
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof));
        vm.assertLe(gas - gasleft(), 1_100_000, "gas burnt");
        asker.arm(proof); // the group's own
        vm.assertFalse(accounts.isAuthorized(account, DIGEST, proof));
    }

    function test_nothing_runs_inside_a_group_s_execute() external {
        EagerToken eager = new EagerToken();
        IController odd = IController(factory.createPool(address(eager), OWNER, TREASURY, _params()));
        eager.mint(tenant, 10);
        vm.prank(tenant);
        eager.approve(address(odd), type(uint256).max);
        vm.prank(tenant);
        odd.deposit(group, 10);
        IAccounts.Call[] memory calls = _call(address(odd), abi.encodeCall(ILedger.withdraw, (THIEF, 1)));
        bytes32 digest = accounts.executeDigest(group, calls, 1 << 64, NOW + 1 days);
        eager.arm(
            address(accounts), abi.encodeCall(IAccounts.execute, (group, calls, 1 << 64, NOW + 1 days, _proof(digest)))
        );
        _asGroup(calls);
        vm.assertEq(eager.answer(), abi.encodeWithSelector(IAccounts.Nested.selector));
        eager.arm(address(accounts), abi.encodeCall(IAccounts.rescue, (address(eager), THIEF, 1)));
        _asGroup(calls);
        vm.assertEq(eager.answer(), _fault(IAccounts.NotAuthorized.selector, address(eager)));
        vm.assertEq(odd.balanceOf(group), 8);
    }

    // ------------------------------------------------------------------------------------- what was sent to the address

    function _rescue(address what, address to, uint256 amount) private view returns (IAccounts.Call[] memory) {
        return _call(address(accounts), abi.encodeCall(IAccounts.rescue, (what, to, amount)));
    }

    function test_a_token_sent_straight_to_a_group_is_rescued() external {
        token.mint(group, 5);
        vm.expectEmit(true, true, true, true, address(accounts));
        emit IAccounts.GroupDeployed(group, THRESHOLD, signers, SALT);
        vm.prank(THIEF); // anyone may deploy it
        vm.assertEq(accounts.deployGroup(THRESHOLD, signers, SALT), group);
        _asGroup(_rescue(address(token), signers[1], 3));
        vm.assertEq(token.balanceOf(signers[1]), 3);
        vm.assertEq(token.balanceOf(group), 2);
        vm.assertEq(accounts.deployGroup(THRESHOLD, signers, SALT), group); // again is nothing
    }

    /// @dev One proof deploys and rescues. Without the deployment there is nothing that could send.
    function test_a_token_is_rescued_without_prior_deployment() external {
        token.mint(group, 5);
        IAccounts.Call[] memory calls = _rescue(address(token), signers[1], 5);
        bytes memory proof = _proof(_digest(calls));
        _expect(_fault(IAccounts.NotDeployed.selector, group));
        _submit(group, calls, 0, proof);

        IAccounts.Call[] memory both = new IAccounts.Call[](2);
        both[0] = IAccounts.Call(address(accounts), abi.encodeCall(IAccounts.deployGroup, (THRESHOLD, signers, SALT)));
        both[1] = calls[0];
        _asGroup(both);
        vm.assertEq(token.balanceOf(signers[1]), 5);
    }

    function test_a_token_that_returns_nothing_is_rescued() external {
        QuietToken quiet = new QuietToken();
        quiet.mint(group, 5);
        accounts.deployGroup(THRESHOLD, signers, SALT);
        _asGroup(_rescue(address(quiet), signers[1], 5));
        vm.assertEq(quiet.balanceOf(signers[1]), 5);
    }

    function test_coins_are_rescued() external {
        vm.deal(group, 2 ether); // before anything is deployed
        accounts.deployGroup(THRESHOLD, signers, SALT);
        vm.deal(address(this), 1 ether);
        (bool ok,) = group.call{value: 1 ether}(""); // and after
        vm.assertTrue(ok);
        _asGroup(_rescue(address(0), signers[1], 3 ether));
        vm.assertEq(signers[1].balance, 3 ether);
        // More than there is, and to one who takes none.
        IAccounts.Call[] memory calls = _rescue(address(0), signers[1], 1);
        bytes memory proof = _proof(_digest(calls));
        _expect(abi.encodeWithSelector(Errors.InsufficientBalance.selector, 0, 1));
        _submit(group, calls, 1, proof);
        calls = _rescue(address(0), address(pool), 0);
        proof = _proof(_digest(calls));
        _expect(abi.encodeWithSelector(Errors.FailedCall.selector));
        _submit(group, calls, 1, proof);
    }

    function test_strangers_rescue_nothing() external {
        token.mint(group, 5);
        accounts.deployGroup(THRESHOLD, signers, SALT);
        bytes memory refusal = _fault(IAccounts.NotAuthorized.selector, THIEF);
        _expect(refusal);
        vm.prank(THIEF);
        accounts.rescue(address(token), THIEF, 5);
        _expect(refusal);
        vm.prank(THIEF);
        GroupAccount(payable(group)).send(address(token), THIEF, 5);
        _expect(_fault(IAccounts.NotAuthorized.selector, signers[0]));
        vm.prank(signers[0]);
        GroupAccount(payable(group)).send(address(token), THIEF, 5);
        // One account's proof reaches no other's.
        IAccounts.Call[] memory calls = _rescue(address(token), tenant, 5);
        bytes memory proof =
            abi.encodePacked(KEY, _bare(TENANT_KEY, accounts.executeDigest(tenant, calls, 0, NOW + 1 days)));
        _expect(_fault(IAccounts.NotDeployed.selector, tenant));
        _submit(tenant, calls, 0, proof);
        vm.assertEq(token.balanceOf(group), 5);
    }

    /// @dev Only what this contract deployed is asked to send. Another contract would be called in its own name.
    function test_a_wallet_has_nothing_to_rescue() external {
        SmartWallet wallet = new SmartWallet(tenant);
        IAccounts.Call[] memory calls = _rescue(address(token), tenant, 0);
        bytes32 digest = accounts.executeDigest(address(wallet), calls, 0, NOW + 1 days);
        _expect(_fault(IAccounts.NotDeployed.selector, address(wallet)));
        _submit(address(wallet), calls, 0, abi.encodePacked(CONTRACT, _bare(TENANT_KEY, digest)));
    }

    /// @dev A pool is no token, but understands `transfer`: what that reaches is the group's own ledger.
    function test_rescuing_from_a_pool_moves_the_group_s_own() external {
        accounts.deployGroup(THRESHOLD, signers, SALT);
        _asGroup(_rescue(address(pool), signers[1], 7));
        vm.assertEq(pool.balanceOf(signers[1]), 7);
        vm.assertEq(pool.balanceOf(group), 1000e18 - 7);
    }

    // -------------------------------------------------------------------------------------------------- the account signs

    function test_a_deployed_group_answers_ERC_1271() external {
        GroupAccount account = GroupAccount(payable(accounts.deployGroup(THRESHOLD, signers, SALT)));
        bytes4 yes = IERC1271.isValidSignature.selector;
        vm.assertTrue(account.isValidSignature(DIGEST, _proof(DIGEST)) == yes);
        vm.assertTrue(account.isValidSignature(DIGEST, _proof(DIGEST, 0, 0)) == 0xffffffff);
        vm.assertTrue(account.isValidSignature(keccak256("other"), _proof(DIGEST)) == 0xffffffff);
        vm.assertTrue(account.isValidSignature(DIGEST, "") == 0xffffffff);
        // It does not go round in circles, nor takes a key's signature.
        vm.assertTrue(account.isValidSignature(DIGEST, abi.encodePacked(CONTRACT, _proof(DIGEST))) == 0xffffffff);
        vm.assertTrue(account.isValidSignature(DIGEST, abi.encodePacked(KEY, _bare(keys[0], DIGEST))) == 0xffffffff);
        // As a contract it is authorised by what it is as a group.
        vm.assertTrue(accounts.isAuthorized(group, DIGEST, abi.encodePacked(CONTRACT, _proof(DIGEST))));
    }

    function test_the_implementation_signs_and_sends_nothing() external {
        GroupAccount implementation = GroupAccount(payable(accounts.groupImplementation()));
        vm.assertTrue(implementation.isValidSignature(DIGEST, _proof(DIGEST)) == 0xffffffff);
        _expect(_fault(IAccounts.NotAuthorized.selector, address(this)));
        implementation.send(address(0), THIEF, 0);
    }
}
