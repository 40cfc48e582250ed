/* SPDX-License-Identifier: GPL-2.0-only */
/* ruby_stack_layout against the Ruby that is installed: its own backtrace is the truth. */
#include "recorder/target/ruby/ruby_stack_finder.h"

#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "failing_memory.h"
#include "recorder/target/live_ruby.h"
#include "recorder/target/ruby/ruby_behaviour.h"
#include "recorder/target/ruby/ruby_object.h"
#include "recorder/target/tls_read.h"

enum {
	TEXT_BYTES = 256
};

struct fixture {
	struct live_ruby ruby;
	struct memory_reader reader;
	struct ruby_data_range ranges[LIVE_RUBY_RANGES_MAX];
	struct ruby_stack_object object;
	struct elf_image *image;
	uint8_t *file; /* libruby's bytes, as a test changes them */
	uint8_t *original;
	size_t file_bytes;
};

/* The file and its bias, by its first mapping. */
static bool find_libruby(pid_t pid, char path[static TEXT_BYTES], uint64_t *ret_start)
{
	char maps[64], line[512], *name;
	bool is_found = false;
	FILE *file;

	(void)snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
	file = fopen(maps, "re");
	while (file && !is_found && fgets(line, sizeof(line), file)) {
		name = strchr(line, '/');
		if (!name || !strstr(name, "/libruby"))
			continue;
		name[strcspn(name, "\n")] = '\0';
		(void)snprintf(path, TEXT_BYTES, "%s", name);
		is_found = sscanf(line, "%lx-", ret_start) == 1;
	}
	if (file)
		(void)fclose(file);
	return is_found;
}

/* It waits for the next line, and nothing of it moves. */
static void await_sleep(pid_t pid)
{
	char path[64], text[512] = "", *state;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		(void)sched_yield();
		file = fopen(path, "re");
		assert_non_null(file);
		assert_non_null(fgets(text, sizeof(text), file));
		(void)fclose(file);
		state = strrchr(text, ')');
		assert_non_null(state);
	} while (state[2] != 'S');
}

static uint8_t *read_file(const char *path, size_t *ret_bytes)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	*ret_bytes = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*ret_bytes);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *ret_bytes, file), *ret_bytes);
	(void)fclose(file);
	return bytes;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	_cleanup_(ruby_symbols_freep) struct ruby_symbols *symbols = NULL;
	char path[TEXT_BYTES];
	int r;

	*state = fixture;
	if (!fixture || !live_ruby_start(&fixture->ruby) ||
	    !find_libruby(fixture->ruby.pid, path, &fixture->object.bias))
		return -1;
	fixture->reader = memory_reader_of_process(fixture->ruby.pid);
	fixture->file = read_file(path, &fixture->file_bytes);
	fixture->original = read_file(path, &fixture->file_bytes);
	if (elf_image_open_memory(fixture->original, fixture->file_bytes, &fixture->image) < 0)
		return -1;
	fixture->object.image = fixture->image;
	fixture->object.ranges = fixture->ranges;
	fixture->object.range_count = live_ruby_ranges(&fixture->ruby, fixture->ranges);
	r = ruby_symbols_new(&fixture->reader, 0, fixture->ranges, fixture->object.range_count,
			     &symbols);
	if (r < 0)
		return -1;
	fixture->object.string_layout = ruby_symbols_string_layout(symbols);
	return 0;
}

/* What a test made of libruby's bytes. */
static int forget_changes(void **state)
{
	struct fixture *fixture = *state;

	memcpy(fixture->file, fixture->original, fixture->file_bytes);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	elf_image_free(fixture->image);
	free(fixture->file);
	free(fixture->original);
	live_ruby_stop(&fixture->ruby);
	free(fixture);
	return 0;
}

static uint64_t word(struct fixture *fixture, uint64_t address)
{
	uint64_t value;

	assert_int_equal(memory_read_u64(&fixture->reader, address, &value), 0);
	return value;
}

static void read_text(struct fixture *fixture, uint64_t value, char text[static TEXT_BYTES])
{
	struct ruby_object object;
	struct ruby_string string;
	struct ruby_array array;

	assert_int_equal(ruby_object_read(&fixture->reader, value, &object), 0);
	/* A path may be an Array of it and the real one. */
	if (ruby_object_array(&object, &array) == 0)
		assert_int_equal(
			ruby_object_read(&fixture->reader, word(fixture, array.address), &object),
			0);
	assert_int_equal(ruby_object_string(&object, fixture->object.string_layout, &string), 0);
	assert_true(string.length_bytes < TEXT_BYTES);
	assert_int_equal(memory_read(&fixture->reader, string.address, text, string.length_bytes),
			 0);
	text[string.length_bytes] = '\0';
}

