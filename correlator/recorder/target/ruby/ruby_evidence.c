/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_evidence.h"

#include <errno.h>
#include <string.h>

#include "recorder/target/ruby/ruby_object.h"

static int counted_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	struct ruby_evidence *evidence = (struct ruby_evidence *)(uintptr_t)reader->context;
	int r;

	if (evidence->failure || !ruby_object_is_address(address) ||
	    evidence->reads++ >= RUBY_BEHAVIOUR_READS_MAX)
		return -EFAULT;
	r = memory_read(evidence->source, address, buffer, size_bytes);
	if (r < 0 && r != -EFAULT)
		evidence->failure = r;
	return r;
}

void ruby_evidence_init(struct ruby_evidence *evidence, const struct memory_reader *source,
			enum string_layout string_layout, struct ruby_behaviour *result)
{
	*evidence = (struct ruby_evidence){
		.reader = { .read = counted_read, .pid = source->pid, .context = evidence },
		.source = source,
		.string_layout = string_layout,
		.result = result,
	};
}

bool ruby_evidence_read(struct ruby_evidence *evidence, uint64_t address, uint64_t *words,
			size_t count)
{
	return memory_read(&evidence->reader, address, words, count * sizeof(*words)) == 0;
}

void ruby_evidence_read_some(struct ruby_evidence *evidence, uint64_t address, uint64_t *words,
			     size_t count)
{
	enum {
		PIECE = 8
	};

	memset(words, 0, count * sizeof(*words));
	for (size_t i = 0; i < count; i += PIECE)
		if (!ruby_evidence_read(evidence, address + i * sizeof(*words), words + i,
					count - i < PIECE ? count - i : PIECE))
			return;
}

bool ruby_evidence_is_imemo(struct ruby_evidence *evidence, uint64_t address, unsigned int type)
{
	uint64_t flags;

	return ruby_evidence_read(evidence, address, &flags, 1) &&
	       (flags & RUBY_OBJECT_TYPE_MASK) == RUBY_TYPE_IMEMO &&
	       (flags >> RUBY_IMEMO_SHIFT & RUBY_IMEMO_MASK) == type;
}

bool ruby_evidence_is_string(struct ruby_evidence *evidence, uint64_t value)
{
	struct ruby_object object;
	struct ruby_string string;

	return ruby_object_read(&evidence->reader, value, &object) == 0 &&
	       ruby_object_string(&object, evidence->string_layout, &string) == 0;
}

bool ruby_evidence_read_text(struct ruby_evidence *evidence, uint64_t value,
			     char text[static RUBY_EVIDENCE_TEXT_MAX])
{
	struct ruby_object object;
	struct ruby_string string;

	if (ruby_object_read(&evidence->reader, value, &object) < 0 ||
	    ruby_object_string(&object, evidence->string_layout, &string) < 0 ||
	    string.length_bytes >= RUBY_EVIDENCE_TEXT_MAX ||
	    memory_read(&evidence->reader, string.address, text, string.length_bytes) < 0)
		return false;
	text[string.length_bytes] = '\0';
	return true;
}
