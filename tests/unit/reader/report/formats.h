/* SPDX-License-Identifier: GPL-2.0-only */
/* Views in one format each, for tests that go over several. */
#pragma once

#include "reader/report/diff_view.h"
#include "reader/report/io_view.h"
#include "reader/report/stacks_diff_view.h"
#include "reader/report/stacks_view.h"
#include "reader/report/stalls_view.h"
#include "reader/report/story_view.h"
#include "reader/report/syscalls_view.h"
#include "reader/report/totals_view.h"

#define FORMAT_AS(name, view, shown_type, options_type, wanted)                                \
	static __attribute__((unused, noinline)) int name(                                     \
		const struct shown_type *shown, const struct options_type *options, FILE *out) \
	{                                                                                      \
		struct options_type in_format = *options;                                      \
                                                                                               \
		in_format.format = (wanted);                                                   \
		return view(shown, &in_format, out);                                           \
	}

FORMAT_AS(print_json, totals_view_print, totals, view_options, FORMAT_JSON)
FORMAT_AS(print_csv, totals_view_print, totals, view_options, FORMAT_CSV)
FORMAT_AS(print_ndjson, totals_view_print, totals, view_options, FORMAT_NDJSON)
FORMAT_AS(print_series_json, series_view_print, totals, view_options, FORMAT_JSON)
FORMAT_AS(print_series_csv, series_view_print, totals, view_options, FORMAT_CSV)
FORMAT_AS(print_series_ndjson, series_view_print, totals, view_options, FORMAT_NDJSON)
FORMAT_AS(print_diff_json, diff_view_print, diff, view_options, FORMAT_JSON)
FORMAT_AS(print_diff_csv, diff_view_print, diff, view_options, FORMAT_CSV)
FORMAT_AS(print_diff_ndjson, diff_view_print, diff, view_options, FORMAT_NDJSON)
FORMAT_AS(print_stacks_json, stacks_view_print, stacks, stacks_view_options, FORMAT_JSON)
FORMAT_AS(print_stacks_csv, stacks_view_print, stacks, stacks_view_options, FORMAT_CSV)
FORMAT_AS(print_stacks_ndjson, stacks_view_print, stacks, stacks_view_options, FORMAT_NDJSON)
FORMAT_AS(print_stacks_diff_json, stacks_diff_view_print, stacks_diff, stacks_view_options,
	  FORMAT_JSON)
FORMAT_AS(print_stacks_diff_csv, stacks_diff_view_print, stacks_diff, stacks_view_options,
	  FORMAT_CSV)
FORMAT_AS(print_stacks_diff_ndjson, stacks_diff_view_print, stacks_diff, stacks_view_options,
	  FORMAT_NDJSON)
FORMAT_AS(print_syscalls_json, syscalls_view_print, tally, tally_view_options, FORMAT_JSON)
FORMAT_AS(print_syscalls_csv, syscalls_view_print, tally, tally_view_options, FORMAT_CSV)
FORMAT_AS(print_syscalls_ndjson, syscalls_view_print, tally, tally_view_options, FORMAT_NDJSON)
FORMAT_AS(print_io_json, io_view_print, tally, tally_view_options, FORMAT_JSON)
FORMAT_AS(print_io_csv, io_view_print, tally, tally_view_options, FORMAT_CSV)
FORMAT_AS(print_io_ndjson, io_view_print, tally, tally_view_options, FORMAT_NDJSON)
FORMAT_AS(print_stalls_json, stalls_view_print, stalls, stalls_view_options, FORMAT_JSON)
FORMAT_AS(print_stalls_csv, stalls_view_print, stalls, stalls_view_options, FORMAT_CSV)
FORMAT_AS(print_stalls_ndjson, stalls_view_print, stalls, stalls_view_options, FORMAT_NDJSON)
FORMAT_AS(print_story_json, story_view_print, story, view_options, FORMAT_JSON)
FORMAT_AS(print_story_csv, story_view_print, story, view_options, FORMAT_CSV)
FORMAT_AS(print_story_ndjson, story_view_print, story, view_options, FORMAT_NDJSON)
