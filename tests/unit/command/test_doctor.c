/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of a machine and a process of our making: all that would look at real ones is here.
 */
#include <errno.h>
#include <stdbool.h>

#include "unit_test.h"

#include "command/command.h"
#include "command_line.h"
#include "recorder/probe/features.h"
#include "recorder/probe/load.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/namespaces.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/proc/process_access.h"
#include "recorder/target/target.h"

UNIT_TEST_ALONE;

enum {
	PID = 4242,
	TRIES_MAX = 16
};

/* What there is. */
static struct {
	struct feature features[3];
	size_t feature_count;
	struct kernel_offers kernel;
	int load_codes[TRIES_MAX]; /* in the order of the tries */
	struct refusal refusal;
	bool is_pid_initial, is_user_initial, has_no_namespaces;
	const char *differences;
	int own_proc_code, open_code, refresh_code;
	const char *server;
	bool has_given_up, mixes_threads, shows_gvl, counts_gvl, times_gc;
	enum string_layout layout;
	bool otel_is_readable;
	struct otel_config otel_config;
	struct publisher publishers[3];
	const struct publisher *live, *otel_live;
	struct target target;
	int stack_code;
	struct ruby_stack_report stack;
} world;

/* What was asked for. */
static struct {
	struct session_options loads[TRIES_MAX];
	size_t load_count;
	struct target_keys keys;
	char ruby_names[KEYS_MAX][32];
	unsigned int opens, frees;
} asked;

static struct command_result result;

size_t features_look(struct feature ret_features[static FEATURES_MAX])
{
	memcpy(ret_features, world.features, sizeof(world.features));
	return world.feature_count;
}

void features_ask_kernel(struct kernel_offers *ret_offers)
{
	*ret_offers = world.kernel;
}

int load_try(const struct session_options *options, struct refusal *ret_refusal)
{
	assert_memory_equal(options->kernel, &world.kernel, sizeof(world.kernel));
	*ret_refusal = world.refusal;
	asked.loads[asked.load_count] = *options;
	return world.load_codes[asked.load_count++];
}

int namespaces_read(pid_t pid, struct namespaces *ret_namespaces)
{
	*ret_namespaces = (struct namespaces){ .inodes = { (uint64_t)pid } };
	return world.has_no_namespaces ? -ESRCH : 0;
}

bool namespaces_is_initial(const struct namespaces *namespaces, enum namespace_kind kind)
{
	assert_int_equal(namespaces->inodes[0], getpid());
	return kind == NAMESPACE_PID ? world.is_pid_initial : world.is_user_initial;
}

void namespaces_differences(const struct namespaces *a, const struct namespaces *b,
			    char ret_text[static NAMESPACES_TEXT_BYTES])
{
	assert_int_equal(a->inodes[0], getpid());
	assert_int_equal(b->inodes[0], PID);
	(void)snprintf(ret_text, NAMESPACES_TEXT_BYTES, "%s", world.differences);
}

int namespaces_check_own_proc(void)
{
	return world.own_proc_code;
}

void process_access_explain(pid_t pid, char ret_text[static PROCESS_ACCESS_TEXT_BYTES])
{
	assert_int_equal(pid, PID);
	(void)snprintf(ret_text, PROCESS_ACCESS_TEXT_BYTES, "it is a secret");
}

pid_t process_of_thread(pid_t tid)
{
	(void)tid;
	return 0;
}

const char *process_server_name(pid_t pid)
{
	assert_int_equal(pid, PID);
	return world.server;
}

bool agent_has_given_up(pid_t pid)
{
	assert_int_equal(pid, PID);
	return world.has_given_up;
}

int target_open(pid_t pid, struct memory_map *map, const struct target_keys *keys,
		struct object_files *files, struct target **ret_target)
{
	assert_in_range(pid, PID, PID + 1); /* the second is not there */
	assert_null(map);
	assert_null(files);
	asked.keys = *keys;
	for (size_t i = 0; i < keys->count; i++)
		(void)snprintf(asked.ruby_names[i], sizeof(asked.ruby_names[i]), "%s",
			       keys->ruby_names[i] ? keys->ruby_names[i] : "");
	if (world.open_code == 0 && pid == PID) {
		asked.opens++;
		*ret_target = &world.target;
	}
	return pid == PID ? world.open_code : -ESRCH;
}

int target_refresh(struct target *target)
{
	assert_ptr_equal(target, &world.target);
	return world.refresh_code;
}

