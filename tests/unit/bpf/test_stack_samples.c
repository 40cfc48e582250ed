/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sample is counted under, and which stacks are told: bpf/stacks.bpf.h. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "recorder/target/ruby_layouts.h"

UNIT_TEST_ALONE;

static void *stacks_find(const void *map, const void *key);
static long stacks_update(const void *map, const void *key, const void *value, uint64_t flags);
static long stacks_send(const void *ring, const void *bytes, uint64_t size_bytes, uint64_t flags);

static long stacks_unwind(const void *met, void *addresses, uint32_t size_bytes, uint64_t flags);
static uint64_t stacks_now(void);
static long stacks_read_user(void *buffer, uint32_t size_bytes, const void *address);

static struct context_hash_key native_key;
static uint64_t user_pc; /* where the thread is in user mode */

#define hash_key native_key
#undef bpf_ktime_get_ns
#define bpf_ktime_get_ns stacks_now
#undef bpf_map_lookup_elem
#define bpf_map_lookup_elem stacks_find
#undef bpf_map_update_elem
#define bpf_map_update_elem stacks_update
#undef bpf_probe_read_user
#define bpf_probe_read_user stacks_read_user
#undef bpf_ringbuf_output
#define bpf_ringbuf_output stacks_send
#undef bpf_get_stack
#define bpf_get_stack			      stacks_unwind
#define bpf_get_prandom_u32()		      0
#define compat_user_stack_pointer(task)	      STACK_POINTER
#define compat_user_instruction_pointer(task) user_pc
#define RUBY_FRAMES_READ(walk, buffer, size_bytes, address) \
	native_read_user(buffer, size_bytes, (const void *)(address))

/* Compiled code is not on the stack. */
#define STACK_POINTER UINT64_C(0x7ffd00000000)
#define COMPILED_CODE UINT64_C(0x7f1100000123)
#define ISEQS	      UINT64_C(0x7f6600000000)

#include "stacks.bpf.h"

enum {
	ROWS = 8,
	FRAMES = 3,
	COLLECTIONS = 41,
	INTERVAL_NS = 100, /* since the last boundary (two_tasks.h) */
	KERNEL_MODE = 0x10, /* cs on x86 */
	USER_MODE = 0x33,
};

struct row {
	struct sample_key key;
	uint64_t count;
};

static struct {
	struct ruby_stack_layout layout;
	bool has_no_layout, has_no_scratch, has_no_accounts, has_no_samples, is_full, is_ring_full;
	bool is_raced; /* a boundary on this CPU takes the slot once the stack was walked */
	struct stack_room scratch;
	struct account_key opened[2]; /* the account of each window */
	struct row rows[2][ROWS];
	size_t counts[2];
	struct {
		uint64_t stack;
		uint32_t window;
	} told;
	struct stack_message sent; /* last */
	uint64_t sent_bytes;
	unsigned int sendings;
	uint64_t method;
	struct sample_registers met; /* what the clock says */
	uint32_t kernel_count; /* of the kernel's frames, which are 1000, 1001, ... */
	const void *unwound; /* the context of the program that asked for them last */
	bool cannot_unwind, has_no_tip_scratch;
	struct tip_room tip_scratch;
	struct {
		uint64_t tip;
		uint32_t window;
	} tip_told;
	union {
		struct tip_message tip_sent; /* last */
		struct tip_with_stack stack_sent; /* the same */
	};
	uint64_t stack_end; /* of the native stack's bytes, each of which is of its address */
	uint64_t tip_sent_bytes;
	unsigned int tip_sendings;
} bench;

static struct thread_state *const thread = &kernel.states[0];

static uint64_t stacks_now(void)
{
	if (bench.is_raced)
		kernel.edge_slot.is_busy = 1;
	return native_now();
}

static void *find_sample(size_t window, const struct sample_key *key)
{
	for (size_t i = 0; i < bench.counts[window]; i++)
		if (memcmp(&bench.rows[window][i].key, key, sizeof(*key)) == 0)
			return &bench.rows[window][i].count;
	return NULL;
}

