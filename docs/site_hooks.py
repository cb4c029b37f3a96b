"""What mkdocs does not do by itself: the table of kernels, and links from pages to files of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TABLE = "reference/kernels.md"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    files.append(File.generated(config, TABLE, content=kernels_page()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links that leave docs/ work where the repository is shown; the site has their text, or its address."""

    def replace(match: re.Match[str]) -> str:
        text, target = match.groups()
        path = (Path(config.docs_dir, page.file.src_uri).parent / target).resolve()
        if Path(config.docs_dir) in path.parents:
            return match[0]
        if not path.exists():
            raise PluginError(f"{page.file.src_uri}: there is no {target}")
        if not config.repo_url:
            return text
        return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path.relative_to(ROOT).as_posix()})"

    return LINK.sub(replace, markdown)


def kernels_page() -> str:
    """The kernels, from the registry: what is written here cannot be out of date."""
    from awkward_cudakernels import status

    counts = status()
    families, specializations = counts["families"], counts["specializations"]
    lines = [
        "# Kernels",
        "",
        f"Awkward {counts['awkward']} has {families['total']} families of kernels with "
        f"{specializations['total']} specializations (combinations of dtypes). {families['primitives']} "
        f"families are written on the [primitives](primitives.md), {families['legacy_cu']} are raw CUDA, "
        f"{families['missing']} are missing. This page is generated from the registry; "
        "`awkward-cudakernels status` prints the counts.",
        "",
        "*Launches* are the launches of primitives in one call: recorded for arrays of every "
        "specialization and several sizes, so a range where it depends on sizes or flags. A reduction or sort "
        "of long segments is one launch more. An empty array needs none.",
        "",
    ]
    by_module: dict[str, list[str]] = {}
    for module, row in kernel_rows():
        by_module.setdefault(module, []).append(row)
    for module, rows in sorted(by_module.items()):
        lines += [
            f"## kernels/{module}.py",
            "",
            "| family | function | what it does | ops | primitives | launches |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    return "\n".join(lines)


def kernel_rows() -> Iterator[tuple[str, str]]:
    """For every kernel, the module that it is in and its row of the table."""
    from awkward_cudakernels import _warm
    from awkward_cudakernels._registry import registry
    from awkward_cudakernels.signatures import families
    from primitives._run import record

    for name, function in sorted(registry().items()):
        if name in families():
            signatures = [x.arguments for x in families()[name].specializations]
        else:
            signatures = [_warm._older(function)]
        ops: dict[str, None] = {}
        templates: dict[str, None] = {}
        launches = set()
        for arguments in signatures:
            for call in _warm._calls(arguments):
                with record() as recorded:
                    try:
                        function(*call)
                        launches.add(len(recorded))
                    except ValueError:
                        pass  # these sizes do not go together
                for build in recorded:
                    templates[build.template.name] = None
                    ops.update(dict.fromkeys(op.name for op in build.ops))
        launches.discard(0)
        least, most = min(launches, default=0), max(launches, default=0)
        summary = " ".join((function.__doc__ or "").split("\n\n")[0].split()).replace("|", "\\|")
        cells = (
            f"`{name.removeprefix('awkward_')}`",
            f"`{function.__name__}`",
            re.sub(r"``([^`]*)``", r"`\1`", summary),
            ", ".join(f"`{op}`" for op in ops),
            ", ".join(f"`{template}`" for template in templates),
            str(most) if least == most else f"{least} to {most}",
        )
        yield function.__module__.rpartition(".")[2], f"| {' | '.join(cells)} |"
