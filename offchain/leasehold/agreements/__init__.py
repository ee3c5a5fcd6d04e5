"""What people hand one another to sign, or signed: proposals, signatures, acceptances, offers, requests for a quote.

proposal, signatures = load_proposal(Path("proposal.json"), deployment)
proofs = await proposal.sign(signer)

Each is a file that a stranger may have written: it is checked to its form when it is read, and against the chain where
it is used.
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.agreements._calls import CallReader, call_json
    from leasehold.agreements._document import (
        Address,
        Document,
        Hex,
        read_file,
        unhex,
        write_file,
    )
    from leasehold.agreements._errors import FileRefused, NotGasless
    from leasehold.agreements._gasless import (
        MOST_GASLESS_CALLS,
        GaslessCall,
        GaslessOutcome,
        GaslessQuote,
        GaslessTerms,
        GaslessWish,
        SignedGasless,
        calls_said,
        check_gasless,
        said_calls,
    )
    from leasehold.agreements._group import GroupTerms
    from leasehold.agreements._proposal import (
        LIFETIME,
        Proposal,
        ProposalFile,
        SignatureFile,
        gather_signatures,
        load_proposal,
        propose_calls,
    )
    from leasehold.agreements._purse import (
        MOST_EXTENSIONS,
        PURSE_SECONDS,
        PURSE_STEP,
        BroughtPurse,
        HeldPurse,
        PurseOffer,
    )
    from leasehold.agreements._terms import (
        AcceptanceFile,
        AccessFile,
        OfferFile,
        QuoteRequestFile,
        accounts_domain,
        check_place,
        pool_domain,
    )
    from leasehold.chain.typed import AcceptTransfer, Offer, Session

__all__ = [
    "LIFETIME",
    "MOST_EXTENSIONS",
    "MOST_GASLESS_CALLS",
    "PURSE_SECONDS",
    "PURSE_STEP",
    "AcceptTransfer",
    "AcceptanceFile",
    "AccessFile",
    "Address",
    "BroughtPurse",
    "CallReader",
    "Document",
    "FileRefused",
    "GaslessCall",
    "GaslessOutcome",
    "GaslessQuote",
    "GaslessTerms",
    "GaslessWish",
    "GroupTerms",
    "HeldPurse",
    "Hex",
    "NotGasless",
    "Offer",
    "OfferFile",
    "Proposal",
    "ProposalFile",
    "PurseOffer",
    "QuoteRequestFile",
    "Session",
    "SignatureFile",
    "SignedGasless",
    "accounts_domain",
    "call_json",
    "calls_said",
    "check_gasless",
    "check_place",
    "gather_signatures",
    "load_proposal",
    "pool_domain",
    "propose_calls",
    "read_file",
    "said_calls",
    "unhex",
    "write_file",
]

_PARTS = {
    "_calls": ("CallReader", "call_json"),
    "_document": ("Address", "Document", "Hex", "read_file", "unhex", "write_file"),
    "_errors": ("FileRefused", "NotGasless"),
    "_gasless": (
        "MOST_GASLESS_CALLS", "GaslessCall", "GaslessOutcome", "GaslessQuote", "GaslessTerms", "GaslessWish",
        "SignedGasless", "calls_said", "check_gasless", "said_calls",
    ),
    "_group": ("GroupTerms",),
    "_proposal": (
        "LIFETIME", "Proposal", "ProposalFile", "SignatureFile", "gather_signatures", "load_proposal",
        "propose_calls",
    ),
    "_purse": ("MOST_EXTENSIONS", "PURSE_SECONDS", "PURSE_STEP", "BroughtPurse", "HeldPurse", "PurseOffer"),
    "_terms": (
        "AcceptanceFile", "AccessFile", "OfferFile", "QuoteRequestFile", "accounts_domain", "check_place",
        "pool_domain",
    ),
    "leasehold.chain.typed": ("AcceptTransfer", "Offer", "Session"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)
