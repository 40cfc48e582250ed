/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one schema of the records: a table of all kinds and their fields. The structs (record.h), the
 * encoder, the field names for readers, the names that no key may have, and the reference in
 * README.md derive from it; tests compare the rest with it.
 *
 * X(TYPE, member, "field", PRESENCE, "unit", "what it means")
 *
 * TYPE is the type of the member, and how it is encoded:
 *   U32, U64   an integer; above 2^63-1 it is encoded as 2^63-1
 *   S64        an integer that may be negative
 *   WALL       U64, wall clock, from which readers subtract clock_set_ns (record_view_steady)
 *   BOOL       true or false
 *   TEXT       text, borrowed, NUL-terminated; escaped where it is not clean UTF-8
 *   EVENT      enum process_event, by its name
 *   MODE       enum watch_mode, by its name
 *   TEXTS      a list of texts: member and member_count
 *   SWITCH     not encoded: a bool that decides whether other fields are
 *   KEYS       the configured keys, each under its own name: member and member_count
 *   FLAGS      a list of names of enum cpu_record_flags; left out when it is empty
 *   COUNTERS   each counter of correlator/counters.h, under its name
 *   FILL       map entries in use, and as field_max the map's capacity; limit 0 = left out
 *   PROGRAMS   bpf_NAME_runs and bpf_NAME_ns of each kernel program: member and member_count
 *   DELIVERY   delivery statistics (struct delivery_figures)
 *
 * PRESENCE: ALWAYS; KNOWN: left out when it is 0 or NULL, which means not known; IF(member): when
 * that SWITCH or BOOL is true. "Not measured" is never 0.
 *
 * Times are nanoseconds; EventTime and wall clocks are CLOCK_REALTIME. The distance between
 * EventTimes, or times of type WALL, of two records is exact after subtracting each record's
 * clock_set_ns.
 */
#pragma once

/* X(KIND, name, "what it is"): struct NAME_record, "kind": "NAME", RECORD_NAME_FIELDS. */
#define RECORD_KINDS(X)                                                                            \
	X(META, meta,                                                                              \
	  "what holds from here on: the first record, and again whenever the mode changes")        \
	X(PROCESS, process,                                                                        \
	  "a process was found, forked, ran another program, loaded or unloaded "                  \
	  "what publishes, is watched more or less closely, or ended")                             \
	X(CPU, cpu, "one thread in one context in one window")                                     \
	X(SLICE, slice, "what one thread did from one boundary to the next; only with --timeline") \
	X(STACK, stack,                                                                            \
	  "a frame, and by parent_id those that called it, outermost last; only with --stacks, "   \
	  "and before the samples that name it")                                                   \
	X(SAMPLE, sample,                                                                          \
	  "how often one thread in one context was seen in one stack in one window, or, with "     \
	  "--stacks=off-cpu, how long it waited there; only with --stacks")                        \
	X(SYSCALL, syscall,                                                                        \
	  "how often one thread in one context made a system call in one window; only with "       \
	  "--syscalls")                                                                            \
	X(IO, io,                                                                                  \
	  "what one thread in one context read and wrote by system calls, by kind of file and "    \
	  "peer, in one window; only with --io")                                                   \
	X(STALL, stall,                                                                            \
	  "a long wait of one thread in one context, or a fiber that kept its thread for long, "   \
	  "written when it is over; only with --stall")                                            \
	X(BALANCE, balance,                                                                        \
	  "the books of one process in one window: exec_ns = attributed_ns + "                     \
	  "unattributed_ns + overflow_ns + residual_ns")                                           \
	X(GAP, gap, "records that had to be dropped on the way to where this one is")              \
	X(SELF, self, "what watching cost in one window, and how sending goes")                    \
	X(ALERT, alert, "an alert that was asked for fires, or is over")

/* Fields of every record, after schema and kind. */
#define RECORD_COMMON_FIELDS(X)                                                               \
	X(TEXT, record_id, "record_id", ALWAYS, "", "unique, the same when sent again")       \
	X(TEXT, host_name, "host_name", ALWAYS, "", "")                                       \
	X(U32, pid, "pid", ALWAYS, "",                                                        \
	  "the process, as Correlator's own pid namespace numbers it; of meta and self "      \
	  "Correlator's, of gap the one whose records were dropped, or Correlator's: nobody " \
	  "knows whose")                                                                      \
	X(U32, ns_pid, "ns_pid", KNOWN, "", "the same as the process itself knows it")        \
	X(S64, clock_set_ns, "clock_set_ns", KNOWN, "ns",                                     \
	  "how far the wall clock has been set on (< 0: back) since the recording began")