/* The rank of a position in the succinct table, bit by bit as ruby_stack_layout.h has it. */
static uint32_t rank(struct fixture *fixture, uint64_t table, uint32_t position)
{
	uint64_t block, small;
	uint32_t result, bit;

	if (position < 54)
		return word(fixture, table + 8 * (position / 9)) >> (7 * (position % 9)) & 0x7f;
	bit = (position - 54) % 512;
	block = table + 48 + 80 * ((position - 54) / 512);
	small = word(fixture, block + 8);
	result = (uint32_t)word(fixture, block);
	if (bit / 64)
		result += small >> (9 * (bit / 64 - 1)) & 0x1ff;
	for (uint32_t i = 0; i <= bit % 64; i++)
		result += word(fixture, block + 16 + 8 * (bit / 64)) >> i & 1;
	return result;
}

static uint32_t line_of(struct fixture *fixture, const struct ruby_stack_layout *layout,
			uint64_t body, uint64_t pc)
{
	uint64_t lines = word(fixture, body + layout->body_lines);
	uint32_t count = (uint32_t)word(fixture, body + layout->body_line_count);
	uint32_t position = (uint32_t)((pc - word(fixture, body + layout->body_code)) / 8 - 1);
	uint32_t index = 0;

	assert_int_equal(layout->line_positions_kind, RUBY_LINE_POSITIONS_SUCCINCT);
	if (count > 1)
		index = rank(fixture, word(fixture, body + layout->body_line_positions), position) -
			1;
	assert_true(index < count);
	return (uint32_t)word(fixture, lines + (uint64_t)index * layout->line_entry_bytes);
}

/* label@path:line of a frame; of a C function "". */
static void describe_frame(struct fixture *fixture, const struct ruby_stack_layout *layout,
			   uint64_t frame, char text[static 3 * TEXT_BYTES])
{
	uint64_t iseq = word(fixture, frame + layout->frame_iseq), body;
	uint64_t flags = word(fixture, word(fixture, frame + layout->frame_ep));
	char label[TEXT_BYTES], path[TEXT_BYTES];

	text[0] = '\0';
	if (!iseq || (flags & RUBY_FRAME_IS_C))
		return;
	body = word(fixture, iseq + layout->iseq_body);
	read_text(fixture, word(fixture, body + layout->body_label), label);
	read_text(fixture, word(fixture, body + layout->body_path), path);
	(void)snprintf(text, 3 * TEXT_BYTES, "%s@%s:%u", label, path,
		       line_of(fixture, layout, body, word(fixture, frame + layout->frame_pc)));
}

/* The execution context of the main thread, which is the thread pointer's. */
static uint64_t find_execution(struct fixture *fixture, const struct ruby_stack_layout *layout)
{
	struct ruby_behaviour behaviour;
	const struct ruby_behaviour_hints hints = {
		.vm_pointer = layout->vm_pointer_address,
		.string_layout = fixture->object.string_layout,
	};

	assert_int_equal(ruby_behaviour_look(&fixture->reader, &hints, &behaviour), 0);
	return behaviour.execution;
}

/*
 * Each of Ruby's own lines is a frame's; a C function's says where it was called. Returns how many
 * frames there are.
 */
static size_t assert_frames(struct fixture *fixture, const struct ruby_stack_layout *layout,
			    char *backtrace)
{
	uint64_t execution = find_execution(fixture, layout);
	uint64_t frame = word(fixture, execution + layout->execution_frame);
	uint64_t end = word(fixture, execution + layout->execution_stack) +
		       8 * word(fixture, execution + layout->execution_stack_words) -
		       layout->frame_bytes;
	char text[3 * TEXT_BYTES], *save, *line = strtok_r(backtrace, "|", &save);
	size_t named = 0, count = 0;
	bool is_started = false;

	for (; frame < end; frame += layout->frame_bytes, count++) {
		describe_frame(fixture, layout, frame, text);
		/* The functions that wait for the next line. */
		is_started |= text[0] != '\0';
		if (!is_started)
			continue;
		assert_non_null(line);
		if (text[0]) {
			assert_string_equal(text, line);
			named++;
		}
		line = strtok_r(NULL, "|", &save);
	}
	assert_int_equal(frame, end);
	assert_null(line);
	assert_true(named > 10);
	return count;
}

