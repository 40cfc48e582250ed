/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "reader/profile/stacks.h"
#include "reader/report/stacks_view.h"

enum {
	METHODS_SHOWN = 20,
};

static int add_condition(struct filter *filter, const char *text)
{
	int r = filter_add(filter, text);

	return r == -EINVAL ? 0 : r;
}

static int print(const struct code_of *of, enum stacks_measure measure, size_t width, FILE *out)
{
	const struct stacks_view_options options = { .width = width,
						     .method_count = METHODS_SHOWN };
	struct filter wanted = { 0 };
	struct stacks stacks;
	int r = add_condition(&wanted, of->condition);

	if (r == 0)
		r = add_condition(&wanted, of->filter);
	stacks_init(&stacks, measure, &wanted);
	if (r == 0)
		r = history_add_stacks(of->history, of->span, &stacks);
	if (r == 0 && stacks.sums.sampled_contexts > 0) {
		if (ftell(out) > 0)
			(void)fputc('\n', out);
		r = stacks_view_print(&stacks, &options, out);
	}
	stacks_deinit(&stacks);
	return r;
}

int code_write(const struct code_of *of, size_t width, char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);
	int r = 0;

	*ret_text = NULL;
	if (!out)
		return -ENOMEM;
	for (int measure = 0; measure < _STACKS_MEASURE_MAX && r == 0; measure++)
		r = print(of, (enum stacks_measure)measure, width, out);
	if (fclose(out) != 0)
		r = -ENOMEM;
	if (r == 0 && size_bytes > 0)
		*ret_text = TAKE_PTR(text);
	return r;
}