void target_free(struct target *target)
{
	assert_ptr_equal(target, &world.target);
	asked.frees++;
}

const struct publisher *target_publisher(const struct target *target)
{
	assert_ptr_equal(target, &world.target);
	return world.live;
}

bool target_mixes_threads(const struct target *target)
{
	assert_ptr_equal(target, &world.target);
	return world.mixes_threads;
}

bool target_shows_gvl(const struct target *target)
{
	assert_ptr_equal(target, &world.target);
	return world.shows_gvl;
}

bool target_counts_gvl(const struct target *target)
{
	assert_ptr_equal(target, &world.target);
	return world.counts_gvl;
}

bool target_times_gc(const struct target *target)
{
	assert_ptr_equal(target, &world.target);
	return world.times_gc;
}

const struct publisher *otel_target_publisher(const struct otel_target *target)
{
	assert_ptr_equal(target, &world.target.otel);
	return world.otel_live;
}

bool otel_target_is_readable(const struct otel_target *target)
{
	assert_ptr_equal(target, &world.target.otel);
	return world.otel_is_readable;
}

void otel_target_config(const struct otel_target *target, struct otel_config *ret_config)
{
	assert_ptr_equal(target, &world.target.otel);
	*ret_config = world.otel_config;
}

uint64_t ruby_symbols_table_address(const struct ruby_symbols *symbols)
{
	return (uint64_t)(uintptr_t)symbols;
}

enum string_layout ruby_symbols_string_layout(const struct ruby_symbols *symbols)
{
	(void)symbols;
	return world.layout;
}

int ruby_target_find_stack(const struct ruby_target *target, pid_t pid, bool is_musl,
			   struct ruby_stack_layout *ret_layout,
			   struct ruby_stack_report *ret_report)
{
	assert_ptr_equal(target, &world.target.ruby);
	assert_int_equal(pid, PID);
	assert_int_equal(is_musl, world.target.link_map.is_musl);
	*ret_layout = (struct ruby_stack_layout){ .frame_bytes = 56 };
	*ret_report = world.stack;
	return world.stack_code;
}

/* A machine that has everything, and a Ruby that publishes. */
static int make_world(void **state)
{
	struct publisher *publisher = &world.publishers[0];

	(void)state;
	memset(&world, 0, sizeof(world));
	world.features[0] = (struct feature){ .name = "kernel",
					      .state = FEATURE_PRESENT,
					      .detail = "6.12 of mine" };
	world.feature_count = 1;
	world.kernel.can_walk_stacks = true;
	world.is_pid_initial = world.is_user_initial = true;
	world.counts_gvl = world.times_gc = true;
	world.differences = "";
	world.layout = STRING_LAYOUT_LONG;
	world.target.info = (struct process_info){ .pid = PID, .comm = "ruby", .ns_pid = 17 };
	world.target.ruby = (struct ruby_target){
		.is_ruby = true,
		.version = "3.4.5",
		.path = "/usr/lib/libruby.so",
		.symbols = (struct ruby_symbols *)(uintptr_t)0x7f0012345678,
		.key_ids = { 0x1a1, 0x2b2, 0x3c3 },
	};
	*publisher = (struct publisher){
		.path = "/gems/correlator.so",
		.is_located = true,
		.tls = { .location = { .model = TLS_MODEL_STATIC, .offset = -64 },
			 .relocation = "TPOFF64" },
		.site_count = 1,
	};
	publisher->sites[0] = (struct probe_site){
		.function = "correlator_state_apply",
		.instruction = "push",
		.offset_bytes = 4,
		.cost = PROBE_SITE_EMULATED,
		.bytes = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0xee },
	};
	world.target.publishers.list[0] = publisher;
	world.target.publishers.count = 1;
	world.live = publisher;
	world.stack =
		(struct ruby_stack_report){ .agreed = 31, .frames_seen = 12, .iseqs_seen = 7 };
	return 0;
}

static int doctor(const char *line)
{
	memset(&asked, 0, sizeof(asked));
	command_run(command_doctor, line, &result);
	assert_int_equal(asked.opens, asked.frees);
	return result.code;
}

static int examine(void)
{
	return doctor("doctor -p 4242");
}

