// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {Accounts} from "../../../contracts/Accounts.sol";
import {Controller} from "../../../contracts/Controller.sol";
import {ControllerExt} from "../../../contracts/ControllerExt.sol";
import {ControllerFactory} from "../../../contracts/ControllerFactory.sol";
import {ControllerMoves} from "../../../contracts/ControllerMoves.sol";
import {Committee} from "../../../contracts/companions/Committee.sol";
import {Directory} from "../../../contracts/companions/Directory.sol";
import {Faults} from "../../../contracts/companions/Faults.sol";
import {Reputation} from "../../../contracts/companions/Reputation.sol";
import {IAccounts} from "../../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../../contracts/interfaces/IController.sol";
import {IControllerFactory} from "../../../contracts/interfaces/IControllerFactory.sol";
import {IPoolErrors} from "../../../contracts/interfaces/IPoolErrors.sol";
import {IPoolEvents} from "../../../contracts/interfaces/IPoolEvents.sol";
import {IPoolHooks} from "../../../contracts/interfaces/IPoolHooks.sol";
import {
    AccountView,
    Consent,
    LeaseRequest,
    LeaseState,
    LeaseView,
    MachineStatus,
    MachineView,
    Params,
    Terms
} from "../../../contracts/interfaces/PoolTypes.sol";
import {TestToken} from "../../../contracts/test/TestToken.sol";
import {skip, vm} from "./Check.sol";

