/* SPDX-License-Identifier: GPL-2.0-only */
/* Which code used the CPU, or waited, for programs. Branches of the tree are rows, each with the
 * number of its parent: nested, they would be too deep for parsers. */
#include "reader/report/stacks_view.h"

#include "base/compare.h"
#include "reader/profile/stack_methods.h"
#include "reader/profile/stack_tree.h"
#include "reader/report/json_part.h"
#include "reader/report/sheet_parts.h"

/* Names by measure. */
struct terms {
	const char *spent_ns, *sampled_ns, *not_sampled_ns; /* sums of a document */
	const char *sampled_contexts, *not_sampled_contexts;
	const char *samples, *self_samples; /* columns */
	const char *not_sampled; /* a row */
};

static const struct terms *terms_of(const struct stacks *stacks)
{
	static const struct terms terms[] = {
		[STACKS_CPU] = { "cpu_ns", "sampled_cpu_ns", "not_sampled_cpu_ns",
				 "sampled_contexts", "not_sampled_contexts", "samples",
				 "self_samples", "not_sampled" },
		[STACKS_OFF_CPU] = { "off_cpu_ns", "off_cpu_in_stacks_ns", "off_cpu_in_none_ns",
				     "contexts_in_stacks", "contexts_in_none", "waits",
				     "self_waits", "in_none" },
	};

	return &terms[stacks->measure];
}

enum kind {
	KIND_BRANCH,
	KIND_METHOD,
	KIND_ALL, /* this and the next two are no code: time, samples and contexts */
	KIND_NOT_SAMPLED,
	KIND_LEFT_OUT,
	_KIND_MAX,
};

enum column {
	COLUMN_BRANCH,
	COLUMN_PARENT,
	COLUMN_DEPTH,
	COLUMN_NAME,
	COLUMN_FILE,
	COLUMN_LINE,
	COLUMN_FIRST_LINE,
	COLUMN_KIND,
	COLUMN_SELF,
	COLUMN_TOTAL,
	COLUMN_SELF_SAMPLES,
	COLUMN_SAMPLES,
	COLUMN_SELF_PERCENT,
	COLUMN_SELF_ERROR,
	COLUMN_PERCENT,
	COLUMN_ERROR,
	COLUMN_CONTEXTS,
	_COLUMN_MAX,
};

struct view {
	const struct stacks *stacks;
	const struct terms *terms;
	struct sheet sheet;
};

static void add_columns(struct view *view)
{
	const char *const names[_COLUMN_MAX] = {
		[COLUMN_BRANCH] = "branch",
		[COLUMN_PARENT] = "parent",
		[COLUMN_DEPTH] = "depth",
		[COLUMN_NAME] = "name",
		[COLUMN_FILE] = "file",
		[COLUMN_LINE] = "line",
		[COLUMN_FIRST_LINE] = "first_line",
		[COLUMN_KIND] = "frame_kind",
		[COLUMN_SELF] = "self_ns",
		[COLUMN_TOTAL] = "total_ns",
		[COLUMN_SELF_SAMPLES] = view->terms->self_samples,
		[COLUMN_SAMPLES] = view->terms->samples,
		[COLUMN_SELF_PERCENT] = "self_percent",
		[COLUMN_SELF_ERROR] = "self_error_percent",
		[COLUMN_PERCENT] = "share_percent",
		[COLUMN_ERROR] = "error_percent",
		[COLUMN_CONTEXTS] = "contexts",
	};

	for (size_t i = 0; i < _COLUMN_MAX; i++)
		(void)sheet_add(&view->sheet, NULL, names[i]);
}

static void put_count(struct view *view, enum column column, uint64_t count)
{
	sheet_put(&view->sheet, column, cell_integer((int64_t)count));
}

/* line: 0 = not known. */
static void put_line(struct view *view, enum column column, uint32_t line)
{
	if (line > 0)
		put_count(view, column, line);
}

static void put_share(struct view *view, enum column percent, enum column error, int64_t spent_ns)
{
	const struct stacks_sums *sums = &view->stacks->sums;
	double share = sums->sampled_ns > 0 ? (double)spent_ns / (double)sums->sampled_ns : 0;

	sheet_put(&view->sheet, percent, cell_real(100 * share));
	/* Waits are not sampled. */
	if (view->stacks->measure == STACKS_CPU)
		sheet_put(&view->sheet, error, cell_real(100 * stacks_error(sums, share)));
}