/* A line about it that contains the text; mark: "ok", "note", "FAIL". */
static bool has_line(const char *mark, const char *name, const char *text)
{
	char start[64];
	size_t length;

	(void)snprintf(start, sizeof(start), "\n  %-4s  %s ", mark, name);
	length = strlen(start);
	for (const char *at = result.output; (at = strstr(at, start)); at += length) {
		const char *found = strstr(at + length, text);

		if (found && found < at + 1 + strcspn(at + 1, "\n"))
			return true;
	}
	return false;
}

static void says(const char *mark, const char *name, const char *text)
{
	if (!has_line(mark, name, text))
		fail_msg("no line `%s %s ... %s' in:\n%s", mark, name, text, result.output);
}

static void says_nothing_of(const char *text)
{
	if (strstr(result.output, text))
		fail_msg("`%s' in:\n%s", text, result.output);
}

#define FIXTURE_TEST(test) TEST_WITH(test, make_world, NULL)

FIXTURE_TEST(doctor_reports_ok_for_fully_supported_machine)
{
	assert_int_equal(doctor("doctor"), EXIT_CODE_OK);
	says("ok", "kernel", "6.12 of mine");
	says("ok", "pid namespace", "all processes");
	says("ok", "programs", "exact");
	says("ok", "programs", "--lean");
	says("ok", "programs", "--no-kernel-split");
	says("ok", "programs", "exact with keys otel.");
	says_nothing_of("FAIL");
	says_nothing_of("note");
	says_nothing_of("Process");
	assert_int_equal(asked.opens, 0);
	assert_string_equal(result.error, "");
}

FIXTURE_TEST(doctor_tries_each_recording_mode)
{
	bool has_lean = false, has_late = false, has_unsplit = false, has_exact = false;

	(void)doctor("doctor");
	for (size_t i = 0; i < asked.load_count; i++) {
		const struct session_options *options = &asked.loads[i];

		has_lean |= options->is_lean && options->has_kernel_split;
		has_unsplit |= !options->is_lean && !options->has_kernel_split;
		has_exact |= !options->is_lean && options->has_kernel_split &&
			     !options->watches_otel && !options->late_keys;
		/* A late key is another one than the one that it depends on. */
		has_late |= options->has_kernel_split && options->watches_otel &&
			    options->late_keys && options->request_key &&
			    !(options->late_keys & 1U << (options->request_key - 1));
	}
	assert_true(has_lean && has_late && has_unsplit && has_exact);
}

/* Of what is recorded on top. */
static void tried(size_t number, bool has_timeline, bool counts_syscalls, bool counts_io,
		  bool has_stalls, bool has_stacks)
{
	const struct session_options *options = &asked.loads[number];

	assert_true(options->has_kernel_split && options->has_children && !options->is_lean);
	assert_int_equal(options->has_timeline, has_timeline);
	assert_int_equal(options->counts_syscalls, counts_syscalls);
	assert_int_equal(options->counts_io, counts_io);
	assert_int_equal(options->stall_least_ns > 0, has_stalls);
	assert_int_equal(options->stacks_hz, has_stacks ? 99 : 0);
	assert_int_equal(options->has_native, has_stacks);
}

FIXTURE_TEST(doctor_tries_timeline_syscalls_io_stalls_and_stacks_together)
{
	static const char *const modules[] = { "--timeline", "--syscalls", "--io", "--stall",
					       "--stacks=off-cpu" };

	(void)doctor("doctor");
	assert_int_equal(asked.load_count, 5);
	tried(4, true, true, true, true, true);
	says("ok", "programs",
	     "verified: with --timeline, --syscalls, --io, --stall and --stacks=off-cpu");
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		says("ok", modules[i], "adds ");
	world.kernel.can_walk_stacks = false;
	(void)doctor("doctor");
	assert_int_equal(asked.load_count, 5);
	tried(4, true, true, true, true, false);
	says("ok", "programs", "verified: with --timeline, --syscalls, --io and --stall");
	says("note", "--stacks", "needs Linux 5.17");
}

