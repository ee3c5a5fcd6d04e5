// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// @title Who may act for an account, and acting for it.
/// @notice A proof's first byte is its kind: 0x01 the account's own key (65 bytes r, s, v with low s), 0x02 ERC-1271
/// (what the account's `isValidSignature` wants), 0x03 a group's signatures (not served yet). 0x04, a session, is known
/// off-chain only: a session grants requests, never money.
interface IAccounts {
    struct Call {
        address target;
        bytes data;
    }

    event Executed(address indexed account, uint256 indexed nonce, address indexed submitter);

    error ExpiredDeadline(uint256 deadline);
    error InvalidNonce(uint256 nonce, uint256 expected);
    error InvalidProof(address account);
    error InvalidTarget(address target);
    error NoCalls();
    error Nested();

    /// @notice Makes `calls` as `account`. Anyone may submit them.
    /// @param calls targets are pools that the factory knows
    /// @param nonce `key << 64 | sequence`: sequences count from 0 for each key, so that signers who choose different keys
    /// do not wait for one another
    /// @param deadline last timestamp at which this works
    /// @param proof over `Execute(account, calls, nonce, deadline)` in the domain `Leasehold`, version 1, of this contract
    function execute(address account, Call[] calldata calls, uint256 nonce, uint256 deadline, bytes calldata proof)
        external
        returns (bytes[] memory results);

    /// @notice The account that the running `execute` acts for, or zero.
    function actor() external view returns (address);

    /// @notice Whether `proof` shows that `account` approved `digest`. Never reverts on a bad proof.
    function isAuthorized(address account, bytes32 digest, bytes calldata proof) external view returns (bool);

    /// @notice The next nonce of `key`, already shifted: `key << 64 | sequence`.
    function nonceOf(address account, uint192 key) external view returns (uint256);

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
