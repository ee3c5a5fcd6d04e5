// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../interfaces/IAccounts.sol";
import {IController} from "../interfaces/IController.sol";
import {IFaults} from "../interfaces/IFaults.sol";
import {IReputation} from "../interfaces/IReputation.sol";
import {AccountView, LeaseState, LeaseView} from "../interfaces/PoolTypes.sol";
import {Billing} from "../libraries/Billing.sol";
import {Score} from "../libraries/Score.sol";
import {Companion} from "./Companion.sol";

/// @title What is thought of a provider.
/// @dev It holds no money and decides on none but the least stake of machines. No exit asks it anything.
contract Reputation is Companion, IReputation {
    /// @inheritdoc IReputation
    mapping(uint256 lease => bool) public isRated;

    constructor(IAccounts accounts_) Companion(accounts_) {}

    /// @inheritdoc IReputation
    /// @dev What a lease was billed says whether it was paid; in a pool without a fee the ratings weigh nothing.
    function rate(uint256 lease, uint8 stars, bytes32 comment) external {
        IController pool = _controller();
        LeaseView memory seen = pool.leaseOf(lease);
        // Nothing is known of a lease whose slot is used again.
        if (seen.state != LeaseState.Ended || seen.settled == 0) revert NotRateable(lease);
        _only(seen.tenant);
        if (stars == 0 || stars > 5) revert InvalidStars(stars);
        if (isRated[lease]) revert RatedAlready(lease);

        isRated[lease] = true;
        uint96 fee = uint96(Billing.portion(seen.settled, pool.params(seen.params).feeBps)); // of 96 bits
        emit Rated(pool.machineOf(seen.machine).provider, lease, seen.tenant, stars, comment, fee);
    }

    /// @inheritdoc IReputation
    function scoreOf(address provider) public view returns (uint256) {
        IController pool = _controller();
        AccountView memory account = pool.accountOf(provider);
        if (account.feesPaid == 0) return 0;
        (, address faults,,) = pool.companions();
        return Score.compute(
            account.feesPaid,
            IFaults(faults).slashedOf(provider),
            uint256(account.terminated) + account.unstarted,
            pool.params(pool.paramsVersion()).minStakePerGpu
        );
    }

    /// @inheritdoc IReputation
    function discountBpsOf(address provider) external view returns (uint256) {
        return Score.discountBps(scoreOf(provider));
    }
}
