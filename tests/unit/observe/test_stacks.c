/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/stacks.h"

#include <openssl/evp.h>

#include "failing_memory.h"
#include "observe/fake_names.h"
#include "observe/fake_recording.h"
#include "observe/fake_target.h"

enum {
	HZ = 100,
	SERIAL = 7,
	TID = 40,
	NS_TID = 4,
	STACK = 1000, /* the first; the others follow */
	IDS = 64,
};

#define WALL_OFFSET_NS (FAKE_WALL_NS - FAKE_START_NS)

struct bench {
	struct stacks *stacks;
	struct key_options keys;
	struct observed_table processes;
	struct observed *process;
	struct output output;
	struct window window;
};

static const struct ruby_frame main_frame = { .object_kind = 8 | RUBY_FRAME_RUBY, .pc = 11 };
static const struct ruby_frame total_frame = { .object_kind = 16 | RUBY_FRAME_RUBY, .pc = 12 };
static const struct ruby_frame c_frame = { .object_kind = 24 | RUBY_FRAME_C };

static bool are_digests_refused;

/* As OpenSSL's. */
int EVP_Digest(const void *data, size_t size_bytes, unsigned char *digest, unsigned int *ret_bytes,
	       const EVP_MD *type, ENGINE *engine)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	int is_made = context && !are_digests_refused && EVP_DigestInit_ex(context, type, engine) &&
		      EVP_DigestUpdate(context, data, size_bytes) &&
		      EVP_DigestFinal_ex(context, digest, ret_bytes);

	EVP_MD_CTX_free(context);
	return is_made;
}

static int lay_out(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	const struct stacks_places places = {
		.session = &fake.session,
		.processes = bench ? &bench->processes : NULL,
		.window = bench ? &bench->window : NULL,
		.output = bench ? &bench->output : NULL,
		.hz = HZ,
	};

	if (!bench || set_up(state) < 0)
		return -1;
	memset(&fake_names, 0, sizeof(fake_names));
	fake_targets_reset();
	fake_target_add(FAKE_PID)->found.ruby.symbols = (struct ruby_symbols *)bench;
	bench->processes.keys = &bench->keys;
	bench->window.number = 1;
	bench->stacks = stacks_new(&places);
	bench->process = observed_add(&bench->processes, FAKE_PID, 0, "ruby");
	*state = bench;
	return bench->stacks && bench->process && window_init(&bench->window, &bench->keys) == 0 &&
			       output_prepare(&bench->output, &fake.recording) == EXIT_CODE_OK &&
			       output_open(&bench->output, FAKE_WALL_NS) == EXIT_CODE_OK
		       ? 0
		       : -1;
}

static int put_away(void **state)
{
	struct bench *bench = *state;

	stacks_free(bench->stacks);
	output_deinit(&bench->output);
	window_deinit(&bench->window);
	observed_table_deinit(&bench->processes);
	free(bench);
	return 0;
}

static void sample(uint32_t tgid, uint64_t context_hash)
{
	fake.sampled[fake.sampled_count++] = (struct account_key){ .context_hash = context_hash,
								   .thread_serial = SERIAL,
								   .tgid = tgid };
}

/* The kernel side tells a stack: its frames, the innermost first. */
static void tell_stack(uint64_t stack, uint32_t flags, const struct ruby_frame *frames,
		       uint32_t count)
{
	static struct stack_message message;

	message.stack = stack;
	message.tgid = FAKE_PID;
	message.frames.flags = flags;
	message.frames.count = count;
	memcpy(message.frames.frames, frames, count * sizeof(*frames));
	fake.on_stack(fake.on_stack_context, &message);
}

/* A window with a sample of overflow of that stack. */
static void meet(struct bench *bench, uint64_t stack)
{
	fake.sampled_stack = stack;
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(stacks_put(bench->stacks), 0);
	bench->window.number++;
}

/* Of a frame that is in the records before who names it. "" of none. */
static const char *name_of_id(char names[IDS][2][256], size_t count, const char *id)
{
	if (strcmp(id, "-") == 0)
		return "";
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i][0], id) == 0)
			return names[i][1];
	fail_msg("%s is no frame that was written before", id);
	return NULL;
}

