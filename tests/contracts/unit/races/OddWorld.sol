// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee} from "../../../../contracts/interfaces/ICommittee.sol";
import {IController} from "../../../../contracts/interfaces/IController.sol";
import {IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {ILeaseChanges} from "../../../../contracts/interfaces/ILeases.sol";
import {LeaseRequest, Offer, Params, Terms} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {RaceWorld} from "./RaceWorld.sol";

/// @notice What the tests need of any token. `approve` may return something or nothing.
interface IOdd {
    function mint(address to, uint256 amount) external;
    function approve(address spender, uint256 amount) external;
    function balanceOf(address account) external view returns (uint256);
}

/// @notice The world of races with another token, in which a unit is `10 ** decimals`, and a provider who has a key.
/// Prices and stakes are the same in units: a GPU costs 2.88 an hour, 100 are staked, a bond is 5.
abstract contract OddWorld is RaceWorld {
    uint256 internal constant SELLER_KEY = 0x980733;
    uint256 internal constant MINE = 10_000;
    address internal immutable seller = vm.addr(SELLER_KEY);

    IOdd internal odd;
    uint256 internal unit;
    uint32 internal standby;

    /// @dev Everything anew, in a pool of `odd_`.
    function _enter(address odd_, uint8 decimals) internal {
        (odd, unit) = (IOdd(odd_), 10 ** decimals);
        pool = IController(factory.createPool(odd_, OWNER, TREASURY, _scaled()));
        (address committee_, address faults_,,) = pool.companions();
        (committee, faults) = (ICommittee(committee_), IFaults(faults_));
        _rich(tenant);
        _rich(seller);
        machine = _listed(2);
        standby = _listed(1);
        for (uint256 i = 0; i < SEATS; ++i) {
            address validator = vm.addr(SEAT_KEY + i);
            _rich(validator);
            _in(validator, 550 * unit);
            vm.prank(validator);
            committee.join(1);
        }
        skip(3 days);
    }

    function _scaled() internal view returns (Params memory params) {
        params = _params();
        params.minStakePerGpu = uint96(100 * unit);
        params.bond = uint96(5 * unit);
        params.seatStake = uint96(500 * unit);
        params.verificationFee = uint96(5 * unit);
    }

    function _oddTerms() internal view returns (Terms memory terms) {
        terms = _terms();
        terms.price = uint80(288 * unit / 100);
    }

    /// @dev What a cell costs a second.
    function _second() internal view returns (uint256) {
        return unit / 10_000;
    }

    function _rich(address who) internal {
        odd.mint(who, MINE * unit);
        vm.prank(who);
        odd.approve(address(pool), type(uint256).max);
    }

    function _in(address who, uint256 amount) internal {
        vm.prank(who);
        pool.deposit(who, amount);
    }

    function _out(address who, address to) internal {
        uint256 amount = pool.balanceOf(who);
        if (amount == 0) return;
        vm.prank(who);
        pool.withdraw(to, amount);
    }

    function _listed(uint8 gpus) internal returns (uint32) {
        Terms memory terms = _oddTerms();
        vm.prank(seller);
        return pool.register(terms, gpus, 1, "hardware", "contact", operator, _consent(address(pool), seller));
    }

    function _requestOf(uint8 share, uint32 duration) internal view returns (LeaseRequest memory request) {
        request = _request(machine, share, duration);
        request.maxPrice = type(uint80).max;
        request.backup = keccak256(abi.encode(standby, uint16(1), uint16(0), WORKLOAD));
    }

    /// @dev An offer of the seller's at the listed price.
    function _offerCall(LeaseRequest memory request, uint256 nonce) internal view returns (bytes memory) {
        Offer memory offer = Offer(
            seller,
            machine,
            1,
            _oddTerms().price,
            request.share,
            request.duration,
            false,
            address(0),
            nonce,
            uint64(_now() + 30 days)
        );
        bytes memory proof = _signed(SELLER_KEY, pool.offerDigest(offer));
        return abi.encodeCall(ILeaseChanges.openWithOffer, (request, offer, proof));
    }

    function _does(address who, address target, bytes memory data) internal returns (bytes memory result) {
        bool ok;
        vm.prank(who);
        (ok, result) = target.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(result, 32), mload(result))
            }
        }
    }

    function _resizeAs(address who, uint256 lease, uint8 share) internal {
        vm.prank(who);
        pool.resize(lease, share, 0);
    }

    function _failover(uint256 lease) internal returns (uint256) {
        return pool.failover(lease, standby, 1, 0, WORKLOAD);
    }

    // ------------------------------------------------------------------------------------------------- a round of five

    /// @dev Five of six are drawn, measure the machine and agree.
    function _verified() internal {
        vm.prank(tenant);
        uint256 round = committee.requestVerification(machine, 1);
        vm.roll(vm.getBlockNumber() + 2);
        committee.draw(round);
        uint32[] memory drawn = committee.drawnFor(round);
        for (uint256 i = 0; i < drawn.length; ++i) {
            bytes32 sealed_ = keccak256(
                abi.encode(
                    block.chainid, address(pool), round, drawn[i], true, bytes32("spec"), uint16(900), bytes32(0)
                )
            );
            address validator = committee.seatOf(drawn[i]).validator;
            vm.prank(validator);
            committee.commit(round, drawn[i], sealed_);
        }
        skip(4 hours);
        for (uint256 i = 0; i < drawn.length; ++i) {
            address validator = committee.seatOf(drawn[i]).validator;
            vm.prank(validator);
            committee.reveal(round, drawn[i], true, "spec", 900, 0);
        }
        skip(2 hours);
        committee.finalize(round);
    }
}
