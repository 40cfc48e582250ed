/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_classes.h"

#include <string.h>

#include "recorder/target/ruby/ruby_object.h"

enum {
	CLASS_WORDS = 20, /* an object's slot of 160 bytes, since 3.3 */
	CLASSES = 3,
};

struct class_words {
	uint64_t address;
	uint64_t words[CLASS_WORDS];
	uint64_t singleton[CLASS_WORDS];
};

static bool read_classes(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints,
			 struct class_words classes[static CLASSES])
{
	for (size_t i = 0; i < CLASSES; i++) {
		struct class_words *class = &classes[i];

		if (!ruby_evidence_read(evidence, hints->classes[i], &class->address, 1))
			return false;
		ruby_evidence_read_some(evidence, class->address, class->words, CLASS_WORDS);
		ruby_evidence_read_some(evidence, class->words[1], class->singleton, CLASS_WORDS);
		if ((class->words[0] & RUBY_OBJECT_TYPE_MASK) != RUBY_TYPE_CLASS ||
		    (class->singleton[0] & RUBY_OBJECT_TYPE_MASK) != RUBY_TYPE_CLASS)
			return false;
	}
	return true;
}

void ruby_classes_look(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints)
{
	static const char *const names[CLASSES] = { "String", "Array", "Hash" };
	uint64_t bits = UINT64_MAX;
	struct class_words classes[CLASSES];
	char text[RUBY_EVIDENCE_TEXT_MAX];

	if (!read_classes(evidence, hints, classes))
		return;
	for (size_t word = 2; word < CLASS_WORDS; word++) {
		bool is_name = true, is_attached = true;

		for (size_t i = 0; i < CLASSES; i++) {
			is_name = is_name &&
				  ruby_evidence_read_text(evidence, classes[i].words[word], text) &&
				  strcmp(text, names[i]) == 0;
			is_attached &= classes[i].singleton[word] == classes[i].address;
		}
		if (is_name)
			RUBY_EVIDENCE_ADD(evidence, class_path, 8 * word);
		if (is_attached)
			RUBY_EVIDENCE_ADD(evidence, class_attached, 8 * word);
	}
	for (size_t i = 0; i < CLASSES; i++)
		bits &= classes[i].singleton[0] & ~classes[i].words[0];
	for (unsigned int bit = 12; bit < 32; bit++)
		if (bits >> bit & 1)
			RUBY_EVIDENCE_ADD(evidence, class_singleton_mask, (size_t)1 << bit);
}
