/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/stack_tips.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash_table.h"
#include "base/log.h"
#include "recorder/symbolize/frame_name.h"

enum {
	TIPS_MAX = 2 * TIPS_TOLD_MAX,
};

/* Interval of checking whether modules were loaded or unloaded. */
#define MODULES_PAUSE_NS NS_PER_S

struct tip {
	uint64_t tip;
	uint64_t window; /* in which it was last reported */
	struct stack_tip told; /* points behind this structure */
	UT_hash_handle hh;
};

struct stack_tips {
	struct tip *table; /* uthash, by tip */
	struct kernel_symbols *symbols; /* NULL = not needed yet, or no memory */
	bool is_hidden; /* the kernel hides its addresses, or reading them failed */
	uint64_t modules; /* number for the modules loaded when symbols were read */
	uint64_t modules_ns; /* when modules were last checked */
};

struct stack_tips *stack_tips_new(void)
{
	return calloc(1, sizeof(struct stack_tips));
}

void stack_tips_forget(struct stack_tips *tips, uint64_t window)
{
	struct tip *tip, *next;

	HASH_ITER(hh, tips->table, tip, next) {
		if (tip->window >= window)
			continue;
		HASH_DEL(tips->table, tip);
		free(tip);
	}
}

void stack_tips_free(struct stack_tips *tips)
{
	if (!tips)
		return;
	stack_tips_forget(tips, UINT64_MAX);
	kernel_symbols_free(tips->symbols);
	free(tips);
}

static struct tip *find(const struct stack_tips *tips, uint64_t number)
{
	struct tip *tip;

	HASH_FIND(hh, tips->table, &number, sizeof(number), tip);
	return tip;
}

const struct stack_tip *stack_tips_find(const struct stack_tips *tips, uint64_t number)
{
	const struct tip *tip = find(tips, number);

	return tip ? &tip->told : NULL;
}

void stack_tips_keep(struct stack_tips *tips, uint64_t number, uint64_t window)
{
	struct tip *tip = find(tips, number);

	if (tip)
		tip->window = window;
}

static size_t text_bytes_of(const struct tip_names *natives)
{
	size_t bytes = 0;

	for (size_t i = 0; i < natives->count; i++)
		bytes += strlen(natives->names[i].label) + 1 + strlen(natives->names[i].path) + 1;
	return bytes;
}

static const char *copy_text(const char *text, char **room)
{
	const char *copy = strcpy(*room, text);

	*room += strlen(text) + 1;
	return copy;
}

/* Allocates a tip and all that it points to in one block. NULL: no memory. */
static struct tip *new_tip(const struct tip_message *message, const struct tip_names *natives)
{
	size_t native_bytes = natives->count * sizeof(struct tip_native);
	size_t message_bytes = offsetof(struct tip_message, kernel) +
			       message->kernel_count * sizeof(message->kernel[0]);
	struct tip *tip =
		malloc(sizeof(*tip) + native_bytes + message_bytes + text_bytes_of(natives));
	struct tip_native *native;
	char *texts;

	if (!tip)
		return NULL;
	native = (struct tip_native *)(tip + 1);
	texts = (char *)native + native_bytes + message_bytes;
	*tip = (struct tip){ .tip = message->tip,
			     .told = { .message = memcpy((char *)native + native_bytes, message,
							 message_bytes),
				       .natives = native,
				       .native_count = natives->count,
				       .end = natives->end } };
	for (size_t i = 0; i < natives->count; i++) {
		const struct native_name *name = &natives->names[i];

		native[i].name = copy_text(name->label, &texts);
		native[i].file = copy_text(name->path, &texts);
		native[i].is_ruby = name->is_ruby;
	}
	return tip;
}

int stack_tips_meet(struct stack_tips *tips, const struct tip_message *message,
		    const struct tip_names *natives, uint64_t window)
{
	struct tip *old = find(tips, message->tip), *tip;

	if (!old && HASH_COUNT(tips->table) >= TIPS_MAX)
		return -ENOSPC;
	tip = new_tip(message, natives);
	if (!tip)
		return -ENOMEM;
	tip->window = window;
	/* The name of the code at an address may have changed. */
	if (old) {
		HASH_DEL(tips->table, old);
		free(old);
	}
	HASH_ADD(hh, tips->table, tip, sizeof(tip->tip), tip);
	if (tip->hh.tbl)
		return 0;
	free(tip);
	return -ENOMEM;
}

static void read_kernel(struct stack_tips *tips)
{
	int r;

	tips->modules_ns = clock_monotonic_ns();
	tips->modules = kernel_symbols_running_modules();
	r = kernel_symbols_read_running(tips->symbols);
	tips->is_hidden = r < 0;
	if (r == -EPERM)
		log_warning("frames of the kernel have no names: /proc/kallsyms hides its "
			    "addresses (sysctl kernel.kptr_restrict is not 0, and CAP_SYSLOG is "
			    "missing)");
	else if (r < 0)
		log_warning("frames of the kernel have no names: cannot read /proc/kallsyms: %s",
			    strerror(-r));
}

bool stack_tips_have_kernel(struct stack_tips *tips)
{
	if (!tips->symbols && !tips->is_hidden) {
		tips->symbols = kernel_symbols_new();
		if (tips->symbols)
			read_kernel(tips);
	}
	return tips->symbols && !tips->is_hidden;
}

/* Reads the names again if a module was loaded, maybe in another one's place, or unloaded. */
static void follow_modules(struct stack_tips *tips)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - tips->modules_ns < MODULES_PAUSE_NS)
		return;
	tips->modules_ns = now_ns;
	if (kernel_symbols_running_modules() != tips->modules)
		read_kernel(tips);
}

void stack_tips_name_kernel(struct stack_tips *tips, const struct tip_message *message,
			    uint32_t number, char ret_name[static KERNEL_NAME_BYTES])
{
	/* A call that is the function's last instruction returns behind the function. */
	uint64_t address = message->kernel[number] - (number > 0);

	if (stack_tips_have_kernel(tips) && kernel_symbols_is_movable(tips->symbols, address))
		follow_modules(tips);
	if (!stack_tips_have_kernel(tips) ||
	    kernel_symbols_find(tips->symbols, address, ret_name) < 0)
		(void)strcpy(ret_name, FRAME_UNKNOWN);
}

uint32_t stack_tips_count_lookers(struct stack_tips *tips, const struct tip_message *message)
{
	char name[KERNEL_NAME_BYTES];

	for (uint32_t i = 0; i < message->kernel_count; i++) {
		stack_tips_name_kernel(tips, message, i, name);
		if (strcmp(name, "__schedule") == 0)
			return i;
	}
	return 0;
}
