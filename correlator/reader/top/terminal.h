/* SPDX-License-Identifier: GPL-2.0-only */
/* Shows a screen on a terminal and reads its keys, with ncurses. One at a time. Single thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reader/top/screen.h"

struct terminal;

/* Opens the terminal of standard output and its keys; takes_tty: standard input is something else,
 * so the keys come from /dev/tty. has_colour: uses colours if the terminal has them. 0, -errno,
 * logged. */
int terminal_open(bool takes_tty, bool has_colour, struct terminal **ret_terminal);
/* Restores the terminal. */
void terminal_close(struct terminal *terminal);

int terminal_fd(const struct terminal *terminal);
void terminal_size(const struct terminal *terminal, size_t *ret_width, size_t *ret_height);
void terminal_show(struct terminal *terminal, const struct screen *screen);

/* True: *ret_key is a key: a character, or one of navigation.h; 0: an unknown key, or a resize. */
bool terminal_key(struct terminal *terminal, int *ret_key);
