"""The disk cache of compiled code.

An entry is a file named by the digest of everything that its content depends on; it starts with the
SHA-256 of the rest, so that a truncated or foreign file is seen and rebuilt. Entries appear by an
atomic rename, and a lock per entry keeps processes that miss it from building it twice: any number of
them may share the folder. Nothing is locked to read.

``AWKWARD_CUDAKERNELS_CACHE`` moves the folder; set to ``0`` or ``off`` it disables the cache.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

VARIABLE = "AWKWARD_CUDAKERNELS_CACHE"

built: Counter[str] = Counter()
"""How many entries of each kind this process has built."""

LOCK_SECONDS = 120.0
"""How long a process waits for another that builds the same entry, before it builds its own."""


@cache
def _folder(setting: str | None) -> Path | None:
    if setting is not None and setting.lower() in ("0", "off", "no", "false", ""):
        return None
    if setting is not None:
        return Path(setting).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_cache_dir("awkward-cudakernels", appauthor=False))


def cache_folder() -> Path | None:
    """The folder of the disk cache, which need not exist or be writable; None if it is disabled."""
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


def store(kind: str, name: str, content: bytes) -> bool:
    """Writes an entry; False on a full or read-only disk: it is built again next time."""
    folder = cache_folder()
    if folder is None:
        return False
    return write_atomically(folder / kind / name, hashlib.sha256(content).digest() + content)


def load_or_build(kind: str, name: str, build: Callable[[], bytes]) -> bytes:
    """The content of an entry, built by one process if there is none yet."""
    content = load(kind, name)
    if content is None:
        with building(kind, name):
            content = load(kind, name)  # by now another process may have built it
            if content is None:
                content = build()
                built[kind] += 1
                store(kind, name, content)
    return content


@contextmanager
def building(kind: str, name: str) -> Iterator[None]:
    """Holds the lock of an entry: look for the entry again inside, before building it.

    The system releases the lock of a process that ends, however it ends. Where there can be no lock
    (a read-only folder, some network file systems), or its holder takes more than `LOCK_SECONDS`,
    there is none: an entry is then built twice, and either is as good.
    """
    folder = cache_folder()
    if folder is None:
        yield
        return
    from filelock import FileLock

    path = folder / kind / f".{name}.lock"
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=LOCK_SECONDS)
    except (OSError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        # Whoever waits for the file that is deleted here, or makes a new one, finds the entry.
        with suppress(OSError):
            os.unlink(path)
        lock.release()


def write_atomically(path: Path, data: bytes) -> bool:
    """Writes a file that other processes see whole or not at all; False if the disk refuses."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not `tempfile`, whose files only their owner may read: a folder may be shared.
        temporary = path.parent / f".new-{os.getpid()}-{os.urandom(8).hex()}"
        try:
            with open(temporary, "xb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError:
        return False
    return True


def installed(*names: str) -> str:
    """The versions of distributions, for an entry's name.

    Read from the names of their folders, which takes a tenth of the time of `importlib.metadata`:
    this is in the way of the first launch of every process.
    """
    wanted = "|".join(names).replace("-", "[-_.]")
    pattern = re.compile(rf"({wanted})-(.+)\.(?:dist|egg)-info", re.IGNORECASE)
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            entries = os.listdir(folder or ".")
        except OSError:
            continue
        for entry in entries:
            match = pattern.fullmatch(entry)
            if match:
                found.setdefault(match[1].lower(), match[2])
    return ", ".join(f"{name} {found[name]}" for name in sorted(found))


def cache_info() -> dict[str, Any]:
    """What the disk cache of compiled code holds.

    Returns:
        ``path``: its folder, None if nothing is kept; ``enabled``: whether anything is; ``entries``: how many;
        ``bytes``: how large they are; ``built``: how many this process has compiled, kept or not.

    Example:
        >>> from primitives import cache_info
        >>> sorted(cache_info())
        ['built', 'bytes', 'enabled', 'entries', 'path']
    """
    folder = cache_folder()
    files: list[tuple[Path, int]] = []
    if folder is not None:
        for path in folder.rglob("*"):
            with suppress(OSError):  # deleted meanwhile
                if path.is_file() and not path.name.startswith("."):
                    files.append((path, path.stat().st_size))
    return {
        "path": None if folder is None else str(folder),
        "enabled": folder is not None,
        "entries": sum(not path.suffix for path, _ in files),
        "bytes": sum(size for _, size in files),
        "built": built.total(),
    }
