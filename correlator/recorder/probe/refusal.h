/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why the kernel refused a program, from libbpf's messages: all of them go to the log at debug or
 * trace level, the verifier's last lines are kept. libbpf has one listener, so there is one at a
 * time; single thread. Owns nothing.
 */
#pragma once

enum {
	REFUSAL_LINES_MAX = 4,
	REFUSAL_LINE_BYTES = 200
};

struct refusal {
	char program[64]; /* program that the verifier refused; "" = none */
	char lines[REFUSAL_LINES_MAX][REFUSAL_LINE_BYTES]; /* its last ones, cut; "" = no more */
};

/*
 * From now on libbpf's messages go to the log, and those about a program to ret_refusal, too, which
 * must live until refusal_listen(NULL): from then on they go to the log only.
 */
void refusal_listen(struct refusal *ret_refusal);
