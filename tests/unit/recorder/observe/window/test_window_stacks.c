/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/window/window_stacks.h"

#include <openssl/evp.h>

#include "failing_memory.h"
#include "recorder/observe/fake_names.h"
#include "recorder/observe/fake_recorder.h"
#include "recorder/observe/fake_target.h"
#include "recorder/symbolize/kernel_symbols.h"

UNIT_TEST_ALONE;

enum {
	HZ = 100,
	SERIAL = 7,
	TID = 40,
	NS_TID = 4,
	STACK = 1000, /* the first; the others follow */
	IDS = 512,
};

#define WALL_OFFSET_NS (FAKE_WALL_NS - FAKE_START_NS)

struct bench {
	struct window_stacks *stacks;
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

/* The kernel's own functions: 16 bytes each from 0x1000 and 0x1010 on; above 0x8000 is a module. */
static int fake_symbols_error, fake_symbols_readings;
static uint64_t fake_modules;

/* Of native code: what is said of each address. */
static struct {
	struct native_name name;
	uint64_t takes_ns;
	uint64_t asked; /* address, last */
	bool may_read; /* the same */
	unsigned int processes;
	size_t names;
	struct native_frames frames; /* of native_callers_find() */
	const struct user_stack *stack; /* that it got */
	unsigned int placed;
} fake_native;

struct native_names *native_names_new(struct object_files *files)
{
	assert_null(files);
	fake_native.names++;
	return calloc(1, 1);
}

void native_names_free(struct native_names *names)
{
	fake_native.names -= names != NULL;
	free(names);
}

struct native_process *native_process_new(pid_t pid)
{
	assert_int_equal(pid, FAKE_PID);
	fake_native.processes++;
	return calloc(1, 1);
}

void native_process_free(struct native_process *process)
{
	fake_native.processes -= process != NULL;
	free(process);
}

void native_names_find(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_name *ret_name)
{
	assert_non_null(names);
	assert_non_null(process);
	assert_int_equal(now_ns, fake.now_ns);
	fake.now_ns += fake_native.takes_ns;
	fake_native.asked = address;
	fake_native.may_read = may_read;
	*ret_name = fake_native.name;
}

pid_t native_process_pid(const struct native_process *process)
{
	assert_non_null(process);
	return FAKE_PID;
}

int native_names_place(struct native_names *names, struct native_process *process, uint64_t address,
		       uint64_t now_ns, bool may_read, struct native_place *ret_place)
{
	assert_non_null(names);
	assert_non_null(process);
	assert_int_equal(now_ns, fake.now_ns);
	assert_false(may_read);
	fake_native.placed++;
	*ret_place = (struct native_place){ .begin = address - 1, .end = address + 1 };
	return 0;
}

struct native_callers *native_callers_new(struct native_names *names)
{
	assert_non_null(names);
	fake_native.names++;
	return calloc(1, 1);
}

void native_callers_free(struct native_callers *callers)
{
	fake_native.names -= callers != NULL;
	free(callers);
}

void native_callers_find(struct native_callers *callers, struct native_process *process,
			 const struct user_stack *stack, uint64_t now_ns, bool may_read,
			 struct native_frames *ret_frames)
{
	assert_non_null(callers);
	assert_non_null(process);
	assert_int_equal(now_ns, fake.now_ns);
	fake_native.may_read = may_read;
	fake_native.stack = stack;
	*ret_frames = fake_native.frames;
}

struct kernel_symbols *kernel_symbols_new(void)
{
	return calloc(1, 1);
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	free(symbols);
}

int kernel_symbols_read_running(struct kernel_symbols *symbols)
{
	assert_non_null(symbols);
	fake_symbols_readings++;
	return fake_symbols_error;
}

#define SCHEDULE UINT64_C(0x3000)

int kernel_symbols_find(const struct kernel_symbols *symbols, uint64_t address,
			char ret_name[static KERNEL_NAME_BYTES])
{
	const char *name = address < 0x1010	 ? "first"
			   : address == SCHEDULE ? "__schedule"
						 : "second";

	assert_non_null(symbols);
	(void)strcpy(ret_name, address < 0x1000 ? "" : name);
	return address < 0x1000 ? -ENOENT : 0;
}

bool kernel_symbols_is_movable(const struct kernel_symbols *symbols, uint64_t address)
{
	assert_non_null(symbols);
	return address >= 0x8000;
}

uint64_t kernel_symbols_running_modules(void)
{
	return fake_modules;
}

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
	const struct window_stacks_places places = {
		.session = &fake.session,
		.processes = bench ? &bench->processes : NULL,
		.window = bench ? &bench->window : NULL,
		.output = bench ? &bench->output : NULL,
		.hz = HZ,
	};