/* What was written: a line a record, frames by their names. */
static const char *written(struct bench *bench)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	static char names[IDS][2][256];
	size_t count = 0;

	recorded_text[0] = '\0';
	assert_int_equal(output_write(&bench->output, FAKE_WALL_NS), 0);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind == RECORD_KIND_STACK) {
			assert_in_range(count, 0, IDS - 1);
			(void)strcpy(names[count][0], text(&view, "stack_id"));
			assert_int_equal(strlen(names[count][0]), 32);
			(void)strcpy(names[count][1], text(&view, "name"));
			print("%s %s %s:%" PRId64 "/%" PRId64 " < %s", text(&view, "name"),
			      text(&view, "frame_kind"), text(&view, "file"), number(&view, "line"),
			      number(&view, "first_line"),
			      name_of_id(names, count, text(&view, "parent_id")));
			count++;
		} else if (view.kind == RECORD_KIND_SAMPLE) {
			print("%" PRId64 " in %s", number(&view, "samples"),
			      name_of_id(names, count, text(&view, "stack_id")));
		}
	}
	return recorded_text;
}

static void samples_of_accounts_and_of_overflow_are_in_the_books_once(void **state)
{
	struct bench *bench = *state;
	const struct account_key key = { .context_hash = CONTEXT_HASH_NONE,
					 .thread_serial = SERIAL,
					 .tgid = FAKE_PID };
	const struct account account = { .tid = FAKE_PID };
	size_t mark = output_mark(&bench->output);

	assert_int_equal(window_add_account(&bench->window, &key, &account), 0);
	bench->window.rows[0].process = &bench->process->books;
	sample(FAKE_PID, CONTEXT_HASH_NONE);
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	sample(FAKE_PID + 1, CONTEXT_HASH_NONE); /* gone: it has no books */
	assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(bench->process->books.balance.samples, 4);
	assert_int_equal(bench->process->books.balance.period_ns, 10 * NS_PER_MS);
	assert_int_equal(stacks_put(bench->stacks), 0);
	assert_true(output_mark(&bench->output) > mark);

	assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(bench->process->books.balance.samples, 4);
}

/* ---- frames ---- */

static void each_frame_is_written_once_and_samples_name_the_innermost(void **state)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, (struct ruby_frame[]){ c_frame, total_frame, main_frame }, 3);
	tell_stack(STACK + 1, 0, (struct ruby_frame[]){ total_frame, main_frame }, 2);
	tell_stack(STACK + 2, 0, (struct ruby_frame[]){ main_frame, total_frame, main_frame }, 3);
	meet(bench, STACK);
	meet(bench, STACK + 1);
	meet(bench, STACK + 2);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "method_16 ruby app.rb:12/3 < method_8\n"
					    "method_24 c -:-1/-1 < method_16\n"
					    "method_8 ruby app.rb:11/3 < method_16\n"
					    "2 in method_24\n"
					    "2 in method_16\n"
					    "2 in method_8\n");
	assert_int_equal(bench->process->books.balance.frames_unreadable, 0);
}

static void a_frame_is_another_by_all_that_its_record_says(void **state)
{
	struct ruby_frame other = main_frame;
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	other.pc++;
	tell_stack(STACK + 1, 0, &other, 1);
	other.object_kind += 8;
	tell_stack(STACK + 2, 0, &other, 1);
	other.object_kind = (8 | RUBY_FRAME_C);
	tell_stack(STACK + 3, 0, &other, 1);
	other.object_kind = (8 | RUBY_FRAME_COMPILED);
	tell_stack(STACK + 4, 0, &other, 1);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "method_8 ruby app.rb:12/3 < \n"
					    "method_16 ruby app.rb:12/3 < \n"
					    "method_8 c -:-1/-1 < \n");
}

/* Two recordings are compared by them: the first half of SHA-256, as sha256sum has it. */
static void a_frame_is_called_the_same_in_any_recording(void **state)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static const char *const ids[] = { "5bc0b137718f3998bbbbcda7f6f38e38",
					   "54f939d02e614f1b26e93961d197cc90" };
	static struct record_view view;
	struct bench *bench = *state;
	size_t found = 0;

	tell_stack(STACK, 0, (struct ruby_frame[]){ c_frame, main_frame }, 2);
	assert_int_equal(output_write(&bench->output, FAKE_WALL_NS), 0);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		if (view.kind == RECORD_KIND_STACK)
			assert_string_equal(text(&view, "stack_id"), ids[found++]);
	assert_int_equal(found, 2);
}