static const char deep_stack[] =
	"eval(\"def deep(n, &b)\\n  if n == 0\\n    [1].each do |x|\\n      tap { b.call }\\n    end\\n"
	"  else\\n    deep(n - 1, &b)\\n  end\\nend\\n\", nil, '/srv/deep.rb', 10); "
	"class Long; eval('def long(b); ' + '[1, 2].sum; ' * 300 + \"\\nb.call\\n\" + "
	"'[1, 2].sum; ' * 300 + 'end', nil, '/srv/long.rb', 70000); end; "
	"deep(7) { Long.new.long(-> { $stdout.puts caller_locations(0).map { |l| "
	"\"#{l.label}@#{l.path}:#{l.lineno}\" }.join('|'); $stdin.gets }) }; 'done'";

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, forget_changes)

FIXTURE_TEST(stack_finder_layout_yields_ruby_backtrace)
{
	struct fixture *fixture = *state;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
	char backtrace[8192], answer[16];

	assert_true(live_ruby_ask(&fixture->ruby, deep_stack, backtrace, sizeof(backtrace)));
	await_sleep(fixture->ruby.pid);
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &fixture->reader, &layout, &report), 0);
	assert_int_equal(report.remark_count, 0);
	assert_int_equal(report.state, RUBY_STACK_AGREED);
	assert_int_equal(report.frames_seen, assert_frames(fixture, &layout, backtrace));
	assert_true(report.iseqs_seen > 3 && report.iseqs_seen < report.frames_seen);
	assert_true(report.agreed > 25 && report.agreed <= report.by_code);
	assert_true(report.agreed <= report.by_process && report.by_process < 40);
	assert_true(live_ruby_ask(&fixture->ruby, "go on", answer, sizeof(answer)));
	assert_string_equal(answer, "done");
}

FIXTURE_TEST(stack_finder_gc_count_matches_ruby)
{
	struct fixture *fixture = *state;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
	char answer[32];

	assert_true(live_ruby_ask(&fixture->ruby, "GC.start; GC.disable; GC.count", answer,
				  sizeof(answer)));
	await_sleep(fixture->ruby.pid);
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &fixture->reader, &layout, &report), 0);
	assert_int_equal(word(fixture, layout.gc_count_address), strtoull(answer, NULL, 10));
	assert_int_equal(word(fixture, layout.gc_flags_address & ~7ULL) >>
					 (layout.gc_flags_address % 8 * 8) &
				 layout.gc_flags_mask,
			 0);
}

static uint8_t first_byte(struct fixture *fixture, const char *function)
{
	struct elf_symbol symbol;
	uint64_t offset;

	assert_true(elf_image_find_defined(fixture->image, function, &symbol));
	assert_int_equal(elf_image_file_offset(fixture->image, symbol.value, &offset), 0);
	return fixture->file[offset];
}

/* libruby's file with one byte of a function changed; the process is as it is. */
static struct ruby_stack_report find_with(struct fixture *fixture, const char *function,
					  uint8_t from, uint8_t to)
{
	struct elf_image *honest = fixture->image, *changed;
	struct ruby_stack_object object = fixture->object;
	struct ruby_stack_layout layout = { .frame_bytes = 4711 };
	struct ruby_stack_report report;
	struct elf_symbol symbol;
	uint64_t offset;
	size_t i = 0;

	assert_true(elf_image_find_defined(honest, function, &symbol));
	assert_int_equal(elf_image_file_offset(honest, symbol.value, &offset), 0);
	while (fixture->file[offset + i] != from && i < symbol.size_bytes)
		i++;
	assert_true(i < symbol.size_bytes);
	fixture->file[offset + i] = to;
	assert_int_equal(elf_image_open_memory(fixture->file, fixture->file_bytes, &changed), 0);
	object.image = changed;
	assert_int_equal(ruby_stack_finder_find(&object, &fixture->reader, &layout, &report), 0);
	elf_image_free(changed);
	fixture->file[offset + i] = from;
	/* Nobody uses what is not agreed on. */
	assert_int_equal(layout.frame_bytes, 4711);
	return report;
}

