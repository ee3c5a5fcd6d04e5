"""What the demo, the tests and the benchmarks start for themselves, and leave nothing of behind."""