	if (!bench || set_up(state) < 0)
		return -1;
	memset(&fake_names, 0, sizeof(fake_names));
	fake_symbols_error = fake_symbols_readings = 0;
	memset(&fake_native, 0, sizeof(fake_native));
	fake_targets_reset();
	fake_target_add(FAKE_PID)->found.ruby.symbols = (struct ruby_symbols *)bench;
	bench->processes.keys = &bench->keys;
	bench->window.number = 1;
	bench->stacks = window_stacks_new(&places);
	bench->process = observed_add(&bench->processes, life_of(FAKE_PID), FAKE_PID, 0, "ruby");
	*state = bench;
	return bench->stacks && bench->process && window_init(&bench->window, &bench->keys) == 0 &&
			       output_prepare(&bench->output, &fake.recording.output) ==
				       EXIT_CODE_OK &&
			       output_open(&bench->output, FAKE_WALL_NS) == EXIT_CODE_OK
		       ? 0
		       : -1;
}

static int lay_out_natives(void **state, bool has_callers)
{
	struct bench *bench;
	int r = lay_out(state);

	if (r < 0)
		return r;
	bench = *state;
	window_stacks_free(bench->stacks);
	bench->stacks =
		window_stacks_new(&(struct window_stacks_places){ .session = &fake.session,
								  .processes = &bench->processes,
								  .window = &bench->window,
								  .output = &bench->output,
								  .hz = HZ,
								  .has_native = true,
								  .has_callers = has_callers });
	return bench->stacks ? 0 : -1;
}

static int lay_out_native(void **state)
{
	return lay_out_natives(state, false);
}

static int lay_out_callers(void **state)
{
	return lay_out_natives(state, true);
}

static int put_away(void **state)
{
	struct bench *bench = *state;

	window_stacks_free(bench->stacks);
	output_deinit(&bench->output);
	window_deinit(&bench->window);
	observed_table_deinit(&bench->processes);
	free(bench);
	return fake_native.processes == 0 && fake_native.names == 0 ? 0 : -1;
}

static void sample(pid_t pid, uint64_t context_hash)
{
	fake.sampled[fake.sampled_count++] = (struct account_key){ .context_hash = context_hash,
								   .thread_serial = SERIAL,
								   .life = life_of(pid) };
}

/* The kernel side tells a stack: its frames, the innermost first. */
static void tell_stack(uint64_t stack, uint32_t flags, const struct ruby_frame *frames,
		       uint32_t count)
{
	static struct stack_message message;

	message.stack = stack;
	message.life = message.image = life_of(FAKE_PID);
	message.frames.flags = flags;
	message.frames.count = count;
	memcpy(message.frames.frames, frames, count * sizeof(*frames));
	fake.on_stack(fake.on_stack_context, &message);
}

static uint64_t lost(const struct bench *bench, enum counter counter)
{
	return bench->process->books.balance.losses[counter];
}

/* A window with a sample of overflow of that stack. */
static void meet(struct bench *bench, uint64_t stack)
{
	fake.sampled_stack = stack;
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(window_stacks_put(bench->stacks), 0);
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
		} else if (view.kind == RECORD_KIND_SAMPLE && number(&view, "samples") < 0) {
			print("%" PRId64 " waits of %" PRId64 " and %" PRId64 " ns in %s",
			      number(&view, "waits"), number(&view, "blocked_ns"),
			      number(&view, "run_queue_ns"),
			      name_of_id(names, count, text(&view, "stack_id")));
			assert_int_equal(number(&view, "period_ns"), -1);
		} else if (view.kind == RECORD_KIND_SAMPLE) {
			print("%" PRId64 " in %s", number(&view, "samples"),
			      name_of_id(names, count, text(&view, "stack_id")));
		}
	}
	return recorded_text;
}

#define LAID(test)    TEST_WITH(test, lay_out, put_away)
#define NATIVE(test)  TEST_WITH(test, lay_out_native, put_away)
#define CALLERS(test) TEST_WITH(test, lay_out_callers, put_away)

LAID(window_stacks_count_samples_of_accounts_and_overflow_once)
{
	struct bench *bench = *state;
	const struct account_key key = { .context_hash = CONTEXT_HASH_NONE,
					 .thread_serial = SERIAL,
					 .life = life_of(FAKE_PID) };
	const struct account account = { .tid = FAKE_PID };
	size_t mark = output_mark(&bench->output);

	assert_int_equal(window_add_account(&bench->window, &key, &account), 0);
	bench->window.rows[0].process = &bench->process->books;
	sample(FAKE_PID, CONTEXT_HASH_NONE);
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	sample(FAKE_PID + 1, CONTEXT_HASH_NONE); /* gone: it has no books */
	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(bench->process->books.balance.samples, 4);
	assert_int_equal(bench->process->books.balance.period_ns, 10 * NS_PER_MS);
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	assert_true(output_mark(&bench->output) > mark);

	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(bench->process->books.balance.samples, 4);
}

