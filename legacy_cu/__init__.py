"""Raw CUDA C++ kernels for 35 of awkward's kernel families: the baseline of every comparison, and a
fallback.

They are what the earlier design of the CUDA backend ran: one thread per element or per list, launched
as they are, with CuPy's `cumsum` between two launches where positions depend on what came before. Each
file is compiled at its first use; importing this package compiles nothing and needs neither CuPy nor a
GPU. Errors go to the error word of `errorflag`, through its device header.

It imports nothing of `primitives`, which it is there to be compared with, nor of awkward. Where compiled
code is kept is for the caller to say (`set_cache`).
"""

from ._families import Family, kernels, set_cache

__all__ = ["Family", "kernels", "set_cache"]
