/* SPDX-License-Identifier: GPL-2.0-only */
/* Complete reads and writes at an offset, and the free space of a file system. Never logs. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Writes or reads all size_bytes. Returns 0 or -errno; -ENODATA: the file ends before that. */
int file_bytes_write(int fd, const uint8_t *bytes, size_t size_bytes, uint64_t offset);
/* Modifies parts; count is at most IOV_MAX. */
int file_bytes_write_parts(int fd, struct iovec *parts, int count, uint64_t offset);
int file_bytes_read(int fd, uint8_t *ret_bytes, size_t size_bytes, uint64_t offset);

/*
 * Bytes that may still be written to the file system of fd. Reserves space for its other users: 5 %
 * of its size, but at most 1 GiB. Returns UINT64_MAX if the free space is not known.
 */
uint64_t file_bytes_room(int fd);
