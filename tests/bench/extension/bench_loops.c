/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loops that are timed, in C so that the interpreter adds nothing: system calls, context
 * switches between two threads of this process, changes of the context.
 *
 * Each runs `operations` operations `batches` times and returns the best batch's nanoseconds per
 * operation: a batch is short enough to be left alone by the rest of the machine now and then.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ruby.h>
#include <ruby/thread.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void Init_bench_loops(void);

typedef void apply_function(void *state, uint64_t fiber, uint64_t serial);

struct applies {
	apply_function *apply;
	void **states;
	size_t count;
	size_t next;
};

enum {
	SWITCHES_A_ROUND = 2
};

/* Two threads on one CPU that pass a byte to and fro. */
struct game {
	int serve[2]; /* pipes: read end, write end */
	int answer[2];
	size_t operations;
	size_t batches;
	double best;
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double best_batch(void (*work)(void *argument, size_t operations), void *argument,
			 size_t operations, size_t batches)
{
	uint64_t best_ns = UINT64_MAX;

	for (size_t i = 0; i < batches; i++) {
		uint64_t start_ns = clock_ns();
		uint64_t batch_ns;

		work(argument, operations);
		batch_ns = clock_ns() - start_ns;
		if (batch_ns < best_ns)
			best_ns = batch_ns;
	}
	return (double)best_ns / (double)operations;
}

static void call_system(void *unused, size_t operations)
{
	(void)unused;
	for (size_t i = 0; i < operations; i++)
		syscall(SYS_getppid);
}

/* BenchLoops.syscalls(operations, batches): one operation = one getppid(). */
static VALUE bench_syscalls(VALUE self, VALUE operations, VALUE batches)
{
	(void)self;
	return DBL2NUM(best_batch(call_system, NULL, NUM2SIZET(operations), NUM2SIZET(batches)));
}

static void receive_nothing(void *socket, size_t operations)
{
	char byte;

	for (size_t i = 0; i < operations; i++)
		(void)recv(*(const int *)socket, &byte, 1, MSG_DONTWAIT);
}

/* BenchLoops.receives(socket, operations, batches): one operation = one recv() on an IO, a socket
 * with nothing to receive. */
static VALUE bench_receives(VALUE self, VALUE socket, VALUE operations, VALUE batches)
{
	int descriptor = NUM2INT(rb_funcall(socket, rb_intern("fileno"), 0));

	(void)self;
	return DBL2NUM(best_batch(receive_nothing, &descriptor, NUM2SIZET(operations),
				  NUM2SIZET(batches)));
}

static void read_byte(void *file, size_t operations)
{
	char byte;

	for (size_t i = 0; i < operations; i++)
		(void)pread(*(const int *)file, &byte, 1, 0);
}

/* BenchLoops.reads(file, operations, batches): one operation = one pread() of a byte of an IO. */
static VALUE bench_reads(VALUE self, VALUE file, VALUE operations, VALUE batches)
{
	int descriptor = NUM2INT(rb_funcall(file, rb_intern("fileno"), 0));

	(void)self;
	return DBL2NUM(
		best_batch(read_byte, &descriptor, NUM2SIZET(operations), NUM2SIZET(batches)));
}

/* The word in front of a table (correlator_state.h): as the gem does, which knows it without
 * reading. */
static uint64_t serial_of(const void *state)
{
	return state ? ((const uint64_t *)state)[-1] : 0;
}

static void apply_states(void *argument, size_t operations)
{
	struct applies *applies = argument;

	for (size_t i = 0; i < operations; i++) {
		void *state = applies->states[applies->next];

		applies->apply(state, 0, serial_of(state));
		if (++applies->next == applies->count)
			applies->next = 0;
	}
}

static int find_gem(struct dl_phdr_info *object, size_t size, void *ret_path)
{
	(void)size;
	if (!strstr(object->dlpi_name, "/correlator/correlator.so"))
		return 0;
	*(const char **)ret_path = object->dlpi_name;
	return 1;
}

static void *gem_symbol(const char *name)
{
	const char *path = NULL;
	void *handle = NULL;
	void *symbol = NULL;

	if (dl_iterate_phdr(find_gem, &path))
		handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (handle)
		symbol = dlsym(handle, name);
	if (!symbol)
		rb_raise(rb_eLoadError, "the gem does not have %s", name);
	return symbol;
}

/* BenchLoops.state: address of the table in force on this thread. */
static VALUE bench_state(VALUE self)
{
	(void)self;
	return ULL2NUM((uintptr_t) * (void **)gem_symbol("ruby_profiler_state"));
}

/*
 * BenchLoops.applies(operations, batches, states): one operation = the next state of the Array is
 * put in force. The caller keeps the states alive.
 */
static VALUE bench_applies(VALUE self, VALUE operations, VALUE batches, VALUE states)
{
	struct applies applies = {
		.apply = (apply_function *)gem_symbol("correlator_state_apply"),
		.count = (size_t)RARRAY_LEN(states),
	};
	void *before = *(void **)gem_symbol("ruby_profiler_state");
	double best;

	(void)self;
	applies.states = ALLOC_N(void *, applies.count);
	for (size_t i = 0; i < applies.count; i++)
		applies.states[i] = (void *)(uintptr_t)NUM2ULL(RARRAY_AREF(states, (long)i));
	best = best_batch(apply_states, &applies, NUM2SIZET(operations), NUM2SIZET(batches));
	applies.apply(before, 0, serial_of(before));
	xfree(applies.states);
	return DBL2NUM(best);
}

static bool pass(int fd)
{
	return write(fd, "", 1) == 1;
}

static bool await(int fd)
{
	char unused;

	return read(fd, &unused, 1) == 1;
}

static void serve(void *argument, size_t operations)
{
	const struct game *game = argument;

	for (size_t i = 0; i < operations; i += SWITCHES_A_ROUND)
		if (!pass(game->serve[1]) || !await(game->answer[0]))
			return;
}

/* A batch thread that is woken does not preempt the one that woke it: one switch for each turn. */
static void be_patient(void)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_BATCH, &none);
}