static void frames_without_a_name_are_counted_and_said(void **state)
{
	const struct ruby_frame frames[] = {
		{ .object_kind = RUBY_FRAME_UNREADABLE },
		{ .object_kind = 8 | _RUBY_FRAME_KIND_MAX },
		{ .object_kind = 8 },
		{ .object_kind = FAKE_NAMELESS | RUBY_FRAME_RUBY },
	};
	struct bench *bench = *state;

	for (uint32_t i = 0; i < 4; i++)
		tell_stack(STACK + i, 0, &frames[i], 1);
	assert_int_equal(bench->process->books.balance.frames_unreadable, 4);
	assert_string_equal(written(bench), "[unknown] unknown -:-1/-1 < \n");
	fake_names.error = -ESRCH;
	tell_stack(STACK + 4, 0, &main_frame, 1);
	assert_int_equal(bench->process->books.balance.frames_unreadable, 5);
}

static void a_collection_is_a_frame_and_a_cut_stack_has_its_root_named_so(void **state)
{
	const struct ruby_frame gc = { .object_kind = RUBY_FRAME_GC };
	struct bench *bench = *state;

	tell_stack(STACK, RUBY_FRAMES_CUT, (struct ruby_frame[]){ gc, main_frame }, 2);
	tell_stack(STACK + 1, RUBY_FRAMES_TORN, &main_frame, 1);
	assert_string_equal(written(bench), "[cut] cut -:-1/-1 < \n"
					    "method_8 ruby app.rb:11/3 < [cut]\n"
					    "method_0 gc -:-1/-1 < method_8\n"
					    "method_8 ruby app.rb:11/3 < \n");
}

static void samples_without_frames_say_why(void **state)
{
	struct bench *bench = *state;

	meet(bench, STACK_NO_RUBY);
	assert_int_equal(bench->process->books.balance.frames_unreadable, 0);
	meet(bench, STACK_NO_LAYOUT);
	assert_int_equal(bench->process->books.balance.frames_unreadable, 2);
	/* Its message was lost. */
	meet(bench, STACK);
	assert_int_equal(bench->process->books.balance.frames_unreadable, 2);
	/* It had no frames. */
	tell_stack(STACK + 1, 0, &main_frame, 0);
	meet(bench, STACK + 1);
	assert_string_equal(written(bench), "[no Ruby] native -:-1/-1 < \n"
					    "2 in [no Ruby]\n"
					    "[unknown] unknown -:-1/-1 < \n"
					    "2 in [unknown]\n"
					    "2 in [unknown]\n"
					    "2 in [unknown]\n");
}

static void stacks_of_who_is_not_observed_any_more_are_nothing(void **state)
{
	struct bench *bench = *state;

	size_t mark = output_mark(&bench->output);

	observed_remove(&bench->processes, bench->process);
	tell_stack(STACK, 0, &main_frame, 1);
	assert_int_equal(output_mark(&bench->output), mark);
}

/* ---- how long it is remembered ---- */

/* Who is late counts it later. */
static void a_stack_is_known_in_its_window_and_in_the_next_two(void **state)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	meet(bench, STACK);
	meet(bench, STACK);
	meet(bench, STACK);
	meet(bench, STACK);
	tell_stack(STACK, 0, &main_frame, 1);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "2 in method_8\n"
					    "2 in method_8\n"
					    "2 in method_8\n"
					    "[unknown] unknown -:-1/-1 < \n"
					    "2 in [unknown]\n"
					    "2 in method_8\n");
}

static void a_stack_that_is_told_again_is_known_longer(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < 3; i++) {
		tell_stack(STACK, 0, &main_frame, 1);
		bench->window.number++;
	}
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n2 in method_8\n");
}

