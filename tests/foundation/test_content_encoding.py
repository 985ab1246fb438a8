"""Content in two parts of which the first is compressed once."""

import gzip

from hypothesis import given
from hypothesis import strategies as st

from hansa.foundation.plumbing.web.content_encoding import compressed_after


@given(st.binary(max_size=3000), st.lists(st.binary(max_size=3000), min_size=1, max_size=3))
def test_two_parts_are_one_gzip_of_the_whole_and_share_their_beginning(beginning, rests):
    packed = [compressed_after(beginning, rest) for rest in rests]
    assert [gzip.decompress(first + second) for first, second in packed] == [
        beginning + rest for rest in rests
    ]
    assert len({id(first) for first, _ in packed}) == 1


def test_many_beginnings_are_forgotten_again():
    for number in range(100):
        first, second = compressed_after(f"beginning {number}".encode(), b"rest")
        assert gzip.decompress(first + second) == f"beginning {number}rest".encode()