#define RECORD_META_FIELDS(X)                                                                                  \
	X(TEXT, tool_version, "tool_version", ALWAYS, "", "")                                                  \
	X(TEXT, kernel_release, "kernel_release", ALWAYS, "", "uname -r")                                      \
	X(TEXT, machine, "machine", ALWAYS, "", "uname -m")                                                    \
	X(TEXT, boot_id, "boot_id", ALWAYS, "", "/proc/sys/kernel/random/boot_id, or unknown")                 \
	X(U32, cpu_count, "cpu_count", KNOWN, "CPUs", "online")                                                \
	X(MODE, mode, "mode", ALWAYS, "",                                                                      \
	  "exact, lean, switch-only; partly-lean: see the processes'")                                         \
	X(TEXT, reason, "reason", KNOWN, "", "why the mode is another one than was asked for")                 \
	X(BOOL, kernel_split, "kernel_split", ALWAYS, "",                                                      \
	  "false: user and kernel time are not told apart")                                                    \
	X(BOOL, blocked_reasons, "blocked_reasons", ALWAYS, "",                                                \
	  "true: the parts blocked_..._ns of cpu records come to their blocked_ns; one that is 0 is left out") \
	X(BOOL, children, "children", IF(children), "",                                                        \
	  "true: what a request starts belongs to it, flagged inherited_by_exec")                              \
	X(U64, stall_ns, "stall_ns", KNOWN, "ns",                                                              \
	  "waits of at least this are recorded as stalls (--stall)")                                           \
	X(U32, stall_percentile, "stall_percentile", KNOWN, "",                                                \
	  "of these only waits that are longer than that percentile of their endpoint (--stall=p99)")          \
	X(U64, interval_ns, "interval_ns", ALWAYS, "ns", "length of a window, as asked for")                   \
	X(U64, transition_ns, "transition_ns", IF(kernel_split), "ns",                                         \
	  "moved from user to kernel time for each system call, at first")                                     \
	X(U64, clock_offset_ns, "clock_offset_ns", KNOWN, "ns",                                                \
	  "CLOCK_REALTIME - CLOCK_MONOTONIC")                                                                  \
	X(TEXTS, key_names, "keys", ALWAYS, "", "the keys that are recorded, by their fields")                 \
	X(TEXTS, module_names, "modules", KNOWN, "",                                                           \
	  "recorded, too: timeline, syscalls, io, stall, stacks, off-cpu, native, native callers")

#define RECORD_PROCESS_FIELDS(X)                                                               \
	X(EVENT, event, "event", ALWAYS, "", "found, fork, exec, load, unload, mode or exit")  \
	X(U32, parent_pid, "ppid", ALWAYS, "", "its parent, numbered like pid")                \
	X(TEXT, comm, "comm", ALWAYS, "", "its name, /proc/PID/comm")                          \
	X(MODE, mode, "mode", KNOWN, "",                                                       \
	  "exact, partly-lean or lean: how closely it is watched from here on")                \
	X(BOOL, has_bound, "ambiguous_is_bound", IF(has_bound), "",                            \
	  "true: where mode is not exact, ambiguous_ns bounds the error")                      \
	X(TEXT, reason, "reason", KNOWN, "",                                                   \
	  "found, mode: why that is another one than was asked for, or is that again")         \
	X(TEXT, ruby_version, "ruby_version", KNOWN, "", "")                                   \
	X(TEXT, server, "server", KNOWN, "", "puma, sidekiq, ...")                             \
	X(TEXT, otel_schema, "otel_schema", KNOWN, "",                                         \
	  "of OpenTelemetry's thread context, where it publishes one")                         \
	X(TEXT, service_name, "service.name", KNOWN, "", "of OpenTelemetry's process context") \
	X(TEXT, service_instance_id, "service.instance.id", KNOWN, "", "the same")             \
	X(TEXT, environment_name, "deployment.environment.name", KNOWN, "", "the same")        \
	X(U64, start_ns, "start_ns", KNOWN, "ns",                                              \
	  "wall clock when it started: with pid it tells processes apart")                     \
	X(SWITCH, has_pickup, "", ALWAYS, "", "false: it published when it was found")         \
	X(U64, pickup_ns, "pickup_ns", IF(has_pickup), "ns",                                   \
	  "load: at most so long its contexts were not read after they could be")              \
	X(U64, end_ns, "end_ns", KNOWN, "ns", "exit: wall clock when it ended")

