/* SPDX-License-Identifier: GPL-2.0-only */
/* Whole reads and writes at an offset, and how much a disk may still take. Never logs. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Writes or reads all of it: 0, or -errno; -ENODATA: there is less to read. */
int file_bytes_write(int fd, const uint8_t *bytes, size_t size_bytes, uint64_t offset);
/* Changes the parts, at most IOV_MAX. */
int file_bytes_write_parts(int fd, struct iovec *parts, int count, uint64_t offset);
int file_bytes_read(int fd, uint8_t *ret_bytes, size_t size_bytes, uint64_t offset);

/*
 * Bytes that may still go to the file system of fd. A part of it stays free for its other users:
 * 5 % of its size, but not more than 1 GiB. What cannot be told is taken for room enough.
 */
uint64_t file_bytes_room(int fd);
