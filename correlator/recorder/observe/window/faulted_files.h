/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that threads waited for in page faults: the kernel side has device and inode, and their
 * paths are those of the process's mappings. Single thread; does not log.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/stall.h>

#include "recorder/observe/process/observed.h"
#include "recorder/target/proc/memory_map.h"

/*
 * The path of the mapped file with this inode, on a device as struct stall has it. Borrowed from
 * the map; NULL: none is mapped, or it has several names. Since 6.7 maps have the device of an
 * overlayfs and not that of the file in its layer, whose inode number it shows if its layers are on
 * one file system (show_map_vma(), fs/proc/task_mmu.c; ovl_map_ino(), fs/overlayfs/inode.c,
 * v6.18): then the number alone decides.
 */
const char *faulted_file_path(const struct memory_map *map, uint64_t inode, uint32_t device);

/*
 * Puts into names, as one text, the path of each file of a page fault (STALL_OBJECT_MAPPED); one
 * that is too long loses its beginning, after "...". Without a path (the process has ended, its
 * mappings cannot be read, or none is the file's) names stay empty. Reads /proc/PID/maps once for
 * each process with such stalls, which counts as a look at its family (look_budget.h): there may be
 * none left.
 */
void faulted_files_name(struct stall *stalls, size_t count, const struct observed_table *processes);
