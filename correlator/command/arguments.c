/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/arguments.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/print.h"

bool arguments_take_verbosity(int key)
{
	if (key != 'v' && key != 'q')
		return false;
	if (key == 'v')
		log_raise_level();
	else
		log_set_level(LOG_LEVEL_WARNING);
	return true;
}

int arguments_parse_number(const char *text, uint64_t minimum, uint64_t maximum,
			   uint64_t *ret_number)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 10);
	/* strtoull would take -1 for the largest number. */
	if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') || number < minimum ||
	    number > maximum)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

int arguments_parse_time(const char *name, const char *text, uint64_t minimum_ns, uint64_t *ret_ns)
{
	char least[DISPLAY_NUMBER_BYTES];
	uint64_t ns;

	if (duration_parse(text, &ns) == 0 && ns >= minimum_ns) {
		*ret_ns = ns;
		return 0;
	}
	display_duration((int64_t)minimum_ns, least);
	return log_error(EINVAL, "--%s %s: not a time such as 500ms, 10s or 2m%s%s", name, text,
			 minimum_ns > 1 ? ", of at least " : "", minimum_ns > 1 ? least : "");
}

int arguments_parse_pid(const char *text, pid_t *ret_pid)
{
	uint64_t pid;

	if (arguments_parse_number(text, 1, INT_MAX, &pid) < 0)
		return log_error(EINVAL, "`%s` is not a process ID", text);
	*ret_pid = (pid_t)pid;
	return 0;
}

int arguments_add_pid(const char *text, pid_t *pids, size_t max, size_t *count)
{
	if (*count == max)
		return log_error(E2BIG, "at most %zu times -p", max);
	return arguments_parse_pid(text, &pids[(*count)++]);
}

void arguments_fail(const struct argp_state *state, int status, int error, const char *format, ...)
{
	_cleanup_free_ char *shown = NULL;
	va_list args;

	va_start(args, format);
	shown = print_shown(format, args);
	va_end(args);
	argp_failure(state, status, error, "%s", shown ? shown : format);
}

void arguments_refuse(const struct argp_state *state, const char *format, ...)
{
	_cleanup_free_ char *shown = NULL;
	va_list args;

	va_start(args, format);
	shown = print_shown(format, args);
	va_end(args);
	argp_error(state, "%s", shown ? shown : format);
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
			return false;
	return true;
}

static bool is_last(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc && !option->group;
}

/* Number of options whose long name begins with this; *ret_is_one: it is the whole name of one. */
static unsigned int count_long(const struct argp *parser, const char *name, size_t length,
			       bool *ret_is_one)
{
	const struct argp_child *child = parser->children;
	unsigned int count = 0;

	for (const struct argp_option *each = parser->options; each && !is_last(each); each++) {
		if (each->name && strncmp(each->name, name, length) == 0) {
			*ret_is_one |= strlen(each->name) == length;
			count++;
		}
	}
	for (; child && child->argp; child++)
		count += count_long(child->argp, name, length, ret_is_one);
	return count;
}

/* Looks up an option by its long name or, if that is NULL, by its key. NULL: no such option. */
static const struct argp_option *find_option(const struct argp *parser, const char *name, int key)
{
	const struct argp_child *child = parser->children;
	const struct argp_option *found = NULL;

	for (const struct argp_option *each = parser->options; each && !is_last(each); each++)
		if (name ? each->name && strcmp(each->name, name) == 0 : each->key == key)
			return each;
	for (; !found && child && child->argp; child++)
		found = find_option(child->argp, name, key);
	return found;
}

/* Whether the next word is an option's value: -o, --output. */
static bool takes_value(const struct argp *parser, const char *word)
{
	const struct argp_option *option = NULL;

	if (word[0] == '-' && word[1] == '-')
		option = find_option(parser, word + 2, 0);
	else if (word[0] == '-' && word[1] && !word[2])
		option = find_option(parser, NULL, (unsigned char)word[1]);
	return option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

/* Whether all of these short options exist; the value of the last one may follow it. */
static bool are_known(const struct argp *parser, const char *letters)
{
	const struct argp_option *option = NULL;

	for (; *letters && !(option && option->arg); letters++) {
		option = find_option(parser, NULL, (unsigned char)*letters);
		if (!option)
			return false;
	}
	return true;
}

static bool is_known(const struct argp *parser, const char *argument)
{
	bool is_one = false;
	unsigned int count;

	if (argument[0] != '-')
		return true;
	if (argument[1] != '-')
		return are_known(parser, argument + 1);
	count = count_long(parser, argument + 2, strcspn(argument + 2, "="), &is_one);
	return is_one || count == 1;
}

int arguments_parse(const struct argp *parser, int argc, char **argv, unsigned int flags,
		    void *input)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "-h") == 0 && !find_option(parser, NULL, 'h') &&
		    !takes_value(parser, argv[i - 1]))
			argv[i] = "--help";
		if (is_printable(argv[i]) || is_known(parser, argv[i]))
			continue;
		print_line(stderr, "%s: unrecognized option '%s'", argv[0], argv[i]);
		print_line(stderr, "Try `%s --help' or `%s --usage' for more information.", argv[0],
			   argv[0]);
		return EINVAL;
	}
	return argp_parse(parser, argc, argv, flags, NULL, input);
}
