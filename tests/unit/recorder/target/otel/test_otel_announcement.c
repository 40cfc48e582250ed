/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/otel/otel_announcement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/log.h"
#include "recorder/target/forged_memory.h"
#include "recorder/target/forged_otel.h"
#include "recorder/target/otel/otel_process_context.h"

/* A process that publishes a context, and may do it anew while it is read. */
struct process {
	struct forged_memory memory;
	uint64_t header;
	uint64_t payload;
	unsigned int renewals; /* readings of the payload after which the header is another one */
	struct memory_map map;
};

static const char *const wanted[] = { "trace_id", "user", NULL, "http.route" };
static const char *const names[] = { "http.route", "user", "http.route" };

static void set_published(struct process *process, uint64_t published_ns)
{
	forged_write_u64(&process->memory, process->header + 16, published_ns);
}

static int read_process(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	struct process *process = (struct process *)reader->context;
	struct memory_reader inner = forged_reader(&process->memory);
	uint64_t published_ns = 0;

	if (address == process->payload && process->renewals) {
		process->renewals--;
		(void)memory_read_u64(&inner, process->header + 16, &published_ns);
		set_published(process, published_ns + 1);
	}
	return memory_read(&inner, address, buffer, size_bytes);
}

static struct memory_reader reader_of(struct process *process)
{
	return (struct memory_reader){ .read = read_process, .context = process };
}

static void publish(struct process *process, uint32_t version, const char *schema, size_t count,
		    uint64_t published_ns)
{
	static struct forged_message message;
	const uint32_t words[] = { version, 0 };

	forged_process_context(&message, schema, names, count);
	forged_write(&process->memory, process->payload, message.bytes, message.size_bytes);
	forged_write(&process->memory, process->header, "OTEL_CTX", 8);
	forged_write(&process->memory, process->header + 8, words, sizeof(words));
	forged_write(&process->memory, process->header + 12,
		     &(uint32_t){ (uint32_t)message.size_bytes }, sizeof(uint32_t));
	set_published(process, published_ns);
	forged_write_u64(&process->memory, process->header + 24, process->payload);
}

static int set_up(void **state)
{
	static struct process process;
	char text[128];

	memset(&process, 0, sizeof(process));
	process.header = forged_take(&process.memory, 4096);
	process.payload = forged_take(&process.memory, FORGED_MESSAGE_BYTES);
	(void)snprintf(text, sizeof(text), "%llx-%llx rw-p 00000000 00:00 0 [anon:OTEL_CTX]\n",
		       (unsigned long long)process.header,
		       (unsigned long long)process.header + 4096);
	*state = &process;
	log_set_level(LOG_LEVEL_ERROR);
	return memory_map_parse(text, strlen(text), &process.map);
}

static int tear_down(void **state)
{
	struct process *process = *state;

	memory_map_deinit(&process->map);
	return 0;
}

static int look(struct process *process, struct otel_announcement *announcement)
{
	struct memory_reader reader = reader_of(process);

	return otel_announcement_look(announcement, &process->map, &reader);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(announcement_maps_names_to_indexes)
{
	struct otel_announcement announcement;

	otel_announcement_init(&announcement, wanted, 4);
	assert_int_equal(announcement.names_missing, 2);
	publish(*state, 2, "tls_v1", 1, 7);
	assert_int_equal(look(*state, &announcement), 1);
	assert_int_equal(announcement.state, OTEL_ANNOUNCEMENT_READ);
	assert_int_equal(announcement.index_count, 1);
	assert_int_equal(announcement.names_missing, 1);
	assert_int_equal(announcement.key_of_index[0], 4);
	assert_string_equal(announcement.service_name, "shop");
	/* Nothing new. */
	assert_int_equal(look(*state, &announcement), 0);
	/* Appended; one name twice. */
	publish(*state, 2, "tlsdesc_v1_dev", 3, 8);
	assert_int_equal(look(*state, &announcement), 1);
	assert_int_equal(announcement.names_missing, 0);
	assert_int_equal(announcement.key_of_index[0], 4);
	assert_int_equal(announcement.key_of_index[1], 2);
	assert_int_equal(announcement.key_of_index[2], 4);
}

FIXTURE_TEST(announcement_rereads_header_changed_while_read)
{
	struct process *process = *state;
	struct otel_announcement announcement;

	otel_announcement_init(&announcement, wanted, 4);
	publish(process, 2, "tls_v1", 2, 7);
	process->renewals = 2;
	assert_int_equal(look(process, &announcement), 1);
	assert_int_equal(announcement.published_ns, 9);
	/* For ever: not read, and no endless loop. */
	publish(process, 2, "tls_v1", 1, 20);
	process->renewals = UINT_MAX;
	assert_int_equal(look(process, &announcement), 0);
	assert_int_equal(announcement.published_ns, 9);
	assert_int_equal(announcement.index_count, 2);
}

FIXTURE_TEST(announcement_skips_header_being_changed)
{
	struct memory_reader reader = reader_of(*state);
	struct otel_announcement announcement;

	otel_announcement_init(&announcement, wanted, 4);
	publish(*state, 2, "tls_v1", 2, 7);
	assert_false(otel_announcement_has_changed(&announcement, &reader));
	assert_int_equal(look(*state, &announcement), 1);
	assert_false(otel_announcement_has_changed(&announcement, &reader));
	set_published(*state, 0);
	assert_true(otel_announcement_has_changed(&announcement, &reader));
	assert_int_equal(look(*state, &announcement), 0);
	assert_int_equal(announcement.state, OTEL_ANNOUNCEMENT_READ);
}

FIXTURE_TEST(announcement_refuses_unknown_versions)
{
	struct otel_announcement announcement;

	otel_announcement_init(&announcement, wanted, 4);
	publish(*state, 3, "tls_v1", 2, 7);
	assert_int_equal(look(*state, &announcement), 1);
	assert_int_equal(announcement.state, OTEL_ANNOUNCEMENT_REFUSED);
	assert_int_equal(look(*state, &announcement), 0);
	publish(*state, 2, "tls_v1", 2, 7);
	assert_int_equal(look(*state, &announcement), 1);
	assert_int_equal(announcement.state, OTEL_ANNOUNCEMENT_READ);
	publish(*state, 2, "tls_v2\n", 2, 8);
	assert_int_equal(look(*state, &announcement), 1);
	assert_int_equal(announcement.state, OTEL_ANNOUNCEMENT_REFUSED);
	assert_string_equal(announcement.schema_version, "tls_v2\\x0a");
}

static int read_nothing(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	(void)address;
	(void)buffer;
	(void)size_bytes;
	return *(const int *)reader->context;
}

FIXTURE_TEST(announcement_returns_only_fatal_read_errors)
{
	static const struct {
		int error, result;
	} cases[] = { { -ESRCH, -ESRCH }, { -EPERM, -EPERM }, { -ENOMEM, -ENOMEM },
		      { -EFAULT, 0 },	  { -EAGAIN, 0 },     { -ETIMEDOUT, 0 } };
	const struct memory_map empty = { 0 };
	struct process *process = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct otel_announcement announcement;
		struct memory_reader reader = { .read = read_nothing, .context = &cases[i].error };

		otel_announcement_init(&announcement, wanted, 4);
		assert_int_equal(otel_announcement_look(&announcement, &process->map, &reader),
				 cases[i].result);
		assert_true(otel_announcement_has_changed(&announcement, &reader));
		/* Where nothing is announced, nothing is read. */
		assert_int_equal(otel_announcement_look(&announcement, &empty, &reader), 0);
	}
}

