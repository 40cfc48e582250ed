/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the members of an iseq's body, by invariants of all iseqs that frames run: part of
 * ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include "recorder/target/ruby/ruby_vm_frames.h"

/* Adds the evidence for these members and the frames' program counters, and sets iseq_count. */
void ruby_iseqs_look(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames);
