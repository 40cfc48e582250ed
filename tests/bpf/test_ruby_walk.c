/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk over a Ruby's frames in the kernel: over memory that is ours it gives what it gives
 * natively, whatever is there; and of a Ruby that burns, met by a timer, what Ruby says itself.
 * WALK_SEED repeats one.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "kernel_test.h"
#include "recorder/symbolize/known_ruby.h"
#include "ruby_walk.h"
#include "ruby_walk.skel.h"

#define MEMORY_BASE UINT64_C(0x2a5500000000)

enum {
	ROUNDS = 300,
	MEMORY_BYTES = 1 << 20,
	PAGE_BYTES = 4096,
	CONTEXT = 0x100,
	HEAP = 0x1000,
	HEAP_WORDS = 2048,
	STACK = 0x10000,
	FRAMES_MAX = 2500,
	BURN_ROUNDS = 5,
	BURN_CALLS = 60,
	SAMPLE_NS = 1000 * 1000,
	WAIT_NS = 10 * 1000 * 1000,
	WAITS_MAX = 1000,
	REPEATS = 200,
};

/* Memory of ours that the kernel reads as a Ruby's: a heap of hostile words, and a stack. */
static struct memory {
	uint8_t *bytes; /* at MEMORY_BASE */
	uint64_t hole; /* address of a page that is not there; 0 = none */
} memory;

static struct ruby_walk_run run;

static uint64_t next_random(uint64_t *seed)
{
	/* Knuth's MMIX generator: reproducible, the upper bits are good. */
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 20;
}

static int read_memory(const struct memory_reader *reader, uint64_t address, void *buffer,
		       size_t size_bytes)
{
	uint64_t offset = address - MEMORY_BASE;

	(void)reader;
	if (offset > MEMORY_BYTES || size_bytes > MEMORY_BYTES - offset)
		return -EFAULT;
	if (memory.hole && address < memory.hole + PAGE_BYTES && address + size_bytes > memory.hole)
		return -EFAULT;
	memcpy(buffer, memory.bytes + offset, size_bytes);
	return 0;
}

static void put_word(uint64_t address, uint64_t word)
{
	memcpy(memory.bytes + (address - MEMORY_BASE), &word, sizeof(word));
}

static uint64_t random_word(uint64_t *seed)
{
	static const uint64_t words[] = { 0,
					  1,
					  RUBY_FRAME_IS_LOCAL,
					  RUBY_FRAME_IS_C | 2,
					  0x601a,
					  0x201a,
					  0x701a,
					  UINT64_MAX,
					  0x1a,
					  4,
					  1ULL << 56,
					  RUBY_FRAME_IS_C };
	uint64_t choice = next_random(seed) % 32;

	if (choice < sizeof(words) / sizeof(*words))
		return words[choice];
	if (choice == 31)
		return next_random(seed) << 12 | choice;
	return MEMORY_BASE + HEAP + next_random(seed) % HEAP_WORDS * 8;
}

/* The stack's bounds, of so many frames; they are now and then a little wrong. */
static void put_context(uint64_t *seed, uint32_t frame_bytes, uint32_t count)
{
	uint64_t words = (MEMORY_BYTES - STACK) / 8 / (frame_bytes / 8) * (frame_bytes / 8);
	uint64_t stack = MEMORY_BASE + STACK, end = stack + 8 * words;
	bool is_torn = seed && next_random(seed) % 16 == 0;

	run.execution_context = MEMORY_BASE + CONTEXT;
	put_word(run.execution_context, stack);
	put_word(run.execution_context + 8, words);
	put_word(run.execution_context + 16,
		 end - (uint64_t)frame_bytes * (count + 1) + (is_torn ? 8 : 0));
}

static uint64_t frame_at(uint32_t number)
{
	uint64_t innermost;

	memcpy(&innermost, memory.bytes + CONTEXT + 16, sizeof(innermost));
	return innermost + (uint64_t)run.layout.frame_bytes * number;
}

