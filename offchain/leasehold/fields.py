"""What is wrong with a field, in a sentence's words instead of a library's."""

from __future__ import annotations

_WORDS = (
    ("Value error, ", ""),
    ("Field required", "it is missing"),
    ("Extra inputs are not permitted", "there is no such field"),
    ("Input should be", "it should be"),
    (", unable to parse string as a number", ""),
    (", unable to parse string as an integer", ""),
    ("String should", "it should"),
    ("Tuple should", "it should"),
    ("Value should", "it should"),
    ("Dictionary should", "it should"),
)


def in_words(message: str) -> str:
    """A validator's message, such as pydantic's, as the rest of a sentence."""
    for theirs, ours in _WORDS:
        message = message.replace(theirs, ours)
    return message
