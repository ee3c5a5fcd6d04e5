// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {
    LeaseState,
    LeaseView,
    MachineStatus,
    MachineView,
    Params
} from "../../contracts/interfaces/IControllerTypes.sol";
import {QuietToken, SizedToken} from "../../contracts/test/OddTokens.sol";
import {skip, vm} from "./Cheats.sol";
import {Ghost} from "./Ghost.sol";
import {Handler} from "./Handler.sol";
import {Pools} from "./Pools.sol";

/// @notice The invariants of the specification, by their numbers there. `Handler` acts, its ghost reads the events, and
/// here the two are held against the pool.
/// @dev forge discards what an invariant itself changes, so an invariant may try things out.
abstract contract ControllerInvariants {
    Handler internal handler;
    IController internal pool;
    SizedToken internal token;

    function _create(address token_) internal {
        vm.warp(1_800_000_000);
        (IController pool_, IAccounts accounts_) = Pools.create(token_, address(0x03E4), address(0x77EA5));
        pool = pool_;
        token = SizedToken(token_);
        handler = new Handler(pool_, accounts_, token, address(0x03E4), address(0x77EA5));
        // Something to begin with, so that few steps are lost on an empty pool.
        for (uint256 i = 0; i < 3; i++) {
            handler.deposit(i, i, 50_000 * handler.unit());
            handler.register(i, uint8(1 + 3 * i), 77_777_777 * (i + 1));
        }
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    function _holds(uint256 number) private view {
        string memory what = handler.broken(number);
        require(bytes(what).length == 0, what);
    }

    /// @notice The pool holds what it owes, and exactly that but for what was sent to it without being asked.
    function invariant_01_solvency() external view {
        _holds(1);
        uint256 owed = handler.totalLedger() + handler.totalEscrow() + handler.totalStake() + handler.totalFeesDue();
        require(token.balanceOf(address(pool)) == owed + handler.donated(), "the pool does not hold what it owes");
        uint256 ledgers = pool.balanceOf(handler.treasury()) + pool.balanceOf(handler.thief());
        uint256 dues;
        for (uint256 i = 0; i < 5; i++) {
            address person = handler.people(i);
            require(pool.balanceOf(person) == handler.ledger(person), "a ledger balance is not what the events say");
            require(pool.accountOf(person).feesDue == handler.feesDue(person), "fees due are not what the events say");
            ledgers += pool.balanceOf(person);
            dues += pool.accountOf(person).feesDue;
        }
        require(ledgers == handler.totalLedger(), "the ledgers' sum is not what the events say");
        require(dues == handler.totalFeesDue(), "the fees' sum is not what the events say");
        uint256 stakes;
        for (uint32 m = 1; m <= handler.machines(); m++) {
            require(pool.machineOf(m).stake == handler.machine(m).stake, "a stake is not what the events say");
            stakes += pool.machineOf(m).stake;
        }
        require(stakes == handler.totalStake(), "the stakes' sum is not what the events say");
    }

    /// @notice Of each lease: paid + fee + refunded + what remains is what was deposited, to the unit.
    function invariant_02_every_unit_of_a_deposit_is_somewhere() external view {
        _holds(2);
        uint256 escrows;
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            uint256 remaining = l.endings > 0 ? 0 : l.deposit - l.settled;
            require(uint256(l.paid) + l.fee + l.refunded + remaining == l.deposit, "a lease lost or made a token unit");
            if (_current(id)) {
                LeaseView memory seen = pool.leaseOf(id);
                require(seen.deposit == l.deposit, "a deposit is not what the events say");
                require(seen.state == l.state, "a state is not what the events say");
            }
            escrows += remaining;
        }
        require(escrows == handler.totalEscrow(), "the escrows' sum is not what the events say");
    }

    /// @notice Nobody is paid for more than the time that a lease ran.
    function invariant_03_paid_at_most_the_billable_time() external view {
        _holds(3);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (, Ghost.Lease memory l) = _lease(i);
            if (l.state != LeaseState.Active && l.state != LeaseState.Ended) continue;
            uint256 until = vm.getBlockTimestamp() < l.end ? vm.getBlockTimestamp() : l.end;
            uint256 most = handler.costDown(l.price, handler.cellsOf(l.placement), until - l.start);
            require(uint256(l.paid) + l.fee <= most, "more was paid than the time that a lease ran costs");
        }
    }

    /// @notice What is settled never decreases and never passes the deposit.
    function invariant_04_settled_only_grows() external view {
        _holds(4);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            require(l.settled <= l.deposit, "more is settled than was deposited");
            if (_current(id)) require(pool.leaseOf(id).settled == l.settled, "settled is not what the events say");
        }
    }

    /// @notice Live leases on a machine never share a cell, and a machine is busy with exactly them and what is withheld.
    function invariant_05_placements_are_disjoint() external view {
        _holds(5);
        for (uint32 m = 1; m <= handler.machines(); m++) {
            Ghost.Machine memory known = handler.machine(m);
            MachineView memory seen = pool.machineOf(m);
            uint64 taken;
            for (uint256 i = 0; i < handler.leaseCount(); i++) {
                (, Ghost.Lease memory l) = _lease(i);
                if (l.machine != m || l.endings > 0) continue;
                uint64 mask = handler.maskOf(l.placement);
                require(mask != 0 && taken & mask == 0, "two live leases share a cell");
                taken |= mask;
            }
            uint64 all = uint64(type(uint64).max >> (64 - 8 * uint256(known.gpus)));
            require(taken & ~all == 0, "a lease sits on a GPU that the machine does not have");
            require(seen.leased == taken, "the leased cells are not those of the live leases");
            require(seen.withheld == known.withheld, "the withheld cells are not what the events say");
            require(seen.busy == taken | known.withheld, "busy is not leased and withheld together");
        }
    }

    /// @notice When all have left, nothing remains: every lease ends and pays out to zero, every stake and every balance
    /// is withdrawn, even while the pool is paused.
    function invariant_06_every_ended_lease_pays_out_to_zero() external {
        if (!_due()) return;
        vm.prank(handler.owner());
        pool.setPaused(true);
        _endAll();
        for (uint32 m = 1; m <= handler.machines(); m++) {
            if (pool.machineOf(m).stake == 0) continue;
            address provider = handler.machine(m).provider;
            if (pool.machineOf(m).status != MachineStatus.Retired) {
                vm.prank(provider);
                pool.retire(m);
            }
        }
        skip(91 days); // the longest unstakeDelay
        for (uint32 m = 1; m <= handler.machines(); m++) {
            if (pool.machineOf(m).stake == 0) continue;
            vm.prank(handler.machine(m).provider);
            pool.unstake(m);
        }
        address[] memory providers = new address[](5);
        for (uint256 i = 0; i < 5; i++) {
            providers[i] = handler.people(i);
        }
        pool.pullFees(providers);
        _withdrawAll();
        require(token.balanceOf(address(pool)) == handler.donated(), "something stayed behind in an empty pool");
    }

    /// @notice Whatever the others did, a tenant closes, a provider claims and anyone withdraws.
    function invariant_07_exits_stay_open() external {
        _holds(7);
        if (!_due()) return;
        vm.prank(handler.owner());
        pool.setPaused(true);
        uint256[] memory one = new uint256[](1);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.state != LeaseState.Active || !_claimable(l)) continue;
            one[0] = id;
            vm.prank(handler.machine(l.machine).provider);
            pool.claim(one);
        }
        _endAll();
        _withdrawAll();
    }

    /// @notice Stake leaves only a machine that has retired, after its delay, and goes to its provider.
    function invariant_08_stake_in_service_stays() external view {
        _holds(8);
    }

    /// @notice A proof works once, and for its own account.
    function invariant_10_no_proof_works_twice() external view {
        _holds(10);
    }

    /// @notice A gang opens whole or not at all.
    function invariant_12_a_gang_opens_whole() external view {
        _holds(12);
    }

    /// @notice The fee never exceeds what a lease opened with.
    function invariant_14_the_fee_is_the_version_s() external view {
        _holds(14);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (, Ghost.Lease memory l) = _lease(i);
            uint256 most = uint256(l.settled) * pool.params(l.params).feeBps / 10_000;
            require(l.fee <= most, "a fee above that of the lease's version");
        }
    }

    /// @notice Each lease gives its cells back once: those that are leased are those opened and not ended.
    function invariant_16_cells_are_freed_once() external view {
        _holds(16);
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            require(l.endings <= 1, "a lease ended twice");
            uint64 mask = handler.maskOf(l.placement);
            if (l.endings == 0) {
                require(pool.machineOf(l.machine).leased & mask == mask, "a live lease lost its cells");
                require(_current(id), "a live lease lost its slot");
            }
        }
    }

    /// @notice Parameters stay in bounds, change only after their delay, and reach no lease that is open.
    function invariant_19_parameters_reach_no_open_lease() external view {
        _holds(19);
        uint16 inForce = pool.paramsVersion();
        require(inForce <= handler.versions(), "parameters in force that nobody proposed");
        require(handler.paramsInForceAt(inForce) <= vm.getBlockTimestamp(), "parameters in force before their time");
        for (uint16 v = 1; v <= inForce; v++) {
            Params memory p = pool.params(v);
            require(keccak256(abi.encode(p)) == handler.paramsHash(v), "a version of the parameters changed");
            require(p.feeBps <= 1000 && p.holdFeeBps <= 10_000 && p.maxSlashBps <= 10_000, "a share out of bounds");
            require(p.challengeWindow >= 10 minutes && p.claimLag >= p.challengeWindow, "a window out of bounds");
            require(p.filingWindow <= 7 days, "the filing window is out of bounds");
            require(
                p.unstakeDelay >= uint256(p.filingWindow) + p.challengeWindow + p.appealWindow + p.rulingWindow,
                "stake would leave before a fault could be ruled on"
            );
        }
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (!_current(id)) continue;
            LeaseView memory seen = pool.leaseOf(id);
            bytes32 terms = keccak256(
                abi.encode(seen.tenant, seen.machine, seen.placement, seen.price, seen.revision, seen.params)
            );
            require(terms == l.terms, "an open lease's terms changed");
        }
    }

    /// @notice No exit costs more because others have filled the pool.
    function invariant_20_exits_cost_the_same_in_a_full_pool() external {
        if (!_due()) return;
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.endings > 0) continue;
            require(_end(id, l) < 130_000, "to end a lease costs more than it should");
        }
        for (uint256 i = 0; i < 5; i++) {
            require(_withdraw(handler.people(i)) < 110_000, "to withdraw costs more than it should");
        }
    }

    /// @notice The thief, who submits everybody's proofs and tries every door, is no richer.
    function invariant_the_thief_gains_nothing() external view {
        address thief = handler.thief();
        require(token.balanceOf(thief) + pool.balanceOf(thief) <= handler.thiefsWealth(), "the thief got richer");
        require(pool.owner() == handler.owner(), "the pool has another owner");
        require(pool.treasury() == handler.treasury(), "the pool has another treasury");
    }

    // ----------------------------------------------------------------------------------------------------- trying out

    /// @dev The costly trials run on every fourth state only.
    function _due() private view returns (bool) {
        return uint256(keccak256(abi.encode(vm.getBlockTimestamp(), handler.totalLedger()))) % 4 == 0;
    }

    function _lease(uint256 i) private view returns (uint256 id, Ghost.Lease memory l) {
        id = handler.leaseIds(i);
        l = handler.lease(id);
    }

    /// @dev Whether the slot still holds this generation of the lease.
    function _current(uint256 id) private view returns (bool) {
        return pool.leaseOf(id).state != LeaseState.None;
    }

    /// @dev Past the longest trial, with something accrued before the lag.
    function _claimable(Ghost.Lease memory l) private view returns (bool) {
        uint256 lag = pool.params(l.params).claimLag;
        uint256 until = vm.getBlockTimestamp() - lag;
        if (until > l.end) until = l.end;
        if (until <= l.start || vm.getBlockTimestamp() <= l.start + 15 minutes) return false;
        return handler.costDown(l.price, handler.cellsOf(l.placement), until - l.start) > l.settled;
    }

    /// @dev Ends a lease as whoever may: its tenant, or past a deadline the thief. Nothing may be in the way.
    function _end(uint256 id, Ghost.Lease memory l) private returns (uint256 gas) {
        uint256 window = pool.params(l.params).startWindow;
        bool late = l.state == LeaseState.Opened
            ? vm.getBlockTimestamp() > l.openedAt + window
            : vm.getBlockTimestamp() >= l.end;
        vm.prank(late ? handler.thief() : l.tenant);
        gas = gasleft();
        if (l.state == LeaseState.Opened && late) pool.cancelUnstarted(id);
        else pool.close(id);
        gas -= gasleft();
    }

    function _endAll() private {
        for (uint256 i = 0; i < handler.leaseCount(); i++) {
            (uint256 id, Ghost.Lease memory l) = _lease(i);
            if (l.endings == 0) _end(id, l);
        }
        for (uint32 m = 1; m <= handler.machines(); m++) {
            require(pool.machineOf(m).leased == 0, "cells stay leased when every lease has ended");
        }
    }

    function _withdraw(address who) private returns (uint256 gas) {
        uint256 balance = pool.balanceOf(who);
        uint256 before = token.balanceOf(who);
        if (balance == 0) return 0;
        vm.prank(who);
        gas = gasleft();
        pool.withdraw(who, balance);
        gas -= gasleft();
        require(token.balanceOf(who) == before + balance, "a withdrawal paid another sum");
    }

    function _withdrawAll() private {
        for (uint256 i = 0; i < 5; i++) {
            _withdraw(handler.people(i));
        }
        _withdraw(handler.treasury());
    }
}