/// @notice One pool with a provider, its machine, and a tenant who has money in the wallet and an allowance.
abstract contract Fixture is IPoolEvents, IPoolErrors {
    uint256 internal constant NOW = 1_800_000_000;
    uint80 internal constant PRICE = 2.88e18; // per GPU-hour: a cell costs 1e14 a second
    uint256 internal constant CELL_SECOND = 1e14;
    uint256 internal constant MINTED = 1_000_000e18;
    uint96 internal constant STAKE = 100e18; // of a GPU
    bytes32 internal constant WORKLOAD = keccak256("workload");

    uint256 internal constant TENANT_KEY = 0xA11CE;
    address internal immutable tenant = vm.addr(TENANT_KEY);
    address internal constant PROVIDER = address(0x9807);
    uint256 internal constant OPERATOR_KEY = 0x09E8;
    address internal constant OPERATOR = 0x54DA432e71D8A26BB11ba92334cCA0D4290908fB;
    address internal constant OWNER = address(0x03E4);
    address internal constant TREASURY = address(0x77EA5);
    address internal constant THIEF = address(0x7417EF);

    TestToken internal token;
    Accounts internal accounts;
    ControllerMoves internal moves;
    ControllerExt internal extension;
    Controller internal implementation;
    ControllerFactory internal factory;
    IController internal pool;

    function setUp() public virtual {
        vm.warp(NOW);
        token = new TestToken("Test Dollar", "TUSD", 18);
        (factory, accounts) = _deploy();
        pool = IController(factory.createPool(address(token), OWNER, TREASURY, _params()));
        _fund(tenant);
        _fund(PROVIDER);
        _fund(THIEF);
    }

    function _deploy() internal returns (ControllerFactory factory_, Accounts accounts_) {
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 8);
        accounts_ = new Accounts(IControllerFactory(predicted));
        moves = new ControllerMoves(accounts_);
        extension = new ControllerExt(accounts_, address(moves));
        implementation = new Controller(accounts_, address(extension));
        factory_ = new ControllerFactory(
            address(implementation),
            address(new Committee(accounts_)),
            address(new Faults(accounts_)),
            address(new Reputation(accounts_)),
            address(new Directory(accounts_))
        );
    }

    /// @dev A pool as a factory would make it, with whatever companions: a test may be one itself.
    function _poolWith(address committee, address faults, address reputation, address directory)
        internal
        returns (IController made)
    {
        bytes memory args = abi.encodePacked(token, committee, faults, reputation, directory);
        made = IController(Clones.cloneWithImmutableArgs(address(implementation), args));
        IPoolHooks(address(made)).initialize(OWNER, TREASURY, _params());
    }

    /// @dev The pool as one of its companions sees it, for the next call.
    function _asCommittee() internal returns (IPoolHooks) {
        (address committee,,,) = pool.companions();
        vm.prank(committee);
        return IPoolHooks(address(pool));
    }

    function _asFaults() internal returns (IPoolHooks) {
        (, address faults,,) = pool.companions();
        vm.prank(faults);
        return IPoolHooks(address(pool));
    }

    function _fund(address who) internal {
        token.mint(who, MINTED);
        vm.prank(who);
        token.approve(address(pool), type(uint256).max);
    }

    function _params() internal pure returns (Params memory) {
        return Params({
            minStakePerGpu: STAKE,
            feeBps: 500,
            holdFeeBps: 1000,
            maxSlashBps: 5000,
            startWindow: 30 minutes,
            noticeSeconds: 1 hours,
            penaltySeconds: 2 hours,
            claimLag: 20 minutes,
            challengeWindow: 10 minutes,
            filingWindow: 4 days,
            appealWindow: 2 days,
            rulingWindow: 3 days,
            unstakeDelay: 14 days,
            bond: 5e18,
            reverifyInterval: 1 days,
            seatStake: 500e18,
            verificationFee: 5e18,
            committeeSize: 5,
            arbiter: OWNER,
            sink: address(0)
        });
    }

    function _terms() internal pure returns (Terms memory) {
        return Terms({
            price: PRICE,
            spotPrice: 0,
            minDuration: 60,
            maxDuration: 7 days,
            trial: 10 minutes,
            availableUntilDay: uint16(NOW / 1 days + 365)
        });
    }

    /// @dev The operator's, to serve `provider` in that pool for a day. Calls no contract, so that a prank before it holds.
    function _consent(address controller, address provider) internal view returns (Consent memory) {
        return _consentBy(OPERATOR_KEY, controller, provider, uint64(vm.getBlockTimestamp() + 1 days));
    }

    function _consentBy(uint256 key, address controller, address provider, uint64 deadline)
        internal
        view
        returns (Consent memory)
    {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Leasehold"),
                keccak256("1"),
                block.chainid,
                controller
            )
        );
        bytes32 structHash = keccak256(
            abi.encode(
                keccak256(
                    "Operate(uint256 chain,address controller,address provider,address operator,uint64 deadline)"
                ),
                block.chainid,
                controller,
                provider,
                vm.addr(key),
                deadline
            )
        );
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, keccak256(abi.encodePacked(hex"1901", domain, structHash)));
        return Consent(deadline, abi.encodePacked(hex"01", r, s, v));
    }

    function _register(uint8 gpus) internal returns (uint32) {
        vm.prank(PROVIDER);
        return pool.register(_terms(), gpus, 1, "hardware", "contact", OPERATOR, _consent(address(pool), PROVIDER));
    }

    function _request(uint32 machine, uint8 share, uint32 duration) internal pure returns (LeaseRequest memory) {
        return LeaseRequest({
            machine: machine,
            revision: 1,
            share: share,
            placement: 0,
            duration: duration,
            maxPrice: PRICE,
            spot: false,
            allowUnverified: true,
            workload: WORKLOAD,
            settle: new uint256[](0),
            reuse: 0,
            backup: 0
        });
    }

    function _open(LeaseRequest memory request) internal returns (uint256) {
        vm.prank(tenant);
        return pool.open(request);
    }

    function _open(uint32 machine, uint8 share, uint32 duration) internal returns (uint256) {
        return _open(_request(machine, share, duration));
    }

    function _start(uint256 lease) internal {
        vm.prank(OPERATOR);
        pool.start(lease, "endpoint");
    }

    function _running(uint32 machine, uint8 share, uint32 duration) internal returns (uint256 lease) {
        lease = _open(machine, share, duration);
        _start(lease);
    }

    function _claim(uint256 lease) internal {
        pool.claim(_one(lease));
    }

    function _close(uint256 lease) internal {
        vm.prank(tenant);
        pool.close(lease);
    }

    function _one(uint256 lease) internal pure returns (uint256[] memory leases) {
        leases = new uint256[](1);
        leases[0] = lease;
    }

    /// @dev Makes `call` on the pool as `who`, which must revert with exactly `error_`.
    function _refused(address who, bytes memory call, bytes memory error_) internal {
        vm.prank(who);
        (bool ok, bytes memory answer) = address(pool).call(call);
        vm.assertFalse(ok);
        vm.assertEq(answer, error_);
    }

    function _notFor(address who, bytes memory call) internal {
        _refused(who, call, abi.encodeWithSelector(NotAuthorized.selector, who));
    }

    /// @dev For a call that Solidity makes next: a low-level one would swallow the failure of the expectation.
    function _expect(bytes memory error_) internal {
        vm.expectRevert(error_);
    }

    function _expectEvent() internal {
        vm.expectEmit(true, true, true, true, address(pool));
    }

    function _state(uint256 lease) internal view returns (LeaseState) {
        return pool.leaseOf(lease).state;
    }

    function _assertState(uint256 lease, LeaseState state) internal view {
        vm.assertEq(uint256(_state(lease)), uint256(state), "state");
    }
}
