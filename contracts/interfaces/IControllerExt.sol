// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {AccountView, LeaseRequest, LeaseView, MachineView, Offer, Params, Terms} from "./IControllerTypes.sol";

/// @title What `ControllerExt` serves: the pool's own affairs and reads.
/// @dev Callers use `IController`.
interface IControllerExt {
    // --------------------------------------------------------------------------------------------------------- leases

    /// @notice `open` at terms that the provider signed (`Offer`, in this pool's domain), listed or not.
    /// @param proof of the machine's provider, as `Accounts.isAuthorized` takes it
    function openWithOffer(LeaseRequest calldata request, Offer calldata offer, bytes calldata proof)
        external
        returns (uint256 lease);
    /// @notice Spoils offers of the actor: each bit of `mask` is the nonce `word << 8 | bit`.
    function cancelOffers(uint256 word, uint256 mask) external;
    /// @notice Another share of the same machine from now on, at the same price and until the same end. Pays the provider
    /// what accrued. Not inside the trial, nor while the machine is down.
    /// @param placement to name the place, or 0 to let the contract choose
    function resize(uint256 lease, uint8 share, uint16 placement) external;
    /// @notice While the machine is down: ends the lease, billed to the outage's begin, and opens its backup for the tenant
    /// for the time that was left, or as much of it as the refund buys. Anyone may send it. The arguments are what `backup`
    /// is the digest of.
    function failover(uint256 lease, uint32 machine, uint16 revision, uint16 placement, bytes32 workload)
        external
        returns (uint256 backup);
    /// @notice Gives the lease to `to`, who has accepted it.
    /// @param deadline last timestamp at which the acceptance works
    /// @param proof of `to`, over `AcceptTransfer(account, controller, lease, deadline)` in the domain of `Accounts`
    function transferLease(uint256 lease, address to, uint256 deadline, bytes calldata proof) external;

    // ----------------------------------------------------------------------------------------------------------- pool

    /// @notice Moves what providers' fees are due to the treasury's ledger. Anyone may send it.
    function pullFees(address[] calldata providers) external;
    /// @notice The owner's next rules, in force in two days. One proposal at a time.
    function proposeParams(Params calldata params) external;
    /// @notice Takes the proposal back before it is in force.
    function cancelParams() external;
    /// @notice Stops, or allows again, opening and registering. Nothing else.
    function setPaused(bool paused) external;
    /// @notice Whose ledger fees go to from now on.
    function setTreasury(address treasury) external;
    /// @notice Offers the pool to `owner`, who becomes it by `acceptOwnership`. Zero takes an offer back.
    function transferOwnership(address owner) external;
    function acceptOwnership() external;

    /// @notice Whether `register` asks for a licence (`Directory`). Machines that are in stay in.
    function setGated(bool gated) external;

    // ---------------------------------------------------------------------------------------------------------- reads

    function gated() external view returns (bool);
    /// @notice Bits of used and cancelled offers.
    function offersOf(address provider, uint256 word) external view returns (uint256 mask);
    function offerDigest(Offer calldata offer) external view returns (bytes32);
    function companions()
        external
        view
        returns (address committee, address faults, address reputation, address directory);
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
