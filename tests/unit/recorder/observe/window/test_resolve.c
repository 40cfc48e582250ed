/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/window/resolve.h"

#include "failing_memory.h"
#include "recorder/observe/fake_names.h"
#include "recorder/observe/fake_target.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/ruby/ruby_value.h"

UNIT_TEST_ALONE;

enum {
	PID = FAKE_PID,
	SOME = CONTEXT_HASH_FIRST,
	SYMBOL = 0x4d2,
	END = 5000
};

#define LIFE life_of(PID)

static const struct key_options keys = { .record_names = { "request_id" }, .count = 1 };

static const struct key_options late_keys = { .record_names = { "request_id", "endpoint", "queue" },
					      .count = KEYS_MAX,
					      .late = 1 << 1 };

static void resolve(struct window *window, struct observed_table *processes,
		    struct context_table *contexts)
{
	assert_int_equal(resolve_rows(window, processes, contexts, &fake.session), 0);
}

TEST(resolve_adds_child_from_account_without_fork_event)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	struct observed_table processes = { .keys = &keys };
	struct window window = { .end_ktime_ns = END, .number = 1 };
	struct account_key key = { .context_hash = CONTEXT_HASH_NONE, .life = LIFE };
	struct account account = { .tgid = PID, .image = LIFE + 5, .comm = "child" };
	struct observed *child;

	assert_int_equal(window_init(&window, &keys), 0);
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	/* Of before its exec. */
	account.image = LIFE;
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	resolve(&window, &processes, contexts);
	child = observed_find(&processes, LIFE);
	assert_non_null(child);
	assert_int_equal(HASH_COUNT(processes.processes), 1);
	assert_string_equal(child->comm, "child");
	assert_ptr_equal(window.rows[0].process, &child->books);
	assert_ptr_equal(window.rows[1].process, &child->books);
	assert_int_equal(child->pid, PID);
	assert_int_equal(child->books.pid, PID);
	assert_int_equal(child->image, LIFE + 5);
	assert_int_equal(child->parent_life, 0);
	assert_int_equal(child->parent_pid, 0);
	/* It is looked at, and said to be there when its fork event comes after all. */
	assert_int_equal(observed_next_look(&processes), END);
	assert_false(child->is_announced);
	observed_table_deinit(&processes);
	window_deinit(&window);
}

TEST(resolve_shares_context_between_rows_of_equal_hash)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	const char *const values[] = { "r1" };
	const struct context context = { .hash = SOME, .values = values, .last_window = 1 };
	struct observed_table processes = { .keys = &keys };
	struct window window = { .end_ktime_ns = END, .number = 2 };
	struct account_key key = { .context_hash = SOME, .thread_serial = 1, .life = LIFE };
	struct account account = { .tid = PID, .tgid = PID, .image = LIFE };

	assert_int_equal(context_table_add(contexts, &context, 1), 0);
	assert_int_equal(window_init(&window, &keys), 0);
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	key.thread_serial = 2;
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	key.context_hash = CONTEXT_HASH_UNKNOWN;
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	resolve(&window, &processes, contexts);
	assert_string_equal(window.rows[0].context->values[0], "r1");
	assert_ptr_equal(window.rows[1].context, window.rows[0].context);
	assert_null(window.rows[2].context);
	assert_int_equal(window.rows[0].context->last_window, 2);
	observed_table_deinit(&processes);
	window_deinit(&window);
}

