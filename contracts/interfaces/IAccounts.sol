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

    /// @notice An account lets `delegate` act for it in one pool, within `cap`, `period` and `expiry`. A cap and an
    /// expiry of 0 end it.
    event DelegateSet(
        address indexed account,
        address indexed pool,
        address indexed delegate,
        uint96 cap,
        uint32 period,
        uint40 expiry
    );
    /// @notice A delegate's call took `amount` from the account's ledger: `spent` in the period so far.
    event DelegateSpent(
        address indexed account, address indexed pool, address indexed delegate, uint256 amount, uint96 spent
    );
    /// @notice A group of signers has a contract at its address, and can sign as one account.
    event GroupDeployed(address indexed account, uint8 threshold, address[] signers, bytes32 salt);
    /// @notice The signed calls with this nonce were made as the account. Anybody may have sent them.
    event Executed(address indexed account, uint256 indexed nonce, address indexed submitter);

    /// @notice The signed calls had to be sent by {deadline:utc}: sign them again.
    error ExpiredDeadline(uint256 deadline);
    /// @notice The signed calls carry nonce {nonce} where {expected} is next: sign them again with that.
    error InvalidNonce(uint256 nonce, uint256 expected);
    /// @notice The signature is not one of {account}: sign with its key, over exactly these calls.
    error InvalidProof(address account);
    /// @notice {target} is not a pool of this factory: signed calls reach only pools.
    error InvalidTarget(address target);
    /// @notice There are no calls to make: name at least one.
    error NoCalls();
    /// @dev As a pool's error of this name, whose notice says what it means.
    error NotAuthorized(address actor);
    /// @notice {threshold} of {signers} signers make no group: name 1 to 16 signers, and a threshold of at most so
    /// many.
    error InvalidThreshold(uint8 threshold, uint256 signers);
    /// @notice Signer {index} of the group is zero, named twice or out of order: name each signer once, in ascending
    /// order.
    error InvalidSigners(uint256 index);
    /// @notice The proof cannot be read: put the signatures together again.
    error MalformedProof();
    /// @notice These signers make the group {derived}, not {account}: check the threshold, the signers and the salt.
    error WrongGroup(address account, address derived);
    /// @notice Signature {index} is out of order: put the signatures in the order of the group's signers.
    error UnorderedSignatures(uint256 index);
    /// @notice Signature {index} is of a signer who has signed before: collect one of another signer.
    error DuplicateSignature(uint256 index);
    /// @notice The signature of {signer} has a high s, which could be altered: let it sign again with an up-to-date
    /// wallet.
    error MalleableSignature(address signer);
    /// @notice The signature is not one of {signer}, over exactly this: let it sign again.
    error WrongSignature(address signer);
    /// @notice A delegate may not make the call {selector}: only open, extend, close, reject, resize and setWorkload;
    /// let the account itself make it.
    error ScopeExceeded(bytes4 selector);
    /// @notice The delegate would have spent {spent:money} of the {cap:money} it may: wait for the next period, or let
    /// the account raise the cap.
    error CapExceeded(uint256 spent, uint256 cap);
    /// @notice The delegation ended {expiry:utc}: let the account set it anew.
    error DelegationExpired(uint256 expiry);
    /// @notice The account {account} is not deployed yet: deploy it first.
    error NotDeployed(address account);
    /// @notice Signed calls cannot contain signed calls: put them into one list.
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
