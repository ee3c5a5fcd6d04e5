// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

import {Accounts} from "../../contracts/Accounts.sol";
import {Controller} from "../../contracts/Controller.sol";
import {ControllerExt} from "../../contracts/ControllerExt.sol";
import {ControllerFactory} from "../../contracts/ControllerFactory.sol";
import {ControllerMoves} from "../../contracts/ControllerMoves.sol";
import {Committee} from "../../contracts/companions/Committee.sol";
import {Directory} from "../../contracts/companions/Directory.sol";
import {Reputation} from "../../contracts/companions/Reputation.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {IControllerFactory} from "../../contracts/interfaces/IControllerFactory.sol";
import {Params} from "../../contracts/interfaces/IControllerTypes.sol";
import {Faults} from "../../contracts/companions/Faults.sol";
import {vm} from "./Cheats.sol";

/// @notice Everything that one pool needs, deployed by whoever uses this.
library Pools {
    function create(address token, address owner, address treasury)
        internal
        returns (IController pool, Accounts accounts)
    {
        address factory_ = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 8);
        accounts = new Accounts(IControllerFactory(factory_));
        address extension = address(new ControllerExt(accounts, address(new ControllerMoves(accounts))));
        ControllerFactory factory = new ControllerFactory(
            address(new Controller(accounts, extension)),
            address(new Committee(accounts)),
            address(new Faults(accounts)),
            address(new Reputation(accounts)),
            address(new Directory(accounts))
        );
        pool = IController(factory.createPool(token, owner, treasury, usual(token)));
    }

    /// @notice Rules such as a pool might have.
    function usual(address token) internal view returns (Params memory) {
        (bool ok, bytes memory decimals) = token.staticcall(abi.encodeWithSignature("decimals()"));
        require(ok, "a token without decimals");
        return Params({
            minStakePerGpu: uint96(100 * 10 ** abi.decode(decimals, (uint8))),
            feeBps: 500,
            holdFeeBps: 1000,
            maxSlashBps: 5000,
            startWindow: 10 minutes,
            noticeSeconds: 1 hours,
            penaltySeconds: 2 hours,
            claimLag: 20 minutes,
            challengeWindow: 10 minutes,
            filingWindow: 3 days,
            appealWindow: 2 days,
            rulingWindow: 2 days,
            unstakeDelay: 8 days,
            bond: uint96(5 * 10 ** abi.decode(decimals, (uint8))),
            reverifyInterval: 1 days,
            seatStake: uint96(500 * 10 ** abi.decode(decimals, (uint8))),
            verificationFee: uint96(5 * 10 ** abi.decode(decimals, (uint8))),
            committeeSize: 5
        });
    }
}
