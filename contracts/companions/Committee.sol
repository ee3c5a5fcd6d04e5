// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {IAccounts} from "../interfaces/IAccounts.sol";
import {ICommittee, Round, RoundState} from "../interfaces/ICommittee.sol";
import {Companion} from "./Companion.sol";
import {Quorums} from "./committee/Quorums.sol";
import {Votes} from "./committee/Votes.sol";

/// @title Validators' seats, and verification of machines by a committee drawn from them: the sum of the parts in
/// `committee/`.
/// @dev `Seats` is who judges and what a fine takes, `Draws` asks for a round and draws its committee, `Votes` counts what it
/// says, `Quorums` is the word of many seats on an outage. `CommitteeStorage` is the one layout.
///
/// A round moves only along
///
///     Requested → Drawn → Passed | Failed | Inconclusive      draw; finalize
///     Requested → Inconclusive                                draw, after the last miss
///
/// Who is drawn follows from a block's hash and from what was fixed when that block was named, before anybody could know
/// the hash: which seats there were, which had matured, which had begun to leave. Whatever happens to seats afterwards
/// changes no draw: joining takes `MATURITY` to count, leaving `LEAVE_DELAY` to empty a seat, and nothing else matters.
///
/// A seat is bought at a *level*, the `seatStake` of a version of the pool's rules, and judges only those machines whose
/// rules ask no more. What judges a machine is what its provider has accepted: nothing here but `join` asks which versions
/// have been in force. Seats are counted and drawn by level, so that however many cheap ones there are, they neither
/// out-vote a dearer one nor stand in its way.
///
/// A seat is fined, a tenth of its level and at most once in a week, for silence where there was an outcome and for an
/// outcome that the arbiter of its own version took back. To have seen otherwise than the majority costs nothing. Out of
/// the fines for such an outcome, who had seen otherwise gets the part of the fee that he went without; the rest is burnt.
///
/// Its ledger holds every seat's stake and the fees of rounds that run, and pays out no more than that. It calls nobody but
/// the pool, which calls nobody for it, and to look at signatures `Accounts`.
contract Committee is Votes, Quorums {
    constructor(IAccounts accounts_) Companion(accounts_) {}

    /// @inheritdoc ICommittee
    function roundOf(uint256 round) external view returns (Round memory) {
        Stored storage held = _rounds[round];
        uint32 commitUntil = held.commitUntil;
        return Round({
            machine: held.machine,
            revision: held.revision,
            state: held.state,
            misses: held.misses,
            requestedAt: held.requestedAt,
            block_: held.block_,
            commitUntil: commitUntil,
            revealUntil: commitUntil == 0 ? 0 : SafeCast.toUint32(commitUntil + REVEAL_WINDOW),
            fee: held.fee,
            score: held.score,
            size: held.size,
            requester: held.requester,
            spec: held.spec
        });
    }

    /// @inheritdoc ICommittee
    function roundCount() external view returns (uint256) {
        return _census.rounds;
    }

    /// @inheritdoc ICommittee
    function falseHardwareOf(uint256 round) external view returns (uint32, uint16, uint32, uint32) {
        Stored storage held = _rounds[round];
        if (held.state != RoundState.Failed || held.spec == 0) revert NoFalseHardware(round);
        return (held.machine, held.revision, held.requestedAt, SafeCast.toUint32(held.commitUntil + REVEAL_WINDOW));
    }
}
