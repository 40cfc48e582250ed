/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members of method entries and their definitions, by what must hold of those of frames: part
 * of ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include "recorder/target/ruby/ruby_vm_frames.h"

/* Adds what is seen of them. */
void ruby_methods_look(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames);