static void frames_are_written_anew_now_and_then(void **state)
{
	struct bench *bench = *state;

	bench->window.number = 63;
	tell_stack(STACK, 0, &main_frame, 1);
	meet(bench, STACK_NO_RUBY);
	tell_stack(STACK, 0, &main_frame, 1);
	assert_int_equal(bench->window.number, 64);
	meet(bench, STACK_NO_RUBY);
	tell_stack(STACK, 0, &main_frame, 1);
	tell_stack(STACK, 0, &main_frame, 1);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "[no Ruby] native -:-1/-1 < \n"
					    "2 in [no Ruby]\n"
					    "2 in [no Ruby]\n"
					    "method_8 ruby app.rb:11/3 < \n");
}

/* 65,536 of them; then all come again. */
static void as_many_frames_are_known_to_be_written_as_there_is_room_for(void **state)
{
	static struct ruby_frame frames[RUBY_FRAMES_MAX];
	struct bench *bench = *state;
	size_t mark;

	for (uint32_t i = 0; i < 65536; i += RUBY_FRAMES_MAX) {
		for (uint32_t j = 0; j < RUBY_FRAMES_MAX; j++)
			frames[RUBY_FRAMES_MAX - 1 - j] =
				(struct ruby_frame){ .object_kind = 8 | RUBY_FRAME_RUBY,
						     .pc = i + j };
		tell_stack(STACK, 0, frames, RUBY_FRAMES_MAX);
	}
	mark = output_mark(&bench->output);
	tell_stack(STACK, 0, &frames[RUBY_FRAMES_MAX - 1], 1);
	assert_int_equal(output_mark(&bench->output), mark);
	tell_stack(STACK, 0, &total_frame, 1);
	mark = output_mark(&bench->output);
	tell_stack(STACK, 0, &frames[RUBY_FRAMES_MAX - 1], 1);
	assert_true(output_mark(&bench->output) > mark);
}

/* And have room again when the window is over. */
static void stacks_without_room_are_counted(void **state)
{
	struct bench *bench = *state;

	for (uint64_t i = 0; i < 2 * STACKS_TOLD_MAX; i++)
		tell_stack(STACK + i, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.stacks_full, 0);
	tell_stack(STACK, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.stacks_full, 0);
	tell_stack(1, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.stacks_full, 1);
	bench->window.number = 3;
	assert_int_equal(stacks_put(bench->stacks), 0);
	tell_stack(1, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.stacks_full, 1);
}

/* ---- whose samples ---- */

static void a_sample_is_of_the_thread_of_its_account(void **state)
{
	struct bench *bench = *state;
	const struct account_key key = { .context_hash = CONTEXT_HASH_NONE,
					 .thread_serial = SERIAL,
					 .tgid = FAKE_PID };
	const struct account account = {
		.tid = TID, .ns_tid = NS_TID, .comm = "worker", .flags = ACCOUNT_INHERITED
	};
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	size_t found = 0;

	bench->process->books.ns_pid = 5;
	bench->window.wall_offset_ns = WALL_OFFSET_NS;
	bench->window.start_ktime_ns = FAKE_START_NS;
	bench->window.end_ktime_ns = FAKE_START_NS + NS_PER_S;
	bench->window.epoch = fake.sampled_epoch = 9;
	fake.now_ns += 5;
	assert_int_equal(window_add_account(&bench->window, &key, &account), 0);
	bench->window.rows[0].process = &bench->process->books;
	sample(FAKE_PID, CONTEXT_HASH_NONE);
	fake.sampled_stack = STACK_NO_RUBY;
	assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(stacks_put(bench->stacks), 0);
	assert_int_equal(output_write(&bench->output, FAKE_WALL_NS), 0);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind != RECORD_KIND_STACK && view.kind != RECORD_KIND_SAMPLE)
			continue;
		found++;
		assert_int_equal(number(&view, "pid"), FAKE_PID);
		assert_int_equal(number(&view, "ns_pid"), 5);
		if (view.kind == RECORD_KIND_STACK) {
			assert_int_equal(view.wall_ns, FAKE_WALL_NS + 5);
			continue;
		}
		assert_int_equal(view.wall_ns, FAKE_WALL_NS + NS_PER_S);
		assert_int_equal(number(&view, "tid"), TID);
		assert_int_equal(number(&view, "ns_tid"), NS_TID);
		assert_string_equal(text(&view, "thread_name"), "worker");
		assert_true(
			record_text_is(record_view_find(&view, "flags")->items[0], "inherited"));
		assert_int_equal(number(&view, "period_ns"), 10 * NS_PER_MS);
	}
	assert_int_equal(found, 2);
}