/* The context of a row of the window of that number, with these keys. */
static const struct context *resolve_one(struct context_table *contexts,
					 const struct key_options *with, uint64_t number,
					 uint64_t hash)
{
	struct observed_table processes = { .keys = with };
	struct window window = { .end_ktime_ns = END, .number = number };
	struct account_key key = { .context_hash = hash, .thread_serial = 1, .life = LIFE };
	const struct account account = { .tgid = PID, .image = LIFE };
	const struct context *context;

	assert_int_equal(window_init(&window, with), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(window_add_account(&window, &key, &account), 0);
	resolve(&window, &processes, contexts);
	context = window.rows[0].context;
	assert_ptr_equal(window.rows[1].context, context);
	observed_table_deinit(&processes);
	window_deinit(&window);
	return context;
}

static struct context_snapshot *set_value(struct context_snapshot *snapshot, size_t key,
					  const char *text)
{
	struct context_snapshot other = *publish(SOME + 1, text);

	find_snapshot(SOME + 1)->hash = 0;
	snapshot->values[key] = other.values[0];
	return snapshot;
}

static struct context_snapshot *set_cut(struct context_snapshot *snapshot, size_t key)
{
	char longest[VALUE_BYTES_MAX + 1] = "";

	memset(longest, 'x', VALUE_BYTES_MAX);
	(void)set_value(snapshot, key, longest);
	snapshot->values[key].flags = VALUE_TRUNCATED;
	return snapshot;
}

TEST(resolve_decodes_new_context_and_releases_its_snapshot)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	const struct context *context;

	fake_reset();
	(void)set_value(publish(SOME, "r1"), 2, "mails");
	context = resolve_one(contexts, &late_keys, 3, SOME);
	assert_string_equal(context->values[0], "r1");
	assert_null(context->values[1]);
	assert_string_equal(context->values[2], "mails");
	assert_int_equal(context->last_window, 3);
	assert_int_equal(context->late_hash, 0);
	assert_false(context->is_truncated);
	assert_null(find_snapshot(SOME));
	assert_null(resolve_one(contexts, &late_keys, 3, SOME + 5));
	assert_null(resolve_one(contexts, &late_keys, 3, CONTEXT_HASH_OVERFLOW));
}

TEST(resolve_marks_context_with_cut_value_as_truncated)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();

	fake_reset();
	(void)set_value(set_cut(publish(SOME, "r1"), 0), 2, "mails");
	assert_true(resolve_one(contexts, &late_keys, 3, SOME)->is_truncated);
}

/* A static symbol (special_consts.h): its name is in the process's table. */
static const struct value_snapshot symbol = { .kind = VALUE_KIND_IMMEDIATE,
					      .raw = SYMBOL << 8 | 0xc };

/* What programs of the fake call the symbol with that ID: this, and which one it is. */
static const char *symbol_name;
static struct fake_target *named;
static bool is_name_cached;

bool ruby_symbols_has_name(const struct ruby_symbols *symbols, uint64_t id)
{
	assert_ptr_equal(symbols, &symbol_name);
	assert_int_equal(id, SYMBOL);
	return is_name_cached;
}

void ruby_symbols_forget_name(struct ruby_symbols *symbols, uint64_t id)
{
	assert_ptr_equal(symbols, &symbol_name);
	assert_int_equal(id, SYMBOL);
	is_name_cached = false;
}

int ruby_symbols_find_name(struct ruby_symbols *symbols, uint64_t id,
			   struct value_snapshot *ret_name)
{
	int length;

	assert_ptr_equal(symbols, &symbol_name);
	assert_int_equal(id, SYMBOL);
	*ret_name = (struct value_snapshot){ .kind = VALUE_KIND_SYMBOL,
					     .encoding = VALUE_ENCODING_UTF_8 };
	length = snprintf((char *)ret_name->bytes, sizeof(ret_name->bytes), "%s %u", symbol_name,
			  named->opened);
	ret_name->raw = ret_name->length_bytes = (uint16_t)length;
	is_name_cached = true;
	return 0;
}

/* One that can be looked at, and has symbols. */
static void name_symbols(const char *name)
{
	symbol_name = name;
	is_name_cached = false;
	fake_targets_reset();
	named = fake_target_add(PID);
	named->found.ruby.symbols = (struct ruby_symbols *)&symbol_name;
}