FIXTURE_TEST(doctor_tries_extras_separately_after_combined_load_fails)
{
	static const int codes[] = { 0, 0, 0, 0, -EACCES, 0, -ENOMEM, 0, 0, -EACCES };

	memcpy(world.load_codes, codes, sizeof(codes));
	world.refusal.program[0] = 'p';
	assert_int_equal(doctor("doctor"), EXIT_CODE_OK);
	assert_int_equal(asked.load_count, 10);
	tried(5, true, false, false, false, false);
	tried(6, false, true, false, false, false);
	tried(7, false, false, true, false, false);
	tried(8, false, false, false, true, false);
	tried(9, false, false, false, false, true);
	says("note", "programs",
	     "refuses p: with --timeline, --syscalls, --io, --stall and --stacks=off-cpu: Perm");
	says("ok", "programs", "verified: --timeline");
	says("note", "programs", "refuses p: --syscalls: Cannot allocate memory");
	says("ok", "programs", "verified: --io");
	says("ok", "programs", "verified: --stall");
	says("note", "programs", "refuses p: --stacks=off-cpu: Permission denied");
	world.kernel.can_walk_stacks = false;
	(void)doctor("doctor");
	assert_int_equal(asked.load_count, 9);
	says("note", "--stacks", "needs Linux 5.17");
}

FIXTURE_TEST(doctor_fails_for_missing_feature_unless_optional)
{
	world.features[1] = (struct feature){ .name = "hook",
					      .state = FEATURE_OPTIONAL_ABSENT,
					      .remedy = "it is slower" };
	world.feature_count = 2;
	assert_int_equal(doctor("doctor"), EXIT_CODE_OK);
	says("note", "hook", "it is slower");
	says_nothing_of("FAIL");
	world.features[2] = (struct feature){ .name = "BTF",
					      .state = FEATURE_ABSENT,
					      .remedy = "boot another one" };
	world.feature_count = 3;
	assert_int_equal(doctor("doctor"), EXIT_CODE_UNSUPPORTED);
	says("FAIL", "BTF", "boot another one");
	says("ok", "kernel", "6.12 of mine");
	assert_int_equal(examine(), EXIT_CODE_UNSUPPORTED);
	says("ok", "Ruby", "3.4.5");
}

FIXTURE_TEST(doctor_shows_verifier_log_of_rejected_programs)
{
	static const int codes[] = { 0, 0, 0, -EINVAL };

	memcpy(world.load_codes, codes, sizeof(codes));
	world.refusal = (struct refusal){ .program = "on_switch",
					  .lines = { "first words", "second", "third", "last" } };
	assert_int_equal(doctor("doctor"), EXIT_CODE_UNSUPPORTED);
	says("ok", "programs", "exact");
	says("FAIL", "programs", "refuses on_switch");
	says("FAIL", "programs", "Invalid argument");
	assert_non_null(strstr(result.output, "  first words\n"));
	assert_non_null(strstr(result.output, "  last\n"));
	assert_int_equal(asked.load_count, 5);
	memset(world.refusal.lines[1], 0, sizeof(world.refusal.lines[1]));
	/* However short they are. */
	(void)strcpy(world.refusal.program, "p");
	(void)strcpy(world.refusal.lines[0], "1");
	(void)doctor("doctor");
	says_nothing_of("third");
	says("FAIL", "programs", "refuses p: --no-kernel-split");
	assert_non_null(strstr(result.output, "  1\n"));
}

FIXTURE_TEST(doctor_stops_loading_after_permission_error)
{
	world.load_codes[0] = -EPERM;
	assert_int_equal(doctor("doctor"), EXIT_CODE_UNSUPPORTED);
	assert_int_equal(asked.load_count, 1);
	says("FAIL", "programs", "Operation not permitted");
	says_nothing_of("verifier");
}

FIXTURE_TEST(doctor_reports_container_namespaces)
{
	world.is_pid_initial = world.is_user_initial = false;
	assert_int_equal(doctor("doctor"), EXIT_CODE_OK);
	says("ok", "pid namespace", "a container's");
	says("note", "user namespace", "a container's");
	world.is_user_initial = true;
	(void)doctor("doctor");
	says_nothing_of("user namespace");
	world.has_no_namespaces = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says_nothing_of("namespace");
}

FIXTURE_TEST(doctor_reports_ok_for_publishing_ruby)
{
	world.server = "puma";
	assert_int_equal(examine(), EXIT_CODE_OK);
	assert_non_null(strstr(result.output, "\nProcess 4242 (ruby, puma)\n"));
	says("ok", "Ruby", "3.4.5 in /usr/lib/libruby.so");
	says("ok", "symbol table", "at 0x7f0012345678");
	says("ok", "symbol table", "3.2 and later");
	says("ok", "thread-local", "ruby_profiler_state in /gems/correlator.so\n");
	says("ok", "TLS model", "static (TPOFF64): thread pointer -64\n");
	says("ok", "probe site", "correlator_state_apply+4: 55 48 89 e5 41 (push), emulated");
	says("ok", "key", "request_id = ID 0x1a1\n");
	says("ok", "key", "endpoint = ID 0x2b2\n");
	says("ok", "key", "trace_id = ID 0x3c3\n");
	says_nothing_of("FAIL");
	says_nothing_of("note");
	says_nothing_of("namespaces  ");
	says_nothing_of("OpenTelemetry");
	says_nothing_of("threads");
	assert_string_equal(result.error, "");
}

