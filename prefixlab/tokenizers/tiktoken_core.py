"""tiktoken's compiled core, without the package around it, whose start-up brings in thread pools and logging."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

_NAME = "tiktoken._tiktoken"


def core_bpe() -> Any:
    """The class of tiktoken's byte-pair encoders."""
    package = None if _NAME in sys.modules else find_spec("tiktoken")
    spec = package and PathFinder.find_spec(_NAME, package.submodule_search_locations)
    if spec and spec.loader:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        # Where an import, ours below or the package's own later on, finds it and does not make a second one.
        sys.modules[_NAME] = module
    from tiktoken._tiktoken import CoreBPE

    return CoreBPE