/* Not inlined: the size of a key is that of its map's. */
__attribute__((noipa)) static void *stacks_find(const void *map, const void *key)
{
	const uint32_t *number = key;

	if (map == &stack_layouts)
		return bench.has_no_layout || *(const uint64_t *)key != LIFE ? NULL : &bench.layout;
	if (map == &stack_scratch)
		return bench.has_no_scratch || *number != 0 ? NULL : &bench.scratch;
	if (map == &stacks_told)
		return bench.told.stack == *(const uint64_t *)key ? &bench.told.window : NULL;
	if (map == &tip_scratch)
		return bench.has_no_tip_scratch || *number != 0 ? NULL : &bench.tip_scratch;
	if (map == &tips_told)
		return bench.tip_told.tip == *(const uint64_t *)key ? &bench.tip_told.window : NULL;
	if (map == &accounts)
		return bench.has_no_accounts || *number > 1 ? NULL : &bench.opened[*number];
	if (map == &samples)
		return bench.has_no_samples || *number > 1 ? NULL : &bench.rows[*number];
	for (size_t window = 0; window < 2; window++) {
		if (map == &bench.opened[window])
			return memcmp(map, key, sizeof(bench.opened[0])) == 0 ? (void *)map : NULL;
		if (map == &bench.rows[window])
			return find_sample(window, key);
	}
	return native_find(map, key);
}

__attribute__((noipa)) static long stacks_update(const void *map, const void *key,
						 const void *value, uint64_t flags)
{
	size_t window = map == &bench.rows[1];
	struct row *row = &bench.rows[window][bench.counts[window]];

	if (map == &stacks_told) {
		assert_int_equal(flags, BPF_ANY);
		bench.told.stack = *(const uint64_t *)key;
		bench.told.window = *(const uint32_t *)value;
		return 0;
	}
	if (map == &tips_told) {
		assert_int_equal(flags, BPF_ANY);
		bench.tip_told.tip = *(const uint64_t *)key;
		bench.tip_told.window = *(const uint32_t *)value;
		return 0;
	}
	assert_ptr_equal(map, &bench.rows[window]);
	assert_int_equal(flags, BPF_NOEXIST);
	if (bench.is_full)
		return -E2BIG;
	assert_in_range(bench.counts[window]++, 0, ROWS - 1);
	row->key = *(const struct sample_key *)key;
	row->count = *(const uint64_t *)value;
	return 0;
}

/* Also of the page of the native stack, and the one after it. */
static long stacks_read_user(void *buffer, uint32_t size_bytes, const void *address)
{
	uint64_t from = (uint64_t)address;

	if (from < STACK_POINTER - 4096 || from > STACK_POINTER + 4 * 4096)
		return native_read_user(buffer, size_bytes, address);
	if (from + size_bytes > bench.stack_end)
		return -EFAULT;
	for (uint32_t i = 0; i < size_bytes; i++)
		((uint8_t *)buffer)[i] = (uint8_t)((from + i) ^ (from + i) >> 8);
	return 0;
}

static long stacks_unwind(const void *met, void *addresses, uint32_t size_bytes, uint64_t flags)
{
	uint64_t *address = addresses;

	bench.unwound = met;
	assert_int_equal(size_bytes, KERNEL_FRAMES_MAX * sizeof(*address));
	assert_int_equal(flags, 0);
	if (bench.cannot_unwind)
		return -EFAULT;
	for (uint32_t i = 0; i < bench.kernel_count; i++)
		address[i] = 1000 + i;
	return (long)(bench.kernel_count * sizeof(*address));
}

static long stacks_send(const void *ring, const void *bytes, uint64_t size_bytes, uint64_t flags)
{
	assert_int_equal(flags, 0);
	if (bench.is_ring_full)
		return -EAGAIN;
	if (ring == &tips) {
		assert_in_range(size_bytes, 1, sizeof(bench.stack_sent));
		memcpy(&bench.tip_sent, bytes, size_bytes);
		bench.tip_sent_bytes = size_bytes;
		bench.tip_sendings++;
		return 0;
	}
	assert_ptr_equal(ring, &stacks);
	assert_in_range(size_bytes, 1, sizeof(bench.sent));
	memcpy(&bench.sent, bytes, size_bytes);
	bench.sent_bytes = size_bytes;
	bench.sendings++;
	return 0;
}

/* An execution context with so many frames, the innermost of them compiled. */
static uint64_t lay_context(uint32_t count)
{
	const uint32_t frame_bytes = layout_3_1.frame_bytes;
	const uint64_t imemo[] = { RUBY_TYPE_IMEMO | RUBY_IMEMO_METHOD << RUBY_IMEMO_SHIFT, 0 };
	uint64_t context = forged_take(&memory, 0x40);
	/* And the dummy. */
	uint64_t stack = forged_take(&memory, (count + 1) * frame_bytes);
	uint64_t environment;

	bench.method = forged_words(&memory, imemo, 2);
	environment =
		forged_words(&memory, (uint64_t[]){ bench.method, 0, RUBY_FRAME_IS_LOCAL }, 3);
	forged_write_u64(&memory, context + layout_3_1.execution_stack, stack);
	forged_write_u64(&memory, context + layout_3_1.execution_stack_words,
			 (count + 1) * frame_bytes / 8);
	forged_write_u64(&memory, context + layout_3_1.execution_frame, stack);
	for (uint32_t i = 0; i < count; i++) {
		uint64_t frame = stack + i * frame_bytes, iseq = ISEQS + 64 * i;

		forged_write_u64(&memory, frame + layout_3_1.frame_pc, iseq + 0x1000);
		forged_write_u64(&memory, frame + layout_3_1.frame_iseq, iseq);
		forged_write_u64(&memory, frame + layout_3_1.frame_ep, environment + 16);
	}
	forged_write_u64(&memory, stack + layout_3_1.frame_jit_return, COMPILED_CODE);
	return context;
}

