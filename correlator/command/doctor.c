/* SPDX-License-Identifier: GPL-2.0-only */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <correlator/otel_record.h>
#include <correlator/state_abi.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/print.h"
#include "base/rights.h"
#include "command/arguments.h"
#include "command/command.h"
#include "recorder/observe/process/key_options.h"
#include "recorder/observe/process/look_failure.h"
#include "recorder/probe/features.h"
#include "recorder/probe/load.h"
#include "recorder/probe/load_modes.h"
#include "recorder/target/elf/tls_symbol.h"
#include "recorder/target/otel/otel_target.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/namespaces.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/target.h"

enum verdict {
	VERDICT_OK,
	VERDICT_NOTE,
	VERDICT_BAD
};

enum {
	DOCTOR_INDENT = 29, /* of the text behind the name in doctor_say() */
	PIDS_MAX = 64
};

struct arguments {
	pid_t pids[PIDS_MAX];
	size_t pid_count;
	struct key_options keys;
	bool is_failed;
};

/* The first Ruby whose GVL events name the thread (ruby/README.md). */
#define GVL_FIRST_RUBY "3.3"

/* Prints one line: a name, a verdict, and for a missing thing the remedy. */
__attribute__((format(printf, 3, 4))) static void doctor_say(enum verdict verdict, const char *name,
							     const char *format, ...)
{
	static const char *const marks[] = { "ok  ", "note", "FAIL" };
	_cleanup_free_ char *said = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&said, format, args) < 0)
		said = NULL;
	va_end(args);
	print_line(stdout, "  %s  %-20s %s", marks[verdict], name, said ? said : "");
}

/* How a thread's variable is reached. */
static void doctor_say_tls(const struct tls_symbol *tls)
{
	const char *confirmation = tls->is_confirmed ? ", as the loader's own list has it" : "";
	static const char *const models[] = { "none", "static", "dynamic" };
	unsigned int model = tls->location.model < 3 ? tls->location.model : 0;

	if (tls->location.model == TLS_MODEL_DYNAMIC)
		doctor_say(VERDICT_OK, "TLS model",
			   "%s (%s): module %" PRIu64 ", offset %" PRId64 "%s", models[model],
			   tls->relocation, (uint64_t)tls->location.module,
			   (int64_t)tls->location.offset, confirmation);
	else
		doctor_say(VERDICT_OK, "TLS model", "%s (%s): thread pointer %+" PRId64 "%s",
			   models[model], tls->relocation, (int64_t)tls->location.offset,
			   confirmation);
}

static void describe_resource(const struct otel_target *otel)
{
	if (otel->announcement.service_name[0])
		doctor_say(VERDICT_OK, "service.name", "%s", otel->announcement.service_name);
	if (otel->announcement.service_instance_id[0])
		doctor_say(VERDICT_OK, "service.instance.id", "%s",
			   otel->announcement.service_instance_id);
	if (otel->announcement.environment_name[0])
		doctor_say(VERDICT_OK, "environment", "%s", otel->announcement.environment_name);
}

static void describe_otel_keys(const struct otel_target *otel, const struct key_options *keys)
{
	struct otel_config config;
	bool is_found;

	otel_target_config(otel, &config);
	for (size_t key = 0; key < keys->count; key++) {
		if (!keys->otel_names[key])
			continue;
		is_found = config.trace_key == key + 1 || config.span_key == key + 1;
		if (is_found)
			doctor_say(VERDICT_OK, "key", "%s is in each record", keys->names[key]);
		for (size_t i = 0; i < OTEL_INDEXES; i++) {
			if (config.key_of_index[i] != key + 1)
				continue;
			doctor_say(VERDICT_OK, "key", "%s = index %zu", keys->names[key], i);
			is_found = true;
		}
		if (!is_found)
			doctor_say(
				VERDICT_NOTE, "key",
				"%s is not in the key map of this process yet: a recording waits for it",
				keys->names[key]);
	}
}

