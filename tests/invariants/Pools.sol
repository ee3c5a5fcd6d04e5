// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Accounts} from "../../contracts/Accounts.sol";
import {Controller} from "../../contracts/Controller.sol";
import {ControllerExt} from "../../contracts/ControllerExt.sol";
import {ControllerFactory} from "../../contracts/ControllerFactory.sol";
import {ControllerMoves} from "../../contracts/ControllerMoves.sol";
import {Committee} from "../../contracts/companions/Committee.sol";
import {Directory} from "../../contracts/companions/Directory.sol";
import {Faults} from "../../contracts/companions/Faults.sol";
import {Reputation} from "../../contracts/companions/Reputation.sol";
import {IAccounts} from "../../contracts/interfaces/IAccounts.sol";
import {IController} from "../../contracts/interfaces/IController.sol";
import {IControllerFactory} from "../../contracts/interfaces/IControllerFactory.sol";
import {Params} from "../../contracts/interfaces/PoolTypes.sol";
import {vm} from "./Cheats.sol";

/// @notice Everything that a pool needs, deployed by whoever uses this, and two pools: what was signed for one must not
/// work in the other.
library Pools {
    function create(address token, address owner, address treasury)
        internal
        returns (IController pool, IController other, IAccounts accounts)
    {
        address factory_ = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 8);
        Accounts made = new Accounts(IControllerFactory(factory_));
        address extension = address(new ControllerExt(made, address(new ControllerMoves(made))));
        ControllerFactory factory = new ControllerFactory(
            address(new Controller(made, extension)),
            address(new Committee(made)),
            address(new Faults(made)),
            address(new Reputation(made)),
            address(new Directory(made))
        );
        pool = IController(factory.createPool(token, owner, treasury, usual(token)));
        other = IController(factory.createPool(token, owner, treasury, usual(token)));
        accounts = made;
    }

    /// @notice Rules such as a pool might have.
    function usual(address token) internal view returns (Params memory) {
        (bool ok, bytes memory decimals) = token.staticcall(abi.encodeWithSignature("decimals()"));
        require(ok, "a token without decimals");
        uint96 unit = uint96(10 ** abi.decode(decimals, (uint8)));
        return Params({
            minStakePerGpu: 100 * unit,
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
            bond: 5 * unit,
            reverifyInterval: 1 days,
            seatStake: 500 * unit,
            verificationFee: 5 * unit,
            committeeSize: 5,
            arbiter: address(0xA4B),
            sink: address(0)
        });
    }
}
