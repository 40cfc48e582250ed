/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "recorder/target/proc/living_thread.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/proc/proc_file.h"

enum {
	STAT_BYTES = 1024,
	STATUS_BYTES_MAX = 1024 * 1024, /* Groups: may list 65536 of them */
	COMMAND_LINE_BYTES = 4096,
	ENVIRONMENT_BYTES = 256 * 1024,
};

/* A leader that has exited shows as a zombie while its other threads run on. */
static bool is_gone(char state, long thread_count)
{
	return state == 'X' || (state == 'Z' && thread_count <= 1);
}

/* Parses /proc/PID/stat of a process or a thread. 0, -EINVAL, -errno. */
static int read_stat(pid_t pid, struct process_info *info, char *ret_state, long *ret_thread_count)
{
	struct process_program *program = &info->program;
	char text[STAT_BYTES];
	ssize_t size_bytes = proc_file_read_head(pid, "stat", text, sizeof(text));
	const char *comm, *comm_end;

	if (size_bytes < 0)
		return (int)size_bytes;
	/* comm may hold spaces and parentheses: fields are counted from its last ')'. */
	comm = strchr(text, '(');
	comm_end = strrchr(text, ')');
	if (!comm || !comm_end || comm_end < comm ||
	    sscanf(comm_end + 1,
		   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d "
		   "%" SCNu64 " %*u %*d %*u %" SCNu64 " %" SCNu64 " %" SCNu64,
		   ret_state, &info->parent_pid, ret_thread_count, &info->start_ticks,
		   &program->code_start, &program->code_end, &program->stack_start) != 7)
		return -EINVAL;
	comm++;
	(void)snprintf(info->comm, sizeof(info->comm), "%.*s", (int)(comm_end - comm), comm);
	return 0;
}

int process_glance(pid_t pid, struct process_info *ret_info)
{
	struct process_info info = { .pid = pid, .effective_uid = (uid_t)-1 }, living;
	long thread_count;
	char state;
	int r = read_stat(pid, &info, &state, &thread_count);

	if (r < 0)
		return r;
	if (is_gone(state, thread_count))
		return -ESRCH;
	/* The threads of a leader that has exited still run its program. */
	if (state == 'Z' && read_stat(living_thread_of(pid), &living, &state, &thread_count) == 0)
		info.program = living.program;
	*ret_info = info;
	return 0;
}

pid_t process_of_thread(pid_t tid)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	size_t size_bytes;
	long tgid = 0;

	if (proc_file_read(tid, "status", STATUS_BYTES_MAX, &text, &size_bytes) < 0)
		return 0;
	line = strstr(text, "\nTgid:");
	if (line)
		tgid = strtol(line + strlen("\nTgid:"), NULL, 10);
	return tgid == tid ? 0 : (pid_t)tgid;
}

bool process_is_same_program(const struct process_program *a, const struct process_program *b)
{
	return a->code_start == b->code_start && a->code_end == b->code_end &&
	       a->stack_start == b->stack_start;
}

int process_read_info(pid_t pid, struct process_info *ret_info)
{
	_cleanup_free_ char *text = NULL;
	struct process_info info;
	size_t size_bytes;
	const char *line;
	int r = process_glance(pid, &info);

	if (r == 0)
		r = proc_file_read(pid, "status", STATUS_BYTES_MAX, &text, &size_bytes);
	if (r < 0)
		return r;
	line = strstr(text, "\nTgid:");
	if (line && strtol(line + strlen("\nTgid:"), NULL, 10) != pid)
		return -ESRCH;
	info.ns_pid = (uint32_t)pid;
	line = strstr(text, "\nUid:");
	if (line)
		(void)sscanf(line, "\nUid: %*u %u", &info.effective_uid);
	line = strstr(text, "\nNSpid:");
	if (line) {
		char *next = (char *)(uintptr_t)line + strlen("\nNSpid:");

		while (*next == '\t' || *next == ' ')
			info.ns_pid = (uint32_t)strtoul(next, &next, 10);
	}
	*ret_info = info;
	return 0;
}

struct family_pair {
	pid_t parent_pid;
	pid_t pid;
};

static int compare_pairs(const void *left, const void *right)
{
	const struct family_pair *a = left;
	const struct family_pair *b = right;

	if (a->parent_pid != b->parent_pid)
		return a->parent_pid < b->parent_pid ? -1 : 1;
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static size_t read_pairs(const pid_t *pids, size_t count, struct family_pair *pairs)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		struct process_info info;

		if (process_glance(pids[i], &info) == 0)
			pairs[used++] = (struct family_pair){ info.parent_pid, pids[i] };
	}
	qsort(pairs, used, sizeof(*pairs), compare_pairs);
	return used;
}

