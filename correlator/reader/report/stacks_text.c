/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/stacks_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "reader/profile/code_place.h"
#include "reader/profile/stack_methods.h"
#include "reader/profile/stack_tree.h"

enum {
	FIGURES_COLUMNS = 38, /* before a name in the tree */
	METHOD_COLUMNS = 53, /* before a name in the list of methods */
	NAME_COLUMNS_MIN = 20,
	PLACE_COLUMNS_MIN = 12, /* with less room, a place is shown only if it fits whole */
	INDENT_MAX = 24,
	HEADING_BYTES = 640, /* some sentences of the heading */
	LEAST_SHARE = 100, /* less than a hundredth of all is not shown */
};

struct view {
	const struct stacks_sums *sums;
	bool is_exact; /* waits: shares have no error */
	const struct stacks_view_options *options;
	FILE *out;
};

/* Appends to a text of HEADING_BYTES which samples stand for contexts that are too short for their
 * own. */
static void describe_pooled(const struct stacks_sums *sums, char *text)
{
	static const char *const sources[_STACKS_SOURCE_MAX] = {
		[STACKS_SOURCE_CHOSEN] = "those of the endpoint",
		[STACKS_SOURCE_WINDOW] = "all of the endpoint in the same window, selected or not,",
		[STACKS_SOURCE_RECORDING] = "all of the endpoint, selected or not,",
	};
	char pooled[DISPLAY_NUMBER_BYTES];

	for (size_t i = STACKS_SOURCE_CHOSEN; i < _STACKS_SOURCE_MAX; i++) {
		bool is_one = sums->pooled_contexts[i] == 1;
		size_t size_bytes = strlen(text);

		if (sums->pooled_contexts[i] == 0)
			continue;
		display_duration(sums->pooled_ns[i], pooled);
		(void)snprintf(text + size_bytes, HEADING_BYTES - size_bytes,
			       " %" PRIu64 " (%s) %s too short for samples of %s own: %s stand for"
			       " %s.",
			       sums->pooled_contexts[i], pooled, is_one ? "is" : "are",
			       is_one ? "its" : "their", sources[i], is_one ? "it" : "them");
	}
}

static void print_heading_of_samples(const struct view *view, const char *spent,
				     const char *unsampled)
{
	const struct stacks_sums *sums = view->sums;
	char text[HEADING_BYTES] = "";

	describe_pooled(sums, text);
	display_sentence(view->out, view->options->width, 0,
			 "CPU %s, exact; that of %" PRIu64
			 " context%s is spread over stacks by %" PRIu64
			 " sample%s.%s Not sampled: %s in %" PRIu64
			 " context%s. ± is the standard error of a share.",
			 spent, sums->sampled_contexts, display_plural(sums->sampled_contexts),
			 sums->samples, display_plural(sums->samples), text, unsampled,
			 sums->unsampled_contexts, display_plural(sums->unsampled_contexts));
}

static void print_heading(const struct view *view)
{
	const struct stacks_sums *sums = view->sums;
	char spent[DISPLAY_NUMBER_BYTES], unsampled[DISPLAY_NUMBER_BYTES];

	display_duration(sums->spent_ns, spent);
	display_duration(sums->unsampled_ns, unsampled);
	if (view->is_exact)
		display_sentence(view->out, view->options->width, 0,
				 "Off the CPU %s, blocked and run queue, exact; in %" PRIu64
				 " waits of %" PRIu64 " contexts. In no stack: %s in %" PRIu64
				 " contexts.",
				 spent, sums->samples, sums->sampled_contexts, unsampled,
				 sums->unsampled_contexts);
	else
		print_heading_of_samples(view, spent, unsampled);
	(void)fputc('\n', view->out);
}

struct code {
	const struct frames_text *name;
	const struct frames_text *file; /* NULL: not known */
	enum frame_kind kind;
	uint32_t first_line;
	uint32_t least_repeats; /* stack_tree.h; 0 = not known */
	uint32_t most_repeats;
};

static struct code code_of(const struct stack_node *node)
{
	return (struct code){
		node->key.name,	      node->key.file,	   (enum frame_kind)node->key.kind,
		node->key.first_line, node->least_repeats, node->most_repeats
	};
}

