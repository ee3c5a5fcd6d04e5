// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {ICommittee} from "../../../../contracts/interfaces/ICommittee.sol";
import {FaultState, IFaults} from "../../../../contracts/interfaces/IFaults.sol";
import {IPoolErrors} from "../../../../contracts/interfaces/IPoolErrors.sol";
import {IReputation} from "../../../../contracts/interfaces/IReputation.sol";
import {LeaseRequest, LeaseState, LeaseView} from "../../../../contracts/interfaces/PoolTypes.sol";
import {skip, vm} from "../Check.sol";
import {Fixture} from "../Fixture.sol";

/// @notice A pool as the factory makes it, with its own companions: a machine of one GPU, whose operator has a key, six
/// validators with a matured seat each, and everybody with money in the ledger. Nothing here is a stand-in but the token.
/// A cell costs 1e14 a second, the machine's stake is 100e18, a bond 5e18, a seat 500e18, a verification 5e18, the fee 5 %.
abstract contract RaceWorld is Fixture {
    uint256 internal constant SEAT_KEY = 0x5EA7; // of seat 1; the others follow
    uint256 internal constant SEATS = 6;
    uint256 internal constant GPU_SECOND = 8 * CELL_SECOND;
    uint96 internal constant BOND = 5e18;
    uint256 internal constant LEDGER = 5000e18;
    address internal constant BURNT = address(0xdEaD);
    address internal constant SYBIL = address(0x5B1); // the provider under another name
    address internal immutable operator = vm.addr(OPERATOR_KEY);

    ICommittee internal committee;
    IFaults internal faults;
    IReputation internal reputation;
    uint32 internal machine;
    uint32[] internal seats;
    address[] internal parties;

    function setUp() public virtual override {
        super.setUp();
        vm.roll(1000);
        (address committee_, address faults_, address reputation_,) = pool.companions();
        (committee, faults, reputation) = (ICommittee(committee_), IFaults(faults_), IReputation(reputation_));
        machine = _machineOf(PROVIDER, 1);
        _fund(SYBIL);
        _deposit(tenant);
        _deposit(PROVIDER);
        _deposit(THIEF);
        _deposit(SYBIL);
        for (uint32 i = 1; i <= SEATS; ++i) {
            _join(vm.addr(SEAT_KEY + i - 1));
            seats.push(i);
        }
        skip(3 days);
        address[10] memory others = [
            tenant, PROVIDER, THIEF, SYBIL, OWNER, TREASURY, address(committee), address(faults), address(this), BURNT
        ];
        for (uint256 i = 0; i < others.length; ++i) {
            parties.push(others[i]);
        }
    }

    function _deposit(address who) internal {
        vm.prank(who);
        pool.deposit(who, LEDGER);
    }

    /// @dev Somebody new, with so much in the ledger and nothing else.
    function _newcomer(uint256 index, uint256 amount) internal returns (address who) {
        who = address(uint160(0xF4E5_0000 + index));
        parties.push(who);
        if (amount == 0) return who;
        vm.prank(THIEF);
        pool.deposit(who, amount);
    }

    function _machineOf(address provider, uint8 gpus) internal returns (uint32) {
        vm.prank(provider);
        return pool.register(_terms(), gpus, 1, "hardware", "contact", operator, _consent(address(pool), provider));
    }

    function _join(address validator) internal returns (uint32 seat) {
        uint96 stake = _params().seatStake * 11 / 10;
        token.mint(address(this), stake);
        token.approve(address(pool), stake);
        pool.deposit(validator, stake);
        parties.push(validator);
        vm.prank(validator);
        return committee.join(1);
    }

    // ---------------------------------------------------------------------------------------------------------- leases

    function _openAs(address who, uint8 share, uint32 duration) internal returns (uint256) {
        LeaseRequest memory request = _request(machine, share, duration);
        request.revision = pool.machineOf(machine).revision;
        request.maxPrice = type(uint80).max;
        vm.prank(who);
        return pool.open(request);
    }

    function _startBy(uint256 lease) internal {
        vm.prank(operator);
        pool.start(lease, "endpoint");
    }

    function _leaseOf(address who, uint8 share, uint32 duration) internal returns (uint256 lease) {
        lease = _openAs(who, share, duration);
        _startBy(lease);
    }

    function _closeAs(address who, uint256 lease) internal {
        vm.prank(who);
        pool.close(lease);
    }

    function _two(uint256 a, uint256 b) internal pure returns (uint256[] memory leases) {
        leases = new uint256[](2);
        (leases[0], leases[1]) = (a, b);
    }

    // ---------------------------------------------------------------------------------------------------------- faults

    function _report() internal returns (uint256) {
        vm.prank(operator);
        return faults.reportOutage(machine);
    }

    function _recover() internal {
        vm.prank(operator);
        faults.recover(machine, 0, "");
    }

    function _outage(uint256 time) internal returns (uint256 fault) {
        fault = _report();
        skip(time);
        _recover();
    }

    function _challengeAs(address who, uint256 lease) internal returns (uint256) {
        vm.prank(who);
        return faults.challenge(machine, lease);
    }

    function _answer() internal {
        vm.prank(operator);
        faults.answer(machine, 0, "");
    }

    function _attest(uint256 from, uint256 to) internal returns (uint256) {
        return faults.attest(machine, 0, uint64(from), uint64(to), seats, _words(from, to));
    }

    /// @dev Every seat's signature over `Outage`.
    function _words(uint256 from, uint256 to) internal view returns (bytes[] memory proofs) {
        proofs = new bytes[](seats.length);
        for (uint256 i = 0; i < seats.length; ++i) {
            proofs[i] = _word(SEAT_KEY + seats[i] - 1, from, to);
        }
    }

    /// @dev The word of whoever has that key, under its own name.
    function _word(uint256 key, uint256 from, uint256 to) internal view returns (bytes memory) {
        return _signed(key, _outageDigest(vm.addr(key), from, to));
    }

    function _outageDigest(address account, uint256 from, uint256 to) internal view returns (bytes32) {
        bytes32 type_ = keccak256("Outage(address account,uint32 machine,uint64 from,uint64 to)");
        return _poolDigest(keccak256(abi.encode(type_, account, machine, uint64(from), uint64(to))));
    }

    function _apply(uint256 fault, uint256 lease) internal {
        faults.applyOutage(fault, _one(lease));
    }

    function _execute(uint256 fault) internal {
        vm.warp(uint256(faults.faultOf(fault).deadline) + 1);
        faults.execute(fault);
    }

    // --------------------------------------------------------------------------------------------------------- proofs

    function _poolDigest(bytes32 structHash) internal view returns (bytes32) {
        bytes32 type_ = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
        bytes32 domain =
            keccak256(abi.encode(type_, keccak256("Leasehold"), keccak256("1"), block.chainid, address(pool)));
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    function _signed(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(hex"01", r, s, v);
    }

    // -------------------------------------------------------------------------------------------------- what is expected

    /// @dev All that an account could lay its hands on now.
    function _wealth(address who) internal view returns (uint256) {
        return token.balanceOf(who) + pool.balanceOf(who);
    }

    /// @dev The provider's, under both names, with the stake.
    function _providers() internal view returns (uint256) {
        return _wealth(PROVIDER) + _wealth(SYBIL) + _stake();
    }

    function _stake() internal view returns (uint256) {
        return pool.machineOf(machine).stake;
    }

    function _feesPaid() internal view returns (uint256) {
        return pool.accountOf(PROVIDER).feesPaid;
    }

    function _now() internal view returns (uint256) {
        return vm.getBlockTimestamp();
    }

    function _assertFault(uint256 fault, FaultState state, uint256 amount) internal view {
        vm.assertEq(uint256(faults.faultOf(fault).state), uint256(state), "fault's state");
        vm.assertEq(faults.faultOf(fault).amount, amount, "fault's amount");
    }

    function _locked(uint256 until) internal view returns (bytes memory) {
        return abi.encodeWithSelector(IPoolErrors.StakeLocked.selector, machine, until);
    }

    function _slashPending() internal view returns (bytes memory) {
        return abi.encodeWithSelector(IPoolErrors.SlashPending.selector, machine, 1);
    }

    /// @dev What the pool's token holds is everybody's ledger, stakes, escrows and fees due, to the unit: whoever is richer
    /// for nothing would have made it too little.
    function _assertSolvent() internal view {
        uint256 owed;
        for (uint256 i = 0; i < parties.length; ++i) {
            owed += pool.balanceOf(parties[i]) + pool.accountOf(parties[i]).feesDue;
        }
        for (uint32 id = 1; id <= pool.machineCount(); ++id) {
            owed += pool.machineOf(id).stake;
        }
        for (uint256 slot = 1; slot <= pool.slotCount(); ++slot) {
            for (uint256 generation = 0; generation < 4; ++generation) {
                LeaseView memory lease = pool.leaseOf(slot << 16 | generation);
                if (lease.state == LeaseState.Opened || lease.state == LeaseState.Active) {
                    owed += lease.deposit - lease.settled;
                }
            }
        }
        vm.assertEq(token.balanceOf(address(pool)), owed, "solvent");
    }
}
