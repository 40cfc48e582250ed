/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel said against a program, out of libbpf's messages: all of it goes to the log at
 * debug level, the verifier's last lines are kept. libbpf knows one listener, so there is one at a
 * time; single thread. Owns nothing.
 */
#pragma once

enum {
	REFUSAL_LINES_MAX = 4,
	REFUSAL_LINE_BYTES = 200
};

struct refusal {
	char program[64]; /* that the verifier did not take; "" = it refused none */
	char lines[REFUSAL_LINES_MAX][REFUSAL_LINE_BYTES]; /* its last ones, cut; "" = no more */
};

/* From here on libbpf's messages go to the log, and what they say of a program to ret_refusal,
 * which must live until refusal_listen(NULL): from then on they go to the log alone. */
void refusal_listen(struct refusal *ret_refusal);
