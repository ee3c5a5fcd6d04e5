"""Gives an account gas money and test tokens, on a development chain: `python scripts/faucet.py ADDRESS`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from web3 import HTTPProvider, Web3

GAS_WEI, TOKENS = 10 * 10**18, 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="who gets it")
    given = parser.parse_args().address
    if not Web3.is_address(given):
        parser.error(f"'{given}' is no account's address: it has 40 hex digits after 0x.")
    if "LEASEHOLD_DEPLOYMENT" not in os.environ:
        parser.error("no pool is named: source build/live.env first, or set LEASEHOLD_DEPLOYMENT.")
    address = Web3.to_checksum_address(given)
    chain = Web3(HTTPProvider(os.environ.get("LEASEHOLD_RPC", "http://127.0.0.1:8545")))
    deployment = json.loads(Path(os.environ["LEASEHOLD_DEPLOYMENT"]).read_text())
    if not chain.is_connected():
        sys.exit("No node answers at LEASEHOLD_RPC: does the demo's world still run?")
    if not chain.eth.accounts:
        sys.exit("This node holds no unlocked account: a faucet works on a development chain only.")
    giver = chain.eth.accounts[0]
    abi = json.loads(
        '[{"type":"function","name":"transfer","stateMutability":"nonpayable","inputs":'
        '[{"name":"to","type":"address"},{"name":"amount","type":"uint256"}],"outputs":[]}]'
    )
    token = chain.eth.contract(Web3.to_checksum_address(deployment["token"]), abi=abi)
    chain.eth.wait_for_transaction_receipt(
        chain.eth.send_transaction({"from": giver, "to": address, "value": GAS_WEI})
    )
    amount = TOKENS * 10 ** deployment["token_decimals"]
    chain.eth.wait_for_transaction_receipt(
        token.functions.transfer(address, amount).transact({"from": giver})
    )
    print(f"{address} has {GAS_WEI // 10**18} coins for gas and {TOKENS} {deployment['token_symbol']} more.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