/* Describes what a process publishes for OpenTelemetry, and which of the wanted keys it has. */
static void doctor_say_otel(const struct otel_target *otel, const struct key_options *keys)
{
	const struct publisher *publisher = otel_target_publisher(otel);

	doctor_say(VERDICT_OK, "OpenTelemetry", OTEL_RECORD_SYMBOL " in %s", publisher->path);
	doctor_say_tls(&publisher->tls);
	if (otel->announcement.state == OTEL_ANNOUNCEMENT_REFUSED)
		doctor_say(
			VERDICT_BAD, "process context",
			"of a version that is not known (schema `%s`): a recording does not read its "
			"contexts",
			otel->announcement.schema_version);
	else if (otel->announcement.state == OTEL_ANNOUNCEMENT_MISSING)
		doctor_say(
			VERDICT_NOTE, "process context",
			"none is published: otel.trace_id and otel.span_id alone can be recorded");
	else
		doctor_say(VERDICT_OK, "process context", "schema %s, %zu names of attributes",
			   otel->announcement.schema_version[0] ? otel->announcement.schema_version
								: "not declared",
			   otel->announcement.index_count);
	describe_resource(otel);
	describe_otel_keys(otel, keys);
	doctor_say(VERDICT_NOTE, "keys otel.*",
		   "change without a probe: recorded as with --lean, without a bound of the error");
}

/* Checks our pid and time namespaces: what -p means here, and whether programs can be loaded. */
static void describe_own_namespaces(void)
{
	struct namespaces own;

	if (namespaces_read(getpid(), &own))
		return;
	if (namespaces_is_initial(&own, NAMESPACE_PID))
		doctor_say(VERDICT_OK, "pid namespace",
			   "the machine's: all processes can be observed");
	else
		doctor_say(
			VERDICT_OK, "pid namespace",
			"a container's: pids are those seen here, processes outside of it are not "
			"observed");
	if (!namespaces_is_initial(&own, NAMESPACE_USER))
		doctor_say(VERDICT_NOTE, "user namespace",
			   "a container's: BPF needs the capabilities in the machine's");
}

/* Loads the programs of a mode; if the kernel refuses them, the verdict is `bad`. 0 or -errno. */
static int describe_programs(enum verdict bad, const struct load_mode *mode)
{
	struct refusal refusal;
	int r = load_try(&mode->options, &refusal);

	if (r == 0) {
		doctor_say(VERDICT_OK, "programs", "loaded and verified: %s", mode->name);
		return 0;
	}
	if (!refusal.program[0]) {
		doctor_say(bad, "programs", "the kernel refuses them: %s: %s", mode->name,
			   strerror(-r));
		return r;
	}
	doctor_say(bad, "programs", "the verifier refuses %s: %s: %s", refusal.program, mode->name,
		   strerror(-r));
	for (size_t i = 0; i < REFUSAL_LINES_MAX && refusal.lines[i][0]; i++)
		print_line(stdout, "%*s%s", DOCTOR_INDENT, "", refusal.lines[i]);
	return r;
}

/* Tries the optional modules. If the kernel refuses all of them together, each is tried alone. */
static void try_modules(const struct kernel_offers *kernel)
{
	struct load_mode modes[LOAD_MODES_MAX];
	size_t count = load_modes_with_modules(kernel, modes);
	bool are_taken = describe_programs(VERDICT_NOTE, &modes[0]) == 0;

	for (size_t i = 1; i < count; i++)
		if (are_taken || describe_programs(VERDICT_NOTE, &modes[i]) == 0)
			doctor_say(VERDICT_OK, modes[i].name, "adds %s", modes[i].adds);
	if (!kernel->can_walk_stacks)
		doctor_say(VERDICT_NOTE, "--stacks", "needs Linux 5.17 (bpf_loop())");
}

/* Tries to load the programs of each mode. */
static bool try_programs(void)
{
	struct load_mode modes[LOAD_MODES_MAX];
	struct kernel_offers kernel;
	bool are_taken = true;
	size_t count;
	int r = 0;

	features_ask_kernel(&kernel);
	count = load_modes_basic(&kernel, modes);
	/* Without the privilege each fails alike. */
	for (size_t i = 0; i < count && r != -EPERM; i++) {
		r = describe_programs(VERDICT_BAD, &modes[i]);
		are_taken &= r == 0;
	}
	if (r != -EPERM)
		try_modules(&kernel);
	return are_taken;
}

/* Whether everything that recording needs is there. */
static bool examine_machine(void)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_look(features);
	bool is_complete = true;

	(void)puts("This machine and user");
	for (size_t i = 0; i < count; i++) {
		const struct feature *feature = &features[i];

		if (feature->state == FEATURE_PRESENT) {
			doctor_say(VERDICT_OK, feature->name, "%s", feature->detail);
			continue;
		}
		is_complete &= feature->state != FEATURE_ABSENT;
		doctor_say(feature->state == FEATURE_ABSENT ? VERDICT_BAD : VERDICT_NOTE,
			   feature->name, "missing: %s", feature->remedy);
	}
	describe_own_namespaces();
	return try_programs() && is_complete;
}