/* ---- frames ---- */

LAID(window_stacks_write_each_frame_once_and_refer_to_innermost)
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
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 0);
}

LAID(window_stacks_distinguish_frames_by_recorded_fields)
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
LAID(window_stacks_give_frame_same_id_in_every_recording)
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

LAID(window_stacks_count_and_write_frames_without_name)
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
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 4);
	assert_int_equal(lost(bench, COUNTER_FRAMES_COLLECTED), 1);
	assert_string_equal(written(bench), "[unknown] unknown -:-1/-1 < \n");
	fake_names.error = -ESRCH;
	tell_stack(STACK + 4, 0, &main_frame, 1);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 5);
	assert_int_equal(lost(bench, COUNTER_FRAMES_COLLECTED), 2);
}

LAID(window_stacks_write_gc_frame_and_cut_root)
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

LAID(window_stacks_write_reason_for_samples_without_frames)
{
	struct bench *bench = *state;

	meet(bench, STACK_NO_RUBY);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 0);
	meet(bench, STACK_NO_LAYOUT);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 2);
	assert_int_equal(lost(bench, COUNTER_FRAMES_EARLY), 2);
	/* Its message was lost. */
	meet(bench, STACK);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 2);
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

LAID(window_stacks_say_of_process_without_ruby_that_it_has_none)
{
	struct bench *bench = *state;

	bench->process->target = calloc(1, sizeof(*bench->process->target));
	assert_non_null(bench->process->target);
	meet(bench, STACK_NO_LAYOUT);
	assert_string_equal(written(bench), "[no Ruby] native -:-1/-1 < \n"
					    "2 in [no Ruby]\n");
	target_free(TAKE_PTR(bench->process->target));
	/* It ended before it was looked at. */
	bench->process->state.young_until_ns = 1;
	meet(bench, STACK_NO_LAYOUT);
	assert_string_equal(written(bench), "[no Ruby] native -:-1/-1 < \n"
					    "2 in [no Ruby]\n"
					    "2 in [no Ruby]\n");
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 0);
}

LAID(window_stacks_ignore_stacks_of_unobserved_process)
{
	struct bench *bench = *state;

	size_t mark = output_mark(&bench->output);

	observed_remove(&bench->processes, bench->process);
	tell_stack(STACK, 0, &main_frame, 1);
	assert_int_equal(output_mark(&bench->output), mark);
}

/* ---- how long it is remembered ---- */

/* Who is late counts it later. */
LAID(window_stacks_keep_stack_for_two_more_windows)
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

LAID(window_stacks_keep_repeated_stack_longer)
{
	struct bench *bench = *state;

	for (int i = 0; i < 3; i++) {
		tell_stack(STACK, 0, &main_frame, 1);
		bench->window.number++;
	}
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n2 in method_8\n");
}

LAID(window_stacks_rewrite_frames_periodically)
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
LAID(window_stacks_forget_written_frames_when_table_is_full)
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
LAID(window_stacks_count_stacks_over_capacity)
{
	struct bench *bench = *state;

	for (uint64_t i = 0; i < 2 * STACKS_TOLD_MAX; i++)
		tell_stack(STACK + i, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 0);
	tell_stack(STACK, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 0);
	tell_stack(1, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 1);
	bench->window.number = 3;
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	tell_stack(1, 0, &main_frame, 0);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 1);
}

/* ---- what is above them ---- */

/* The kernel side tells a tip: addresses of our kernel, the innermost first. */
static void tell_tip(uint64_t tip, const uint64_t *kernel, uint32_t count)
{
	static struct tip_message message;

	message.tip = tip;
	message.native_pc = 0;
	message.life = message.image = life_of(FAKE_PID);
	message.kernel_count = count;
	memcpy(message.kernel, kernel, count * sizeof(*kernel));
	fake.on_tip(fake.on_stack_context, &message);
}

/* It came behind the exec: at these addresses there is something else now, but for the kernel's. */
LAID(window_stacks_do_not_resolve_frames_of_image_before_exec)
{
	struct bench *bench = *state;
	size_t mark = output_mark(&bench->output);

	bench->process->image++;
	tell_stack(STACK, 0, &main_frame, 1);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 1);
	assert_int_equal(lost(bench, COUNTER_FRAMES_REPLACED), 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x1000 }, 1);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 1);
	assert_int_equal(output_mark(&bench->output), mark);
	assert_int_equal(fake_names.made, 0);
	meet(bench, STACK);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	bench->process->image--;
	tell_stack(STACK, 0, &main_frame, 1);
	meet(bench, STACK);
	fake.sampled_tip = STACK + 2;
	meet(bench, STACK);
	assert_string_equal(written(bench), "[unknown] unknown -:-1/-1 < \n"
					    "2 in [unknown]\n"
					    "first kernel -:-1/-1 < [unknown]\n"
					    "2 in first\n"
					    "method_8 ruby app.rb:11/3 < \n"
					    "first kernel -:-1/-1 < method_8\n"
					    "2 in first\n"
					    "[unknown] unknown -:-1/-1 < method_8\n"
					    "2 in [unknown]\n");
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 1);
}

