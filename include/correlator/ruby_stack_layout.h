/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where one process's Ruby (CRuby 2.7 to 4.1, 64-bit) keeps a thread's stack of frames, and the
 * names of these. Found by recorder/target/ruby, read by the kernel programs and by the code that
 * resolves names. All offsets are in bytes from the start of the structure that the group names;
 * all addresses are in the process. The target controls the memory there: bound whatever is read.
 * Every __u32 can be RUBY_LAYOUT_UNKNOWN, every address 0: not known, and whatever depends on it is
 * not available. In a layout from ruby_stack_finder_find(), the groups "thread-local", execution
 * context, frame, iseq and the first seven of its body are known; the others may not be.
 *
 * Sources: CRuby's vm_core.h (rb_execution_context_t, rb_thread_t, rb_control_frame_t,
 * rb_iseq_constant_body), iseq.h, method.h, internal/class.h and gc.c, v2_7_4 to v4_0_1. The values
 * in brackets are those of builds that were decoded on x86-64; the code relies on none of them.
 *
 * A walk: the pointer at execution_tls (or execution_global) is the execution context. The frames
 * are an array that grows downwards: the innermost one is at execution_frame, each caller
 * frame_bytes above it, and the outermost one, with a dummy frame above it, at
 *	stack + 8 * stack words - 2 * frame_bytes
 * A frame without an iseq, or with bit 0x80 (VM_FRAME_FLAG_CFRAME) of ep[0] set, is a C function's:
 * its pc means nothing. Its method entry is in ep[-2], see vm_frame_method_entry() of
 * vm_insnhelper.c.
 */
#pragma once

#include <linux/types.h>

#include <correlator/config.h>

enum {
	RUBY_LAYOUT_UNKNOWN = 0xffff, /* as an offset, a size, a mask or a kind below */
	RUBY_LAYOUT_OFFSET_MAX = 0x7fff, /* no known offset is larger */
};

/* Constants that are the same in all versions. */
enum ruby_stack_constants {
	RUBY_FRAME_IS_C = 0x80, /* in ep[0]: VM_FRAME_FLAG_CFRAME */
	RUBY_FRAME_IS_BLOCK_METHOD = 0x40, /* in ep[0]: VM_FRAME_FLAG_BMETHOD */
	RUBY_FRAME_IS_LOCAL = 0x02, /* in ep[0]: VM_ENV_FLAG_LOCAL; without it ep[-1] & ~3 is the ep
				       of the enclosing environment */
	RUBY_ISEQ_METHOD = 1, /* body_type: ISEQ_TYPE_METHOD */
	RUBY_ISEQ_BLOCK = 2,
	RUBY_DEFINITION_ISEQ = 0, /* definition_type: VM_METHOD_TYPE_ISEQ */
	RUBY_DEFINITION_C = 1,
	RUBY_DEFINITION_BLOCK = 4, /* VM_METHOD_TYPE_BMETHOD: define_method */
	RUBY_IMEMO_SHIFT = 12, /* flags >> 12 & 0xf of a T_IMEMO (imemo.h) */
	RUBY_IMEMO_MASK = 0xf,
	RUBY_IMEMO_SVAR = 2, /* its cref or method entry is at 8 */
	RUBY_IMEMO_METHOD = 6,
	RUBY_IMEMO_ISEQ = 7,
	/*
	 * Flag of an object that a collection found in use; nothing else sets it
	 * (RUBY_FL_PROMOTED0; since 3.3 RUBY_FL_PROMOTED, which takes three collections or an old
	 * object that refers to it; fl_type.h, gc.c).
	 */
	RUBY_OBJECT_SURVIVED = 0x20,
	/* Bits of the byte at gc_flags_address (gc.c, struct rb_objspace), if gc_flags_mask is the
	 * first: */
	RUBY_GC_IS_ON = 0x20, /* during_gc */
	RUBY_GC_IS_COMPACTING = 0x40, /* during_compacting */
	RUBY_GC_MODE_MASK = 0x03, /* enum gc_mode */
	RUBY_GC_MODE_NONE = 0,
	RUBY_GC_MODE_MARKING = 1,
	RUBY_GC_MODE_SWEEPING = 2,
	RUBY_TYPE_CLASS = 0x02, /* flags & 0x1f (value_type.h) */
	RUBY_TYPE_MODULE = 0x03,
	RUBY_TYPE_IMEMO = 0x1a,
	RUBY_TYPE_ICLASS = 0x1c,
};

/* How body_first_line is stored. */
enum ruby_first_line {
	RUBY_FIRST_LINE_VALUE = 1, /* a Fixnum, 2 * line + 1, in 8 bytes: until 3.1 */
	RUBY_FIRST_LINE_INT = 2, /* 4 bytes: since 3.2 */
};

/* How to find the line-table entry for a position in the code. */
enum ruby_line_positions {
	RUBY_LINE_POSITIONS_LIST = 1, /* one u32 per entry at body_line_positions, ascending */
	/*
	 * struct succ_index_table at body_line_positions (iseq.c, since 2.6). The entry of position
	 * pos is number rank - 1:
	 *   pos < 54   rank = imm_part[pos / 9] >> (7 * (pos % 9)) & 0x7f; imm_part: six u64 at 0
	 *   else       in block (pos - 54) / 512, of 80 bytes each, from 48 on: {u32 rank, at 8 u64
	 *              of seven 9-bit ranks of the words after the first, at 16 u64 bits[8]}: rank
	 *              plus the word's rank plus the word's bits set up to and with that of pos
	 */
	RUBY_LINE_POSITIONS_SUCCINCT = 2,
};

