/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the stack of frames of a Ruby thread: from an execution context, by a layout
 * (ruby_stack_layout.h), to an array of frames and a hash of them. Pure: the same text runs in the
 * kernel, in userspace, in the unit tests and under the fuzzer. Owns nothing. The target controls
 * every word: whatever is inconsistent becomes an unreadable frame, and everything is bounded.
 *
 * Frames are an array, so they are read in pieces of RUBY_FRAMES_PIECE_BYTES. More is read only for
 * frames without an iseq or pc (to find a C function's method), for compiled code, and with
 * tells_block_methods. Names are resolved in userspace, by recorder/symbolize/.
 *
 * Sources: rb_profile_frames() and rb_vm_frame_method_entry() (vm_backtrace.c, vm_insnhelper.c,
 * v2_7_4 to v4_0_1); for compiled code gen_push_frame() (yjit/src/codegen.rs, v3_3_8) and struct
 * zjit_jit_frame (zjit.h, 4.1dev).
 *
 * Memory is read by a macro, which is defined here for the kernel programs; others define it before
 * they include this file:
 *   RUBY_FRAMES_READ(walk, buffer, size_bytes, address)	0 = size_bytes bytes are in buffer
 */
#pragma once

#include <linux/types.h>

#include <correlator/context_hash.h>
#include <correlator/ruby_frame.h>
#include <correlator/ruby_stack_layout.h>

#ifdef __bpf__
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Does not fault pages in: what is not resident is unreadable. */
#define RUBY_FRAMES_READ(walk, buffer, size_bytes, address) \
	bpf_probe_read_user(buffer, size_bytes, (const void *)(address))
#endif

enum ruby_frames_limits {
	/* Frames walked: some are not shown, and a run of unreadable ones becomes one frame. */
	RUBY_FRAMES_STEPS_MAX = 2 * RUBY_FRAMES_MAX,
	RUBY_FRAMES_FRAME_BYTES_MAX = 128, /* size of a frame; 56 and 64 are known */
	RUBY_FRAMES_EPS_MAX = 10, /* nested blocks around a frame */
	/* VALUEs in a VM stack: 1 GiB. RUBY_THREAD_VM_STACK_SIZE is 1 MiB by default. */
	RUBY_FRAMES_STACK_WORDS_MAX = 1 << 27,
	/* How far a native stack can extend above the stack pointer: ulimit -s is 8 MiB. */
	RUBY_FRAMES_NATIVE_STACK_BYTES = 8 << 20,
};

struct ruby_frames_walk {
	/* Set by the caller. */
	const struct ruby_stack_layout *layout;
	const struct context_hash_key *key;
	__u64 execution_context; /* address of the thread's execution context */
	__u64 stack_pointer; /* in user mode; 0 = frames of compiled code are unreadable */
	const void *reader; /* for RUBY_FRAMES_READ only */
	struct ruby_frames *frames;
	/*
	 * Distinguishes and names methods that were made from the same block, at one more read for
	 * each frame. If 0, they are blocks of the place where they were written.
	 */
	__u32 tells_block_methods;
	/* Private to the walk. */
	__u64 next; /* address of the next frame */
	__u64 end; /* address of the frame above the outermost */
	__u32 piece_at; /* bytes of the piece used so far */
	__u32 piece_bytes;
	__u32 piece_bytes_max;
	__u32 is_in_gap; /* the last frame is RUBY_FRAME_UNREADABLE */
	struct context_hash_state hash;
};

/* The members of a frame that are read. */
struct ruby_control_frame {
	__u64 pc;
	__u64 iseq;
	__u64 ep;
	__u64 jit_return;
};

/* Whether pointer can be the address of an object or a frame: a user address above the immediate
 * VALUEs. */
static inline int ruby_frames_pointer_is_sane(__u64 pointer)
{
	return pointer >= 0x10000 && pointer < (1ULL << 56) && (pointer & 7) == 0;
}

static inline int ruby_frames_member_is_sane(const struct ruby_stack_layout *layout, __u32 offset)
{
	return (offset & 7) == 0 && offset < layout->frame_bytes;
}

/* Whether the layout has everything that a walk needs, and a piece can hold its frames. */
static inline int ruby_frames_layout_is_sane(const struct ruby_stack_layout *layout)
{
	return (layout->frame_bytes & 7) == 0 &&
	       layout->frame_bytes <= RUBY_FRAMES_FRAME_BYTES_MAX &&
	       ruby_frames_member_is_sane(layout, layout->frame_pc) &&
	       ruby_frames_member_is_sane(layout, layout->frame_iseq) &&
	       ruby_frames_member_is_sane(layout, layout->frame_ep) &&
	       (layout->frame_jit_return == RUBY_LAYOUT_UNKNOWN ||
		ruby_frames_member_is_sane(layout, layout->frame_jit_return)) &&
	       layout->execution_stack <= RUBY_LAYOUT_OFFSET_MAX &&
	       layout->execution_stack_words <= RUBY_LAYOUT_OFFSET_MAX &&
	       layout->execution_frame <= RUBY_LAYOUT_OFFSET_MAX;
}

/* Reads a word. Returns 0, and counts it, if the word cannot be read. */
static inline int ruby_frames_read_word(struct ruby_frames_walk *walk, __u64 address,
					__u64 *ret_word)
{
	if (RUBY_FRAMES_READ(walk, ret_word, sizeof(*ret_word), address)) {
		walk->frames->unreadable++;
		return 0;
	}
	return 1;
}

static inline void ruby_frames_put(struct ruby_frames_walk *walk, __u64 object_kind, __u64 pc,
				   __u64 ep)
{
	struct ruby_frames *frames = walk->frames;
	__u32 at = frames->count;
	struct ruby_frame *frame;

	/* For the verifier: the walk ends before that. */
	if (at >= RUBY_FRAMES_MAX)
		return;
	frame = &frames->frames[at];
	frame->object_kind = object_kind;
	frame->pc = pc;
	frame->method = ep;
	frames->count = at + 1;
	walk->is_in_gap = 0;
	context_hash_add(&walk->hash, object_kind);
	context_hash_add(&walk->hash, pc);
}

/* Adds one frame for a run of unreadable frames. */
static inline void ruby_frames_put_unreadable(struct ruby_frames_walk *walk)
{
	walk->frames->unreadable++;
	if (walk->is_in_gap)
		return;
	ruby_frames_put(walk, RUBY_FRAME_UNREADABLE, 0, 0);
	walk->is_in_gap = 1;
}

/*
 * Reads the first two words of the object at this address. Returns its imemo type; 0 = it is not an
 * imemo that matters here, or cannot be read.
 */
static inline __u32 ruby_frames_read_imemo(struct ruby_frames_walk *walk, __u64 object,
					   __u64 *ret_words)
{
	if (!ruby_frames_pointer_is_sane(object))
		return 0;
	if (RUBY_FRAMES_READ(walk, ret_words, 2 * sizeof(*ret_words), object)) {
		walk->frames->unreadable++;
		return 0;
	}
	if ((ret_words[0] & 0x1f) != RUBY_TYPE_IMEMO)
		return 0;
	return (__u32)(ret_words[0] >> RUBY_IMEMO_SHIFT) & RUBY_IMEMO_MASK;
}

/* Returns the method entry that ep[-2] leads to, maybe through the method's special variables; else
 * 0. */
static inline __u64 ruby_frames_check_method(struct ruby_frames_walk *walk, __u64 object,
					     int is_local)
{
	__u64 words[2]; /* flags; in an svar: cref_or_me */
	__u32 type = ruby_frames_read_imemo(walk, object, words);

	if (type == RUBY_IMEMO_SVAR && is_local) {
		object = words[1];
		type = ruby_frames_read_imemo(walk, object, words);
	}
	return type == RUBY_IMEMO_METHOD ? object : 0;
}

/*
 * Returns the method entry of a frame with this ep, plus the level (struct ruby_frame); 0 = it has
 * none, or it is not found. If a method's body is a block, the environments around that block are
 * not part of the method.
 */
static inline __u64 ruby_frames_find_method(struct ruby_frames_walk *walk, __u64 ep)
{
	__u64 words[3]; /* ep[-2]: method entry; ep[-1]: enclosing environment; ep[0]: flags */

	for (int i = 0; i <= RUBY_FRAMES_EPS_MAX; i++) {
		int is_local;
		__u64 method;

		if (!ruby_frames_pointer_is_sane(ep) ||
		    RUBY_FRAMES_READ(walk, words, sizeof(words), ep - 16)) {
			walk->frames->unreadable++;
			return 0;
		}
		is_local = (words[2] & RUBY_FRAME_IS_LOCAL) != 0;
		method = ruby_frames_check_method(walk, words[0], is_local);
		if (method && !is_local && walk->tells_block_methods)
			return method |
			       (__u64)(i < RUBY_METHOD_IS_DEEP ? i + 1 : RUBY_METHOD_IS_DEEP);
		if (method || is_local)
			return method;
		ep = words[1] & ~3ULL;
	}
	return 0;
}

/* Whether pc lies in the iseq's code. */
static inline int ruby_frames_pc_is_of(struct ruby_frames_walk *walk, __u64 iseq, __u64 pc)
{
	const struct ruby_stack_layout *layout = walk->layout;
	__u64 body, code;
	__u32 words;

	if (!ruby_frames_read_word(walk, iseq + layout->iseq_body, &body) ||
	    !ruby_frames_read_word(walk, body + layout->body_code, &code))
		return 0;
	if (RUBY_FRAMES_READ(walk, &words, sizeof(words), body + layout->body_code_words)) {
		walk->frames->unreadable++;
		return 0;
	}
	return pc >= code && pc - code <= (__u64)words * 8;
}

/*
 * ep[-2] of a C function's frame is its method entry: only a Ruby method has special variables. So
 * the object is not read here, but by the code that names it.
 */
static inline __u64 ruby_frames_find_c_method(struct ruby_frames_walk *walk, __u64 ep)
{
	__u64 words[3]; /* as in ruby_frames_find_method() */

	if (ruby_frames_pointer_is_sane(ep) &&
	    !RUBY_FRAMES_READ(walk, words, sizeof(words), ep - 16) &&
	    (words[2] & RUBY_FRAME_IS_LOCAL))
		return ruby_frames_pointer_is_sane(words[0]) ? words[0] : 0;
	return ruby_frames_find_method(walk, ep) & ~(__u64)RUBY_METHOD_LEVEL_MASK;
}

static inline void ruby_frames_add_c(struct ruby_frames_walk *walk, __u64 ep)
{
	ruby_frames_put(walk, ruby_frames_find_c_method(walk, ep) | RUBY_FRAME_C, 0, 0);
}

/*
 * Methods that were made from one block (define_method in a loop) share its iseq. They differ in
 * their method entries, which are in the frames' own environments.
 */
static inline void ruby_frames_add_block_method(struct ruby_frames_walk *walk, __u64 ep)
{
	__u64 words[3]; /* as in ruby_frames_find_method() */

	if (walk->tells_block_methods && ruby_frames_pointer_is_sane(ep) &&
	    !RUBY_FRAMES_READ(walk, words, sizeof(words), ep - 16) &&
	    (words[2] & RUBY_FRAME_IS_BLOCK_METHOD))
		context_hash_add(&walk->hash, words[0]);
}

static inline void ruby_frames_add_ruby(struct ruby_frames_walk *walk,
					const struct ruby_control_frame *control)
{
	__u32 kind = RUBY_FRAME_RUBY;
	__u64 pc = control->pc;

	if (!ruby_frames_pointer_is_sane(control->iseq)) {
		ruby_frames_put_unreadable(walk);
		return;
	}
	/* A frame that called another one has stored its pc. */
	if (control->jit_return && walk->frames->count == 0) {
		kind = RUBY_FRAME_COMPILED;
		if (!ruby_frames_pc_is_of(walk, control->iseq, pc))
			pc = 0;
	}
	ruby_frames_put(walk, control->iseq | kind, pc, control->ep);
	ruby_frames_add_block_method(walk, control->ep);
}

/*
 * jit_return with ZJIT: 1 in a C function's frame, else an address on the native stack; the word
 * below it is the address of {pc, iseq}, and the frame's own pc and iseq are stale. With YJIT: an
 * address in compiled code, and the frame's iseq is right. Returns whether the frame was added.
 */
static inline int ruby_frames_add_compiled(struct ruby_frames_walk *walk,
					   struct ruby_control_frame *control)
{
	__u64 jit_return = control->jit_return;
	__u64 address, words[2];

	if (jit_return == 1) {
		ruby_frames_add_c(walk, control->ep);
		return 1;
	}
	if (walk->stack_pointer &&
	    jit_return - walk->stack_pointer >= RUBY_FRAMES_NATIVE_STACK_BYTES)
		return 0;
	if (walk->stack_pointer && !(jit_return & 7) &&
	    !RUBY_FRAMES_READ(walk, &address, sizeof(address), jit_return - 8) &&
	    ruby_frames_pointer_is_sane(address) &&
	    !RUBY_FRAMES_READ(walk, words, sizeof(words), address)) {
		control->pc = words[0];
		control->iseq = words[1];
		return 0;
	}
	ruby_frames_put_unreadable(walk);
	return 1;
}

/*
 * A frame without an iseq is a C function's. With an iseq and a pc it is Ruby's: the interpreter
 * and compiled code give a C function's frame no pc (vm_push_frame() with 0). With an iseq and no
 * pc it can be either, and a C function's is then a block written in C, which Ruby does not show.
 */
static inline void ruby_frames_add(struct ruby_frames_walk *walk,
				   struct ruby_control_frame *control)
{
	__u64 flags;

	if (control->jit_return && ruby_frames_add_compiled(walk, control))
		return;
	if (!control->iseq) {
		ruby_frames_add_c(walk, control->ep);
		return;
	}
	if (!control->pc) {
		if (RUBY_FRAMES_READ(walk, &flags, sizeof(flags), control->ep)) {
			ruby_frames_put_unreadable(walk);
			return;
		}
		if (flags & RUBY_FRAME_IS_C)
			return;
	}
	ruby_frames_add_ruby(walk, control);
}

/* Reads as many of the next frames as fit into a piece; one at a time if some cannot be read. */
static inline int ruby_frames_fill(struct ruby_frames_walk *walk)
{
	__u32 frame_bytes = walk->layout->frame_bytes;
	__u64 left = walk->end - walk->next;
	__u32 size_bytes = walk->piece_bytes_max;

	if (left < size_bytes)
		size_bytes = (__u32)left;
	/* For the verifier, as is the check of frame_bytes below. */
	if (size_bytes > RUBY_FRAMES_PIECE_BYTES)
		return 0;
	walk->piece_at = 0;
	walk->piece_bytes = size_bytes;
	if (!RUBY_FRAMES_READ(walk, walk->frames->piece, size_bytes, walk->next))
		return 1;
	if (size_bytes == frame_bytes || frame_bytes > RUBY_FRAMES_FRAME_BYTES_MAX)
		return 0;
	walk->piece_bytes_max = frame_bytes;
	walk->piece_bytes = frame_bytes;
	return !RUBY_FRAMES_READ(walk, walk->frames->piece, frame_bytes, walk->next);
}

static inline __u64 ruby_frames_piece_word(const struct ruby_frames_walk *walk, __u32 offset)
{
	__u32 at = (walk->piece_at + offset) / 8;

	return walk->frames->piece[at & (RUBY_FRAMES_PIECE_WORDS - 1)];
}

/* Adds one frame. Returns nonzero if there are no more. */
static long ruby_frames_step(__u32 number, void *context)
{
	struct ruby_frames_walk *walk = context;
	const struct ruby_stack_layout *layout = walk->layout;
	struct ruby_control_frame control = { 0 };

	(void)number;
	if (walk->next >= walk->end || walk->frames->count >= RUBY_FRAMES_MAX)
		return 1;
	if (walk->piece_at >= walk->piece_bytes && !ruby_frames_fill(walk)) {
		walk->piece_bytes = 0;
		ruby_frames_put_unreadable(walk);
		walk->next += layout->frame_bytes;
		return 0;
	}
	control.pc = ruby_frames_piece_word(walk, layout->frame_pc);
	control.iseq = ruby_frames_piece_word(walk, layout->frame_iseq);
	control.ep = ruby_frames_piece_word(walk, layout->frame_ep);
	if (layout->frame_jit_return != RUBY_LAYOUT_UNKNOWN)
		control.jit_return = ruby_frames_piece_word(walk, layout->frame_jit_return);
	ruby_frames_add(walk, &control);
	walk->piece_at += layout->frame_bytes;
	walk->next += layout->frame_bytes;
	return 0;
}

/* Calls step for 0, 1, ... until it is nonzero, up to count times; bpf_loop() is since 5.17. */
static inline void ruby_frames_repeat(__u32 count, long (*step)(__u32 number, void *walk),
				      struct ruby_frames_walk *walk)
{
#ifdef __bpf__
	(void)bpf_loop(count, step, walk, 0);
#else
	for (__u32 number = 0; number < count && step(number, walk) == 0;)
		number++;
#endif
}

/* Sets walk->next and walk->end. Returns 0 if there is no plausible stack. */
static inline int ruby_frames_find_bounds(struct ruby_frames_walk *walk)
{
	const struct ruby_stack_layout *layout = walk->layout;
	__u64 context = walk->execution_context;
	__u64 stack, words, end;

	if (!ruby_frames_layout_is_sane(layout) || !ruby_frames_pointer_is_sane(context) ||
	    RUBY_FRAMES_READ(walk, &stack, sizeof(stack), context + layout->execution_stack) ||
	    RUBY_FRAMES_READ(walk, &words, sizeof(words),
			     context + layout->execution_stack_words) ||
	    RUBY_FRAMES_READ(walk, &walk->next, sizeof(walk->next),
			     context + layout->execution_frame))
		return 0;
	if (!ruby_frames_pointer_is_sane(walk->next) || words > RUBY_FRAMES_STACK_WORDS_MAX)
		return 0;
	/* The outermost frame is a dummy. */
	end = stack + words * 8 - layout->frame_bytes;
	if (walk->next < stack || walk->next > end || (end - walk->next) % layout->frame_bytes != 0)
		return 0;
	walk->end = end;
	return 1;
}

static inline int ruby_frames_is_in_gc(struct ruby_frames_walk *walk)
{
	__u8 flags;

	return walk->layout->gc_flags_address &&
	       !RUBY_FRAMES_READ(walk, &flags, sizeof(flags), walk->layout->gc_flags_address) &&
	       (flags & walk->layout->gc_flags_mask);
}

/* Reads the thread's frames into walk->frames. The members set by the caller must be set. */
static inline void ruby_frames_walk(struct ruby_frames_walk *walk)
{
	struct ruby_frames *frames = walk->frames;

	frames->count = 0;
	frames->flags = 0;
	frames->unreadable = 0;
	context_hash_init(&walk->hash, walk->key);
	walk->piece_bytes = 0;
	walk->is_in_gap = 0;
	if (ruby_frames_is_in_gc(walk))
		ruby_frames_put(walk, RUBY_FRAME_GC, 0, 0);
	if (ruby_frames_find_bounds(walk)) {
		walk->piece_bytes_max = RUBY_FRAMES_PIECE_BYTES -
					RUBY_FRAMES_PIECE_BYTES % walk->layout->frame_bytes;
		ruby_frames_repeat(RUBY_FRAMES_STEPS_MAX, ruby_frames_step, walk);
		if (walk->next < walk->end)
			frames->flags |= RUBY_FRAMES_CUT;
	} else {
		frames->flags |= RUBY_FRAMES_TORN;
		ruby_frames_put_unreadable(walk);
	}
	context_hash_add(&walk->hash, frames->flags);
	frames->hash = context_hash_final(&walk->hash);
}

/*
 * Hashes the words of a method entry after its flags, which collections change: its class,
 * definition and called ID (method.h, rb_method_entry_struct).
 */
static inline void ruby_frames_add_method(struct ruby_frames_walk *walk, __u64 method)
{
	__u64 words[3] = { 0 };

	if (!method)
		return;
	if (RUBY_FRAMES_READ(walk, words, sizeof(words), method + 8))
		words[0] = words[1] = words[2] = 0;
	for (__u32 i = 0; i < 3; i++)
		context_hash_add(&walk->hash, words[i]);
}

/* Returns the method entry of a frame whose method was found. */
static inline __u64 ruby_frames_method_of(const struct ruby_frame *frame)
{
	return ruby_frame_kind(frame) == RUBY_FRAME_C ? ruby_frame_object(frame)
						      : ruby_frame_method(frame);
}

static inline void ruby_frames_begin_methods(struct ruby_frames_walk *walk)
{
	const struct context_hash_key key = { { walk->frames->hash, walk->frames->hash } };

	context_hash_init(&walk->hash, &key);
}

static long ruby_frames_method_step(__u32 number, void *context)
{
	struct ruby_frames_walk *walk = context;
	struct ruby_frame *frame;

	/* The first check is for the verifier. */
	if (number >= RUBY_FRAMES_MAX || number >= walk->frames->count)
		return 1;
	frame = &walk->frames->frames[number];
	if (ruby_frame_is_ruby(frame))
		frame->method = ruby_frames_find_method(walk, frame->method);
	ruby_frames_add_method(walk, ruby_frames_method_of(frame));
	return 0;
}

/*
 * After a walk: finds the methods of the Ruby frames, by three reads or more each, and hashes what
 * these are. A name has its class from the method. For a stack whose hash is known already, the
 * methods need not be found again.
 */
static inline void ruby_frames_find_methods(struct ruby_frames_walk *walk)
{
	ruby_frames_begin_methods(walk);
	ruby_frames_repeat(RUBY_FRAMES_MAX, ruby_frames_method_step, walk);
	walk->frames->methods = context_hash_final(&walk->hash);
}

/* Whether the methods that were found are still the same ones, at the same addresses. */
static inline int ruby_frames_have_same_methods(struct ruby_frames_walk *walk)
{
	ruby_frames_begin_methods(walk);
	for (__u32 i = 0; i < walk->frames->count; i++)
		ruby_frames_add_method(walk, ruby_frames_method_of(&walk->frames->frames[i]));
	return context_hash_final(&walk->hash) == walk->frames->methods;
}
