/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the members of method entries and their definitions, by invariants of those that frames
 * have: part of ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include "recorder/target/ruby/ruby_vm_frames.h"

/* Adds the evidence for these members. */
void ruby_methods_look(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames);
