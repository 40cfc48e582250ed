/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/tally_view.h"

#include "record/record_fields.h"

enum kind {
	KIND_TOTAL,
	KIND_GROUP,
	KIND_SUM,
	_KIND_MAX,
};

struct view {
	const struct tally *tally;
	const struct tally_sheet_layout *layout;
	size_t top_count;
	struct sheet_kind kinds[_KIND_MAX];
	struct sheet sheet;
	size_t kind, key, requests; /* these are indices of columns */
	size_t name, numbers; /* the first of several */
	size_t account, lost;
};

static void add_columns(struct view *view)
{
	const struct tally_subject *subject = view->tally->subject;
	const struct record_kind_info *record = &record_kinds[subject->kind];
	struct sheet *sheet = &view->sheet;

	view->kind = sheet_add(sheet, NULL, "row");
	view->key = sheet_add_key(sheet);
	view->requests = sheet_add(sheet, NULL, "requests");
	for (size_t i = view->kind; i <= view->requests; i++)
		sheet->columns[i].is_inherited = true;
	view->name = sheet->column_count;
	for (size_t i = 0; i < TALLY_SHEET_NAMES_MAX && view->layout->names[i]; i++)
		(void)sheet_add(sheet, NULL, view->layout->names[i]);
	view->numbers = sheet->column_count;
	for (size_t i = 0; i < subject->number_count; i++)
		(void)sheet_add(sheet, NULL,
				record->fields[subject->places[i] - record->first_place].name);
	if (sheet->format != FORMAT_JSON)
		return;
	if (view->layout->account)
		view->account = sheet_add(sheet, NULL, view->layout->account);
	view->lost = sheet_add(sheet, NULL, subject->lost_field);
}

static void put_numbers(struct view *view, const int64_t *numbers)
{
	for (size_t i = 0; i < view->tally->subject->number_count; i++)
		sheet_put(&view->sheet, view->numbers + i, cell_integer(numbers[i]));
}

/* Puts it in documents only. */
static void put_account(struct view *view, int64_t number)
{
	if (view->sheet.format == FORMAT_JSON && view->layout->account)
		sheet_put(&view->sheet, view->account, cell_integer(number));
}

static void put_total(struct view *view)
{
	const struct tally *tally = view->tally;

	sheet_row(&view->sheet, KIND_TOTAL);
	put_numbers(view, tally->numbers);
	put_account(view, tally->account);
	if (view->sheet.format == FORMAT_JSON)
		sheet_put(&view->sheet, view->lost, cell_integer(tally->lost));
	sheet_end_row(&view->sheet);
}

static void put_sums(struct view *view, const struct tally_group *group)
{
	const struct tally_sum *sum = group->sums;

	for (size_t i = 0; sum && (view->top_count == 0 || i < view->top_count); i++) {
		sheet_row(&view->sheet, KIND_SUM);
		view->layout->put_name(&view->sheet, view->name, sum->name);
		put_numbers(view, sum->numbers);
		sheet_end_row(&view->sheet);
		sum = sum->next;
	}
}

static void put_group(struct view *view, const struct tally_group *group)
{
	struct sheet *sheet = &view->sheet;

	sheet_row(sheet, KIND_GROUP);
	sheet_put(sheet, view->kind, cell_string(tally_group_kind_name(group->kind)));
	if (group->kind == TALLY_GROUP)
		sheet_put(sheet, view->key, cell_text(group->value));
	if (group->request_count > 0)
		sheet_put(sheet, view->requests, cell_integer((int64_t)group->request_count));
	put_numbers(view, group->numbers);
	put_account(view, group->account);
	sheet_end_row(sheet);
	put_sums(view, group);
}

/* Puts the first top_count values of the key, and all other groups. */
static void put_groups(struct view *view)
{
	const struct tally_group *group = view->tally->groups;
	size_t shown = 0;

	for (; group && sheet_goes_on(&view->sheet); group = group->hh.next)
		if (group->kind != TALLY_GROUP || view->top_count == 0 || shown++ < view->top_count)
			put_group(view, group);
}

int tally_sheet_print(const struct tally *tally, const struct tally_sheet_layout *layout,
		      const struct tally_view_options *options, FILE *out)
{
	struct view view = {
		.tally = tally,
		.layout = layout,
		.top_count = options->top_count,
		/* In lines, the kind of the group is a cell. */
		.kinds = { [KIND_TOTAL] = { "total", NULL, false, SHEET_PART_OF_DOCUMENTS },
			   [KIND_GROUP] = { NULL, "groups", false, SHEET_PART_OF_DOCUMENTS },
			   [KIND_SUM] = { NULL, layout->list, true, SHEET_PART_OF_ALL } },
	};

	sheet_init(&view.sheet, options->format, tally->by, view.kinds, _KIND_MAX, out);
	add_columns(&view);
	sheet_begin(&view.sheet);
	put_total(&view);
	put_groups(&view);
	sheet_end_rows(&view.sheet);
	return sheet_finish(&view.sheet);
}
