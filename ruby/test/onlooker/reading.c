/* SPDX-License-Identifier: MIT */
#include "reading.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ruby.h>

struct pair {
	uint64_t key;
	uint64_t value;
};

struct table {
	uint64_t check;
	uint64_t serial;
	uint64_t size;
	uint64_t capacity;
};

enum check_sum {
	SUM_DIGITS = 8,
	SUM_BYTES = SUM_DIGITS + 1,
};

/* /proc/self/mem, which heeds no protection. Set once. */
static int unbarred = -1;

int reading_open(void)
{
	if (unbarred < 0)
		unbarred = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return unbarred < 0 ? -errno : 0;
}

static bool read_memory(uint64_t address, void *ret_bytes, size_t bytes)
{
	struct iovec local = { .iov_base = ret_bytes, .iov_len = bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)address, .iov_len = bytes };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Of Ruby's heap. */
static bool read_object(uint64_t address, void *ret_bytes, size_t bytes, struct reading *reading)
{
	if (read_memory(address, ret_bytes, bytes))
		return true;
	reading->verdict = READING_BARRED;
	return pread(unbarred, ret_bytes, bytes, (off_t)address) == (ssize_t)bytes;
}

uint32_t reading_check_sum(const char *text, size_t bytes)
{
	uint32_t sum = 2166136261U; /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ (unsigned char)text[i]) * 16777619U;
	return sum;
}

static bool proves_itself(const char *text, size_t bytes)
{
	uint32_t sum;
	uint32_t said = 0;

	if (bytes < SUM_BYTES || text[bytes - SUM_BYTES] != '#')
		return false;
	sum = reading_check_sum(text, bytes - SUM_BYTES);
	for (size_t i = bytes - SUM_DIGITS; i < bytes; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return false;
		said = said << 4 | (uint32_t)(digit - digits);
	}
	return said == sum;
}

/* Where the bytes of a String are: a copy of its object tells, but for embedded ones. */
static const char *check_string(uint64_t value, struct reading *reading)
{
	struct RString copy;
	uint64_t start;
	size_t bytes;

	/* Larger slots hold longer texts: what is behind them is read by address. */
	if (!read_object(value, &copy, sizeof(copy), reading))
		return "the object cannot be read";
	bytes = (size_t)RSTRING_LEN((VALUE)&copy);
	start = (uint64_t)RSTRING_PTR((VALUE)&copy);
	if (!(copy.basic.flags & RSTRING_NOEMBED))
		start = start - (uint64_t)&copy + value;
	if (bytes > READING_TEXT_MAX || !read_object(start, reading->text, bytes, reading))
		return "the text cannot be read";
	reading->text[bytes] = '\0';
	return proves_itself(reading->text, bytes) ? NULL : "the text is not what was published";
}

static const char *check_value(uint64_t value, struct reading *reading)
{
	reading->value = value;
	reading->flags = 0;
	reading->text[0] = '\0';
	if (RB_SPECIAL_CONST_P((VALUE)value))
		return NULL;
	if (!read_object(value, &reading->flags, sizeof(reading->flags), reading))
		return "the value cannot be read";
	switch (reading->flags & RUBY_T_MASK) {
	case RUBY_T_STRING:
		return check_string(value, reading);
	case RUBY_T_SYMBOL:
		return NULL;
	case RUBY_T_NONE:
		return "the value is freed memory (T_NONE)";
	case RUBY_T_MOVED:
		return "the value has moved (T_MOVED)";
	default:
		return "the value is of a type that was never published";
	}
}

static const char *check_pairs(struct reading *reading)
{
	struct pair pairs[READING_CAPACITY_MAX];
	uint64_t used = 0;

	if (!read_memory(reading->state + 16, pairs, reading->capacity * sizeof(*pairs)))
		return "the pairs cannot be read";
	for (reading->slot = 0; reading->slot < reading->capacity; reading->slot++) {
		const struct pair *pair = &pairs[reading->slot];
		const char *wrong = pair->key ? check_value(pair->value, reading) : NULL;

		if (wrong)
			return wrong;
		used += pair->key != 0;
	}
	return used == reading->size ? NULL : "size is not the number of pairs";
}

static bool has_known_serial(const struct table *table, uint64_t state, uint64_t magic)
{
	return table->serial && table->check == (table->serial ^ state ^ magic);
}

/* In front of the table, and the table's own head. */
static bool read_head(uint64_t state, bool with_header, struct table *ret_table)
{
	if (with_header)
		return read_memory(state - 16, ret_table, sizeof(*ret_table));
	return read_memory(state, &ret_table->size, 16);
}

static const char *check_table(struct reading *reading)
{
	uint64_t capacity = reading->capacity;

	if (!capacity || capacity > READING_CAPACITY_MAX || capacity & (capacity - 1))
		return "capacity is no power of two in bounds";
	if (reading->size > capacity)
		return "size is more than capacity";
	return check_pairs(reading);
}

static bool is_overtaken(const void *variable, uint64_t state, uint64_t serial,
			 const struct reading_header_format *format)
{
	struct table table;
	uint64_t now;

	return !read_memory((uint64_t)variable, &now, sizeof(now)) || now != state ||
	       !read_head(state, true, &table) || !has_known_serial(&table, state, format->magic) ||
	       table.serial != serial;
}

void reading_take(const void *variable, const struct reading_header_format *format,
		  struct reading *ret_reading)
{
	struct table table = { 0 };
	const char *wrong = NULL;

	*ret_reading = (struct reading){ .verdict = READING_NONE };
	if (!read_memory((uint64_t)variable, &ret_reading->state, sizeof(uint64_t)))
		wrong = "the variable cannot be read";
	else if (!ret_reading->state)
		return;
	else if (!read_head(ret_reading->state, format != NULL, &table))
		wrong = "the table cannot be read";
	if (!wrong && format && !has_known_serial(&table, ret_reading->state, format->magic))
		wrong = "the serial number is not of this table";
	ret_reading->size = table.size;
	ret_reading->capacity = table.capacity;
	if (!wrong)
		wrong = check_table(ret_reading);
	ret_reading->what = wrong;
	if (wrong)
		ret_reading->verdict = READING_WRONG;
	else if (ret_reading->verdict != READING_BARRED)
		ret_reading->verdict = READING_WHOLE;
	if (format && is_overtaken(variable, ret_reading->state, table.serial, format))
		ret_reading->verdict = READING_OVERTAKEN;
}
