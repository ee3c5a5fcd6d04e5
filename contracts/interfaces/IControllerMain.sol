// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Consent, LeaseRequest, Terms} from "./IControllerTypes.sol";

/// @title What `Controller` itself serves: ledger, machines, leases.
/// @dev Callers use `IController`.
interface IControllerMain {
    // --------------------------------------------------------------------------------------------------------- ledger

    /// @notice Moves `amount` from the caller's wallet, by allowance, into the ledger of `to`.
    function deposit(address to, uint256 amount) external;
    /// @notice `deposit`, trying the permit first; a permit that fails does not matter if the allowance suffices.
    function depositWithPermit(address to, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
    /// @notice Moves `amount` from the actor's ledger to that of `to`.
    function transfer(address to, uint256 amount) external;
    /// @notice Sends `amount` from the actor's ledger to the wallet of `to`. The only way out for tokens.
    function withdraw(address to, uint256 amount) external;
    /// @notice Several calls in one transaction: all of them happen, or none.
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results);
    /// @notice What the ledger holds for `account`, in token units.
    function balanceOf(address account) external view returns (uint256);

    // ------------------------------------------------------------------------------------------------------- machines

    /// @notice Puts a machine into the pool and its stake with it, from the ledger first and the wallet for the rest.
    /// @param gpus 1 to 8
    /// @param smallestShare the least that it leases: 1, 2, 4 or 8 cells
    /// @param hardware SHA-256 of the hardware document
    /// @param contact SHA-256 of the contact document
    /// @param operator the hot key of the machine's agent; it moves no money
    /// @param consent the operator's, to serve the actor
    function register(
        Terms calldata terms,
        uint8 gpus,
        uint8 smallestShare,
        bytes32 hardware,
        bytes32 contact,
        address operator,
        Consent calldata consent
    ) external returns (uint32 machine);
    /// @notice New terms, which accept the parameters in force, for leases from now on. Raises the revision.
    function setTerms(uint32 machine, Terms calldata terms) external;
    /// @notice Adds to a machine's stake, from the actor's ledger first. Anyone may.
    function addStake(uint32 machine, uint96 amount) external;
    /// @notice Clears the stall that an unstarted lease left. The operator may, too.
    function recover(uint32 machine) external;
    /// @notice Takes the machine out of service for good, and starts `unstakeDelay`. Nothing may be leased.
    function retire(uint32 machine) external;
    /// @notice Gives a retired machine's stake back to its provider's ledger, after the delay. Anyone may send it.
    function unstake(uint32 machine) external;

    // --------------------------------------------------------------------------------------------------------- leases

    /// @notice Opens a lease and holds what it will cost, from the ledger first and the wallet for the rest.
    /// @return lease `slot << 16 | generation`
    function open(LeaseRequest calldata request) external returns (uint256 lease);
    /// @notice The operator says that the lease can be used. Billing begins.
    /// @param endpoint SHA-256 of the document that says where the lease can be reached
    function start(uint256 lease, bytes32 endpoint) external;
    /// @notice The operator cannot serve the lease, and says so inside the start window. Everything goes back.
    /// @param reason a short ASCII code
    function decline(uint256 lease, bytes32 reason) external;
    /// @notice Gives everything back once the start window has passed, and stalls the machine. Anyone may send it.
    function cancelUnstarted(uint256 lease) external;
    /// @notice Gives a lease up before its start, or inside its trial, for the hold fee.
    function reject(uint256 lease) external;
    /// @notice Moves the end of a running lease, at the price it opened with. Anyone may who pays.
    /// @param duration seconds added to the end
    function extend(uint256 lease, uint32 duration) external;
    /// @notice Another job on the same lease.
    /// @param workload SHA-256 of the sealed workload
    function setWorkload(uint256 lease, bytes32 workload) external;
    /// @notice Ends and pays. The tenant at any time, anyone past the end. While Opened it is `reject` inside the start
    /// window and `cancelUnstarted` past it.
    function close(uint256 lease) external;
    /// @notice Gives notice: the lease ends `noticeSeconds` from now at the latest, and the penalty moves at once.
    /// Warning: it is that of the moment, and a tenant may extend or grow the lease just before. `delist` first stops both; or
    /// a `multicall` that first withdraws all but what the provider means to pay.
    function terminate(uint256 lease) external;
    /// @notice Credits the provider of each lease with what accrued up to `claimLag` ago. Leases with nothing to claim are
    /// passed over; if none has anything, `NothingToClaim` of the first.
    function claim(uint256[] calldata leases) external;
    /// @notice The operator says where a lease's output is, until the slot is used again.
    /// @param cid the output's CID in its binary form
    function publishResult(uint256 lease, bytes calldata cid) external;
}
