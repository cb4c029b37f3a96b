"""The command ``awkward-cudakernels``.

Every module of :mod:`awkward_cudakernels.commands` is a subcommand of the module's name; it is imported
when that subcommand runs, so one command does not pay for the imports of another.
"""

from __future__ import annotations

import importlib
import pkgutil

import click

from awkward_cudakernels import commands


class _Modules(click.Group):
    """A group whose subcommands are the modules of a package, each with a ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(m.name for m in pkgutil.iter_modules(commands.__path__) if not m.name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{commands.__name__}.{cmd_name}").command
        return command


@click.command(cls=_Modules, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="awkward-cudakernels", prog_name="awkward-cudakernels")
def main() -> None:
    """Awkward Array kernels for CUDA, with a host executor for machines without a GPU."""