static void *serve_game(void *argument)
{
	struct game *game = argument;

	be_patient();
	game->best = best_batch(serve, game, game->operations, game->batches);
	close(game->serve[1]);
	return NULL;
}

static void *return_game(void *argument)
{
	struct game *game = argument;

	be_patient();
	while (await(game->serve[0]) && pass(game->answer[1]))
		;
	return NULL;
}

/* BenchLoops.game(operations, batches): for the two threads below; one operation = one switch. */
static VALUE bench_game(VALUE self, VALUE operations, VALUE batches)
{
	VALUE text = rb_str_new(NULL, sizeof(struct game));
	struct game *game = (struct game *)RSTRING_PTR(text);

	(void)self;
	memset(game, 0, sizeof(*game));
	if (pipe2(game->serve, O_CLOEXEC) || pipe2(game->answer, O_CLOEXEC))
		rb_sys_fail("pipe");
	game->operations = NUM2SIZET(operations);
	game->batches = NUM2SIZET(batches);
	return text;
}

/* BenchLoops.serve(game): plays it, on the CPU that BenchLoops.return_serve(game) plays on. */
static VALUE bench_serve(VALUE self, VALUE text)
{
	struct game *game = (struct game *)RSTRING_PTR(text);

	(void)self;
	rb_thread_call_without_gvl(serve_game, game, NULL, NULL);
	return DBL2NUM(game->best);
}

static VALUE bench_return(VALUE self, VALUE text)
{
	struct game *game = (struct game *)RSTRING_PTR(text);

	(void)self;
	rb_thread_call_without_gvl(return_game, game, NULL, NULL);
	close(game->serve[0]);
	close(game->answer[0]);
	close(game->answer[1]);
	return Qnil;
}

void Init_bench_loops(void)
{
	VALUE module = rb_define_module("BenchLoops");

	rb_define_singleton_method(module, "syscalls", bench_syscalls, 2);
	rb_define_singleton_method(module, "receives", bench_receives, 3);
	rb_define_singleton_method(module, "reads", bench_reads, 3);
	rb_define_singleton_method(module, "state", bench_state, 0);
	rb_define_singleton_method(module, "applies", bench_applies, 3);
	rb_define_singleton_method(module, "game", bench_game, 2);
	rb_define_singleton_method(module, "serve", bench_serve, 1);
	rb_define_singleton_method(module, "return_serve", bench_return, 1);
}
