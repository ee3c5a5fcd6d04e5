// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {LeaseRequest} from "../../../contracts/interfaces/PoolTypes.sol";
import {vm} from "./Check.sol";
import {Fixture} from "./Fixture.sol";

/// @notice The pool of `Fixture` with a machine of two GPUs, and what a companion would do to it.
abstract contract LeasesFixture is Fixture {
    uint32 internal machine;
    uint96 internal constant HOUR = uint96(3600 * CELL_SECOND); // of one cell

    function setUp() public virtual override {
        super.setUp();
        machine = _register(2);
    }

    function _refusedOpen(LeaseRequest memory request, bytes memory error_) internal {
        _refused(tenant, abi.encodeCall(pool.open, (request)), error_);
    }

    /// @dev 5 % of what the provider earns.
    function _fee(uint256 earned) internal pure returns (uint96) {
        return uint96(earned / 20);
    }

    function _net(uint256 earned) internal pure returns (uint96) {
        return uint96(earned - earned / 20);
    }

    // ------------------------------------------------------------------------------------------------------- companions

    /// @dev An outage of the machine runs since `from`.
    function _down(uint256 from) internal {
        _asFaults().setDown(machine, uint32(from));
    }

    function _up() internal {
        _asFaults().setDown(machine, 0);
    }

    /// @dev As while a challenge stands: what is held has no end but the hold's.
    function _hold(uint256 from, uint256 until) internal {
        _hold(from, until, until);
    }

    /// @dev What of a lease lies in `[from, to)` is held until `until`.
    function _hold(uint256 from, uint256 to, uint256 until) internal {
        _asFaults().hold(machine, uint32(from), uint32(to), uint32(until));
    }

    function _pause(uint256 lease, uint256 from, uint256 to) internal {
        _asFaults().pause(lease, uint32(from), uint32(to));
    }

    // ------------------------------------------------------------------------------------------------------------ leases

    function _resize(uint256 lease, uint8 share) internal {
        vm.prank(tenant);
        pool.resize(lease, share, 0);
    }

    /// @dev What the pool holds is what it owes: ledgers and fees of those who take part, stakes, and `escrow`.
    function _assertSolvent(uint256 escrow) internal view {
        uint256 owed = pool.balanceOf(tenant) + pool.balanceOf(PROVIDER) + pool.balanceOf(TREASURY)
            + pool.balanceOf(THIEF) + pool.accountOf(PROVIDER).feesDue;
        for (uint32 id = 1; id <= pool.machineCount(); ++id) {
            owed += pool.machineOf(id).stake;
        }
        vm.assertEq(token.balanceOf(address(pool)), owed + escrow, "solvent");
    }
}
