"""A service or registry that sends its client more than it can hold, packed or drop by drop."""

import gzip
from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest

from hansa_client.bounded import async_read_within, read_within

MEBIBYTE = 1024 * 1024


class Dripping(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """A body without an end."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"{"

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b"{"


class Packed(httpx2.AsyncByteStream, httpx2.SyncByteStream):
    """Eight mebibytes of zeros, in parts that arrive one after another."""

    def __init__(self) -> None:
        self._packed = gzip.compress(bytes(8 * MEBIBYTE))
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self:
            yield part

    def __iter__(self) -> Iterator[bytes]:
        for begin in range(0, len(self._packed), 512):
            self.taken += 1
            yield self._packed[begin : begin + 512]


async def _read(response: httpx2.Response, *, is_asynchronous: bool, bytes_max: int, seconds: float) -> None:
    if is_asynchronous:
        await async_read_within(response, bytes_max, seconds)
    else:
        read_within(response, bytes_max, seconds)


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_dripped_body_ends_by_a_total_deadline(is_asynchronous: bool):
    response = httpx2.Response(402, stream=Dripping())
    with pytest.raises(httpx2.ReadTimeout, match="did not end within"):
        await _read(response, is_asynchronous=is_asynchronous, bytes_max=1024 * MEBIBYTE, seconds=0.05)
    assert response.is_closed


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_packed_body_is_given_up_once_it_is_too_large_unpacked(is_asynchronous: bool):
    packed = Packed()
    response = httpx2.Response(402, headers={"Content-Encoding": "gzip"}, stream=packed)
    with pytest.raises(httpx2.DecodingError, match="more than 1048576 bytes"):
        await _read(response, is_asynchronous=is_asynchronous, bytes_max=MEBIBYTE, seconds=60)
    assert packed.taken < 8
    assert response.is_closed


@pytest.mark.parametrize("is_asynchronous", [True, False])
async def test_a_body_within_its_bounds_is_read_whole(is_asynchronous: bool):
    headers = {"Content-Encoding": "gzip"}
    response = httpx2.Response(200, headers=headers, stream=Packed())
    await _read(response, is_asynchronous=is_asynchronous, bytes_max=8 * MEBIBYTE, seconds=60)
    assert response.content == bytes(8 * MEBIBYTE)
