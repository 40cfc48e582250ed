# SPDX-License-Identifier: GPL-2.0-only
"""Recordings with checks (correlator/record/check.h), by Python alone."""
import msgpack

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def check(data, entry):
    """The check of these bytes, with the time of an entry."""
    begin = (entry[:11] + b"\xde\x00\x04" + b"".join(map(msgpack.packb, ("schema", 1, "kind", "check", "bytes")))
             + b"\xce" + len(data).to_bytes(4, "big") + msgpack.packb("crc32c") + b"\xce")
    return begin + crc32c(data + begin).to_bytes(4, "big")


def recording(*spans):
    """As a recorder writes it; each span: entries that are written at once."""
    return check(b"", spans[0][0]) + b"".join(
        b"".join(span) + check(b"".join(span), span[0]) for span in spans)