/* The thread runs Ruby, with so many frames. */
static void run_ruby(uint32_t count)
{
	uint64_t thread_pointer = forged_take(&memory, 64);

	kernel.current.thread.fsbase = thread_pointer;
	bench.layout.execution_tls =
		(struct tls_location){ .model = TLS_MODEL_STATIC, .offset = 16 };
	forged_write_u64(&memory, thread_pointer + 16, lay_context(count));
}

/* The account of what it runs is open in both windows. */
static void open_accounts(uint64_t context_hash)
{
	for (size_t window = 0; window < 2; window++)
		bench.opened[window] = (struct account_key){ .context_hash = context_hash,
							     .thread_serial = thread->serial,
							     .life = LIFE };
}

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	memset(&bench, 0, sizeof(bench));
	native_key = (struct context_hash_key){ { 1, 2 } };
	bench.layout = layout_3_1;
	bench.layout.image = IMAGE;
	bench.layout.gc_count_address = forged_words(&memory, (uint64_t[]){ COLLECTIONS }, 1);
	bench.met.mode = USER_MODE;
	user_pc = 0;
	kernel.current.se.cfs_rq = &kernel.cfs;
	thread->serial = 6;
	open_accounts(CONTEXT_HASH_NONE);
	run_ruby(FRAMES);
	return 0;
}

static uint64_t losses(enum counter counter)
{
	return kernel.processes[0].books.losses[counter];
}

static void meet(void)
{
	assert_int_equal(on_sample(&bench.met), 0);
	assert_false(thread->is_busy);
}

/* The stack of one more sample. */
static uint64_t meet_stack(void)
{
	memset(bench.counts, 0, sizeof(bench.counts));
	meet();
	assert_int_equal(bench.counts[0], 1);
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 0);
	return bench.rows[0][0].key.stack;
}

static void expect_row(size_t window, size_t number, uint64_t context_hash, uint64_t count)
{
	const struct row *row = &bench.rows[window][number];

	assert_in_range(number, 0, bench.counts[window] - 1);
	assert_int_equal(row->key.account.context_hash, context_hash);
	assert_int_equal(row->key.account.thread_serial, 6);
	assert_int_equal(row->key.account.life, LIFE);
	assert_int_equal(row->count, count);
}

/* ---- what it is counted under ---- */

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(sample_is_counted_where_its_time_is_charged)
{
	const struct account_totals *charged = &kernel.processes[0].books.epochs[0].overflow;

	kernel.run_queue.clock = 30; /* stolen */
	meet();
	assert_int_equal(charged->user_ns, INTERVAL_NS - 30);
	expect_row(0, 0, CONTEXT_HASH_NONE, 1);
	meet();
	assert_int_equal(bench.counts[0], 1);
	expect_row(0, 0, CONTEXT_HASH_NONE, 2);
	kernel.now_ns += 7;
	meet();
	assert_int_equal(charged->user_ns, INTERVAL_NS - 30 + 7);
	expect_row(0, 0, CONTEXT_HASH_NONE, 3);
}

FIXTURE_TEST(samples_are_counted_per_window)
{
	thread->epoch = open_epoch = current_epoch = 3;
	meet();
	assert_int_equal(bench.counts[0], 0);
	expect_row(1, 0, CONTEXT_HASH_NONE, 1);
	thread->epoch = open_epoch = current_epoch = 4;
	meet();
	expect_row(0, 0, CONTEXT_HASH_NONE, 1);
	expect_row(1, 0, CONTEXT_HASH_NONE, 1);
}

FIXTURE_TEST(sample_without_account_is_counted_in_overflow)
{
	open_accounts(CONTEXT_HASH_FIRST);
	meet();
	expect_row(0, 0, CONTEXT_HASH_OVERFLOW, 1);
}

FIXTURE_TEST(sample_in_unknown_context_is_counted_as_unknown)
{
	thread->config.flags = PROCESS_READY;
	thread->tls_address = 4096;
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->context_hash = CONTEXT_HASH_NONE;
	open_accounts(CONTEXT_HASH_UNKNOWN);
	meet();
	expect_row(0, 0, CONTEXT_HASH_UNKNOWN, 1);
}

