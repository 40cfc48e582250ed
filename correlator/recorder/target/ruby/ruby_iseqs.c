/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_iseqs.h"

#include <string.h>

#include "recorder/target/ruby/ruby_object.h"

enum {
	BODY_WORDS = 32, /* of rb_iseq_constant_body */
	ISEQS_MAX = 32,
	LINE_MAX = 1 << 24,
	LINES_CHECKED_MAX = 64,
	LINE_ENTRY_WORDS_MAX = 3, /* of 32 bits */
	LINE_WORDS_MAX = LINES_CHECKED_MAX * LINE_ENTRY_WORDS_MAX,
};

struct iseq {
	uint64_t address;
	uint64_t words[RUBY_OBJECT_WORDS];
	uint64_t body[BODY_WORDS];
	uint64_t magic; /* of a frame that runs it; 0 = not known */
};

/* The iseqs that the frames run. */
struct iseqs {
	struct ruby_evidence *evidence;
	const struct ruby_vm_frames *frames;
	struct iseq list[ISEQS_MAX];
	size_t count;
};

static void add_iseq(struct iseqs *iseqs, uint64_t address, uint64_t magic)
{
	struct iseq *iseq = &iseqs->list[iseqs->count];

	for (size_t i = 0; i < iseqs->count; i++)
		if (iseqs->list[i].address == address)
			return;
	if (iseqs->count == ISEQS_MAX ||
	    !ruby_evidence_read(iseqs->evidence, address, iseq->words, RUBY_OBJECT_WORDS))
		return;
	iseq->address = address;
	iseq->magic = magic;
	iseqs->count++;
}

static void collect_iseqs(struct iseqs *iseqs)
{
	const struct ruby_vm_frames *frames = iseqs->frames;

	for (size_t i = 0; i < frames->count; i++) {
		const struct ruby_frame_words *frame = &frames->list[i];

		if (ruby_evidence_is_imemo(iseqs->evidence, ruby_vm_frames_iseq(frames, i),
					   RUBY_IMEMO_ISEQ))
			add_iseq(iseqs, ruby_vm_frames_iseq(frames, i),
				 frame->flags & RUBY_MAGIC_MASK);
	}
}

