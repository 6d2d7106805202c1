"""How inputs of readers are changed: extremes in the place of numbers, and of bytes."""

import random
import re
from typing import Final

NUMBER: Final = re.compile(rb"-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b")
EXTREMES: Final = (
    *(b"0", b"-0", b"-0.0", b"-1", b"1e308", b"-1e308", b"1e309", b"5e-324", b"NaN", b"nan", b"Infinity", b"-Infinity"),
    *(b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"-9223372036854775809"),
    *(b"1e18", b"1e19", b"253402300800", b"99999999999999999999999999", b"0x10", b"1_000", "\u0663".encode()),
    *(b"null", b"true", b'""', b"[]", b"{}", b'"\\ud800"', b'"a\\u0000b"', b"\xff", b"\x00"),
)
# In binary formats; nothing stands for any byte.
WORDS: Final = tuple(
    bytes.fromhex(word) for word in ("", "", "00", "ff", "7f", "80", "00000000", "ffffffff", "7fffffff", "ffffff7f")
)


def mutate(data: bytes, chance: random.Random) -> bytes:
    """Put an extreme in the place of a few of the numbers in a text, of a few of the bytes in what is none."""
    if b"\0" in data:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 2, 4, 16))):
            word = chance.choice(WORDS) or chance.randbytes(1)
            place = chance.randrange(len(changed))
            changed[place : place + len(word)] = word
        return bytes(changed)
    found = list(NUMBER.finditer(data))
    for match in sorted(chance.sample(found, min(len(found), chance.randint(1, 3))), key=lambda m: -m.start()):
        data = data[: match.start()] + chance.choice(EXTREMES) + data[match.end() :]
    return data
