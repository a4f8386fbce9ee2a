"""prefixlab: how much of your prompts an inference engine's prefix cache can reuse, and what breaks it.

    import prefixlab as pl

    report = pl.audit("logs.jsonl", tokenizer="o200k_base")
    report.totals.aligned_reuse

Names are loaded when they are used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from prefixlab.errors import PrefixlabError as PrefixlabError
    from prefixlab.kv_workflow import kv as kv
    from prefixlab.python_api import audit as audit
    from prefixlab.python_api import compare as compare
    from prefixlab.python_api import curve as curve
    from prefixlab.python_api import explain as explain
    from prefixlab.python_api import fix as fix
    from prefixlab.python_api import lint as lint
    from prefixlab.python_api import simulate as simulate

_PUBLIC = {
    "audit": "prefixlab.python_api",
    "compare": "prefixlab.python_api",
    "curve": "prefixlab.python_api",
    "explain": "prefixlab.python_api",
    "fix": "prefixlab.python_api",
    "kv": "prefixlab.kv_workflow",
    "lint": "prefixlab.python_api",
    "simulate": "prefixlab.python_api",
    "PrefixlabError": "prefixlab.errors",
}

__all__ = ["PrefixlabError", "__version__", "audit", "compare", "curve", "explain", "fix", "kv", "lint", "simulate"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'prefixlab' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