static void many_samples_are_all_written(void **state)
{
	struct bench *bench = *state;
	size_t count = 0;

	for (int i = 0; i < 20; i++) {
		for (int j = 0; j < FAKE_ACCOUNTS_MAX; j++)
			sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
		assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	}
	assert_int_equal(stacks_put(bench->stacks), 0);
	(void)written(bench);
	for (const char *line = recorded_text; (line = strstr(line, "2 in")); line++)
		count++;
	assert_int_equal(count, 20 * FAKE_ACCOUNTS_MAX);
}

static void without_memory_a_window_is_an_error(void **state)
{
	struct bench *bench = *state;
	size_t successes = 0;
	int r;

	do {
		sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
		memory_fails_once_after(successes++);
		r = stacks_settle(bench->stacks, &bench->window);
		memory_never_fails();
		assert_true(r == -ENOMEM || memory_failures() == 0);
	} while (memory_failures());
	assert_int_equal(r, 0);
	assert_true(successes > 2);
}

static void
a_frame_that_cannot_be_digested_ends_what_is_written_and_samples_are_forgotten(void **state)
{
	struct bench *bench = *state;
	size_t mark = output_mark(&bench->output);

	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	are_digests_refused = true;
	assert_int_equal(stacks_put(bench->stacks), -ENOMEM);
	are_digests_refused = false;
	assert_int_equal(output_mark(&bench->output), mark);
	assert_int_equal(stacks_put(bench->stacks), 0);
	assert_int_equal(output_mark(&bench->output), mark);
}

static void of_a_window_that_is_lost_nothing_is_left(void **state)
{
	struct bench *bench = *state;
	size_t mark = output_mark(&bench->output);

	tell_stack(STACK, 0, &main_frame, 1);
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_int_equal(stacks_settle(bench->stacks, &bench->window), 0);
	output_forget(&bench->output, mark);
	stacks_forget(bench->stacks);
	assert_int_equal(stacks_put(bench->stacks), 0);
	assert_int_equal(output_mark(&bench->output), mark);
	meet(bench, STACK);
	tell_stack(STACK, 0, &main_frame, 1);
	meet(bench, STACK);
	assert_string_equal(written(bench), "[unknown] unknown -:-1/-1 < \n"
					    "2 in [unknown]\n"
					    "method_8 ruby app.rb:11/3 < \n"
					    "2 in method_8\n");
}

/* Its frames are in the records before it, whatever was missing. */
static void
without_memory_a_stack_is_counted_or_known_and_so_it_is_when_it_is_told_again(void **state)
{
	size_t successes = 0, failures;

	do {
		struct bench *bench;
		bool is_known;

		(void)put_away(state);
		assert_int_equal(lay_out(state), 0);
		bench = *state;
		memory_fails_once_after(successes++);
		tell_stack(STACK, 0, &main_frame, 1);
		memory_never_fails();
		failures = memory_failures();
		meet(bench, STACK);
		is_known = !bench->process->books.balance.stacks_full &&
			   !bench->process->books.balance.frames_unreadable;
		assert_int_equal(strstr(written(bench), "2 in method_8") != NULL, is_known);
		tell_stack(STACK, 0, &main_frame, 1);
		meet(bench, STACK);
		assert_non_null(strstr(written(bench), "2 in method_8"));
	} while (failures);
	assert_true(successes > 4);
}

/* ---- where frames are ---- */

static void look(struct bench *bench)
{
	bench->process->target = calloc(1, sizeof(*bench->process->target));
	assert_non_null(bench->process->target);
	bench->process->target->ruby.symbols = (struct ruby_symbols *)bench;
	for (int i = 0; i < 10; i++, fake.now_ns += 60 * NS_PER_S)
		stacks_look(bench->stacks, fake.now_ns);
}

