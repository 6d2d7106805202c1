"""How the inner loops of the readers are compiled with numba, and where the machine code is kept.

numba's cache on disk notices an edit of the file that holds the cached function, not of what is compiled into it: so
each state of a reader's files gets a cache of its own.
"""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from numba import config, njit
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

# The kernels make no array, so none needs its references counted, which would take two thirds of the time. Nor does C
# call any.
OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def numba_inline(function: Function) -> Function:
    """Let kernels call a function, each with its code inside its own."""
    return register_jitable(forceinline=True, **OPTIONS)(function)


def numba_function(function: Function) -> Function:
    """Let kernels call a function, which is compiled once for all of them; to Python it stays what it is."""
    return register_jitable(**OPTIONS)(function)


def kernel_of(reader: str, sources: Iterable[Path]) -> Callable[[Function], Function]:
    """Return a decorator that compiles at the first call from Python, and keeps the machine code on disk.

    The cache is in a folder of its own for this reader and the present content of its sources.
    """
    fingerprint = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:10]
    base = Path(config.CACHE_DIR or Path(__file__).with_name("__pycache__"))  # type: ignore[attr-defined]

    def compile_cached(function: Function) -> Function:
        # numba looks at the setting when it decorates a function.
        before = config.CACHE_DIR  # type: ignore[attr-defined]
        config.CACHE_DIR = str(base / f"{reader}-{fingerprint}")  # type: ignore[attr-defined]
        try:
            return cast(Function, njit(cache=True, **OPTIONS)(function))
        finally:
            config.CACHE_DIR = before  # type: ignore[attr-defined]

    return compile_cached