struct ruby_stack_layout {
	/*
	 * Thread-local: where the pointer to the running fiber's execution context is.
	 * ruby_current_ec (vm_core.h) since 3.0; until 2.7 a plain variable of the process,
	 * ruby_current_execution_context_ptr, which is only that of the thread with the GVL.
	 */
	struct tls_location execution_tls; /* TLS_MODEL_NONE: not known, or execution_global */
	__u64 execution_global; /* 0 = it is thread-local */

	/* GC (gc.c, rb_objspace): in the process's one object space. */
	__u64 gc_flags_address; /* of the byte that gc_flags_mask is for */
	__u64 gc_count_address; /* of the count of collections, a u64: objspace->profile.count */
	__u64 image; /* the image it is for (life.h); set when it is put in the map */
	__u64 vm_pointer_address; /* of rb_vm_t *ruby_current_vm_ptr */
	/* The code of the file with Ruby's interpreter; set when a sample was first met there. */
	__u64 code_begin, code_end;

	__u32 gc_flags_mask; /* bit of the byte that is set during a collection [0x20] */
	__u32 string_layout; /* enum string_layout */

	/* rb_execution_context_t, vm_core.h */
	__u32 execution_stack; /* VALUE *vm_stack: its lowest address [0] */
	__u32 execution_stack_words; /* size_t vm_stack_size: in 8-byte words [8] */
	__u32 execution_frame; /* rb_control_frame_t *cfp: the innermost [0x10] */
	__u32 execution_thread; /* rb_thread_t *thread_ptr [0x38; since 3.0 0x30] */

	/* rb_thread_t, vm_core.h */
	__u32 thread_self; /* VALUE of the Thread [0x10] */
	/*
	 * pthread_t, which is the thread pointer on x86-64: tells whose context execution_global
	 * is. thread_id, 2.7; not looked for if there is a thread-local.
	 */
	__u32 thread_native_id;

	/* rb_control_frame_t, vm_core.h */
	__u32 frame_bytes; /* size of a frame [56; 3.1 and 3.2 64] */
	__u32 frame_pc; /* VALUE *pc: after the running instruction [0] */
	__u32 frame_sp; /* VALUE *sp [8] */
	__u32 frame_iseq; /* rb_iseq_t *iseq, 0 in a C function [0x10] */
	__u32 frame_self; /* VALUE self [0x18] */
	__u32 frame_ep; /* VALUE *ep [0x20] */
	/* void *jit_return; unknown if there is none: until 3.0 [3.1, 3.2 0x38; since 3.3 0x30] */
	__u32 frame_jit_return;

	/* rb_iseq_t, vm_core.h: flags & 0x1f is T_IMEMO, (flags >> 12) & 0xf is imemo_iseq, 7 */
	__u32 iseq_body; /* struct rb_iseq_constant_body *body [0x10] */

	/* struct rb_iseq_constant_body, vm_core.h */
	__u32 body_type; /* u32 enum rb_iseq_type: 1 method, 2 block [0] */
	__u32 body_code_words; /* u32 iseq_size [4] */
	__u32 body_code; /* VALUE *iseq_encoded [8] */
	__u32 body_path; /* VALUE location.pathobj: String, or Array [path, real path] [0x40] */
	__u32 body_base_label; /* VALUE location.base_label: String, of the method [0x48] */
	__u32 body_label; /* VALUE location.label: String, "block in ..." [0x50] */
	__u32 body_first_line; /* location.first_lineno [0x58] */
	__u32 body_first_line_kind; /* enum ruby_first_line */
	__u32 body_parent; /* rb_iseq_t *parent_iseq: the iseq around a block; 0 = none */
	__u32 body_local; /* rb_iseq_t *local_iseq: the method around it [0xb0; since 3.3 0xa8] */
	__u32 body_lines; /* struct iseq_insn_info_entry *insns_info.body */
	__u32 body_line_count; /* u32 insns_info.size: 1 = the single entry is for all positions */
	__u32 body_line_positions; /* insns_info.positions, or .succ_index_table */
	__u32 line_positions_kind; /* enum ruby_line_positions */
	/* struct iseq_insn_info_entry, iseq.h: int line_no at 0 */
	__u32 line_entry_bytes; /* [8; since 3.1 12] */

	/* rb_callable_method_entry_t, method.h: an imemo of type imemo_ment, 6 */
	__u32 method_class; /* VALUE defined_class: a class, or an iclass (T_ICLASS) [8] */
	__u32 method_definition; /* struct rb_method_definition_struct *def [0x10] */
	__u32 method_called_id; /* ID called_id: the name it was called by [0x18] */

	/* struct rb_method_definition_struct, method.h */
	__u32 definition_type; /* u32, see the mask; 0 iseq, 1 C function [0] */
	__u32 definition_type_mask; /* [0xf] */
	__u32 definition_original_id; /* ID original_id [0x20] */

	/* struct RClass, rb_classext_t, internal/class.h; in an iclass, klass (8) is the module */
	__u32 class_path; /* VALUE classpath: String, 0 = no name; since 3.3 */
	__u32 class_singleton_mask; /* flag of a singleton [3.3 0x1000, 3.4 0x2000]; since 3.3 */
	__u32 class_attached; /* VALUE attached_object of a singleton class; since 3.3 */

	/* rb_vm_t and struct rb_objspace: offsets that the addresses of GC were computed from */
	__u32 vm_object_space; /* struct rb_objspace * [4.0 0x4e0] */
	__u32 object_space_flags; /* [4.0 0x1c] */
	__u32 object_space_count; /* size_t profile.count [4.0 0x418] */
	__u32 reserved;
};

_Static_assert(sizeof(struct ruby_stack_layout) == 32 + 7 * 8 + 44 * 4, "layout");
