/* SPDX-License-Identifier: GPL-2.0-only */
/* A small command whose options come from a line and from a file: what its parsers are given. */
#include "command/configuration.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unit_test.h"

#include "base/exit_code.h"
#include "command/arguments.h"
#include "command_line.h"
#include "failing_memory.h"

#define FILE_NAME "some.conf"

enum {
	OPTION_STACKS = 0x100,
	OPTION_CONFIG,
	OPTION_TAG,
	OPTION_NO_ACK,
};

static const struct argp_option own_options[] = {
	{ "key", 'k', "KEY", 0, "A list", 1 },
	{ "interval", 'i', "TIME", 0, "A value", 1 },
	{ "lean", 'l', NULL, 0, "A switch", 1 },
	{ "stacks", OPTION_STACKS, "HZ", OPTION_ARG_OPTIONAL, "With or without a value", 1 },
	{ "config", OPTION_CONFIG, "FILE", 0, "The file", 1 },
	ARGUMENTS_VERBOSITY(1),
	{ 0 },
};

static const struct argp_option childs_options[] = {
	{ "tag", OPTION_TAG, "TAG", 0, "A value of the child's", 1 },
	{ "no-ack", OPTION_NO_ACK, NULL, 0, "A switch of the child's", 1 },
	{ 0 },
};

static const struct command_result nothing;
static struct command_result result;