FIXTURE_TEST(announcement_header_is_found_by_mapping_name)
{
	static const struct {
		const char *path;
		bool is_header;
	} cases[] = { { "[anon:OTEL_CTX]", true },   { "[anon_shmem:OTEL_CTX]", true },
		      { "/memfd:OTEL_CTX", true },   { "/memfd:OTEL_CTX (deleted)", true },
		      { "[anon:OTEL_CTY]", false },  { "/srv/memfd:OTEL_CTX", false },
		      { "[anon_shmem:OTEL]", false } };
	struct process *process = *state;
	struct memory_reader reader = reader_of(process);

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct memory_map_entry entries[] = {
			{ .start = 0x1000, .path = "" },
			{ .start = process->header, .path = cases[i].path },
			{ .start = 0x1000, .path = "[anon:OTEL_CTX]" },
		};
		const struct memory_map map = { .entries = entries, .count = 2 };
		struct otel_announcement announcement;

		publish(process, 2, "tls_v1", 1, 7);
		otel_announcement_init(&announcement, wanted, 4);
		assert_int_equal(otel_announcement_look(&announcement, &map, &reader),
				 cases[i].is_header);
		assert_int_equal(announcement.header_address,
				 cases[i].is_header ? process->header : 0);
		if (!cases[i].is_header)
			assert_false(otel_announcement_has_changed(&announcement, &reader));
	}
}

FIXTURE_TEST(announcement_keeps_service_attributes)
{
	struct otel_announcement announcement;

	otel_announcement_init(&announcement, wanted, 4);
	publish(*state, 2, "tls_v1", 1, 7);
	assert_int_equal(look(*state, &announcement), 1);
	assert_string_equal(announcement.schema_version, "tls_v1");
	assert_string_equal(announcement.service_name, "shop");
	assert_string_equal(announcement.service_instance_id, "shop-7");
	assert_string_equal(announcement.environment_name, "staging");
	assert_int_equal(announcement.published_ns, 7);
}

FIXTURE_TEST(announcement_logs_refusal_three_times_at_most)
{
	struct otel_announcement announcement;
	int saved = dup(STDERR_FILENO), fds[2], lines = 0;
	char text[4096] = "";

	otel_announcement_init(&announcement, wanted, 4);
	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	log_set_level(LOG_LEVEL_WARNING);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	for (uint64_t i = 0; i < 5; i++) {
		publish(*state, 2, "tls_v2", 1, 7 + i);
		assert_int_equal(look(*state, &announcement), 1);
	}
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	for (const char *at = text; (at = strstr(at, "of the schema `tls_v2`")); at++)
		lines++;
	assert_int_equal(lines, 3);
	(void)close(saved);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

FIXTURE_TEST(announcement_ignores_damaged_context)
{
	struct process *process = *state;
	struct otel_announcement announcement;

	otel_announcement_init(&announcement, wanted, 4);
	/* A payload that is not there. */
	publish(process, 2, "tls_v1", 2, 7);
	forged_write_u64(&process->memory, process->header + 24, 4096);
	assert_int_equal(look(process, &announcement), 0);
	/* One that is no protobuf. */
	publish(process, 2, "tls_v1", 2, 8);
	forged_write(&process->memory, process->payload, "\x0b", 1);
	assert_int_equal(look(process, &announcement), 0);
	assert_int_equal(announcement.state, OTEL_ANNOUNCEMENT_MISSING);
	/* A header that is not there. */
	process->memory.hole = process->header & ~UINT64_C(4095);
	assert_int_equal(look(process, &announcement), 0);
	assert_int_equal(announcement.names_missing, 2);
}
