/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads all kernel programs in each mode (recorder/probe/load_modes.h), and prints a line for each.
 * As process 1 of a guest, of which it is the only file, it mounts what it needs first, and turns
 * the machine off at the end. Exit status: 0, or 1 if the kernel refused a program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "recorder/probe/load.h"
#include "recorder/probe/load_modes.h"

static void mount_at(const char *type, const char *path)
{
	(void)mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL))
		(void)printf("loads: cannot mount %s: %s\n", path, strerror(errno));
}

static int load(const struct load_mode *mode)
{
	struct refusal refusal = { 0 };
	int r = load_try(&mode->options, &refusal);

	if (r == 0) {
		(void)printf("loads: ok %s\n", mode->name);
		return 0;
	}
	(void)printf("loads: REFUSED %s: %s: %s\n", mode->name, refusal.program, strerror(-r));
	for (size_t i = 0; i < REFUSAL_LINES_MAX && refusal.lines[i][0]; i++)
		(void)printf("  %s\n", refusal.lines[i]);
	return 1;
}

static int load_each(void)
{
	struct load_mode modes[2 * LOAD_MODES_MAX];
	struct kernel_offers kernel;
	size_t count;
	int refused = 0;

	features_ask_kernel(&kernel);
	count = load_modes_basic(&kernel, modes);
	count += load_modes_with_modules(&kernel, modes + count);
	for (size_t i = 0; i < count; i++)
		refused += load(&modes[i]);
	(void)printf("loads: %zu modes, %d refused\n", count, refused);
	return refused;
}

int main(void)
{
	struct utsname machine;
	int refused;

	setlinebuf(stdout);
	if (getpid() == 1) {
		mount_at("proc", "/proc");
		mount_at("sysfs", "/sys");
		mount_at("tracefs", "/sys/kernel/tracing");
	}
	if (uname(&machine) == 0)
		(void)printf("loads: Linux %s %s\n", machine.release, machine.machine);
	refused = load_each();
	if (getpid() == 1)
		(void)reboot(RB_AUTOBOOT);
	return refused != 0;
}
