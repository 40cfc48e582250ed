/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/syscalls.h"

#include <string.h>

static size_t write_name(const struct record_view *record,
			 char ret_name[static TALLY_NAME_BYTES_MAX])
{
	struct record_text text = { 0 };
	size_t used = 0;

	if (record_view_text_at(record, RECORD_PLACE(syscall, abi), &text) &&
	    text.size_bytes < TALLY_TEXT_BYTES_MAX) {
		memcpy(ret_name, text.bytes, text.size_bytes);
		used = text.size_bytes;
		ret_name[used++] = ' ';
	}
	if (!record_view_text_at(record, RECORD_PLACE(syscall, name), &text))
		text = (struct record_text){ "?", 1 };
	if (text.size_bytes > TALLY_TEXT_BYTES_MAX)
		text.size_bytes = TALLY_TEXT_BYTES_MAX;
	memcpy(ret_name + used, text.bytes, text.size_bytes);
	return used + text.size_bytes;
}

const struct tally_subject syscalls_subject = {
	.kind = RECORD_KIND_SYSCALL,
	.write_name = write_name,
	.number_count = _SYSCALLS_NUMBER_MAX,
	.places = { [SYSCALLS_CALLS] = RECORD_PLACE(syscall, calls),
		    [SYSCALLS_INSIDE_NS] = RECORD_PLACE(syscall, inside_ns) },
	.sort_first = SYSCALLS_CALLS,
	.sort_count = 1,
	.account_place = RECORD_PLACE(cpu, syscalls),
	.lost_field = "syscalls_lost",
};
