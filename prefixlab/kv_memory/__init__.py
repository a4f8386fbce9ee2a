"""What a model's KV cache takes: from a `config.json` to bytes a token, and from a budget to tokens and sessions.

`bytes_per_token(config)` gives the growing rate and the fixed bytes of a session, `tokens_in_budget(config, bytes)` the
tokens that a budget holds; `config` is a file, a model folder or a hub id.
"""

from __future__ import annotations

from prefixlab.kv_memory.budget import bytes_per_token, tokens_in_budget

__all__ = ["bytes_per_token", "tokens_in_budget"]