/* ":0xID@IMAGE" */
static const char *number_text(uint64_t image)
{
	static char text[VALUE_TEXT_BYTES];

	(void)snprintf(text, sizeof(text), ":0x4d2@%" PRIu64, image);
	return text;
}

TEST(resolve_uses_distinct_number_for_unavailable_symbol_name)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	const struct context *context;
	struct context_snapshot *snapshot;

	fake_reset();
	fake_targets_reset();
	snapshot = publish(SOME, "");
	snapshot->late_hash = 7;
	snapshot->values[0] = symbol;
	context = resolve_one(contexts, &late_keys, 3, SOME);
	assert_non_null(context->values[0]);
	assert_string_equal(context->values[0], number_text(LIFE));
	assert_int_equal(context_table_look(contexts, SOME)->late_hash, 7);
}

/* The same ID is another symbol there: of the first program's rows it names none. */
TEST(resolve_names_symbols_only_from_matching_program_image)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	const uint64_t images[] = { LIFE, LIFE + 100, LIFE + 200, LIFE + 100 };
	struct observed_table processes = { .keys = &keys };
	struct window window = { .end_ktime_ns = END, .number = 3 };
	struct observed *process;

	fake_reset();
	name_symbols("program");
	process = observed_add(&processes, LIFE, PID, 0, "ruby");
	assert_non_null(process);
	observed_execute(process, images[1], fake.now_ns);
	process->is_configured = true;
	assert_int_equal(window_init(&window, &keys), 0);
	for (uint64_t i = 0; i < 4; i++) {
		const struct account_key key = { .context_hash = SOME + i,
						 .thread_serial = 1 + i,
						 .life = LIFE };
		const struct account account = { .tgid = PID, .image = images[i] };

		publish(SOME + i, "")->values[0] = symbol;
		assert_int_equal(window_add_account(&window, &key, &account), 0);
	}
	resolve(&window, &processes, contexts);
	for (size_t i = 0; i < 4; i++) {
		assert_ptr_equal(window.rows[i].process, &process->books);
		assert_non_null(window.rows[i].context->values[0]);
		assert_string_equal(window.rows[i].context->values[0],
				    i == 1   ? "program 1"
				    : i == 2 ? "program 2"
					     : number_text(images[i]));
	}
	/* Of the third one's exec it was not told yet: its row says it, and no row undoes it. */
	assert_int_equal(process->image, images[2]);
	assert_int_equal(observed_next_look(&processes), END);
	assert_false(process->is_configured);
	observed_table_deinit(&processes);
	window_deinit(&window);
}

static void expect_name(struct observed *process, int result)
{
	struct value_snapshot name;

	assert_int_equal(observed_find_symbol(process, SYMBOL, &name), result);
	if (result == 0)
		assert_memory_equal(name.bytes, "program 1", strlen("program 1"));
	assert_int_equal(named->opened, 1);
}

/* A real one, which is there: this one. */
TEST(resolve_rejects_symbol_name_read_after_pid_reuse)
{
	struct observed_table processes = { .keys = &keys };
	struct process_info info;
	struct observed *process;

	fake_reset();
	name_symbols("program");
	assert_int_equal(process_glance(getpid(), &info), 0);
	named->pid = named->found.info.pid = getpid();
	named->found.info.start_ticks = info.start_ticks;
	process = observed_add(&processes, LIFE, getpid(), 0, "ruby");
	assert_non_null(process);
	process->start_ticks = info.start_ticks;
	expect_name(process, 0);
	assert_true(observed_has_pid(process));
	process->start_ticks++;
	/* The name that was read before is cached, and still right. */
	expect_name(process, 0);
	is_name_cached = false;
	expect_name(process, -EAGAIN);
	assert_false(is_name_cached);
	expect_name(process, -EAGAIN);
	assert_false(observed_has_pid(process));
	/* Where nothing has it, and where it is not known when the process started. */
	process->pid = PID;
	expect_name(process, 0);
	process->pid = getpid();
	process->start_ticks = 0;
	expect_name(process, 0);
	observed_table_deinit(&processes);
}

