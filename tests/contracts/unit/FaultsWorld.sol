// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Faults} from "../../../contracts/companions/Faults.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {ICommittee, Round, RoundState} from "../../../contracts/interfaces/ICommittee.sol";
import {ICompanion} from "../../../contracts/interfaces/ICompanion.sol";
import {Fault, FaultKind, FaultState, IFaults} from "../../../contracts/interfaces/IFaults.sol";
import {
    Judging,
    LeaseState,
    LeaseView,
    MachineView,
    Params,
    Stake,
    Tenancy,
    Terms
} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "./Check.sol";
import {AccountsDouble, cloneFor} from "./PoolDouble.sol";

/// @notice A pool for the tests of `Faults` alone: a ledger that anybody may fill, machines and leases that are whatever the
/// test says, and hooks that keep what they were told.
contract FaultsPool {
    error NotAuthorized(address actor);
    error InsufficientBalance(address account, uint256 balance, uint256 needed);

    mapping(address account => uint256) public balanceOf;
    mapping(uint32 machine => MachineView) private _machines;
    mapping(uint256 lease => LeaseView) private _leases;
    mapping(uint256 lease => uint256) public paused;
    mapping(uint16 version => Params) private _versions;
    mapping(uint32 machine => uint32) private _acceptedSince;
    address public owner;
    address public treasury;
    address private _faults;
    address private _committee;

    modifier onlyFaults() {
        if (msg.sender != _faults) revert NotAuthorized(msg.sender);
        _;
    }

    constructor(address owner_, address treasury_, address committee_, Params memory params_) {
        (owner, treasury, _committee) = (owner_, treasury_, committee_);
        _versions[1] = params_;
    }

    function connect(address faults) external {
        _faults = faults;
    }

    function setParams(Params calldata params_) external {
        _versions[1] = params_;
    }

    /// @dev The machine's provider accepts a second version, now.
    function accept(uint32 machine, Params calldata params_) external {
        _versions[2] = params_;
        _machines[machine].params = 2;
        _acceptedSince[machine] = uint32(block.timestamp);
    }

    function acceptedAt(uint32 machine, uint256 time) external view returns (uint16) {
        return _acceptedSince[machine] == 0 || time < _acceptedSince[machine] ? 1 : 2;
    }

    function setMachine(uint32 id, MachineView calldata machine) external {
        _machines[id] = machine;
    }

    function setLease(uint256 id, LeaseView calldata lease) external {
        _leases[id] = lease;
    }

    function setOwner(address owner_) external {
        owner = owner_;
    }

    function deposit(address to, uint256 amount) external {
        balanceOf[to] += amount;
    }

    /// @dev As the pool's own: not while a fault is pending.
    function unstake(uint32 id) external {
        MachineView storage machine = _machines[id];
        require(machine.pendingSlashes == 0 && machine.retiredAt != 0, "locked");
        balanceOf[machine.provider] += machine.stake;
        machine.stake = 0;
    }

    function transfer(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
    }

    function charge(address from, uint256 amount) external onlyFaults {
        _move(from, msg.sender, amount);
    }

    function moveStake(uint32 id, address[] calldata to, uint96[] calldata amounts) external onlyFaults {
        require(to.length == amounts.length);
        for (uint256 i = 0; i < to.length; ++i) {
            require(to[i] != address(0), "nobody");
            _machines[id].stake -= amounts[i];
            balanceOf[to[i]] += amounts[i];
        }
    }

    function setDown(uint32 id, uint32 from) external onlyFaults {
        _machines[id].downSince = from;
    }

    function hold(uint32 id, uint32 from, uint32 to, uint32 until) external onlyFaults {
        (_machines[id].heldFrom, _machines[id].heldTo, _machines[id].heldUntil) = (from, to, until);
    }

    function setPendingSlashes(uint32 id, uint8 count) external onlyFaults {
        _machines[id].pendingSlashes = count;
    }

    function pause(uint256 lease, uint32 from, uint32 to) external onlyFaults {
        paused[lease] += to - from;
    }

    function machineOf(uint32 id) external view returns (MachineView memory) {
        return _machines[id];
    }

    function stakeOf(uint32 id) external view returns (Stake memory) {
        MachineView storage seen = _machines[id];
        return Stake(seen.provider, seen.operator, seen.stake, seen.gpus, seen.params, seen.retiredAt);
    }

    function leaseOf(uint256 id) external view returns (LeaseView memory) {
        return _leases[id];
    }

    /// @dev As the pool's own: nothing of a lease that is no more.
    function tenancyOf(uint256 id) external view returns (Tenancy memory) {
        LeaseView storage seen = _leases[id];
        uint32 since = seen.segmentStart == 0 ? seen.start : seen.segmentStart;
        return Tenancy(seen.tenant, seen.machine, seen.placement, seen.state, since, seen.end, seen.params);
    }

    function termsOf(uint32, uint16) external pure returns (Terms memory terms, uint16 version) {
        return (terms, 1);
    }

    function params(uint16 version) external view returns (Params memory) {
        return _versions[version];
    }

    function judging(uint16 version) external view returns (Judging memory) {
        Params storage rules = _versions[version];
        return Judging({
            maxSlashBps: rules.maxSlashBps,
            challengeWindow: rules.challengeWindow,
            filingWindow: rules.filingWindow,
            appealWindow: rules.appealWindow,
            rulingWindow: rules.rulingWindow,
            bond: rules.bond,
            arbiter: rules.arbiter,
            sink: rules.sink
        });
    }

    function companions() external view returns (address, address, address, address) {
        return (_committee, _faults, address(0), address(0));
    }

    function _move(address from, address to, uint256 amount) private {
        if (balanceOf[from] < amount) revert InsufficientBalance(from, balanceOf[from], amount);
        balanceOf[from] -= amount;
        balanceOf[to] += amount;
    }
}

