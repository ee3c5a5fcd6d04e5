// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @title Why a pool refuses.
interface IControllerErrors {
    error NotAuthorized(address actor);
    error Paused();
    error ZeroAddress();
    error ZeroAmount();
    error InsufficientBalance(address account, uint256 balance, uint256 needed);
    error TokenTakesFee(uint256 sent, uint256 received);
    error SelfTransfer();
    error AlreadyInitialized();

    error UnknownMachine(uint32 machine);
    error InvalidGpuCount(uint8 gpus);
    error InvalidSmallestShare(uint8 share);
    error ConsentExpired(uint256 deadline);
    error InvalidCells(uint64 cells);
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
    error SlashPending(uint32 machine, uint8 count);
    error RevisionChanged(uint16 current);
    error ParamsOutdated(uint16 accepted, uint16 current);

    error UnknownLease(uint256 lease);
    error WrongState(uint256 lease, uint8 state);
    error InvalidShare(uint8 share);
    error ShareTooSmall(uint8 share, uint8 smallest);
    error InvalidPlacement(uint16 placement);
    error NoFreeCells(uint32 machine, uint64 busy);
    error PriceTooHigh(uint80 price, uint80 maxPrice);
    error DurationOutOfRange(uint256 duration, uint256 min, uint256 max);
    error NotAvailableUntil(uint256 end, uint256 availableUntil);
    error StartWindowPassed(uint256 lease, uint256 deadline);
    error StartWindowOpen(uint256 lease, uint256 deadline);
    error TrialOver(uint256 lease, uint256 deadline);
    error LeaseNotOver(uint256 lease, uint256 end);
    error LeaseOver(uint256 lease, uint256 end);
    error UnderNotice(uint256 lease);
    error NothingToClaim(uint256 lease);
    error WrongMachine(uint256 lease, uint32 machine);
    error SlotExhausted(uint256 lease);
    error MachineDown(uint32 machine, uint256 since);
    error MachineNotDown(uint32 machine);
    error NotSpot(uint32 machine);
    error WrongBackup(uint256 lease);
    error NothingLeftFor(uint256 lease, uint256 needed, uint256 left);
    error OfferExpired(uint256 deadline);
    error OfferUsed(uint256 nonce);
    error OfferMismatch(bytes32 field);
    error AcceptanceUsed(bytes32 digest);
    error TrialRunning(uint256 lease, uint256 until);
    error Unlicensed(address provider);
    error WrongProof(address account);
    error NoProposal();
    error ProposalPending(uint256 inForceAt);
}