FIXTURE_TEST(doctor_names_process_without_known_server_by_comm)
{
	(void)examine();
	assert_non_null(strstr(result.output, "\nProcess 4242 (ruby)\n"));
}

FIXTURE_TEST(doctor_requests_ruby_and_otel_keys)
{
	(void)examine();
	assert_true(asked.keys.wants_ruby && asked.keys.wants_otel);
	assert_int_equal(asked.keys.count, 3);
	assert_string_equal(asked.ruby_names[0], "request_id");
	assert_string_equal(asked.ruby_names[1], "endpoint");
	assert_string_equal(asked.ruby_names[2], "trace_id");
	(void)doctor("doctor -p 4242 -k tenant");
	assert_true(asked.keys.wants_ruby && asked.keys.wants_otel);
	assert_int_equal(asked.keys.count, 1);
	assert_string_equal(asked.ruby_names[0], "tenant");
	says("ok", "key", "tenant = ID 0x1a1");
	says_nothing_of("request_id");
}

FIXTURE_TEST(doctor_notes_key_without_symbol)
{
	world.target.ruby.key_ids[1] = 0;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "key", "endpoint is not a symbol");
	says("ok", "key", "trace_id = ID 0x3c3");
}

FIXTURE_TEST(doctor_reports_namespaces_of_process)
{
	world.differences = "pid, mount";
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "namespaces", "own pid, mount; pid 17 inside");
	world.differences = "x";
	(void)examine();
	says("ok", "namespaces", "own x;");
}

FIXTURE_TEST(doctor_reports_string_layout_of_old_ruby)
{
	world.layout = STRING_LAYOUT_FLAGS;
	(void)examine();
	says("ok", "symbol table", "3.1 and earlier");
}

FIXTURE_TEST(doctor_reports_ok_if_frame_layouts_agree)
{
	world.target.link_map.is_musl = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "frames", "56 bytes");
	says("ok", "frames", "agree on 31 figures (12 frames, 7 iseqs seen)");
}

FIXTURE_TEST(doctor_only_notes_unverified_frame_layout)
{
	world.stack.state = RUBY_STACK_DISAGREED;
	world.stack.remark_count = 2;
	(void)strcpy(world.stack.remarks[0], "this figure");
	(void)strcpy(world.stack.remarks[1], "and that");
	(void)strcpy(world.stack.remarks[2], "not this");
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "frames", "disagree");
	assert_non_null(strstr(result.output, "   this figure\n"));
	assert_non_null(strstr(result.output, "   and that\n"));
	says_nothing_of("not this");
	world.stack.state = RUBY_STACK_MISSING;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "frames", "too little");
	says_nothing_of("disagree");
	world.stack_code = -EAGAIN;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "frames", "still starting?");
	says_nothing_of("this figure");
	world.stack_code = -ENOMEM;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "frames", "Cannot allocate memory");
}

FIXTURE_TEST(doctor_fails_for_ruby_without_symbol_table)
{
	world.target.ruby.symbols = NULL;
	assert_int_equal(examine(), EXIT_CODE_NO_TARGET);
	says("FAIL", "symbol table", "still starting?");
	says_nothing_of("  frames  ");
	says("ok", "thread-local", "correlator.so");
}

FIXTURE_TEST(doctor_suggests_gem_for_ruby_without_publisher)
{
	world.live = NULL;
	world.target.publishers.count = 0;
	assert_int_equal(examine(), EXIT_CODE_NO_TARGET);
	says("FAIL", "thread-local", "add the gem `correlator`");
	says("ok", "symbol table", "0x7f0012345678");
	says_nothing_of("mapped files");
	world.target.walk.unreadable_count = 3;
	(void)strcpy(world.target.walk.unreadable_path, "/old/lib.so");
	assert_int_equal(examine(), EXIT_CODE_NO_TARGET);
	says("note", "mapped files", "3 could not be opened, among them /old/lib.so");
}

