// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title Who may act for an account, and acting for it.
/// @notice A proof's first byte is its kind: 0x01 the account's own key (65 bytes r, s, v with low s), 0x02 ERC-1271
/// (what the account's `isValidSignature` wants), 0x03 a group's signatures. 0x04, a session, is known off-chain only: a
/// session grants requests, never money.
///
/// A *group* is `threshold` of up to 16 signers without a contract. Its address is where `deployGroup` would put a minimal
/// account, so nothing about it is stored. A group's proof is, packed: `0x03, threshold (1), n (1), n signers (20 each,
/// strictly ascending, none zero), salt (32)`, then for each of `threshold` signers who signed, in ascending order: `index
/// (1), kind (1)`, and for kind 0x01 the signature (65), for 0x02 its length (2) and the signature.
///
/// A *delegate* may make single calls `open extend close reject resize setWorkload` of one pool for an account, and spend
/// up to a cap of its ledger in each period.
interface IAccounts {
    struct Call {
        address target;
        bytes data;
    }

    /// @param cap most that may leave the account's ledger in a period, token units
    /// @param period seconds; 0 makes the cap one for the delegate's whole life
    /// @param expiry last timestamp at which the delegate may act
    /// @param spent in the period that began at `since`
    struct Delegation {
        uint96 cap;
        uint32 period;
        uint40 expiry;
        uint40 since;
        uint96 spent;
    }

    event DelegateSet(
        address indexed account,
        address indexed pool,
        address indexed delegate,
        uint96 cap,
        uint32 period,
        uint40 expiry
    );
    event DelegateSpent(
        address indexed account, address indexed pool, address indexed delegate, uint256 amount, uint96 spent
    );
    event GroupDeployed(address indexed account, uint8 threshold, address[] signers, bytes32 salt);
    event Executed(address indexed account, uint256 indexed nonce, address indexed submitter);

    error ExpiredDeadline(uint256 deadline);
    error InvalidNonce(uint256 nonce, uint256 expected);
    error InvalidProof(address account);
    error InvalidTarget(address target);
    error NoCalls();
    error NotAuthorized(address caller);
    error InvalidThreshold(uint8 threshold, uint256 signers);
    error InvalidSigners(uint256 index);
    error MalformedProof();
    error WrongGroup(address account, address derived);
    error UnorderedSignatures(uint256 index);
    error DuplicateSignature(uint256 index);
    error MalleableSignature(address signer);
    error WrongSignature(address signer);
    error ScopeExceeded(bytes4 selector);
    error CapExceeded(uint256 spent, uint256 cap);
    error DelegationExpired(uint256 expiry);
    error NotDeployed(address account);
    error Nested();

    /// @notice Makes `calls` as `account`. Anyone may submit them.
    /// @param calls targets are pools that the factory knows, their companions, and of this contract `setDelegate`,
    /// `deployGroup` and `rescue`
    /// @param nonce `key << 64 | sequence`: sequences count from 0 for each key, so that signers who choose different keys
    /// do not wait for one another
    /// @param deadline last timestamp at which this works
    /// @param proof over `Execute(account, calls, nonce, deadline)` in the domain `Leasehold`, version 1, of this contract
    function execute(address account, Call[] calldata calls, uint256 nonce, uint256 deadline, bytes calldata proof)
        external
        returns (bytes[] memory results);

    /// @notice Lets `delegate` act for the actor in `pool`, from a new period on. A cap and an expiry of 0 end it.
    function setDelegate(address pool, address delegate, uint96 cap, uint32 period, uint40 expiry) external;
    /// @notice Makes one call of `pool` as `account`, as its delegate. What the call takes from the account's ledger counts
    /// against the cap; what it puts there does not offset it.
    function executeAsDelegate(address account, address pool, bytes calldata data)
        external
        returns (bytes memory result);
    function delegationOf(address account, address pool, address delegate) external view returns (Delegation memory);

    /// @notice The address of the group of these signers. The same signers make another group with another salt.
    function groupAddress(uint8 threshold, address[] calldata signers, bytes32 salt) external view returns (address);
    /// @notice Deploys the group's minimal account, so that what was sent to its address can be had. Anyone may. If it
    /// is there already, nothing happens.
    function deployGroup(uint8 threshold, address[] calldata signers, bytes32 salt) external returns (address account);
    /// @notice Sends `amount` of `token` (or, with zero, of the chain's coin) from the actor's deployed group account. Only
    /// inside `execute`.
    function rescue(address token, address to, uint256 amount) external;

    /// @notice The account that the running `execute` acts for, or zero.
    function actor() external view returns (address);

    /// @notice Whether `proof` shows that `account` approved `digest`. Never reverts on a bad proof.
    function isAuthorized(address account, bytes32 digest, bytes calldata proof) external view returns (bool);

    /// @notice The next nonce of `key`, already shifted: `key << 64 | sequence`.
    function nonceOf(address account, uint192 key) external view returns (uint256);

    /// @notice What a tenant-to-be signs to accept a lease (`transferLease`).
    function acceptTransferDigest(address account, address controller, uint256 lease, uint256 deadline)
        external
        view
        returns (bytes32);

    function executeDigest(address account, Call[] calldata calls, uint256 nonce, uint256 deadline)
        external
        view
        returns (bytes32);

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
