/* SPDX-License-Identifier: GPL-2.0-only */
/* Views in one format each, for tests that go over several. */
#pragma once

#include "reader/report/format.h"
#include "reader/report/format_diff.h"
#include "reader/report/format_stacks.h"
#include "reader/report/format_stacks_diff.h"
#include "reader/report/format_stalls.h"
#include "reader/report/format_story.h"
#include "reader/report/format_syscalls.h"

#define FORMAT_AS(name, view, shown_type, options_type, wanted)                                \
	static __attribute__((unused, noinline)) int name(                                     \
		const struct shown_type *shown, const struct options_type *options, FILE *out) \
	{                                                                                      \
		struct options_type in_format = *options;                                      \
                                                                                               \
		in_format.format = (wanted);                                                   \
		return view(shown, &in_format, out);                                           \
	}

FORMAT_AS(format_json, format_totals, totals, format_options, FORMAT_JSON)
FORMAT_AS(format_csv, format_totals, totals, format_options, FORMAT_CSV)
FORMAT_AS(format_ndjson, format_totals, totals, format_options, FORMAT_NDJSON)
FORMAT_AS(format_series_json, format_series, totals, format_options, FORMAT_JSON)
FORMAT_AS(format_series_csv, format_series, totals, format_options, FORMAT_CSV)
FORMAT_AS(format_series_ndjson, format_series, totals, format_options, FORMAT_NDJSON)
FORMAT_AS(format_diff_json, format_diff, diff, format_options, FORMAT_JSON)
FORMAT_AS(format_diff_csv, format_diff, diff, format_options, FORMAT_CSV)
FORMAT_AS(format_diff_ndjson, format_diff, diff, format_options, FORMAT_NDJSON)
FORMAT_AS(format_stacks_json, format_stacks, stacks, format_stacks_options, FORMAT_JSON)
FORMAT_AS(format_stacks_csv, format_stacks, stacks, format_stacks_options, FORMAT_CSV)
FORMAT_AS(format_stacks_ndjson, format_stacks, stacks, format_stacks_options, FORMAT_NDJSON)
FORMAT_AS(format_stacks_diff_json, format_stacks_diff, stacks_diff, format_stacks_options,
	  FORMAT_JSON)
FORMAT_AS(format_stacks_diff_csv, format_stacks_diff, stacks_diff, format_stacks_options,
	  FORMAT_CSV)
FORMAT_AS(format_stacks_diff_ndjson, format_stacks_diff, stacks_diff, format_stacks_options,
	  FORMAT_NDJSON)
FORMAT_AS(format_syscalls_json, format_syscalls, syscalls, format_syscalls_options, FORMAT_JSON)
FORMAT_AS(format_syscalls_csv, format_syscalls, syscalls, format_syscalls_options, FORMAT_CSV)
FORMAT_AS(format_syscalls_ndjson, format_syscalls, syscalls, format_syscalls_options, FORMAT_NDJSON)
FORMAT_AS(format_stalls_json, format_stalls, stalls, format_stalls_options, FORMAT_JSON)
FORMAT_AS(format_stalls_csv, format_stalls, stalls, format_stalls_options, FORMAT_CSV)
FORMAT_AS(format_stalls_ndjson, format_stalls, stalls, format_stalls_options, FORMAT_NDJSON)
FORMAT_AS(format_story_json, format_story, story, format_options, FORMAT_JSON)
FORMAT_AS(format_story_csv, format_story, story, format_options, FORMAT_CSV)
FORMAT_AS(format_story_ndjson, format_story, story, format_options, FORMAT_NDJSON)