static void describe_namespaces(const struct process_info *info)
{
	char differences[NAMESPACES_TEXT_BYTES];
	struct namespaces own, its;

	if (namespaces_read(getpid(), &own) || namespaces_read(info->pid, &its))
		return;
	namespaces_differences(&own, &its, differences);
	if (differences[0])
		doctor_say(VERDICT_OK, "namespaces", "own %s; pid %u inside", differences,
			   info->ns_pid);
}

/* Cost of a probe at a site (probe_site.h). */
static const char *site_cost(const struct probe_site *site)
{
#ifdef __x86_64__
	return site->cost == PROBE_SITE_EMULATED ? "emulated by the kernel: about 0.7 us"
						 : "single-stepped: about 10 us; consider --lean";
#else
	return site->cost == PROBE_SITE_EMULATED ? "emulated by the kernel"
						 : "single-stepped: a third more than emulated";
#endif
}

static void describe_sites(const struct publisher *publisher)
{
	if (!publisher->site_count)
		doctor_say(VERDICT_NOTE, "probe site",
			   "no function that changes the context was found: recordings run lean");
	for (size_t i = 0; i < publisher->site_count; i++) {
		const struct probe_site *site = &publisher->sites[i];
		bool is_cheap = site->cost == PROBE_SITE_EMULATED;

		char name[64];

		(void)snprintf(name, sizeof(name), "function at 0x%" PRIx64,
			       site->virtual_address - site->offset_bytes);
		doctor_say(is_cheap ? VERDICT_OK : VERDICT_NOTE, "probe site",
			   "%s+%u%s: %02x %02x %02x %02x %02x (%s), %s",
			   site->function ? site->function : name, site->offset_bytes,
			   site->function ? "" : ", which refers to the variable", site->bytes[0],
			   site->bytes[1], site->bytes[2], site->bytes[3], site->bytes[4],
			   site->instruction, site_cost(site));
	}
}

static void describe_unreadable(const struct target *target)
{
	if (target->walk.unreadable_count)
		doctor_say(
			VERDICT_NOTE, "mapped files",
			"%zu could not be opened, among them %s: what was replaced since it was loaded, "
			"or is in a folder that we may not enter, takes root or CAP_CHECKPOINT_RESTORE",
			target->walk.unreadable_count, target->walk.unreadable_path);
}

static void describe_copies(const struct target *target, const struct publisher *publisher)
{
	for (size_t i = 0; i < target->publishers.count; i++) {
		const struct publisher *other = target->publishers.list[i];

		if (other != publisher)
			doctor_say(
				other->is_interposed ? VERDICT_OK : VERDICT_NOTE, "thread-local",
				other->is_interposed
					? "%s sets the same one"
					: "%s has one of its own: a recording reads the one that "
					  "it sees set",
				other->path);
	}
}

static void describe_threads(const struct target *target, const struct publisher *publisher)
{
	if (target_mixes_threads(target))
		doctor_say(VERDICT_NOTE, "threads",
			   "Ruby's share native ones (RUBY_MN_THREADS), and %s does not follow "
			   "them: a request's figures may be another's; the gem `correlator` "
			   "follows them",
			   publisher->path);
	else if (target->shares_native_threads)
		doctor_say(VERDICT_OK, "threads",
			   "Ruby's share native ones (RUBY_MN_THREADS), and are followed");
}

/* Describes whether waits for the GVL are counted. Nothing else depends on it. */
static void describe_gvl(const struct target *target, const struct publisher *publisher)
{
	if (target_shows_gvl(target))
		doctor_say(VERDICT_OK, "GVL", "waits for it are told from outside");
	else if (target_counts_gvl(target))
		doctor_say(VERDICT_OK, "GVL", "waits for it are counted");
	else if (!publisher->has_threads)
		doctor_say(
			VERDICT_NOTE, "GVL",
			"waits for it are not counted: the gem `correlator' can, where it is the "
			"one that publishes");
	else if (strverscmp(target->ruby.version, GVL_FIRST_RUBY) < 0)
		doctor_say(
			VERDICT_NOTE, "GVL",
			"waits for it are not counted: Ruby %s does not tell of them, " GVL_FIRST_RUBY
			" and newer do",
			target->ruby.version);
	else
		doctor_say(
			VERDICT_NOTE, "GVL",
			"waits for it are not counted: `Correlator.watch_vm!' in the application "
			"has them counted, or CORRELATOR_WATCH_VM=1 in its environment");
}

