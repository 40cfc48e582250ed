/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/books.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "record/losses.h"

static const struct {
	const char *name;
	const char *text;
} losses[_COUNTER_MAX] = {
#define COUNTER_TEXTS(counter, field, kind, meaning) [COUNTER_##counter] = { field, meaning },
	COUNTER_LIST(COUNTER_TEXTS)
#undef COUNTER_TEXTS
};

const char *books_loss_name(enum counter counter)
{
	return losses[counter].name;
}

const char *books_loss_text(enum counter counter)
{
	return losses[counter].text;
}

static void note_residual(struct books *books, int64_t residual_ns, int64_t exec_ns)
{
	if (books->balance_count > 0 && llabs(residual_ns) <= llabs(books->worst_residual_ns))
		return;
	books->worst_residual_ns = residual_ns;
	books->worst_exec_ns = exec_ns;
}

static void add_stated(struct books *books, int64_t residual_ns)
{
	if (__builtin_add_overflow(books->stated_residual_ns, residual_ns,
				   &books->stated_residual_ns))
		books->stated_residual_ns = residual_ns < 0 ? INT64_MIN : INT64_MAX;
}

static void add_samples(struct books *books, const struct record_view *record, int64_t exec_ns)
{
	if (!record_view_add(record, RECORD_FIELD(balance, sampled_ns), &books->sampled_ns))
		return;
	(void)record_view_add(record, RECORD_FIELD(balance, samples), &books->samples);
	saturated_add_to(&books->sampled_exec_ns, exec_ns);
	books->sampled_count++;
}

int books_add_balance(struct books *books, const struct record_view *record)
{
	struct books one = { 0 };
	const struct record_field *residual =
		record_view_find(record, RECORD_FIELD(balance, residual_ns));

	if (!record_view_count(record, RECORD_FIELD(balance, exec_ns), &one.exec_ns) ||
	    !record_view_count(record, RECORD_FIELD(balance, attributed_ns), &one.attributed_ns) ||
	    !record_view_count(record, RECORD_FIELD(balance, unattributed_ns),
			       &one.unattributed_ns) ||
	    !record_view_count(record, RECORD_FIELD(balance, overflow_ns), &one.overflow_ns) ||
	    !residual || residual->value != RECORD_VALUE_INTEGER)
		return -EBADMSG;
	saturated_add_to(&books->exec_ns, one.exec_ns);
	saturated_add_to(&books->attributed_ns, one.attributed_ns);
	saturated_add_to(&books->unattributed_ns, one.unattributed_ns);
	saturated_add_to(&books->overflow_ns, one.overflow_ns);
	note_residual(books, books_residual_ns(&one), one.exec_ns);
	add_stated(books, residual->integer);
	for (int i = 0; i < _COUNTER_MAX; i++)
		(void)record_view_add(record, losses[i].name, &books->losses[i]);
	(void)record_view_add(record, RECORD_FIELD(balance, own_cpu_ns), &books->own_cpu_ns);
	add_samples(books, record, one.exec_ns);
	books->balance_count++;
	return 0;
}

void books_add_gap(struct books *books, const struct record_view *record)
{
	struct record_text reason = { "not known", sizeof("not known") - 1 };

	(void)record_view_add(record, RECORD_FIELD(gap, dropped_records), &books->dropped_records);
	(void)record_view_add(record, RECORD_FIELD(gap, dropped_segments),
			      &books->dropped_segments);
	if (books->gap_count++ > 0)
		return;
	(void)record_view_text(record, RECORD_FIELD(gap, reason), &reason);
	(void)text_escape(reason.bytes, reason.size_bytes, 0, books->gap_reason,
			  sizeof(books->gap_reason));
}

void books_merge(struct books *books, const struct books *other)
{
	if (other->balance_count > 0)
		note_residual(books, other->worst_residual_ns, other->worst_exec_ns);
	books->balance_count += other->balance_count;
	saturated_add_to(&books->exec_ns, other->exec_ns);
	saturated_add_to(&books->attributed_ns, other->attributed_ns);
	saturated_add_to(&books->unattributed_ns, other->unattributed_ns);
	saturated_add_to(&books->overflow_ns, other->overflow_ns);
	add_stated(books, other->stated_residual_ns);
	saturated_add_to(&books->own_cpu_ns, other->own_cpu_ns);
	books->sampled_count += other->sampled_count;
	saturated_add_to(&books->sampled_exec_ns, other->sampled_exec_ns);
	saturated_add_to(&books->samples, other->samples);
	saturated_add_to(&books->sampled_ns, other->sampled_ns);
	for (int i = 0; i < _COUNTER_MAX; i++)
		saturated_add_to(&books->losses[i], other->losses[i]);
	if (books->gap_count == 0)
		memcpy(books->gap_reason, other->gap_reason, sizeof(books->gap_reason));
	books->gap_count += other->gap_count;
	saturated_add_to(&books->dropped_records, other->dropped_records);
	saturated_add_to(&books->dropped_segments, other->dropped_segments);
}

int64_t books_lost(const struct books *books)
{
	return losses_sum(books->dropped_records, books->losses);
}

int64_t books_charged_ns(const struct books *books)
{
	int64_t charged_ns = books->attributed_ns;

	saturated_add_to(&charged_ns, books->unattributed_ns);
	saturated_add_to(&charged_ns, books->overflow_ns);
	return charged_ns;
}

int64_t books_residual_ns(const struct books *books)
{
	/* Both are 0..2^63-1: their difference cannot overflow. */
	return books->exec_ns - books_charged_ns(books);
}

bool books_residual_ppm(const struct books *books, double *ret_ppm)
{
	if (books->exec_ns == 0)
		return false;
	*ret_ppm = 1e6 * (double)books_residual_ns(books) / (double)books->exec_ns;
	return true;
}

bool books_sampled_ratio(const struct books *books, double *ret_ratio)
{
	if (books->sampled_exec_ns == 0)
		return false;
	*ret_ratio = (double)books->sampled_ns / (double)books->sampled_exec_ns;
	return true;
}

bool books_balance(const struct books *books)
{
	double ppm;

	if (!books_residual_ppm(books, &ppm))
		return books_residual_ns(books) == 0;
	return ppm <= BOOKS_PPM_LIMIT && ppm >= -BOOKS_PPM_LIMIT;
}
