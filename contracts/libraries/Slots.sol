// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// @dev A lease's id, and the storage slots that most calls touch, as words with named parts: read once, changed on the
/// stack, written once. A packed struct would be read and written field by field, at 100 gas each time.
/// The lists give each part's bits, lowest first.

/// @dev Which lease is meant: `slot << 16 | generation`. A slot is used again once its lease is over, and each use of it is a
/// generation, from 0. Callers, events and errors name a lease by the number; whoever looks for it, or makes one, takes
/// `LeaseId`. The number may be that of no lease, or of one whose slot has a later one by now.
type LeaseId is uint256;

/// @dev tenant 160, machine 32, placement 16, state 8 (LeaseState), flags 8, start 32. While Opened, `start` is when it was
/// opened.
type LeaseHead is uint256;

/// @dev deposit 96, price 80, end 32, revision 16, params 16, generation 16. While Opened, `end - start` is the duration.
type LeaseBody is uint256;

/// @dev settled 96, paused 32, segmentStart 32, segmentSettled 96. What a lease has been billed (`settled`), and the present
/// *segment*: since when the share is what it is (0: since `start`), what had accrued by then, and for how many seconds since
/// then an outage stopped the bill. All zero until a claim, a resize or an outage says something.
type LeaseBill is uint256;

/// @dev provider 160, leased 64, status 8, revision 16, gpus 4, smallestShare 4. `leased` are the cells of live leases; a
/// machine's busy cells are these and the withheld ones. `status` is a MachineStatus and bits.
type MachineHead is uint256;

/// @dev `Terms` and the version of `Params` that came with them: price 80, spotPrice 80, minDuration 24, maxDuration 24,
/// trial 16, params 16, availableUntilDay 16.
type StoredTerms is uint256;

/// @dev The first slot of `Params`: minStakePerGpu 96, feeBps 16, holdFeeBps 16, maxSlashBps 16, startWindow 24,
/// noticeSeconds 24, penaltySeconds 24, claimLag 24.
type Rulebook is uint256;

/// @dev feesPaid 96, feesDue 96, declined 20, unstarted 20, terminated 24.
type Account is uint256;

using LeaseIds for LeaseId global;
using LeaseHeads for LeaseHead global;
using LeaseBodies for LeaseBody global;
using LeaseBills for LeaseBill global;
using MachineHeads for MachineHead global;
using TermsSlots for StoredTerms global;
using Rulebooks for Rulebook global;
using AccountSlots for Account global;

library LeaseIds {
    /// @dev The first lease of a slot.
    function first(uint256 slot_) internal pure returns (LeaseId) {
        return LeaseId.wrap(slot_ << 16);
    }

    function make(uint256 slot_, uint16 generation_) internal pure returns (LeaseId) {
        return LeaseId.wrap(slot_ << 16 | generation_);
    }

    function slot(LeaseId id) internal pure returns (uint256) {
        return LeaseId.unwrap(id) >> 16;
    }

    function generation(LeaseId id) internal pure returns (uint16) {
        return uint16(LeaseId.unwrap(id));
    }

    /// @dev The lease after this one in its slot, whose generation is not the last.
    function next(LeaseId id) internal pure returns (LeaseId) {
        unchecked {
            return LeaseId.wrap(LeaseId.unwrap(id) + 1);
        }
    }
}

