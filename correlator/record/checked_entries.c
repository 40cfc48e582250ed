/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/checked_entries.h"

#include <errno.h>

#include "record/check.h"
#include "record/entry_scan.h"

enum {
	/* Maximum distance of a check from the one before it. */
	SPAN_BYTES_MAX = CHECK_SPAN_BYTES + ENTRY_BYTES_MAX + CHECK_BYTES,
};

static void know(struct checked_entries *entries, size_t size_bytes, bool is_loose)
{
	entries->known_bytes = size_bytes;
	entries->is_loose = is_loose;
	entries->searched_bytes = 0;
}

/* No check is in sight: the end of a recording that was cut off, or of the part with checks. */
static int miss(struct checked_entries *entries, size_t available_bytes, bool is_end)
{
	if (available_bytes >= SPAN_BYTES_MAX) {
		know(entries, 0, false);
		entries->is_checked = false;
		return 0;
	}
	if (!is_end || !available_bytes)
		return -EAGAIN;
	know(entries, available_bytes, true);
	return 0;
}

/* Finds the next check and verifies it. Returns 0 if more is known now. */
static int look_ahead(struct checked_entries *entries, const uint8_t *bytes, size_t available_bytes,
		      bool is_end, size_t *ret_bytes)
{
	size_t from = entries->searched_bytes, at, covered_bytes;

	at = from + check_find(bytes + from, available_bytes - from);
	if (at == available_bytes) {
		/* A check that is only partly there is searched for again. */
		entries->searched_bytes =
			available_bytes < CHECK_BYTES ? 0 : available_bytes - CHECK_BYTES + 1;
		return miss(entries, available_bytes, is_end);
	}
	entries->searched_bytes = at;
	covered_bytes = check_covered_bytes(bytes + at);
	if (covered_bytes > at || !check_holds(bytes + at, covered_bytes)) {
		*ret_bytes = at + CHECK_BYTES;
		return -EILSEQ;
	}
	/* A check of no bytes: another recording begins here, after one that was cut off. */
	if (covered_bytes == at || covered_bytes == 0) {
		know(entries, covered_bytes == at ? at + CHECK_BYTES : at, covered_bytes != at);
		return 0;
	}
	*ret_bytes = at - covered_bytes;
	return -EILSEQ;
}

/* Handles a check when none was seen yet: the first one may be at the front. It may also be a later
 * one, if the first is damaged or missing: the bytes that it covers are not known then. */
static int meet_check(struct checked_entries *entries, const uint8_t *check)
{
	entries->is_checked = true;
	if (!check_holds(check, 0))
		return -EILSEQ;
	know(entries, CHECK_BYTES, false);
	return CHECKED_CHECK;
}

int checked_search(struct checked_entries *entries, const uint8_t *bytes, size_t available_bytes,
		   bool is_end, size_t *ret_bytes)
{
	size_t limit_bytes = available_bytes;
	int r = 0;

	if (entries->is_checked && !entries->known_bytes)
		r = look_ahead(entries, bytes, available_bytes, is_end, ret_bytes);
	if (r < 0)
		return r;
	if (entries->is_checked)
		limit_bytes = entries->known_bytes;
	r = entry_search(bytes, limit_bytes, is_end || entries->is_checked, ret_bytes);
	if (r == -EAGAIN && limit_bytes < available_bytes) {
		*ret_bytes = limit_bytes;
		return -EBADMSG;
	}
	if (r < 0 || !check_is(bytes, *ret_bytes))
		return r;
	if (!entries->is_checked)
		return meet_check(entries, bytes);
	return entries->is_loose ? -EILSEQ : CHECKED_CHECK;
}

void checked_pass(struct checked_entries *entries, size_t size_bytes)
{
	if (entries->is_loose)
		entries->loose_bytes += size_bytes;
	entries->searched_bytes -=
		size_bytes < entries->searched_bytes ? size_bytes : entries->searched_bytes;
	if (!entries->known_bytes)
		return;
	entries->known_bytes -= size_bytes;
	if (entries->known_bytes)
		return;
	entries->checks += !entries->is_loose;
	entries->is_loose = false;
}

size_t checked_reach(const struct checked_entries *entries)
{
	return entries->is_checked ? entries->known_bytes : SIZE_MAX;
}
