// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../interfaces/IAccounts.sol";
import {Fault, IFaults} from "../interfaces/IFaults.sol";
import {Slashing} from "../libraries/Slashing.sol";
import {Companion} from "./Companion.sol";
import {Attesting} from "./faults/Attesting.sol";
import {Paying} from "./faults/Paying.sol";
import {Reporting} from "./faults/Reporting.sol";
import {Ruling} from "./faults/Ruling.sol";

/// @title Outages, what they cost, and appeals: the sum of the parts in `faults/`.
/// @dev `Reporting`, `Challenging` and `Attesting` are the ways in which an outage becomes known, `Filing` begins, ends and
/// prices it, `Ruling` is the appeal, and `Paying` is what tenants, reporters and the sink have of it. `FaultsStorage` is
/// the one layout.
///
/// A fault's state moves only along
///
///     Running → Filed → Executed             recover, roll; execute
///               Filed → Appealed → Upheld → Executed     appeal; rule
///                       Appealed → Executed              silence; execute
///                       Appealed → Dropped               rule
///     Running → Executed                     it cost nothing, and nobody has to answer for it
///
/// Each arrow but `appeal` and `rule` is anyone's to send once its time has come, so a fault keeps a stake from leaving for
/// no longer than an outage lasts, an appeal window and a ruling window. Once a machine has retired nothing new begins on
/// it but what was before, and that no later than `filingWindow` after. So nobody keeps a stake for ever.
///
/// A fault is judged by one version of the pool's rules in all (`Fault.rules`): the one that the provider had accepted when
/// the outage began. What he accepts later neither helps nor harms him, and what is in force matters to nobody.
///
/// A machine's outages are disjoint and stand in a list in the order of time (`Fault.previous`): each begins no sooner than
/// the one before it ends. What is attested late fills one gap of it, which its sender names by the outage after it; nothing
/// walks the list. False hardware is no outage and stands in no order.
///
/// Nobody who judges gains: half of a slash at most goes to tenants, each by what he lost, a tenth to who proved the outage,
/// the rest, and every bond that is lost, where the accepted rules say, or to nobody for ever.
///
/// What is filed is put aside out of the stake at once (`reserved`), so that however many faults wait, each finds what it
/// was filed for. Those of one window take together what one fault would have taken, into however many parts it is cut.
///
/// This contract's ledger balance is at least Σ bonds of challenges + Σ `bond` + Σ `pot` of executed faults: money comes in by `_charge`, of
/// whoever calls, and by `moveStake`, and each unit of it is written down. No function needs a guard against reentrancy:
/// only the pool, the committee and `Accounts` are called, money moves inside the pool's ledger, where nobody's code runs,
/// and a wallet that `Accounts` asks for a signature is asked by a static call.
contract Faults is Reporting, Attesting, Ruling, Paying {
    constructor(IAccounts accounts_) Companion(accounts_) {}

    /// @inheritdoc IFaults
    function faultOf(uint256 id) external view returns (Fault memory) {
        return _faults[id];
    }

    /// @inheritdoc IFaults
    function faultCount() external view returns (uint256) {
        return _faultCount;
    }

    /// @inheritdoc IFaults
    function windowOf(uint32 machine) external view returns (uint256 downtime, uint256 chargedBps) {
        return Slashing.total(_window(_watches[machine], _today(_seen(machine).retiredAt)));
    }
}