FIXTURE_TEST(sample_keeps_mode_of_thread)
{
	thread->clock.mode = THREAD_MODE_KERNEL;
	meet();
	assert_int_equal(thread->clock.mode, THREAD_MODE_KERNEL);
	assert_int_equal(kernel.processes[0].books.epochs[0].overflow.kernel_ns, INTERVAL_NS);
}

FIXTURE_TEST(sample_before_store_keeps_context_until_thread_runs)
{
	thread->is_change_open = 1;
	meet();
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN_TILL_IT_RUNS);
	expect_row(0, 0, CONTEXT_HASH_NONE, 1);
}

/* It is not known since when it runs: what was before is nobody's. */
FIXTURE_TEST(sample_begins_books_of_thread)
{
	thread->is_begun = 0;
	meet();
	assert_true(thread->is_begun);
	assert_false(thread->clock.is_off_cpu);
	expect_row(0, 0, CONTEXT_HASH_NONE, 1);
	kernel.now_ns += 7;
	meet();
	assert_int_equal(kernel.processes[0].books.epochs[0].overflow.user_ns, 7);
	assert_int_equal(losses(COUNTER_SWITCH_UNSEEN), 0);
}

FIXTURE_TEST(sample_handles_missed_probe_first)
{
	thread->has_missed_probe = 1;
	meet();
	assert_false(thread->has_missed_probe);
	assert_true(thread->has_passed_probe);
}

FIXTURE_TEST(sample_compares_context_in_full_without_probes)
{
	const uint64_t table[2 + 2] = { 1, 0 };

	thread->config.flags |= PROCESS_IS_LEAN;
	kernel.processes[0].config.flags |= PROCESS_IS_LEAN;
	thread->state_pointer = forged_words(&memory, table, 4);
	forged_write_u64(&memory, thread->tls_address, thread->state_pointer);
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT_HASH_FIRST;
	thread->compared_ns = 1;
	meet();
	assert_int_equal(thread->compared_ns, NOW_NS);
}

FIXTURE_TEST(sample_says_where_fiber_keeps_thread_with_stalls_alone)
{
	(void)meet_stack();
	assert_int_equal(thread->hog.samples, 0);
	native_session.stall_least_ns = 5;
	assert_int_equal(meet_stack(), thread->hog.sampled.stack);
	assert_int_equal(bench.rows[0][0].key.tip, thread->hog.sampled.tip);
	assert_int_equal(thread->hog.samples, 1);
}

/* ---- what cannot be counted ---- */

FIXTURE_TEST(sample_of_unobserved_thread_is_ignored)
{
	kernel.has_state[0] = false;
	meet();
	assert_int_equal(bench.counts[0], 0);
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 0);
}

FIXTURE_TEST(sample_inside_boundary_is_counted_lost)
{
	thread->is_busy = 1;
	assert_int_equal(on_sample(&bench.met), 0);
	assert_true(thread->is_busy);
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 1);
	thread->is_busy = 0;
	kernel.edge_slot.is_busy = 1;
	meet();
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 2);
	assert_int_equal(bench.counts[0], 0);
	assert_int_equal(bench.sendings, 0);
	kernel.edge_slot.is_busy = 0;
	kernel.has_no_slot = true;
	meet();
	assert_int_equal(bench.sendings, 1);
}

FIXTURE_TEST(sample_is_lost_if_thread_is_taken_after_walk)
{
	thread->armed_cpu = 1;
	bench.is_raced = true;
	meet();
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 1);
	assert_int_equal(bench.counts[0], 0);
}

FIXTURE_TEST(sample_without_map_capacity_is_counted_lost)
{
	bench.is_full = true;
	meet();
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 1);
	bench.is_full = false;
	bench.has_no_accounts = true;
	meet();
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 2);
	bench.has_no_accounts = false;
	bench.has_no_samples = true;
	meet();
	assert_int_equal(losses(COUNTER_SAMPLE_LOST), 3);
	assert_int_equal(bench.counts[0], 0);
}

/* ---- whose frames ---- */

FIXTURE_TEST(stack_without_layout_has_no_frames)
{
	bench.layout.image = IMAGE + 1; /* Of a program that it has replaced. */
	assert_true(stack_take(thread, 1) == STACK_NO_LAYOUT);
	bench.layout.image = IMAGE;
	bench.has_no_layout = true;
	assert_int_equal(meet_stack(), STACK_NO_LAYOUT);
	bench.has_no_layout = false;
	bench.has_no_scratch = true;
	assert_int_equal(meet_stack(), STACK_NO_LAYOUT);
	assert_int_equal(stack_identify(IMAGE), 0);
	assert_int_equal(stack_find_methods(1), 0);
	assert_int_equal(bench.sendings, 0);
}