static void describe_repeats(const struct code *code, char *ret_text, size_t text_bytes)
{
	ret_text[0] = '\0';
	if (code->most_repeats > 1 && code->least_repeats < code->most_repeats)
		(void)snprintf(ret_text, text_bytes, " × %" PRIu32 "…%" PRIu32, code->least_repeats,
			       code->most_repeats);
	else if (code->most_repeats > 1)
		(void)snprintf(ret_text, text_bytes, " × %" PRIu32, code->most_repeats);
}

/* Prints into the rest of a line, of which `taken` columns are used: the name, its repeats and, if
 * there is room, its place. */
static void put_code(const struct view *view, const struct code *code, size_t taken)
{
	char name[FRAMES_TEXT_ESCAPED_BYTES], fitted[FRAMES_TEXT_ESCAPED_BYTES];
	char place[FRAMES_TEXT_ESCAPED_BYTES], repeats[64];
	size_t width = view->options->width, room;

	describe_repeats(code, repeats, sizeof(repeats));
	taken += display_columns(repeats);
	room = width > taken + NAME_COLUMNS_MIN ? width - taken : NAME_COLUMNS_MIN;
	(void)display_escape(code->name->bytes, code->name->size_bytes, name, sizeof(name));
	display_fit(name, room, fitted, sizeof(fitted));
	(void)fprintf(view->out, "%s%s", fitted, repeats);
	room -= display_columns(fitted) < room ? display_columns(fitted) : room;
	code_place_write(code->file, code->kind, code->first_line, place);
	if (room < PLACE_COLUMNS_MIN && display_columns(place) > room)
		return;
	display_fit(place, room, fitted, sizeof(fitted));
	(void)fputs(fitted, view->out);
}

static double share_of(const struct view *view, int64_t spent_ns)
{
	return (double)spent_ns / (double)view->sums->sampled_ns;
}

/* The heading of the column of errors, 5 characters wide. */
static const char *error_heading(const struct view *view)
{
	return view->is_exact ? "     " : "    ±";
}

static const char *spent_heading(const struct view *view)
{
	return view->is_exact ? "off CPU" : "cpu";
}

static void print_share(const struct view *view, double share)
{
	if (view->is_exact)
		(void)fprintf(view->out, "%6.1f %% %5s", 100 * share, "");
	else
		(void)fprintf(view->out, "%6.1f %% %5.1f", 100 * share,
			      100 * stacks_error(view->sums, share));
}

/* Prints one line for a node and the `folded` others of its chain, which have the same time. Also
 * names first, unless NULL. */
static void print_node(const struct view *view, const struct stack_node *first,
		       const struct stack_node *node, size_t level, size_t folded)
{
	size_t indent = level < INDENT_MAX ? level : INDENT_MAX;
	size_t taken = FIGURES_COLUMNS + indent + (folded > 0 ? 14 : 0);
	const struct code code = code_of(node);
	char spent[DISPLAY_NUMBER_BYTES], name[FRAMES_TEXT_ESCAPED_BYTES];
	char fitted[FRAMES_TEXT_ESCAPED_BYTES];
	size_t width = view->options->width;

	display_duration(node->total_ns, spent);
	print_share(view, share_of(view, node->total_ns));
	(void)fprintf(view->out, " %10s %9" PRIu64 "   %*s", spent, node->samples, (int)indent, "");
	if (folded > 0)
		(void)fprintf(view->out, "(%zu folded) ", folded);
	if (first) {
		(void)display_escape(first->key.name->bytes, first->key.name->size_bytes, name,
				     sizeof(name));
		display_fit(name,
			    width > taken + NAME_COLUMNS_MIN ? width - taken : NAME_COLUMNS_MIN,
			    fitted, sizeof(fitted));
		(void)fprintf(view->out, "%s … ", fitted);
		taken += display_columns(fitted) + 3;
	}
	put_code(view, &code, taken);
	(void)fputc('\n', view->out);
}

static bool is_enough(const struct view *view, int64_t spent_ns)
{
	return spent_ns > 0 && spent_ns >= view->sums->sampled_ns / LEAST_SHARE;
}

static bool is_of_application(const struct stack_node *node)
{
	return code_place_is_of_application(node->key.file, (enum frame_kind)node->key.kind);
}

/* Follows the chain of nodes that have all their time from their only child, and returns its last
 * node. Stops before a library's node would hide one of the application. *ret_folded: the number of
 * nodes hidden. */
