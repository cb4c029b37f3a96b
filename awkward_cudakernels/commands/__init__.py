"""The subcommands, one module each: a module ``name.py`` with a click command called ``command``."""

from __future__ import annotations

import click

__all__ = ["Problem"]


class Problem(click.ClickException):
    """What the user can put right: one sentence on stderr, exit code 2, no traceback."""

    exit_code = 2