#define RECORD_CPU_FIELDS(X)                                                                                 \
	X(U32, tid, "tid", ALWAYS, "", "the thread, numbered like pid; 0: of no one thread")                 \
	X(U32, ns_tid, "ns_tid", KNOWN, "", "the same as the thread itself knows it")                        \
	X(TEXT, thread_name, "thread_name", KNOWN, "", "")                                                   \
	X(KEYS, keys, "", ALWAYS, "",                                                                        \
	  "each key under its own name: \"\" where no context was in force, left out where the "             \
	  "context has no such key")                                                                         \
	X(U64, window_ns, "window_ns", ALWAYS, "ns", "length of the window")                                 \
	X(SWITCH, has_kernel_split, "", ALWAYS, "", "false: cpu_ns alone is given")                          \
	X(U64, cpu_ns, "cpu_ns", ALWAYS, "ns", "on a CPU: user_ns + kernel_ns")                              \
	X(U64, user_ns, "user_ns", IF(has_kernel_split), "ns", "of it in user mode")                         \
	X(U64, kernel_ns, "kernel_ns", IF(has_kernel_split), "ns", "of it in the kernel")                    \
	X(U64, split_error_ns, "split_error_ns", IF(has_kernel_split), "ns",                                 \
	  "as much of one of these two may be the other's; their sum is exact")                              \
	X(U64, run_queue_ns, "run_queue_ns", ALWAYS, "ns", "runnable, waiting for a CPU")                    \
	X(U64, blocked_ns, "blocked_ns", ALWAYS, "ns", "asleep of its own accord")                           \
	X(U64, uninterruptible_ns, "uninterruptible_ns", ALWAYS, "ns",                                       \
	  "the part of blocked_ns in uninterruptible sleep")                                                 \
	X(U64, blocked_disk_ns, "blocked_disk_ns", KNOWN, "ns",                                              \
	  "the part of blocked_ns in uninterruptible sleep in a system call, or on a file of a file system") \
	X(U64, blocked_network_ns, "blocked_network_ns", KNOWN, "ns",                                        \
	  "the part of blocked_ns on a socket, of any kind")                                                 \
	X(U64, blocked_poll_ns, "blocked_poll_ns", KNOWN, "ns",                                              \
	  "the part of blocked_ns on one of many: epoll, poll, select, io_uring")                            \
	X(U64, blocked_pipe_ns, "blocked_pipe_ns", KNOWN, "ns",                                              \
	  "the part of blocked_ns on a pipe")                                                                \
	X(U64, blocked_futex_ns, "blocked_futex_ns", KNOWN, "ns",                                            \
	  "the part of blocked_ns on a lock, a queue, a condition variable, the GVL")                        \
	X(U64, blocked_sleep_ns, "blocked_sleep_ns", KNOWN, "ns",                                            \
	  "the part of blocked_ns in nanosleep")                                                             \
	X(U64, blocked_child_ns, "blocked_child_ns", KNOWN, "ns",                                            \
	  "the part of blocked_ns on a child's end; of vfork, its exec")                                     \
	X(U64, blocked_fault_ns, "blocked_fault_ns", KNOWN, "ns",                                            \
	  "the part of blocked_ns on a page, or the lock of the address space")                              \
	X(U64, blocked_other_ns, "blocked_other_ns", KNOWN, "ns",                                            \
	  "the part of blocked_ns on something else, such as a lock of a file; stopped")                     \
	X(U64, stolen_ns, "stolen_ns", ALWAYS, "ns",                                                         \
	  "on a CPU by the clock, but taken by the hypervisor or interrupts")                                \
	X(U64, ambiguous_ns, "ambiguous_ns", ALWAYS, "ns",                                                   \
	  "the part of cpu_ns in which the context has changed, or may have")                                \
	X(U64, slices, "slices", ALWAYS, "stints", "on a CPU")                                               \
	X(U64, switches_voluntary, "switches_voluntary", ALWAYS, "switches", "to sleep")                     \
	X(U64, switches_involuntary, "switches_involuntary", ALWAYS, "switches",                             \
	  "to another thread, while it was runnable")                                                        \
	X(U64, migrations, "migrations", ALWAYS, "", "to another CPU")                                       \
	X(SWITCH, has_syscalls, "", ALWAYS, "", "false: the tracepoints of system calls are off")            \
	X(U64, syscalls, "syscalls", IF(has_syscalls), "calls", "of the kernel")                             \
	X(SWITCH, has_gvl, "", ALWAYS, "",                                                                   \
	  "false: neither the gem counts them (Correlator.watch_vm!) nor this Ruby shows them")              \
	X(U64, gvl_ns, "gvl_ns", IF(has_gvl), "ns",                                                          \
	  "the part of run_queue_ns + blocked_ns in which it waited for Ruby's GVL; if the gem "             \
	  "counts (since Ruby 3.3) a wait is in the window in which it ended, as a whole")                   \
	X(U64, gvl_waits, "gvl_waits", IF(has_gvl), "waits",                                                 \
	  "times that it asked for the GVL, those that got it at once included; up to Ruby 3.1 "             \
	  "times that it slept for it")                                                                      \
	X(SWITCH, has_gc, "", ALWAYS, "",                                                                    \
	  "false: the gem does not count them (Correlator.watch_vm!)")                                       \
	X(U64, gc_ns, "gc_ns", IF(has_gc), "ns",                                                             \
	  "the part of user_ns + kernel_ns in which it collected garbage")                                   \
	X(U64, gc_runs, "gc_runs", IF(has_gc), "collections",                                                \
	  "that it set off; their later steps may be others'")                                               \
	X(WALL, first_ns, "first_ns", ALWAYS, "ns",                                                          \
	  "wall clock at which the time begins that it tells of")                                            \
	X(WALL, last_ns, "last_ns", ALWAYS, "ns", "and at which it ends")                                    \
	X(FLAGS, flags, "flags", ALWAYS, "",                                                                 \
	  "truncated, inherited, overflow, unknown, mixed_threads, inherited_by_exec")