static const struct stack_node *skip_chain(const struct view *view, const struct stack_node *node,
					   size_t *ret_folded)
{
	*ret_folded = 0;
	while (node->self_ns == 0 && node->children && !node->children->next) {
		const struct stack_node *child = node->children;
		const struct stack_node *hidden = view->options->is_bottom_up ? child : node;
		const struct stack_node *shown = view->options->is_bottom_up ? node : child;

		if (is_of_application(hidden) && !is_of_application(shown))
			break;
		node = child;
		(*ret_folded)++;
	}
	return node;
}

/* Prints a chain as one line. Top-down it shows the last node, which did more than call one other;
 * bottom-up the first: at level 0 the code that ran, below that its next caller. Returns the last
 * node. */
static const struct stack_node *print_chain(const struct view *view, const struct stack_node *node,
					    size_t level)
{
	bool is_bottom_up = view->options->is_bottom_up;
	const struct stack_node *last;
	size_t folded = 0;

	last = is_bottom_up && level == 0 ? node : skip_chain(view, node, &folded);
	/* All waits end in a few functions of libc: the first node shows in which call. */
	print_node(view, view->is_exact && folded > 0 && !is_bottom_up ? node : NULL,
		   is_bottom_up ? node : last, level, folded);
	return last;
}

static void print_tree(const struct view *view, const struct stack_tree *tree)
{
	/* The node to show next at each level, including the level below the deepest node. */
	const struct stack_node *steps[FRAMES_DEPTH_MAX + 1];
	size_t level = 0;

	(void)fprintf(view->out, "%8s %s %10s %9s   %s\n", "share", error_heading(view),
		      spent_heading(view), view->is_exact ? "waits" : "samples",
		      view->options->is_bottom_up ? "code, and below it what called it" : "code");
	steps[0] = tree->roots;
	for (;;) {
		const struct stack_node *node = steps[level];

		if (!node || !is_enough(view, node->total_ns)) {
			if (level == 0)
				break;
			level--;
			continue;
		}
		steps[level] = node->next;
		node = print_chain(view, node, level);
		steps[++level] = node->children;
	}
}

static void print_methods(const struct view *view, const struct stack_methods *methods)
{
	size_t most = view->options->method_count, count = 0;
	const struct stack_method *method;

	(void)fprintf(view->out, "\n%8s %s %10s %8s %s %10s   %s\n", "self", error_heading(view),
		      spent_heading(view), "total", error_heading(view), spent_heading(view),
		      "method");
	for (method = methods->table; method; method = method->hh.next) {
		double self = share_of(view, method->self_ns);
		double total = share_of(view, method->total_ns);
		const struct code code = { method->key.name,
					   method->key.file,
					   (enum frame_kind)method->key.kind,
					   method->key.first_line,
					   0,
					   0 };
		char self_spent[DISPLAY_NUMBER_BYTES], total_spent[DISPLAY_NUMBER_BYTES];

		if (!is_enough(view, method->self_ns) || (most > 0 && count++ == most))
			break;
		display_duration(method->self_ns, self_spent);
		display_duration(method->total_ns, total_spent);
		print_share(view, self);
		(void)fprintf(view->out, " %10s ", self_spent);
		print_share(view, total);
		(void)fprintf(view->out, " %10s   ", total_spent);
		put_code(view, &code, METHOD_COLUMNS);
		(void)fputc('\n', view->out);
	}
}

int stacks_text_print(const struct stacks *stacks, const struct stacks_view_options *options,
		      FILE *out)
{
	const struct view view = { &stacks->sums, stacks->measure == STACKS_OFF_CPU, options, out };
	const struct stack_shape shape = { .is_bottom_up = options->is_bottom_up,
					   .folds_recursion = true };
	struct stack_methods methods = { 0 };
	struct stack_tree tree;
	int r = stack_tree_init(&tree, stacks, &shape);

	if (r == 0)
		r = stack_methods_init(&methods, stacks);
	if (r == 0) {
		print_heading(&view);
		print_tree(&view, &tree);
		print_methods(&view, &methods);
	}
	if (r == 0 && tree.cut_count > 0)
		display_sentence(out, options->width, 0,
				 "Of %" PRIu64 " stacks further callers found no room.",
				 tree.cut_count);
	stack_methods_deinit(&methods);
	stack_tree_deinit(&tree);
	return r;
}
