/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/file_bytes.h"

UNIT_TEST_ALONE;

enum {
	FD = 1234, /* of nothing: all that is done with it is done here */
	BYTES = 10,
	PIECE = 3,
	OFFSET = 5000,
};

static struct {
	uint8_t content[BYTES]; /* from OFFSET on */
	int error; /* of the call after the first */
	unsigned int calls;
	struct statvfs system;
	int system_result;
} file;

static int reset(void **state)
{
	(void)state;
	memset(&file, 0, sizeof(file));
	return 0;
}

/* A piece at a time; -1 and file.error, or 0, in the second call. */
static ssize_t move(int fd, void *to, const void *from, size_t size_bytes, off_t offset)
{
	assert_int_equal(fd, FD);
	assert_in_range(offset, OFFSET, OFFSET + BYTES);
	file.calls++;
	if (file.calls == 2 && file.error) {
		/* That nothing was done is no interruption, whatever was one before. */
		errno = file.error > 0 ? file.error : EINTR;
		return file.error > 0 ? -1 : 0;
	}
	if (size_bytes > PIECE)
		size_bytes = PIECE;
	memcpy(to, from, size_bytes);
	return (ssize_t)size_bytes;
}

/* Instead of libc's, the three below. */
ssize_t pwrite(int fd, const void *bytes, size_t size_bytes, off_t offset)
{
	return move(fd, file.content + (offset - OFFSET), bytes, size_bytes, offset);
}

ssize_t pread(int fd, void *ret_bytes, size_t size_bytes, off_t offset)
{
	return move(fd, ret_bytes, file.content + (offset - OFFSET), size_bytes, offset);
}

int fstatvfs(int fd, struct statvfs *ret_system)
{
	assert_int_equal(fd, FD);
	*ret_system = file.system;
	return file.system_result;
}

static const uint8_t digits[BYTES] = "0123456789";

TEST(file_bytes_write_continues_after_short_write_and_eintr)
{
	static const int errors[] = { 0, EINTR };

	for (size_t i = 0; i < 2; i++) {
		(void)reset(state);
		file.error = errors[i];
		assert_int_equal(file_bytes_write(FD, digits, BYTES, OFFSET), 0);
		assert_memory_equal(file.content, digits, BYTES);
		assert_int_equal(file.calls, 4 + i);
	}
}

TEST(file_bytes_read_continues_after_short_read_and_eintr)
{
	static const int errors[] = { 0, EINTR };
	uint8_t bytes[BYTES] = { 0 };

	for (size_t i = 0; i < 2; i++) {
		(void)reset(state);
		file.error = errors[i];
		memcpy(file.content, digits, BYTES);
		assert_int_equal(file_bytes_read(FD, bytes, BYTES, OFFSET), 0);
		assert_memory_equal(bytes, digits, BYTES);
		assert_int_equal(file.calls, 4 + i);
	}
}

/* Also a disk that takes nothing and names no reason, and a file that ends too early. */
TEST(file_bytes_report_error_on_incomplete_transfer)
{
	static const struct {
		int error, written, read;
	} cases[] = { { ENOSPC, -ENOSPC, -ENOSPC }, { EIO, -EIO, -EIO }, { -1, -EIO, -ENODATA } };
	uint8_t bytes[BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)reset(state);
		file.error = cases[i].error;
		assert_int_equal(file_bytes_write(FD, digits, BYTES, OFFSET), cases[i].written);
		assert_int_equal(file.calls, 2);
		(void)reset(state);
		file.error = cases[i].error;
		assert_int_equal(file_bytes_read(FD, bytes, BYTES, OFFSET), cases[i].read);
		assert_int_equal(file.calls, 2);
	}
}

#define GIB (UINT64_C(1) << 30)

/* A twentieth of the disk is for others, or a GiB of a large one. */
TEST_WITH(file_bytes_room_leaves_reserve_on_disk, reset, NULL)
{
	static const struct {
		uint64_t size_bytes, free_bytes, room_bytes;
	} cases[] = {
		{ 20 * 4096, 20 * 4096, 19 * 4096 }, { 20 * 4096, 2 * 4096, 1 * 4096 },
		{ 20 * 4096, 1 * 4096, 0 },	     { 20 * 4096, 0, 0 },
		{ 20 * GIB, 2 * GIB, GIB },	     { 1000 * GIB, 2 * GIB, GIB },
		{ 10 * GIB, GIB, GIB / 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)reset(state);
		/* What only root may use is none. */
		file.system = (struct statvfs){ .f_bsize = 1,
						.f_frsize = 4096,
						.f_blocks = cases[i].size_bytes / 4096,
						.f_bfree = UINT32_MAX,
						.f_bavail = cases[i].free_bytes / 4096 };
		assert_int_equal(file_bytes_room(FD), cases[i].room_bytes);
	}
}

TEST_WITH(file_bytes_room_is_unlimited_if_statvfs_fails, reset, NULL)
{
	file.system_result = -1;
	assert_true(file_bytes_room(FD) == UINT64_MAX);
}
