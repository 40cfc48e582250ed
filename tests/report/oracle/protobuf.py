# SPDX-License-Identifier: GPL-2.0-only
"""Messages of Protocol Buffers, as far as the exports need it."""


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def read_message(data):
    """The fields of a message of Protocol Buffers, as (number, value)."""
    fields, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            length, at = (8, at) if tag & 7 == 1 else read_varint(data, at)
            value, at = data[at:at + length], at + length
        fields.append((tag >> 3, value))
    return fields


def numbers_of(fields, number):
    """Of a repeated field, packed or not."""
    numbers = []
    for at, value in fields:
        if at != number:
            continue
        place = 0
        while not isinstance(value, int) and place < len(value):
            one, place = read_varint(value, place)
            numbers.append(one)
        numbers += [value] if isinstance(value, int) else []
    return numbers


def first_of(fields, number, otherwise=0):
    return next((value for at, value in fields if at == number), otherwise)