FIXTURE_TEST(doctor_names_publisher_with_unlocated_variable)
{
	world.live = NULL;
	assert_int_equal(examine(), EXIT_CODE_NO_TARGET);
	says("FAIL", "thread-local", "of /gems/correlator.so cannot be located");
}

FIXTURE_TEST(doctor_reports_module_of_dynamic_tls_variable)
{
	struct tls_symbol *tls = &world.publishers[0].tls;

	tls->location =
		(struct tls_location){ .model = TLS_MODEL_DYNAMIC, .module = 7, .offset = 48 };
	tls->relocation = "TLSDESC";
	tls->is_confirmed = true;
	(void)examine();
	says("ok", "TLS model", "dynamic (TLSDESC): module 7, offset 48, as the loader's own list");
	tls->is_confirmed = false;
	(void)examine();
	says("ok", "TLS model", "offset 48\n");
	tls->location.model = 3;
	(void)examine();
	says("ok", "TLS model", "none (TLSDESC)");
}

FIXTURE_TEST(doctor_marks_deleted_publisher_file)
{
	world.publishers[0].is_deleted = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "thread-local", "correlator.so (deleted or replaced since)");
}

FIXTURE_TEST(doctor_lists_other_copies_of_variable)
{
	(void)snprintf(world.publishers[1].path, sizeof(world.publishers[1].path), "/gems/two.so");
	(void)snprintf(world.publishers[2].path, sizeof(world.publishers[2].path),
		       "/gems/three.so");
	world.publishers[2].is_interposed = true;
	world.target.publishers.list[1] = &world.publishers[1];
	world.target.publishers.list[2] = &world.publishers[2];
	world.target.publishers.count = 3;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "thread-local", "/gems/two.so has one of its own");
	says("ok", "thread-local", "/gems/three.so sets the same one");
	assert_false(has_line("note", "thread-local", "/gems/correlator.so"));
	assert_false(has_line("ok", "thread-local", "/gems/correlator.so sets"));
}

FIXTURE_TEST(doctor_reports_gvl_counting_or_how_to_enable_it)
{
	world.counts_gvl = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "GVL", "waits for it are counted");
	world.counts_gvl = false;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "GVL", "not counted: the gem `correlator' can");
	world.publishers[0].has_threads = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "GVL", "not counted: `Correlator.watch_vm!' in the application");
	(void)strcpy(world.target.ruby.version, "3.10.1");
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "GVL", "not counted: `Correlator.watch_vm!' in the application");
	(void)strcpy(world.target.ruby.version, "3.2.9");
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "GVL", "not counted: Ruby 3.2.9 does not tell of them, 3.3 and newer do");
	world.shows_gvl = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "GVL", "waits for it are told from outside");
}

FIXTURE_TEST(doctor_reports_gc_timing_or_how_to_enable_it)
{
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "GC", "collections are timed");
	world.times_gc = false;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "GC", "not timed: the gem `correlator' can");
	world.publishers[0].has_threads = true;
	(void)strcpy(world.target.ruby.version, "2.7.4");
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "GC", "not timed: `Correlator.watch_vm!' in the application");
}

FIXTURE_TEST(doctor_reports_whether_shared_native_threads_are_followed)
{
	world.target.shares_native_threads = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "threads", "are followed");
	world.mixes_threads = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "threads", "/gems/correlator.so does not follow");
	says_nothing_of("are followed");
}

FIXTURE_TEST(doctor_reports_address_and_cost_of_probe_sites)
{
	struct publisher *publisher = &world.publishers[0];

	publisher->sites[1] = (struct probe_site){
		.instruction = "other",
		.virtual_address = 0x1050,
		.offset_bytes = 0x10,
		.cost = PROBE_SITE_SINGLE_STEPPED,
		.bytes = { 0xf3, 0x0f, 0x1e, 0xfa, 0x90 },
	};
	publisher->site_count = 2;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("ok", "probe site", "correlator_state_apply+4: ");
	assert_false(has_line("ok", "probe site", "single-stepped"));
	assert_false(has_line("ok", "probe site", "refers"));
	says("note", "probe site",
	     "function at 0x1040+16, which refers to the variable: f3 0f 1e fa "
	     "90 (other), single-stepped");
	publisher->site_count = 0;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("note", "probe site", "recordings run lean");
}

