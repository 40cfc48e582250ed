/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lines for people, on a terminal or where they send them. Names of processes, files and
 * collectors go in as they are: a line is escaped as a whole (TEXT_SHOWN of base/text.h), and so is
 * one line, whatever is in it.
 */
#pragma once

#include <stdarg.h>
#include <stdio.h>

/* The line, without a line break, the caller's to free(); NULL: no memory. */
__attribute__((format(printf, 1, 0))) char *print_shown(const char *format, va_list args);

/* Prints the line, and the line break; what does not fit into memory, not at all. */
__attribute__((format(printf, 2, 3))) void print_line(FILE *out, const char *format, ...);
