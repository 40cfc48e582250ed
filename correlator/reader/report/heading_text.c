/* SPDX-License-Identifier: GPL-2.0-only */
/* The heading above the tables of a recording: its files, time, processes and mode. */
#include "reader/report/totals_view.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/display.h"
#include "base/text.h"

enum {
	ITEM_BYTES = 512,
	PROCESSES_SHOWN_MAX = 12,
	CLEAN_BYTES = 4 * RECORDING_TEXT_BYTES,
};

static const char without_split[] = " without user/kernel split";

/* A label and items separated by commas, continued on the next line where the screen ends. */
struct item_list {
	FILE *out;
	size_t width;
	size_t column;
	bool is_empty;
};

static struct item_list list_begin(const char *label, const struct view_options *options, FILE *out)
{
	(void)fprintf(out, "%-*s", HEADING_COLUMNS, label);
	return (struct item_list){ out, options->width, HEADING_COLUMNS, true };
}

static void list_add(struct item_list *list, const char *item)
{
	size_t room = list->width > HEADING_COLUMNS + 1 ? list->width - HEADING_COLUMNS - 1 : 1;
	char fitted[ITEM_BYTES];
	size_t columns;

	display_fit(item, room, fitted, sizeof(fitted));
	columns = display_columns(fitted);
	if (!list->is_empty && list->column + 2 + columns + 1 > list->width) {
		(void)fprintf(list->out, ",\n%*s%s", HEADING_COLUMNS, "", fitted);
		list->column = HEADING_COLUMNS + columns;
	} else {
		(void)fprintf(list->out, "%s%s", list->is_empty ? "" : ", ", fitted);
		list->column += columns + (list->is_empty ? 0 : 2);
	}
	list->is_empty = false;
}

static void list_end(const struct item_list *list)
{
	(void)fputs(list->is_empty ? "-\n" : "\n", list->out);
}

static void describe_damage(const struct input_file *file, char *ret_text, size_t text_bytes)
{
	char bytes[DISPLAY_NUMBER_BYTES];

	if (file->damaged_places == 0)
		return;
	display_number((int64_t)file->damaged_bytes, bytes);
	(void)snprintf(ret_text, text_bytes, ", %s byte%s damaged", bytes,
		       display_plural(file->damaged_bytes));
}

static void print_files(const struct view_options *options, FILE *out)
{
	struct item_list list = list_begin("recording", options, out);

	for (size_t i = 0; i < options->file_count; i++) {
		const struct input_file *file = &options->files[i];
		char name[ITEM_BYTES / 2], number[DISPLAY_NUMBER_BYTES], item[ITEM_BYTES];
		char damage[2 * DISPLAY_NUMBER_BYTES] = "";

		(void)display_escape(file->name, strlen(file->name), name, sizeof(name));
		display_number((int64_t)file->entry_count, number);
		describe_damage(file, damage, sizeof(damage));
		(void)snprintf(item, sizeof(item), "%s (%s record%s%s%s)", name, number,
			       display_plural(file->entry_count), damage,
			       file->is_truncated ? ", truncated" : "");
		list_add(&list, item);
	}
	list_end(&list);
}

/* Notes that the clock was set: times continue by the clock as it was before. */
static void add_clock_set(struct item_list *list, const struct recording *recording)
{
	int64_t set_ns = recording->clock_set_ns;
	char by[DISPLAY_NUMBER_BYTES], after[DISPLAY_NUMBER_BYTES], item[ITEM_BYTES];

	if (set_ns == 0)
		return;
	display_duration(set_ns < 0 ? -(set_ns + 1) : set_ns, by);
	display_duration(recording->clock_set_at_ns > recording->start_ns
				 ? (int64_t)(recording->clock_set_at_ns - recording->start_ns)
				 : 0,
			 after);
	(void)snprintf(item, sizeof(item), "as by the clock before it was set %s by %s, after %s",
		       set_ns < 0 ? "back" : "on", by, after);
	list_add(list, item);
}

