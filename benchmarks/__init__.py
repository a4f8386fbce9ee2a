"""What an audit costs in time and memory: `python -m benchmarks`."""