/* Whose symbols the program that it runs now has not, or not under these numbers. */
TEST(resolve_omits_symbol_of_program_before_exec)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	struct observed_table processes = { .keys = &late_keys };
	struct window window = { .end_ktime_ns = END, .number = 3 };
	struct account_key key = { .context_hash = SOME, .thread_serial = 1, .life = LIFE };
	struct account account = { .tgid = PID, .image = LIFE, .flags = ACCOUNT_INHERITED };
	struct context_snapshot *snapshot;

	fake_reset();
	name_symbols("other");
	snapshot = publish(SOME, "r1");
	snapshot->values[1] = symbol;
	assert_int_equal(window_init(&window, &late_keys), 0);
	/* What was before is the same context. */
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	account.flags = ACCOUNT_OF_ORIGIN;
	key.thread_serial = 2;
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	resolve(&window, &processes, contexts);
	for (size_t i = 0; i < 2; i++) {
		assert_non_null(window.rows[i].process);
		assert_string_equal(window.rows[i].context->values[0], "r1");
		assert_null(window.rows[i].context->values[1]);
	}
	observed_table_deinit(&processes);
	window_deinit(&window);
}

TEST(resolve_adds_late_values_once_per_window)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	const struct context *context;
	struct context_snapshot *snapshot;

	fake_reset();
	(void)publish(SOME, "r1");
	(void)resolve_one(contexts, &late_keys, 3, SOME);
	snapshot = set_value(publish(SOME, "another"), 1, "GET /");
	/* Published anew, it has none; */
	assert_null(resolve_one(contexts, &late_keys, 4, SOME)->values[1]);
	snapshot->late_hash = 5;
	/* nor is it asked for twice; */
	assert_null(resolve_one(contexts, &late_keys, 4, SOME)->values[1]);
	context = resolve_one(contexts, &late_keys, 5, SOME);
	assert_string_equal(context->values[0], "r1");
	assert_string_equal(context->values[1], "GET /");
	assert_null(context->values[2]);
	assert_int_equal(context->late_hash, 5);
	/* what has come stays, until it is another one. */
	(void)set_cut(snapshot, 1);
	context = resolve_one(contexts, &late_keys, 6, SOME);
	assert_string_equal(context->values[1], "GET /");
	assert_false(context->is_truncated);
	snapshot->late_hash = 6;
	context = resolve_one(contexts, &late_keys, 7, SOME);
	assert_int_equal(context->values[1][0], 'x');
	assert_true(context->is_truncated);
	find_snapshot(SOME)->hash = 0;
	assert_non_null(resolve_one(contexts, &late_keys, 8, SOME)->values[1]);
}

TEST(resolve_ignores_late_hash_without_late_keys)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();

	fake_reset();
	(void)publish(SOME, "r1");
	(void)resolve_one(contexts, &keys, 3, SOME);
	publish(SOME, "another")->late_hash = 5;
	assert_string_equal(resolve_one(contexts, &keys, 4, SOME)->values[0], "r1");
	assert_int_equal(resolve_one(contexts, &keys, 4, SOME)->late_hash, 0);
}

TEST(resolve_fails_without_memory_and_adds_no_process)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	struct observed_table processes = { .keys = &keys };
	struct window window = { .end_ktime_ns = END, .number = 1 };
	struct account_key key = { .life = LIFE };
	size_t failures = 0;

	fake_reset();
	assert_int_equal(window_init(&window, &keys), 0);
	assert_int_equal(window_add_account(&window, &key, &(struct account){ 0 }), 0);
	assert_each_allocation_can_fail(resolve_rows(&window, &processes, contexts, &fake.session),
					(failures++, assert_null(processes.processes)));
	assert_true(failures > 3);
	observed_table_deinit(&processes);
	window_deinit(&window);
}
