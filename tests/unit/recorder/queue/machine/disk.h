/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk in memory, with one folder, in place of libc's calls: what is written is in a cache until
 * it is synced, and each call may fail, be short, take long, or lie. The process may die in any of
 * them, with or without the power. Whoever tells a story sets what is to come; disk.c draws it from
 * the story's dice.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	DISK_PER_MILLE = 1000,
};

#define DISK_SPOOL "/machine/spool"

/* How many of a thousand calls go wrong in each way, until it is set anew. */
struct disk_weather {
	unsigned int failing; /* with an error of its kind */
	unsigned int brief; /* a read or a write is short */
	unsigned int late; /* it takes some seconds */
	unsigned int pausing; /* the other one goes on meanwhile */
	unsigned int lying; /* a sync does nothing, and says that it did */
	unsigned int rotting; /* a bit changes in what is written */
	bool is_reading; /* reads fail, too, and what opens and lists */
	uint64_t foreign_bytes; /* that others have on it */
};

/* Empty, and all well. The dice: a number of 64 bits, anew with each call. */
void disk_begin(uint64_t (*draw)(void), uint64_t capacity_bytes);
void disk_set_weather(const struct disk_weather *weather);

/* In the call with that number, counted from now, the process dies: what it does from then on comes
 * to nothing. 0: in none. */
void disk_die_at(unsigned int call);
bool disk_is_dead(void);
/* The next process. With a power loss: of what was not synced, anything may be gone. */
void disk_restart(bool has_lost_power);

/* Since the beginning: */
bool disk_has_lied(void);
bool disk_has_rotted(void);
bool disk_has_torn(void); /* a write was short */
unsigned int disk_calls(void);
/* All its files together. */
uint64_t disk_used_bytes(void);
/* How often it did not say how much is free. */
unsigned int disk_blind_looks(void);
/* Files that were set aside as damaged. */
unsigned int disk_damaged_count(void);
/* Descriptors that nobody closed. */
unsigned int disk_open_count(void);
/* Prints what is there. */
void disk_print(void);
