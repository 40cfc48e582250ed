/* SPDX-License-Identifier: GPL-2.0-only */
/* In which code the CPU was used, or waited, for programs. */
#include "reader/report/format_stacks.h"

#include <inttypes.h>

#include "base/display.h"
#include "reader/profile/stack_methods.h"
#include "reader/profile/stack_tree.h"
#include "reader/report/csv_part.h"
#include "reader/report/json_part.h"

/* What both have to say of a branch or a method. */
struct row {
	const struct stack_node *node; /* NULL: a method */
	const struct frames_text *name;
	const struct frames_text *file; /* NULL: not known */
	enum frame_kind kind;
	uint32_t line; /* these are 0 when not known */
	uint32_t first_line;
	int64_t self_ns;
	int64_t total_ns;
	uint64_t self_samples;
	uint64_t samples;
};

typedef int (*row_fn)(const struct stacks *stacks, const struct row *row, bool is_first, FILE *out);

static int for_each_branch(const struct stacks *stacks, const struct format_stacks_options *options,
			   row_fn fn, uint64_t *ret_cut_count, FILE *out)
{
	const struct stack_shape shape = { .is_bottom_up = options->is_bottom_up,
					   .is_by_line = true };
	const struct stack_node *node = NULL;
	struct stack_tree tree;
	int r = stack_tree_init(&tree, stacks, &shape);

	*ret_cut_count = tree.cut_count;
	while (r == 0 && !ferror(out) && (node = stack_tree_next(&tree, node))) {
		const struct row row = { .node = node,
					 .name = node->key.name,
					 .file = node->key.file,
					 .kind = (enum frame_kind)node->key.kind,
					 .line = node->key.line,
					 .first_line = node->key.first_line,
					 .self_ns = node->self_ns,
					 .total_ns = node->total_ns,
					 .self_samples = node->self_samples,
					 .samples = node->samples };

		r = fn(stacks, &row, node == tree.roots, out);
	}
	stack_tree_deinit(&tree);
	return r;
}

static int for_each_method(const struct stacks *stacks, row_fn fn, FILE *out)
{
	const struct stack_method *method;
	struct stack_methods methods;
	int r = stack_methods_init(&methods, stacks);

	for (method = methods.table; method && r == 0 && !ferror(out); method = method->hh.next) {
		const struct row row = { .name = method->key.name,
					 .file = method->key.file,
					 .kind = (enum frame_kind)method->key.kind,
					 .first_line = method->key.first_line,
					 .self_ns = method->self_ns,
					 .total_ns = method->total_ns,
					 .self_samples = method->self_samples,
					 .samples = method->samples };

		r = fn(stacks, &row, method == methods.table, out);
	}
	stack_methods_deinit(&methods);
	return r;
}

