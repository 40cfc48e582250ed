/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members of an iseq's body, by what must hold of all those that frames run: part of
 * ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include "recorder/target/ruby/ruby_vm_frames.h"

/* Adds what is seen of them, and of the frames' program counters; and how many there are. */
void ruby_iseqs_look(struct ruby_evidence *evidence, const struct ruby_vm_frames *frames);
