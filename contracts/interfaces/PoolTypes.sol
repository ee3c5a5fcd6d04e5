// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Money is in units of the pool's token, time in seconds, capacity in cells (one eighth of a GPU).

/// @notice What a provider asks for a machine. One storage slot together with the parameter version it accepts.
/// @param price token units per GPU-hour
/// @param spotPrice token units per GPU-hour of a lease that may be ended with notice; 0 sells none
/// @param minDuration shortest lease, seconds
/// @param maxDuration longest time from now to a lease's end, seconds
/// @param trial how long after `start` a tenant may reject, seconds, at most 900; it does not outlast its lease
/// @param availableUntilDay last day, counted from 1970-01-01 UTC, by whose end a lease has ended that starts when it is
/// opened; one that the operator starts later ends so much later
struct Terms {
    uint80 price;
    uint80 spotPrice;
    uint24 minDuration;
    uint24 maxDuration;
    uint16 trial;
    uint16 availableUntilDay;
}

/// @notice That an operator serves a provider: `Operate(chain, controller, provider, operator, deadline)` in the pool's
/// domain. Good for whatever machines the provider gives that key until then, and for nobody else's.
/// @param deadline last timestamp at which it works
/// @param proof of the operator, as `Accounts.isAuthorized` takes it
struct Consent {
    uint64 deadline;
    bytes proof;
}

/// @notice What a tenant asks for.
/// @param machine the machine's id, from 1
/// @param revision of the machine's terms and hardware that the tenant saw
/// @param share cells: 1, 2, 4, or 8 × n for n whole GPUs; no less than the machine's smallest
/// @param placement `gpuMask << 8 | cellMask` to name the place, or 0 to let the contract choose
/// @param duration seconds, counted from `start`
/// @param maxPrice the most the tenant accepts, token units per GPU-hour
/// @param spot rent at the spot price; the provider may end it with notice, for nothing
/// @param allowUnverified accept a machine that no committee has measured
/// @param workload SHA-256 of the sealed workload
/// @param settle leases on this machine whose end has passed, to close first
/// @param reuse an ended lease of the tenant's own whose slot is taken over, or 0
/// @param backup `keccak256(abi.encode(machine, revision, placement, workload))` of the standby (`failover`), or 0
struct LeaseRequest {
    uint32 machine;
    uint16 revision;
    uint8 share;
    uint16 placement;
    uint32 duration;
    uint80 maxPrice;
    bool spot;
    bool allowUnverified;
    bytes32 workload;
    uint256[] settle;
    uint256 reuse;
    bytes32 backup;
}

/// @notice A pool's rules. A version never changes once in force, and reaches no lease opened before it. The hard bounds
/// that are not said here stand in `Rules`. An outage is judged by the version that the machine's provider had accepted when
/// it began, a measurement by the version of the revision that was measured: seats, windows, scale, arbiter and sink.
struct Params {
    // slot 0
    uint96 minStakePerGpu; // token units
    uint16 feeBps; // of what a provider earns, at most 1000
    uint16 holdFeeBps; // of the cost of the time a lease was held before `reject`, at most 10000
    uint16 maxSlashBps; // of a machine's stake, in seven days, at most 10000
    uint24 startWindow; // seconds an operator has to start a lease
    uint24 noticeSeconds; // from `terminate` to the lease's new end
    uint24 penaltySeconds; // most time cut off that a provider's `terminate` pays for
    uint24 claimLag; // what `claim` leaves unclaimed behind now, >= challengeWindow and >= 15 minutes, <= 7 days
    // slot 1
    uint24 challengeWindow; // >= 10 minutes
    uint24 filingWindow; // < 5 days
    uint24 appealWindow; // >= 1 day
    uint24 rulingWindow; // >= 1 day, <= 14 days with the appeal window
    uint32 unstakeDelay; // >= filing + challenge + appeal + ruling, <= 90 days
    uint96 bond; // of a challenge and of an appeal, token units, at most minStakePerGpu
    uint32 reverifyInterval; // seconds between two verifications of a machine
    // slot 2
    uint96 seatStake; // what a seat that judges must have, token units, at least minStakePerGpu
    uint96 verificationFee; // token units, at most a tenth of seatStake
    uint8 committeeSize; // seats drawn for a verification, odd, 3 to 15
    // slot 3
    address arbiter; // rules on appeals; zero: nobody does, and there are none
    // slot 4
    address sink; // gets what nobody has coming of a slash, and lost bonds; zero: burnt
}

