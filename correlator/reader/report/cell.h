/* SPDX-License-Identifier: GPL-2.0-only */
/* The content of one cell of a sheet: a typed value, or nothing if nothing was measured. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "record/record_view.h"

enum cell_type {
	CELL_NONE = 0,
	CELL_TEXT = 1,
	CELL_INTEGER = 2,
	CELL_REAL = 3,
	CELL_BOOL = 4,
};

struct cell {
	enum cell_type type;
	union {
		struct record_text text; /* any bytes; borrowed */
		int64_t integer;
		double real;
		bool is_true;
	};
};

static inline struct cell cell_text(struct record_text text)
{
	return (struct cell){ .type = CELL_TEXT, .text = text };
}

static inline struct cell cell_string(const char *string)
{
	return cell_text((struct record_text){ string, strlen(string) });
}

static inline struct cell cell_integer(int64_t integer)
{
	return (struct cell){ .type = CELL_INTEGER, .integer = integer };
}

static inline struct cell cell_real(double real)
{
	return (struct cell){ .type = CELL_REAL, .real = real };
}

static inline struct cell cell_bool(bool is_true)
{
	return (struct cell){ .type = CELL_BOOL, .is_true = is_true };
}
