/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel programs themselves, compiled natively, over maps, tasks, run queues and user memory
 * that say what is so in the world.
 */
#pragma once

#include "ledger.h"
#include "world.h"

/* The threads that are to be observed come to be. */
void machine_begin(const struct world *world);
void machine_meet(const struct world *world, const struct happening *happening);
/* After a drain: what userspace finds in the maps of the window that has ended. */
void machine_drain(const struct world *world, struct ledger *ret);
