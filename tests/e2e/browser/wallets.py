"""A wallet for a page of the tests: it announces itself by EIP-6963, and really signs. Its key never comes to the page.

The page's provider hands every request to Python, where `eth_account` signs what only the holder of the key can, and a
chain's node answers the rest. What a person does at a wallet's window is `refuse` and `chain_id` here.
"""

from __future__ import annotations

import json
import urllib.request
from typing import Any, Final

from eth_account import Account
from eth_account.messages import encode_defunct
from playwright.sync_api import BrowserContext, Page

from devnet.anvil import Anvil
from devnet.patience import patient

REJECTED: Final = 4001
UNKNOWN_CHAIN: Final = 4902
DISCONNECTED: Final = 4900
_CONNECTING: Final = ("eth_requestAccounts", "eth_accounts")

_PROVIDER: Final = """
(() => {
  const listeners = {};
  const provider = {
    request: async ({ method, params }) => {
      const answer = JSON.parse(await window.leaseholdTestWallet(JSON.stringify({ method, params: params ?? [] })));
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
      const switched = method === "wallet_switchEthereumChain" ? listeners.chainChanged ?? [] : [];
      switched.forEach((hear) => hear(params[0].chainId));
      return answer.result;
    },
    on: (event, hear) => void (listeners[event] ??= []).push(hear),
    removeListener: (event, hear) => void (listeners[event] = (listeners[event] ?? []).filter((kept) => kept !== hear)),
  };
  const uuid = "a5e0b2d0-0000-4000-8000-000000000001";
  const info = Object.freeze({ uuid, name: "Test wallet", icon: "", rdns: "org.example.test" });
  const announce = () => window.dispatchEvent(
    new CustomEvent("eip6963:announceProvider", { detail: Object.freeze({ info, provider }) }));
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
})();
"""


class Refused(Exception):
    """What a wallet answers with an error. code: EIP-1193's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NodeRefused(Exception):
    """What the node answers with an error, with its data."""

    def __init__(self, said: dict[str, Any]) -> None:
        super().__init__(said.get("message"))
        self.said = said


class TestWallet:
    """The wallet of one account. chain_id: the network that it is on. refuse: methods to which its holder says no.
    silent: its node does not answer.

    asked: every method that a page has asked for, in turn. signed: what was signed as typed data, by primary type.
    """

    __test__ = False

    def __init__(self, anvil: Anvil, key: str, chain_id: int | None = None) -> None:
        self._anvil = anvil
        self._account = Account.from_key(key)
        self.chain_id = chain_id or anvil.chain_id
        self.refuse: set[str] = set()
        self.silent = False
        self.asked: list[str] = []
        self.signed: list[dict[str, Any]] = []

    @property
    def address(self) -> str:
        return str(self._account.address)

    def install(self, place: BrowserContext | Page) -> None:
        """Every page that is opened there from now on finds this wallet."""
        place.expose_binding("leaseholdTestWallet", lambda _source, text: self._answer(text))
        place.add_init_script(_PROVIDER)

    def _answer(self, text: str) -> str:
        call = json.loads(text)
        try:
            return json.dumps({"result": self._do(call["method"], call["params"])})
        except Refused as error:
            return json.dumps({"error": {"code": error.code, "message": str(error)}})
        except NodeRefused as error:
            return json.dumps({"error": error.said})

    def _do(self, method: str, params: list[Any]) -> Any:
        self.asked.append(method)
        if method in self.refuse:
            raise Refused(REJECTED, "User rejected the request.")
        if method in _CONNECTING:
            return [self.address]
        if method == "eth_chainId":
            return hex(self.chain_id)
        if method == "wallet_switchEthereumChain":
            return self._switch(int(params[0]["chainId"], 16))
        if method == "eth_signTypedData_v4":
            return self._sign(json.loads(params[1]))
        if method == "personal_sign":
            signed = self._account.sign_message(encode_defunct(hexstr=params[0]))
            return "0x" + bytes(signed.signature).hex()
        if self.silent:
            raise Refused(DISCONNECTED, "The node does not answer.")
        if method == "eth_sendTransaction":
            return self._send(params[0])
        return self._node(method, *params)

    def _node(self, method: str, *params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        post = urllib.request.Request(self._anvil.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(post, timeout=patient(30)) as response:
            answer = json.load(response)
        if "error" in answer:
            raise NodeRefused(answer["error"])
        return answer["result"]

    def _switch(self, chain_id: int) -> None:
        if chain_id != self._anvil.chain_id:
            raise Refused(UNKNOWN_CHAIN, "Unrecognized chain ID.")
        self.chain_id = chain_id

    def _sign(self, message: dict[str, Any]) -> str:
        self.signed.append(message)
        return "0x" + bytes(self._account.sign_typed_data(full_message=message).signature).hex()

    def _send(self, call: dict[str, str]) -> str:
        """Fills in what wallets fill in, signs, and sends the signed transaction."""
        node = self._node
        asked = {
            "from": self.address,
            "to": call["to"],
            "data": call.get("data", "0x"),
            "value": call.get("value", "0x0"),
        }
        block = node("eth_getBlockByNumber", "latest", False)
        tip = 10**9
        transaction = {
            "type": 2,
            "chainId": self._anvil.chain_id,
            "nonce": int(node("eth_getTransactionCount", self.address, "pending"), 16),
            "to": call["to"],
            "data": asked["data"],
            "value": int(asked["value"], 16),
            "gas": int(node("eth_estimateGas", asked), 16) * 5 // 4,
            "maxPriorityFeePerGas": tip,
            "maxFeePerGas": 2 * int(block["baseFeePerGas"], 16) + tip,
        }
        raw = self._account.sign_transaction(transaction).raw_transaction
        return str(node("eth_sendRawTransaction", "0x" + bytes(raw).hex()))
