/* SPDX-License-Identifier: MIT */
/*
 * One reading of what a native thread publishes, by system calls alone, as an observer outside of
 * the process has it: dead memory is an error, never a crash. Wants neither the GVL nor any lock,
 * allocates nothing and may be called in a signal handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum reading_limits {
	READING_CAPACITY_MAX = 64,
	READING_TEXT_MAX = 256,
};

enum reading_verdict {
	READING_NONE, /* no context */
	READING_WHOLE,
	READING_BARRED, /* whole, but behind the collector's barrier: see reading_open() */
	READING_OVERTAKEN, /* it ended meanwhile: says nothing */
	READING_WRONG,
};

/* What correlator_state_header announces: 16 bytes in front of each table. */
struct reading_header_format {
	uint32_t version;
	uint32_t flags;
	uint64_t magic;
};

struct reading {
	enum reading_verdict verdict;
	const char *what; /* is wrong; a constant */
	uint64_t state; /* address of the table, size and capacity: as far as they were read */
	uint64_t size;
	uint64_t capacity;
	uint64_t slot;
	uint64_t value; /* of that slot, and its flags word */
	uint64_t flags;
	char text[READING_TEXT_MAX + 1];
};

/*
 * While Ruby compacts, it bars the pages that objects have left (mprotect), also for those that
 * stay there. What is behind the bar is read by another way, to know that it is as it should be.
 * Once in a process; returns 0, or -errno.
 */
int reading_open(void);

/*
 * What the variable at address `variable` points to. format: NULL if the tables have no header, or
 * if the calling thread is the one that publishes; else a reading counts only if the variable and
 * the serial number are the same, and right, before and after.
 */
void reading_take(const void *variable, const struct reading_header_format *format,
		  struct reading *ret_reading);

/* The check sum that ends a text which proves itself: "...#xxxxxxxx". */
uint32_t reading_check_sum(const char *text, size_t bytes);
