/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_methods.h"

#include "recorder/target/ruby/ruby_object.h"

enum {
	ENTRY_WORDS = 5, /* a whole method entry */
	ENTRIES_MAX = 16,
	DEFINITION_WORDS = 8,
};

/* A method entry, and the kind of definition that its frame implies. */
struct entry {
	uint32_t type;
	uint64_t words[ENTRY_WORDS];
};

struct entries {
	struct ruby_evidence *evidence;
	struct entry list[ENTRIES_MAX];
	size_t count;
};

/* Collects the entries of C functions and of methods. */
static void collect_entries(struct entries *entries, const struct ruby_vm_frames *frames)
{
	for (size_t i = 0; i < frames->count && entries->count < ENTRIES_MAX; i++) {
		const struct ruby_frame_words *frame = &frames->list[i];
		uint64_t magic = frame->flags & RUBY_MAGIC_MASK;
		struct entry *entry = &entries->list[entries->count];

		if ((magic != RUBY_MAGIC_C && magic != RUBY_MAGIC_METHOD) ||
		    !ruby_evidence_is_imemo(entries->evidence, frame->entry, RUBY_IMEMO_METHOD) ||
		    !ruby_evidence_read(entries->evidence, frame->entry, entry->words, ENTRY_WORDS))
			continue;
		entry->type = magic == RUBY_MAGIC_C ? RUBY_DEFINITION_C : RUBY_DEFINITION_ISEQ;
		entries->count++;
	}
}

static bool is_class(struct ruby_evidence *evidence, uint64_t value)
{
	uint64_t flags, type;

	if (!ruby_evidence_read(evidence, value, &flags, 1))
		return false;
	type = flags & RUBY_OBJECT_TYPE_MASK;
	return type == RUBY_TYPE_CLASS || type == RUBY_TYPE_MODULE || type == RUBY_TYPE_ICLASS;
}

static void find_method_class(struct entries *entries)
{
	for (size_t word = 1; word < ENTRY_WORDS; word++) {
		bool is_one = entries->count > 0;

		for (size_t i = 0; is_one && i < entries->count; i++)
			is_one = is_class(entries->evidence, entries->list[i].words[word]);
		if (is_one)
			RUBY_EVIDENCE_ADD(entries->evidence, method_class, 8 * word);
	}
}

/*
 * The definition's type matches the frame, and one of the definition's words is the ID by which the
 * entry was called, except for aliases. At least half of the entries must agree.
 */
static void find_definition(struct entries *entries)
{
	for (size_t at = 1; at < ENTRY_WORDS; at++)
		for (size_t called = 1; called < ENTRY_WORDS; called++)
			for (size_t id = 1; id < DEFINITION_WORDS; id++) {
				uint64_t definition[DEFINITION_WORDS];
				size_t same = 0;

				for (size_t i = 0; i < entries->count; i++) {
					const struct entry *entry = &entries->list[i];
					uint64_t called_id = entry->words[called];

					same += called_id && called_id < UINT32_MAX &&
						ruby_evidence_read(entries->evidence,
								   entry->words[at], definition,
								   DEFINITION_WORDS) &&
						(definition[0] & 0xf) == entry->type &&
						definition[id] == called_id;
				}
				if (same == 0 || 2 * same < entries->count)
					continue;
				RUBY_EVIDENCE_ADD(entries->evidence, method_definition, 8 * at);
				RUBY_EVIDENCE_ADD(entries->evidence, method_called_id, 8 * called);
				RUBY_EVIDENCE_ADD(entries->evidence, definition_original_id,
						  8 * id);
				RUBY_EVIDENCE_ADD(entries->evidence, definition_type, 0);
				RUBY_EVIDENCE_ADD(entries->evidence, definition_type_mask, 0xf);
			}
}

void ruby_methods_look(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames)
{
	struct entries entries = { .evidence = evidence };

	collect_entries(&entries, frames);
	find_method_class(&entries);
	find_definition(&entries);
}