FIXTURE_TEST(stack_finder_names_member_on_which_process_disagrees)
{
	struct fixture *fixture = *state;
	struct ruby_stack_report report;

	await_sleep(fixture->ruby.pid);
	/* mov 0x50(%rax),%rax: the label; at 0x58 is a number */
	report = find_with(fixture, "rb_iseq_label", 0x50, 0x58);
	assert_int_equal(report.state, RUBY_STACK_DISAGREED);
	assert_non_null(strstr(report.remarks[0], "body_label: "));
	assert_non_null(strstr(report.remarks[0], "0x58"));
	assert_non_null(strstr(report.remarks[0], "0x50"));
}

FIXTURE_TEST(stack_finder_names_member_missing_from_code)
{
	struct fixture *fixture = *state;
	struct ruby_stack_report report;

	await_sleep(fixture->ruby.pid);
	/* Its first byte is no instruction of 64 bits. */
	report = find_with(fixture, "rb_iseq_path", first_byte(fixture, "rb_iseq_path"), 0x06);
	assert_int_equal(report.state, RUBY_STACK_MISSING);
	assert_int_equal(report.remark_count, 1);
	assert_non_null(strstr(report.remarks[0], "body_path: libruby's code says nothing"));
}

/* As the kernel program reads it. */
FIXTURE_TEST(stack_finder_tls_location_leads_to_thread_context)
{
	struct fixture *fixture = *state;
	const struct ruby_behaviour_hints hints = { .string_layout = fixture->object.string_layout,
						    .ranges = fixture->ranges,
						    .range_count = fixture->object.range_count };
	struct ruby_behaviour behaviour;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
	uint64_t context;

	await_sleep(fixture->ruby.pid);
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &fixture->reader, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_AGREED);
	assert_int_equal(ruby_behaviour_look(&fixture->reader, &hints, &behaviour), 0);
	assert_int_equal(tls_read(&layout.execution_tls, behaviour.thread_pointer, &fixture->reader,
				  &context),
			 0);
	assert_int_equal(context, behaviour.execution);
	assert_int_equal(layout.execution_global, 0);
}

static struct ruby_stack_report find_disagreement(struct fixture *fixture,
						  const struct ruby_stack_object *object)
{
	struct ruby_stack_layout layout = { .frame_bytes = 4711 };
	struct ruby_stack_report report;

	await_sleep(fixture->ruby.pid);
	assert_int_equal(ruby_stack_finder_find(object, &fixture->reader, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_DISAGREED);
	assert_int_equal(report.remark_count, 1);
	assert_int_equal(layout.frame_bytes, 4711);
	return report;
}

FIXTURE_TEST(stack_finder_names_place_that_leads_to_other_context)
{
	struct fixture *fixture = *state;
	struct ruby_stack_object object = fixture->object;
	const struct ruby_behaviour_hints hints = { .string_layout = fixture->object.string_layout,
						    .ranges = fixture->ranges,
						    .range_count = fixture->object.range_count };
	struct ruby_behaviour behaviour;
	struct ruby_stack_report report;
	char shown[64];

	/* Its table of blocks has other entries. */
	object.is_musl = true;
	report = find_disagreement(fixture, &object);
	assert_non_null(strstr(report.remarks[0], "execution context: libruby's code leads to"));
	assert_int_equal(ruby_behaviour_look(&fixture->reader, &hints, &behaviour), 0);
	(void)snprintf(shown, sizeof(shown), "the process shows 0x%lx", behaviour.execution);
	assert_non_null(strstr(report.remarks[0], shown));
}

/* Changes each relocation of a type in libruby's file. */
static void change_relocations(struct fixture *fixture, uint32_t from, uint32_t to)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)fixture->file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(fixture->file + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		Elf64_Rela *list = (Elf64_Rela *)(fixture->file + sections[i].sh_offset);

		for (size_t j = 0;
		     sections[i].sh_type == SHT_RELA && j < sections[i].sh_size / sizeof(*list);
		     j++)
			if (ELF64_R_TYPE(list[j].r_info) == from)
				list[j].r_info = ELF64_R_INFO(ELF64_R_SYM(list[j].r_info), to);
	}
}

FIXTURE_TEST(stack_finder_names_slot_in_impossible_state)
{
	struct fixture *fixture = *state;
	struct ruby_stack_object object = fixture->object;
	_cleanup_(elf_image_freep) struct elf_image *changed = NULL;
	struct ruby_stack_report report;

	/* A module and an offset are no descriptor. */
	change_relocations(fixture, R_X86_64_DTPMOD64, R_X86_64_TLSDESC);
	assert_int_equal(elf_image_open_memory(fixture->file, fixture->file_bytes, &changed), 0);
	object.image = changed;
	report = find_disagreement(fixture, &object);
	assert_non_null(strstr(report.remarks[0], "where no loader leaves its place"));
}

