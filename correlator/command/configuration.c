/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/configuration.h"
#include "command/arguments.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/edit_distance.h"
#include "base/file_rights.h"
#include "base/ini_reader.h"
#include "base/log.h"
#include "base/text.h"

enum {
	SHOWN_BYTES = 256, /* a name or a path, in messages */
	PLACE_BYTES = SHOWN_BYTES + 16,
};

/* State while the file is parsed. */
struct file_reading {
	struct configuration *configuration;
	struct argp_state state; /* with the parser's input */
	void *child_inputs[CONFIGURATION_CHILDREN_MAX];
	void *input;
	unsigned int line;
	bool has_section;
	unsigned int error_count;
};

static void escape(const char *text, char ret_text[static SHOWN_BYTES])
{
	(void)text_escape(text, strlen(text), 0, ret_text, SHOWN_BYTES);
}

/* Adds the options of a parser's table. argp's headers and aliases do not occur here. */
static void add_options(struct configuration *configuration, const struct argp_option *options,
			size_t child)
{
	for (; options->name; options++) {
		assert(configuration->option_count < CONFIGURATION_OPTIONS_MAX);
		configuration->options[configuration->option_count++] =
			(struct configured_option){ .option = options, .child = child };
	}
}

static struct configured_option *find_key(struct configuration *configuration, int key)
{
	for (size_t i = 0; i < configuration->option_count; i++) {
		if (configuration->options[i].option->key == key)
			return &configuration->options[i];
	}
	return NULL;
}

static struct configured_option *find_name(struct configuration *configuration, const char *name)
{
	for (size_t i = 0; i < configuration->option_count; i++) {
		if (strcmp(configuration->options[i].option->name, name) == 0)
			return &configuration->options[i];
	}
	return NULL;
}

/* The option whose name is nearest, if it could be a typing slip; NULL: none. */
static const char *find_nearest(const struct configuration *configuration, const char *name)
{
	unsigned int nearest = edit_distance_of_slips(name);
	const char *found = NULL;

	for (size_t i = 0; i < configuration->option_count; i++) {
		const struct argp_option *option = configuration->options[i].option;
		unsigned int distance = edit_distance(name, option->name);

		if (distance < nearest && option->key != configuration->form->option) {
			nearest = distance;
			found = option->name;
		}
	}
	return found;
}

/* First pass over the command line: notes which options are given, and the file. */
static error_t note_option(int key, char *text, struct argp_state *state)
{
	struct configuration *configuration = state->input;
	struct configured_option *option = find_key(configuration, key);

	if (!option)
		return ARGP_ERR_UNKNOWN;
	if (key == configuration->form->option) {
		if (option->is_given)
			arguments_refuse(state, "--%s names one file", option->option->name);
		configuration->path = text;
	}
	option->is_given = true;
	return 0;
}

static error_t note(int key, char *text, struct argp_state *state)
{
	const struct configuration *configuration = state->input;
	const struct argp_child *child = configuration->form->parser->children;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; child && child[i].argp; i++)
			state->child_inputs[i] = state->input;
		return 0;
	case ARGP_KEY_ARGS: /* The rest are arguments. */
		return 0;
	default:
		return note_option(key, text, state);
	}
}

/* Parses the command line with the same tables first, so its errors come before those of the file.
 */
static int note_command_line(struct configuration *configuration, int argc, char **argv)
{
	struct argp parser = *configuration->form->parser;
	struct argp noting[CONFIGURATION_CHILDREN_MAX];
	struct argp_child children[CONFIGURATION_CHILDREN_MAX + 1] = { 0 };

	add_options(configuration, parser.options, 0);
	for (size_t i = 0; parser.children && parser.children[i].argp; i++) {
		assert(i < CONFIGURATION_CHILDREN_MAX);
		noting[i] = *parser.children[i].argp;
		add_options(configuration, noting[i].options, i + 1);
		noting[i].parser = note_option;
		children[i] = parser.children[i];
		children[i].argp = &noting[i];
	}
	parser.parser = note;
	parser.children = children;
	return -arguments_parse(&parser, argc, argv, ARGP_IN_ORDER, configuration);
}

