/* SPDX-License-Identifier: MIT */
/*
 * What a fiber works for: a Ruby object that belongs to one fiber, which it names, and holds the
 * contexts that were put in force there, one over the other (frames), and below them the one that
 * it has borrowed from another fiber.
 *
 * A context is lent by the frame that it is in force in, not for itself: the loan is over when that
 * frame ends, whatever else the same State is in force in; and also when the fiber of the frame is
 * collected, since a fiber that is abandoned in the middle of a frame never ends it. Only a lease,
 * plain memory that both sides count, connects the two: a borrower keeps alive the State, and
 * neither the lender nor its fiber. In the child of a fork only the fiber that forked goes on
 * (cont.c, rb_fiber_atfork): its lender cannot end a frame there, and what it has borrowed is its
 * own.
 *
 * All functions want the GVL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ruby.h>

/*
 * Defines Correlator::Place, which has no methods, under the module `correlator`: it has a class,
 * since an application can come across one.
 */
void place_define(VALUE correlator);

/*
 * What is in a Place; valid as long as the object is alive, which is the caller's affair. By this
 * and not by the object other fibers name a lender: their stacks would keep it alive.
 */
struct place;

/* A Place of the fiber, where nothing is in force. May raise NoMemoryError. */
VALUE place_new(VALUE fiber);

/* What is in object, which may be any, if it is a Place that belongs to the fiber; else NULL. */
struct place *place_get(VALUE object, VALUE fiber);

VALUE place_object(const struct place *place);
VALUE place_fiber(const struct place *place);
/* From 1 on, never used again in a process; of NULL 0. */
uint64_t place_number(const struct place *place);

/* The State that is in force in a Place (NULL: none), nil if none. */
VALUE place_in_force(struct place *place);

/*
 * Puts state (a State, or nil for none) in force in a new frame. Returns how many frames there were
 * before. May raise NoMemoryError; then nothing has changed.
 */
size_t place_enter(struct place *place, VALUE state);

/* Ends all frames but the first ones. More than there are: nothing happens. */
void place_leave(struct place *place, size_t frames);

/* Puts state in the place of the last frame, which ends; as place_enter() if there is none. */
void place_replace(struct place *place, VALUE state);

/* Puts state in force instead of what is, without that anything ends. Something must be in force.
 */
void place_renew(struct place *place, VALUE state);

/*
 * Borrows what is in force in lender: it is in force in place, below its frames, until
 * the frame that it comes from ends. May raise NoMemoryError.
 */
void place_borrow(struct place *place, struct place *lender);

/* Keeps the loan that is in force now for good. Neither allocates nor raises. */
void place_keep_loan(struct place *place);
