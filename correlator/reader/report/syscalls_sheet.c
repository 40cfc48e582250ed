/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls, for programs: in a document, each group lists its calls; in lines, each line is a
 * call of a group. */
#include "reader/report/syscalls_view.h"

#include "reader/report/sheet.h"

enum kind {
	KIND_TOTAL,
	KIND_GROUP,
	KIND_CALL,
	_KIND_MAX,
};

/* In lines, the kind of the group is a cell. */
static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_TOTAL] = { "total", NULL, false, SHEET_PART_OF_DOCUMENTS },
	[KIND_GROUP] = { NULL, "groups", false, SHEET_PART_OF_DOCUMENTS },
	[KIND_CALL] = { NULL, "calls", true, SHEET_PART_OF_ALL },
};

struct view {
	const struct tally *syscalls;
	size_t top_count;
	struct sheet sheet;
	size_t kind, key, requests; /* these are indices of columns */
	size_t name, calls, inside;
	size_t account_calls, lost;
};

static void add_columns(struct view *view)
{
	struct sheet *sheet = &view->sheet;

	view->kind = sheet_add(sheet, NULL, "row");
	view->key = sheet_add_key(sheet);
	view->requests = sheet_add(sheet, NULL, "requests");
	for (size_t i = view->kind; i <= view->requests; i++)
		sheet->columns[i].is_inherited = true;
	view->name = sheet_add(sheet, NULL, "syscall");
	view->calls = sheet_add(sheet, NULL, "syscalls");
	view->inside = sheet_add(sheet, NULL, "inside_ns");
	if (sheet->format != FORMAT_JSON)
		return;
	view->account_calls = sheet_add(sheet, NULL, "account_syscalls");
	view->lost = sheet_add(sheet, NULL, "syscalls_lost");
}

static void put_sums(struct view *view, int64_t calls, int64_t inside_ns)
{
	sheet_put(&view->sheet, view->calls, cell_integer(calls));
	sheet_put(&view->sheet, view->inside, cell_integer(inside_ns));
}

/* Puts it in documents only. */
static void put_account(struct view *view, size_t column, int64_t calls)
{
	if (view->sheet.format == FORMAT_JSON)
		sheet_put(&view->sheet, column, cell_integer(calls));
}

static void put_total(struct view *view)
{
	const struct tally *syscalls = view->syscalls;

	sheet_row(&view->sheet, KIND_TOTAL);
	put_sums(view, syscalls->numbers[SYSCALLS_CALLS], syscalls->numbers[SYSCALLS_INSIDE_NS]);
	put_account(view, view->account_calls, syscalls->account);
	put_account(view, view->lost, syscalls->lost);
	sheet_end_row(&view->sheet);
}

static void put_group(struct view *view, const struct tally_group *group)
{
	const struct tally_sum *sum = group->sums;
	struct sheet *sheet = &view->sheet;

	sheet_row(sheet, KIND_GROUP);
	sheet_put(sheet, view->kind, cell_string(tally_group_kind_name(group->kind)));
	if (group->kind == TALLY_GROUP)
		sheet_put(sheet, view->key, cell_text(group->value));
	if (group->request_count > 0)
		sheet_put(sheet, view->requests, cell_integer((int64_t)group->request_count));
	put_sums(view, group->numbers[SYSCALLS_CALLS], group->numbers[SYSCALLS_INSIDE_NS]);
	put_account(view, view->account_calls, group->account);
	sheet_end_row(sheet);
	for (size_t i = 0; sum && (view->top_count == 0 || i < view->top_count); i++) {
		sheet_row(sheet, KIND_CALL);
		sheet_put(sheet, view->name, cell_text(sum->name->text));
		put_sums(view, sum->numbers[SYSCALLS_CALLS], sum->numbers[SYSCALLS_INSIDE_NS]);
		sheet_end_row(sheet);
		sum = sum->next;
	}
}

/* Puts the first top_count values of the key, and all other groups. */
static void put_groups(struct view *view)
{
	const struct tally_group *group = view->syscalls->groups;
	size_t shown = 0;

	for (; group && sheet_goes_on(&view->sheet); group = group->hh.next)
		if (group->kind != TALLY_GROUP || view->top_count == 0 || shown++ < view->top_count)
			put_group(view, group);
}

int syscalls_view_print(const struct tally *syscalls, const struct syscalls_view_options *options,
			FILE *out)
{
	struct view view = { .syscalls = syscalls, .top_count = options->top_count };

	if (options->format == FORMAT_TABLE)
		return syscalls_text_print(syscalls, options, out);
	sheet_init(&view.sheet, options->format, syscalls->by, kinds, _KIND_MAX, out);
	add_columns(&view);
	sheet_begin(&view.sheet);
	put_total(&view);
	put_groups(&view);
	sheet_end_rows(&view.sheet);
	return sheet_finish(&view.sheet);
}