FIXTURE_TEST(stack_of_thread_outside_ruby_has_no_frames)
{
	forged_write_u64(&memory, kernel.current.thread.fsbase + 16, 0);
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
	bench.layout.execution_tls.model = TLS_MODEL_NONE;
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
	set_up(state);
	kernel.current.mm = NULL;
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
	assert_int_equal(bench.sendings, 0);
}

/* Until 2.7. The members are as far out as can be, and behind it there is another thread's. */
FIXTURE_TEST(stack_of_global_context_belongs_to_lock_holder)
{
	uint64_t own = kernel.current.thread.fsbase, context, ruby_thread, global;

	context = forged_take(&memory, RUBY_LAYOUT_OFFSET_MAX + 16);
	ruby_thread = forged_take(&memory, RUBY_LAYOUT_OFFSET_MAX + 16);
	global = forged_words(&memory, &context, 1);
	bench.layout.execution_tls.model = TLS_MODEL_NONE;
	bench.layout.execution_global = global;
	bench.layout.execution_thread = RUBY_LAYOUT_OFFSET_MAX;
	bench.layout.thread_native_id = 8;
	forged_write_u64(&memory, context + RUBY_LAYOUT_OFFSET_MAX, ruby_thread);
	forged_write_u64(&memory, ruby_thread + 8, own);
	assert_true(meet_stack() > STACK_NO_RUBY);
	forged_write_u64(&memory, ruby_thread + 8, own + 8);
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
	forged_write_u64(&memory, ruby_thread + RUBY_LAYOUT_OFFSET_MAX, own);
	bench.layout.thread_native_id = RUBY_LAYOUT_OFFSET_MAX;
	assert_true(meet_stack() > STACK_NO_RUBY);
	forged_write_u64(&memory, ruby_thread + RUBY_LAYOUT_OFFSET_MAX + 1, own);
	bench.layout.thread_native_id++;
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
	forged_write_u64(&memory, ruby_thread + 8, own);
	bench.layout.thread_native_id = 8;
	forged_write_u64(&memory, context + RUBY_LAYOUT_OFFSET_MAX + 1, ruby_thread);
	bench.layout.execution_thread++;
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
	bench.layout.execution_thread--;
	forged_write_u64(&memory, global, 0);
	assert_int_equal(meet_stack(), STACK_NO_RUBY);
}

/* ---- what is told ---- */

FIXTURE_TEST(stack_is_sent_with_methods_and_no_trailing_bytes)
{
	uint64_t stack = meet_stack();

	assert_int_equal(bench.sendings, 1);
	assert_int_equal(bench.sent.stack, stack);
	assert_int_equal(bench.sent.life, LIFE);
	assert_int_equal(bench.sent.image, IMAGE);
	assert_int_equal(bench.sent.gc_count, COLLECTIONS);
	assert_int_equal(bench.sent.frames.count, FRAMES);
	assert_int_equal(bench.sent.frames.flags, 0);
	assert_int_equal(bench.sent_bytes, (const char *)&bench.sent.frames.frames[FRAMES] -
						   (const char *)&bench.sent);
	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct ruby_frame *frame = &bench.sent.frames.frames[i];

		assert_int_equal(ruby_frame_kind(frame), i ? RUBY_FRAME_RUBY : RUBY_FRAME_COMPILED);
		assert_int_equal(ruby_frame_object(frame), ISEQS + 64 * i);
		assert_int_equal(frame->method, bench.method);
	}
	assert_int_equal(losses(COUNTER_STACKS_CUT), 0);
}

FIXTURE_TEST(stack_is_sent_once_per_window)
{
	uint64_t stack = meet_stack();

	assert_true(stack > STACK_NO_RUBY);
	assert_int_equal(meet_stack(), stack);
	assert_int_equal(bench.sendings, 1);
	thread->epoch = open_epoch = current_epoch = 2;
	assert_int_equal(meet_stack(), stack);
	assert_int_equal(bench.sendings, 2);
	assert_int_equal(meet_stack(), stack);
	assert_int_equal(bench.sendings, 2);
}

FIXTURE_TEST(stack_is_resent_with_next_sample_after_full_ring)
{
	uint64_t stack;

	bench.is_ring_full = true;
	stack = meet_stack();
	assert_int_equal(losses(COUNTER_STACKS_FULL), 1);
	bench.is_ring_full = false;
	assert_int_equal(meet_stack(), stack);
	assert_int_equal(bench.sendings, 1);
	assert_int_equal(losses(COUNTER_STACKS_FULL), 1);
}