static void print_time(const struct recording *recording, const struct view_options *options,
		       FILE *out)
{
	struct item_list list = list_begin("time", options, out);
	time_t seconds = (time_t)(recording->start_ns / (int64_t)NS_PER_S);
	char item[ITEM_BYTES], duration[DISPLAY_NUMBER_BYTES];
	struct tm utc;

	if (recording->end_ns > 0 && gmtime_r(&seconds, &utc)) {
		display_duration((int64_t)(recording->end_ns - recording->start_ns), duration);
		list_add(&list, duration);
		(void)strftime(item, sizeof(item), "from %Y-%m-%d %H:%M:%S UTC", &utc);
		list_add(&list, item);
		add_clock_set(&list, recording);
	}
	list_end(&list);
}

/* Appends to a list separated by commas; does nothing if the text is empty. */
static void add_detail(char *details, size_t details_bytes, const char *label, const char *text)
{
	size_t length = strlen(details);

	if (text[0] != '\0')
		(void)snprintf(details + length, details_bytes - length, "%s%s%.80s",
			       length > 0 ? ", " : "", label, text);
}

static void describe_process(const struct recording_process_info *info, bool with_host,
			     char ret_item[static ITEM_BYTES])
{
	char host[2 * RECORDING_TEXT_BYTES], comm[2 * RECORDING_TEXT_BYTES];
	char details[2 * RECORDING_TEXT_BYTES] = "", clean[2 * RECORDING_TEXT_BYTES];

	(void)display_escape(info->host_name, strlen(info->host_name), host, sizeof(host));
	(void)display_escape(info->comm, strlen(info->comm), comm, sizeof(comm));
	add_detail(details, sizeof(details), "", info->server);
	add_detail(details, sizeof(details), "Ruby ", info->ruby_version);
	add_detail(details, sizeof(details), "",
		   watch_mode_is_inexact(info->mode) ? info->mode : "");
	add_detail(details, sizeof(details), "", info->end_ns > 0 ? "ended" : "");
	(void)display_escape(details, strlen(details), clean, sizeof(clean));
	(void)snprintf(ret_item, ITEM_BYTES, "%.128s%s%" PRId64 " %.160s%s%.200s%s",
		       with_host ? host : "", with_host ? ":" : "", info->pid, comm,
		       clean[0] != '\0' ? " (" : "", clean, clean[0] != '\0' ? ")" : "");
}

/*
 * The process to show for all that have ended, if none still runs: the first that has a Ruby, or
 * the first. NULL: some still run, and are shown.
 */
static const void *find_first_of_ended(const struct recording *recording)
{
	struct recording_process_info info;
	const void *cursor = NULL, *first = NULL, *with_ruby = NULL;

	while (recording_next_process(recording, &cursor, &info)) {
		if (info.end_ns == 0)
			return NULL;
		if (!first)
			first = cursor;
		if (!with_ruby && info.ruby_version[0] != '\0')
			with_ruby = cursor;
	}
	return with_ruby ? with_ruby : first;
}

static void add_process(struct item_list *list, const struct recording_process_info *info,
			bool with_host)
{
	char raw[ITEM_BYTES], item[2 * ITEM_BYTES];

	describe_process(info, with_host, raw);
	/* Escapes once more: the length limits may have cut a character. */
	(void)display_escape(raw, strlen(raw), item, sizeof(item));
	list_add(list, item);
}

/* Without has_books, processes that have ended are only counted: a request may have started
 * thousands. */
static void print_processes(const struct recording *recording, const struct view_options *options,
			    FILE *out)
{
	struct item_list list = list_begin("processes", options, out);
	struct recording_process_info info;
	const void *cursor = NULL, *of_ended = find_first_of_ended(recording);
	size_t shown = 0, left = 0, ended = 0;
	char item[ITEM_BYTES];

	while (recording_next_process(recording, &cursor, &info)) {
		if (!options->has_books && info.end_ns > 0 && cursor != of_ended)
			ended++;
		else if (shown++ < PROCESSES_SHOWN_MAX)
			add_process(&list, &info, recording->has_several_hosts);
		else
			left++;
	}
	if (left > 0) {
		(void)snprintf(item, sizeof(item), "… %zu more", left);
		list_add(&list, item);
	}
	if (ended > 0) {
		(void)snprintf(item, sizeof(item), "%zu more have ended", ended);
		list_add(&list, item);
	}
	list_end(&list);
}

