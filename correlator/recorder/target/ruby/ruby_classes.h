/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the members of classes, from classes whose names are known and their singleton classes:
 * part of ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include "recorder/target/ruby/ruby_evidence.h"

/* Adds the evidence for these members. */
void ruby_classes_look(struct ruby_evidence *evidence, const struct ruby_behaviour_hints *hints);