/* Warns if others may write to the file: it names programs to run. */
static void check_rights(int fd, const char *path)
{
	struct stat status;

	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		file_rights_warn(path, &status, "choose what is recorded and run");
}

static int read_text(struct configuration *configuration)
{
	_cleanup_fd_ int fd = open(configuration->path, O_RDONLY | O_CLOEXEC);
	char shown[SHOWN_BYTES];
	size_t used = 0;
	ssize_t got = 1;

	escape(configuration->path, shown);
	if (fd < 0)
		return log_error_errno(errno, "cannot read %s", shown);
	configuration->text = malloc(CONFIGURATION_BYTES_MAX + 1);
	if (!configuration->text)
		return log_error_errno(ENOMEM, "cannot read %s", shown);
	while (got != 0 && used <= CONFIGURATION_BYTES_MAX) {
		got = read(fd, configuration->text + used, CONFIGURATION_BYTES_MAX + 1 - used);
		if (got < 0)
			return log_error_errno(errno, "cannot read %s", shown);
		used += (size_t)got;
	}
	if (used > CONFIGURATION_BYTES_MAX)
		return log_error(EFBIG, "%s is longer than %d bytes: this is no configuration",
				 shown, CONFIGURATION_BYTES_MAX);
	check_rights(fd, configuration->path);
	configuration->text_bytes = used;
	return 0;
}

/* True: text is one of the words; *ret_is_yes tells which. */
static bool parse_switch(const char *text, bool *ret_is_yes)
{
	static const char *const words[] = { "no", "yes", "off", "on", "false", "true", "0", "1" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasecmp(text, words[i]) == 0) {
			*ret_is_yes = i % 2;
			return true;
		}
	}
	return false;
}

static int apply(struct file_reading *reading, const struct configured_option *option, char *value)
{
	const struct argp *parser = reading->configuration->form->parser;
	bool is_optional = option->option->flags & OPTION_ARG_OPTIONAL, is_yes, is_word;

	/* For an option with an optional value, 0 and 1 are values. */
	is_word = parse_switch(value, &is_yes) && !(is_optional && strchr("01", value[0]));
	if (!option->option->arg && !is_word)
		return log_error(EINVAL, "%s: `%s` is neither yes nor no", option->option->name,
				 value);
	if (!option->option->arg || (is_optional && is_word)) {
		if (!is_yes)
			return 0;
		value = NULL;
	}
	if (option->child)
		parser = parser->children[option->child - 1].argp;
	reading->state.input =
		option->child ? reading->child_inputs[option->child - 1] : reading->input;
	/* The key is that of the parser's own table. */
	(void)parser->parser(option->option->key, value, &reading->state);
	return 0;
}

static bool is_repeatable(const struct configuration_form *form, int key)
{
	for (const int *repeatable = form->repeatable; *repeatable; repeatable++) {
		if (*repeatable == key)
			return true;
	}
	return false;
}

static bool is_given(const struct configuration *configuration, int key)
{
	for (size_t i = 0; i < configuration->option_count; i++) {
		if (configuration->options[i].option->key == key)
			return configuration->options[i].is_given;
	}
	return false;
}

static bool is_overridden(const struct configuration *configuration, int key)
{
	if (key == 'v' || key == 'q')
		return is_given(configuration, 'v') || is_given(configuration, 'q');
	return is_given(configuration, key);
}

static int refuse_name(const struct configuration *configuration, const char *name)
{
	const char *nearest = find_nearest(configuration, name);
	char shown[SHOWN_BYTES];

	escape(name, shown);
	return nearest ? log_error(EINVAL, "%s: no such option: is %s meant?", shown, nearest)
		       : log_error(EINVAL, "%s: no such option: --help names all", shown);
}