FIXTURE_TEST(doctor_reports_failure_if_agent_times_out)
{
	world.has_given_up = true;
	assert_int_equal(examine(), EXIT_CODE_OK);
	says("FAIL", "memory and files", "in time");
}

/* Its key map has http.route, and a trace ID is asked for. */
static void publish_otel(void)
{
	world.publishers[1] = (struct publisher){
		.path = "/lib/otel.so",
		.tls = { .location = { .model = TLS_MODEL_STATIC, .offset = 128 },
			 .relocation = "TPOFF64" },
	};
	world.otel_live = &world.publishers[1];
	world.otel_is_readable = true;
	world.otel_config = (struct otel_config){ .trace_key = 1 };
	world.otel_config.key_of_index[9] = 3;
	world.target.otel.announcement = (struct otel_announcement){
		.state = OTEL_ANNOUNCEMENT_READ,
		.index_count = 12,
		.schema_version = "1.2",
		.service_name = "shop",
		.service_instance_id = "shop-1",
		.environment_name = "production",
	};
}

static int examine_otel(void)
{
	return doctor("doctor -p 4242 -k otel.trace_id -k request_id -k otel.http.route "
		      "-k otel.span_id");
}

FIXTURE_TEST(doctor_accepts_non_ruby_process_only_with_readable_otel)
{
	world.target.ruby = (struct ruby_target){ .is_ruby = false };
	world.live = NULL;
	world.target.publishers.count = 0;
	assert_int_equal(examine(), EXIT_CODE_NO_TARGET);
	says("FAIL", "Ruby", "not a Ruby process");
	publish_otel();
	assert_int_equal(examine_otel(), EXIT_CODE_OK);
	says("note", "Ruby", "keys otel.* can be recorded");
	says("ok", "OpenTelemetry", "otel_thread_ctx_v1 in /lib/otel.so\n");
	says_nothing_of("FAIL");
	/* It publishes, and cannot be read (yet). */
	world.otel_is_readable = false;
	assert_int_equal(examine_otel(), EXIT_CODE_NO_TARGET);
	says("FAIL", "Ruby", "not a Ruby process");
	says("ok", "OpenTelemetry", "/lib/otel.so");
}

FIXTURE_TEST(doctor_reports_otel_context_and_keys)
{
	publish_otel();
	assert_int_equal(examine_otel(), EXIT_CODE_OK);
	says("ok", "TLS model", "static (TPOFF64): thread pointer +128\n");
	says("ok", "process context", "schema 1.2, 12 names");
	says("ok", "service.name", "shop\n");
	says("ok", "service.instance.id", "shop-1\n");
	says("ok", "environment", "production\n");
	says("note", "keys otel.*", "--lean");
	says("ok", "key", "otel.trace_id is in each record");
	says("ok", "key", "otel.http.route = index 9\n");
	says("note", "key", "otel.span_id is not in the key map");
	says("ok", "key", "request_id = ID 0x2b2");
	assert_false(has_line("note", "key", "otel.trace_id"));
	assert_false(has_line("note", "key", "otel.http.route"));
	assert_false(has_line("ok", "key", "otel.http.route is"));
	assert_false(has_line("note", "key", "request_id"));
	(void)strcpy(world.target.otel.announcement.service_name, "s");
	(void)strcpy(world.target.otel.announcement.service_instance_id, "i");
	(void)strcpy(world.target.otel.announcement.environment_name, "e");
	(void)strcpy(world.target.otel.announcement.schema_version, "1");
	world.otel_config.span_key = 4;
	world.otel_config.trace_key = 0;
	world.otel_config.key_of_index[9] = 0;
	world.otel_config.key_of_index[0] = 3;
	world.otel_config.key_of_index[OTEL_INDEXES - 1] = 1;
	assert_int_equal(examine_otel(), EXIT_CODE_OK);
	says("ok", "service.name", "s\n");
	says("ok", "service.instance.id", "i\n");
	says("ok", "environment", "e\n");
	says("ok", "process context", "schema 1, ");
	says("ok", "key", "otel.span_id is in each record");
	says("ok", "key", "otel.http.route = index 0\n");
	says("ok", "key", "otel.trace_id = index 255\n");
	assert_false(has_line("note", "key", ""));
}