FIXTURE_TEST(stack_deeper_than_limit_is_sent_truncated)
{
	run_ruby(RUBY_FRAMES_MAX + 1);
	(void)meet_stack();
	assert_int_equal(bench.sent.frames.count, RUBY_FRAMES_MAX);
	assert_int_equal(bench.sent.frames.flags, RUBY_FRAMES_CUT);
	assert_int_equal(losses(COUNTER_STACKS_CUT), 1);
}

FIXTURE_TEST(stack_id_depends_on_frames_gc_count_and_key)
{
	uint64_t met[5] = { meet_stack() };

	forged_write_u64(&memory, bench.layout.gc_count_address, COLLECTIONS + 1);
	met[1] = meet_stack();
	native_key.words[0] = 3;
	met[2] = meet_stack();
	native_key.words[1] = 3;
	met[3] = meet_stack();
	run_ruby(FRAMES + 1);
	met[4] = meet_stack();
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(met[i] != met[j]);
	assert_int_equal(bench.sendings, 5);
}

FIXTURE_TEST(stack_id_is_keyed_hash_of_frames_gc_count_and_image)
{
	uint64_t stack = meet_stack();
	struct context_hash_state hash;

	context_hash_init(&hash, &native_key);
	context_hash_add(&hash, bench.sent.frames.hash);
	context_hash_add(&hash, COLLECTIONS);
	context_hash_add(&hash, IMAGE);
	assert_int_equal(stack, context_hash_final(&hash));
}

/* Which no walk makes: the length of what is sent is not the target's word. */
FIXTURE_TEST(stack_with_too_many_frames_is_not_sent)
{
	bench.scratch.message.frames.count = RUBY_FRAMES_MAX;
	assert_int_equal(stack_tell(&bench.scratch.message, 1), 0);
	assert_int_equal(bench.sendings, 1);
	bench.scratch.message.frames.count++;
	assert_int_equal(stack_tell(&bench.scratch.message, 1), 0);
	assert_int_equal(bench.sendings, 1);
}

FIXTURE_TEST(stack_id_differs_between_processes)
{
	uint64_t stack = meet_stack();

	assert_int_equal(stack_identify(IMAGE + 1), 0);
	assert_true(bench.scratch.message.stack != stack);
}

/* ---- what is above the frames ---- */

/* The tip of one more sample, which the clock meets in the kernel, so many frames deep. */
static uint64_t meet_in_kernel(uint32_t count)
{
	bench.met.mode = KERNEL_MODE;
	bench.kernel_count = count;
	(void)meet_stack();
	return bench.rows[0][0].key.tip;
}

FIXTURE_TEST(tip_has_no_kernel_frames_in_user_mode)
{
	bench.kernel_count = 3;
	(void)meet_stack();
	assert_int_equal(bench.rows[0][0].key.tip, TIP_NONE);
	assert_int_equal(bench.tip_sendings, 0);
}

