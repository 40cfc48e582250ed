/*
 * Which texts were seen, each under a number: a set of (number, text), hashed with a random seed
 * so that texts chosen by somebody else cannot make it slow. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	TEXT_SET_MAX = 4000000 /* about 500 MB */
};

struct text_set_entry;

struct text_set {
	struct text_set_entry *entries; /* uthash */
	size_t count;
	uint64_t seed;
};

void text_set_init(struct text_set *set);
void text_set_deinit(struct text_set *set);

/* 1: added, 0: was in it; -ENOMEM; -E2BIG: TEXT_SET_MAX reached. Copies the text. */
int text_set_add(struct text_set *set, uint32_t number, struct record_text text);
