/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is read of a process of which nothing is believed, and what it shows of each figure: what
 * the files of ruby_behaviour.h share. Reads are counted, and bounded in all; of what is not there
 * they fail, and the look goes on; a failure of another kind ends all of them. Caller's memory;
 * single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_candidates.h"
#include "recorder/target/ruby/ruby_id_table.h"

enum {
	RUBY_BEHAVIOUR_READS_MAX = 1 << 16, /* in one look */
	RUBY_EVIDENCE_TEXT_MAX = 256, /* of a text, with its NUL; longer ones are not read */
};

/* What is known beforehand, as addresses of the process; 0 = not known. */
struct ruby_behaviour_hints {
	uint64_t vm_pointer; /* of the variable that points to the VM */
	uint64_t classes[3]; /* of rb_cString, rb_cArray and rb_cHash */
	enum string_layout string_layout;
	/*
	 * Frames that come and go while they are read: this many quarters of them, the innermost,
	 * are not looked at. At most 3.
	 */
	unsigned int skipped_quarters;
	const struct ruby_data_range *ranges; /* where else that variable may be */
	size_t range_count;
};

struct ruby_behaviour {
	struct ruby_candidates fields[RUBY_LAYOUT_FIELDS];
	uint64_t vm_pointer; /* of the variable; 0 = there is no VM */
	uint64_t vm;
	uint64_t main_thread; /* rb_thread_t */
	uint64_t execution; /* its execution context */
	uint64_t thread_pointer; /* of the native thread that runs it; 0 = not known */
	size_t frame_count; /* that were looked at */
	size_t iseq_count;
};

struct ruby_evidence {
	struct memory_reader reader; /* counts; its context is this */
	const struct memory_reader *source;
	size_t reads;
	int failure; /* of the source, other than that something is not there; 0 = none */
	enum string_layout string_layout;
	struct ruby_behaviour *result; /* what was seen so far. Borrowed. */
};

/* source and result stay the caller's, and where they are; so does what is initialised. */
void ruby_evidence_init(struct ruby_evidence *evidence, const struct memory_reader *source,
			enum string_layout string_layout, struct ruby_behaviour *result);

/* A figure that may have this value. */
#define RUBY_EVIDENCE_ADD(evidence, name, value) \
	ruby_candidates_add(&(evidence)->result->fields[RUBY_LAYOUT_FIELD(name)], (uint32_t)(value))

/* Words from an address. False: it is none, or they are not there. */
bool ruby_evidence_read(struct ruby_evidence *evidence, uint64_t address, uint64_t *words,
			size_t count);
/* As many as can be read; the rest is 0. */
void ruby_evidence_read_some(struct ruby_evidence *evidence, uint64_t address, uint64_t *words,
			     size_t count);

bool ruby_evidence_is_imemo(struct ruby_evidence *evidence, uint64_t address, unsigned int type);
bool ruby_evidence_is_string(struct ruby_evidence *evidence, uint64_t value);
/* The text of a String VALUE. False: it is none, a long one, or not there. */
bool ruby_evidence_read_text(struct ruby_evidence *evidence, uint64_t value,
			     char text[static RUBY_EVIDENCE_TEXT_MAX]);