/* How what is measured is called. */
struct terms {
	const char *spent_ns, *sampled_ns, *not_sampled_ns;
	const char *sampled_contexts, *not_sampled_contexts;
	const char *samples, *self_samples;
	const char *not_sampled; /* a row's */
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

static double share_of(const struct stacks *stacks, int64_t spent_ns)
{
	double all_ns = (double)stacks->sums.sampled_ns;

	return all_ns > 0 ? (double)spent_ns / all_ns : 0;
}

static void set_count(json_t *object, const char *name, uint64_t count, int *r)
{
	json_part_set(object, name, json_integer((json_int_t)count), r);
}

static void set_share(json_t *object, const char *share_name, const char *error_name,
		      const struct stacks *stacks, int64_t spent_ns, int *r)
{
	double share = share_of(stacks, spent_ns);

	json_part_set(object, share_name, json_real(100 * share), r);
	/* Waits are not sampled. */
	if (stacks->measure == STACKS_CPU)
		json_part_set(object, error_name,
			      json_real(100 * stacks_error(&stacks->sums, share)), r);
}

static int print_json_row(const struct stacks *stacks, const struct row *row, bool is_first,
			  FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	if (row->node) {
		set_count(object, "branch", row->node->number, &r);
		if (row->node->key.parent)
			set_count(object, "parent", row->node->key.parent->number, &r);
		set_count(object, "depth", row->node->depth, &r);
	}
	json_part_set(object, "name", json_part_bytes(row->name->bytes, row->name->size_bytes), &r);
	if (row->file)
		json_part_set(object, "file",
			      json_part_bytes(row->file->bytes, row->file->size_bytes), &r);
	if (row->line > 0)
		set_count(object, "line", row->line, &r);
	if (row->first_line > 0)
		set_count(object, "first_line", row->first_line, &r);
	json_part_set(object, "frame_kind", json_part_text(frame_kind_name(row->kind)), &r);
	json_part_set(object, "self_ns", json_integer(row->self_ns), &r);
	json_part_set(object, "total_ns", json_integer(row->total_ns), &r);
	set_count(object, terms_of(stacks)->self_samples, row->self_samples, &r);
	set_count(object, terms_of(stacks)->samples, row->samples, &r);
	set_share(object, "self_percent", "self_error_percent", stacks, row->self_ns, &r);
	set_share(object, "share_percent", "error_percent", stacks, row->total_ns, &r);
	return json_part_print(is_first ? "\n" : ",\n", object, r, out);
}

static int print_json_sums(const struct stacks *stacks, FILE *out)
{
	const struct stacks_sums *sums = &stacks->sums;
	const struct terms *terms = terms_of(stacks);
	json_t *object = json_object();
	int r = 0;

	json_part_set(object, terms->spent_ns, json_integer(sums->spent_ns), &r);
	json_part_set(object, terms->sampled_ns, json_integer(sums->sampled_ns), &r);
	if (stacks->measure == STACKS_CPU)
		json_part_set(object, "pooled_cpu_ns", json_integer(sums->pooled_ns), &r);
	json_part_set(object, terms->not_sampled_ns, json_integer(sums->unsampled_ns), &r);
	set_count(object, terms->sampled_contexts, sums->sampled_contexts, &r);
	if (stacks->measure == STACKS_CPU)
		set_count(object, "pooled_contexts", sums->pooled_contexts, &r);
	set_count(object, terms->not_sampled_contexts, sums->unsampled_contexts, &r);
	set_count(object, terms->samples, sums->samples, &r);
	return json_part_print(",\n\"all\":", object, r, out);
}

static int print_json_left_out(const struct stacks *stacks, uint64_t cut_count, FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	set_count(object, terms_of(stacks)->samples, stacks->samples_left_out, &r);
	set_count(object, "cpu_records", stacks->cpu_records_left_out, &r);
	set_count(object, "frames", stacks->frames.left_out, &r);
	set_count(object, "frames_untold", stacks->frames.untold_count, &r);
	set_count(object, "cycles", stacks->frames.cycle_count, &r);
	set_count(object, "stacks_cut", cut_count, &r);
	return json_part_print(",\n\"left_out\":", object, r, out);
}

int format_stacks_json(const struct stacks *stacks, const struct format_stacks_options *options,
		       FILE *out)
{
	uint64_t cut_count = 0;
	int r;

	(void)fprintf(out, "{\"order\":\"%s\",\n\"branches\":[",
		      options->is_bottom_up ? "bottom-up" : "top-down");
	r = for_each_branch(stacks, options, print_json_row, &cut_count, out);
	(void)fputs("],\n\"methods\":[", out);
	if (r == 0)
		r = for_each_method(stacks, print_json_row, out);
	(void)fputs("]", out);
	if (r == 0)
		r = print_json_sums(stacks, out);
	if (r == 0)
		r = print_json_left_out(stacks, cut_count, out);
	(void)fputs("}\n", out);
	return r;
}

static void print_csv_text(const struct frames_text *text, FILE *out)
{
	char escaped[FRAMES_TEXT_ESCAPED_BYTES];

	(void)fputc(',', out);
	if (!text)
		return;
	(void)display_escape(text->bytes, text->size_bytes, escaped, sizeof(escaped));
	csv_part_text(escaped, out);
}

/* Empty when there is none. */
static void print_csv_count(uint64_t count, FILE *out)
{
	(void)fputc(',', out);
	if (count > 0)
		(void)fprintf(out, "%" PRIu64, count);
}

static void print_csv_share(const struct stacks *stacks, int64_t spent_ns, FILE *out)
{
	double share = share_of(stacks, spent_ns);

	(void)fprintf(out, ",%.6f,", 100 * share);
	if (stacks->measure == STACKS_CPU)
		(void)fprintf(out, "%.6f", 100 * stacks_error(&stacks->sums, share));
}

static int print_csv_row(const struct stacks *stacks, const struct row *row, bool is_first,
			 FILE *out)
{
	const struct stack_node *parent = row->node ? row->node->key.parent : NULL;

	(void)is_first;
	(void)fputs(row->node ? "branch" : "method", out);
	print_csv_count(row->node ? row->node->number : 0, out);
	print_csv_count(parent ? parent->number : 0, out);
	print_csv_count(row->node ? row->node->depth : 0, out);
	print_csv_text(row->name, out);
	print_csv_text(row->file, out);
	print_csv_count(row->line, out);
	print_csv_count(row->first_line, out);
	(void)fprintf(out, ",%s,%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64,
		      frame_kind_name(row->kind), row->self_ns, row->total_ns, row->self_samples,
		      row->samples);
	print_csv_share(stacks, row->self_ns, out);
	print_csv_share(stacks, row->total_ns, out);
	(void)fputs(",\r\n", out);
	return 0;
}

/* What is no code: only time, samples and contexts. */
static void print_csv_sum(const char *name, int64_t spent_ns, uint64_t samples, uint64_t contexts,
			  FILE *out)
{
	(void)fprintf(out, "%s,,,,,,,,,,%" PRId64 ",,%" PRIu64 ",,,,,%" PRIu64 "\r\n", name,
		      spent_ns, samples, contexts);
}

int format_stacks_csv(const struct stacks *stacks, const struct format_stacks_options *options,
		      FILE *out)
{
	const struct stacks_sums *sums = &stacks->sums;
	const struct terms *terms = terms_of(stacks);
	uint64_t cut_count;
	int r;

	(void)fprintf(out,
		      "row,branch,parent,depth,name,file,line,first_line,frame_kind,self_ns,"
		      "total_ns,%s,%s,self_percent,self_error_percent,share_percent,"
		      "error_percent,contexts\r\n",
		      terms->self_samples, terms->samples);
	r = for_each_branch(stacks, options, print_csv_row, &cut_count, out);
	if (r == 0)
		r = for_each_method(stacks, print_csv_row, out);
	print_csv_sum("all", sums->spent_ns, sums->samples,
		      sums->sampled_contexts + sums->unsampled_contexts, out);
	print_csv_sum(terms->not_sampled, sums->unsampled_ns, 0, sums->unsampled_contexts, out);
	(void)fprintf(out, "left_out,,,,,,,,,,,,%" PRIu64 ",,,,,\r\n", stacks->samples_left_out);
	return r;
}
