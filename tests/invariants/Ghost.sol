// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {IController} from "../../contracts/interfaces/IController.sol";
import {IControllerEvents} from "../../contracts/interfaces/IControllerEvents.sol";
import {LeaseState, Params, Terms} from "../../contracts/interfaces/IControllerTypes.sol";
import {Cheats, vm} from "./Cheats.sol";

/// @notice What an index knows that reads nothing but the pool's events, with the arithmetic of the specification done
/// over again. The invariants hold it against the chain, so an event that lies is found as surely as a sum that is wrong.
/// A sentence of the specification that an event contradicts is kept in `broken`, under its invariant's number.
abstract contract Ghost {
    struct Lease {
        address tenant;
        uint32 machine;
        uint16 placement;
        LeaseState state;
        uint32 openedAt;
        uint32 duration;
        uint32 start; // 0 until started
        uint32 end; // 0 until started
        uint96 deposit;
        uint96 settled;
        uint96 paid;
        uint96 fee;
        uint96 refunded;
        uint80 price;
        uint16 params;
        uint8 endings;
        bytes32 terms; // hash of what it opened under, which nothing may change
    }

    struct Machine {
        address provider;
        address operator;
        uint8 gpus;
        uint96 stake;
        uint64 withheld;
        uint32 retiredAt;
    }

    IController public pool;

    mapping(address account => uint256) public ledger;
    mapping(address provider => uint256) public feesDue;
    mapping(uint256 lease => Lease) internal _leases;
    mapping(uint32 machine => Machine) internal _machines;
    mapping(uint16 version => bytes32 hash) public paramsHash;
    mapping(uint16 version => uint40 at) public paramsInForceAt;

    uint256[] public leaseIds;
    uint32 public machines;
    uint16 public versions;
    uint256 public totalLedger;
    uint256 public totalEscrow;
    uint256 public totalStake;
    uint256 public totalFeesDue;

    /// @notice The first contradiction found, by the number of the invariant that it breaks.
    mapping(uint256 invariant => string what) public broken;

    uint256 private constant SECONDS_AND_CELLS = 28_800; // 3,600 seconds × 8 cells

    function leaseCount() external view returns (uint256) {
        return leaseIds.length;
    }

    function lease(uint256 id) external view returns (Lease memory) {
        return _leases[id];
    }

    function machine(uint32 id) external view returns (Machine memory) {
        return _machines[id];
    }

    // -------------------------------------------------------------------------------------------------- arithmetic

    /// @notice The cells of a placement, counted.
    function cellsOf(uint16 placement) public pure returns (uint256) {
        return _ones(placement >> 8) * _ones(placement & 0xFF);
    }

    /// @notice The cells of a placement as bits `8 × gpu + cell`.
    function maskOf(uint16 placement) public pure returns (uint64 mask) {
        for (uint256 gpu = 0; gpu < 8; gpu++) {
            if (placement >> (8 + gpu) & 1 == 1) mask |= uint64(placement & 0xFF) << uint64(8 * gpu);
        }
    }

    function costDown(uint256 price, uint256 cells, uint256 secs) public pure returns (uint256) {
        return price * cells * secs / SECONDS_AND_CELLS;
    }

    function costUp(uint256 price, uint256 cells, uint256 secs) public pure returns (uint256) {
        return (price * cells * secs + SECONDS_AND_CELLS - 1) / SECONDS_AND_CELLS;
    }

    function _ones(uint256 bits) private pure returns (uint256 n) {
        for (; bits != 0; bits &= bits - 1) {
            n++;
        }
    }

    // ------------------------------------------------------------------------------------------------------ ledger

    function _expect(bool holds, uint256 invariant, string memory what) internal {
        if (!holds && bytes(broken[invariant]).length == 0) broken[invariant] = what;
    }

    function _credit(address account, uint256 amount) private {
        ledger[account] += amount;
        totalLedger += amount;
    }

    function _debit(address account, uint256 amount) private {
        _expect(ledger[account] >= amount, 1, "an account spent more than its ledger held");
        if (ledger[account] < amount) return;
        ledger[account] -= amount;
        totalLedger -= amount;
    }

    // ------------------------------------------------------------------------------------------------------ events

    /// @dev Takes in what happened since `vm.recordLogs`, if it came to pass: forge also records what was reverted.
    /// @return opened how many leases were opened
    function _absorb(bool ok) internal returns (uint256 opened) {
        Cheats.Log[] memory logs = vm.getRecordedLogs();
        if (!ok) return 0;
        for (uint256 i = 0; i < logs.length; i++) {
            if (logs[i].emitter != address(pool)) continue;
            if (logs[i].topics[0] == IControllerEvents.LeaseOpened.selector) opened++;
            _absorbLedger(logs[i]);
            _absorbMachine(logs[i]);
            _absorbLease(logs[i]);
            _absorbEnding(logs[i]);
        }
    }

    function _absorbLedger(Cheats.Log memory log) private {
        bytes32 kind = log.topics[0];
        if (kind == IControllerEvents.Deposited.selector) {
            (uint256 amount, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            _credit(_account(log, 1), amount);
            _expect(ledger[_account(log, 1)] == balance, 1, "Deposited tells another balance");
        } else if (kind == IControllerEvents.Withdrawn.selector) {
            (uint256 amount, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            _debit(_account(log, 1), amount);
            _expect(ledger[_account(log, 1)] == balance, 1, "Withdrawn tells another balance");
        } else if (kind == IControllerEvents.Transferred.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            _debit(_account(log, 1), amount);
            _credit(_account(log, 2), amount);
        } else if (kind == IControllerEvents.FeesPulled.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            address provider = _account(log, 1);
            _expect(feesDue[provider] == amount, 1, "FeesPulled moves other than what was due");
            feesDue[provider] -= amount;
            totalFeesDue -= amount;
            _credit(_account(log, 2), amount);
        } else if (kind == IControllerEvents.ParamsProposed.selector) {
            (uint40 inForceAt, Params memory p) = abi.decode(log.data, (uint40, Params));
            uint16 version = uint16(uint256(log.topics[1]));
            _expect(
                inForceAt >= vm.getBlockTimestamp() + 2 days, 19, "parameters proposed with less than two days' delay"
            );
            paramsHash[version] = keccak256(abi.encode(p));
            paramsInForceAt[version] = inForceAt;
            versions = version;
        } else if (kind == IControllerEvents.ParamsCancelled.selector) {
            uint16 version = uint16(uint256(log.topics[1]));
            _expect(vm.getBlockTimestamp() < paramsInForceAt[version], 19, "parameters in force were cancelled");
            delete paramsHash[version];
            delete paramsInForceAt[version];
            versions = version - 1;
        }
    }

    function _absorbMachine(Cheats.Log memory log) private {
        bytes32 kind = log.topics[0];
        uint32 id = log.topics.length > 1 ? uint32(uint256(log.topics[1])) : 0;
        if (kind == IControllerEvents.MachineRegistered.selector) {
            (uint8 gpus, uint96 stake, uint256 pulled) = abi.decode(log.data, (uint8, uint96, uint256));
            _machines[id] = Machine(_account(log, 2), _account(log, 3), gpus, stake, 0, 0);
            machines++;
            totalStake += stake;
            _debit(_account(log, 2), stake - pulled);
        } else if (kind == IControllerEvents.OperatorSet.selector) {
            _machines[id].operator = _account(log, 2);
        } else if (kind == IControllerEvents.Withheld.selector) {
            _machines[id].withheld = abi.decode(log.data, (uint64));
        } else if (kind == IControllerEvents.StakeAdded.selector) {
            (uint256 amount, uint256 pulled, uint96 stake) = abi.decode(log.data, (uint256, uint256, uint96));
            _machines[id].stake += uint96(amount);
            totalStake += amount;
            _debit(_account(log, 2), amount - pulled);
            _expect(_machines[id].stake == stake, 1, "StakeAdded tells another stake");
        } else if (kind == IControllerEvents.MachineRetired.selector) {
            _machines[id].retiredAt = abi.decode(log.data, (uint32));
        } else if (kind == IControllerEvents.Unstaked.selector) {
            uint256 amount = abi.decode(log.data, (uint256));
            _expect(_account(log, 2) == _machines[id].provider, 8, "stake went to another than its provider");
            _expect(amount == _machines[id].stake, 8, "Unstaked tells another stake");
            _expect(_machines[id].retiredAt != 0, 8, "stake of a machine in service was withdrawn");
            totalStake -= _machines[id].stake;
            _machines[id].stake = 0;
            _credit(_account(log, 2), amount);
        }
    }

    function _absorbLease(Cheats.Log memory log) private {
        bytes32 kind = log.topics[0];
        uint256 id = log.topics.length > 1 ? uint256(log.topics[1]) : 0;
        uint32 now_ = uint32(vm.getBlockTimestamp());
        if (kind == IControllerEvents.LeaseOpened.selector) {
            _opened(log, id, now_);
        } else if (kind == IControllerEvents.LeaseStarted.selector) {
            Lease storage l = _leases[id];
            (l.start, l.end,) = abi.decode(log.data, (uint32, uint32, bytes32));
            _expect(l.state == LeaseState.Opened, 16, "a lease started twice, or without being opened");
            _expect(l.start == now_ && l.end == now_ + l.duration, 3, "billing starts at another time than start");
            l.state = LeaseState.Active;
        } else if (kind == IControllerEvents.LeaseExtended.selector) {
            Lease storage l = _leases[id];
            (uint32 end, uint96 deposit, uint256 pulled) = abi.decode(log.data, (uint32, uint96, uint256));
            uint32 from = l.state == LeaseState.Active ? l.start : l.openedAt;
            _expect(deposit == costUp(l.price, cellsOf(l.placement), end - from), 2, "extend charges another cost");
            totalEscrow += deposit - l.deposit;
            _debit(_account(log, 3), deposit - l.deposit - pulled);
            l.deposit = deposit;
            l.duration = end - from;
            if (l.state == LeaseState.Active) l.end = end;
        } else if (kind == IControllerEvents.LeaseTerminated.selector) {
            Lease storage l = _leases[id];
            (uint32 end, uint96 penalty) = abi.decode(log.data, (uint32, uint96));
            _expect(end <= l.end, 15, "notice moved the end up");
            l.end = end;
            _debit(_machines[l.machine].provider, penalty);
            _credit(l.tenant, penalty);
        } else if (kind == IControllerEvents.LeaseClaimed.selector) {
            (uint96 settled, uint96 paid, uint96 fee) = abi.decode(log.data, (uint96, uint96, uint96));
            _settle(id, settled, paid, fee);
        }
    }

    function _opened(Cheats.Log memory log, uint256 id, uint32 now_) private {
        (
            uint16 placement,
            uint16 revision,
            uint16 version,
            uint80 price,
            uint32 duration,
            uint96 deposit,
            uint256 pulled,,,
        ) = abi.decode(log.data, (uint16, uint16, uint16, uint80, uint32, uint96, uint256, bytes32, uint8, bytes32));
        Lease storage l = _leases[id];
        _expect(l.state == LeaseState.None, 16, "a lease's id was given out twice");
        _expect(version == pool.paramsVersion(), 19, "opened under parameters that are not in force");
        _expect(deposit == costUp(price, cellsOf(placement), duration), 2, "open charges another cost");
        _expect(
            maskOf(placement) & _machines[uint32(uint256(log.topics[2]))].withheld == 0, 5, "withheld cells were let"
        );
        leaseIds.push(id);
        l.tenant = _account(log, 3);
        l.machine = uint32(uint256(log.topics[2]));
        l.placement = placement;
        l.state = LeaseState.Opened;
        l.openedAt = now_;
        l.duration = duration;
        l.deposit = deposit;
        l.price = price;
        l.params = version;
        l.terms = keccak256(abi.encode(l.tenant, l.machine, placement, price, revision, version));
        totalEscrow += deposit;
        _debit(l.tenant, deposit - pulled);
    }

    function _absorbEnding(Cheats.Log memory log) private {
        bytes32 kind = log.topics[0];
        if (kind == IControllerEvents.LeaseClosed.selector) {
            uint256 id = uint256(log.topics[1]);
            (uint32 end, uint96 paid, uint96 fee, uint96 refunded) =
                abi.decode(log.data, (uint32, uint96, uint96, uint96));
            Lease storage l = _leases[id];
            uint32 now_ = uint32(vm.getBlockTimestamp());
            _expect(l.state == LeaseState.Active, 16, "a lease was closed that is not active");
            _expect(end == (now_ < l.end ? now_ : l.end), 3, "close bills past now or past the end");
            l.end = end;
            _settle(id, paid + fee, paid, fee);
            _expect(paid + fee == costDown(l.price, cellsOf(l.placement), end - l.start), 3, "close bills another time");
            _ended(id, LeaseState.Ended, refunded);
        } else if (kind == IControllerEvents.LeaseRejected.selector) {
            uint256 id = uint256(log.topics[1]);
            (uint96 paid, uint96 fee, uint96 refunded) = abi.decode(log.data, (uint96, uint96, uint96));
            _rejected(id, paid, fee);
            _ended(id, LeaseState.Rejected, refunded);
        } else if (kind == IControllerEvents.LeaseCancelled.selector) {
            _ended(uint256(log.topics[1]), LeaseState.Cancelled, abi.decode(log.data, (uint96)));
        } else if (kind == IControllerEvents.LeaseDeclined.selector) {
            (, uint96 refunded) = abi.decode(log.data, (bytes32, uint96));
            _ended(uint256(log.topics[1]), LeaseState.Cancelled, refunded);
        }
    }

    /// @dev Totals of a lease so far: they only grow, they share out what is settled, the fee is its version's.
    function _settle(uint256 id, uint96 settled, uint96 paid, uint96 fee) private {
        Lease storage l = _leases[id];
        address provider = _machines[l.machine].provider;
        _expect(settled >= l.settled && paid >= l.paid && fee >= l.fee, 4, "what is settled decreased");
        _expect(settled <= l.deposit, 4, "more is settled than was deposited");
        _expect(paid + fee == settled, 2, "paid and fee are not what is settled");
        _expect(
            fee == uint256(settled) * pool.params(l.params).feeBps / 10_000, 14, "the fee is not the version's share"
        );
        _credit(provider, paid - l.paid);
        feesDue[provider] += fee - l.fee;
        totalFeesDue += fee - l.fee;
        totalEscrow -= settled - l.settled;
        (l.settled, l.paid, l.fee) = (settled, paid, fee);
    }

    function _rejected(uint256 id, uint96 paid, uint96 fee) private {
        Lease storage l = _leases[id];
        uint256 held = vm.getBlockTimestamp() - (l.state == LeaseState.Active ? l.start : l.openedAt);
        if (held > l.duration) held = l.duration;
        uint256 due = costDown(l.price, cellsOf(l.placement), held) * pool.params(l.params).holdFeeBps / 10_000;
        _expect(paid + fee == due, 3, "the hold fee is not its share of the time held");
        _settle(id, paid + fee, paid, fee);
    }

    function _ended(uint256 id, LeaseState state, uint96 refunded) private {
        Lease storage l = _leases[id];
        l.endings++;
        l.state = state;
        l.refunded = refunded;
        _expect(l.endings == 1, 16, "a lease ended twice");
        _expect(uint256(l.paid) + l.fee + refunded == l.deposit, 2, "paid, fee and refund are not the deposit");
        totalEscrow -= refunded;
        _credit(l.tenant, refunded);
    }

    function _account(Cheats.Log memory log, uint256 topic) private pure returns (address) {
        return address(uint160(uint256(log.topics[topic])));
    }
}
