// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee, Signer} from "../../../contracts/interfaces/ICommittee.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {FaultKind, FaultState, IFaults} from "../../../contracts/interfaces/IFaults.sol";
import {IReputation} from "../../../contracts/interfaces/IReputation.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {Cheats, vm} from "../Cheats.sol";

/// @notice What the ghost knows, and the arithmetic of the specification done over again.
/// @dev Sums are unchecked: where the contracts are wrong an invariant shall say so, not an overflow in here.
abstract contract Book {
    address internal constant ARBITER = address(0xA4B); // of the first rules,
    address internal constant OWNERS_ARBITER = address(0xA4C); // and whom the owner would rather have

    struct Lease {
        address tenant;
        uint32 machine;
        uint16 placement;
        LeaseState state;
        uint32 openedAt;
        uint32 duration;
        uint32 start; // 0 until started
        uint32 end; // 0 until started
        uint32 paused; // of the present segment, as the outages applied to it say
        uint32 pausedTold; // the same, as LeasePaused says
        uint32 segmentStart; // 0 in the first
        uint96 segmentSettled;
        uint96 deposit;
        uint96 settled;
        uint96 paid;
        uint96 fee;
        uint96 refunded;
        uint80 price;
        uint16 revision;
        uint16 params;
        uint8 endings;
        bool spot;
        bool noticed;
    }

    struct Machine {
        address provider;
        address operator;
        uint8 gpus;
        uint8 smallest; // share that it leases
        uint16 params; // that its terms accept
        uint96 stake;
        uint96 reserved; // put aside for faults that are filed
        uint64 withheld;
        uint32 retiredAt;
        uint32 downSince;
        uint32 heldFrom;
        uint32 heldTo;
        uint32 heldUntil;
        uint32 unsettled; // faults that are neither executed nor dropped
        uint32 cellsTaken; // over its whole life
        uint32 cellsFreed;
    }

    struct Vote {
        uint32 seat;
        bool pass;
        bytes32 spec;
        uint16 score;
    }

    struct Seat {
        uint96 level;
        uint32 finedAt;
        address arbiter; // of the version that it joined by
    }

    struct Fine {
        uint32 seat;
        uint96 amount;
    }

    /// @dev Who has signed a word, and what is said of it since.
    struct Quorum {
        uint96 due;
        Signer[] signers;
        mapping(address arbiter => bool) disownedBy;
    }

    struct Round {
        uint32 machine;
        uint16 revision;
        address requester;
        bool over;
        bool passed;
        bytes32 spec; // what its majority found
        uint32[] drawn;
        Vote[] votes;
    }

    struct Fault {
        uint32 machine;
        FaultKind kind;
        FaultState state;
        uint32 from;
        uint32 to;
        uint32 filedAt;
        uint32 deadline;
        uint16 bps;
        uint96 amount;
        uint96 pot;
        uint16 rules;
        uint256[] leases; // that it was applied to
    }

    IController public pool;
    IFaults public faults;
    ICommittee public committee;
    IReputation public reputation;

    mapping(address account => uint256) public ledger;
    mapping(address provider => uint256) public feesDue;
    mapping(uint256 lease => Lease) internal _leases;
    mapping(uint32 machine => Machine) internal _machines;
    mapping(uint256 fault => Fault) internal _faults;
    mapping(uint32 machine => uint256[] faults) internal _faultsOf;
    mapping(uint256 fault => mapping(uint256 lease => bool)) internal _applied;
    mapping(uint256 round => Round) internal _rounds;
    mapping(uint32 seat => Seat) internal _seats;
    mapping(bytes32 signers => Quorum) internal _quorums;
    /// @notice Until when an operator serves a provider's machines, by what it has signed.
    mapping(address provider => mapping(address operator => uint256 deadline)) public consents;
    mapping(uint256 lease => bool) public rated;
    mapping(uint16 version => bytes32 hash) public paramsHash;
    mapping(uint16 version => uint40 at) public paramsInForceAt;

    uint256[] public leaseIds;
    bytes32[] public quorums;
    uint32 public machines;
    uint256 public faultCount;
    uint256 public roundCount;
    uint32 public seats;
    uint16 public versions;
    uint256 public totalLedger;
    uint256 public totalEscrow;
    uint256 public totalStake;
    uint256 public totalFeesDue;

    /// @notice The first contradiction found, by the number of the invariant that it breaks.
    mapping(uint256 invariant => string what) public broken;

    /// @dev Who makes the call whose events come next, and what only the caller knows of it.
    address internal _acting;
    bool internal _failingOver;
    uint16 internal _joining; // the version by which a seat is bought
    /// @dev Stake that has left a machine in this transaction and that no fault has accounted for yet.
    uint256 internal _stakeMoved;
    /// @dev Fines of this transaction for which nothing has given a reason yet.
    Fine[] internal _fines;

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

    function fault(uint256 id) external view returns (Fault memory) {
        return _faults[id];
    }

    function round(uint256 id) external view returns (Round memory) {
        return _rounds[id];
    }

    function quorumCount() external view returns (uint256) {
        return quorums.length;
    }

    function signersOf(bytes32 quorum) external view returns (Signer[] memory) {
        return _quorums[quorum].signers;
    }

    function dueOf(bytes32 quorum) external view returns (uint96) {
        return _quorums[quorum].due;
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

    function _ones(uint256 bits) internal pure returns (uint256 n) {
        for (; bits != 0; bits &= bits - 1) {
            n++;
        }
    }

    function _min(uint256 a, uint256 b) internal pure returns (uint256) {
        return a < b ? a : b;
    }

    function _max(uint256 a, uint256 b) internal pure returns (uint256) {
        return a > b ? a : b;
    }

    function _overlap(uint256 from, uint256 to, uint256 begin, uint256 end) internal pure returns (uint256) {
        (from, to) = (_max(from, begin), _min(to, end));
        return from < to ? to - from : 0;
    }

    // -------------------------------------------------------------------------------------------------------- bills

    /// @notice Where the present segment of a lease begins; while it waits for its start, when it was opened.
    function began(uint256 id) public view returns (uint256) {
        Lease storage l = _leases[id];
        if (l.start == 0) return l.openedAt;
        return l.segmentStart == 0 ? l.start : l.segmentStart;
    }

    /// @notice What a lease owes at `until`, had there been no outage.
    function gross(uint256 id, uint256 until) public view returns (uint256) {
        Lease storage l = _leases[id];
        uint256 from = began(id);
        return l.segmentSettled + costDown(l.price, cellsOf(l.placement), until > from ? until - from : 0);
    }

    /// @notice What a lease owes at `until`: less its pauses and an outage that runs, never less than what is settled.
    function owed(uint256 id, uint256 until) public view returns (uint256 total) {
        return _owed(id, until, 0);
    }

    /// @notice The same, for a provider who forgoes what is held.
    function forgone(uint256 id, uint256 until) public view returns (uint256 total) {
        return _owed(id, until, heldSeconds(id, until));
    }

    /// @notice For how long the lease ran, until `until`, in what is held before an outage that runs.
    function heldSeconds(uint256 id, uint256 until) public view returns (uint256) {
        Machine storage m = _machines[_leases[id].machine];
        if (vm.getBlockTimestamp() >= m.heldUntil) return 0;
        return _overlap(m.heldFrom, m.downSince == 0 ? m.heldTo : _min(m.heldTo, m.downSince), began(id), until);
    }

    function _owed(uint256 id, uint256 until, uint256 paused) private view returns (uint256 total) {
        Lease storage l = _leases[id];
        uint256 from = began(id);
        uint256 down = _machines[l.machine].downSince;
        paused += l.paused;
        if (down != 0) paused += _overlap(down, type(uint256).max, from, until);
        uint256 secs = until > from + paused ? until - from - paused : 0;
        total = _max(l.settled, l.segmentSettled + costDown(l.price, cellsOf(l.placement), secs));
    }

    /// @notice Up to when a claim of a lease may reach now.
    function claimableUntil(uint256 id) public view returns (uint256 until) {
        Lease storage l = _leases[id];
        Machine storage m = _machines[l.machine];
        until = _min(l.end, vm.getBlockTimestamp() - pool.params(l.params).claimLag);
        if (m.downSince != 0) until = _min(until, m.downSince);
        if (heldSeconds(id, until) != 0) until = _min(until, m.heldFrom);
    }

    /// @notice Whether a lease that is past its end may be ended by anyone.
    function openToAll(uint256 id) public view returns (bool) {
        Lease storage l = _leases[id];
        Machine storage m = _machines[l.machine];
        bool disputed = (m.downSince != 0 && l.end > m.downSince) || heldSeconds(id, l.end) != 0;
        return l.state == LeaseState.Active && vm.getBlockTimestamp() >= l.end && !disputed;
    }

    // ------------------------------------------------------------------------------------------------------- ledger

    function _expect(bool holds, uint256 invariant, string memory what) internal {
        if (!holds && bytes(broken[invariant]).length == 0) broken[invariant] = what;
    }

    function _credit(address account, uint256 amount) internal {
        unchecked {
            ledger[account] += amount;
            totalLedger += amount;
        }
    }

    function _debit(address account, uint256 amount) internal {
        _expect(ledger[account] >= amount, 1, "an account spent more than its ledger held");
        if (ledger[account] < amount) return;
        ledger[account] -= amount;
        totalLedger -= amount;
    }

    function _account(Cheats.Log memory log, uint256 topic) internal pure returns (address) {
        return address(uint160(uint256(log.topics[topic])));
    }
}
