/* SPDX-License-Identifier: GPL-2.0-only */
/* The reads and writes of requests, by kind of file and by peer, for tally.h. */
#pragma once

#include "reader/aggregate/tally.h"

enum io_number {
	IO_CALLS,
	IO_IN_BYTES,
	IO_OUT_BYTES,
	IO_CONNECTS,
	IO_CONNECT_NS,
	IO_ANSWERS,
	IO_ANSWER_NS,
	_IO_NUMBER_MAX,
};

/* The end that the calls of a sum were on, as its records have it. */
struct io_end {
	struct record_text on; /* the kind of file: "tcp"; "?": not known */
	struct record_text peer; /* any bytes; empty: none */
	bool is_accepted; /* the connections that others made to the address peer */
};

/* Takes the name of a sum apart. The texts point into it. */
struct io_end io_end_of(const struct tally_name *name);

extern const struct tally_subject io_subject;
