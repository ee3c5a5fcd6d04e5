// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Params} from "../../../contracts/interfaces/PoolTypes.sol";
import {skip} from "../Cheats.sol";
import {Steps} from "./Steps.sol";

/// @notice The pool's owner, who would like to.
abstract contract OwnerSteps is Steps {
    function pullFees(uint256 seed) external {
        seed = _mix(seed);
        address[] memory providers = new address[](2);
        (providers[0], providers[1]) = (_person(seed), _person(seed >> 8));
        _do(_person(seed >> 16), abi.encodeCall(pool.pullFees, (providers)), seed >> 24);
    }

    function govern(uint256 seed) external {
        seed = _mix(seed);
        uint256 kind = seed % 12;
        if (kind < 2) _do(owner, abi.encodeCall(pool.proposeParams, (_params(seed >> 8))), seed);
        else if (kind < 3) _do(owner, abi.encodeCall(pool.cancelParams, ()), seed);
        else if (kind < 4) _do(owner, abi.encodeCall(pool.setPaused, (true)), seed);
        else _do(owner, abi.encodeCall(pool.setPaused, (false)), seed);
    }

    /// @dev New parameters, at once in force, while leases run on under the old ones.
    function reform(uint256 seed) external {
        seed = _mix(seed);
        _running(seed);
        if (!_do(owner, abi.encodeCall(pool.proposeParams, (_params(seed))), 1)) return;
        skip(2 days);
    }

    /// @dev An owner who wants more than the rules allow, one field at a time.
    function overreach(uint256 seed) external {
        seed = _mix(seed);
        _do(owner, abi.encodeCall(pool.cancelParams, ()), 1); // one proposal waits at a time
        for (uint256 field = 0; field < 9; field++) {
            Params memory p = _params(seed);
            if (field == 0) p.feeBps = uint16(1001 + seed % 9000);
            if (field == 1) p.holdFeeBps = uint16(10_001 + seed % 9000);
            if (field == 2) p.maxSlashBps = uint16(10_001 + seed % 9000);
            if (field == 3) p.startWindow = uint24(1 days + 1 + seed % 30 days);
            if (field == 4) p.claimLag = uint24(seed % 15 minutes);
            if (field == 6) p.bond = p.minStakePerGpu + 1;
            if (field == 7) p.committeeSize = 4;
            if (field == 8) p.appealWindow = uint24(seed % 1 days);
            if (field == 5) p.unstakeDelay = uint32(seed % 7 days);
            (bool ok,) = _as(owner, address(pool), abi.encodeCall(pool.proposeParams, (p)), 1);
            _expect(!ok, 19, "parameters out of bounds were taken");
        }
        _count(msg.sig);
    }
}