/* The process as it is, but for one word of it. */
struct changed_process {
	struct memory_reader reader;
	struct memory_reader real;
	uint64_t address;
	uint64_t value;
	uint64_t context[3]; /* what is read from CONTEXT */
};

#define CONTEXT UINT64_C(0x77000000)

static int read_changed(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	const struct changed_process *process = reader->context;

	if (address >= CONTEXT && address < CONTEXT + sizeof(process->context)) {
		memcpy(buffer, (const char *)process->context + (address - CONTEXT), size_bytes);
		return 0;
	}
	if (address != process->address || size_bytes != sizeof(process->value))
		return memory_read(&process->real, address, buffer, size_bytes);
	memcpy(buffer, &process->value, size_bytes);
	return 0;
}

static void set_up_changed(struct fixture *fixture, struct changed_process *process)
{
	await_sleep(fixture->ruby.pid);
	*process = (struct changed_process){ .real = fixture->reader };
	process->reader = (struct memory_reader){ .read = read_changed,
						  .pid = fixture->reader.pid,
						  .context = process };
}

static uint64_t address_of(struct fixture *fixture, const char *name)
{
	struct elf_symbol symbol;

	assert_true(elf_image_find_defined(fixture->image, name, &symbol));
	return symbol.value;
}

/*
 * Each call for the address of a thread-local becomes that of a variable, as in a Ruby without
 * threads of its own: lea DISPLACEMENT(%rip),%rax and a long nop.
 */
static void make_global(struct fixture *fixture, uint64_t variable)
{
	static const uint8_t lea[] = { 0x66, 0x48, 0x8d, 0x3d },
			     call[] = { 0x66, 0x66, 0x48, 0xe8 };
	static const uint8_t nop[] = { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 };
	uint64_t function = address_of(fixture, "rb_thread_current"), offset, bias;
	size_t count = 0;

	assert_int_equal(elf_image_file_offset(fixture->image, function, &offset), 0);
	bias = function - offset;
	for (size_t i = 0; i + 16 <= fixture->file_bytes; i++) {
		uint8_t *code = fixture->file + i;
		int32_t displacement = (int32_t)(variable - (i + bias + 7));

		if (memcmp(code, lea, 4) != 0 || memcmp(code + 8, call, 4) != 0)
			continue;
		memcpy(code, (uint8_t[]){ 0x48, 0x8d, 0x05 }, 3);
		memcpy(code + 3, &displacement, 4);
		memcpy(code + 7, nop, 9);
		count++;
	}
	assert_true(count > 2);
}

FIXTURE_TEST(stack_finder_accepts_global_context_that_is_valid)
{
	struct fixture *fixture = *state;
	struct ruby_stack_object object = fixture->object;
	_cleanup_(elf_image_freep) struct elf_image *changed = NULL;
	uint64_t variable = address_of(fixture, "rb_mKernel");
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
	struct changed_process process;
	const struct {
		uint64_t stack, words, frame;
		enum ruby_stack_state state;
	} cases[] = {
		{ 0x10000, 512, 0x10008, RUBY_STACK_AGREED },
		{ 0x10000, 512, 0x10ff8, RUBY_STACK_AGREED },
		{ 0x10000, 512, 0x10000, RUBY_STACK_DISAGREED },
		{ 0x10000, 512, 0x11000, RUBY_STACK_DISAGREED },
	};

	make_global(fixture, variable);
	assert_int_equal(elf_image_open_memory(fixture->file, fixture->file_bytes, &changed), 0);
	object.image = changed;
	set_up_changed(fixture, &process);
	process.address = fixture->object.bias + variable;
	/* No thread runs at this moment. */
	assert_int_equal(ruby_stack_finder_find(&object, &process.reader, &layout, &report),
			 -EAGAIN);
	process.value = CONTEXT;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		process.context[0] = cases[i].stack;
		process.context[1] = cases[i].words;
		process.context[2] = cases[i].frame;
		layout.execution_global = 0;
		assert_int_equal(ruby_stack_finder_find(&object, &process.reader, &layout, &report),
				 0);
		assert_int_equal(report.state, cases[i].state);
		if (report.state == RUBY_STACK_AGREED)
			assert_int_equal(layout.execution_global, process.address);
		else
			assert_non_null(strstr(report.remarks[0], "where the process has none"));
	}
	process.value = 0x10000;
	assert_int_equal(ruby_stack_finder_find(&object, &process.reader, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_DISAGREED);
}

