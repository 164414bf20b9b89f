"""The records of a batch, compressed and back. Only gzip is in Python; the others are cramjam's, where it is installed.

Snappy's framing is that of xerial's snappy-java: a header, then blocks of raw snappy, each with its length before it. A
raw block without a header is read, too, as Kafka does.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from tidemark.log.formats.errors import Malformed, Unwritable

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
"""Kafka's name of each compression type, by its number in a batch's attributes."""
MOST = 2**31 - 1
"""Bytes of a batch's records at most: Kafka counts them in 32 bits."""
LIBRARY = "cramjam"

_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_VERSION = Struct(">ii").pack(1, 1)
_LENGTH = Struct(">i")
_BLOCK = 32 * 1024
"""Bytes of a block before it is compressed, as snappy-java writes it."""
_GROWTH = 22
"""Raw snappy makes 64 bytes of 3 at best."""

_LZ4_HEADER = bytes.fromhex("04224d18604082")
"""Of a frame: its magic number; version 1 with independent blocks; blocks of 64 KiB; a checksum of the latter two."""
_LZ4_BLOCK, _LZ4_AS_IT_IS = 1 << 16, 1 << 31
_LZ4_LENGTH = Struct("<I")


class LibraryAbsent(ImportError):
    """Records are compressed with a type that needs cramjam, which is not installed."""


class _Codec(NamedTuple):
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


def compress(codec: int, data: bytes) -> bytes:
    """Raises LibraryAbsent; Unwritable for a type that does not exist."""
    if codec not in _CODECS:
        raise Unwritable(f"there is no compression type {codec}")
    return _CODECS[codec].compress(data)


def decompress(codec: int, data: bytes | memoryview) -> bytes | memoryview:
    """Raises Malformed, its position in `data`, and LibraryAbsent."""
    if codec == NONE:
        return data
    if codec not in _CODECS:
        raise Malformed(0, f"there is no compression type {codec}")
    try:
        plain = _CODECS[codec].decompress(bytes(data))
    except (zlib.error, _failures()) as problem:
        raise Malformed(0, f"{NAMES[codec]} cannot decompress it ({problem})") from None
    if len(plain) > MOST:
        raise Malformed(0, f"{NAMES[codec]} makes {len(plain):,} bytes of it, and Kafka takes {MOST:,} at most")
    return plain


def _library() -> Any:
    try:
        import cramjam
    except ModuleNotFoundError:
        raise LibraryAbsent(LIBRARY) from None
    return cramjam


def _failures() -> type[Exception]:
    try:
        failure: type[Exception] = _library().DecompressionError
    except LibraryAbsent:
        return zlib.error
    return failure


def _gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def _gunzip(data: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    plain = unpacker.decompress(data, MOST + 1)
    if not unpacker.eof and len(plain) <= MOST:
        raise Malformed(len(data), "the gzip stream does not end")
    return plain


def _xerial(data: bytes) -> bytes:
    blocks = (data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK))
    packed = (bytes(_library().snappy.compress_raw(block)) for block in blocks)
    return _XERIAL + _XERIAL_VERSION + b"".join(_LENGTH.pack(len(one)) + one for one in packed)


def _from_xerial(data: bytes) -> bytes:
    if not data.startswith(_XERIAL):
        return _raw_snappy(data, 0)
    plain, at = [], len(_XERIAL) + len(_XERIAL_VERSION)
    while at < len(data):
        begin = at + _LENGTH.size
        length = int.from_bytes(data[at:begin], signed=True)
        if not 0 < length <= len(data) - begin:
            raise Malformed(at, f"a block of snappy has {length} bytes, and {max(0, len(data) - begin)} are left")
        plain.append(_raw_snappy(data[begin : begin + length], begin))
        at = begin + length
    return b"".join(plain)


def _raw_snappy(block: bytes, at: int) -> bytes:
    """`at`: where the block begins. Its own header says how much it becomes, which is held against its size."""
    snappy = _library().snappy
    if (size := snappy.decompress_raw_len(block)) > _GROWTH * len(block):
        raise Malformed(at, f"a block of snappy claims to become {size:,} bytes, and has {len(block):,}")
    return bytes(snappy.decompress_raw(block))


def _lz4_frame(data: bytes) -> bytes:
    """Independent blocks: Kafka's reader refuses blocks that refer to those before them."""
    frame = bytearray(_LZ4_HEADER)
    for at in range(0, len(data), _LZ4_BLOCK):
        plain = data[at : at + _LZ4_BLOCK]
        packed = bytes(_library().lz4.compress_block(plain, store_size=False))
        if len(packed) < len(plain):
            frame += _LZ4_LENGTH.pack(len(packed)) + packed
        else:
            frame += _LZ4_LENGTH.pack(len(plain) | _LZ4_AS_IT_IS) + plain
    return bytes(frame + _LZ4_LENGTH.pack(0))


_CODECS = {
    NONE: _Codec(bytes, bytes),
    GZIP: _Codec(_gzip, _gunzip),
    SNAPPY: _Codec(_xerial, _from_xerial),
    LZ4: _Codec(_lz4_frame, lambda data: bytes(_library().lz4.decompress(data))),
    ZSTD: _Codec(
        lambda data: bytes(_library().zstd.compress(data)), lambda data: bytes(_library().zstd.decompress(data))
    ),
}
