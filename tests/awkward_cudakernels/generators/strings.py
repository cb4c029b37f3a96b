"""Strings: ranges of bytes."""

from __future__ import annotations

import numpy as np
from harness import InOut, Out

from . import LENGTHS, generator


def _words(c, n, kind="random"):
    """``n`` strings: few letters, so that there are ties and prefixes; high bytes, which compare as unsigned."""
    letters = np.frombuffer(b"ab\xc3\xff" if kind != "nul" else b"ab\x00\xff", np.uint8)
    longest = {"long": 400, "empty": 0}.get(kind, 5)
    ends = np.cumsum(c.rng.integers(0, longest + 1, n)).tolist()
    data = letters[c.rng.integers(0, 4, ends[-1] if n else 0)].tobytes()
    return [data[start:stop] for start, stop in zip([0, *ends], ends)]


def _kinds(n):
    return (
        ("random", "nul", "empty", "long")
        if n < 10
        else ("random", "nul", "empty")
        if n < 300
        else ("random",)
    )


def _distinct(c, n):
    """``n`` strings, no two alike, in random order: those of ``_words`` with a number in front of or after them."""
    words = [x + b"%05d" % i if i % 2 else b"%05d" % i + x for i, x in enumerate(_words(c, n))]
    return [words[i] for i in c.rng.permutation(n)]


def _packed(words, start=0):
    """The bytes, after ``start`` others, and the offsets."""
    offsets = (start + np.cumsum([0, *map(len, words)])).astype(np.int64)
    return np.frombuffer(b"?" * start + b"".join(words), np.uint8), offsets


def _key(word: bytes) -> tuple[bytes, int]:
    # The compiled kernel compares up to the first NUL, then the lengths.
    head, nul, _ = word.partition(b"\x00")
    return head + nul, len(word)


def check_argsort(values, expected, actual):
    """Without ``is_stable`` equal strings may come in any order."""
    if values["is_stable"]:
        return None
    parents, want, got = values["fromparents"], expected["tocarry"], actual["tocarry"]
    ends = [0, *(np.flatnonzero(np.diff(parents)) + 1), len(parents)]
    for start, stop in zip(ends[:-1], ends[1:]):
        first = start if values["is_local"] else 0
        base = 0 if values["is_local"] else start
        if not np.array_equal(np.sort(got[start:stop]), np.arange(base, base + stop - start)):
            return [f"tocarry[{start}:{stop}] is not a permutation"]
        for i in range(start, stop):
            keys = []
            for x in (want[i] + first, got[i] + first):
                word = values["stringdata"][values["stringstarts"][x] : values["stringstops"][x]]
                keys.append(_key(word.tobytes()))
            if keys[0] != keys[1]:
                return [f"tocarry[{i}] is {got[i]}, not {want[i]}"]
    return []