LAID(window_stacks_read_names_of_the_kernel_once_and_early)
{
	struct bench *bench = *state;

	assert_int_equal(fake_symbols_readings, 0);
	window_stacks_prepare(bench->stacks);
	assert_int_equal(fake_symbols_readings, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x1000 }, 1);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK_NO_RUBY);
	assert_int_equal(fake_symbols_readings, 1);
	window_stacks_prepare(NULL);
}

LAID(window_stacks_put_kernel_frames_above_ruby_frames)
{
	const uint64_t addresses[] = { 0x1010, 0x1010, 0x1011 };
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	/* Behind a call that is a function's last instruction begins the next one. */
	tell_tip(STACK + 1, addresses, 3);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	meet(bench, STACK_NO_RUBY);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "second kernel -:-1/-1 < method_8\n"
					    "first kernel -:-1/-1 < second\n"
					    "second kernel -:-1/-1 < first\n"
					    "2 in second\n"
					    "[no Ruby] native -:-1/-1 < \n"
					    "second kernel -:-1/-1 < [no Ruby]\n"
					    "first kernel -:-1/-1 < second\n"
					    "second kernel -:-1/-1 < first\n"
					    "2 in second\n");
}

LAID(window_stacks_write_unknown_for_unnamed_kernel_address)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x10, 0x10 }, 2);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "[unknown] kernel -:-1/-1 < method_8\n"
					    "[unknown] kernel -:-1/-1 < [unknown]\n"
					    "2 in [unknown]\n");
}

LAID(window_stacks_write_one_kernel_frame_if_addresses_are_hidden)
{
	struct bench *bench = *state;

	fake_symbols_error = -EPERM;
	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x1000, 0x2000 }, 2);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "[kernel] kernel -:-1/-1 < method_8\n"
					    "2 in [kernel]\n"
					    "2 in [kernel]\n");
	assert_non_null(strstr(fake.said, "kptr_restrict"));
	assert_int_equal(fake_symbols_readings, 1);
}

LAID(window_stacks_mark_full_kernel_stack_as_cut)
{
	uint64_t addresses[KERNEL_FRAMES_MAX];
	struct bench *bench = *state;

	for (size_t i = 0; i < KERNEL_FRAMES_MAX; i++)
		addresses[i] = 0x1011;
	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, addresses, KERNEL_FRAMES_MAX);
	tell_tip(STACK + 2, addresses, KERNEL_FRAMES_MAX - 1);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	assert_non_null(strstr(written(bench), "[cut] cut -:-1/-1 < method_8\n"
					       "second kernel -:-1/-1 < [cut]\n"));
	fake.sampled_tip = STACK + 2;
	meet(bench, STACK);
	assert_null(strstr(strstr(written(bench), "[cut] cut") + 1, "[cut] cut"));
}

LAID(window_stacks_write_unknown_for_missing_tip)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "[unknown] unknown -:-1/-1 < method_8\n"
					    "2 in [unknown]\n");
}

/* Two addresses of one function. */
LAID(window_stacks_merge_samples_of_equally_named_frames)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x1000 }, 1);
	tell_tip(STACK + 2, (uint64_t[]){ 0x1004 }, 1);
	fake.sampled_stack = STACK;
	for (uint64_t tip = STACK + 1; tip <= STACK + 2; tip++) {
		fake.sampled_tip = tip;
		sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
		assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	}
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "first kernel -:-1/-1 < method_8\n"
					    "4 in first\n");
}

/* ---- waits ---- */

/* A window with a wait of overflow in that stack. */
static void wait_in(struct bench *bench, uint64_t stack)
{
	fake.waited_stack = stack;
	fake.waited[fake.waited_count++] =
		(struct account_key){ .context_hash = CONTEXT_HASH_OVERFLOW,
				      .thread_serial = SERIAL,
				      .life = life_of(FAKE_PID) };
	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	bench->window.number++;
}

LAID(window_stacks_write_waits_with_time_separate_from_samples)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	fake.sampled_stack = STACK;
	wait_in(bench, STACK);
	assert_non_null(strstr(written(bench), "1 waits of 300 and 40 ns in method_8\n"));
	assert_non_null(strstr(written(bench), "2 in method_8\n"));
	assert_int_equal(bench->process->books.balance.samples, 2);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 0);
}

