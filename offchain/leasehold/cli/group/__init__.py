"""`leasehold group`: its commands, by what they are about. `_lazy.py` says in which order help shows them."""