/// @notice With an ordinary token of 18 decimals.
contract ControllerInvariantsPlain is ControllerInvariants {
    function setUp() external {
        _create(address(new SizedToken(18)));
    }

    /// @notice A step that never goes through would test nothing: so many steps, and each has worked.
    function test_every_step_goes_through_now_and_then() external {
        bytes4[36] memory steps = [
            Handler.pass.selector,
            Handler.deposit.selector,
            Handler.transfer.selector,
            Handler.withdraw.selector,
            Handler.donate.selector,
            Handler.register.selector,
            Handler.setTerms.selector,
            Handler.configure.selector,
            Handler.withhold.selector,
            Handler.addStake.selector,
            Handler.recover.selector,
            Handler.retire.selector,
            Handler.unstake.selector,
            Handler.open.selector,
            Handler.start.selector,
            Handler.openAndStart.selector,
            Handler.gang.selector,
            Handler.move.selector,
            Handler.decline.selector,
            Handler.cancelUnstarted.selector,
            Handler.reject.selector,
            Handler.extend.selector,
            Handler.setWorkload.selector,
            Handler.close.selector,
            Handler.sweep.selector,
            Handler.terminate.selector,
            Handler.claim.selector,
            Handler.publishResult.selector,
            Handler.pullFees.selector,
            Handler.govern.selector,
            Handler.reform.selector,
            Handler.renew.selector,
            Handler.claimAndExtend.selector,
            Handler.steal.selector,
            Handler.replay.selector,
            Handler.overreach.selector
        ];
        for (uint256 i = 0; i < 2500; i++) {
            bytes32 seed = keccak256(abi.encode(i));
            bytes memory call = abi.encodePacked(
                steps[uint256(seed) % steps.length],
                keccak256(abi.encode(seed, 1)),
                keccak256(abi.encode(seed, 2)),
                seed
            );
            (bool ok,) = address(handler).call(call);
            require(ok, "a step reverted");
        }
        for (uint256 i = 0; i < steps.length; i++) {
            require(handler.done(steps[i]) > 0, "a step never went through");
        }
    }
}

/// @notice With a token of 6 decimals that returns nothing.
contract ControllerInvariantsQuiet is ControllerInvariants {
    function setUp() external {
        _create(address(new QuietToken()));
    }
}