static int set(struct file_reading *reading, const struct ini_item *item)
{
	struct configuration *configuration = reading->configuration;
	const struct configuration_form *form = configuration->form;
	struct configured_option *option = find_name(configuration, item->name);
	unsigned int before = option ? option->line : 0;

	if (!reading->has_section)
		return log_error(EINVAL, "%s stands before [%s]", item->name, form->section);
	if (!option)
		return refuse_name(configuration, item->name);
	if (option->option->key == form->option)
		return log_error(EINVAL, "%s is for the command line only", item->name);
	if (before && !is_repeatable(form, option->option->key))
		return log_error(EINVAL, "%s is set in line %u already", item->name, before);
	if (!before)
		option->line = reading->line;
	return is_overridden(configuration, option->option->key)
		       ? 0
		       : apply(reading, option, item->value);
}

static int take(struct file_reading *reading, const struct ini_item *item)
{
	const char *section = reading->configuration->form->section;
	char shown[SHOWN_BYTES];

	escape(item->name, shown);
	switch (item->kind) {
	case INI_KIND_SECTION:
		reading->has_section = true;
		if (strcmp(item->name, section) == 0)
			return 0;
		return log_error(EINVAL, "[%s]: no such section: [%s] is the only one", shown,
				 section);
	case INI_KIND_SETTING:
		return set(reading, item);
	default:
		return log_error(EINVAL, "%s%s%s", shown, *shown ? ": " : "", item->problem);
	}
}

static void read_lines(struct file_reading *reading)
{
	struct configuration *configuration = reading->configuration;
	char shown[SHOWN_BYTES], place[PLACE_BYTES];
	struct ini_reader reader;
	struct ini_item item;

	escape(configuration->path, shown);
	ini_reader_init(&reader, configuration->text, configuration->text_bytes);
	for (;;) {
		ini_reader_next(&reader, &item);
		if (item.kind == INI_KIND_END)
			break;
		if (reading->error_count == CONFIGURATION_ERRORS_MAX) {
			(void)log_error(EINVAL, "%s: and maybe more that is wrong", shown);
			break;
		}
		reading->line = reader.line;
		(void)snprintf(place, sizeof(place), "%s:%u", shown, reader.line);
		log_set_place(place);
		reading->error_count += take(reading, &item) < 0;
		log_set_place(NULL);
	}
}

static int read_file(struct configuration *configuration, void *input)
{
	const struct argp *parser = configuration->form->parser;
	struct file_reading reading = {
		.configuration = configuration,
		.input = input,
		.state = { .root_argp = parser, .input = input },
	};
	int r = read_text(configuration);

	if (r < 0)
		return r;
	reading.state.child_inputs = reading.child_inputs;
	(void)parser->parser(ARGP_KEY_INIT, NULL, &reading.state);
	read_lines(&reading);
	return reading.error_count > 0 ? -EINVAL : 0;
}

int configuration_parse(struct configuration *configuration, const struct configuration_form *form,
			int argc, char **argv, void *input)
{
	int r;

	*configuration = (struct configuration){ .form = form };
	r = note_command_line(configuration, argc, argv);
	if (r == 0 && configuration->path)
		r = read_file(configuration, input);
	return r < 0 ? r : -argp_parse(form->parser, argc, argv, ARGP_IN_ORDER, NULL, input);
}

void configuration_explain(const struct configuration *configuration)
{
	char shown[SHOWN_BYTES], lines[1024];
	struct text_writer writer;

	text_writer_init(&writer, lines, sizeof(lines));
	for (size_t i = 0; i < configuration->option_count; i++) {
		const struct configured_option *option = &configuration->options[i];
		char line[SHOWN_BYTES];

		if (!option->line || is_overridden(configuration, option->option->key))
			continue;
		(void)snprintf(line, sizeof(line), "%s%s (line %u)", lines[0] ? ", " : "",
			       option->option->name, option->line);
		text_writer_put(&writer, line, strlen(line));
	}
	if (!lines[0])
		return;
	escape(configuration->path, shown);
	(void)log_error(EINVAL, "%s sets %s", shown, lines);
}

void configuration_deinit(struct configuration *configuration)
{
	free(configuration->text);
	configuration->text = NULL;
}
