"""prefixlab: how much of your prompts an inference engine's prefix cache can reuse, and what breaks it."""

__version__ = "0.1.0"