#define RECORD_SLICE_FIELDS(X)                                                                           \
	X(U32, tid, "tid", ALWAYS, "", "the thread, numbered like pid")                                  \
	X(U32, ns_tid, "ns_tid", KNOWN, "", "the same as the thread itself knows it")                    \
	X(TEXT, thread_name, "thread_name", KNOWN, "", "")                                               \
	X(KEYS, keys, "", ALWAYS, "", "each key under its own name, as in cpu records")                  \
	X(U32, fiber, "fiber", KNOWN, "",                                                                \
	  "the fiber in a context: a number that the gem gives once in a process; a forked "             \
	  "child goes on with its parent's")                                                             \
	X(TEXT, state, "state", ALWAYS, "", "running, run_queue, blocked or uninterruptible")            \
	X(TEXT, blocked_on, "blocked_on", KNOWN, "",                                                     \
	  "blocked, uninterruptible: on disk, network, poll, pipe, futex, sleep, child, fault or other") \
	X(WALL, start_ns, "start_ns", ALWAYS, "ns", "wall clock when it began")                          \
	X(WALL, end_ns, "end_ns", ALWAYS, "ns", "and when it ended")                                     \
	X(SWITCH, has_cpu, "", ALWAYS, "", "false: it was not running")                                  \
	X(U32, cpu_number, "cpu_number", IF(has_cpu), "", "running: the CPU that it ran on")             \
	X(U64, cpu_ns, "cpu_ns", IF(has_cpu), "ns",                                                      \
	  "running: as its account was charged, so end_ns - start_ns less what was stolen")              \
	X(SWITCH, has_kernel_split, "", ALWAYS, "", "false: cpu_ns alone is given")                      \
	X(U64, user_ns, "user_ns", IF(has_kernel_split), "ns", "of it in user mode")                     \
	X(U64, kernel_ns, "kernel_ns", IF(has_kernel_split), "ns", "of it in the kernel")                \
	X(U32, woken_by_pid, "woken_by_pid", KNOWN, "",                                                  \
	  "the process of the thread that woke it, numbered like pid: of the slice after a block")       \
	X(U32, woken_by_tid, "woken_by_tid", KNOWN, "", "and that thread")                               \
	X(FLAGS, flags, "flags", ALWAYS, "", "as in cpu records")

