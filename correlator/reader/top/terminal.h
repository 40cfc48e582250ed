/* SPDX-License-Identifier: GPL-2.0-only */
/* A screen on a terminal, and its keys, by ncurses. One at a time. Single thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reader/top/screen.h"

struct terminal;

/* Takes the terminal of standard output, and its keys; takes_tty: standard input is something else,
 * so the keys come from /dev/tty. has_colour: where it has. 0, -errno, logged. */
int terminal_open(bool takes_tty, bool has_colour, struct terminal **ret_terminal);
/* Leaves it as it was. */
void terminal_close(struct terminal *terminal);

int terminal_fd(const struct terminal *terminal);
void terminal_size(const struct terminal *terminal, size_t *ret_width, size_t *ret_height);
void terminal_show(struct terminal *terminal, const struct screen *screen);

/* True: a key was pressed, a character or one of navigation.h; 0: one that is none of them, or
 * another size. */
bool terminal_key(struct terminal *terminal, int *ret_key);