FIXTURE_TEST(tip_has_kernel_frames_in_kernel_mode)
{
	uint64_t tip = meet_in_kernel(3);

	assert_true(tip > TIP_NONE);
	assert_int_equal(bench.tip_sendings, 1);
	assert_int_equal(bench.tip_sent.tip, tip);
	assert_int_equal(bench.tip_sent.life, LIFE);
	assert_int_equal(bench.tip_sent.image, IMAGE);
	assert_int_equal(bench.tip_sent.kernel_count, 3);
	assert_int_equal(bench.tip_sent_bytes, offsetof(struct tip_message, kernel) + 24);
	assert_int_equal(bench.tip_sent.native_pc, 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(bench.tip_sent.kernel[i], 1000 + i);
	/* Beside its frames of Ruby, which are the same. */
	assert_int_equal(bench.sendings, 1);
	assert_int_equal(bench.rows[0][0].key.stack, bench.sent.stack);
	assert_int_equal(meet_in_kernel(KERNEL_FRAMES_MAX) != tip, 1);
	assert_int_equal(bench.tip_sent.kernel_count, KERNEL_FRAMES_MAX);
	assert_int_equal(bench.tip_sent_bytes, sizeof(struct tip_message));
}

/* On x86 the lower two bits of cs. */
FIXTURE_TEST(sample_mode_comes_from_interrupted_registers)
{
	for (uint64_t mode = 0; mode < 4; mode++) {
		bench.met.mode = KERNEL_MODE | mode;
		assert_int_equal(sample_is_in_kernel(&bench.met), mode == 0);
	}
}

FIXTURE_TEST(tip_is_none_if_unwinding_fails)
{
	bench.cannot_unwind = true;
	assert_int_equal(meet_in_kernel(3), TIP_NONE);
	bench.cannot_unwind = false;
	assert_int_equal(meet_in_kernel(0), TIP_NONE);
	bench.has_no_tip_scratch = true;
	assert_int_equal(meet_in_kernel(3), TIP_NONE);
	assert_int_equal(tip_identify(), 0);
	assert_int_equal(bench.tip_sendings, 0);
	assert_int_equal(losses(COUNTER_STACKS_FULL), 0);
}

FIXTURE_TEST(tip_is_sent_once_per_window)
{
	uint64_t tip = meet_in_kernel(3);

	assert_int_equal(meet_in_kernel(3), tip);
	assert_int_equal(bench.tip_sendings, 1);
	thread->epoch = open_epoch = current_epoch = 2;
	assert_int_equal(meet_in_kernel(3), tip);
	assert_int_equal(meet_in_kernel(3), tip);
	assert_int_equal(bench.tip_sendings, 2);
}

FIXTURE_TEST(tip_is_counted_and_resent_after_full_ring)
{
	uint64_t tip;

	(void)meet_stack();
	bench.is_ring_full = true;
	tip = meet_in_kernel(3);
	assert_int_equal(losses(COUNTER_STACKS_FULL), 1);
	bench.is_ring_full = false;
	assert_int_equal(meet_in_kernel(3), tip);
	assert_int_equal(bench.tip_sendings, 1);
}

FIXTURE_TEST(tip_id_is_keyed_hash_of_its_addresses)
{
	uint64_t tip = meet_in_kernel(3);
	struct context_hash_state hash;

	context_hash_init(&hash, &native_key);
	context_hash_add(&hash, IMAGE);
	context_hash_add(&hash, 3);
	context_hash_add(&hash, 0);
	for (uint64_t i = 0; i < 3; i++)
		context_hash_add(&hash, 1000 + i);
	assert_int_equal(tip, context_hash_final(&hash));
	native_key.words[0]++;
	assert_true(meet_in_kernel(3) != tip);
}

/* Also of one that is in a call, or that was interrupted: where it will go on. */
FIXTURE_TEST(tip_includes_native_address_with_native_stacks)
{
	uint64_t tip;

	native_session.has_native = 1;
	user_pc = 0x7f1234;
	(void)meet_stack();
	tip = bench.rows[0][0].key.tip;
	assert_true(tip > TIP_NONE);
	assert_int_equal(bench.tip_sendings, 1);
	assert_int_equal(bench.tip_sent.native_pc, 0x7f1234);
	assert_int_equal(bench.tip_sent.kernel_count, 0);
	assert_int_equal(bench.tip_sent_bytes, offsetof(struct tip_message, kernel));
	assert_true(meet_in_kernel(2) != tip);
	assert_int_equal(bench.tip_sent.native_pc, 0x7f1234);
	assert_int_equal(bench.tip_sent.kernel_count, 2);
	bench.met.mode = USER_MODE;
	(void)meet_stack();
	assert_int_equal(bench.rows[0][0].key.tip, tip);
	user_pc++;
	(void)meet_stack();
	assert_true(bench.rows[0][0].key.tip != tip);
	user_pc = 0;
	(void)meet_stack();
	assert_int_equal(bench.rows[0][0].key.tip, TIP_NONE);
}

/* io_uring's: it has no code of the process to run. */
FIXTURE_TEST(tip_of_kernel_worker_has_no_native_address)
{
	native_session.has_native = 1;
	user_pc = 0x7f1234;
	kernel.current.flags = TASK_FLAG_IO_WORKER;
	(void)meet_stack();
	assert_int_equal(bench.rows[0][0].key.tip, TIP_NONE);
	assert_int_equal(bench.rows[0][0].key.stack, STACK_NO_RUBY);
	kernel.current.flags = 0;
	kernel.current.mm = NULL;
	(void)meet_stack();
	assert_int_equal(bench.rows[0][0].key.tip, TIP_NONE);
}

/* A thread in native code, with the native stack up to so far above the stack pointer. */
static void run_native(int64_t readable_bytes)
{
	native_session.has_native = native_session.has_callers = 1;
	user_pc = 0x7f1234;
	bench.stack_end = STACK_POINTER + (uint64_t)readable_bytes;
	((uint64_t *)native_registers())[3] = 0x33;
}

static void expect_stack(uint64_t bytes)
{
	uint64_t from = STACK_POINTER - USER_RED_ZONE_BYTES;

	assert_int_equal(bench.stack_sent.message.has_stack, 1);
	assert_int_equal(bench.stack_sent.stack.size_bytes, bytes);
	assert_int_equal(bench.tip_sent_bytes,
			 offsetof(struct tip_with_stack, stack.bytes) + bytes);
	assert_int_equal(bench.stack_sent.stack.registers[3], 0x33);
	for (uint64_t i = 0; i < bytes; i++)
		assert_int_equal(bench.stack_sent.stack.bytes[i],
				 (uint8_t)((from + i) ^ (from + i) >> 8));
}

FIXTURE_TEST(tip_has_top_of_native_stack_if_callers_are_wanted)
{
	uint64_t page_left = USER_RED_ZONE_BYTES; /* the stack pointer is at a page's start */
	uint64_t tip;

	run_native(4 * 4096);
	(void)meet_stack();
	expect_stack(page_left + 3 * 4096);
	tip = bench.rows[0][0].key.tip;
	assert_int_equal(bench.stack_sent.message.tip, tip);
	assert_int_equal(bench.stack_sent.message.native_pc, 0x7f1234);
	/* No other sample has that tip, also in the same place. */
	kernel.now_ns++;
	(void)meet_stack();
	assert_int_equal(bench.tip_sendings, 2);
	assert_true(bench.rows[0][0].key.tip != tip);
	/* As far as it can be read. */
	run_native(2 * 4096 - 1);
	(void)meet_stack();
	expect_stack(page_left + 4096);
	run_native(4095);
	(void)meet_stack();
	expect_stack(page_left);
	run_native(-1);
	(void)meet_stack();
	expect_stack(0);
}

FIXTURE_TEST(tip_has_no_stack_in_interpreter_or_where_it_waits)
{
	unsigned long long arguments[] = { false, (uintptr_t)&kernel.current,
					   (uintptr_t)&kernel.other };

	run_native(4 * 4096);
	bench.layout.code_begin = 0x7f1234;
	bench.layout.code_end = 0x7f1235;
	(void)meet_stack();
	assert_int_equal(bench.tip_sent.has_stack, 0);
	assert_int_equal(bench.tip_sent_bytes, offsetof(struct tip_message, kernel));
	user_pc++;
	(void)meet_stack();
	assert_int_equal(bench.tip_sent.has_stack, 1);
	user_pc = 0x7f1233;
	(void)meet_stack();
	assert_int_equal(bench.tip_sent.has_stack, 1);
	assert_int_equal(on_leaving_cpu(arguments), 0);
	assert_int_equal(bench.tip_sent.has_stack, 0);
	/* Nor has a worker of the kernel, which has no place in native code. */
	user_pc = 0;
	(void)meet_in_kernel(1);
	assert_int_equal(bench.tip_sent.has_stack, 0);
	native_session.has_callers = 0;
	user_pc = 0x7f1236;
	(void)meet_stack();
	assert_int_equal(bench.tip_sent.has_stack, 0);
}

FIXTURE_TEST(tip_with_stack_is_counted_if_ring_is_full)
{
	run_native(4 * 4096);
	(void)meet_stack();
	bench.is_ring_full = true;
	(void)meet_stack();
	assert_int_equal(losses(COUNTER_STACKS_FULL), 1);
	bench.tip_scratch.tip.stack.size_bytes = USER_STACK_BYTES_MAX + 1;
	assert_int_equal(tip_tell_with_stack(&bench.tip_scratch.tip), 0);
	bench.has_no_tip_scratch = true;
	assert_int_equal(tip_copy_stack(LIFE), 0);
	assert_int_equal(bench.tip_sendings, 1);
}

FIXTURE_TEST(tip_with_too_many_addresses_is_not_sent)
{
	bench.tip_scratch.tip.message.kernel_count = KERNEL_FRAMES_MAX + 1;
	assert_int_equal(tip_tell(&bench.tip_scratch.tip.message, 1), 0);
	assert_int_equal(bench.tip_sendings, 0);
}

/* ---- where a thread waits ---- */

static void leave_cpu(struct task_struct *task)
{
	unsigned long long arguments[] = { false, (uintptr_t)task, (uintptr_t)&kernel.other };

	assert_int_equal(on_leaving_cpu(arguments), 0);
	if (task == &kernel.current)
		assert_ptr_equal(bench.unwound, arguments);
}

FIXTURE_TEST(switch_away_takes_stack_and_tip_of_thread)
{
	uint64_t stack = meet_stack();

	bench.kernel_count = 2;
	leave_cpu(&kernel.current);
	assert_int_equal(thread->waited.next_stack, stack);
	assert_int_equal(bench.sendings, 1);
	assert_int_equal(thread->waited.next_tip, bench.tip_sent.tip);
	assert_int_equal(bench.tip_sent.kernel_count, 2);
	assert_int_equal(bench.counts[0], 1);
}

FIXTURE_TEST(switch_away_of_unobserved_thread_takes_no_stack)
{
	leave_cpu(&kernel.other);
	assert_int_equal(bench.sendings, 0);
	assert_int_equal(bench.tip_sendings, 0);
}
