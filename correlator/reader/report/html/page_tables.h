/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables that a page has before any script runs: the groups with all their figures, long waits,
 * system calls, peers, the books, and facts about the recording. page.js takes the columns of the
 * first table from its head.
 */
#pragma once

#include <stdio.h>

#include "reader/report/html/page_data.h"
#include "reader/report/totals_view.h"

/* Each writes the inside of an element. 0, -ENOMEM; the caller checks ferror(out). */
int page_tables_groups(const struct totals *totals, const struct view_options *options, FILE *out);
void page_tables_books(const struct totals *totals, FILE *out);
void page_tables_facts(const struct totals *totals, const struct view_options *options, FILE *out);
/* Tables, each an element, and sentences. title_id: of the element that is their title. */
int page_tables_stalls(const struct page_data *data, const char *title_id, FILE *out);
int page_tables_syscalls(const struct page_data *data, const char *title_id, FILE *out);
int page_tables_io(const struct page_data *data, const char *title_id, FILE *out);
