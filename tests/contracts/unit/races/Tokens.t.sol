// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {IAccounts} from "../../../../contracts/interfaces/IAccounts.sol";
import {ICommittee, Signer} from "../../../../contracts/interfaces/ICommittee.sol";
import {FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {ILeaseChanges, ILeases} from "../../../../contracts/interfaces/ILeases.sol";
import {ILedger} from "../../../../contracts/interfaces/ILedger.sol";
import {IMachines} from "../../../../contracts/interfaces/IMachines.sol";
import {IPoolErrors} from "../../../../contracts/interfaces/IPoolErrors.sol";
import {LeaseState} from "../../../../contracts/interfaces/PoolTypes.sol";
import {EagerToken, QuietToken, SizedToken, TaxedToken} from "../../../../contracts/test/OddTokens.sol";
import {skip, vm} from "../Check.sol";
import {OddWorld} from "./OddWorld.sol";

/// @notice Tokens as they are, in whole lives of leases: an offer taken, a change of share, claims, a verification, an outage,
/// a standby, a slash and its parts. Ledger.t.sol has deposits and withdrawals.
contract Tokens is OddWorld {
    /// @dev At the end everybody takes out what is his, and the pool's token balance is nothing, to the unit.
    /// @param blocked whom the token blocks in mid-lease, or zero
    function _life(address blocked) private {
        bytes memory open = _offerCall(_requestOf(8, 10 hours), 0);
        uint256 lease = abi.decode(_does(tenant, address(pool), open), (uint256)); // pulled from the wallet
        vm.assertEq(odd.balanceOf(tenant), MINE * unit - 8 * 10 hours * _second());
        _startBy(lease);
        _in(tenant, 100 * unit);
        if (blocked != address(0)) QuietToken(address(odd)).setBlocked(blocked, true);

        skip(1 hours);
        _resizeAs(tenant, lease, 4);
        vm.assertEq(pool.leaseOf(lease).settled, 8 * 1 hours * _second());
        skip(1 hours);
        pool.claim(_one(lease));
        vm.assertEq(pool.leaseOf(lease).settled, (8 * 1 hours + 4 * 40 minutes) * _second());
        skip(30 minutes);
        uint256 fault = _attest(_now() - 10 minutes, 0);
        uint256 before = pool.balanceOf(tenant);
        uint256 next = _failover(lease);
        vm.assertEq(
            pool.balanceOf(tenant) + pool.leaseOf(next).deposit - before, 4 * (7 hours + 40 minutes) * _second()
        );
        _startBy(next);
        skip(50 minutes);
        _recover();
        _assertFault(fault, FaultState.Filed, 16 * unit);
        _verified();
        _closeAs(tenant, next);
        _apply(fault, lease);
        _execute(fault);
        before = pool.balanceOf(tenant);
        faults.compensate(fault, _one(lease));
        // Of half of 16, four of sixteen cells and ten minutes of sixty.
        vm.assertEq(pool.balanceOf(tenant) - before, 8 * unit * 4 * 10 minutes / (16 * 1 hours));
        committee.payQuorum(_signers());
        _everybodyOut(blocked);
    }

    /// @dev Whoever attested.
    function _signers() private view returns (Signer[] memory signers) {
        signers = new Signer[](SEATS);
        for (uint32 i = 0; i < SEATS; ++i) {
            signers[i] = Signer(i + 1, vm.addr(SEAT_KEY + i), uint96(500 * unit));
        }
    }

    function _everybodyOut(address blocked) private {
        vm.prank(seller);
        pool.retire(machine);
        vm.prank(seller);
        pool.retire(standby);
        for (uint32 seat = 1; seat <= SEATS; ++seat) {
            vm.prank(vm.addr(SEAT_KEY + seat - 1));
            committee.leave(seat);
        }
        skip(21 days);
        pool.unstake(machine);
        pool.unstake(standby);
        address[] memory sellers = new address[](1);
        sellers[0] = seller;
        pool.pullFees(sellers);
        address elsewhere = address(0xE15E);
        for (uint32 seat = 1; seat <= SEATS; ++seat) {
            committee.exit(seat);
            _leaves(vm.addr(SEAT_KEY + seat - 1), blocked, elsewhere);
        }
        _leaves(tenant, blocked, elsewhere);
        _leaves(seller, blocked, elsewhere);
        _leaves(TREASURY, blocked, elsewhere);
        _leaves(address(this), blocked, elsewhere);
        vm.assertEq(pool.balanceOf(address(faults)), 0);
        vm.assertEq(pool.balanceOf(address(committee)), 0);
        vm.assertEq(odd.balanceOf(address(pool)), pool.balanceOf(address(0xdEaD))); // what nobody has for ever
    }

    /// @dev One who is blocked sends it elsewhere; nobody else notices.
    function _leaves(address who, address blocked, address elsewhere) private {
        uint256 amount = pool.balanceOf(who);
        if (amount == 0) return;
        if (who == blocked) {
            bytes memory error_ = abi.encodeWithSelector(QuietToken.Blocked.selector, who);
            _refused(who, abi.encodeCall(ILedger.withdraw, (who, amount)), error_);
        }
        uint256 before = odd.balanceOf(elsewhere);
        _out(who, who == blocked ? elsewhere : who);
        vm.assertEq(odd.balanceOf(elsewhere) - before, who == blocked ? amount : 0);
    }

    function test_six_decimals() external {
        _enter(address(new SizedToken(6)), 6);
        _life(address(0));
    }

    function test_eight_decimals() external {
        _enter(address(new SizedToken(8)), 8);
        _life(address(0));
    }

    function test_eighteen_decimals() external {
        _enter(address(new SizedToken(18)), 18);
        _life(address(0));
    }

    /// @dev Nothing is returned, as by USDT.
    function test_a_token_that_returns_nothing() external {
        _enter(address(new QuietToken()), 6);
        _life(address(0));
    }

    /// @dev The token blocks one party in mid-lease: the tenant, the provider, a validator, the treasury. Were money sent
    /// instead of credited, that one would stop the others from closing, claiming, being compensated and rewarded.
    function test_a_token_that_blocks_the_tenant() external {
        _enter(address(new QuietToken()), 6);
        _life(tenant);
    }

    function test_a_token_that_blocks_the_provider() external {
        _enter(address(new QuietToken()), 6);
        _life(seller);
    }

    function test_a_token_that_blocks_a_validator() external {
        _enter(address(new QuietToken()), 6);
        _life(vm.addr(SEAT_KEY));
    }

    function test_a_token_that_blocks_the_treasury() external {
        _enter(address(new QuietToken()), 6);
        _life(TREASURY);
    }

    /// @dev A blocked group has its money out too: its members sign for another receiver.
    function test_a_token_that_blocks_a_group() external {
        _enter(address(new QuietToken()), 6);
        (IAccounts.Call[] memory calls, address group, uint256[] memory keys, address[] memory signers) = _group();
        vm.prank(tenant);
        pool.deposit(group, 50 * unit);
        QuietToken(address(odd)).setBlocked(group, true);
        _asGroup(calls, group, keys, signers, abi.encodeCall(ILeases.open, (_requestOf(4, 2 hours))));
        uint256 lease = uint256(pool.slotCount()) << 16;
        vm.assertEq(pool.leaseOf(lease).tenant, group);
        _startBy(lease);
        skip(1 hours);
        _asGroup(calls, group, keys, signers, abi.encodeCall(ILeaseChanges.resize, (lease, 8, 0)));
        _attest(_now() - 10 minutes, 0);
        _failover(lease);
        uint256 next = uint256(pool.slotCount()) << 16;
        _startBy(next);
        skip(20 minutes);
        _asGroup(calls, group, keys, signers, abi.encodeCall(ILeases.close, (next)));
        uint256 left = pool.balanceOf(group);
        _asGroup(calls, group, keys, signers, abi.encodeCall(ILedger.withdraw, (THIEF, left)));
        vm.assertEq(odd.balanceOf(THIEF), left);
        vm.assertEq(left, 50 * unit - (4 * 1 hours + 8 * 20 minutes) * _second());
    }

    // -------------------------------------------------------------------------------------------------- takes a fee

    /// @dev The tax comes in mid-lease. What would bring tokens in is refused, each by its own name; nothing that moves inside
    /// the ledger notices, and everybody gets out what the token leaves him.
    function test_a_token_that_takes_a_fee() external {
        TaxedToken taxed = new TaxedToken();
        _enter(address(taxed), 18);
        bytes memory open = abi.encodeCall(ILeases.open, (_requestOf(8, 10 hours)));
        uint256 lease = abi.decode(_does(tenant, address(pool), open), (uint256));
        _startBy(lease);
        skip(1 hours);
        taxed.setTaxed(true);

        open = _offerCall(_requestOf(8, 10 hours), 1);
        _taxed(tenant, open, 8 * 10 hours * _second());
        _taxed(tenant, abi.encodeCall(ILeases.open, (_requestOf(8, 1 hours))), 8 * 1 hours * _second());
        _taxed(tenant, abi.encodeCall(ILeases.extend, (lease, 1 hours)), 8 * 1 hours * _second());
        _taxed(tenant, abi.encodeCall(ILedger.deposit, (tenant, unit)), unit);
        _taxed(seller, abi.encodeCall(IMachines.addStake, (machine, uint96(unit))), unit);
        bytes memory register = abi.encodeCall(
            pool.register, (_oddTerms(), 1, 1, "hardware", "contact", operator, _consent(address(pool), seller))
        );
        _taxed(seller, register, 100 * unit);
        uint256 offers = pool.offersOf(seller, 0);
        vm.assertEq(offers, 0); // a refused one is not spent

        _resizeAs(tenant, lease, 4); // gives back
        // Its own accrual is the provider's now, but to grow takes more than the refund: from the wallet, so no.
        uint256 balance = pool.balanceOf(tenant);
        vm.prank(tenant);
        pool.withdraw(tenant, balance);
        _taxed(tenant, abi.encodeCall(ILeaseChanges.resize, (lease, 8, 0)), 4 * 9 hours * _second());
        _attest(_now() - 10 minutes, 0);
        uint256 next = _failover(lease);
        _assertState(next, LeaseState.Opened);
        _closeAs(tenant, next);
        balance = pool.balanceOf(tenant);
        uint256 held = odd.balanceOf(tenant);
        _out(tenant, tenant);
        vm.assertEq(odd.balanceOf(tenant) - held, balance - balance / 100);
    }

    function _taxed(address who, bytes memory call, uint256 amount) private {
        _refused(who, call, abi.encodeWithSelector(IPoolErrors.TokenTakesFee.selector, amount, amount - amount / 100));
    }

    // ------------------------------------------------------------------------------------------------------- reenters

    /// @dev A token that calls out is itself a tenant, a provider and a validator, with money in the ledger, so that each of
    /// its calls would do by itself. Within an offer that is taken, a larger share, and a withdrawal it tries them all:
    /// to be in the ledger twice would be worth whatever it holds.
    function test_a_token_that_reenters() external {
        EagerToken eager = new EagerToken();
        _enter(address(eager), 18);
        address self = address(eager);
        eager.mint(self, MINE * unit);
        _in(tenant, 100 * unit);
        vm.prank(tenant);
        pool.transfer(self, 50 * unit);
        uint256 own =
            abi.decode(_does(self, address(pool), abi.encodeCall(ILeases.open, (_requestOf(1, 10 hours)))), (uint256));
        bytes memory open = abi.encodeCall(ILeases.open, (_requestOf(4, 10 hours)));
        uint256 lease = abi.decode(_does(tenant, address(pool), open), (uint256));
        _startBy(own);
        _startBy(lease);
        skip(1 hours);
        uint256 left = pool.balanceOf(tenant);
        vm.prank(tenant);
        pool.withdraw(tenant, left);

        (address[] memory targets, bytes[] memory calls) = _attempts(own);
        bytes memory guarded = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);
        for (uint256 i = 0; i < calls.length; ++i) {
            uint256 snapshot = vm.snapshotState();
            eager.arm(targets[i], calls[i]);
            _does(tenant, address(pool), _offerCall(_requestOf(1, 1 hours), 9));
            _resizeAs(tenant, lease, 8);
            vm.prank(seller);
            pool.addStake(machine, uint96(2 * unit)); // more than it has earned
            _in(tenant, unit);
            vm.prank(tenant);
            pool.withdraw(tenant, unit);
            vm.assertEq(eager.attempts(), 5);
            vm.assertFalse(eager.succeeded());
            vm.assertEq(eager.answer(), guarded);
            vm.revertToState(snapshot);
            eager.arm(address(0), "");
            _does(self, targets[i], calls[i]); // by itself it would have done
            vm.revertToState(snapshot);
        }
    }

    /// @dev Calls of the token's own that would succeed from outside.
    function _attempts(uint256 own) private returns (address[] memory targets, bytes[] memory calls) {
        targets = new address[](8);
        calls = new bytes[](8);
        for (uint256 i = 0; i < 8; ++i) {
            targets[i] = address(pool);
        }
        calls[0] = abi.encodeCall(ILeaseChanges.resize, (own, 2, 0));
        calls[1] = _offerCall(_requestOf(1, 1 hours), 10);
        calls[2] = abi.encodeCall(ILeaseChanges.cancelOffers, (0, 1));
        calls[3] = abi.encodeCall(ILeases.close, (own));
        calls[4] = abi.encodeCall(ILeases.claim, (_one(own)));
        calls[5] = abi.encodeCall(ILedger.transfer, (THIEF, 1));
        (targets[6], calls[6]) = (address(faults), abi.encodeCall(IFaults.challenge, (machine, own)));
        (targets[7], calls[7]) = (address(committee), abi.encodeCall(ICommittee.requestVerification, (machine, 1)));
    }

    /// @dev The same within a slash's payment: failover, applyOutage, execute and compensate, which anybody may send and
    /// which move money between ledgers, do not run inside a call that moves tokens.
    function test_a_token_that_reenters_a_slash() external {
        EagerToken eager = new EagerToken();
        _enter(address(eager), 18);
        uint256 lease = abi.decode(_does(tenant, address(pool), _offerCall(_requestOf(4, 10 hours), 0)), (uint256));
        _startBy(lease);
        skip(1 hours);
        uint256 fault = _attest(_now() - 30 minutes, 0);
        _kept(eager, address(pool), abi.encodeCall(ILeaseChanges.failover, (lease, standby, 1, 0, WORKLOAD)));
        _kept(eager, address(faults), abi.encodeCall(IFaults.roll, (machine))); // too early by itself as well
        skip(30 minutes);
        bytes memory recover = abi.encodeCall(IFaults.recover, (machine, uint64(_now()), _recoverProof()));
        _kept(eager, address(faults), recover);
        _recover();
        _kept(eager, address(faults), abi.encodeCall(IFaults.applyOutage, (fault, _one(lease))));
        _apply(fault, lease);
        vm.warp(uint256(faults.faultOf(fault).deadline) + 1);
        _kept(eager, address(faults), abi.encodeCall(IFaults.execute, (fault)));
        faults.execute(fault);
        uint256 before = pool.balanceOf(tenant);
        _kept(eager, address(faults), abi.encodeCall(IFaults.compensate, (fault, _one(lease))));
        vm.assertEq(pool.balanceOf(tenant), before);
        faults.compensate(fault, _one(lease));
        vm.assertEq(pool.balanceOf(tenant) - before, 2 * unit); // four of sixteen cells, all the time
    }

    function _recoverProof() private view returns (bytes memory) {
        bytes32 type_ = keccak256("Recover(address account,uint32 machine,uint64 issuedAt)");
        return _signed(OPERATOR_KEY, _poolDigest(keccak256(abi.encode(type_, operator, machine, uint64(_now())))));
    }

    function _kept(EagerToken eager, address target, bytes memory call) private {
        eager.arm(target, call);
        uint256 attempts = eager.attempts();
        uint256 snapshot = vm.snapshotState();
        _in(seller, unit);
        vm.assertEq(eager.attempts(), attempts + 1);
        vm.assertFalse(eager.succeeded());
        vm.revertToState(snapshot);
        eager.arm(address(0), "");
    }

    // ------------------------------------------------------------------------------------------------------ as a group

    function _group()
        private
        view
        returns (IAccounts.Call[] memory calls, address group, uint256[] memory keys, address[] memory signers)
    {
        calls = new IAccounts.Call[](1);
        keys = new uint256[](3);
        signers = new address[](3);
        for (uint256 i = 0; i < 3; ++i) {
            uint256 key = 0x6E0 + i;
            uint256 at = i;
            for (; at != 0 && signers[at - 1] > vm.addr(key); --at) {
                (keys[at], signers[at]) = (keys[at - 1], signers[at - 1]);
            }
            (keys[at], signers[at]) = (key, vm.addr(key));
        }
        group = accounts.groupAddress(2, signers, 0);
    }

    function _groupCall(
        IAccounts.Call[] memory calls,
        address group,
        uint256[] memory keys,
        address[] memory signers,
        uint256 nonce,
        bytes memory data
    ) private view returns (bytes memory) {
        calls[0] = IAccounts.Call(address(pool), data);
        bytes32 digest = accounts.executeDigest(group, calls, nonce, _now() + 1 days);
        bytes memory proof =
            abi.encodePacked(hex"03", uint8(2), uint8(3), signers[0], signers[1], signers[2], bytes32(0));
        proof = abi.encodePacked(proof, uint8(0), _signed(keys[0], digest), uint8(1), _signed(keys[1], digest));
        return abi.encodeCall(IAccounts.execute, (group, calls, nonce, _now() + 1 days, proof));
    }

    function _asGroup(
        IAccounts.Call[] memory calls,
        address group,
        uint256[] memory keys,
        address[] memory signers,
        bytes memory data
    ) private {
        uint256 nonce = accounts.nonceOf(group, 0);
        _does(THIEF, address(accounts), _groupCall(calls, group, keys, signers, nonce, data));
    }

    /// @dev A group takes an offer, grows, and withdraws; at the withdrawal, the one call of a group that reaches the token,
    /// the token hands a second, perfectly good approval of the group to Accounts, or acts as its delegate, or calls the
    /// pool and its companions in the group's name. It would move the group's 100 on the way.
    function test_a_token_that_reenters_as_a_group() external {
        EagerToken eager = new EagerToken();
        _enter(address(eager), 18);
        (IAccounts.Call[] memory calls, address group, uint256[] memory keys, address[] memory signers) = _group();
        vm.prank(tenant);
        pool.deposit(group, 100 * unit);
        eager.arm(address(pool), abi.encodeCall(ILedger.transfer, (THIEF, 1)));
        _asGroup(calls, group, keys, signers, _offerCall(_requestOf(4, 1 hours), 0));
        _asGroup(calls, group, keys, signers, abi.encodeCall(ILeases.open, (_requestOf(4, 10 hours))));
        uint256 lease = uint256(pool.slotCount()) << 16;
        _startBy(lease);
        skip(1 hours);
        _asGroup(calls, group, keys, signers, abi.encodeCall(ILeaseChanges.resize, (lease, 8, 0)));
        vm.assertEq(eager.attempts(), 0); // a group pays from its ledger: no token is asked
        uint256 left = pool.balanceOf(group);

        bytes memory out = abi.encodeCall(ILedger.withdraw, (tenant, unit));
        uint256 nonce = accounts.nonceOf(group, 0);
        bytes memory second =
            _groupCall(calls, group, keys, signers, nonce + 1, abi.encodeCall(ILedger.transfer, (THIEF, unit)));
        _nested(eager, second, _groupCall(calls, group, keys, signers, nonce, out));
        bytes memory act =
            abi.encodeCall(IAccounts.executeAsDelegate, (group, address(pool), abi.encodeCall(ILeases.close, (lease))));
        _nested(eager, act, _groupCall(calls, group, keys, signers, nonce, out));
        eager.arm(address(faults), abi.encodeCall(IFaults.challenge, (machine, lease)));
        _asGroup(calls, group, keys, signers, out);
        vm.assertFalse(eager.succeeded());
        vm.assertEq(eager.answer(), abi.encodeWithSelector(IFaults.NotATenant.selector, lease, address(eager)));
        vm.assertEq(pool.balanceOf(group), left - unit);
        vm.assertEq(pool.balanceOf(THIEF), 0);
        vm.assertEq(accounts.actor(), address(0));
        eager.arm(address(0), "");
        _does(THIEF, address(accounts), second); // it was good
        vm.assertEq(pool.balanceOf(THIEF), unit);
    }

    function _nested(EagerToken eager, bytes memory inner, bytes memory outer) private {
        uint256 snapshot = vm.snapshotState();
        eager.arm(address(accounts), inner);
        _does(THIEF, address(accounts), outer);
        vm.assertEq(eager.attempts(), 1);
        vm.assertFalse(eager.succeeded());
        vm.assertEq(eager.answer(), abi.encodeWithSelector(IAccounts.Nested.selector));
        vm.revertToState(snapshot);
    }
}
