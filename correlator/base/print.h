/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines for people, on a terminal or wherever they redirect them. Names of processes, files and
 * collectors are passed unescaped: the line as a whole is escaped (TEXT_SHOWN of base/text.h), so
 * it stays one line whatever it contains.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>

/* Returns the line, without a line break, for the caller to free(); NULL if memory runs out. */
__attribute__((format(printf, 1, 0))) char *print_shown(const char *format, va_list args);

/* Prints the line and a line break; prints nothing if memory runs out. */
__attribute__((format(printf, 2, 3))) void print_line(FILE *out, const char *format, ...);