#define RECORD_STACK_FIELDS(X)                                                                     \
	X(TEXT, stack_id, "stack_id", ALWAYS, "",                                                  \
	  "of the frame with all below it: the same for the same frames, in any recording")        \
	X(TEXT, parent_id, "parent_id", KNOWN, "",                                                 \
	  "the stack_id of what called it; left out: nothing did")                                 \
	X(TEXT, name, "name", ALWAYS, "", "Order#total, block in Order#total, Integer#times, ...") \
	X(TEXT, frame_kind, "frame_kind", ALWAYS, "",                                              \
	  "ruby; c: a method in C; gc; native; kernel; unknown: it could not be read; cut: what "  \
	  "is below is missing")                                                                   \
	X(TEXT, file, "file", KNOWN, "", "as Ruby was told; of native frames the object")          \
	X(U32, line, "line", KNOWN, "", "that runs")                                               \
	X(U32, first_line, "first_line", KNOWN, "", "of the method")

#define RECORD_SAMPLE_FIELDS(X)                                                              \
	X(U32, tid, "tid", ALWAYS, "", "the thread, numbered like pid")                      \
	X(U32, ns_tid, "ns_tid", KNOWN, "", "the same as the thread itself knows it")        \
	X(TEXT, thread_name, "thread_name", KNOWN, "", "")                                   \
	X(KEYS, keys, "", ALWAYS, "", "each key under its own name, as in cpu records")      \
	X(U64, window_ns, "window_ns", ALWAYS, "ns", "length of the window")                 \
	X(TEXT, stack_id, "stack_id", ALWAYS, "", "the innermost frame's stack record")      \
	X(U64, samples, "samples", KNOWN, "samples", "left out of waits")                    \
	X(U64, period_ns, "period_ns", KNOWN, "ns",                                          \
	  "of CPU time from one sample to the next: what one stands for, before it is laid " \
	  "over the exact cpu_ns of its context")                                            \
	X(U64, waits, "waits", KNOWN, "", "that began here; others go on")                   \
	X(U64, blocked_ns, "blocked_ns", KNOWN, "ns", "exact: its part of the cpu record's") \
	X(U64, run_queue_ns, "run_queue_ns", KNOWN, "ns", "the same")                        \
	X(FLAGS, flags, "flags", ALWAYS, "", "as in cpu records")

