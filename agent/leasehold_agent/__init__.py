"""Leasehold agent."""