/* Its stack and its tip were told where it began. */
LAID(window_stacks_keep_frames_of_continuing_wait)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x1000 }, 1);
	fake.sampled_tip = STACK + 1;
	for (int i = 0; i < 5; i++)
		wait_in(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "first kernel -:-1/-1 < method_8\n"
					    "1 waits of 300 and 40 ns in first\n"
					    "1 waits of 300 and 40 ns in first\n"
					    "1 waits of 300 and 40 ns in first\n"
					    "1 waits of 300 and 40 ns in first\n"
					    "1 waits of 300 and 40 ns in first\n");
}

LAID(window_stacks_limit_wait_to_kernel_frames_up_to_scheduler)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x2000, 0x2001, SCHEDULE + 1, 0x1001 }, 4);
	fake.sampled_tip = STACK + 1;
	wait_in(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "first kernel -:-1/-1 < method_8\n"
					    "__schedule kernel -:-1/-1 < first\n"
					    "1 waits of 300 and 40 ns in __schedule\n");
	/* A sample met there has all of them. */
	meet(bench, STACK);
	assert_non_null(strstr(written(bench), "second kernel -:-1/-1 < __schedule\n"
					       "second kernel -:-1/-1 < second\n"
					       "2 in second\n"));
}

static const char *stack_of_stall(struct bench *bench, uint64_t stack)
{
	const struct stall stall = { .stack = stack };
	static char id[WINDOW_STACK_ID_BYTES];

	assert_int_equal(window_stacks_put_stack(bench->stacks, bench->process, &stall, id), 0);
	return id;
}

LAID(window_stacks_have_innermost_frame_of_stall)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, (struct ruby_frame[]){ c_frame, main_frame }, 2);
	assert_string_equal(stack_of_stall(bench, STACK), "54f939d02e614f1b26e93961d197cc90");
	assert_string_equal(stack_of_stall(bench, STACK_NOT_SEEN), "");
	/* One that was not reported, and a process without Ruby. */
	assert_int_equal(strlen(stack_of_stall(bench, STACK + 7)), WINDOW_STACK_ID_BYTES - 1);
	assert_int_equal(strlen(stack_of_stall(bench, STACK_NO_LAYOUT)), WINDOW_STACK_ID_BYTES - 1);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "method_24 c -:-1/-1 < method_8\n"
					    "[unknown] unknown -:-1/-1 < \n");
}

LAID(window_stacks_of_stall_are_not_named_where_none_are_taken)
{
	const struct stall stall = { .stack = STACK };
	char id[WINDOW_STACK_ID_BYTES] = "x";
	struct bench *bench = *state;

	assert_int_equal(window_stacks_put_stack(NULL, bench->process, &stall, id), 0);
	assert_string_equal(id, "");
}

LAID(window_stacks_write_unknown_for_wait_with_unseen_start)
{
	struct bench *bench = *state;

	wait_in(bench, STACK_NOT_SEEN);
	assert_string_equal(written(bench), "[unknown] unknown -:-1/-1 < \n"
					    "1 waits of 300 and 40 ns in [unknown]\n");
}

/* Of the last window it is known in this one, of who was late. */
LAID(window_stacks_forget_tips_after_one_window)
{
	struct bench *bench = *state;

	for (uint64_t i = 0; i < 2 * TIPS_TOLD_MAX; i++)
		tell_tip(STACK + i, (uint64_t[]){ 0x1000 }, 1);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 0);
	tell_tip(STACK, (uint64_t[]){ 0x1000 }, 1);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 0);
	tell_tip(1, (uint64_t[]){ 0x1000 }, 1);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 1);
	bench->window.number = 2;
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	tell_tip(1, (uint64_t[]){ 0x1000 }, 1);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 2);
	bench->window.number = 3;
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	tell_tip(1, (uint64_t[]){ 0x1000 }, 1);
	assert_int_equal(bench->process->books.balance.losses[COUNTER_STACKS_FULL], 2);
}

/* A module comes where another one was. */
LAID(window_stacks_reread_kernel_symbols_after_module_change)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_tip(STACK + 1, (uint64_t[]){ 0x8000 }, 1);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	assert_int_equal(fake_symbols_readings, 1);
	fake_modules++;
	meet(bench, STACK);
	assert_int_equal(fake_symbols_readings, 1);
	fake.now_ns += NS_PER_S;
	tell_tip(STACK + 1, (uint64_t[]){ 0x8000 }, 1);
	meet(bench, STACK);
	assert_int_equal(fake_symbols_readings, 2);
	fake.now_ns += NS_PER_S;
	tell_tip(STACK + 1, (uint64_t[]){ 0x8000 }, 1);
	meet(bench, STACK);
	assert_int_equal(fake_symbols_readings, 2);
}

