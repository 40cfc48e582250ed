/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording of unknown origin, as `correlator report` reads, adds up and prints it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "reader/aggregate/totals.h"
#include "reader/report/totals_view.h"
#include "record/entry_scan.h"
#include "record/library_view.h"
#include "record/record_reader.h"
#include "record/record_shape.h"

static void print_report(const struct totals *totals, const char *path)
{
	struct input_file file = { .name = path };
	struct view_options options = {
		.sort = FIGURE_CPU, .top_count = 5, .width = 80, .files = &file, .file_count = 1
	};
	FILE *nowhere = fopen("/dev/null", "we");

	FUZZ_REQUIRE(nowhere);
	for (int format = 0; format < _FORMAT_MAX; format++) {
		options.format = (enum output_format)format;
		FUZZ_REQUIRE(totals_view_print(totals, &options, nowhere) == 0);
	}
	(void)fclose(nowhere);
}

static void read_all(const char *path, size_t size_bytes)
{
	static const char *const keys[] = { "request_id", "endpoint" };
	static struct record_view view;
	struct record_reader *reader = NULL;
	struct totals totals = { 0 };
	uint64_t count = 0;
	int r;

	FUZZ_REQUIRE(totals_init(&totals, keys, 2) == 0);
	FUZZ_REQUIRE(record_reader_open(path, &reader) == 0);
	while ((r = record_reader_next(reader, &view)) > 0) {
		FUZZ_REQUIRE(++count <= size_bytes);
		r = totals_add(&totals, &view);
		if (r == -EBADMSG)
			record_reader_drop(reader, "damaged");
		else if (r < 0)
			break;
	}
	record_reader_free(reader);
	if (r == 0) {
		totals_finish(&totals);
		print_report(&totals, path);
	}
	totals_deinit(&totals);
}

/* Each step goes forward, and a part of the bytes never says more than all of them. */
static void search_all(const uint8_t *data, size_t size_bytes)
{
	size_t passed_bytes, part_bytes;

	for (size_t offset = 0; offset < size_bytes; offset += passed_bytes) {
		size_t left_bytes = size_bytes - offset;
		int r = entry_search(data + offset, left_bytes, true, &passed_bytes);

		if (r == -EAGAIN)
			return;
		FUZZ_REQUIRE(passed_bytes > 0 && passed_bytes <= left_bytes);
		if (entry_search(data + offset, left_bytes / 2, false, &part_bytes) == 0)
			FUZZ_REQUIRE(r == 0 && part_bytes == passed_bytes);
	}
}

/* What is decoded is an entry to its end, and says what the library says. */
static void decode(const uint8_t *data, size_t size_bytes)
{
	static struct record_view view;
	bool is_near = size_bytes <= ENTRY_NEAR_BYTES;
	size_t entry_bytes = 0;
	bool is_entry = entry_scan(data, size_bytes, &entry_bytes) == 0;

	if ((!is_entry && !is_near) ||
	    record_view_decode(data, is_near ? size_bytes : entry_bytes, &view) < 0)
		return;
	FUZZ_REQUIRE(is_entry && entry_bytes == view.entry_bytes);
	FUZZ_REQUIRE(is_view_of_library(&view, data));
}

static bool is_same_text(struct record_text a, struct record_text b)
{
	return a.size_bytes == b.size_bytes && (a.size_bytes == 0 || a.bytes == b.bytes);
}

static bool is_same_field(const struct record_field *a, const struct record_field *b)
{
	bool is_same = is_same_text(a->name, b->name) && a->value == b->value &&
		       a->is_key == b->is_key && a->integer == b->integer &&
		       is_same_text(a->text, b->text) && a->item_count == b->item_count;

	for (size_t i = 0; is_same && i < a->item_count; i++)
		is_same = is_same_text(a->items[i], b->items[i]);
	return is_same;
}

static bool is_same_view(const struct record_view *a, const struct record_view *b)
{
	bool is_same = a->wall_ns == b->wall_ns && a->entry_bytes == b->entry_bytes &&
		       a->kind == b->kind && a->field_count == b->field_count &&
		       a->item_count == b->item_count &&
		       memcmp(&a->places, &b->places, sizeof(a->places)) == 0;

	for (size_t i = 0; is_same && i < a->field_count; i++)
		is_same = is_same_field(&a->fields[i], &b->fields[i]);
	return is_same;
}

/* A record says the same whatever was decoded before it. */
static void decode_in_turn(const uint8_t *data, size_t size_bytes)
{
	static struct record_view alone, behind;
	struct record_shapes shapes = { 0 };
	size_t step_bytes;

	for (size_t offset = 0; offset < size_bytes; offset += step_bytes) {
		size_t left_bytes = size_bytes - offset;
		size_t available_bytes =
			left_bytes < ENTRY_NEAR_BYTES ? left_bytes : ENTRY_NEAR_BYTES;
		int r;

		if (entry_scan(data + offset, left_bytes, &step_bytes) == 0)
			available_bytes = step_bytes;
		else if (entry_search(data + offset, left_bytes, true, &step_bytes) == -EAGAIN)
			step_bytes = left_bytes;
		r = record_view_decode(data + offset, available_bytes, &alone);
		FUZZ_REQUIRE(record_view_decode_next(data + offset, available_bytes, &shapes,
						     &behind) == r);
		FUZZ_REQUIRE(r < 0 || is_same_view(&alone, &behind));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	size_t entry_bytes;
	char path[64];

	FUZZ_REQUIRE(fd >= 0 && write(fd, data, size_bytes) == (ssize_t)size_bytes);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (entry_scan(data, size_bytes, &entry_bytes) == 0)
		FUZZ_REQUIRE(entry_bytes > 0 && entry_bytes <= size_bytes);
	decode(data, size_bytes);
	decode_in_turn(data, size_bytes);
	search_all(data, size_bytes);
	read_all(path, size_bytes);
	(void)close(fd);
	return 0;
}