#define RECORD_STALL_FIELDS(X)                                                                                       \
	X(U32, tid, "tid", ALWAYS, "", "the thread, numbered like pid")                                              \
	X(U32, ns_tid, "ns_tid", KNOWN, "", "the same as the thread itself knows it")                                \
	X(TEXT, thread_name, "thread_name", KNOWN, "", "")                                                           \
	X(KEYS, keys, "", ALWAYS, "", "each key under its own name, as in cpu records")                              \
	X(BOOL, is_hog, "hog", IF(is_hog), "",                                                                       \
	  "true: no wait, but a fiber that kept its thread, where fibers take turns, for long")                      \
	X(WALL, start_ns, "start_ns", ALWAYS, "ns",                                                                  \
	  "wall clock when the thread left its CPU; hog: when the fiber got the thread")                             \
	X(WALL, end_ns, "end_ns", ALWAYS, "ns",                                                                      \
	  "and when it got one again; hog: when the fiber, or its context, left it")                                 \
	X(U64, cpu_ns, "cpu_ns", IF(is_hog), "ns", "hog: of this, on a CPU")                                         \
	X(U64, blocked_ns, "blocked_ns", ALWAYS, "ns",                                                               \
	  "of this, asleep: part of blocked_ns of the cpu records of the windows that it spans")                     \
	X(U64, run_queue_ns, "run_queue_ns", ALWAYS, "ns",                                                           \
	  "and runnable, waiting for a CPU; likewise")                                                               \
	X(U64, gvl_ns, "gvl_ns", KNOWN, "ns",                                                                        \
	  "of both, waiting for Ruby's GVL; left out: it did not, or it is not known (gvl_ns of cpu records)")       \
	X(TEXT, blocked_on, "blocked_on", KNOWN, "",                                                                 \
	  "disk, network, poll, pipe, futex, sleep, child, fault or other; left out: it did "                        \
	  "not sleep")                                                                                               \
	X(TEXT, name, "syscall", KNOWN, "",                                                                          \
	  "the system call that it was in, as in syscall records; left out: it was in none")                         \
	X(TEXT, abi, "syscall_abi", KNOWN, "", "as in syscall records")                                              \
	X(TEXT, waited_on, "waited_on", KNOWN, "",                                                                   \
	  "the file that it waited on: a path; pipe:[INODE]; of a socket the peer's ADDRESS:PORT "                   \
	  "or unix:PATH, of one that listens its own; after epoll: the file in an epoll set that ended "             \
	  "the wait; left out: no one file, or not known")                                                           \
	X(TEXT, stack_id, "stack_id", KNOWN, "",                                                                     \
	  "the innermost frame of the stack that it waited in (--stacks=off-cpu); hog: of its longest "              \
	  "wait, or, if it ran for longer than it waited, of one of its samples (--stacks)")                         \
	X(TEXT, woken_by, "woken_by", KNOWN, "",                                                                     \
	  "thread; timer, network, disk, or interrupt: one of these three; left out: it did not sleep, or it "       \
	  "is not known")                                                                                            \
	X(U32, woken_by_pid, "woken_by_pid", KNOWN, "", "the process of that thread")                                \
	X(U32, woken_by_tid, "woken_by_tid", KNOWN, "", "and that thread")                                           \
	X(TEXT, woken_by_thread_name, "woken_by_thread_name", KNOWN, "", "its name")                                 \
	X(KEYS, woken_by_keys, "", ALWAYS, "",                                                                       \
	  "each key of the context that it was in, under its name after woken_by_: "                                 \
	  "woken_by_request_id; left out: it was in none, or that is not known")                                     \
	X(U32, ran_instead_pid, "ran_instead_pid", KNOWN, "",                                                        \
	  "run_queue_ns: the process of the thread that got its CPU, or, if it was woken, ran there just before it") \
	X(U32, ran_instead_tid, "ran_instead_tid", KNOWN, "", "and that thread")                                     \
	X(TEXT, ran_instead_thread_name, "ran_instead_thread_name", KNOWN, "", "its name")                           \
	X(FLAGS, flags, "flags", ALWAYS, "", "as in cpu records")

#define RECORD_SYSCALL_FIELDS(X)                                                                  \
	X(U32, tid, "tid", ALWAYS, "", "the thread, numbered like pid; 0: of no one thread")      \
	X(U32, ns_tid, "ns_tid", KNOWN, "", "the same as the thread itself knows it")             \
	X(TEXT, thread_name, "thread_name", KNOWN, "", "")                                        \
	X(KEYS, keys, "", ALWAYS, "", "each key under its own name, as in cpu records")           \
	X(U64, window_ns, "window_ns", ALWAYS, "ns", "length of the window")                      \
	X(TEXT, name, "syscall", ALWAYS, "",                                                      \
	  "read, newfstatat, ...; syscall_NUMBER: one that is newer than this program; invalid: " \
	  "a number that is no call's")                                                           \
	X(SWITCH, has_number, "", ALWAYS, "", "false: it is invalid")                             \
	X(U32, number, "syscall_number", IF(has_number), "", "of it, in its table")               \
	X(TEXT, abi, "syscall_abi", KNOWN, "",                                                    \
	  "whose table that is: i386, x32 or arm; left out: the machine's own")                   \
	X(U64, calls, "syscalls", ALWAYS, "calls", "that were entered in it")                     \
	X(U64, inside_ns, "inside_ns", ALWAYS, "ns",                                              \
	  "of the window from their entries to their exits, on the CPU, waiting for one and "     \
	  "asleep: part of cpu_ns, run_queue_ns, blocked_ns and stolen_ns of the cpu record")     \
	X(FLAGS, flags, "flags", ALWAYS, "", "as in cpu records")

