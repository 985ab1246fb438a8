"""`python -m tests.verifier.canonical_texts`: texts of JSON and their canonical form, into `tests/vectors/canonical.jsonl`."""

import json
from collections.abc import Iterator

from tests.verifier.served import VECTORS, Vector

FROZEN = VECTORS / "canonical.jsonl"
CANONICAL: tuple[tuple[str, bytes], ...] = (
    ("empty_object", b"{}"),
    ("keys_in_order", b'{"A":1,"a":2,"aa":3}'),
    ("keys_in_order_at_every_level", b'{"a":[{"b":1,"c":2}],"d":{"e":null,"f":true}}'),
    ("escaped_beyond_ascii", b'{"name":"K\\u00f6ln"}'),
    ("escaped_surrogate_pair", b'"\\ud83d\\ude00"'),
    ("short_escapes", b'"\\"\\\\\\b\\f\\n\\r\\t"'),
    ("fraction", b"[0.5,-1.25,100.0]"),
    ("integer_beyond_a_double", b"9007199254740993"),
    ("levels_at_the_limit", b"[" * 64 + b"]" * 64),
    ("digits_at_the_limit", b"1" * 1000),
)
# Name, text, and the canonical form of its value: the text itself is never the one that is signed.
OTHERWISE_WRITTEN: tuple[tuple[str, bytes, bytes], ...] = (
    ("keys_out_of_order", b'{"b":1,"a":2}', b'{"a":2,"b":1}'),
    ("inner_keys_out_of_order", b'[{"b":1,"a":2}]', b'[{"a":2,"b":1}]'),
    ("blank_after_the_separator", b'{"a": 1}', b'{"a":1}'),
    ("newline_at_the_end", b'{"a":1}\n', b'{"a":1}'),
    ("unescaped_beyond_ascii", '"K\u00f6ln"'.encode(), b'"K\\u00f6ln"'),
    ("escape_in_capitals", b'"\\u00F6"', b'"\\u00f6"'),
    ("needless_escape", b'"\\u0061\\/"', b'"a/"'),
    ("fraction_with_a_zero_more", b"0.50", b"0.5"),
    ("exponent_in_capitals", b"5E-1", b"0.5"),
)
REFUSED: tuple[tuple[str, bytes], ...] = (
    ("nothing", b""),
    ("cut_off", b'{"a":1'),
    ("text_after_the_end", b"{}{}"),
    ("comma_at_the_end", b"[1,]"),
    ("single_quotes", b"{'a':1}"),
    ("member_twice", b'{"a":1,"a":1}'),
    ("member_twice_by_an_escape", b'{"a":1,"\\u0061":2}'),
    ("inner_member_twice", b'[{"a":{"b":1,"b":2}}]'),
    ("first_half_of_a_surrogate_pair", b'"\\ud83d"'),
    ("second_half_of_a_surrogate_pair", b'"\\ude00"'),
    ("halves_in_the_wrong_order", b'"\\ude00\\ud83d"'),
    ("half_of_a_surrogate_pair_in_a_key", b'{"\\ud83d":1}'),
    ("half_of_a_surrogate_pair_as_bytes", b'"\xed\xa0\xbd"'),
    ("no_utf8", b'"\xff"'),
    ("byte_order_mark", b"\xef\xbb\xbf{}"),
    ("unescaped_newline", b'"a\nb"'),
    ("nan", b'{"a":NaN}'),
    ("infinity", b"[Infinity]"),
    ("infinity_below_zero", b"[-Infinity]"),
    ("number_out_of_range", b"1e400"),
    ("number_that_no_double_holds", b"0.1234567890123456789"),
    ("zero_before_a_number", b"01"),
    ("digits_beyond_the_limit", b"1" * 1001),
    ("levels_beyond_the_limit", b"[" * 65 + b"]" * 65),
)


def frozen() -> Iterator[Vector]:
    """Every text in hexadecimal, with its canonical form where its value has one."""
    for name, text in CANONICAL:
        yield {"name": name, "text": text.hex(), "canonical": text.decode(), "expect": "verified"}
    for name, text, form in OTHERWISE_WRITTEN:
        yield {"name": name, "text": text.hex(), "canonical": form.decode(), "expect": "not_canonical"}
    for name, text in REFUSED:
        yield {"name": name, "text": text.hex(), "canonical": None, "expect": "unreadable"}


if __name__ == "__main__":
    FROZEN.write_text("".join(json.dumps(one) + "\n" for one in frozen()))
