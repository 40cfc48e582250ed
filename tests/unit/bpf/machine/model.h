/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The books by the rule of bpf/README.md, slowly: what happened to each thread is kept as a list of
 * intervals, and summed up once it is clear whose they are.
 */
#pragma once

#include "ledger.h"
#include "world.h"

void model_begin(const struct world *world);
void model_meet(const struct world *world, const struct happening *happening);
void model_drain(const struct world *world, struct ledger *ret);
