// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IPoolEvents} from "../../../contracts/interfaces/IPoolEvents.sol";
import {LeaseState} from "../../../contracts/interfaces/PoolTypes.sol";
import {Cheats, vm} from "../Cheats.sol";
import {Book} from "./Book.sol";

/// @notice Leases, from `open` to their last unit.
abstract contract LeaseEvents is Book {
    function _absorbLease(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        uint256 id = log.topics.length > 1 ? uint256(log.topics[1]) : 0;
        Lease storage l = _leases[id];
        if (kind == IPoolEvents.LeaseOpened.selector) {
            _opened(log, id);
        } else if (kind == IPoolEvents.LeaseStarted.selector) {
            (l.start, l.end,) = abi.decode(log.data, (uint32, uint32, bytes32));
            uint256 now_ = vm.getBlockTimestamp();
            _expect(l.state == LeaseState.Opened, 16, "a lease started twice, or without being opened");
            _expect(l.start == now_ && l.end == now_ + l.duration, 3, "billing starts at another time than start");
            l.state = LeaseState.Active;
        } else if (kind == IPoolEvents.LeaseExtended.selector) {
            _extended(log, id, l);
        } else if (kind == IPoolEvents.LeaseResized.selector) {
            _resized(log, id, l);
        } else if (kind == IPoolEvents.LeaseTerminated.selector) {
            _terminated(log, l);
        } else if (kind == IPoolEvents.LeasePaused.selector) {
            l.pausedTold = abi.decode(log.data, (uint32));
        } else if (kind == IPoolEvents.LeaseTransferred.selector) {
            _expect(_account(log, 2) == l.tenant && _acting == l.tenant, 7, "a lease was given away by another");
            l.tenant = _account(log, 3);
        } else if (kind == IPoolEvents.LeaseClaimed.selector) {
            (uint96 settled, uint96 paid, uint96 fee) = abi.decode(log.data, (uint96, uint96, uint96));
            _expect(settled <= gross(id, vm.getBlockTimestamp()), 3, "a claim pays for time to come");
            _expect(settled <= owed(id, claimableUntil(id)), 13, "a claim bills paused or disputed time");
            _settle(id, settled, paid, fee);
        }
    }

    function _opened(Cheats.Log memory log, uint256 id) private {
        Lease storage l = _leases[id];
        _expect(l.state == LeaseState.None, 16, "a lease's id was given out twice");
        leaseIds.push(id);
        uint256[10] memory words = abi.decode(log.data, (uint256[10])); // all are static
        (l.placement, l.revision, l.params) = (uint16(words[0]), uint16(words[1]), uint16(words[2]));
        (l.price, l.duration, l.deposit) = (uint80(words[3]), uint32(words[4]), uint96(words[5]));
        l.tenant = _account(log, 3);
        l.machine = uint32(uint256(log.topics[2]));
        l.state = LeaseState.Opened;
        l.spot = words[8] & 1 != 0;
        l.openedAt = uint32(vm.getBlockTimestamp());
        _expect(l.params == pool.paramsVersion(), 19, "opened under parameters that are not in force");
        _expect(l.deposit == costUp(l.price, cellsOf(l.placement), l.duration), 2, "open charges another cost");
        _expect(
            cellsOf(l.placement) >= _machines[l.machine].smallest,
            5,
            "a share is leased that the machine does not serve"
        );
        _take(l, 0);
        totalEscrow += l.deposit;
        _debit(l.tenant, l.deposit - words[6]);
    }

    /// @param kept cells that it had already, which may have been withheld since
    function _take(Lease storage l, uint64 kept) private {
        Machine storage m = _machines[l.machine];
        _expect(maskOf(l.placement) & ~kept & m.withheld == 0, 5, "withheld cells were let");
        m.cellsTaken += uint32(cellsOf(l.placement));
    }

    function _free(Lease storage l) private {
        _machines[l.machine].cellsFreed += uint32(cellsOf(l.placement));
    }

    function _extended(Cheats.Log memory log, uint256 id, Lease storage l) private {
        (uint32 end, uint96 deposit, uint256 pulled) = abi.decode(log.data, (uint32, uint96, uint256));
        uint256 cost = costUp(l.price, cellsOf(l.placement), end - began(id));
        _expect(deposit == l.segmentSettled + cost, 2, "extend charges another cost");
        unchecked {
            totalEscrow = totalEscrow + deposit - l.deposit;
            _debit(_account(log, 3), deposit - l.deposit - pulled);
        }
        l.deposit = deposit;
        l.end = end;
    }

    function _resized(Cheats.Log memory log, uint256 id, Lease storage l) private {
        (uint16 placement, uint96 settled, uint96 paid, uint96 fee) =
            abi.decode(log.data, (uint16, uint96, uint96, uint96));
        _expect(settled <= gross(id, vm.getBlockTimestamp()), 3, "resize pays for more than the time that ran");
        _expect(settled == owed(id, vm.getBlockTimestamp()), 13, "resize bills paused time");
        _settle(id, settled, paid, fee);
        uint64 kept = maskOf(l.placement);
        _free(l);
        l.placement = placement;
        l.segmentStart = uint32(vm.getBlockTimestamp());
        l.segmentSettled = settled;
        (l.paused, l.pausedTold) = (0, 0);
        _take(l, kept);
        _levelled(log, l);
    }

    function _levelled(Cheats.Log memory log, Lease storage l) private {
        (,,,, uint96 deposit, uint256 pulled, uint96 refunded) =
            abi.decode(log.data, (uint16, uint96, uint96, uint96, uint96, uint256, uint96));
        uint256 cost = costUp(l.price, cellsOf(l.placement), l.end - l.segmentStart);
        uint256 more = deposit > l.deposit ? deposit - l.deposit : 0;
        uint256 less = deposit < l.deposit ? l.deposit - deposit : 0;
        _expect(deposit == l.segmentSettled + cost, 2, "resize holds another cost");
        _expect(refunded == less && pulled <= more, 2, "resize charges or refunds another sum");
        unchecked {
            totalEscrow = totalEscrow + deposit - l.deposit;
            _debit(l.tenant, more - pulled);
        }
        _credit(l.tenant, refunded);
        l.deposit = deposit;
    }

    function _terminated(Cheats.Log memory log, Lease storage l) private {
        (uint32 end, uint96 penalty) = abi.decode(log.data, (uint32, uint96));
        uint256 noticed = vm.getBlockTimestamp() + pool.params(l.params).noticeSeconds;
        _expect(end <= l.end, 15, "notice moved the end up");
        _expect(end >= _min(l.end, noticed), 15, "a lease ends before its notice is over");
        _expect(!l.noticed, 15, "notice was given twice");
        _expect(!l.spot || penalty == 0, 15, "notice of a spot lease costs a penalty");
        (l.end, l.noticed) = (end, true);
        _debit(_machines[l.machine].provider, penalty);
        _credit(l.tenant, penalty);
    }

    // ------------------------------------------------------------------------------------------------------ endings

    function _absorbEnding(Cheats.Log memory log) internal {
        bytes32 kind = log.topics[0];
        uint256 id = log.topics.length > 1 ? uint256(log.topics[1]) : 0;
        if (kind == IPoolEvents.LeaseClosed.selector) {
            _closed(log, id);
        } else if (kind == IPoolEvents.LeaseRejected.selector) {
            (uint96 paid, uint96 fee, uint96 refunded) = abi.decode(log.data, (uint96, uint96, uint96));
            _rejected(id, paid, fee);
            _ended(id, LeaseState.Rejected, refunded);
        } else if (kind == IPoolEvents.LeaseCancelled.selector) {
            _ended(id, LeaseState.Cancelled, abi.decode(log.data, (uint96)));
        } else if (kind == IPoolEvents.LeaseDeclined.selector) {
            (, uint96 refunded) = abi.decode(log.data, (bytes32, uint96));
            _ended(id, LeaseState.Cancelled, refunded);
        }
    }

    function _closed(Cheats.Log memory log, uint256 id) private {
        (uint32 end, uint96 paid, uint96 fee, uint96 refunded) = abi.decode(log.data, (uint32, uint96, uint96, uint96));
        Lease storage l = _leases[id];
        uint256 now_ = vm.getBlockTimestamp();
        _expect(l.state == LeaseState.Active, 16, "a lease was closed that is not active");
        _expect(end == _min(now_, l.end), 3, "close bills past now or past the end");
        bool forgoes = _acting != l.tenant && !_failingOver && !openToAll(id);
        if (_acting != l.tenant && !_failingOver) {
            _expect(end >= l.end, 15, "another than its tenant ended a lease before its end");
            bool may = openToAll(id) || _acting == _machines[l.machine].provider;
            _expect(may, 13, "another than its tenant or its provider ended a lease whose bill is still disputed");
        } else if (_acting != l.tenant) {
            _expect(
                heldSeconds(id, l.end) == 0,
                13,
                "another than its tenant failed a lease over whose bill is still disputed"
            );
        }
        _expect(paid + fee <= gross(id, end), 3, "close bills more than the time that ran");
        uint256 due = forgoes ? forgone(id, end) : owed(id, end);
        _expect(paid + fee == due, 13, "close bills another time than what ran without outages");
        l.end = end;
        _settle(id, paid + fee, paid, fee);
        _ended(id, LeaseState.Ended, refunded);
    }

    /// @dev Totals of a lease so far: they only grow, they share out what is settled, the fee is its version's.
    function _settle(uint256 id, uint96 settled, uint96 paid, uint96 fee) private {
        Lease storage l = _leases[id];
        address provider = _machines[l.machine].provider;
        _expect(settled >= l.settled && paid >= l.paid && fee >= l.fee, 4, "what is settled decreased");
        _expect(settled <= l.deposit, 4, "more is settled than was deposited");
        _expect(paid + fee == settled, 2, "paid and fee are not what is settled");
        _expect(
            fee == uint256(settled) * pool.params(l.params).feeBps / 10_000, 14, "the fee is not the version's share"
        );
        unchecked {
            _credit(provider, paid - l.paid);
            feesDue[provider] += fee - l.fee;
            totalFeesDue += fee - l.fee;
            totalEscrow -= settled - l.settled;
        }
        (l.settled, l.paid, l.fee) = (settled, paid, fee);
    }

    function _rejected(uint256 id, uint96 paid, uint96 fee) private {
        Lease storage l = _leases[id];
        uint256 until = _min(vm.getBlockTimestamp(), began(id) + (l.start == 0 ? l.duration : l.end - l.start));
        uint256 due = owed(id, until) * pool.params(l.params).holdFeeBps / 10_000;
        _expect(paid + fee <= due, 3, "the hold fee is above its share of the time held");
        _expect(paid + fee >= due, 21, "who holds cells and gives them up pays less than the hold fee");
        _settle(id, paid + fee, paid, fee);
    }

    function _ended(uint256 id, LeaseState state, uint96 refunded) private {
        Lease storage l = _leases[id];
        l.endings++;
        l.state = state;
        l.refunded = refunded;
        _free(l);
        _expect(l.endings == 1, 16, "a lease ended twice");
        _expect(uint256(l.paid) + l.fee + refunded == l.deposit, 2, "paid, fee and refund are not the deposit");
        unchecked {
            totalEscrow -= refunded;
        }
        _credit(l.tenant, refunded);
    }
}
