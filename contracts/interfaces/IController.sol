// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {
    AccountView,
    LeaseRequest,
    LeaseView,
    MachineView,
    Params,
    Terms
} from "./IControllerTypes.sol";

/// @title A pool of GPUs: its ledger, its machines and their stake, its leases and their escrow.
/// @notice Nobody but its owner can move a ledger balance or an escrow. Nobody can stop anyone from closing, claiming,
/// unstaking or withdrawing. Every deadline that has passed can be settled by anyone. Stake is lost only by a fault, up
/// to a stated limit, after a delay.
/// @dev The *actor* of a call is `msg.sender` or, when that is `Accounts`, the account it acts for. Part of these
/// functions live in `ControllerExt`, which the Controller reaches by delegatecall; callers see one contract.
interface IController {
    // ------------------------------------------------------------------------------------------------ events: ledger

    event Deposited(address indexed account, address indexed from, uint256 amount, uint256 balance);
    event Withdrawn(address indexed account, address indexed to, uint256 amount, uint256 balance);
    event Transferred(address indexed from, address indexed to, uint256 amount);
    event FeesPulled(address indexed provider, address indexed treasury, uint256 amount);

    // ---------------------------------------------------------------------------------------------- events: machines

    /// @param pulled what was taken from the provider's wallet by allowance; the rest of `stake` came from its ledger
    event MachineRegistered(
        uint32 indexed machine,
        address indexed provider,
        address indexed operator,
        uint8 gpus,
        uint96 stake,
        uint256 pulled
    );
    event TermsSet(uint32 indexed machine, uint16 revision, uint16 params, Terms terms);
    /// @param digest SHA-256 of the hardware document; its CID is CIDv1(raw, sha2-256, digest)
    event HardwareSet(uint32 indexed machine, uint16 revision, bytes32 digest);
    /// @param digest SHA-256 of the contact document; its CID is CIDv1(raw, sha2-256, digest)
    event ContactSet(uint32 indexed machine, bytes32 digest);
    event OperatorSet(uint32 indexed machine, address indexed operator);
    event Withheld(uint32 indexed machine, uint64 cells);
    /// @notice One of the bits that decide whether the machine takes new leases has changed.
    event MachineStatusSet(uint32 indexed machine, uint8 status, bool delisted, bool underStaked, bool stalled);
    event StakeAdded(uint32 indexed machine, address indexed from, uint256 amount, uint256 pulled, uint96 stake);
    event MachineRetired(uint32 indexed machine, uint32 retiredAt);
    event Unstaked(uint32 indexed machine, address indexed provider, uint256 amount);

    // ------------------------------------------------------------------------------------------------ events: leases

    /// @param pulled what was taken from the payer's wallet by allowance; the rest of `deposit` came from its ledger
    /// @param flags bit 0: spot
    event LeaseOpened(
        uint256 indexed lease,
        uint32 indexed machine,
        address indexed tenant,
        uint16 placement,
        uint16 revision,
        uint16 params,
        uint80 price,
        uint32 duration,
        uint96 deposit,
        uint256 pulled,
        bytes32 workload,
        uint8 flags,
        bytes32 backup
    );
    event LeaseStarted(uint256 indexed lease, uint32 indexed machine, uint32 start, uint32 end, bytes32 endpoint);
    /// @param reason a short ASCII code, such as "image-unknown"
    event LeaseDeclined(uint256 indexed lease, uint32 indexed machine, bytes32 reason, uint96 refunded);
    event LeaseCancelled(uint256 indexed lease, uint32 indexed machine, uint96 refunded);
    event LeaseRejected(uint256 indexed lease, uint32 indexed machine, uint96 paid, uint96 fee, uint96 refunded);
    event LeaseExtended(
        uint256 indexed lease, uint32 indexed machine, address indexed payer, uint32 end, uint96 deposit, uint256 pulled
    );
    event WorkloadSet(uint256 indexed lease, uint32 indexed machine, bytes32 workload);
    event LeaseTerminated(uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 penalty);
    /// @param paid total the provider has had from this lease, net of `fee`; paid + fee + refunded == deposit
    event LeaseClosed(
        uint256 indexed lease, uint32 indexed machine, uint32 end, uint96 paid, uint96 fee, uint96 refunded
    );
    /// @param settled total billed so far; `paid + fee == settled`, both totals too
    event LeaseClaimed(uint256 indexed lease, uint32 indexed machine, uint96 settled, uint96 paid, uint96 fee);
    /// @param cid the output's CID in its binary form
    event ResultPublished(uint256 indexed lease, uint32 indexed machine, bytes cid);

    // ------------------------------------------------------------------------------------------------- events: pool

    event ParamsProposed(uint16 indexed version, uint40 inForceAt, Params params);
    event ParamsCancelled(uint16 indexed version);
    event PausedSet(bool paused);
    event TreasurySet(address indexed treasury);
    event OwnershipTransferStarted(address indexed owner, address indexed pendingOwner);
    event OwnershipTransferred(address indexed owner);

    // --------------------------------------------------------------------------------------------------------- errors

    error NotAuthorized(address actor);
    error Unsupported(bytes32 what);
    error Paused();
    error ZeroAddress();
    error ZeroAmount();
    error InsufficientBalance(address account, uint256 balance, uint256 needed);
    error TokenTakesFee(uint256 sent, uint256 received);
    error SelfTransfer();