/* Describes whether garbage collections are counted. */
static void describe_gc(const struct target *target, const struct publisher *publisher)
{
	if (target_times_gc(target))
		doctor_say(VERDICT_OK, "GC", "collections are timed");
	else if (!publisher->has_threads)
		doctor_say(VERDICT_NOTE, "GC",
			   "collections are not timed: the gem `correlator' can, where it is the "
			   "one that publishes");
	else
		doctor_say(VERDICT_NOTE, "GC",
			   "collections are not timed: `Correlator.watch_vm!' in the application "
			   "has them timed, or CORRELATOR_WATCH_VM=1 in its environment");
}

static void describe_keys(const struct target *target, const struct key_options *keys)
{
	for (size_t i = 0; i < keys->count; i++) {
		if (!keys->ruby_names[i])
			continue;
		if (target->ruby.key_ids[i])
			doctor_say(VERDICT_OK, "key", "%s = ID 0x%" PRIx64, keys->names[i],
				   target->ruby.key_ids[i]);
		else
			doctor_say(
				VERDICT_NOTE, "key",
				"%s is not a symbol of this process yet: normal before the first "
				"request, a recording waits for it",
				keys->names[i]);
	}
}

/* Describes where Ruby's frames are found, which --stacks needs. Nothing else depends on it. */
static void describe_stack(const struct target *target)
{
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
	int r = ruby_target_find_stack(&target->ruby, target->info.pid, target->link_map.is_musl,
				       &layout, &report);

	if (r < 0) {
		doctor_say(VERDICT_NOTE, "frames", "not found, so no Ruby frames: %s",
			   r == -EAGAIN ? "is Ruby still starting?" : strerror(-r));
		return;
	}
	if (report.state == RUBY_STACK_AGREED)
		doctor_say(VERDICT_OK, "frames",
			   "of %u bytes; libruby's code and the process agree on %u figures "
			   "(%u frames, %u iseqs seen)",
			   layout.frame_bytes, report.agreed, report.frames_seen,
			   report.iseqs_seen);
	else
		doctor_say(VERDICT_NOTE, "frames", "%s: no Ruby frames",
			   report.state == RUBY_STACK_DISAGREED
				   ? "libruby's code and the process disagree"
				   : "too little was found");
	for (size_t i = 0; i < report.remark_count; i++)
		print_line(stdout, "%*s%s", DOCTOR_INDENT, "", report.remarks[i]);
}

/* Number of missing things without which Ruby's contexts cannot be recorded. */
static int describe_ruby(const struct target *target, const struct key_options *keys)
{
	const struct publisher *publisher = target_publisher(target);

	doctor_say(VERDICT_OK, "Ruby", "%s in %s", target->ruby.version, target->ruby.path);
	if (target->ruby.symbols)
		doctor_say(VERDICT_OK, "symbol table", "at 0x%" PRIx64 ", strings of Ruby %s",
			   ruby_symbols_table_address(target->ruby.symbols),
			   ruby_symbols_string_layout(target->ruby.symbols) == STRING_LAYOUT_LONG
				   ? "3.2 and later"
				   : "3.1 and earlier");
	else
		doctor_say(VERDICT_BAD, "symbol table", "not found: is Ruby still starting?");
	if (target->ruby.symbols)
		describe_stack(target);
	if (!publisher) {
		if (target->publishers.count)
			doctor_say(VERDICT_BAD, "thread-local",
				   STATE_SYMBOL
				   " of %s cannot be located (yet): see above, or is the "
				   "process still loading it?",
				   target->publishers.list[0]->path);
		else
			doctor_say(VERDICT_BAD, "thread-local",
				   "no loaded object defines " STATE_SYMBOL
				   ": add the gem `correlator` to the application and restart it");
		describe_unreadable(target);
		return 1;
	}
	doctor_say(VERDICT_OK, "thread-local", STATE_SYMBOL " in %s%s", publisher->path,
		   publisher->is_deleted ? " (deleted or replaced since)" : "");
	doctor_say_tls(&publisher->tls);
	describe_copies(target, publisher);
	describe_threads(target, publisher);
	describe_gvl(target, publisher);
	describe_gc(target, publisher);
	describe_sites(publisher);
	describe_keys(target, keys);
	return !target->ruby.symbols;
}