#define RECORD_IO_FIELDS(X)                                                                     \
	X(U32, tid, "tid", ALWAYS, "", "the thread, numbered like pid; 0: of no one thread")    \
	X(U32, ns_tid, "ns_tid", KNOWN, "", "the same as the thread itself knows it")           \
	X(TEXT, thread_name, "thread_name", KNOWN, "", "")                                      \
	X(KEYS, keys, "", ALWAYS, "", "each key under its own name, as in cpu records")         \
	X(U64, window_ns, "window_ns", ALWAYS, "ns", "length of the window")                    \
	X(TEXT, on, "io_on", ALWAYS, "",                                                        \
	  "file, pipe, tcp, udp, dns (UDP, port 53), unix, socket (of another family), "        \
	  "other (a terminal, an eventfd, ...)")                                                \
	X(TEXT, peer, "peer", KNOWN, "",                                                        \
	  "of a socket: the other end's address and port, or path; if accepted, its own end's") \
	X(BOOL, is_accepted, "accepted", IF(is_accepted), "",                                   \
	  "true: of all connections that others made to this address of the process")           \
	X(U64, calls, "io_calls", ALWAYS, "calls",                                              \
	  "that read, wrote or connected, including those that failed")                         \
	X(U64, in_bytes, "in_bytes", ALWAYS, "bytes", "read or received")                       \
	X(U64, out_bytes, "out_bytes", ALWAYS, "bytes", "written or sent")                      \
	X(U64, connects, "connects", KNOWN, "connects", "that ended, successfully or not")      \
	X(U64, connect_ns, "connect_ns", KNOWN, "ns",                                           \
	  "from connect() until it returned, or until a call showed that it had ended")         \
	X(U64, answers, "answers", KNOWN, "answers", "of DNS")                                  \
	X(U64, answer_ns, "answer_ns", KNOWN, "ns",                                             \
	  "from each query, or the answer before, until it was read")                           \
	X(FLAGS, flags, "flags", ALWAYS, "", "as in cpu records")

#define RECORD_BALANCE_FIELDS(X)                                                               \
	X(U64, window_ns, "window_ns", ALWAYS, "ns", "length of the window")                   \
	X(U64, exec_ns, "exec_ns", ALWAYS, "ns",                                               \
	  "growth of the kernel's own se.sum_exec_runtime over all its threads")               \
	X(U64, attributed_ns, "attributed_ns", ALWAYS, "ns", "in contexts")                    \
	X(U64, unattributed_ns, "unattributed_ns", ALWAYS, "ns", "in none")                    \
	X(U64, overflow_ns, "overflow_ns", ALWAYS, "ns",                                       \
	  "of contexts that a full map could not tell apart")                                  \
	X(S64, residual_ns, "residual_ns", ALWAYS, "ns", "what is missing, or (< 0) too much") \
	X(SWITCH, has_samples, "", ALWAYS, "", "false: without --stacks")                      \
	X(U64, samples, "samples", IF(has_samples), "samples", "that sample records tell of")  \
	X(U64, sampled_ns, "sampled_ns", IF(has_samples), "ns",                                \
	  "of CPU that these stand for: exec_ns, give or take chance")                         \
	X(COUNTERS, losses, "", ALWAYS, "", "each counter of what was missed, in the window")  \
	X(U64, own_cpu_ns, "own_cpu_ns", ALWAYS, "ns",                                         \
	  "this process's share of the CPU that Correlator itself used")

#define RECORD_GAP_FIELDS(X)                                                                                                                                           \
	X(U64, dropped_records, "dropped_records", ALWAYS, "records",                                                                                                  \
	  "since the last gap record of the process")                                                                                                                  \
	X(U64, total_dropped_records, "total_dropped_records", ALWAYS, "records",                                                                                      \
	  "since the start, gap records included: a gap record may be dropped, too")                                                                                   \
	X(U64, process_dropped_records, "process_dropped_records", KNOWN, "records",                                                                                   \
	  "all of the process, as far as it is known (a process that lost nothing for long is forgotten); on the way to a collector they are told process by process") \
	X(U64, dropped_segments, "dropped_segments", ALWAYS, "chunks",                                                                                                 \
	  "since the last gap record; each is told once, of the process with the most in it")                                                                          \
	X(U64, first_ns, "first_ns", ALWAYS, "ns", "wall clock of the oldest record dropped")                                                                          \
	X(U64, last_ns, "last_ns", ALWAYS, "ns", "and of the newest")                                                                                                  \
	X(TEXT, reason, "reason", ALWAYS, "", "spool full, ...")

