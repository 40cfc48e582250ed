#include "record/entry_scan.h"

#include <errno.h>

#include "base/clock.h"
#include "record/value_scan.h"

/* The first bytes of every entry, so that a file of something else is refused at byte 0. */
static int scan_head(const uint8_t *bytes, size_t available_bytes)
{
	static const uint8_t head[] = { 0x92, 0xd7, 0x00 };
	uint8_t mark;

	for (size_t i = 0; i < sizeof(head) && i < available_bytes; i++) {
		if (bytes[i] != head[i])
			return -EBADMSG;
	}
	if (available_bytes <= 1 + ENTRY_TIME_BYTES)
		return -EAGAIN;
	mark = bytes[1 + ENTRY_TIME_BYTES];
	return (mark & 0xf0) == 0x80 || mark == 0xde || mark == 0xdf ? 0 : -EBADMSG;
}

int entry_scan(const uint8_t *bytes, size_t available_bytes, size_t *ret_entry_bytes)
{
	const size_t head_bytes = 1 + ENTRY_TIME_BYTES;
	const struct value_limits limits = {
		.bytes_max = ENTRY_BYTES_MAX - head_bytes,
		.depth_max = ENTRY_DEPTH_MAX - 1,
		.values_max = ENTRY_VALUES_MAX,
	};
	size_t map_bytes;
	int r = scan_head(bytes, available_bytes);

	if (r == 0)
		r = value_scan(bytes + head_bytes, available_bytes - head_bytes, &limits,
			       &map_bytes);
	if (r < 0)
		return r;
	*ret_entry_bytes = head_bytes + map_bytes;
	return 0;
}

static uint64_t read_u32(const uint8_t *bytes)
{
	return (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 8 |
	       bytes[3];
}

uint64_t entry_time_ns(const uint8_t *entry)
{
	const uint8_t *time = entry + 3; /* 92 d7 00, as in scan_head */

	return read_u32(time) * NS_PER_S + read_u32(time + 4);
}