library LeaseHeads {
    function make(address tenant_, uint32 machine_, uint16 placement_, uint8 state_, uint8 flags_, uint32 start_)
        internal
        pure
        returns (LeaseHead)
    {
        return LeaseHead.wrap(
            uint256(uint160(tenant_)) | uint256(machine_) << 160 | uint256(placement_) << 192 | uint256(state_) << 208
                | uint256(flags_) << 216 | uint256(start_) << 224
        );
    }

    function tenant(LeaseHead head) internal pure returns (address) {
        return address(uint160(LeaseHead.unwrap(head)));
    }

    function machine(LeaseHead head) internal pure returns (uint32) {
        return uint32(LeaseHead.unwrap(head) >> 160);
    }

    function placement(LeaseHead head) internal pure returns (uint16) {
        return uint16(LeaseHead.unwrap(head) >> 192);
    }

    function state(LeaseHead head) internal pure returns (uint8) {
        return uint8(LeaseHead.unwrap(head) >> 208);
    }

    function flags(LeaseHead head) internal pure returns (uint8) {
        return uint8(LeaseHead.unwrap(head) >> 216);
    }

    function start(LeaseHead head) internal pure returns (uint32) {
        return uint32(LeaseHead.unwrap(head) >> 224);
    }

    function withTenant(LeaseHead head, address tenant_) internal pure returns (LeaseHead) {
        return LeaseHead.wrap(LeaseHead.unwrap(head) >> 160 << 160 | uint160(tenant_));
    }

    function withPlacement(LeaseHead head, uint16 placement_) internal pure returns (LeaseHead) {
        return LeaseHead.wrap(LeaseHead.unwrap(head) & ~(uint256(0xFFFF) << 192) | uint256(placement_) << 192);
    }

    function withState(LeaseHead head, uint8 state_) internal pure returns (LeaseHead) {
        return LeaseHead.wrap(LeaseHead.unwrap(head) & ~(uint256(0xFF) << 208) | uint256(state_) << 208);
    }

    function withFlags(LeaseHead head, uint8 flags_) internal pure returns (LeaseHead) {
        return LeaseHead.wrap(LeaseHead.unwrap(head) & ~(uint256(0xFF) << 216) | uint256(flags_) << 216);
    }

    function withStart(LeaseHead head, uint32 start_) internal pure returns (LeaseHead) {
        return LeaseHead.wrap(LeaseHead.unwrap(head) & type(uint224).max | uint256(start_) << 224);
    }
}

library LeaseBodies {
    function make(uint96 deposit_, uint80 price_, uint32 end_, uint16 revision_, uint16 params_, uint16 generation_)
        internal
        pure
        returns (LeaseBody)
    {
        return LeaseBody.wrap(
            uint256(deposit_) | uint256(price_) << 96 | uint256(end_) << 176 | uint256(revision_) << 208
                | uint256(params_) << 224 | uint256(generation_) << 240
        );
    }

    function deposit(LeaseBody body) internal pure returns (uint96) {
        return uint96(LeaseBody.unwrap(body));
    }

    function price(LeaseBody body) internal pure returns (uint80) {
        return uint80(LeaseBody.unwrap(body) >> 96);
    }

    function end(LeaseBody body) internal pure returns (uint32) {
        return uint32(LeaseBody.unwrap(body) >> 176);
    }

    function revision(LeaseBody body) internal pure returns (uint16) {
        return uint16(LeaseBody.unwrap(body) >> 208);
    }

    function params(LeaseBody body) internal pure returns (uint16) {
        return uint16(LeaseBody.unwrap(body) >> 224);
    }

    function generation(LeaseBody body) internal pure returns (uint16) {
        return uint16(LeaseBody.unwrap(body) >> 240);
    }

    function withDeposit(LeaseBody body, uint96 deposit_) internal pure returns (LeaseBody) {
        return LeaseBody.wrap(LeaseBody.unwrap(body) & ~uint256(type(uint96).max) | deposit_);
    }

    /// @dev Whether it is that lease's, and not of an earlier or later one in its slot.
    function isOf(LeaseBody body, LeaseId id) internal pure returns (bool) {
        return LeaseBody.unwrap(body) >> 240 == LeaseId.unwrap(id) & 0xFFFF;
    }

    /// @dev On a body that has none yet.
    function withGeneration(LeaseBody body, uint16 generation_) internal pure returns (LeaseBody) {
        return LeaseBody.wrap(LeaseBody.unwrap(body) | uint256(generation_) << 240);
    }

    function withEnd(LeaseBody body, uint32 end_) internal pure returns (LeaseBody) {
        return LeaseBody.wrap(LeaseBody.unwrap(body) & ~(uint256(type(uint32).max) << 176) | uint256(end_) << 176);
    }
}