FIXTURE_TEST(doctor_reports_missing_or_unsupported_otel_process_context)
{
	struct otel_announcement *announcement = &world.target.otel.announcement;

	publish_otel();
	announcement->schema_version[0] = '\0';
	(void)examine_otel();
	says("ok", "process context", "schema not declared, 12 names");
	*announcement = (struct otel_announcement){ .state = OTEL_ANNOUNCEMENT_MISSING };
	assert_int_equal(examine_otel(), EXIT_CODE_OK);
	says("note", "process context", "none is published");
	says_nothing_of("service.name");
	says_nothing_of("service.instance.id");
	says_nothing_of("environment");
	*announcement = (struct otel_announcement){ .state = OTEL_ANNOUNCEMENT_REFUSED,
						    .schema_version = "99" };
	assert_int_equal(examine_otel(), EXIT_CODE_OK);
	says("FAIL", "process context", "schema `99`");
}

FIXTURE_TEST(doctor_accepts_otel_without_ruby_publisher)
{
	publish_otel();
	world.live = NULL;
	world.target.publishers.count = 0;
	assert_int_equal(examine_otel(), EXIT_CODE_OK);
	/* A Ruby whose symbols are not found is still starting. */
	world.target.ruby.symbols = NULL;
	assert_int_equal(examine_otel(), EXIT_CODE_NO_TARGET);
}

FIXTURE_TEST(doctor_exit_status_depends_on_examination_error)
{
	static const struct {
		int code, exit_code;
		const char *says;
	} cases[] = {
		{ -ESRCH, EXIT_CODE_NO_TARGET, "there is no process 4242" },
		{ -EPERM, EXIT_CODE_UNSUPPORTED, "process 4242: it is a secret" },
		{ -EACCES, EXIT_CODE_UNSUPPORTED, "process 4242: it is a secret" },
		{ -EMFILE, EXIT_CODE_FAILURE, "process 4242 (allow more open files" },
		{ -EIO, EXIT_CODE_FAILURE, "process 4242: Input/output error" },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		world.open_code = i % 2 ? cases[i / 2].code : 0;
		world.refresh_code = i % 2 ? 0 : cases[i / 2].code;
		assert_int_equal(examine(), cases[i / 2].exit_code);
		assert_non_null(strstr(result.error, cases[i / 2].says));
		says_nothing_of("Process");
	}
	world.open_code = 0;
	world.refresh_code = 1;
	assert_int_equal(examine(), EXIT_CODE_OK);
	assert_string_equal(result.error, "");
	world.own_proc_code = -ENOTSUP;
	assert_int_equal(examine(), EXIT_CODE_UNSUPPORTED);
	assert_int_equal(asked.opens, 0);
}

FIXTURE_TEST(doctor_examines_each_process_and_machine_once)
{
	assert_int_equal(doctor("doctor -p 4242 -p 4242"), EXIT_CODE_OK);
	assert_int_equal(asked.opens, 2);
	assert_null(strstr(strstr(result.output, "This machine") + 1, "This machine"));
	assert_int_equal(doctor("doctor -p 4243 -p 4242"), EXIT_CODE_NO_TARGET);
	assert_non_null(strstr(result.error, "there is no process 4243"));
	assert_int_equal(asked.opens, 1);
	assert_int_equal(doctor("doctor -p 4242 -p 4243"), EXIT_CODE_NO_TARGET);
	/* The first failure has its say. */
	world.own_proc_code = -ENOTSUP;
	assert_int_equal(doctor("doctor -p 4243 -p 4242"), EXIT_CODE_UNSUPPORTED);
}

FIXTURE_TEST(doctor_rejects_more_than_64_processes)
{
	char line[64 * 8 + 32] = "doctor";

	for (int i = 0; i < 64; i++)
		(void)strcat(line, " -p 4242");
	assert_int_equal(doctor(line), EXIT_CODE_OK);
	assert_int_equal(asked.opens, 64);
	(void)strcat(line, " -p 4242");
	assert_int_equal(doctor(line), EXIT_CODE_USAGE);
	assert_non_null(strstr(result.error, "at most 64 times -p"));
}

FIXTURE_TEST(doctor_rejects_invalid_arguments)
{
	static const char *const lines[] = { "doctor -p x", "doctor -p x -p 4242", "doctor -k pid",
					     "doctor -k pid -k tenant" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(doctor(lines[i]), EXIT_CODE_USAGE);
		assert_string_equal(result.output, "");
		assert_string_not_equal(result.error, "");
	}
}