FIXTURE_TEST(stack_finder_works_without_gc_count)
{
	struct fixture *fixture = *state;
	struct ruby_stack_layout honest, layout;
	struct ruby_stack_report report;
	struct changed_process process;
	uint64_t space;

	set_up_changed(fixture, &process);
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &process.reader, &honest, &report), 0);
	space = honest.gc_count_address - honest.object_space_count;
	assert_int_equal(honest.gc_flags_address, space + honest.object_space_flags);
	process.address = honest.gc_count_address;
	process.value = (UINT64_C(1) << 40) - 1;
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &process.reader, &layout, &report), 0);
	assert_memory_equal(&layout, &honest, sizeof(layout));
	process.value++;
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &process.reader, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_AGREED);
	assert_int_equal(layout.gc_count_address, 0);
	assert_int_equal(layout.gc_flags_address, 0);
	assert_int_equal(layout.vm_pointer_address, 0);
	assert_int_equal(layout.vm_object_space, RUBY_LAYOUT_UNKNOWN);
	assert_int_equal(layout.frame_bytes, honest.frame_bytes);
	/* Nor is a space that is not there. */
	process.address = word(fixture, honest.vm_pointer_address) + honest.vm_object_space;
	process.value = 0;
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &process.reader, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_AGREED);
	assert_int_equal(layout.gc_count_address, 0);
}

FIXTURE_TEST(stack_finder_finds_nothing_in_code_of_other_machine)
{
	struct fixture *fixture = *state;
	_cleanup_(elf_image_freep) struct elf_image *changed = NULL;
	struct ruby_stack_object object = fixture->object;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;

	await_sleep(fixture->ruby.pid);
	((Elf64_Ehdr *)fixture->file)->e_machine = EM_RISCV;
	assert_int_equal(elf_image_open_memory(fixture->file, fixture->file_bytes, &changed), 0);
	object.image = changed;
	assert_int_equal(ruby_stack_finder_find(&object, &fixture->reader, &layout, &report), 0);
	assert_int_equal(report.state, RUBY_STACK_MISSING);
	assert_int_equal(report.by_code, 0);
	assert_int_equal(report.agreed, 0);
	assert_true(report.by_process > 25);
	assert_int_equal(report.remark_count, 1);
	assert_non_null(strstr(report.remarks[0], "read on x86-64 alone"));
}

/* No more of them are kept than there is room for; a disagreement weighs more than what lacks. */
FIXTURE_TEST(stack_finder_bounds_remarks_and_keeps_worst_state)
{
	static const char *const functions[] = { "rb_profile_frames", "rb_iseq_path",
						 "rb_iseq_method_name" };
	struct fixture *fixture = *state;
	struct ruby_stack_report report;
	uint64_t offset;

	await_sleep(fixture->ruby.pid);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		assert_int_equal(elf_image_file_offset(fixture->image,
						       address_of(fixture, functions[i]), &offset),
				 0);
		fixture->file[offset] = 0x06;
	}
	report = find_with(fixture, "rb_iseq_label", 0x50, 0x58);
	assert_int_equal(report.state, RUBY_STACK_DISAGREED);
	assert_int_equal(report.remark_count, RUBY_STACK_REMARKS_MAX);
}

FIXTURE_TEST(stack_finder_returns_enomem_or_complete_layout)
{
	struct fixture *fixture = *state;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;
	int r = -ENOMEM;

	await_sleep(fixture->ruby.pid);
	for (size_t successes = 0; r == -ENOMEM; successes++) {
		assert_true(successes < 100);
		memory_fails_once_after(successes);
		r = ruby_stack_finder_find(&fixture->object, &fixture->reader, &layout, &report);
		memory_never_fails();
		assert_true(r == -ENOMEM || r == 0);
	}
	assert_int_equal(report.state, RUBY_STACK_AGREED);
}

FIXTURE_TEST(stack_finder_returns_esrch_for_exited_process)
{
	struct fixture *fixture = *state;
	struct ruby_stack_layout layout;
	struct ruby_stack_report report;

	(void)kill(fixture->ruby.pid, SIGKILL);
	(void)waitpid(fixture->ruby.pid, NULL, 0);
	fixture->ruby.pid = -1;
	assert_int_equal(
		ruby_stack_finder_find(&fixture->object, &fixture->reader, &layout, &report),
		-ESRCH);
}

TEST_GROUP(setup, teardown)
