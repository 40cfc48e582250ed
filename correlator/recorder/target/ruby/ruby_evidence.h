/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads of an untrusted process, and the evidence that they yield for each field of the layout:
 * shared by the files of ruby_behaviour.h. Reads are counted, with a bound on the total. A read of
 * a missing address fails, and the look continues; after a failure of another kind all reads fail.
 * Caller's memory; single thread; does not log.
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
	RUBY_EVIDENCE_TEXT_MAX = 256, /* per text, with its NUL; longer ones are not read */
};

/* Known beforehand, as addresses in the process; 0 = not known. */
struct ruby_behaviour_hints {
	uint64_t vm_pointer; /* of the variable that points to the VM */
	uint64_t classes[3]; /* of rb_cString, rb_cArray and rb_cHash */
	enum string_layout string_layout;
	/*
	 * How many quarters of the frames, from the innermost on, are skipped because they come and
	 * go during the read. At most 3.
	 */
	unsigned int skipped_quarters;
	const struct ruby_data_range *ranges; /* where else the variable may be */
	size_t range_count;
};

struct ruby_behaviour {
	struct ruby_candidates fields[RUBY_LAYOUT_FIELDS];
	uint64_t vm_pointer; /* of the variable that points to the VM; 0 = no VM */
	uint64_t vm;
	uint64_t main_thread; /* rb_thread_t */
	uint64_t execution; /* the main thread's execution context */
	uint64_t thread_pointer; /* of the main thread's native thread; 0 = not known */
	size_t frame_count; /* frames inspected */
	size_t iseq_count;
};

struct ruby_evidence {
	struct memory_reader reader; /* counts its reads; its context is this struct */
	const struct memory_reader *source;
	size_t reads;
	int failure; /* the source's first error other than -EFAULT; 0 = none */
	enum string_layout string_layout;
	struct ruby_behaviour *result; /* evidence so far. Borrowed. */
};

/* The caller keeps source and result. Neither they nor evidence may move. */
void ruby_evidence_init(struct ruby_evidence *evidence, const struct memory_reader *source,
			enum string_layout string_layout, struct ruby_behaviour *result);

/* Adds value as a candidate for the field called name. */
#define RUBY_EVIDENCE_ADD(evidence, name, value) \
	ruby_candidates_add(&(evidence)->result->fields[RUBY_LAYOUT_FIELD(name)], (uint32_t)(value))

/* Reads count words at address. False: it is not an address, or they cannot be read. */
bool ruby_evidence_read(struct ruby_evidence *evidence, uint64_t address, uint64_t *words,
			size_t count);
/* Reads as many words as possible; the rest is 0. */
void ruby_evidence_read_some(struct ruby_evidence *evidence, uint64_t address, uint64_t *words,
			     size_t count);

bool ruby_evidence_is_imemo(struct ruby_evidence *evidence, uint64_t address, unsigned int type);
bool ruby_evidence_is_string(struct ruby_evidence *evidence, uint64_t value);
/* Reads the text of a String VALUE. False: it is not a String, too long, or not there. */
bool ruby_evidence_read_text(struct ruby_evidence *evidence, uint64_t value,
			     char text[static RUBY_EVIDENCE_TEXT_MAX]);
