// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

/// @title Where a lease sits on a machine.
/// @notice A machine is a word of 64 cells, bit `8 × gpu + cell`. A placement is `gpuMask << 8 | cellMask`: the same
/// cells of each GPU named. A share is 1 cell (at 0 to 6), 2 (at 0, 2, 4) or 4 (at 0, 4) of one GPU, which is MIG's own
/// geometry, or 8n: n whole GPUs.
/// @dev Works on all eight GPUs of the word at once, without loops over cells. Every product below stays inside its byte
/// lanes; the tests compare each function with a plain loop, over all placements.
library Cells {
    /// @dev One bit per GPU, at its cell 0.
    uint256 private constant LANES = 0x0101010101010101;
    /// @dev The lowest cell of each pair, and of each quad.
    uint256 private constant PAIRS = 0x5555555555555555;
    uint256 private constant QUADS = 0x1111111111111111;

    /// @notice All cells of a machine with `gpus` GPUs (1 to 8).
    function all(uint8 gpus) internal pure returns (uint64) {
        return uint64(type(uint64).max >> (64 - 8 * uint256(gpus)));
    }

    /// @notice The cells that a placement covers.
    function cells(uint16 placement) internal pure returns (uint64) {
        // No carry leaves a lane: a lane holds 0 or 1, and the factor is one byte.
        return uint64(_lanes(placement >> 8) * (placement & 0xFF));
    }

    /// @notice How many cells a placement covers.
    function count(uint16 placement) internal pure returns (uint256) {
        return _ones(placement >> 8) * _ones(placement & 0xFF);
    }

    /// @notice Whether `share` is one that is sold on a machine with `gpus` GPUs.
    function isShare(uint8 share, uint8 gpus) internal pure returns (bool) {
        if (share == 1 || share == 2 || share == 4) return true;
        return share != 0 && share % 8 == 0 && share / 8 <= gpus;
    }

    /// @notice Whether `placement` is a place for `share` on a machine with `gpus` GPUs. `share` must be one (`isShare`).
    function fits(uint16 placement, uint8 share, uint8 gpus) internal pure returns (bool) {
        uint256 gpuMask = placement >> 8;
        uint256 cellMask = placement & 0xFF;
        if (gpuMask >> gpus != 0) return false;
        if (share >= 8) return cellMask == 0xFF && _ones(gpuMask) == share / 8;
        uint256 lowest = _lowest(cellMask);
        return _ones(gpuMask) == 1 && lowest & _positions(share) != 0 && cellMask == lowest * ((1 << share) - 1);
    }

    /// @notice The smallest hole that `share` fits into (lowest first among equals), as a buddy allocator would choose:
    /// whole GPUs, quads and pairs stay whole as long as they can. `share` must be one (`isShare`).
    /// @return placement 0 when there is no room
    function place(uint64 busy, uint8 share, uint8 gpus) internal pure returns (uint16 placement) {
        uint256 taken = uint256(busy) | (type(uint64).max ^ all(gpus));
        // Every cell of a pair, quad or GPU of which a cell is taken.
        uint256 pairs = ((taken | taken >> 1) & PAIRS) * 3;
        uint256 quads = ((pairs | pairs >> 2) & QUADS) * 15;
        uint256 lanes = (quads | quads >> 4) & LANES;

        if (share >= 8) return _placeWhole(~lanes & LANES, share / 8);

        uint256 open = ~(share == 1 ? taken : share == 2 ? pairs : quads) & (LANES * _positions(share));
        // From the smallest hole to the largest. What is no smaller than the share holds nothing open: it falls through.
        uint256 best = open & pairs;
        if (best == 0) best = open & quads;
        if (best == 0) best = open & (lanes * 0xFF);
        if (best == 0) best = open;
        if (best == 0) return 0;

        uint256 position = Math.log2(_lowest(best));
        uint256 cellMask = ((1 << share) - 1) << (position & 7);
        return uint16((1 << (8 + (position >> 3))) | cellMask);
    }

    function _placeWhole(uint256 open, uint256 gpus) private pure returns (uint16) {
        uint256 chosen;
        for (uint256 i = 0; i < gpus; ++i) {
            if (open == 0) return 0;
            uint256 lowest = _lowest(open);
            chosen |= lowest;
            open ^= lowest;
        }
        return uint16((_gather(chosen) << 8) | 0xFF);
    }

    /// @dev Where inside a GPU a share of less than one may begin.
    function _positions(uint8 share) private pure returns (uint256) {
        return share == 1 ? 0x7F : share == 2 ? 0x15 : 0x11;
    }

    /// @dev Spreads a mask of 8 GPUs to one bit a lane: copy the mask to every lane, keep bit i in lane i, and carry it
    /// into bit 7 of its lane (0x7F plus at most 0x80 stays inside).
    function _lanes(uint256 gpuMask) private pure returns (uint256) {
        uint256 kept = (gpuMask * LANES) & 0x8040201008040201;
        return ((kept + 0x7F7F7F7F7F7F7F7F | kept) >> 7) & LANES;
    }

    /// @dev The inverse: the factor brings the bit of lane i to bit 56 + i, and no two of its terms meet.
    function _gather(uint256 lanes) private pure returns (uint256) {
        return (lanes * 0x0102040810204080 >> 56) & 0xFF;
    }

    /// @dev Ones in a byte: the sum of its lanes gathers in lane 7.
    function _ones(uint256 mask) private pure returns (uint256) {
        return (_lanes(mask) * LANES >> 56) & 0xFF;
    }

    function _lowest(uint256 word) private pure returns (uint256) {
        unchecked {
            return word & (0 - word);
        }
    }
}
