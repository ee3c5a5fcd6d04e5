// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Cells} from "../../contracts/libraries/Cells.sol";

/// @notice Proven of every placement, every state of a machine and every share, by symbolic execution (`make halmos`).
/// @dev What the bits mean is said here once more and plainly, by a loop over GPUs and cells.
contract CellsProofs {
    /// @dev The cells of a placement as bits `8 × gpu + cell`.
    function _mask(uint16 placement) private pure returns (uint64 mask) {
        unchecked {
            for (uint256 gpu = 0; gpu < 8; gpu++) {
                uint64 lane = uint64(0) - (uint64(placement) >> (8 + gpu) & 1); // all ones where the GPU is named
                mask |= (uint64(placement & 0xFF) & lane) << (8 * gpu);
            }
        }
    }

    function _ones(uint256 word, uint256 bits) private pure returns (uint256 n) {
        unchecked {
            for (uint256 i = 0; i < bits; i++) {
                n += word >> i & 1;
            }
        }
    }

    function _machine(uint8 gpus) private pure returns (bool) {
        return gpus >= 1 && gpus <= 8;
    }

    /// @notice A placement covers the cells that its two masks say, no other.
    function check_cells_are_those_named(uint16 placement) external pure {
        assert(Cells.cells(placement) == _mask(placement));
    }

    /// @notice The count is the number of cells covered. Split by the GPUs named: all 256 sets of them.
    function check_count_is_the_number_of_cells(uint16 placement) external pure {
        for (uint256 gpuMask = 0; gpuMask < 256; gpuMask++) {
            if (placement >> 8 != gpuMask) continue;
            uint16 known = uint16(gpuMask << 8 | placement & 0xFF);
            assert(known == placement && Cells.count(known) == _ones(Cells.cells(known), 64));
            return;
        }
        assert(false);
    }

    /// @notice What the contract chooses is free, on the machine, and as large as asked for: so it never overlaps a lease.
    /// Split by the share and by the place chosen: 351 in all.
    function check_place_1_never_overlaps(uint64 busy, uint8 gpus) external pure {
        _neverOverlaps(busy, 1, gpus);
    }

    function check_place_2_never_overlaps(uint64 busy, uint8 gpus) external pure {
        _neverOverlaps(busy, 2, gpus);
    }

    function check_place_4_never_overlaps(uint64 busy, uint8 gpus) external pure {
        _neverOverlaps(busy, 4, gpus);
    }

    function check_place_whole_never_overlaps(uint64 busy, uint8 gpus, uint8 share) external pure {
        for (uint8 n = 1; n <= 8; n++) {
            if (share == 8 * n) return _neverOverlaps(busy, 8 * n, gpus);
        }
    }

    function _neverOverlaps(uint64 busy, uint8 share, uint8 gpus) private pure {
        if (!_machine(gpus) || !Cells.isShare(share, gpus)) return;
        uint16 placement = Cells.place(busy, share, gpus);
        if (placement == 0) return;
        for (uint256 gpuMask = 1; gpuMask < 256; gpuMask++) {
            if (_ones(gpuMask, 8) != (share < 8 ? 1 : share / 8)) continue;
            for (uint256 at = 0; at < 8; at += share < 8 ? share : 8) {
                uint256 cellMask = share < 8 ? ((1 << share) - 1) << at : 0xFF;
                uint16 known = uint16(gpuMask << 8 | cellMask);
                if (placement != known) continue;
                assert(_mask(known) & busy == 0);
                assert(_mask(known) & ~Cells.all(gpus) == 0);
                return;
            }
        }
        assert(false);
    }

    /// @notice What it chooses is a place that a tenant might have named.
    function check_place_fits(uint64 busy, uint8 share, uint8 gpus) external pure {
        if (!_machine(gpus) || !Cells.isShare(share, gpus)) return;
        uint16 placement = Cells.place(busy, share, gpus);
        if (placement != 0) assert(Cells.fits(placement, share, gpus));
    }

    /// @notice A place is refused only if every one that a tenant might name overlaps what is busy.
    function check_place_finds_room(uint64 busy, uint8 share, uint8 gpus, uint16 placement) external pure {
        if (!_machine(gpus) || !Cells.isShare(share, gpus)) return;
        if (Cells.place(busy, share, gpus) != 0) return;
        assert(!Cells.fits(placement, share, gpus) || _mask(placement) & busy != 0);
    }

    /// @notice A named placement fits exactly if it lies on the machine's GPUs and is whole GPUs, or one GPU's cells where
    /// MIG can cut them.
    function check_fits_is_mig_geometry(uint16 placement, uint8 share, uint8 gpus) external pure {
        if (!_machine(gpus) || !Cells.isShare(share, gpus)) return;
        uint256 gpuMask = placement >> 8;
        uint256 cells = placement & 0xFF;
        bool onMachine = gpuMask < 1 << gpus;
        bool one = gpuMask != 0 && gpuMask & (gpuMask - 1) == 0;
        bool right;
        if (share == 1) right = one && cells != 0 && cells & (cells - 1) == 0 && cells != 0x80;
        else if (share == 2) right = one && (cells == 0x03 || cells == 0x0C || cells == 0x30);
        else if (share == 4) right = one && (cells == 0x0F || cells == 0xF0);
        else right = cells == 0xFF && _ones(gpuMask, 8) == share / 8;
        assert(Cells.fits(placement, share, gpus) == (onMachine && right));
    }

    /// @notice Leasing what is free and freeing it again leaves the rest as it was.
    function check_free_undoes_lease(uint64 leased, uint16 placement) external pure {
        uint64 mask = Cells.cells(placement);
        if (mask & leased != 0) return;
        assert((leased | mask) ^ mask == leased);
    }
}