/* The columns that branches and methods share. */
static void put_spent(struct view *view, int64_t self_ns, int64_t total_ns, uint64_t self_samples,
		      uint64_t samples)
{
	sheet_put(&view->sheet, COLUMN_SELF, cell_integer(self_ns));
	sheet_put(&view->sheet, COLUMN_TOTAL, cell_integer(total_ns));
	put_count(view, COLUMN_SELF_SAMPLES, self_samples);
	put_count(view, COLUMN_SAMPLES, samples);
	put_share(view, COLUMN_SELF_PERCENT, COLUMN_SELF_ERROR, self_ns);
	put_share(view, COLUMN_PERCENT, COLUMN_ERROR, total_ns);
}

static void put_frame_kind(struct view *view, uint32_t kind)
{
	sheet_put(&view->sheet, COLUMN_KIND, cell_string(frame_kind_name((enum frame_kind)kind)));
}

static void put_branch(struct view *view, const struct stack_node *node)
{
	sheet_row(&view->sheet, KIND_BRANCH);
	put_count(view, COLUMN_BRANCH, node->number);
	if (node->key.parent)
		put_count(view, COLUMN_PARENT, node->key.parent->number);
	put_count(view, COLUMN_DEPTH, node->depth);
	sheet_put_text(&view->sheet, COLUMN_NAME, node->key.name);
	sheet_put_text(&view->sheet, COLUMN_FILE, node->key.file);
	put_line(view, COLUMN_LINE, node->key.line);
	put_line(view, COLUMN_FIRST_LINE, node->key.first_line);
	put_frame_kind(view, node->key.kind);
	put_spent(view, node->self_ns, node->total_ns, node->self_samples, node->samples);
	sheet_end_row(&view->sheet);
}

static void put_method(struct view *view, const struct stack_method *method)
{
	sheet_row(&view->sheet, KIND_METHOD);
	sheet_put_text(&view->sheet, COLUMN_NAME, method->key.name);
	sheet_put_text(&view->sheet, COLUMN_FILE, method->key.file);
	put_line(view, COLUMN_FIRST_LINE, method->key.first_line);
	put_frame_kind(view, method->key.kind);
	put_spent(view, method->self_ns, method->total_ns, method->self_samples, method->samples);
	sheet_end_row(&view->sheet);
}

static void put_branches(struct view *view, bool is_bottom_up, uint64_t *ret_cut_count)
{
	const struct stack_shape shape = { .is_bottom_up = is_bottom_up, .is_by_line = true };
	const struct stack_node *node = NULL;
	struct stack_tree tree;

	view->sheet.r = stack_tree_init(&tree, view->stacks, &shape);
	*ret_cut_count = tree.cut_count;
	while (sheet_goes_on(&view->sheet) && (node = stack_tree_next(&tree, node)))
		put_branch(view, node);
	stack_tree_deinit(&tree);
}

static void put_methods(struct view *view)
{
	const struct stack_method *method;
	struct stack_methods methods;

	if (!sheet_goes_on(&view->sheet))
		return;
	view->sheet.r = stack_methods_init(&methods, view->stacks);
	for (method = methods.table; method && sheet_goes_on(&view->sheet);
	     method = method->hh.next)
		put_method(view, method);
	stack_methods_deinit(&methods);
}

static void put_sum(struct view *view, enum kind kind, int64_t spent_ns, uint64_t samples,
		    uint64_t contexts)
{
	sheet_row(&view->sheet, kind);
	sheet_put(&view->sheet, COLUMN_TOTAL, cell_integer(spent_ns));
	put_count(view, COLUMN_SAMPLES, samples);
	put_count(view, COLUMN_CONTEXTS, contexts);
	sheet_end_row(&view->sheet);
}

static void put_sums(struct view *view)
{
	const struct stacks_sums *sums = &view->stacks->sums;

	put_sum(view, KIND_ALL, sums->spent_ns, sums->samples,
		sums->sampled_contexts + sums->unsampled_contexts);
	put_sum(view, KIND_NOT_SAMPLED, sums->unsampled_ns, 0, sums->unsampled_contexts);
	sheet_row(&view->sheet, KIND_LEFT_OUT);
	put_count(view, COLUMN_SAMPLES, view->stacks->samples_left_out);
	sheet_end_row(&view->sheet);
}

static void set_count(json_t *object, const char *name, uint64_t count, int *r)
{
	json_part_set(object, name, json_integer((json_int_t)count), r);
}