/// @notice A committee whose seats have signed exactly the outages that the test names, under the first rules or others.
contract CommitteeDouble {
    mapping(bytes32 outage => uint16 version) public signed;
    mapping(uint256 round => Round) private _rounds;
    mapping(bytes32 quorum => uint256) public credited;
    bytes32 public disowned;
    uint256 public overturned;
    address public by; // the arbiter

    function sign(uint32 machine, uint64 from, uint64 to, uint16 version) external {
        signed[keccak256(abi.encode(machine, from, to))] = version;
    }

    function setRound(uint256 id, Round calldata round) external {
        _rounds[id] = round;
    }

    function witness(uint16 version, uint32 machine, uint64 from, uint64 to, uint32[] calldata seats, bytes[] calldata)
        external
        view
        returns (bytes32)
    {
        if (signed[keccak256(abi.encode(machine, from, to))] != version) revert ICommittee.NoQuorum();
        return keccak256(abi.encode(seats));
    }

    function credit(bytes32 quorum, uint96 amount) external {
        credited[quorum] += amount;
    }

    function disown(bytes32 quorum, address arbiter) external {
        (disowned, by) = (quorum, arbiter);
    }

    function overturn(uint256 round, address arbiter) external {
        (overturned, by) = (round, arbiter);
    }

    function falseHardwareOf(uint256 id) external view returns (uint32, uint16, uint32, uint32) {
        Round storage round = _rounds[id];
        if (round.state != RoundState.Failed || round.spec == 0) revert ICommittee.NoFalseHardware(id);
        return (round.machine, round.revision, round.requestedAt, round.revealUntil);
    }
}