library LeaseBills {
    function make(uint96 settled_, uint32 paused_, uint32 segmentStart_, uint96 segmentSettled_)
        internal
        pure
        returns (LeaseBill)
    {
        return LeaseBill.wrap(
            uint256(settled_) | uint256(paused_) << 96 | uint256(segmentStart_) << 128 | uint256(segmentSettled_) << 160
        );
    }

    /// @dev Whether it says no more than what is settled.
    function plain(LeaseBill bill) internal pure returns (bool) {
        return LeaseBill.unwrap(bill) >> 96 == 0;
    }

    function settled(LeaseBill bill) internal pure returns (uint96) {
        return uint96(LeaseBill.unwrap(bill));
    }

    function paused(LeaseBill bill) internal pure returns (uint32) {
        return uint32(LeaseBill.unwrap(bill) >> 96);
    }

    function segmentStart(LeaseBill bill) internal pure returns (uint32) {
        return uint32(LeaseBill.unwrap(bill) >> 128);
    }

    function segmentSettled(LeaseBill bill) internal pure returns (uint96) {
        return uint96(LeaseBill.unwrap(bill) >> 160);
    }

    function withSettled(LeaseBill bill, uint96 settled_) internal pure returns (LeaseBill) {
        return LeaseBill.wrap(LeaseBill.unwrap(bill) & ~uint256(type(uint96).max) | settled_);
    }

    function withPaused(LeaseBill bill, uint32 paused_) internal pure returns (LeaseBill) {
        return LeaseBill.wrap(LeaseBill.unwrap(bill) & ~(uint256(type(uint32).max) << 96) | uint256(paused_) << 96);
    }
}

library Rulebooks {
    function feeBps(Rulebook rules) internal pure returns (uint16) {
        return uint16(Rulebook.unwrap(rules) >> 96);
    }

    function holdFeeBps(Rulebook rules) internal pure returns (uint16) {
        return uint16(Rulebook.unwrap(rules) >> 112);
    }

    function startWindow(Rulebook rules) internal pure returns (uint24) {
        return uint24(Rulebook.unwrap(rules) >> 144);
    }

    function noticeSeconds(Rulebook rules) internal pure returns (uint24) {
        return uint24(Rulebook.unwrap(rules) >> 168);
    }

    function penaltySeconds(Rulebook rules) internal pure returns (uint24) {
        return uint24(Rulebook.unwrap(rules) >> 192);
    }

    function claimLag(Rulebook rules) internal pure returns (uint24) {
        return uint24(Rulebook.unwrap(rules) >> 216);
    }
}

library MachineHeads {
    /// @param gpus_ and `smallestShare_` are 1 to 8
    function make(address provider_, uint8 status_, uint16 revision_, uint8 gpus_, uint8 smallestShare_)
        internal
        pure
        returns (MachineHead)
    {
        return MachineHead.wrap(
            uint256(uint160(provider_)) | uint256(status_) << 224 | uint256(revision_) << 232 | uint256(gpus_) << 248
                | uint256(smallestShare_) << 252
        );
    }

    function provider(MachineHead head) internal pure returns (address) {
        return address(uint160(MachineHead.unwrap(head)));
    }

    function leased(MachineHead head) internal pure returns (uint64) {
        return uint64(MachineHead.unwrap(head) >> 160);
    }

    function status(MachineHead head) internal pure returns (uint8) {
        return uint8(MachineHead.unwrap(head) >> 224);
    }

    function revision(MachineHead head) internal pure returns (uint16) {
        return uint16(MachineHead.unwrap(head) >> 232);
    }

    function gpus(MachineHead head) internal pure returns (uint8) {
        return uint8(MachineHead.unwrap(head) >> 248 & 0x0F);
    }

    function smallestShare(MachineHead head) internal pure returns (uint8) {
        return uint8(MachineHead.unwrap(head) >> 252);
    }

    /// @dev Whether the status has one of `bits`, with nothing shifted: every claim asks.
    function hasAny(MachineHead head, uint256 bits) internal pure returns (bool) {
        return MachineHead.unwrap(head) & bits << 224 != 0;
    }

    function withStatus(MachineHead head, uint8 status_) internal pure returns (MachineHead) {
        return MachineHead.wrap(MachineHead.unwrap(head) & ~(uint256(0xFF) << 224) | uint256(status_) << 224);
    }

    function withRevision(MachineHead head, uint16 revision_) internal pure returns (MachineHead) {
        return MachineHead.wrap(MachineHead.unwrap(head) & ~(uint256(0xFFFF) << 232) | uint256(revision_) << 232);
    }

    /// @dev Takes cells that are free.
    function withLeased(MachineHead head, uint64 cells) internal pure returns (MachineHead) {
        return MachineHead.wrap(MachineHead.unwrap(head) | uint256(cells) << 160);
    }

    /// @dev Frees cells that are leased.
    function withFreed(MachineHead head, uint64 cells) internal pure returns (MachineHead) {
        return MachineHead.wrap(MachineHead.unwrap(head) & ~(uint256(cells) << 160));
    }
}