/* Adds what the samples of others stand for, and the parts of it that samples of contexts which are
 * not chosen stand for, too. */
static void add_pooled(struct view *view, json_t *object)
{
	static const char *const names[_STACKS_SOURCE_MAX][2] = {
		[STACKS_SOURCE_WINDOW] = { "pooled_by_window_cpu_ns", "pooled_by_window_contexts" },
		[STACKS_SOURCE_RECORDING] = { "pooled_by_recording_cpu_ns",
					      "pooled_by_recording_contexts" },
	};
	const struct stacks_sums *sums = &view->stacks->sums;
	int *r = &view->sheet.r;
	uint64_t contexts = 0;
	int64_t spent_ns = 0;

	for (size_t i = STACKS_SOURCE_CHOSEN; i < _STACKS_SOURCE_MAX; i++) {
		saturated_add_to(&spent_ns, sums->pooled_ns[i]);
		contexts += sums->pooled_contexts[i];
	}
	json_part_set(object, "pooled_cpu_ns", json_integer(spent_ns), r);
	set_count(object, "pooled_contexts", contexts, r);
	for (size_t i = STACKS_SOURCE_WINDOW; i < _STACKS_SOURCE_MAX; i++) {
		json_part_set(object, names[i][0], json_integer(sums->pooled_ns[i]), r);
		set_count(object, names[i][1], sums->pooled_contexts[i], r);
	}
}

static void add_sums(struct view *view)
{
	const struct stacks_sums *sums = &view->stacks->sums;
	const struct terms *terms = view->terms;
	int *r = &view->sheet.r;
	json_t *object = json_object();

	json_part_set(object, terms->spent_ns, json_integer(sums->spent_ns), r);
	json_part_set(object, terms->sampled_ns, json_integer(sums->sampled_ns), r);
	if (view->stacks->measure == STACKS_CPU)
		add_pooled(view, object);
	json_part_set(object, terms->not_sampled_ns, json_integer(sums->unsampled_ns), r);
	set_count(object, terms->sampled_contexts, sums->sampled_contexts, r);
	set_count(object, terms->not_sampled_contexts, sums->unsampled_contexts, r);
	set_count(object, terms->samples, sums->samples, r);
	sheet_member(&view->sheet, "all", object);
}

static void add_left_out(struct view *view, uint64_t cut_count)
{
	const struct stacks *stacks = view->stacks;
	int *r = &view->sheet.r;
	json_t *object = json_object();

	set_count(object, view->terms->samples, stacks->samples_left_out, r);
	set_count(object, "cpu_records", stacks->cpu_records_left_out, r);
	set_count(object, "frames", stacks->frames.left_out, r);
	set_count(object, "frames_untold", stacks->frames.untold_count, r);
	set_count(object, "cycles", stacks->frames.cycle_count, r);
	set_count(object, "stacks_cut", cut_count, r);
	sheet_member(&view->sheet, "left_out", object);
}

int stacks_view_print(const struct stacks *stacks, const struct stacks_view_options *options,
		      FILE *out)
{
	struct view view = { .stacks = stacks, .terms = terms_of(stacks) };
	const struct sheet_kind kinds[_KIND_MAX] = {
		[KIND_BRANCH] = { "branch", "branches", false, SHEET_PART_OF_ALL },
		[KIND_METHOD] = { "method", "methods", false, SHEET_PART_OF_ALL },
		[KIND_ALL] = { "all", NULL, false, SHEET_PART_OF_LINES },
		[KIND_NOT_SAMPLED] = { view.terms->not_sampled, NULL, false, SHEET_PART_OF_LINES },
		[KIND_LEFT_OUT] = { "left_out", NULL, false, SHEET_PART_OF_LINES },
	};
	uint64_t cut_count;

	if (options->format == FORMAT_TABLE)
		return stacks_text_print(stacks, options, out);
	sheet_init(&view.sheet, options->format, NULL, kinds, _KIND_MAX, out);
	sheet_member(&view.sheet, "order",
		     json_part_text(options->is_bottom_up ? "bottom-up" : "top-down"));
	add_columns(&view);
	sheet_begin(&view.sheet);
	put_branches(&view, options->is_bottom_up, &cut_count);
	put_methods(&view);
	put_sums(&view);
	sheet_end_rows(&view.sheet);
	add_sums(&view);
	add_left_out(&view, cut_count);
	return sheet_finish(&view.sheet);
}