@generator("awkward_ListOffsetArray_argsort_strings", check=check_argsort)
def argsort(c):
    def call(words, parents, stable, ascending, local, gaps=False):
        pieces = [x for word in words for x in (word, b"~" * (len(word) % 3))] if gaps else words
        data, offsets = _packed(pieces, 3 * gaps)
        step = 2 if gaps else 1
        return {
            "tocarry": Out(len(words)),
            "fromparents": np.asarray(parents, np.int64),
            "length": len(words),
            "stringdata": data,
            "stringstarts": offsets[:-1:step].copy(),
            "stringstops": offsets[1::step].copy(),
            "is_stable": stable,
            "is_ascending": ascending,
            "is_local": local,
        }

    for stable in (True, False):
        for ascending in (True, False):
            for local in (True, False):
                flags = f"{stable}, {ascending}, {local}"
                # Unstable and descending, the compiled kernel calls two equal strings each less than the other,
                # which std::sort answers with reads outside of its array.
                make = _words if stable or ascending else _distinct
                for n in (0, 1, 2, 7, 20, 256, 257, 1000, 20000):
                    words = make(c, n)
                    parents = np.sort(c.rng.integers(0, max(n // 5, 1), n))
                    yield f"{n}, {flags}", call(words, parents, stable, ascending, local, n % 2 == 0)
                yield f"one group, {flags}", call(make(c, 400), np.zeros(400), stable, ascending, local)
                parents = np.where(np.arange(400) < 200, 0, np.arange(400))
                yield f"skewed, {flags}", call(make(c, 400), parents, stable, ascending, local)
                parents = c.rng.integers(0, 3, 60)
                yield f"parents not sorted, {flags}", call(make(c, 60), parents, stable, ascending, local)
                if stable or ascending:
                    words = _words(c, 100, "long")
                    yield f"long, {flags}", call(words, np.arange(100) // 20, stable, ascending, local)
                    words = [b"same"] * 100
                    yield f"ties, {flags}", call(words, np.arange(100) // 40, stable, ascending, local)
                    yield (
                        f"empty strings, {flags}",
                        call([b""] * 30, np.arange(30) // 20, stable, ascending, local),
                    )
                    words = _words(c, 200, "nul")
                    yield f"NUL bytes, {flags}", call(words, np.arange(200) // 50, stable, ascending, local)


@generator("awkward_NumpyArray_sort_asstrings_uint8")
def sort(c):
    for ascending in (True, False):
        for stable in (True, False):
            for n in (0, 1, 2, 7, 255, 256, 257, 1500, 20000):
                for kind in _kinds(n):
                    data, offsets = _packed(_words(c, n, kind), n % 3)
                    yield (
                        f"{n} {kind}, {ascending}, {stable}",
                        {
                            "toptr": Out(int(offsets[-1] - offsets[0])),
                            "fromptr": data,
                            "offsets": offsets,
                            "offsetslength": n + 1,
                            "outoffsets": Out(n + 1),
                            "ascending": ascending,
                            "stable": stable,
                        },
                    )


@generator(
    "awkward_NumpyArray_unique_strings",
    # In place: what is after the strings that are kept is left over.
    relevant={"toptr": lambda out: int(out["outoffsets"][int(out["tolength"][0]) - 1])},
)
def unique(c):
    def call(words, start=0):
        data, offsets = _packed(words, start)
        return {
            "toptr": InOut(data),
            "offsets": offsets,
            "offsetslength": len(offsets),
            "outoffsets": Out(len(offsets)),
            "tolength": Out(1),
        }

    for n in (0, 1, 2, 7, 255, 256, 257, 1500, 20000):
        for kind in _kinds(n):
            yield f"{n} {kind}, sorted", call(sorted(_words(c, n, kind)))
        yield f"{n}, not sorted", call(_words(c, n))
        yield f"{n}, from 3", call(sorted(_words(c, n)), 3)
    yield "all the same", call([b"same"] * 500)
    yield "no two the same", call(sorted(_distinct(c, 500)))
    yield (
        "same length",
        call(sorted(_words(c, 1)[0].ljust(5, b"a") + bytes([97 + i % 3]) for i in range(300))),
    )


def _texts(c):
    """Valid UTF-8: a name, the bytes, the offsets. Characters of one to four bytes."""
    pool = [
        "a",
        "z",
        "\x00",
        "\x7f",
        "\x80",
        "é",
        "\u07ff",
        "\u0800",
        "€",
        "\uffff",
        "\U00010000",
        "😀",
        "\U0010ffff",
    ]
    for n in LENGTHS:
        ends = np.cumsum(c.rng.integers(0, 9, n)).tolist()
        text = "".join([pool[i] for i in c.rng.integers(0, len(pool), ends[-1] if n else 0).tolist()])
        words = [text[start:stop].encode() for start, stop in zip([0, *ends], ends)]
        yield f"{n}", *_packed(words, n % 3)
    for char in ("a", "é", "€", "😀"):
        yield f"only {len(char.encode())} bytes", *_packed([char.encode() * (i % 4) for i in range(300)])
    yield "empty strings", *_packed([b""] * 30)
    yield "skewed", *_packed([b"a", "é€😀".encode() * 500, b"", b"bc"])
    # Only the first byte of a character is looked at.
    yield "unchecked continuation bytes", *_packed([b"\xc3A", b"\xe2\xff\x00", b"\xf0abc", b"x"])


def _codepoints(data, offsets):
    """Characters per string, from the first byte of each."""
    data, offsets, out = data.tolist(), offsets.tolist(), []
    for start, stop in zip(offsets[:-1], offsets[1:]):
        n, i = 0, start
        while i < stop:
            byte = data[i]
            i += 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            n += 1
        out.append(n)
    return out


@generator("awkward_NumpyArray_prepare_utf8_to_utf32_padded")
def prepare_utf32(c):
    # A byte that starts no character makes the compiled kernel loop forever.
    for name, data, offsets in _texts(c):
        yield (
            name,
            {
                "fromptr": data,
                "fromoffsets": offsets.astype(c.dtype("fromoffsets")),
                "offsetslength": len(offsets),
                "outmaxcodepoints": Out(1),
            },
        )


@generator("awkward_NumpyArray_utf8_to_utf32_padded")
def utf32(c):
    def call(data, offsets, most):
        return {
            "fromptr": data,
            "fromoffsets": offsets.astype(c.dtype("fromoffsets")),
            "offsetslength": len(offsets),
            "maxcodepoints": most,
            "toptr": Out(most * (len(offsets) - 1)),
        }

    for name, data, offsets in _texts(c):
        most = max(_codepoints(data, offsets), default=0)
        yield name, call(data, offsets, most)
        if len(offsets) < 1000:
            yield f"{name}, more room", call(data, offsets, most + 3)
    for byte in (0x80, 0xBF, 0xF8, 0xFF):
        for name, n, where in c.places():
            words = [b"a\xc3\xa9b" for _ in range(n)]
            for i in where:
                words[i] = b"a%cb" % byte
            data, offsets = _packed(words)
            yield f"byte {byte:#x}, {name}", call(data, offsets, 4)
    words = [b"abc"] * 600
    words[400], words[200] = b"\xff", b"ab\x81"
    yield "which attempt", call(*_packed(words), 3)


@generator("awkward_NumpyArray_pad_zero_to_length")
def pad_zero(c):
    for n in (0, 1, 7, 255, 256, 257, 1500, 20000):
        for kind in _kinds(n):
            words = _words(c, n, kind)
            data, offsets = _packed(words, n % 3)
            most = max(map(len, words), default=0)
            for target in (most, most + 3):
                yield (
                    f"{n} {kind}, target {target}",
                    {
                        "fromptr": data,
                        "fromoffsets": offsets.astype(c.dtype("fromoffsets")),
                        "offsetslength": n + 1,
                        "target": target,
                        "toptr": Out(n * target),
                    },
                )