library TermsSlots {
    function make(
        uint80 price_,
        uint80 spotPrice_,
        uint24 minDuration_,
        uint24 maxDuration_,
        uint16 trial_,
        uint16 params_,
        uint16 availableUntilDay_
    ) internal pure returns (StoredTerms) {
        return StoredTerms.wrap(
            uint256(price_) | uint256(spotPrice_) << 80 | uint256(minDuration_) << 160 | uint256(maxDuration_) << 184
                | uint256(trial_) << 208 | uint256(params_) << 224 | uint256(availableUntilDay_) << 240
        );
    }

    function price(StoredTerms terms) internal pure returns (uint80) {
        return uint80(StoredTerms.unwrap(terms));
    }

    function spotPrice(StoredTerms terms) internal pure returns (uint80) {
        return uint80(StoredTerms.unwrap(terms) >> 80);
    }

    function minDuration(StoredTerms terms) internal pure returns (uint24) {
        return uint24(StoredTerms.unwrap(terms) >> 160);
    }

    function maxDuration(StoredTerms terms) internal pure returns (uint24) {
        return uint24(StoredTerms.unwrap(terms) >> 184);
    }

    function trial(StoredTerms terms) internal pure returns (uint16) {
        return uint16(StoredTerms.unwrap(terms) >> 208);
    }

    function params(StoredTerms terms) internal pure returns (uint16) {
        return uint16(StoredTerms.unwrap(terms) >> 224);
    }

    function availableUntilDay(StoredTerms terms) internal pure returns (uint16) {
        return uint16(StoredTerms.unwrap(terms) >> 240);
    }
}

/// @dev Counts and `feesPaid` are a record, not money: they stay at their greatest value, so that no exit fails on one.
library AccountSlots {
    /// @dev The masks of the counts.
    uint256 internal constant DECLINED = 0xFFFFF << 192;
    uint256 internal constant UNSTARTED = 0xFFFFF << 212;
    uint256 internal constant TERMINATED = 0xFFFFFF << 232;

    function feesPaid(Account account) internal pure returns (uint96) {
        return uint96(Account.unwrap(account));
    }

    function feesDue(Account account) internal pure returns (uint96) {
        return uint96(Account.unwrap(account) >> 96);
    }

    function count(Account account, uint256 mask) internal pure returns (uint24) {
        return uint24((Account.unwrap(account) & mask) / (mask & ~(mask << 1)));
    }

    /// @dev One more of what `mask` counts.
    function withOneMore(Account account, uint256 mask) internal pure returns (Account) {
        uint256 word = Account.unwrap(account);
        if (word & mask == mask) return account;
        unchecked {
            return Account.wrap(word + (mask & ~(mask << 1)));
        }
    }

    /// @dev A fee taken. What is due is held, and all that a pool holds fits 96 bits (`Ledger._pull`).
    function withFee(Account account, uint256 fee) internal pure returns (Account) {
        unchecked {
            uint256 paid = feesPaid(account) + fee;
            if (paid > type(uint96).max) paid = type(uint96).max;
            return Account.wrap((Account.unwrap(account) >> 96 << 96 | paid) + (fee << 96));
        }
    }

    function withNoneDue(Account account) internal pure returns (Account) {
        return Account.wrap(Account.unwrap(account) & ~(uint256(type(uint96).max) << 96));
    }
}
