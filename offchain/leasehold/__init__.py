"""Leasehold."""
