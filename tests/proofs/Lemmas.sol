// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

interface Assuming {
    function assume(bool holds) external pure;
}

/// @title Facts of arithmetic that the solver cannot find by itself.
/// @notice Bit by bit, a division of a product of 119 bits is beyond it. So Halmos takes `*` and `/` for functions that it
/// knows nothing of, and is told what is true of them of the numbers at hand. Each fact below is one of whole numbers,
/// and `scripts/lemmas.py` has it proven of all of them (z3, unbounded integers). It holds of words as long as no product
/// or sum in it passes 256 bits: so each is told only of numbers for which that is so (`HALF`, `LARGE`).
/// @dev The line above each function is what `scripts/lemmas.py` reads and proves, with k > 0.
library Lemmas {
    /// @dev Two factors of no more than this have a product of at most 256 bits.
    uint256 private constant HALF = type(uint128).max;
    /// @dev Room for one more such number.
    uint256 private constant LARGE = type(uint256).max - HALF;

    Assuming private constant VM = Assuming(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

    /// @dev lemma: x <= y => x / k <= y / k
    function quotientGrows(uint256 x, uint256 y, uint256 k) internal pure {
        _imply(x <= y, x / k <= y / k);
    }

    /// @dev lemma: x / k <= x
    function quotientWithin(uint256 x, uint256 k) internal pure {
        VM.assume(x / k <= x);
    }

    /// @dev lemma: (x + k - 1) / k <= x / k + 1
    function quotientRoundedUp(uint256 x, uint256 k) internal pure {
        unchecked {
            _imply(_both(x <= LARGE, k <= HALF), (x + k - 1) / k <= x / k + 1);
        }
    }

    /// @dev lemma: x <= a * k => (x + k - 1) / k <= a
    function quotientUpWithin(uint256 x, uint256 a, uint256 k) internal pure {
        unchecked {
            _imply(_both(_both(x <= a * k, x <= LARGE), _both(a <= HALF, k <= HALF)), (x + k - 1) / k <= a);
        }
    }

    /// @dev lemma: k * (x / k) <= x
    function quotientTimesDivisor(uint256 x, uint256 k) internal pure {
        unchecked {
            VM.assume(k * (x / k) <= x);
        }
    }

    /// @dev lemma: a <= b => c * a <= c * b
    function productGrows(uint256 c, uint256 a, uint256 b) internal pure {
        unchecked {
            _imply(_both(_both(a <= b, b <= HALF), c <= HALF), c * a <= c * b);
        }
    }

    /// @dev lemma: a <= b => a * c <= b * c
    function growsTimes(uint256 a, uint256 b, uint256 c) internal pure {
        unchecked {
            _imply(_both(_both(a <= b, b <= HALF), c <= HALF), a * c <= b * c);
        }
    }

    /// @dev lemma: a <= c and b <= d => a * b <= c * d
    function productWithin(uint256 a, uint256 c, uint256 b, uint256 d) internal pure {
        unchecked {
            _imply(_both(_both(a <= c, c <= HALF), _both(b <= d, d <= HALF)), a * b <= c * d);
        }
    }

    /// @dev lemma: x <= y and b <= k => y * b / k - x * b / k <= y - x
    function partOfDifference(uint256 x, uint256 y, uint256 b, uint256 k) internal pure {
        unchecked {
            _imply(_both(_both(x <= y, b <= k), _both(y <= HALF, k <= HALF)), y * b / k - x * b / k <= y - x);
        }
    }

    /// @dev lemma: a * b == b * a
    function productCommutes(uint256 a, uint256 b) internal pure {
        unchecked {
            VM.assume(a * b == b * a);
        }
    }

    /// @dev lemma: x * k / k == x
    function productByItself(uint256 x, uint256 k) internal pure {
        unchecked {
            _imply(_both(x <= HALF, k <= HALF), x * k / k == x);
        }
    }

    /// @dev Both sides are worked out: `||` would double the paths.
    function _imply(bool a, bool b) private pure {
        bool holds;
        assembly ("memory-safe") {
            holds := or(iszero(a), b)
        }
        VM.assume(holds);
    }

    function _both(bool a, bool b) private pure returns (bool both) {
        assembly ("memory-safe") {
            both := and(a, b)
        }
    }
}