static void add_labelled(struct item_list *list, const char *label, const char *text)
{
	char clean[CLEAN_BYTES], item[2 * ITEM_BYTES];

	(void)display_escape(text, strlen(text), clean, sizeof(clean));
	(void)snprintf(item, sizeof(item), "%s%s", label, clean);
	if (clean[0] != '\0')
		list_add(list, item);
}

static void print_mode_change(const struct recording *recording, const struct recording_mode *mode,
			      const struct view_options *options, FILE *out)
{
	uint64_t after_ns =
		mode->wall_ns > recording->start_ns ? mode->wall_ns - recording->start_ns : 0;
	char name[CLEAN_BYTES], reason[CLEAN_BYTES], duration[DISPLAY_NUMBER_BYTES];

	display_duration((int64_t)(after_ns & INT64_MAX), duration);
	(void)display_escape(mode->mode, strlen(mode->mode), name, sizeof(name));
	(void)display_escape(mode->reason, strlen(mode->reason), reason, sizeof(reason));
	display_sentence(out, options->width, HEADING_COLUMNS, "%*sthen %s%s after %s%s%s",
			 HEADING_COLUMNS, "", name, mode->has_kernel_split ? "" : without_split,
			 duration, reason[0] != '\0' ? ": " : "", reason);
}

static void print_mode(const struct recording *recording, const struct view_options *options,
		       FILE *out)
{
	struct item_list list = list_begin("mode", options, out);
	const struct recording_mode *first = &recording->modes[0];
	char item[ITEM_BYTES];

	if (recording->meta_count > 0) {
		(void)snprintf(item, sizeof(item), "%s%s", first->mode,
			       first->has_kernel_split ? "" : without_split);
		add_labelled(&list, "", item);
		display_duration(recording->interval_ns, item);
		add_labelled(&list, "windows of ", item);
	}
	list_end(&list);
	for (size_t i = 1; i < recording->mode_count; i++)
		print_mode_change(recording, &recording->modes[i], options, out);
	if (recording->modes_left_out > 0)
		(void)fprintf(out, "%*s… %" PRIu64 " more changes\n", HEADING_COLUMNS, "",
			      recording->modes_left_out);
}

static void print_system(const struct recording *recording, const struct view_options *options,
			 FILE *out)
{
	struct item_list list = list_begin("system", options, out);
	char item[ITEM_BYTES];

	add_labelled(&list, "Linux ", recording->kernel_release);
	if (recording->cpu_count > 0) {
		(void)snprintf(item, sizeof(item), "%" PRId64 " CPU%s", recording->cpu_count,
			       display_plural(recording->cpu_count));
		list_add(&list, item);
	}
	add_labelled(&list, "correlator ", recording->tool_version);
	list_end(&list);
}

static void print_names(const char *label, const char names[][RECORDING_TEXT_BYTES], size_t count,
			const struct view_options *options, FILE *out)
{
	struct item_list list = list_begin(label, options, out);

	for (size_t i = 0; i < count; i++)
		add_labelled(&list, "", names[i]);
	list_end(&list);
}

void heading_text_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct recording *recording = &totals->selection.recording;
	struct item_list list;

	print_files(options, out);
	print_time(recording, options, out);
	print_processes(recording, options, out);
	print_mode(recording, options, out);
	if (recording->module_count > 0)
		print_names("modules", recording->modules, recording->module_count, options, out);
	if (options->has_books) {
		print_system(recording, options, out);
		print_names("keys", recording->keys, recording->key_count, options, out);
	}
	if (totals->selection.filter.condition_count == 0)
		return;
	list = list_begin("only", options, out);
	for (size_t i = 0; i < totals->selection.filter.condition_count; i++) {
		char text[256];

		filter_describe(&totals->selection.filter.conditions[i], text);
		add_labelled(&list, "", text);
	}
	list_end(&list);
}