    error UnknownMachine(uint32 machine);
    error InvalidGpuCount(uint8 gpus);
    error InvalidTerms(bytes32 field);
    error InvalidParams(bytes32 field);
    error MachineRetiredAlready(uint32 machine);
    error MachineNotRetired(uint32 machine);
    error MachineDelisted(uint32 machine);
    error MachineUnderStaked(uint32 machine);
    error MachineStalled(uint32 machine);
    error MachineNotStalled(uint32 machine);
    error MachineUnverified(uint32 machine);
    error MachineBusy(uint32 machine, uint64 leased);
    error StakeLocked(uint32 machine, uint256 until);
    error RevisionChanged(uint16 current);
    error ParamsOutdated(uint16 accepted, uint16 current);

    error UnknownLease(uint256 lease);
    error WrongState(uint256 lease, uint8 state);
    error InvalidShare(uint8 share);
    error InvalidPlacement(uint16 placement);
    error NoFreeCells(uint32 machine, uint64 busy);
    error PriceTooHigh(uint80 price, uint80 maxPrice);
    error DurationOutOfRange(uint256 duration, uint256 min, uint256 max);
    error NotAvailableUntil(uint256 end, uint256 availableUntil);
    error StartWindowPassed(uint256 lease, uint256 deadline);
    error StartWindowOpen(uint256 lease, uint256 deadline);
    error TrialOver(uint256 lease, uint256 deadline);
    error TrialRunning(uint256 lease, uint256 until);
    error LeaseNotOver(uint256 lease, uint256 end);
    error LeaseOver(uint256 lease, uint256 end);
    error UnderNotice(uint256 lease);
    error NothingToClaim(uint256 lease);
    error WrongMachine(uint256 lease, uint32 machine);
    error SlotExhausted(uint256 lease);
    error NoProposal();
    error ProposalPending(uint256 inForceAt);

    // --------------------------------------------------------------------------------------------------------- ledger

    function deposit(address to, uint256 amount) external;
    /// @notice `deposit`, trying the permit first; a permit that fails does not matter if the allowance suffices.
    function depositWithPermit(address to, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
    function transfer(address to, uint256 amount) external;
    function withdraw(address to, uint256 amount) external;
    /// @notice Several calls in one transaction: all of them happen, or none.
    function multicall(bytes[] calldata calls) external returns (bytes[] memory results);
    function balanceOf(address account) external view returns (uint256);

    // ------------------------------------------------------------------------------------------------------- machines

    function register(Terms calldata terms, uint8 gpus, bytes32 hardware, bytes32 contact, address operator)
        external
        returns (uint32 machine);
    function setTerms(uint32 machine, Terms calldata terms) external;
    function setHardware(uint32 machine, bytes32 hardware) external;
    function setContact(uint32 machine, bytes32 contact) external;
    function setOperator(uint32 machine, address operator) external;
    /// @param cells the cells out of sale from now on, bit `8 × gpu + cell`; leased ones stay leased
    function withhold(uint32 machine, uint64 cells) external;
    function delist(uint32 machine) external;
    function relist(uint32 machine) external;
    function addStake(uint32 machine, uint96 amount) external;
    /// @notice Clears the stall that an unstarted lease left.
    function recover(uint32 machine) external;
    function retire(uint32 machine) external;
    function unstake(uint32 machine) external;

    // --------------------------------------------------------------------------------------------------------- leases

    function open(LeaseRequest calldata request) external returns (uint256 lease);
    /// @param endpoint SHA-256 of the document that says where the lease can be reached
    function start(uint256 lease, bytes32 endpoint) external;
    function decline(uint256 lease, bytes32 reason) external;
    function cancelUnstarted(uint256 lease) external;
    function reject(uint256 lease) external;
    /// @param duration seconds added to the end
    function extend(uint256 lease, uint32 duration) external;
    function setWorkload(uint256 lease, bytes32 workload) external;
    function close(uint256 lease) external;
    function terminate(uint256 lease) external;
    function claim(uint256[] calldata leases) external;
    function publishResult(uint256 lease, bytes calldata cid) external;

    // ----------------------------------------------------------------------------------------------------------- pool

    function pullFees(address[] calldata providers) external;
    function proposeParams(Params calldata params) external;
    function cancelParams() external;
    function setPaused(bool paused) external;
    function setTreasury(address treasury) external;
    function transferOwnership(address owner) external;
    function acceptOwnership() external;

    // ---------------------------------------------------------------------------------------------------------- reads

    function machineOf(uint32 machine) external view returns (MachineView memory);
    function leaseOf(uint256 lease) external view returns (LeaseView memory);
    function termsOf(uint32 machine, uint16 revision) external view returns (Terms memory terms, uint16 params);
    function accountOf(address provider) external view returns (AccountView memory);
    function params(uint16 version) external view returns (Params memory);
    /// @return version in force now
    function paramsVersion() external view returns (uint16 version);
    /// @return version 0 when nothing is proposed
    function proposedParams() external view returns (uint16 version, uint40 inForceAt);
    function machineCount() external view returns (uint32);
    function slotCount() external view returns (uint32);
    function paused() external view returns (bool);
    function treasury() external view returns (address);
    function owner() external view returns (address);
    function pendingOwner() external view returns (address);
    function token() external view returns (address);
    function accounts() external view returns (address);
    /// @notice Raw storage, for readers that want many values in one call.
    function extsload(bytes32[] calldata slots) external view returns (bytes32[] memory values);
    /// @notice ERC-5267: the EIP-712 domain `Leasehold`, version 1, of this pool.
    function eip712Domain()
        external
        view
        returns (
            bytes1 fields,
            string memory name,
            string memory version,
            uint256 chainId,
            address verifyingContract,
            bytes32 salt,
            uint256[] memory extensions
        );
}
