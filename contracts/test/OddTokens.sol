// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.30;

/// Tokens that behave as real ones sometimes do. Only for tests.

/// @notice The least an ERC-20 needs to be. `move` is where the odd ones differ.
abstract contract PlainBook {
    uint8 public immutable decimals;
    uint256 public totalSupply;
    mapping(address account => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    error NotEnough(address account);

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function mint(address to, uint256 amount) external {
        balanceOf[to] += amount;
        totalSupply += amount;
    }

    function _spend(address owner, uint256 amount) internal {
        uint256 allowed = allowance[owner][msg.sender];
        if (allowed < amount) revert NotEnough(owner);
        if (allowed != type(uint256).max) allowance[owner][msg.sender] = allowed - amount;
    }

    function _move(address from, address to, uint256 amount) internal virtual {
        if (balanceOf[from] < amount) revert NotEnough(from);
        unchecked {
            balanceOf[from] -= amount;
            balanceOf[to] += amount;
        }
    }
}

/// @notice A token with as many decimals as one likes, otherwise plain.
contract SizedToken is PlainBook {
    constructor(uint8 decimals_) PlainBook(decimals_) {}

    function symbol() external pure returns (string memory) {
        return "SIZED";
    }

    function approve(address spender, uint256 amount) external returns (bool) {
        allowance[msg.sender][spender] = amount;
        return true;
    }

    function transfer(address to, uint256 amount) public virtual returns (bool) {
        _move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) public virtual returns (bool) {
        _spend(from, amount);
        _move(from, to, amount);
        return true;
    }
}

/// @notice As USDT: six decimals, nothing returned, and whom it blocks can neither send nor receive.
contract QuietToken is PlainBook {
    mapping(address account => bool) public blocked;

    error Blocked(address account);

    constructor() PlainBook(6) {}

    function symbol() external pure returns (string memory) {
        return "QUIET";
    }

    function setBlocked(address account, bool value) external {
        blocked[account] = value;
    }

    function approve(address spender, uint256 amount) external {
        allowance[msg.sender][spender] = amount;
    }

    function transfer(address to, uint256 amount) external {
        _move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) external {
        _spend(from, amount);
        _move(from, to, amount);
    }

    function _move(address from, address to, uint256 amount) internal override {
        if (blocked[from]) revert Blocked(from);
        if (blocked[to]) revert Blocked(to);
        super._move(from, to, amount);
    }
}

/// @notice Keeps one percent of every transfer once the tax is switched on.
contract TaxedToken is SizedToken {
    bool public taxed;

    constructor() SizedToken(18) {}

    function setTaxed(bool value) external {
        taxed = value;
    }

    function _move(address from, address to, uint256 amount) internal override {
        super._move(from, to, amount);
        if (taxed) {
            balanceOf[to] -= amount / 100;
            totalSupply -= amount / 100;
        }
    }
}

/// @notice Says false where others revert.
contract RefusingToken is SizedToken {
    bool public refusing;

    constructor() SizedToken(18) {}

    function setRefusing(bool value) external {
        refusing = value;
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        return !refusing && super.transfer(to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        return !refusing && super.transferFrom(from, to, amount);
    }
}

/// @notice Calls somebody in the midst of every transfer, as tokens with hooks do, and remembers what came of it.
contract EagerToken is SizedToken {
    address public target;
    bytes public call;
    uint256 public attempts;
    bool public succeeded;
    bytes public answer;

    constructor() SizedToken(18) {}

    /// @notice From the next transfer on, `target` is called with `data`, by this token.
    function arm(address target_, bytes calldata data) external {
        target = target_;
        call = data;
    }

    function _move(address from, address to, uint256 amount) internal override {
        if (target != address(0)) {
            attempts++;
            (bool ok, bytes memory returned) = target.call(call);
            succeeded = succeeded || ok;
            answer = returned;
        }
        super._move(from, to, amount);
    }
}
