"""Mutations of fuzz inputs: of bytes, with tokens of the language, and of JSON trees. A seed determines the result."""

import json
from random import Random
from typing import Any, Final

ODD_VALUES: Final[tuple[Any, ...]] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**30,
    1e300,
    -0.0,
    0.5,
    "",
    "x",
    "\x00",
    "\ud800",
    "\U0001d535é",
    "1Gi",
    "x" * 300,
    [],
    {},
    [[]],
    [None],
    {"": None},
)
ODD_BYTES: Final = (b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\x85", b"9" * 40, b"\xf0\x9d\x94\xb5")


def mutate(data: bytes, random: Random, words: tuple[bytes, ...] = ()) -> bytes:
    """Return the input with one to four mutations; JSON stays JSON half of the time."""
    for _ in range(random.randint(1, 4)):
        changed = mutate_json(data, random) if random.random() < 0.5 else None
        data = changed if changed is not None else mutate_bytes(data, random, words)
    return data


def mutate_bytes(data: bytes, random: Random, words: tuple[bytes, ...]) -> bytes:
    """Return the bytes with a part inserted, removed, repeated or changed."""
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 2, 8, 32)))
    match random.randrange(5):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start] + data[start:end] * random.choice((2, 3, 50)) + data[end:]
        case 2:
            return data[:start] + random.randbytes(end - start) + data[end:]
        case _:
            return data[:start] + random.choice((*words, *ODD_BYTES)) + data[random.choice((start, end)) :]


def mutate_json(data: bytes, random: Random) -> bytes | None:
    """Return JSON with one value removed, replaced, copied elsewhere or nested; None if the input is not JSON."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places = list(_places(tree))
    if not places:
        return json.dumps(random.choice(ODD_VALUES)).encode()
    holder, step = random.choice(places)
    other, key = random.choice(places)
    match random.randrange(6):
        case 0:
            del holder[step]
        case 1:
            holder[step] = json.loads(json.dumps(other[key]))
        case 2:
            holder[step] = [holder[step]] * random.choice((1, 2, 20))
        case 3 if isinstance(holder, dict):
            holder[random.choice(("", "name", "$patch", "metadata", "f:x", f"{step}s"))] = random.choice(ODD_VALUES)
        case _:
            holder[step] = random.choice(ODD_VALUES)
    return json.dumps(tree).encode()


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Return each container of a tree with each of its keys."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        steps = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        found += [(holder, step) for step in steps]
        waiting += [holder[step] for step in steps]
    return found