/// @notice A pool with one machine of eight cells, on which a tenant has a lease, and five seats.
abstract contract FaultsWorld {
    uint256 internal constant NOW = 1_800_000_000 / 1 days * 1 days + 12 hours; // noon
    uint32 internal constant MACHINE = 1;
    uint256 internal constant LEASE = 1 << 16;
    uint96 internal constant STAKE = 100e18;
    uint96 internal constant BOND = 5e18;
    uint256 internal constant OPERATOR_KEY = 0x09E8;
    address internal constant PROVIDER = address(0x9807);
    address internal constant OWNER = address(0x03E4);
    address internal constant TREASURY = address(0x77EA5);
    address internal constant TENANT = address(0x7E4);
    address internal constant THIEF = address(0x7417EF);
    address internal constant ARBITER = address(0xA4B);
    address internal constant BURNT = address(0xdEaD);
    address internal immutable operator = vm.addr(OPERATOR_KEY);

    AccountsDouble internal accounts;
    FaultsPool internal pool;
    CommitteeDouble internal committee;
    Faults internal faults;
    uint32[] internal seats;
    bytes private _refusal;

    function setUp() public virtual {
        vm.warp(NOW);
        accounts = new AccountsDouble();
        committee = new CommitteeDouble();
        pool = new FaultsPool(OWNER, TREASURY, address(committee), _params());
        faults = Faults(cloneFor(address(new Faults(IAccounts(address(accounts)))), address(pool)));
        pool.connect(address(faults));
        MachineView memory machine;
        machine.provider = PROVIDER;
        machine.operator = operator;
        machine.gpus = 1;
        machine.stake = STAKE;
        machine.params = 1;
        pool.setMachine(MACHINE, machine);
        _lease(LEASE, TENANT, 4, NOW - 1 hours, NOW + 60 days);
        pool.deposit(TENANT, 100 * BOND);
        pool.deposit(PROVIDER, 100 * BOND);
        for (uint32 i = 1; i <= 5; ++i) {
            seats.push(i);
        }
    }

    function _params() internal pure virtual returns (Params memory params) {
        params.maxSlashBps = 5000;
        params.challengeWindow = 10 minutes;
        params.filingWindow = 4 days;
        params.appealWindow = 2 days;
        params.rulingWindow = 3 days;
        params.unstakeDelay = 14 days;
        params.bond = BOND;
        params.arbiter = ARBITER;
    }

    // ------------------------------------------------------------------------------------------------------- the world

    /// @dev A running lease of one, two, four or eight cells.
    function _lease(uint256 id, address tenant, uint16 cells, uint256 start, uint256 end) internal {
        LeaseView memory lease;
        lease.tenant = tenant;
        lease.machine = MACHINE;
        lease.placement = 0x100 | uint16((uint256(1) << cells) - 1);
        lease.state = LeaseState.Active;
        lease.start = uint32(start);
        lease.end = uint32(end);
        lease.params = 1;
        pool.setLease(id, lease);
    }

    function _setState(uint256 id, LeaseState state, uint256 end) internal {
        LeaseView memory lease = pool.leaseOf(id);
        lease.state = state;
        lease.end = uint32(end);
        pool.setLease(id, lease);
    }

    function _retire() internal {
        MachineView memory machine = pool.machineOf(MACHINE);
        machine.retiredAt = uint32(vm.getBlockTimestamp());
        pool.setMachine(MACHINE, machine);
        _setState(LEASE, LeaseState.Ended, vm.getBlockTimestamp());
    }

    function _setStake(uint96 stake) internal {
        MachineView memory machine = pool.machineOf(MACHINE);
        machine.stake = stake;
        pool.setMachine(MACHINE, machine);
    }

    function _stake() internal view returns (uint256) {
        return pool.machineOf(MACHINE).stake;
    }

    function _now() internal view returns (uint64) {
        return uint64(vm.getBlockTimestamp());
    }

    // ----------------------------------------------------------------------------------------------------- what is done

    function _report() internal returns (uint256) {
        vm.prank(operator);
        return faults.reportOutage(MACHINE);
    }

    function _recover() internal {
        vm.prank(operator);
        faults.recover(MACHINE, 0, "");
    }

    /// @dev A self-reported outage from now on, `time` long.
    function _outage(uint256 time) internal returns (uint256 id) {
        id = _report();
        skip(time);
        _recover();
    }

    function _challenge() internal returns (uint256) {
        vm.prank(TENANT);
        return faults.challenge(MACHINE, LEASE);
    }

    function _answer() internal {
        vm.prank(operator);
        faults.answer(MACHINE, 0, "");
    }

    function _proven() internal returns (uint256) {
        _challenge();
        skip(10 minutes + 1);
        return faults.prove(MACHINE);
    }

    function _attest(uint256 from, uint256 to) internal returns (uint256) {
        _signOutage(from, to);
        _expectRefusal();
        return faults.attest(MACHINE, 0, uint64(from), uint64(to), seats, _proofs());
    }

    function _signOutage(uint256 from, uint256 to) internal {
        committee.sign(MACHINE, uint64(from), uint64(to), 1);
    }

    function _proofs() internal pure returns (bytes[] memory) {}

    function _apply(uint256 id, uint256 lease) internal {
        faults.applyOutage(id, _one(lease));
    }

    function _appeal(uint256 id) internal {
        vm.prank(PROVIDER);
        faults.appeal(id);
    }

    function _rule(uint256 id, bool stands) internal {
        vm.prank(ARBITER);
        faults.rule(id, stands);
    }

    /// @dev As the committee's double names it.
    function _quorum() internal view returns (bytes32) {
        return keccak256(abi.encode(seats));
    }

    function _one(uint256 id) internal pure returns (uint256[] memory ids) {
        ids = new uint256[](1);
        ids[0] = id;
    }

    function _two(uint256 a, uint256 b) internal pure returns (uint256[] memory ids) {
        ids = new uint256[](2);
        (ids[0], ids[1]) = (a, b);
    }

    function _digest(bytes32 structHash) internal view returns (bytes32) {
        bytes32 type_ = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        bytes32 domain =
            keccak256(abi.encode(type_, keccak256("Leasehold"), keccak256("1"), block.chainid, address(pool)));
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    function _proofOf(uint256 key, bytes32 structHash) internal view returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, _digest(structHash));
        return abi.encodePacked(r, s, v);
    }

    // ------------------------------------------------------------------------------------------------- what is expected

    function _expect(bytes memory error_) internal {
        vm.expectRevert(error_);
    }

    /// @dev For what `_attest` does next, once it has signed.
    function _refuse(bytes memory error_) internal {
        _refusal = error_;
    }

    function _expectRefusal() private {
        if (_refusal.length == 0) return;
        vm.expectRevert(_refusal);
        delete _refusal;
    }

    function _notFor(address who) internal {
        vm.expectRevert(abi.encodeWithSelector(ICompanion.NotAuthorized.selector, who));
        vm.prank(who);
    }

    function _event() internal {
        vm.expectEmit(true, true, true, true, address(faults));
    }

    function _state(uint256 id) internal view returns (FaultState) {
        return faults.faultOf(id).state;
    }

    function _assertState(uint256 id, FaultState state) internal view {
        vm.assertEq(uint256(_state(id)), uint256(state), "state");
    }

    function _wrongState(uint256 id) internal {
        vm.expectRevert(abi.encodeWithSelector(IFaults.WrongFaultState.selector, id, _state(id)));
    }

    /// @dev Of the stake as it is when the fault is filed.
    function _assertCost(uint256 id, uint256 bps, uint256 amount) internal view {
        vm.assertEq(faults.faultOf(id).bps, bps, "bps");
        vm.assertEq(faults.faultOf(id).amount, amount, "amount");
    }

    function _assertWindow(uint256 downtime, uint256 charged) internal view {
        (uint256 down, uint256 bps) = faults.windowOf(MACHINE);
        vm.assertEq(down, downtime, "downtime");
        vm.assertEq(bps, charged, "charged");
    }

    function _assertPending(uint256 count) internal view {
        vm.assertEq(pool.machineOf(MACHINE).pendingSlashes, count, "pending");
    }

    function _assertHeld(uint256 from, uint256 until) internal view {
        vm.assertEq(pool.machineOf(MACHINE).heldFrom, from, "held from");
        vm.assertEq(pool.machineOf(MACHINE).heldUntil, until, "held until");
    }

    function _assertDown(uint256 since) internal view {
        vm.assertEq(pool.machineOf(MACHINE).downSince, since, "down since");
    }

    /// @dev What it holds is every standing bond and every pot, to the unit.
    function _assertSolvent() internal view {
        uint256 owed = faults.challengeOf(MACHINE).bond;
        for (uint256 id = 1; id <= faults.faultCount(); ++id) {
            Fault memory fault = faults.faultOf(id);
            owed += fault.bond;
            if (fault.state == FaultState.Executed) owed += fault.pot;
        }
        vm.assertEq(pool.balanceOf(address(faults)), owed, "solvent");
    }
}