static size_t first_child(const struct family_pair *pairs, size_t count, pid_t parent_pid)
{
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pairs[middle].parent_pid < parent_pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int process_find_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count)
{
	_cleanup_free_ struct family_pair *pairs = NULL;
	_cleanup_free_ pid_t *pids = NULL;
	pid_t parent_pid = pid, own_pid = getpid();
	size_t found = 0;
	size_t count;
	int r = proc_file_list_ids("/proc", &pids, &count);

	if (r < 0)
		return r;
	pairs = calloc(count + 1, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	count = read_pairs(pids, count, pairs);
	/* Each pid stands in one pair, so the list, read as a queue, cannot outgrow the pairs. */
	for (size_t next = 0;; parent_pid = pids[next++]) {
		size_t i = first_child(pairs, count, parent_pid);

		for (; i < count && pairs[i].parent_pid == parent_pid; i++)
			if (pairs[i].pid != pid && pairs[i].pid != own_pid)
				pids[found++] = pairs[i].pid;
		if (next == found)
			break;
	}
	*ret_pids = TAKE_PTR(pids);
	*ret_count = found;
	return 0;
}

/* Looks at the first word only: a title may hold a URL, as "puma 6.0 (tcp://localhost:3000)". */
static const char *base_name(const char *path)
{
	const char *slash = memrchr(path, '/', strcspn(path, " "));

	return slash ? slash + 1 : path;
}

/* The name must end at a separator: "puma: cluster worker 0", "resque-2.4", "unicorn_rails". */
static const char *match_server(const char *word)
{
	static const char *const servers[] = { "puma",	 "falcon",    "unicorn", "sidekiq",
					       "resque", "passenger", "rails" };

	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		size_t length = strlen(servers[i]);

		if (strncasecmp(word, servers[i], length) == 0 &&
		    (!word[length] || strchr(" :-_[.", word[length])))
			return servers[i];
	}
	return NULL;
}

static bool has_prefix(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* A program or a word of `bundle exec` in front of the script's name. */
static bool is_launcher(const char *name)
{
	return has_prefix(name, "ruby") || has_prefix(name, "bundle") || strcmp(name, "exec") == 0;
}

static bool takes_value(const char *option)
{
	return strcmp(option, "-I") == 0 || strcmp(option, "-r") == 0 || strcmp(option, "-C") == 0;
}

const char *process_server_name_of(const char *command_line, size_t size_bytes)
{
	char text[COMMAND_LINE_BYTES + 1];
	size_t at = 0;

	if (size_bytes > COMMAND_LINE_BYTES)
		size_bytes = COMMAND_LINE_BYTES;
	if (size_bytes > 0)
		memcpy(text, command_line, size_bytes);
	text[size_bytes] = '\0';
	while (at < size_bytes) {
		const char *word = text + at;

		at += strlen(word) + 1;
		/* Code and its arguments follow, not a script. */
		if (strcmp(word, "-e") == 0)
			return NULL;
		if (takes_value(word) && at < size_bytes)
			at += strlen(text + at) + 1;
		else if (word[0] != '-' && !is_launcher(base_name(word)))
			return match_server(base_name(word));
	}
	return NULL;
}

/* Field `number` of /proc/PID/stat, counted as proc_pid_stat(5) does; 0 = it is not there. */
static uint64_t stat_field(const char *text, int number)
{
	const char *field = strrchr(text, ')');

	for (int at = 2; field && at < number; at++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}

/* Location of a process's arguments or environment: field numbers of its stat. */
enum process_text {
	TEXT_ARGUMENTS = 48,
	TEXT_ENVIRONMENT = 50,
};

/*
 * Reads at most room bytes; returns their number, or -errno. Avoids /proc/PID/cmdline and environ:
 * these read the process's memory, too, and may block forever.
 */
static ssize_t read_text(pid_t pid, enum process_text kind, char *buffer, size_t room)
{
	struct memory_reader reader = memory_reader_of_process(pid);
	char stat[STAT_BYTES];
	uint64_t start, end, size_bytes;
	ssize_t got = proc_file_read_head(pid, "stat", stat, sizeof(stat));
	int r;

	/* For a leader that has exited, its threads still show the field. */
	if (got >= 0 && !stat_field(stat, (int)kind))
		got = proc_file_read_head(living_thread_of(pid), "stat", stat, sizeof(stat));
	if (got < 0)
		return got;
	start = stat_field(stat, (int)kind);
	end = stat_field(stat, (int)kind + 1);
	if (!start || end <= start)
		return -ENOENT;
	size_bytes = end - start < room ? end - start : room;
	r = memory_read(&reader, start, buffer, size_bytes);
	return r < 0 ? r : (ssize_t)size_bytes;
}

const char *process_server_name(pid_t pid)
{
	char text[COMMAND_LINE_BYTES];
	ssize_t size_bytes = read_text(pid, TEXT_ARGUMENTS, text, sizeof(text));

	return size_bytes < 0 ? NULL : process_server_name_of(text, (size_t)size_bytes);
}

int process_read_variable(pid_t pid, const char *name, char *ret_value, size_t value_bytes)
{
	_cleanup_free_ char *text = calloc(1, ENVIRONMENT_BYTES + 1);
	size_t name_bytes = strlen(name);
	ssize_t size_bytes;

	if (!text)
		return -ENOMEM;
	size_bytes = read_text(pid, TEXT_ENVIRONMENT, text, ENVIRONMENT_BYTES);
	if (size_bytes < 0)
		return (int)size_bytes;
	for (const char *word = text; word < text + size_bytes; word += strlen(word) + 1) {
		const char *value = word + name_bytes + 1;

		/* Skips a value without its terminating NUL: it was truncated. */
		if (!has_prefix(word, name) || word[name_bytes] != '=' ||
		    strlen(value) >= value_bytes || value + strlen(value) == text + size_bytes)
			continue;
		memcpy(ret_value, value, strlen(value) + 1);
		return 0;
	}
	return -ENOENT;
}