/// @notice What of a version judges outages: of its rules, those that `Faults` goes by.
struct Judging {
    uint16 maxSlashBps;
    uint24 challengeWindow;
    uint24 filingWindow;
    uint24 appealWindow;
    uint24 rulingWindow;
    uint96 bond;
    address arbiter;
    address sink;
}

/// @notice Terms that a provider signed for one tenant, or for anyone. Works once.
/// Warning: whoever takes one that is for anyone may close at once, for gas; it is used then. Who must not lose it names
/// its tenant.
/// @param account the provider, who signs it
/// @param price token units per GPU-hour
/// @param cells the largest share
/// @param duration the longest lease, seconds
/// @param spot the lease may be ended with notice, for nothing
/// @param tenant who may use it, or zero for anyone
/// @param nonce `word << 8 | bit` in the provider's bitmap, in no order
/// @param expiresAt last timestamp at which it works
struct Offer {
    address account;
    uint32 machine;
    uint16 revision;
    uint80 price;
    uint8 cells;
    uint32 duration;
    bool spot;
    address tenant;
    uint256 nonce;
    uint64 expiresAt;
}

enum MachineStatus {
    None,
    Unverified,
    Verified,
    Retired
}

enum LeaseState {
    None,
    Opened,
    Active,
    Ended,
    Cancelled,
    Rejected
}

/// @notice A machine as readers see it. `busy` is leased and withheld cells together, bit `8 × gpu + cell`.
struct MachineView {
    address provider;
    address operator;
    MachineStatus status;
    bool delisted;
    bool underStaked;
    bool stalled;
    uint8 gpus;
    uint8 smallestShare; // cells
    uint16 revision;
    uint16 params;
    uint96 stake;
    uint64 busy;
    uint64 leased;
    uint64 withheld;
    uint32 retiredAt;
    Terms terms;
    uint32 downSince; // since when an outage runs, or 0
    uint32 heldFrom; // until `heldUntil` has passed, `[heldFrom, heldTo)` is held for leases that lived through some of it
    uint32 heldTo;
    uint32 heldUntil;
    uint32 lastVerified;
    uint8 pendingSlashes; // faults that are not settled yet: no `unstake`
}

/// @notice What can be lost of a machine, whose it is, and by whose rules.
/// @param params the version that its provider accepts now
struct Stake {
    address provider;
    address operator;
    uint96 amount;
    uint8 gpus;
    uint16 params;
    uint32 retiredAt;
}

/// @notice A lease as readers see it. While Opened, `start` is when it was opened and `end - start` its duration.
struct LeaseView {
    address tenant;
    uint32 machine;
    uint16 placement;
    LeaseState state;
    bool spot;
    bool noticed;
    uint32 start;
    uint32 end;
    uint96 deposit;
    uint80 price;
    uint16 revision;
    uint16 params;
    uint96 settled;
    bytes32 backup;
    uint32 paused; // seconds of outages since `segmentStart` that are not billed
    uint32 segmentStart; // when the share was last changed, else `start`
    uint96 segmentSettled; // what had accrued by then
}

/// @notice Of a lease, whose it is and what of the machine it has had since when: what an outage may have cost.
/// @param since when its share was last changed, else its start
/// @param params the version that it was opened by
struct Tenancy {
    address tenant;
    uint32 machine;
    uint16 placement;
    LeaseState state;
    uint32 since;
    uint32 end;
    uint16 params;
}

/// @notice What a provider's leases have left on its account.
struct AccountView {
    uint96 feesPaid;
    uint96 feesDue;
    uint24 terminated;
    uint24 unstarted;
    uint24 declined;
}