/* The same of an address of native code that is called so. */
static void tell_native(uint64_t tip, const char *label, const char *file, bool is_ruby,
			uint32_t kernel_count)
{
	struct tip_message told = { .tip = tip,
				    .life = life_of(FAKE_PID),
				    .image = life_of(FAKE_PID),
				    .native_pc = 77,
				    .kernel_count = kernel_count,
				    .kernel = { 0x1000 } };

	(void)strcpy(fake_native.name.label, label);
	(void)strcpy(fake_native.name.path, file);
	fake_native.name.is_ruby = is_ruby;
	fake.on_tip(fake.on_stack_context, &told);
	assert_int_equal(fake_native.asked, 77);
	fake.sampled_tip = tip;
}

NATIVE(window_stacks_put_native_function_between_ruby_and_kernel)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &c_frame, 1);
	tell_native(STACK + 1, "memmove", "/lib/libc.so.6", false, 1);
	meet(bench, STACK);
	tell_native(STACK + 2, "[vdso]", "", false, 0);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_24 c -:-1/-1 < \n"
					    "memmove native /lib/libc.so.6:-1/-1 < method_24\n"
					    "first kernel -:-1/-1 < memmove\n"
					    "2 in first\n"
					    "[vdso] native -:-1/-1 < method_24\n"
					    "2 in [vdso]\n");
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 0);
}

/* The same with the native stack, whose frames are all called so. */
static void tell_native_stack(uint64_t tip, const char *label, size_t count, enum native_end end)
{
	static struct tip_with_stack told;

	told.message = (struct tip_message){ .tip = tip,
					     .life = life_of(FAKE_PID),
					     .image = life_of(FAKE_PID),
					     .native_pc = 77,
					     .has_stack = 1 };
	fake_native.frames = (struct native_frames){ .count = count, .end = end };
	for (size_t i = 0; i < count; i++)
		fake_native.frames.addresses[i] = 77 + i;
	(void)strcpy(fake_native.name.label, label);
	fake.on_tip(fake.on_stack_context, &told.message);
	assert_ptr_equal(fake_native.stack, &told.stack);
	fake.sampled_tip = tip;
}

CALLERS(window_stacks_put_native_callers_below_native_function)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &c_frame, 1);
	tell_native_stack(STACK + 1, "recurse", 3, NATIVE_END_WHOLE);
	assert_int_equal(fake_native.asked, 79);
	meet(bench, STACK);
	tell_native_stack(STACK + 2, "cut", 1, NATIVE_END_CUT);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_24 c -:-1/-1 < \n"
					    "recurse native -:-1/-1 < method_24\n"
					    "recurse native -:-1/-1 < recurse\n"
					    "recurse native -:-1/-1 < recurse\n"
					    "2 in recurse\n"
					    "[cut] cut -:-1/-1 < method_24\n"
					    "cut native -:-1/-1 < [cut]\n"
					    "2 in cut\n");
}

/* Ruby's own, which has no name, under a method in Ruby; of another program it hides its callers.
 */
CALLERS(window_stacks_put_native_callers_up_to_generated_code)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_native_stack(STACK + 1, "helper", 1, NATIVE_END_GENERATED);
	meet(bench, STACK);
	meet(bench, STACK_NO_RUBY);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "helper native -:-1/-1 < method_8\n"
					    "2 in helper\n"
					    "[no Ruby] native -:-1/-1 < \n"
					    "[cut] cut -:-1/-1 < [no Ruby]\n"
					    "helper native -:-1/-1 < [cut]\n"
					    "2 in helper\n");
}

/* Once, as soon as the layout is known. */
CALLERS(window_stacks_tell_kernel_where_interpreter_is)
{
	struct bench *bench = *state;
	const struct ruby_stack_layout *layout = &bench->process->stacks.layout;

	fake_native.name.is_ruby = true;
	tell_native_stack(STACK + 1, "vm_exec", 1, NATIVE_END_WHOLE);
	assert_int_equal(fake_native.placed, 0);
	bench->process->stacks.has_layout = true;
	for (int i = 0; i < 2; i++)
		tell_native_stack(STACK + 1, "vm_exec", 1, NATIVE_END_WHOLE);
	assert_int_equal(fake_native.placed, 1);
	assert_int_equal(layout->code_begin, 76);
	assert_int_equal(layout->code_end, 78);
}

/* Without memory for the process. */
CALLERS(window_stacks_put_no_native_frames_if_none_were_found)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &c_frame, 1);
	tell_native_stack(STACK + 1, "", 0, NATIVE_END_WHOLE);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_24 c -:-1/-1 < \n"
					    "2 in method_24\n");
}

