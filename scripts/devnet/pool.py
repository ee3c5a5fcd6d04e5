"""A running chain with a pool on it, and the bindings with the keys of its funded accounts."""

from dataclasses import dataclass

from devnet.anvil import Anvil
from leasehold.chain import Consent, Deployment, LocalSigner, Pool, Rpc, Sender, Token
from leasehold.chain.typed import Domain, Operate, sign

__all__ = ["PoolChain", "consent_of"]


@dataclass(frozen=True)
class PoolChain:
    """A running chain with a pool and funded accounts: 0 deployed it and owns it."""

    anvil: Anvil
    deployment: Deployment
    rpc: Rpc

    def signer(self, account: int) -> LocalSigner:
        return LocalSigner(self.anvil.accounts[account].key)

    def address(self, account: int) -> str:
        return self.anvil.accounts[account].address

    async def consent(self, provider: int, operator: LocalSigner) -> Consent:
        """What `operator` signs to serve the account."""
        return await consent_of(self.deployment, self.address(provider), operator)

    def sender(self, account: int) -> Sender:
        return Sender(self.rpc, self.signer(account), poll=0.01)

    def pool(self, account: int | None = None) -> Pool:
        """The pool's binding, with the account's key if one is named."""
        return Pool(self.rpc, self.deployment, None if account is None else self.sender(account))

    def token(self, account: int | None = None) -> Token:
        return Token(self.rpc, self.deployment.token, None if account is None else self.sender(account))


async def consent_of(deployment: Deployment, provider: str, operator: LocalSigner) -> Consent:
    """What `operator` signs to serve `provider`, as `leasehold-agent describe` does; for ever."""
    controller, chain, deadline = deployment.controller, deployment.chain_id, 2**63
    operate = Operate(chain, controller, provider, operator.address, deadline)
    return Consent(deadline, await sign(operate, Domain(chain, controller), operator))