#define RECORD_SELF_FIELDS(X)                                                                \
	X(U64, window_ns, "window_ns", ALWAYS, "ns", "length of the window")                 \
	X(U64, own_cpu_ns, "own_cpu_ns", ALWAYS, "ns",                                       \
	  "CPU of Correlator's own processes, all threads")                                  \
	X(U64, own_rss_bytes, "own_rss_bytes", KNOWN, "bytes", "resident memory at its end") \
	X(FILL, contexts, "contexts", ALWAYS, "entries", "contexts that are known")          \
	X(FILL, accounts, "accounts", ALWAYS, "entries", "accounts of the window")           \
	X(FILL, processes, "processes", ALWAYS, "entries", "processes that are observed")    \
	X(SWITCH, has_programs, "", ALWAYS, "",                                              \
	  "false: the kernel programs were not measured in this window")                     \
	X(PROGRAMS, programs, "", IF(has_programs), "",                                      \
	  "of each kernel program: runs, and ns in them, in the window")                     \
	X(U64, programs_measured_ns, "programs_measured_ns", IF(has_programs), "ns",         \
	  "so long they were measured; if not all the window, the figures are scaled up")    \
	X(U64, programs_samples, "programs_samples", KNOWN, "samples",                       \
	  "that this time is made of; left out: measured all the time")                      \
	X(TEXT, programs_error, "programs_error", KNOWN, "", "why they cannot be measured")  \
	X(U64, skipped_runs, "programs_skipped", KNOWN, "runs",                              \
	  "of kernel programs, left out by the kernel: boundaries of any process that were " \
	  "not seen")                                                                        \
	X(SWITCH, has_output, "", ALWAYS, "", "false: nothing is written to a file or pipe") \
	X(U64, output_dropped_records, "output_dropped_records", IF(has_output), "records",  \
	  "not written to it for want of room, since the start")                             \
	X(U64, output_waiting_bytes, "output_waiting_bytes", IF(has_output), "bytes",        \
	  "waiting now to be written to it")                                                 \
	X(U64, output_failures, "output_failures", IF(has_output), "",                       \
	  "writes to it that failed, since the start")                                       \
	X(DELIVERY, delivery, "", ALWAYS, "", "how sending goes, where something is sent")

#define RECORD_ALERT_FIELDS(X)                                                                    \
	X(TEXT, expression, "expression", ALWAYS, "", "as it was given")                          \
	X(TEXT, state, "state", ALWAYS, "", "firing, or resolved")                                \
	X(TEXT, by_key, "by_key", KNOWN, "", "the key whose values are looked at one by one")     \
	X(TEXT, by_value, "by_value", KNOWN, "", "and the one that it is about; other: too many") \
	X(SWITCH, has_value, "", ALWAYS, "", "false: nothing was measured in the window")         \
	X(S64, value, "value", IF(has_value), "", "measured in the last window, in unit")         \
	X(S64, threshold, "threshold", ALWAYS, "", "what it is compared with, in unit, too")      \
	X(TEXT, unit, "unit", ALWAYS, "",                                                         \
	  "ns; count; millionths, of one CPU or of exec_ns; or millionths_per_second")            \
	X(U64, since_ns, "since_ns", ALWAYS, "ns", "wall clock since when it has held, or has not")

/* Counts since the start. */
#define RECORD_DELIVERY_FIELDS(X)                                                                \
	X(SWITCH, is_there, "", ALWAYS, "", "false: nothing is sent, and nothing encoded")       \
	X(U64, sent_chunks, "forward_sent_chunks", IF(is_there), "chunks", "each try")           \
	X(U64, resent_chunks, "forward_resent_chunks", IF(is_there), "chunks",                   \
	  "of them, not for the first time")                                                     \
	X(U64, acked_records, "forward_acked_records", IF(is_there), "records",                  \
	  "acknowledged; with --no-ack, sent")                                                   \
	X(U64, rejected_records, "forward_rejected_records", IF(is_there), "records",            \
	  "no collector took them: set aside in the spool, or lost")                             \
	X(U64, dropped_records, "forward_dropped_records", IF(is_there), "records",              \
	  "for want of room, or damaged")                                                        \
	X(U64, queued_records, "forward_queued_records", IF(is_there), "records", "waiting now") \
	X(U64, queued_bytes, "forward_queued_bytes", IF(is_there), "bytes", "waiting now")       \
	X(U64, spool_bytes, "forward_spool_bytes", IF(is_there), "bytes", "of them, on disk")    \
	X(TEXT, last_error, "forward_last_error", KNOWN, "", "the last failure")