static void the_kernel_side_is_told_once_where_frames_are(void **state)
{
	struct bench *bench = *state;

	fake_names.layout.frame_bytes = 56;
	look(bench);
	assert_int_equal(fake_names.searches, 0); /* it is not configured yet */
	target_free(TAKE_PTR(bench->process->target));
	bench->process->is_configured = true;
	look(bench);
	assert_string_equal(fake.told, "frames of 0\n");
	assert_int_equal(fake.stack_layout.frame_bytes, 56);
	assert_int_equal(fake_names.pid, FAKE_PID);
	assert_string_equal(fake.said, "");
}

static void a_process_whose_frames_are_not_found_is_told_of_once(void **state)
{
	struct bench *bench = *state;
	const char *first;

	fake_names.state = RUBY_STACK_DISAGREED;
	bench->process->is_configured = true;
	look(bench);
	assert_string_equal(fake.told, "");
	first = strstr(fake.said, "4000000 (ruby)");
	assert_non_null(first);
	assert_string_equal(strchr(first, '\n'), "\n");
	expect_said("frame_pc: 8, and not 0");
	expect_said("doctor -p 4000000");
}

static void a_recording_without_stacks_has_none(void **state)
{
	struct bench *bench = *state;

	sample(FAKE_PID, CONTEXT_HASH_NONE);
	stacks_look(NULL, FAKE_START_NS);
	assert_int_equal(stacks_settle(NULL, &bench->window), 0);
	assert_int_equal(stacks_put(NULL), 0);
	stacks_forget(NULL);
	assert_int_equal(bench->process->books.balance.samples, 0);
	assert_int_equal(bench->process->books.balance.period_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			samples_of_accounts_and_of_overflow_are_in_the_books_once, lay_out,
			put_away),
		cmocka_unit_test_setup_teardown(
			each_frame_is_written_once_and_samples_name_the_innermost, lay_out,
			put_away),
		cmocka_unit_test_setup_teardown(a_frame_is_another_by_all_that_its_record_says,
						lay_out, put_away),
		cmocka_unit_test_setup_teardown(a_frame_is_called_the_same_in_any_recording,
						lay_out, put_away),
		cmocka_unit_test_setup_teardown(frames_without_a_name_are_counted_and_said, lay_out,
						put_away),
		cmocka_unit_test_setup_teardown(
			a_collection_is_a_frame_and_a_cut_stack_has_its_root_named_so, lay_out,
			put_away),
		cmocka_unit_test_setup_teardown(samples_without_frames_say_why, lay_out, put_away),
		cmocka_unit_test_setup_teardown(stacks_of_who_is_not_observed_any_more_are_nothing,
						lay_out, put_away),
		cmocka_unit_test_setup_teardown(a_stack_is_known_in_its_window_and_in_the_next_two,
						lay_out, put_away),
		cmocka_unit_test_setup_teardown(a_stack_that_is_told_again_is_known_longer, lay_out,
						put_away),
		cmocka_unit_test_setup_teardown(frames_are_written_anew_now_and_then, lay_out,
						put_away),
		cmocka_unit_test_setup_teardown(
			as_many_frames_are_known_to_be_written_as_there_is_room_for, lay_out,
			put_away),
		cmocka_unit_test_setup_teardown(stacks_without_room_are_counted, lay_out, put_away),
		cmocka_unit_test_setup_teardown(a_sample_is_of_the_thread_of_its_account, lay_out,
						put_away),
		cmocka_unit_test_setup_teardown(many_samples_are_all_written, lay_out, put_away),
		cmocka_unit_test_setup_teardown(without_memory_a_window_is_an_error, lay_out,
						put_away),
		cmocka_unit_test_setup_teardown(
			a_frame_that_cannot_be_digested_ends_what_is_written_and_samples_are_forgotten,
			lay_out, put_away),
		cmocka_unit_test_setup_teardown(
			without_memory_a_stack_is_counted_or_known_and_so_it_is_when_it_is_told_again,
			lay_out, put_away),
		cmocka_unit_test_setup_teardown(of_a_window_that_is_lost_nothing_is_left, lay_out,
						put_away),
		cmocka_unit_test_setup_teardown(the_kernel_side_is_told_once_where_frames_are,
						lay_out, put_away),
		cmocka_unit_test_setup_teardown(
			a_process_whose_frames_are_not_found_is_told_of_once, lay_out, put_away),
		cmocka_unit_test_setup_teardown(a_recording_without_stacks_has_none, lay_out,
						put_away),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
