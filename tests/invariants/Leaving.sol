// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {ICommittee, RoundState} from "../../contracts/interfaces/ICommittee.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {FaultState, IFaults} from "../../contracts/interfaces/IFaults.sol";
import {LeaseRequest, LeaseState, MachineStatus, MachineView, Terms} from "../../contracts/interfaces/PoolTypes.sol";
import {SizedToken} from "../../contracts/test/OddTokens.sol";
import {mine, skip, vm} from "./Cheats.sol";
import {Ghost} from "./Ghost.sol";
import {Handler} from "./Handler.sol";
import {Pools} from "./Pools.sol";

/// @notice Everybody leaves a pool, each by the calls that nobody can keep from them. None may revert.
/// @dev forge discards what an invariant itself changes, so an invariant may try things out.
abstract contract Leaving {
    address internal constant BURNT = address(0xdEaD);
    uint256 private constant DELAY = 91 days; // more than the longest `unstakeDelay`

    Handler internal handler;
    IController internal pool;
    IFaults internal faults;
    ICommittee internal committee;
    SizedToken internal token;

    function _create(address token_) internal {
        vm.warp(1_800_000_000);
        (IController pool_, IController other, IAccounts accounts) =
            Pools.create(token_, address(0x03E4), address(0x77EA5));
        pool = pool_;
        token = SizedToken(token_);
        handler = new Handler(pool_, other, accounts, token, address(0x03E4), address(0x77EA5));
        (faults, committee) = (handler.faults(), handler.committee());
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    function _lease(uint256 i) internal view returns (uint256 id, Ghost.Lease memory l) {
        id = handler.leaseIds(i);
        l = handler.lease(id);
    }

    // --------------------------------------------------------------------------------------------------------- leases

    /// @dev Claims, as its provider, whatever there is to claim.
    function _claimAll() internal {
        uint256[] memory one = new uint256[](1);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.state != LeaseState.Active) continue;
            if (handler.owed(id, handler.claimableUntil(id)) <= l.settled) continue;
            one[0] = id;
            vm.prank(handler.machine(l.machine).provider);
            pool.claim(one);
        }
    }

    /// @dev Ends a lease as whoever may: its tenant, or past a deadline the thief.
    function _end(uint256 id, Ghost.Lease memory l) internal returns (uint256 gas) {
        bool late = l.state == LeaseState.Opened
            ? vm.getBlockTimestamp() > l.openedAt + pool.params(l.params).startWindow
            : handler.openToAll(id);
        vm.prank(late ? handler.thief() : l.tenant);
        gas = gasleft();
        if (l.state == LeaseState.Opened && late) pool.cancelUnstarted(id);
        else pool.close(id);
        gas -= gasleft();
    }

    function _endAll() internal {
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.endings == 0) _end(id, l);
        }
        for (uint32 m = 1; m <= handler.machines(); m++) {
            require(pool.machineOf(m).leased == 0, "cells stay leased when every lease has ended");
        }
    }

    // ------------------------------------------------------------------------------------------- stake, faults, seats

    /// @dev Challenges are proven, outages ended, and machines retired.
    function _retireAll() internal {
        skip(3 hours);
        for (uint32 m = 1; m <= handler.machines(); m++) {
            if (faults.challengeOf(m).at != 0) {
                vm.prank(handler.thief());
                faults.prove(m);
            }
            MachineView memory seen = pool.machineOf(m);
            vm.prank(seen.provider);
            if (seen.status != MachineStatus.Retired) pool.retire(m);
            if (faults.runningFault(m) == 0) continue;
            vm.prank(handler.thief());
            faults.roll(m);
        }
    }

    /// @dev Every fault is executed, once its windows have passed, and every tenant credited.
    function _settleFaults() internal {
        uint256 count = faults.faultCount();
        for (uint256 id = 1; id <= count; id++) {
            FaultState state = faults.faultOf(id).state;
            vm.prank(handler.thief());
            if (state != FaultState.Executed && state != FaultState.Dropped) {
                faults.execute(id);
            }
            if (faults.faultOf(id).state != FaultState.Executed) continue;
            faults.compensate(id, handler.fault(id).leases);
            require(faults.faultOf(id).pot == 0, "a part of a slash belongs to nobody");
        }
    }

    function _settleRounds() internal {
        for (uint256 id = 1; id <= committee.roundCount(); id++) {
            // A round that nobody draws misses five blocks, and is over.
            for (uint256 i = 0; i < 5 && committee.roundOf(id).state == RoundState.Requested; i++) {
                mine(300);
                committee.draw(id);
            }
            if (committee.roundOf(id).state == RoundState.Drawn) committee.finalize(id);
        }
    }

    function _payQuorums() internal {
        for (uint256 i = 0; i < handler.quorumCount(); i++) {
            bytes32 quorum = handler.quorums(i);
            if (committee.dueOf(quorum) != 0) committee.payQuorum(handler.signersOf(quorum));
        }
    }

    function _vacateSeats() internal {
        for (uint32 seat = 1; seat <= committee.seatCount(); seat++) {
            address validator = committee.seatOf(seat).validator;
            if (validator == address(0) || committee.seatOf(seat).leavesAt != 0) continue;
            vm.prank(validator);
            committee.leave(seat);
        }
        skip(21 days);
        for (uint32 seat = 1; seat <= committee.seatCount(); seat++) {
            if (committee.seatOf(seat).validator != address(0)) committee.exit(seat);
        }
    }

    function _unstakeAll() internal {
        for (uint32 m = 1; m <= handler.machines(); m++) {
            if (pool.machineOf(m).stake == 0) continue;
            vm.prank(handler.thief());
            pool.unstake(m);
            require(pool.machineOf(m).stake == 0, "a stake stays behind");
        }
    }

    // --------------------------------------------------------------------------------------------------------- ledger

    function _withdraw(address who) internal returns (uint256 gas) {
        uint256 balance = pool.balanceOf(who);
        uint256 before = token.balanceOf(who);
        if (balance == 0) return 0;
        vm.prank(who);
        gas = gasleft();
        pool.withdraw(who, balance);
        gas -= gasleft();
        require(token.balanceOf(who) == before + balance, "a withdrawal paid another sum");
    }

    function _everybody() internal view returns (address[] memory all) {
        all = new address[](17);
        for (uint256 i = 0; i < 6; i++) {
            all[i] = handler.people(i);
        }
        for (uint256 i = 0; i < 7; i++) {
            all[6 + i] = handler.validators(i);
        }
        (all[13], all[14], all[15], all[16]) =
        (handler.rogue(), handler.accomplice(), handler.thief(), handler.treasury());
    }

    function _withdrawAll() internal {
        address[] memory all = _everybody();
        for (uint256 i = 0; i < all.length; i++) {
            _withdraw(all[i]);
        }
    }

    /// @dev The whole way out.
    function _leaveAll() internal {
        vm.prank(handler.owner());
        pool.setPaused(true);
        _claimAll();
        _endAll();
        _retireAll();
        skip(15 days); // appeals and rulings
        _settleFaults();
        _payQuorums();
        _settleRounds();
        _vacateSeats();
        skip(DELAY);
        _unstakeAll();
        pool.pullFees(_everybody());
        _withdrawAll();
    }
}
