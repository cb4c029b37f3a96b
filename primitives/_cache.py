"""The disk cache of compiled code.

An entry is a file named by the digest of everything that its content depends on; it starts with the
SHA-256 of the rest, so that a truncated or foreign file is seen and rebuilt. Entries appear by an
atomic rename: any number of processes may share the folder.

``AWKWARD_CUDAKERNELS_CACHE`` moves the folder; set to ``0`` or ``off`` it disables the cache.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

VARIABLE = "AWKWARD_CUDAKERNELS_CACHE"


@cache
def _folder(setting: str | None) -> Path | None:
    if setting is not None and setting.lower() in ("0", "off", "no", "false", ""):
        return None
    if setting is not None:
        path = Path(setting)
    else:
        import platformdirs

        path = Path(platformdirs.user_cache_dir("awkward-cudakernels", appauthor=False))
    try:
        path.mkdir(parents=True, exist_ok=True)
        usable = os.access(path, os.W_OK)
    except OSError:
        usable = False
    return path if usable else None


def cache_folder() -> Path | None:
    """The folder of the disk cache, or None if it is disabled or cannot be written."""
    return _folder(os.environ.get(VARIABLE))


def digest(*parts: str | bytes) -> str:
    """The name of an entry: a digest of all that its content depends on."""
    result = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        result.update(len(data).to_bytes(8, "little"))
        result.update(data)
    return result.hexdigest()[:40]


def load(kind: str, name: str) -> bytes | None:
    """The content of an entry; None if there is none, or none that can be trusted."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        data = (folder / kind / name).read_bytes()
    except OSError:
        return None
    content = data[32:]
    if len(data) < 32 or hashlib.sha256(content).digest() != data[:32]:
        return None
    return content


def store(kind: str, name: str, content: bytes) -> None:
    """Writes an entry. A full or read-only disk is no error: the entry is built again next time."""
    folder = cache_folder()
    if folder is not None:
        write_atomically(folder / kind / name, hashlib.sha256(content).digest() + content)


def write_atomically(path: Path, data: bytes) -> bool:
    """Writes a file that other processes see whole or not at all; False if the disk refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError:
        return False
    return True


def cache_info() -> dict[str, Any]:
    """What the disk cache holds: ``path``, ``enabled``, ``entries`` and ``bytes``."""
    folder = cache_folder()
    files = [] if folder is None else [p for p in folder.rglob("*") if p.is_file()]
    entries = [p for p in files if p.parent.name != "__pycache__" and not p.name.startswith(".")]
    return {
        "path": None if folder is None else str(folder),
        "enabled": folder is not None,
        "entries": len(entries),
        "bytes": sum(p.stat().st_size for p in files),
    }