NATIVE(window_stacks_count_native_code_of_image_before_exec)
{
	const struct tip_message told = { .tip = STACK + 1,
					  .life = life_of(FAKE_PID),
					  .image = life_of(FAKE_PID),
					  .native_pc = 77,
					  .kernel_count = 1,
					  .kernel = { 0x1000 } };
	struct bench *bench = *state;

	(void)strcpy(fake_native.name.label, "memmove");
	tell_stack(STACK, 0, &c_frame, 1);
	bench->process->image++;
	fake.on_tip(fake.on_stack_context, &told);
	assert_int_equal(fake_native.asked, 0);
	assert_int_equal(fake_native.processes, 0);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 1);
	assert_int_equal(lost(bench, COUNTER_FRAMES_REPLACED), 1);
	fake.sampled_tip = STACK + 1;
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_24 c -:-1/-1 < \n"
					    "first kernel -:-1/-1 < method_24\n"
					    "2 in first\n");
}

NATIVE(window_stacks_omit_native_code_outside_any_file)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_native(STACK + 1, "", "", false, 0);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "2 in method_8\n");
}

/* It is what runs Ruby code; of a method in C, of a collection and without Ruby it is the news. */
NATIVE(window_stacks_omit_interpreter_above_ruby_code)
{
	const struct ruby_frame gc = { .object_kind = RUBY_FRAME_GC };
	const struct ruby_frame compiled = { .object_kind = 8 | RUBY_FRAME_COMPILED };
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_stack(STACK + 1, 0, &compiled, 1);
	tell_stack(STACK + 2, 0, &c_frame, 1);
	tell_stack(STACK + 3, 0, &gc, 1);
	tell_native(STACK + 9, "vm_exec", "/lib/libruby.so", true, 0);
	for (uint64_t i = 0; i < 4; i++) {
		meet(bench, STACK + i);
		bench->window.number = 1;
	}
	meet(bench, STACK_NO_RUBY);
	bench->window.number = 1;
	tell_native(STACK + 10, "memmove", "", false, 0);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "method_8 ruby app.rb:-1/3 < \n"
					    "method_24 c -:-1/-1 < \n"
					    "method_0 gc -:-1/-1 < \n"
					    "2 in method_8\n"
					    "2 in method_8\n"
					    "vm_exec native /lib/libruby.so:-1/-1 < method_24\n"
					    "2 in vm_exec\n"
					    "vm_exec native /lib/libruby.so:-1/-1 < method_0\n"
					    "2 in vm_exec\n"
					    "[no Ruby] native -:-1/-1 < \n"
					    "vm_exec native /lib/libruby.so:-1/-1 < [no Ruby]\n"
					    "2 in vm_exec\n"
					    "memmove native -:-1/-1 < method_8\n"
					    "2 in memmove\n");
}

NATIVE(window_stacks_count_and_write_unknown_native_code)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_native(STACK + 1, FRAME_UNKNOWN, "", false, 0);
	assert_int_equal(lost(bench, COUNTER_FRAMES_UNREADABLE), 1);
	assert_int_equal(lost(bench, COUNTER_NATIVE_UNNAMED), 1);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "[unknown] unknown -:-1/-1 < method_8\n"
					    "2 in [unknown]\n");
}

/* Another file has come to its place. */
NATIVE(window_stacks_resolve_native_address_at_each_message)
{
	struct bench *bench = *state;

	tell_stack(STACK, 0, &main_frame, 1);
	tell_native(STACK + 1, "first", "/a", false, 0);
	tell_native(STACK + 1, "second", "/b", false, 0);
	meet(bench, STACK);
	assert_string_equal(written(bench), "method_8 ruby app.rb:11/3 < \n"
					    "second native /b:-1/-1 < method_8\n"
					    "2 in second\n");
}

/* As the other looks at them do: after those that are free, and a burst, a 20th of a CPU. */
NATIVE(window_stacks_limit_file_reading_to_cpu_share)
{
	struct bench *bench = *state;
	uint64_t begin_ns = fake.now_ns, spent_ns = 0;

	fake_native.takes_ns = 5 * NS_PER_MS;
	for (uint64_t i = 0; i < 1000; i++) {
		fake_native.takes_ns = fake_native.may_read || i == 0 ? 5 * NS_PER_MS : 0;
		tell_native(STACK + i, "one", "", false, 0);
		spent_ns += fake_native.takes_ns;
		fake.now_ns += NS_PER_MS;
	}
	assert_true(spent_ns < (LOOK_BUDGET_FREE + 2) * 5 * NS_PER_MS + CPU_BUDGET_BURST_NS +
				       (fake.now_ns - begin_ns) / CPU_BUDGET_PART);
	assert_false(fake_native.may_read);
	fake.now_ns += 100 * NS_PER_S;
	tell_native(STACK, "one", "", false, 0);
	assert_true(fake_native.may_read);
	(void)bench;
}