static void fill_randomly(uint64_t *seed)
{
	static const uint32_t counts[] = { 0, 1, 3, 60, 200, FRAMES_MAX };
	uint32_t count = counts[next_random(seed) % 6];

	memset(&run, 0, sizeof(run));
	run.layout = layout_3_1;
	if (next_random(seed) % 2) {
		run.layout.frame_bytes = 56;
		run.layout.frame_jit_return = next_random(seed) % 2 ? 48 : RUBY_LAYOUT_UNKNOWN;
	}
	run.layout.gc_flags_address = MEMORY_BASE + HEAP;
	run.layout.gc_flags_mask = 2;
	run.stack_pointer = next_random(seed) % 4 ? MEMORY_BASE + HEAP : 0;
	for (uint64_t at = MEMORY_BASE + HEAP; at < MEMORY_BASE + HEAP + 8 * HEAP_WORDS; at += 8)
		put_word(at, random_word(seed));
	put_context(seed, run.layout.frame_bytes, count);
	for (uint64_t at = frame_at(0) & ~7ULL; at + 8 <= MEMORY_BASE + MEMORY_BYTES; at += 8)
		put_word(at, random_word(seed));
	/* Not all of it is compiled code. */
	for (uint32_t i = 0; run.layout.frame_jit_return != RUBY_LAYOUT_UNKNOWN && i < count; i++)
		if (next_random(seed) % 2)
			put_word((frame_at(i) & ~7ULL) + run.layout.frame_jit_return, 0);
	memory.hole = 0;
	if (next_random(seed) % 2)
		memory.hole = MEMORY_BASE + next_random(seed) % (MEMORY_BYTES / PAGE_BYTES) *
						    (uint64_t)PAGE_BYTES;
}

static void run_in_kernel(struct ruby_walk_bpf *skeleton)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int map = bpf_map__fd(skeleton->maps.exchange);
	uint32_t slot = 0;

	if (memory.hole)
		assert_int_equal(mprotect((void *)memory.hole, PAGE_BYTES, PROT_NONE), 0);
	assert_int_equal(bpf_map_update_elem(map, &slot, &run, BPF_ANY), 0);
	assert_int_equal(
		bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.run_walk), &options), 0);
	assert_int_equal(options.retval, 0);
	assert_int_equal(bpf_map_lookup_elem(map, &slot, &run), 0);
	if (memory.hole)
		assert_int_equal(mprotect((void *)memory.hole, PAGE_BYTES, PROT_READ | PROT_WRITE),
				 0);
}

static void assert_equal(struct ruby_walk_bpf *skeleton, uint64_t seed, uint32_t *kinds)
{
	static struct ruby_frames native;
	const struct memory_reader reader = { .read = read_memory };

	fill_randomly(&(uint64_t){ seed });
	stack_reader_walk(&reader, &run.layout, run.execution_context, run.stack_pointer, &native);
	run_in_kernel(skeleton);
	if (native.count != run.frames.count || native.hash != run.frames.hash ||
	    native.flags != run.frames.flags || native.unreadable != run.frames.unreadable ||
	    memcmp(native.frames, run.frames.frames, native.count * sizeof(*native.frames)))
		fail_msg("WALK_SEED=%lu: %u frames, flags %x, %u unreadable; in the kernel %u, %x, "
			 "%u",
			 (unsigned long)seed, native.count, native.flags, native.unreadable,
			 run.frames.count, run.frames.flags, run.frames.unreadable);
	for (uint32_t i = 0; i < native.count; i++)
		kinds[ruby_frame_kind(&native.frames[i])]++;
}

static void the_kernel_walks_as_it_is_done_natively(void **state)
{
	uint32_t kinds[RUBY_FRAME_KIND_MASK + 1] = { 0 };
	const char *seed = getenv("WALK_SEED");

	if (seed)
		assert_equal(*state, strtoull(seed, NULL, 0), kinds);
	for (uint64_t i = 1; i <= ROUNDS && !seed; i++)
		assert_equal(*state, i, kinds);
	/* The comparison is of something. */
	for (uint32_t kind = 1; kind < _RUBY_FRAME_KIND_MAX && !seed; kind++)
		assert_true(kinds[kind] > 0);
}

/* A third of the frames are of C, as under a web server; each with a method of its own. */
static void fill_soundly(uint32_t count)
{
	uint64_t ep = MEMORY_BASE + HEAP + 16;

	memset(&run, 0, sizeof(run));
	memset(memory.bytes, 0, MEMORY_BYTES);
	memory.hole = 0;
	run.layout = layout_3_1;
	put_context(NULL, run.layout.frame_bytes, count);
	for (uint32_t i = 0; i < count; i++, ep += 48) {
		bool is_c = i % 3 == 1;

		put_word(ep - 16, ep + 8);
		put_word(ep, RUBY_FRAME_IS_LOCAL | (is_c ? RUBY_FRAME_IS_C : 0));
		put_word(ep + 8, 0x601a);
		put_word(frame_at(i) + run.layout.frame_ep, ep);
		if (is_c)
			continue;
		put_word(frame_at(i) + run.layout.frame_pc, MEMORY_BASE + 8ULL * i);
		put_word(frame_at(i) + run.layout.frame_iseq, MEMORY_BASE + 64ULL * i);
	}
}

