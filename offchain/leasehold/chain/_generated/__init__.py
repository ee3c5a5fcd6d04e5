"""What scripts/abi.py makes from the contracts' interfaces. Nothing here is written by hand."""