/* ---- whose samples ---- */

LAID(window_stacks_write_sample_with_thread_of_its_account)
{
	struct bench *bench = *state;
	const struct account_key key = { .context_hash = CONTEXT_HASH_NONE,
					 .thread_serial = SERIAL,
					 .life = life_of(FAKE_PID) };
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
	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	assert_int_equal(window_stacks_put(bench->stacks), 0);
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

LAID(window_stacks_write_all_of_many_samples)
{
	struct bench *bench = *state;
	size_t count = 0;

	for (uint32_t i = 0; i < 20; i++) {
		for (uint32_t j = 0; j < FAKE_ACCOUNTS_MAX; j++) {
			sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
			fake.sampled[j].thread_serial = i * FAKE_ACCOUNTS_MAX + j;
		}
		assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	}
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	(void)written(bench);
	for (const char *line = recorded_text; (line = strstr(line, "2 in")); line++)
		count++;
	assert_int_equal(count, 20 * FAKE_ACCOUNTS_MAX);
}

LAID(window_stacks_settle_fails_without_memory)
{
	struct bench *bench = *state;
	size_t failures = 0;

	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_each_allocation_can_fail(window_stacks_settle(bench->stacks, &bench->window),
					(failures++, sample(FAKE_PID, CONTEXT_HASH_OVERFLOW)));
	assert_true(failures > 1);
}

LAID(window_stacks_drop_samples_if_frame_digest_fails)
{
	struct bench *bench = *state;
	size_t mark = output_mark(&bench->output);

	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	are_digests_refused = true;
	assert_int_equal(window_stacks_put(bench->stacks), -ENOMEM);
	are_digests_refused = false;
	assert_int_equal(output_mark(&bench->output), mark);
	assert_int_equal(window_stacks_put(bench->stacks), 0);
	assert_int_equal(output_mark(&bench->output), mark);
}

LAID(window_stacks_forget_everything_of_lost_window)
{
	struct bench *bench = *state;
	size_t mark = output_mark(&bench->output);

	tell_stack(STACK, 0, &main_frame, 1);
	sample(FAKE_PID, CONTEXT_HASH_OVERFLOW);
	assert_int_equal(window_stacks_settle(bench->stacks, &bench->window), 0);
	output_forget(&bench->output, mark);
	window_stacks_forget(bench->stacks);
	assert_int_equal(window_stacks_put(bench->stacks), 0);
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
LAID(window_stacks_count_or_retell_stack_without_memory)
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
		is_known = !bench->process->books.balance.losses[COUNTER_STACKS_FULL] &&
			   !lost(bench, COUNTER_FRAMES_UNREADABLE);
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
	for (int i = 0; i < 20; i++, fake.now_ns += 60 * NS_PER_S)
		window_stacks_look(bench->stacks, fake.now_ns);
}

LAID(window_stacks_configure_frame_layout_once)
{
	struct bench *bench = *state;

	fake_names.layout.frame_bytes = 56;
	bench->process->image += 7;
	look(bench);
	assert_int_equal(fake_names.searches, 0); /* it is not configured yet */
	target_free(TAKE_PTR(bench->process->target));
	bench->process->is_configured = true;
	look(bench);
	assert_string_equal(fake.told, "frames of 0\n");
	assert_int_equal(fake.stack_layout.frame_bytes, 56);
	assert_int_equal(fake.stack_layout.image, life_of(FAKE_PID) + 7);
	assert_int_equal(fake_names.pid, FAKE_PID);
	assert_string_equal(fake.said, "");
}

LAID(window_stacks_log_rejected_frame_layout)
{
	struct bench *bench = *state;

	fake.failures[FAKE_SET_LAYOUT] = -E2BIG;
	bench->process->is_configured = true;
	look(bench);
	assert_string_equal(fake.told, "frames of 0\n");
	assert_string_equal(fake.said,
			    "cannot tell where the frames of process 4000000 (ruby) are\n");
}

LAID(window_stacks_log_process_without_layout_once)
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

LAID(window_stacks_null_does_nothing)
{
	struct bench *bench = *state;

	sample(FAKE_PID, CONTEXT_HASH_NONE);
	window_stacks_look(NULL, FAKE_START_NS);
	assert_int_equal(window_stacks_settle(NULL, &bench->window), 0);
	assert_int_equal(window_stacks_put(NULL), 0);
	window_stacks_forget(NULL);
	assert_int_equal(bench->process->books.balance.samples, 0);
	assert_int_equal(bench->process->books.balance.period_ns, 0);
}

TEST_GROUP(make_file, remove_file)