/* The parser of the table: says NAME or NAME=VALUE. */
static int say(const struct argp_option *options, const char *parser, int key, const char *text)
{
	for (size_t i = 0; options[i].name; i++) {
		if (options[i].key != key)
			continue;
		(void)printf("%s%s%s%s ", parser, options[i].name, text ? "=" : "",
			     text ? text : "");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_childs(int key, char *text, struct argp_state *state)
{
	return say(childs_options, state->input, key, text);
}

static error_t parse_own(int key, char *text, struct argp_state *state)
{
	static char child[] = "child:";

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = child;
	if (key == ARGP_KEY_ARGS) {
		(void)printf("-- %s", state->argv[state->next]);
		state->next = state->argc;
		return 0;
	}
	if (key == ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	return say(own_options, state->input, key, text);
}

static int command(int argc, char **argv)
{
	static const struct argp child = { .options = childs_options, .parser = parse_childs };
	static const struct argp_child children[] = { { &child, 0, "Of the child:", 2 }, { 0 } };
	static const struct argp parser = { .options = own_options,
					    .parser = parse_own,
					    .children = children };
	static const int repeatable[] = { 'k', 'v', 0 };
	static const struct configuration_form form = { .parser = &parser,
							.section = "some",
							.option = OPTION_CONFIG,
							.repeatable = repeatable };
	struct configuration configuration;
	char own[] = "";
	int r;

	argp_err_exit_status = EXIT_CODE_USAGE;
	r = configuration_parse(&configuration, &form, argc, argv, own);
	configuration_explain(&configuration);
	configuration_deinit(&configuration);
	return -r;
}

static void write_bytes(const void *bytes, size_t size_bytes)
{
	FILE *file = fopen(FILE_NAME, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
	assert_int_equal(fclose(file), 0);
}

/* What comes of this file. */
static void run(const char *text, const char *options)
{
	char line[256];

	write_bytes(text, strlen(text));
	(void)snprintf(line, sizeof(line), "some --config " FILE_NAME " %s", options);
	result = nothing;
	command_run(command, line, &result);
}

/* given: what the parsers are given, in this order. */
static void gives(const char *text, const char *options, const char *given)
{
	run(text, options);
	if (result.code != 0 || strcmp(result.output, given) != 0)
		fail_msg("%s%s\ngave %s, said %s", text, options, result.output, result.error);
}

static void refuses(const char *text, const char *says)
{
	run(text, "");
	if (result.code != EINVAL || strstr(result.output, "config=") ||
	    !strstr(result.error, says))
		fail_msg("%s\ncode %d, gave %s, said %s", text, result.code, result.output,
			 result.error);
}

static int enter_folder(void **state);
static int remove_folder(void **state);

TEST(configuration_without_file_parses_command_line_only)
{
	result = nothing;
	command_run(command, "some -k a --tag=b -l -- c", &result);
	assert_int_equal(result.code, 0);
	assert_string_equal(result.output, "key=a child:tag=b lean -- c");
	assert_string_equal(result.error, "");
}

TEST(configuration_file_sets_options_of_each_kind)
{
	gives("[some]\nkey = a\nkey = b\ninterval = 5 s\nlean = yes\nstacks = 9\ntag = x\n"
	      "no-ack = on\nverbose=1\nverbose=1\n",
	      "",
	      "key=a key=b interval=5 s lean stacks=9 child:tag=x child:no-ack verbose verbose "
	      "config=" FILE_NAME " ");
	assert_string_equal(result.error,
			    "correlator: error: " FILE_NAME
			    " sets key (line 2), interval (line 4), "
			    "lean (line 5), stacks (line 6), verbose (line 9), tag (line 7), "
			    "no-ack (line 8)\n");
	gives("", "", "config=" FILE_NAME " ");
	assert_string_equal(result.error, "");
	gives("# nothing\n[some]\n", "-- true", "config=" FILE_NAME " -- true");
}

TEST(configuration_switch_accepts_only_yes_or_no)
{
	static const char *const yes[] = { "yes", "on", "true", "Yes", "TRUE", "1" },
				 *const no[] = { "no", "off", "false", "No", "FALSE", "0" };
	char text[64];

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		(void)snprintf(text, sizeof(text), "[some]\nlean=%s\n", yes[i]);
		gives(text, "", "lean config=" FILE_NAME " ");
		(void)snprintf(text, sizeof(text), "[some]\nlean=%s\n", no[i]);
		gives(text, "", "config=" FILE_NAME " ");
	}
	refuses("[some]\nlean = maybe\n", FILE_NAME ":2: lean: `maybe` is neither yes nor no\n");
	/* 1 is a value where there are values. */
	gives("[some]\nstacks = yes\n", "", "stacks config=" FILE_NAME " ");
	gives("[some]\nstacks = no\n", "", "config=" FILE_NAME " ");
	gives("[some]\nstacks = 1\n", "", "stacks=1 config=" FILE_NAME " ");
	gives("[some]\nstacks = 0\n", "", "stacks=0 config=" FILE_NAME " ");
	gives("[some]\nkey = yes\n", "", "key=yes config=" FILE_NAME " ");
}

TEST(configuration_command_line_overrides_file_for_each_kind)
{
	static const char text[] = "[some]\nkey = a\nkey = b\ninterval = 5s\nlean = yes\n"
				   "stacks = 9\ntag = x\nno-ack = yes\n";

	gives(text, "-k c --interval 1s --stacks=7 --tag=y",
	      "lean child:no-ack config=" FILE_NAME " key=c interval=1s stacks=7 child:tag=y ");
	gives(text, "-l --no-ack",
	      "key=a key=b interval=5s stacks=9 child:tag=x config=" FILE_NAME
	      " lean child:no-ack ");
	gives("[some]\nlean = no\nstacks = no\n", "-l --stacks",
	      "config=" FILE_NAME " lean stacks ");
	assert_string_equal(result.error, "");
	gives("[some]\nquiet = yes\n", "-v", "config=" FILE_NAME " verbose ");
	assert_string_equal(result.error, "");
	gives("[some]\nverbose = yes\n", "-q", "config=" FILE_NAME " quiet ");
	/* Wherever it names the file. */
	result = nothing;
	write_bytes(text, strlen(text));
	command_run(command, "some -k c -i 1s --conf=" FILE_NAME " -- --config x", &result);
	assert_string_equal(result.output, "lean stacks=9 child:tag=x child:no-ack key=c "
					   "interval=1s config=" FILE_NAME " -- --config");
}

TEST(configuration_reports_each_error_with_line_number)
{
	refuses("[some]\n\nkeys = a\n", FILE_NAME ":3: keys: no such option: is key meant?\n");
	refuses("[some]\nNoAck = yes\n", "is no-ack meant?");
	refuses("[some]\nno_ack = yes\n", "is no-ack meant?");
	refuses("[some]\nconfigs = a\n", "configs: no such option: --help names all\n");
	refuses("[some]\nbars = a\n", "bars: no such option: --help names all\n");
	refuses("[some]\nhelp = yes\n", ":2: help: no such option");
	refuses("[some]\nwindow\x7f = a\n", ":2: window\\x7f: a control character");
	refuses("[some]\nconfig = a\n", ":2: config is for the command line only\n");
	refuses("[some]\ntag = a\n\ntag = b\n", ":4: tag is set in line 2 already\n");
	refuses("[some]\nlean = no\nlean = yes\n", ":3: lean is set in line 2 already\n");
	refuses("key = a\n", ":1: key stands before [some]\n");
	refuses("[Some]\n", ":1: [Some]: no such section: [some] is the only one\n");
	refuses("[some]\ntag =\n", ":2: tag: no value\n");
	refuses("[some]\nlean\n", ":2: lean: neither [SECTION] nor KEY = VALUE\n");
	refuses("[some]\n = x\n", ":2: no key before the =\n");
	refuses("[some]\ntag = \x1b[31m\n", ":2: tag: a control character, or not UTF-8\n");
	refuses("[some\x1b]\n", ":1: [some\\x1b]: a control character, or not UTF-8\n");
}

TEST(configuration_reports_errors_up_to_limit)
{
	char text[1024] = "[some]\n";

	refuses("[some]\nfoo = 1\nlean = no\nbar = 2\n", ":2: foo");
	assert_non_null(strstr(result.error, ":4: bar"));
	for (int i = 0; i < 20; i++)
		(void)strcat(text, "wrong\n");
	refuses(text, ":21: wrong");
	assert_null(strstr(result.error, "maybe more"));
	(void)strcat(text, "wrong\n");
	refuses(text, "error: " FILE_NAME ": and maybe more that is wrong\n");
	assert_null(strstr(result.error, ":22:"));
}

TEST(configuration_rejects_unreadable_overlong_and_binary_file)
{
	static char large[CONFIGURATION_BYTES_MAX + 1];

	result = nothing;
	command_run(command, "some --config no\x1b.conf", &result);
	assert_int_equal(result.code, ENOENT);
	assert_non_null(strstr(result.error, "cannot read no\\x1b.conf: No such file"));
	command_run(command, "some --config /", &result);
	assert_int_equal(result.code, EISDIR);
	command_run(command, "some --config /dev/zero", &result);
	assert_int_equal(result.code, EFBIG);
	memset(large, '#', sizeof(large));
	write_bytes(large, sizeof(large));
	command_run(command, "some --config " FILE_NAME, &result);
	assert_int_equal(result.code, EFBIG);
	assert_non_null(strstr(result.error, FILE_NAME " is longer than 65536 bytes"));
	write_bytes(large, sizeof(large) - 1);
	command_run(command, "some --config " FILE_NAME, &result);
	assert_int_equal(result.code, 0);
	write_bytes("[some]\nta\0g = a\n", 16);
	command_run(command, "some --config " FILE_NAME, &result);
	assert_int_equal(result.code, EINVAL);
	assert_non_null(strstr(result.error, ":2: ta: a NUL character"));
}

/* Of a pipe as much is there at a time as it holds: the first part is as long as a file may be. */
TEST(configuration_reads_pipe_in_parts_to_end)
{
	static char large[CONFIGURATION_BYTES_MAX];
	int pipes[2], status;
	char line[64];
	pid_t writer;

	memset(large, '#', sizeof(large));
	assert_int_equal(pipe(pipes), 0);
	assert_true(fcntl(pipes[1], F_SETPIPE_SZ, (int)sizeof(large)) > 0);
	assert_int_equal(write(pipes[1], large, sizeof(large)), sizeof(large));
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0)
		_exit(write(pipes[1], "#", 1) != 1);
	(void)close(pipes[1]);
	(void)snprintf(line, sizeof(line), "some --config /dev/fd/%d", pipes[0]);
	command_run(command, line, &result);
	assert_int_equal(result.code, EFBIG);
	(void)close(pipes[0]);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
}

TEST(configuration_warns_about_world_writable_file)
{
	write_bytes("[some]\n", 7);
	assert_int_equal(chmod(FILE_NAME, 0646), 0);
	gives("[some]\n", "", "config=" FILE_NAME " ");
	assert_non_null(strstr(result.error, "warning: everybody can write " FILE_NAME));
	/* There is nothing in it to change. */
	result = nothing;
	command_run(command, "some --config /dev/null", &result);
	assert_string_equal(result.error, "");
	assert_int_equal(chmod(FILE_NAME, 0664), 0);
	gives("[some]\n", "", "config=" FILE_NAME " ");
	assert_string_equal(result.error, "");
}

TEST(configuration_invalid_command_line_exits_before_file_is_read)
{
	static const char *const lines[] = {
		"some --config no.conf --no-such-option",
		"some --config no.conf --config no.conf",
		"some --config",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		command_run_apart(command, lines[i], &result);
		assert_int_equal(result.code, EXIT_CODE_USAGE);
		assert_null(strstr(result.error, "cannot read"));
	}
	command_run_apart(command, "some --help", &result);
	assert_int_equal(result.code, 0);
	assert_non_null(strstr(result.output, "Of the child:"));
}

TEST(configuration_fails_without_memory)
{
	write_bytes("[some]\n", 7);
	memory_fails_after(0);
	command_run(command, "some --config " FILE_NAME, &result);
	memory_never_fails();
	assert_int_equal(result.code, ENOMEM);
	assert_string_equal(result.output, "");
}

/* In a folder of its own. */
static int enter_folder(void **state)
{
	static char folder[] = "/tmp/configuration-XXXXXX";

	*state = mkdtemp(folder);
	return *state ? chdir(folder) : -1;
}

static int remove_folder(void **state)
{
	return unlink(FILE_NAME) || chdir("/") || rmdir(*state);
}

TEST_GROUP(enter_folder, remove_folder)
