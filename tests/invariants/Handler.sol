// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {ICommittee} from "../../contracts/interfaces/ICommittee.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {IFaults} from "../../contracts/interfaces/IFaults.sol";
import {IReputation} from "../../contracts/interfaces/IReputation.sol";
import {SizedToken} from "../../contracts/test/OddTokens.sol";
import {skip} from "./Cheats.sol";
import {AccountSteps} from "./steps/AccountSteps.sol";
import {CommitteeSteps} from "./steps/CommitteeSteps.sol";
import {LeaseSteps} from "./steps/LeaseSteps.sol";
import {LedgerSteps} from "./steps/LedgerSteps.sol";
import {MachineSteps} from "./steps/MachineSteps.sol";
import {MoveSteps} from "./steps/MoveSteps.sol";
import {OwnerSteps} from "./steps/OwnerSteps.sol";
import {QuorumSteps} from "./steps/QuorumSteps.sol";
import {RogueSteps} from "./steps/RogueSteps.sol";
import {ThiefSteps} from "./steps/ThiefSteps.sol";

/// @notice What the people of the pool do, at random: every external function of the parts is a step.
contract Handler is
    LedgerSteps,
    MachineSteps,
    LeaseSteps,
    MoveSteps,
    RogueSteps,
    QuorumSteps,
    CommitteeSteps,
    AccountSteps,
    OwnerSteps,
    ThiefSteps
{
    constructor(
        IController pool_,
        IController other_,
        IAccounts accounts_,
        SizedToken token_,
        address owner_,
        address treasury_
    ) {
        (pool, other, accounts, token, owner, treasury) = (pool_, other_, accounts_, token_, owner_, treasury_);
        (address committee_, address faults_, address reputation_,) = pool_.companions();
        (committee, faults, reputation) = (ICommittee(committee_), IFaults(faults_), IReputation(reputation_));
        unit = 10 ** token_.decimals();
        versions = 1;
        paramsHash[1] = keccak256(abi.encode(pool_.params(1)));
        _populate();
        _settleIn();
    }

    /// @dev Something to begin with, so that few steps are lost on an empty pool: three machines, and seats that have
    /// matured.
    function _settleIn() private {
        for (uint256 i = 0; i < VALIDATORS; i++) {
            _join(validators[i], 1);
        }
        for (uint256 i = 0; i < PEOPLE; i++) {
            _fill(people[i], 50_000 * unit);
        }
        for (uint256 i = 0; i < 3; i++) {
            bytes memory call = abi.encodeCall(
                pool.register,
                (
                    _terms(77_777_777 * (i + 1)),
                    uint8(1 + 3 * i),
                    1,
                    bytes32(i),
                    bytes32(i),
                    people[(i + 1) % PEOPLE],
                    _consent(people[i], people[(i + 1) % PEOPLE], i)
                )
            );
            _do(people[i], call, 1);
        }
        skip(4 days);
    }
}