/* What it takes is printed, not asserted: the machine is not ours alone. */
static void a_walk_takes_so_long(void **state)
{
	static const uint32_t counts[] = { 50, 200, 1000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		uint64_t walk_ns = UINT64_MAX, methods_ns = UINT64_MAX;

		fill_soundly(counts[i]);
		for (uint32_t repeat = 0; repeat < REPEATS; repeat++) {
			run.state = RUBY_WALK_WANTED;
			run_in_kernel(*state);
			assert_int_equal(run.frames.count, counts[i]);
			assert_int_equal(run.frames.unreadable, 0);
			if (run.walked_ns - run.started_ns < walk_ns)
				walk_ns = run.walked_ns - run.started_ns;
			if (run.ended_ns - run.walked_ns < methods_ns)
				methods_ns = run.ended_ns - run.walked_ns;
		}
		print_message("%4u frames: %lu ns, and their methods %lu ns\n", counts[i],
			      (unsigned long)walk_ns, (unsigned long)methods_ns);
	}
}

/* Waits until a timer has met the thread, and takes what it saw. */
static void await_sample(struct ruby_walk_bpf *skeleton)
{
	static const struct timespec pause = { .tv_nsec = WAIT_NS };
	int map = bpf_map__fd(skeleton->maps.exchange);
	uint32_t slot = 0;

	run.state = RUBY_WALK_WANTED;
	assert_int_equal(bpf_map_update_elem(map, &slot, &run, BPF_ANY), 0);
	for (int i = 0; i < WAITS_MAX && run.state != RUBY_WALK_DONE; i++) {
		(void)nanosleep(&pause, NULL);
		assert_int_equal(bpf_map_lookup_elem(map, &slot, &run), 0);
	}
	assert_int_equal(run.state, RUBY_WALK_DONE);
}

static struct bpf_link *attach_clock(struct ruby_walk_bpf *skeleton, pid_t tid)
{
	struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE,
					      .size = sizeof(attributes),
					      .config = PERF_COUNT_SW_CPU_CLOCK,
					      .sample_period = SAMPLE_NS };
	int fd = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;

	assert_true(fd >= 0);
	link = bpf_program__attach_perf_event(skeleton->progs.on_clock, fd);
	assert_non_null(link);
	return link;
}

/* Frames above the method that burns: it, what it calls, a collection. */
static uint32_t skip_burning(struct known_ruby *known)
{
	struct frame_name name;

	for (uint32_t i = 0; i < known->frames.count; i++) {
		assert_int_equal(
			frame_names_find(known->names, NULL, &known->frames.frames[i], &name), 0);
		if (!strcmp(name.label, "burn"))
			return i + 1;
	}
	fail_msg("nothing burns");
	return 0;
}

static void a_timer_meets_a_ruby_where_it_says_it_is(void **state)
{
	struct known_ruby *known;
	char line[128], answer[64], *end;
	uint32_t compared = 0;

	if (!known_ruby_is_here())
		skip();
	assert_int_equal(known_ruby_setup((void **)&known), 0);
	for (uint32_t seed = 0; seed < BURN_ROUNDS; seed++) {
		struct bpf_link *link;

		(void)snprintf(line, sizeof(line), "burn(%u, %u, %u, %d)",
			       layout_3_1.execution_thread, layout_3_1.thread_self, seed,
			       BURN_CALLS);
		assert_true(live_ruby_ask(&known->ruby, line, answer, sizeof(answer)));
		memset(&run, 0, sizeof(run));
		run.layout = layout_3_1;
		run.execution_context = strtoull(answer, &end, 10);
		link = attach_clock(*state, (pid_t)strtol(end, NULL, 10));
		await_sample(*state);
		(void)bpf_link__destroy(link);
		known->frames = run.frames;
		compared += known_ruby_compare(known, skip_burning(known), line);
		(void)known_ruby_ask(known, "go_on");
	}
	assert_true(compared > BURN_ROUNDS * BURN_CALLS);
	known_ruby_teardown((void **)&known);
}

static int load(void **state)
{
	void *bytes = mmap((void *)MEMORY_BASE, MEMORY_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_POPULATE, -1, 0);

	if (bytes == MAP_FAILED)
		return -1;
	memory.bytes = bytes;
	*state = ruby_walk_bpf__open_and_load();
	return *state ? 0 : -1;
}

static int unload(void **state)
{
	ruby_walk_bpf__destroy(*state);
	(void)munmap(memory.bytes, MEMORY_BYTES);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_walks_as_it_is_done_natively),
		cmocka_unit_test(a_walk_takes_so_long),
		cmocka_unit_test(a_timer_meets_a_ruby_where_it_says_it_is),
	};

	kernel_test_require();
	return cmocka_run_group_tests(tests, load, unload);
}