/* location.pathobj: a String, or an Array of a String and a second String or nil. */
static bool is_path(struct ruby_evidence *evidence, uint64_t value)
{
	struct ruby_object object;
	struct ruby_array array;
	uint64_t first;

	if (ruby_evidence_is_string(evidence, value))
		return true;
	return ruby_object_read(&evidence->reader, value, &object) == 0 &&
	       ruby_object_array(&object, &array) == 0 && array.count == 2 &&
	       ruby_evidence_read(evidence, array.address, &first, 1) &&
	       ruby_evidence_is_string(evidence, first);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* A label ends with its base label: "block in each", "each". Labels too long to read pass. */
static bool is_label(struct ruby_evidence *evidence, uint64_t label, uint64_t base_label)
{
	char text[RUBY_EVIDENCE_TEXT_MAX], base[RUBY_EVIDENCE_TEXT_MAX];

	if (!ruby_evidence_read_text(evidence, label, text) ||
	    !ruby_evidence_read_text(evidence, base_label, base))
		return true;
	return ends_with(text, base);
}

/* True if all bodies have a location at word. */
static bool are_locations(struct iseqs *iseqs, size_t word)
{
	for (size_t i = 0; i < iseqs->count; i++) {
		const struct iseq *iseq = &iseqs->list[i];

		if (!is_path(iseqs->evidence, iseq->body[word]) ||
		    !ruby_evidence_is_string(iseqs->evidence, iseq->body[word + 1]) ||
		    !ruby_evidence_is_string(iseqs->evidence, iseq->body[word + 2]))
			return false;
	}
	return iseqs->count > 0;
}

static bool read_bodies(struct iseqs *iseqs, size_t body_word)
{
	for (size_t i = 0; i < iseqs->count; i++)
		if (!ruby_evidence_read(iseqs->evidence, iseqs->list[i].words[body_word],
					iseqs->list[i].body, BODY_WORDS))
			return false;
	return true;
}

static bool are_labels(struct iseqs *iseqs, size_t label, size_t base_label)
{
	for (size_t i = 0; i < iseqs->count; i++)
		if (!is_label(iseqs->evidence, iseqs->list[i].body[label],
			      iseqs->list[i].body[base_label]))
			return false;
	return true;
}

static void find_first_line(struct iseqs *iseqs, size_t word)
{
	bool is_value = true, is_int = true;

	for (size_t i = 0; i < iseqs->count; i++) {
		uint64_t line = iseqs->list[i].body[word];

		is_value &= (line & 1) && line >> 1 < LINE_MAX;
		is_int &= (uint32_t)line < LINE_MAX;
	}
	if (!is_value && !is_int)
		return;
	RUBY_EVIDENCE_ADD(iseqs->evidence, body_first_line, 8 * word);
	if (is_value)
		RUBY_EVIDENCE_ADD(iseqs->evidence, body_first_line_kind, RUBY_FIRST_LINE_VALUE);
	if (is_int)
		RUBY_EVIDENCE_ADD(iseqs->evidence, body_first_line_kind, RUBY_FIRST_LINE_INT);
}

static void take_location(struct iseqs *iseqs, size_t body_word, size_t word)
{
	RUBY_EVIDENCE_ADD(iseqs->evidence, iseq_body, 8 * body_word);
	RUBY_EVIDENCE_ADD(iseqs->evidence, body_path, 8 * word);
	for (size_t order = 0; order < 2; order++) {
		if (!are_labels(iseqs, word + 2 - order, word + 1 + order))
			continue;
		RUBY_EVIDENCE_ADD(iseqs->evidence, body_label, 8 * (word + 2 - order));
		RUBY_EVIDENCE_ADD(iseqs->evidence, body_base_label, 8 * (word + 1 + order));
	}
	find_first_line(iseqs, word + 3);
}

/* True if exactly one word leads to bodies with a location. The bodies stay as read through it. */
static bool find_bodies(struct iseqs *iseqs)
{
	size_t found = 0, last = 0;

	for (size_t body_word = 1; body_word < RUBY_OBJECT_WORDS; body_word++) {
		if (!read_bodies(iseqs, body_word))
			continue;
		for (size_t word = 0; word + 3 < BODY_WORDS; word++) {
			if (!are_locations(iseqs, word))
				continue;
			take_location(iseqs, body_word, word);
			last = body_word;
			found++;
		}
	}
	return found == 1 && read_bodies(iseqs, last);
}

/* True if type, an enum rb_iseq_type, fits the kind of frame that runs the iseq. */
static bool is_type(uint64_t magic, uint32_t type)
{
	enum {
		TOP = 0,
		CLASS = 3,
		RESCUE = 4,
		ENSURE = 5,
		EVAL = 6,
		MAIN = 7,
		PLAIN = 8
	};

	switch (magic) {
	case RUBY_MAGIC_METHOD:
		return type == RUBY_ISEQ_METHOD;
	case RUBY_MAGIC_BLOCK:
		return type == RUBY_ISEQ_BLOCK;
	case RUBY_MAGIC_CLASS:
		return type == CLASS;
	case RUBY_MAGIC_RESCUE:
		return type == RESCUE || type == ENSURE;
	case RUBY_MAGIC_EVAL:
		return type == EVAL || type == MAIN;
	case RUBY_MAGIC_TOP:
		return type == TOP || type == MAIN;
	default:
		return type <= PLAIN;
	}
}

static uint32_t half_word(const uint64_t *words, size_t half)
{
	return (uint32_t)(words[half / 2] >> (half % 2 * 32));
}

static void find_type(struct iseqs *iseqs)
{
	for (size_t half = 0; half < 16; half++) {
		bool is_one = true;

		for (size_t i = 0; is_one && i < iseqs->count; i++)
			is_one =
				is_type(iseqs->list[i].magic, half_word(iseqs->list[i].body, half));
		if (is_one)
			RUBY_EVIDENCE_ADD(iseqs->evidence, body_type, 4 * half);
	}
}

static const struct iseq *find_iseq(const struct iseqs *iseqs, uint64_t address)
{
	for (size_t i = 0; i < iseqs->count; i++)
		if (iseqs->list[i].address == address)
			return &iseqs->list[i];
	return NULL;
}

/* Counts the frames whose program counter is in their code; frames of C functions have none. */
static size_t count_in_code(const struct iseqs *iseqs, size_t pc, size_t code, size_t size,
			    size_t *ret_of)
{
	const struct ruby_vm_frames *frames = iseqs->frames;
	size_t count = 0;

	*ret_of = 0;
	/* Half of the address is not a size. */
	if (size / 2 == code)
		return 0;
	for (size_t i = 0; i < frames->count; i++) {
		const struct ruby_frame_words *frame = &frames->list[i];
		const struct iseq *iseq = find_iseq(iseqs, ruby_vm_frames_iseq(frames, i));
		uint64_t words, at;

		if (!iseq || (frame->flags & RUBY_FRAME_IS_C))
			continue;
		(*ret_of)++;
		words = half_word(iseq->body, size);
		at = frame->words[pc] - iseq->body[code];
		count += ruby_object_is_address(iseq->body[code]) && words > 0 && words < 1 << 24 &&
			 at <= 8 * words && at % 8 == 0;
	}
	return count;
}

/* Compiled code (YJIT) leaves stale counters in some frames: at least half must be right. */
static void find_code(struct iseqs *iseqs)
{
	enum {
		CODE_WORDS = 8 /* type, size and code are at the start of a body */
	};
	size_t most = 0, of;

	for (int pass = 0; pass < 2; pass++)
		for (size_t pc = 0; pc < iseqs->frames->bytes / 8; pc++)
			for (size_t code = 0; code < CODE_WORDS; code++)
				for (size_t size = 0; size < 2 * CODE_WORDS; size++) {
					size_t count = count_in_code(iseqs, pc, code, size, &of);

					if (pass == 0) {
						most = count > most ? count : most;
						continue;
					}
					if (count < most || count == 0 || 2 * count < of)
						continue;
					RUBY_EVIDENCE_ADD(iseqs->evidence, frame_pc, 8 * pc);
					RUBY_EVIDENCE_ADD(iseqs->evidence, body_code, 8 * code);
					RUBY_EVIDENCE_ADD(iseqs->evidence, body_code_words,
							  4 * size);
				}
}

/* The enclosing method's iseq: for a method its own, for a block another one, for the rest any. */
static void find_local(struct iseqs *iseqs)
{
	for (size_t word = 8; word < BODY_WORDS; word++) {
		bool is_one = true;

		for (size_t i = 0; is_one && i < iseqs->count; i++) {
			const struct iseq *iseq = &iseqs->list[i];
			uint64_t local = iseq->body[word];

			is_one = ruby_evidence_is_imemo(iseqs->evidence, local, RUBY_IMEMO_ISEQ) &&
				 (iseq->magic != RUBY_MAGIC_METHOD || local == iseq->address) &&
				 (iseq->magic != RUBY_MAGIC_BLOCK || local != iseq->address);
		}
		if (is_one)
			RUBY_EVIDENCE_ADD(iseqs->evidence, body_local, 8 * word);
	}
}

/* True if entries of this size have plausible lines, and event flags at the end of each entry. */
static bool are_lines(struct ruby_evidence *evidence, uint64_t table, uint32_t count,
		      uint32_t entry_bytes)
{
	/* RUBY_EVENT_* of iseqs only: include/ruby/internal/event.h; a node's ID may be -1. */
	const uint32_t events = 0x3ffff;
	uint32_t words[LINE_WORDS_MAX];
	size_t entry_words = entry_bytes / sizeof(words[0]);

	if (count > LINES_CHECKED_MAX)
		count = LINES_CHECKED_MAX;
	if (memory_read(&evidence->reader, table, words, (size_t)count * entry_bytes) < 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (words[i * entry_words] >= LINE_MAX ||
		    (words[(i + 1) * entry_words - 1] & ~events))
			return false;
	return true;
}

/* {entries, positions, count, table of ranks}, as struct iseq_insn_info has them. */
static bool are_line_tables(struct iseqs *iseqs, size_t word, uint32_t entry_bytes)
{
	for (size_t i = 0; i < iseqs->count; i++) {
		const struct iseq *iseq = &iseqs->list[i];
		uint64_t positions = iseq->body[word + 3];
		uint32_t count = (uint32_t)iseq->body[word + 2];

		if (count == 0 || count >= LINE_MAX ||
		    (positions ? !ruby_object_is_address(positions) : count > 1) ||
		    !are_lines(iseqs->evidence, iseq->body[word], count, entry_bytes))
			return false;
	}
	return true;
}

static void find_lines(struct iseqs *iseqs)
{
	for (size_t word = 8; word + 3 < BODY_WORDS; word++)
		for (uint32_t bytes = 8; bytes <= 12; bytes += 4) {
			if (!are_line_tables(iseqs, word, bytes))
				continue;
			RUBY_EVIDENCE_ADD(iseqs->evidence, body_lines, 8 * word);
			RUBY_EVIDENCE_ADD(iseqs->evidence, body_line_count, 8 * word + 16);
			RUBY_EVIDENCE_ADD(iseqs->evidence, body_line_positions, 8 * word + 24);
			RUBY_EVIDENCE_ADD(iseqs->evidence, line_positions_kind,
					  RUBY_LINE_POSITIONS_SUCCINCT);
			RUBY_EVIDENCE_ADD(iseqs->evidence, line_entry_bytes, bytes);
		}
}

void ruby_iseqs_look(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames)
{
	struct iseqs iseqs = { .evidence = evidence, .frames = frames };

	collect_iseqs(&iseqs);
	evidence->result->iseq_count = iseqs.count;
	if (!find_bodies(&iseqs))
		return;
	find_type(&iseqs);
	find_code(&iseqs);
	find_local(&iseqs);
	find_lines(&iseqs);
}
