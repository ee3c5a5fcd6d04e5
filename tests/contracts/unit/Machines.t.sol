// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent, MachineStatus, MachineView, Params, Terms} from "../../../contracts/interfaces/PoolTypes.sol";
import {Rules} from "../../../contracts/libraries/Rules.sol";
import {skip, vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

contract MachinesTest is Fixture {
    uint32 private machine;

    function setUp() public override {
        super.setUp();
        machine = _register(2);
    }

    function _status(uint8 status, bool delisted, bool underStaked, bool stalled) private {
        _expectEvent();
        emit MachineStatusSet(machine, status, delisted, underStaked, stalled);
    }

    function _retire() private {
        vm.prank(PROVIDER);
        pool.retire(machine);
    }

    // ------------------------------------------------------------------------------------------------------ register

    uint256 private constant OTHER_KEY = 0x09E9;

    function test_register() external {
        vm.prank(PROVIDER);
        pool.deposit(PROVIDER, 30e18);
        _expectEvent();
        emit MachineRegistered(2, PROVIDER, OPERATOR, 3, 1, 3 * STAKE, 3 * uint256(STAKE) - 30e18);
        _expectEvent();
        emit TermsSet(2, 1, 1, _terms());
        _expectEvent();
        emit HardwareSet(2, 1, "hardware");
        _expectEvent();
        emit ContactSet(2, "contact");
        vm.assertEq(_register(3), 2);

        MachineView memory seen = pool.machineOf(2);
        vm.assertEq(seen.provider, PROVIDER);
        vm.assertEq(seen.operator, OPERATOR);
        vm.assertEq(uint256(seen.status), uint256(MachineStatus.Unverified));
        vm.assertEq(seen.gpus, 3);
        vm.assertEq(seen.smallestShare, 1);
        vm.assertEq(seen.revision, 1);
        vm.assertEq(seen.params, 1);
        vm.assertEq(seen.stake, 3 * STAKE);
        vm.assertEq(abi.encode(seen.terms), abi.encode(_terms()));
        vm.assertEq(pool.machineCount(), 2);
        vm.assertEq(pool.balanceOf(PROVIDER), 0);
    }

    function test_register_refuses() external {
        Consent memory consent = _consent(address(pool), PROVIDER);
        bytes memory none = abi.encodeCall(pool.register, (_terms(), 0, 1, 0, 0, OPERATOR, consent));
        _refused(PROVIDER, none, abi.encodeWithSelector(InvalidGpuCount.selector, 0));
        bytes memory nine = abi.encodeCall(pool.register, (_terms(), 9, 1, 0, 0, OPERATOR, consent));
        _refused(PROVIDER, nine, abi.encodeWithSelector(InvalidGpuCount.selector, 9));
        bytes memory nobody = abi.encodeCall(pool.register, (_terms(), 1, 1, 0, 0, address(0), consent));
        _refused(PROVIDER, nobody, abi.encodeWithSelector(WrongProof.selector, address(0)));
        uint8[5] memory shares = [0, 3, 5, 16, 255];
        for (uint256 i = 0; i < shares.length; ++i) {
            bytes memory odd = abi.encodeCall(pool.register, (_terms(), 8, shares[i], 0, 0, OPERATOR, consent));
            _refused(PROVIDER, odd, abi.encodeWithSelector(InvalidSmallestShare.selector, shares[i]));
        }
        vm.prank(OWNER);
        pool.setPaused(true);
        bytes memory one = abi.encodeCall(pool.register, (_terms(), 1, 1, 0, 0, OPERATOR, consent));
        _refused(PROVIDER, one, abi.encodeWithSelector(Paused.selector));
    }

    function _invalid(Terms memory terms, bytes32 field) private {
        bytes memory call =
            abi.encodeCall(pool.register, (terms, 1, 1, 0, 0, OPERATOR, _consent(address(pool), PROVIDER)));
        _refused(PROVIDER, call, abi.encodeWithSelector(InvalidTerms.selector, field));
        call = abi.encodeCall(pool.setTerms, (machine, terms));
        _refused(PROVIDER, call, abi.encodeWithSelector(InvalidTerms.selector, field));
    }

    function test_terms_out_of_bounds() external {
        Terms memory terms = _terms();
        terms.price = 0;
        _invalid(terms, "price");
        terms = _terms();
        terms.minDuration = 0;
        _invalid(terms, "minDuration");
        terms = _terms();
        terms.maxDuration = terms.minDuration - 1;
        _invalid(terms, "maxDuration");
        terms = _terms();
        terms.trial = uint16(Rules.MAX_TRIAL) + 1;
        _invalid(terms, "trial");
    }

    // --------------------------------------------------------------------------------------------- what may be changed

    function test_setTerms_raises_the_revision() external {
        Terms memory terms = _terms();
        terms.price = 2 * PRICE;
        _expectEvent();
        emit TermsSet(machine, 2, 1, terms);
        vm.prank(PROVIDER);
        pool.setTerms(machine, terms);
        vm.assertEq(pool.machineOf(machine).revision, 2);
        (Terms memory stored, uint16 version) = pool.termsOf(machine, 2);
        vm.assertEq(abi.encode(stored), abi.encode(terms));
        vm.assertEq(version, 1);
        (stored,) = pool.termsOf(machine, 1);
        vm.assertEq(stored.price, PRICE);
    }

    function test_setTerms_accepts_new_rules_and_their_stake() external {
        Params memory params = _params();
        params.minStakePerGpu = STAKE + 1;
        vm.prank(OWNER);
        pool.proposeParams(params);
        skip(2 days);
        _status(uint8(MachineStatus.Unverified), false, true, false);
        vm.prank(PROVIDER);
        pool.setTerms(machine, _terms());
        vm.assertEq(pool.machineOf(machine).params, 2);

        // Anyone may top it up. Less than what is missing is taken too, and changes no bit.
        vm.prank(THIEF);
        pool.addStake(machine, 1);
        vm.assertTrue(pool.machineOf(machine).underStaked);
        _status(uint8(MachineStatus.Unverified), false, false, false);
        _expectEvent();
        emit StakeAdded(machine, THIEF, 1, 1, 2 * STAKE + 2);
        vm.prank(THIEF);
        pool.addStake(machine, 1);
        vm.assertFalse(pool.machineOf(machine).underStaked);
        vm.assertEq(pool.machineOf(machine).stake, 2 * STAKE + 2);
    }

    /// @dev Of four versions the second was never accepted, and the third more than once.
    function test_what_was_accepted_when() external {
        uint256[5] memory since;
        for (uint16 version = 2; version <= 4; ++version) {
            vm.prank(OWNER);
            pool.proposeParams(_params());
            skip(2 days);
            since[version] = vm.getBlockTimestamp();
            if (version != 2) _acceptTwice();
        }
        vm.assertEq(pool.acceptedAt(machine, NOW), 1);
        vm.assertEq(pool.acceptedAt(machine, since[2]), 1);
        vm.assertEq(pool.acceptedAt(machine, since[3] - 1), 1);
        vm.assertEq(pool.acceptedAt(machine, since[3]), 3);
        vm.assertEq(pool.acceptedAt(machine, since[4] - 1), 3);
        vm.assertEq(pool.acceptedAt(machine, since[4]), 4);
        vm.assertEq(pool.acceptedAt(machine, since[4] + 365 days), 4);
    }

    function _acceptTwice() private {
        for (uint256 i = 0; i < 2; ++i) {
            vm.prank(PROVIDER);
            pool.setTerms(machine, _terms());
            skip(1);
        }
    }

    function test_setHardware_returns_to_unverified() external {
        _asCommittee().setVerified(machine, 1, true);
        _expectEvent();
        emit HardwareSet(machine, 2, "other");
        _status(uint8(MachineStatus.Unverified), false, false, false);
        vm.prank(PROVIDER);
        pool.setHardware(machine, "other");
        (Terms memory stored, uint16 version) = pool.termsOf(machine, 2);
        vm.assertEq(abi.encode(stored), abi.encode(_terms()));
        vm.assertEq(version, 1);
        vm.prank(PROVIDER);
        pool.setHardware(machine, "third"); // Unverified already: no second event of its state is needed
        vm.assertEq(pool.machineOf(machine).revision, 3);
    }

    function test_setContact_and_setOperator() external {
        _expectEvent();
        emit ContactSet(machine, "c1");
        vm.prank(OPERATOR);
        pool.setContact(machine, "c1");
        _expectEvent();
        emit ContactSet(machine, "c2");
        vm.prank(PROVIDER);
        pool.setContact(machine, "c2");
        _expectEvent();
        emit OperatorSet(machine, vm.addr(OTHER_KEY));
        Consent memory consent = _consentBy(OTHER_KEY, address(pool), PROVIDER, uint64(NOW));
        vm.prank(PROVIDER);
        pool.setOperator(machine, vm.addr(OTHER_KEY), consent);
        vm.assertEq(pool.machineOf(machine).operator, vm.addr(OTHER_KEY));
        _notFor(OPERATOR, abi.encodeCall(pool.setContact, (machine, "c3")));
    }

    function test_withhold() external {
        _expectEvent();
        emit Withheld(machine, 0xFF0F);
        vm.prank(OPERATOR);
        pool.withhold(machine, 0xFF0F);
        MachineView memory seen = pool.machineOf(machine);
        vm.assertEq(seen.withheld, 0xFF0F);
        vm.assertEq(seen.busy, 0xFF0F);
        vm.assertEq(seen.leased, 0);
        vm.prank(PROVIDER);
        pool.withhold(machine, 0);
        vm.assertEq(pool.machineOf(machine).busy, 0);
        bytes memory beyond = abi.encodeCall(pool.withhold, (machine, 0x10000));
        _refused(PROVIDER, beyond, abi.encodeWithSelector(InvalidCells.selector, 0x10000));
    }

    function test_delist_and_relist() external {
        _status(uint8(MachineStatus.Unverified), true, false, false);
        vm.prank(PROVIDER);
        pool.delist(machine);
        vm.assertTrue(pool.machineOf(machine).delisted);
        _status(uint8(MachineStatus.Unverified), false, false, false);
        vm.prank(PROVIDER);
        pool.relist(machine);
        vm.assertFalse(pool.machineOf(machine).delisted);
    }

    function test_recover() external {
        bytes memory call = abi.encodeCall(pool.recover, (machine));
        _refused(OPERATOR, call, abi.encodeWithSelector(MachineNotStalled.selector, machine));
        uint256 lease = _open(machine, 1, 1 hours);
        skip(30 minutes + 1);
        pool.cancelUnstarted(lease);
        _status(uint8(MachineStatus.Unverified), false, false, false);
        vm.prank(OPERATOR);
        pool.recover(machine);
        vm.assertFalse(pool.machineOf(machine).stalled);
    }

    // ----------------------------------------------------------------------------------------------------- who may not

    function test_only_the_provider() external {
        bytes[] memory calls = new bytes[](6);
        calls[0] = abi.encodeCall(pool.setTerms, (machine, _terms()));
        calls[1] = abi.encodeCall(pool.setHardware, (machine, "x"));
        calls[2] = abi.encodeCall(pool.setOperator, (machine, OPERATOR, _consent(address(pool), PROVIDER)));
        calls[3] = abi.encodeCall(pool.delist, (machine));
        calls[4] = abi.encodeCall(pool.relist, (machine));
        calls[5] = abi.encodeCall(pool.retire, (machine));
        for (uint256 i = 0; i < calls.length; ++i) {
            _notFor(THIEF, calls[i]);
            _notFor(OPERATOR, calls[i]);
            _notFor(OWNER, calls[i]);
        }
    }

    function test_only_provider_and_operator() external {
        bytes[] memory calls = new bytes[](3);
        calls[0] = abi.encodeCall(pool.setContact, (machine, "x"));
        calls[1] = abi.encodeCall(pool.withhold, (machine, 1));
        calls[2] = abi.encodeCall(pool.recover, (machine));
        for (uint256 i = 0; i < calls.length; ++i) {
            _notFor(THIEF, calls[i]);
            _notFor(OWNER, calls[i]);
        }
    }

    function test_unknown_machines() external {
        bytes memory unknown = abi.encodeWithSelector(UnknownMachine.selector, 9);
        _refused(PROVIDER, abi.encodeCall(pool.delist, (9)), unknown);
        _refused(PROVIDER, abi.encodeCall(pool.setContact, (9, "x")), unknown);
        _refused(PROVIDER, abi.encodeCall(pool.addStake, (9, 1)), unknown);
        _refused(PROVIDER, abi.encodeCall(pool.unstake, (9)), unknown);
        vm.assertEq(uint256(pool.machineOf(9).status), uint256(MachineStatus.None));
    }

    // ------------------------------------------------------------------------------------------------ stake and its end

    function test_addStake_refuses_nothing() external {
        _refused(PROVIDER, abi.encodeCall(pool.addStake, (machine, 0)), abi.encodeWithSelector(ZeroAmount.selector));
    }

    function test_retire_and_unstake() external {
        _status(uint8(MachineStatus.Retired), false, false, false);
        _expectEvent();
        emit MachineRetired(machine, uint32(NOW));
        _retire();
        vm.assertEq(pool.machineOf(machine).retiredAt, NOW);

        bytes memory call = abi.encodeCall(pool.unstake, (machine));
        _refused(PROVIDER, call, abi.encodeWithSelector(StakeLocked.selector, machine, NOW + 14 days));
        skip(14 days - 1);
        _refused(PROVIDER, call, abi.encodeWithSelector(StakeLocked.selector, machine, NOW + 14 days));
        skip(1);
        _expectEvent();
        emit Unstaked(machine, PROVIDER, 2 * STAKE);
        vm.prank(THIEF); // anyone may send it: the stake goes to its owner
        pool.unstake(machine);
        vm.assertEq(pool.balanceOf(PROVIDER), 2 * STAKE);
        vm.assertEq(pool.machineOf(machine).stake, 0);
        _refused(PROVIDER, call, abi.encodeWithSelector(ZeroAmount.selector));
    }

    /// @dev What a later version says about the delay does not reach a machine that never accepted it.
    function test_unstake_keeps_the_delay_that_was_accepted() external {
        Params memory params = _params();
        params.unstakeDelay = 90 days;
        vm.prank(OWNER);
        pool.proposeParams(params);
        skip(2 days);
        _retire();
        skip(14 days);
        pool.unstake(machine);
        vm.assertEq(pool.balanceOf(PROVIDER), 2 * STAKE);
    }

    function test_unstake_waits_for_slashes() external {
        _retire();
        skip(14 days);
        _expectEvent();
        emit PendingSlashesSet(machine, 1);
        _asFaults().setPendingSlashes(machine, 1);
        vm.assertEq(pool.machineOf(machine).pendingSlashes, 1);
        bytes memory locked = abi.encodeWithSelector(SlashPending.selector, machine, 1);
        _refused(PROVIDER, abi.encodeCall(pool.unstake, (machine)), locked);
        _asFaults().setPendingSlashes(machine, 0);
        pool.unstake(machine);
    }

    function test_unstake_needs_retirement() external {
        bytes memory call = abi.encodeCall(pool.unstake, (machine));
        _refused(PROVIDER, call, abi.encodeWithSelector(MachineNotRetired.selector, machine));
    }

    function test_retire_waits_for_leases() external {
        uint256 lease = _running(machine, 2, 1 hours);
        bytes memory call = abi.encodeCall(pool.retire, (machine));
        _refused(PROVIDER, call, abi.encodeWithSelector(MachineBusy.selector, machine, 3));
        skip(1 hours);
        pool.close(lease); // anyone, past the end
        _retire();
    }

    function test_a_retired_machine_stays_so() external {
        _retire();
        bytes memory retired = abi.encodeWithSelector(MachineRetiredAlready.selector, machine);
        _refused(PROVIDER, abi.encodeCall(pool.retire, (machine)), retired);
        _refused(PROVIDER, abi.encodeCall(pool.setTerms, (machine, _terms())), retired);
        _refused(PROVIDER, abi.encodeCall(pool.setHardware, (machine, "x")), retired);
        _refused(PROVIDER, abi.encodeCall(pool.delist, (machine)), retired);
        _refused(PROVIDER, abi.encodeCall(pool.relist, (machine)), retired);
        _refused(PROVIDER, abi.encodeCall(pool.addStake, (machine, 1)), retired);
        _refused(tenant, abi.encodeCall(pool.open, (_request(machine, 1, 1 hours))), retired);
        vm.prank(PROVIDER);
        pool.setOperator(machine, OPERATOR, _consent(address(pool), PROVIDER)); // a leaked key can always be replaced
    }
}
