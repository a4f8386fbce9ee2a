"""Inference engines: which of the shared tokens each would really reuse."""