/* Number of missing things without which the process cannot be recorded. */
static int describe_target(const struct target *target, const struct key_options *keys)
{
	const struct otel_target *otel = &target->otel;
	const char *server = process_server_name(target->info.pid);
	int missing = 0;

	(void)putchar('\n');
	print_line(stdout, "Process %d (%s%s%s)", target->info.pid, target->info.comm,
		   server ? ", " : "", server ? server : "");
	describe_namespaces(&target->info);
	if (agent_has_given_up(target->info.pid))
		doctor_say(VERDICT_BAD, "memory and files",
			   "not all of them come in time (which, is said above): what follows is "
			   "without them");
	if (!target->ruby.is_ruby && otel_target_is_readable(otel)) {
		doctor_say(VERDICT_NOTE, "Ruby", "not a Ruby process: keys otel.* can be recorded");
	} else if (!target->ruby.is_ruby) {
		doctor_say(VERDICT_BAD, "Ruby",
			   "no loaded object defines ruby_version: not a Ruby process");
		missing = 1;
	} else {
		missing = describe_ruby(target, keys);
	}
	if (otel_target_publisher(otel))
		doctor_say_otel(otel, keys);
	/* One of them is enough. */
	return otel_target_is_readable(otel) && (target->ruby.symbols || !target->ruby.is_ruby)
		       ? 0
		       : missing;
}

static int examine_process(const struct key_options *options, pid_t pid)
{
	_cleanup_(target_freep) struct target *target = NULL;
	struct target_keys keys = key_options_target(options);
	int r;

	if (namespaces_check_own_proc())
		return EXIT_CODE_UNSUPPORTED;
	/* Both publishers are described, whichever keys are wanted. */
	keys.wants_ruby = keys.wants_otel = true;
	r = target_open(pid, NULL, &keys, NULL, &target);
	if (r == 0)
		r = target_refresh(target);
	if (r < 0)
		return look_failure_explain(pid, r);
	return describe_target(target, options) ? EXIT_CODE_NO_TARGET : EXIT_CODE_OK;
}

static int parse_option(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'p':
	case ARGP_KEY_ARG:
		arguments->is_failed |= arguments_add_pid(text, arguments->pids, PIDS_MAX,
							  &arguments->pid_count) != 0;
		return 0;
	case 'k':
		arguments->is_failed |= key_options_add(&arguments->keys, text) != 0;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int command_doctor(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "pid", 'p', "PID", 0, "Inspect this process too (repeatable)", 1 },
		{ "key", 'k', "KEY", 0,
		  "Look this key up (repeatable; default request_id, endpoint, trace_id)", 1 },
		{ 0 },
	};
	static const struct argp parser = {
		options,
		parse_option,
		"[PID...]",
		"Checks what the kernel, the privileges and a process offer, and says what to do about "
		"what is missing."
		"\vEXAMPLES\n"
		"  correlator doctor\n"
		"  correlator doctor 1234\n"
		"  correlator doctor -p 1234 -k otel.trace_id -k otel.http.route\n\n"
		"Exit status: 0 everything needed is there, 1 the process cannot be looked at, 2 "
		"usage, 3 the kernel or a privilege lacks something, 4 the process is not there, "
		"not Ruby, or publishes no context.",
		NULL,
		NULL,
		NULL
	};
	static const char *const default_keys[] = { "request_id", "endpoint", "trace_id" };
	struct arguments arguments = { 0 };
	bool is_complete;
	int code = EXIT_CODE_OK;

	argp_err_exit_status = EXIT_CODE_USAGE;
	if (arguments_parse(&parser, argc, argv, 0, &arguments) || arguments.is_failed) {
		key_options_deinit(&arguments.keys);
		return EXIT_CODE_USAGE;
	}
	for (size_t i = arguments.keys.count ? 3 : 0; i < 3; i++)
		(void)key_options_add(&arguments.keys, default_keys[i]);
	rights_raise();
	is_complete = examine_machine();
	for (size_t i = 0; i < arguments.pid_count; i++) {
		int found = examine_process(&arguments.keys, arguments.pids[i]);

		/* The code of the first process with a problem. */
		code = code == EXIT_CODE_OK ? found : code;
	}
	key_options_deinit(&arguments.keys);
	return is_complete ? code : EXIT_CODE_UNSUPPORTED;
}
