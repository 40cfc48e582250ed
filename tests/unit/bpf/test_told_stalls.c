/* SPDX-License-Identifier: GPL-2.0-only */
/* Which waits are told as stalls, and the file that they were on: bpf/stall.bpf.h and
 * stall_object.bpf.h. That each is what was charged in any life is in test_machine.c. */
#include "bpf/forged_files.h"
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "sched.bpf.h"

UNIT_TEST_ALONE;

enum {
	MS = 1000 * 1000,
	CONTEXT = 4321,
#ifdef __TARGET_ARCH_arm64
	CALL_READ = 63,
	CALL_POLL = 73,
	CALL_FSYNC = 82,
	CALL_FUTEX = 98,
	CALL_EPOLL = 22,
#else
	CALL_READ = 0,
	CALL_POLL = 7,
	CALL_FSYNC = 74,
	CALL_FUTEX = 202,
	CALL_EPOLL = 232,
#endif
};

static struct thread_state *const thread = &kernel.states[0];

/* /var/lib/data, in a file system that is mounted on /var. */
static void open_path(void)
{
	files.inode.i_mode = 0100644;
	files.names[0] = (struct dentry){ &files.names[1], { (const void *)"data" } };
	files.names[1] = (struct dentry){ &files.top, { (const void *)"lib" } };
	files.top = (struct dentry){ &files.top, { (const void *)"/" } };
	files.point = (struct dentry){ &files.names[3], { (const void *)"var" } };
	files.names[3] = (struct dentry){ &files.names[3], { (const void *)"/" } };
	files.mount.mnt_parent = &files.root;
	files.mount.mnt_mountpoint = &files.point;
	files.mount.mnt.mnt_root = &files.top;
	files.root.mnt_parent = &files.root;
	files.root.mnt.mnt_root = &files.names[3];
	files.file.f_path = (struct path){ &files.mount.mnt, &files.names[0] };
}

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	native_session.stall_least_ns = 5 * MS;
	sees_syscalls = 0;
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT;
	thread->confirmed_ns = NOW_NS;
	thread->config.family = FAMILY;
	begin_files();
	open_path();
	be_in_call(CALL_READ, DESCRIPTOR, 0);
	return 0;
}

static void change(struct task_struct *from, struct task_struct *to)
{
	unsigned long long arguments[] = { false, (uintptr_t)from, (uintptr_t)to };

	assert_int_equal(on_sched_switch(arguments), 0);
}

static void fall_asleep(void)
{
	kernel.current.nvcsw++;
	kernel.current.__state = 1; /* TASK_INTERRUPTIBLE */
	change(&kernel.current, &kernel.other);
}

static void wake_up(uint64_t after_ns, uint64_t run_queue_ns)
{
	kernel.now_ns += after_ns;
	kernel.current.__state = 0;
	change(&kernel.other, &kernel.current);
	/* By the kernel's own figures, right after. */
	kernel.current.sched_info.run_delay += run_queue_ns;
}

/* As at its next boundary. */
static void reach_boundary(void)
{
	assert_true(boundary_begin(thread, &kernel.current, kernel.now_ns, BOUNDARY_RETURN));
	thread_release(thread);
}

static const struct stall *wait_for(uint64_t ns, uint64_t run_queue_ns)
{
	fall_asleep();
	wake_up(ns, run_queue_ns);
	reach_boundary();
	return &kernel.stall;
}

static uint64_t lost(void)
{
	return process_of(LIFE)->books.losses[COUNTER_STALL_LOST];
}

#define STALL_TEST(test) TEST_WITH(test, set_up, NULL)

/* The gem's counters of the thread, which have waits of 100 ms so far, and one since then. */
static void count_gvl(uint64_t ready_ns)
{
	const struct gem_thread counters = { .version = 1,
					     .flags = GEM_THREAD_COUNTS_GVL,
					     .serial = 7,
					     .ready_ns = ready_ns,
					     .wait_ns = 100 * MS };

	thread->counters_address = forged_take(&memory, sizeof(counters));
	forged_write(&memory, thread->counters_address, &counters, sizeof(counters));
	thread->gvl.serial = 7;
	thread->gvl.wait_ns = 100 * MS;
}

STALL_TEST(stall_tells_what_of_it_was_for_the_gvl)
{
	count_gvl(NOW_NS + 2 * MS);
	assert_int_equal(wait_for(7 * MS, 0)->gvl_ns, 5 * MS);
	count_gvl(0);
	assert_int_equal(wait_for(7 * MS, 0)->gvl_ns, 0);
	/* They are another thread's. */
	count_gvl(kernel.now_ns);
	thread->gvl.serial = 8;
	assert_int_equal(wait_for(7 * MS, 0)->gvl_ns, 0);
	/* They cannot be read. */
	count_gvl(kernel.now_ns);
	thread->counters_address = FORGED_BASE + FORGED_BYTES;
	assert_int_equal(wait_for(7 * MS, 0)->gvl_ns, 0);
	assert_int_equal(kernel.stall_count, 4);
}

STALL_TEST(stall_tells_long_wait_with_its_parts)
{
	const struct stall *stall = wait_for(7 * MS, 2 * MS);

	assert_int_equal(kernel.stall_count, 1);
	assert_int_equal(stall->start_ns, NOW_NS);
	assert_int_equal(stall->end_ns, NOW_NS + 7 * MS);
	assert_int_equal(stall->blocked_ns, 5 * MS);
	assert_int_equal(stall->run_queue_ns, 2 * MS);
	assert_int_equal(stall->context_hash, CONTEXT);
	assert_int_equal(stall->thread_serial, thread->serial);
	assert_int_equal(stall->life, LIFE);
	assert_int_equal(stall->tid, TID);
	assert_int_equal(stall->call, syscall_call(CALL_READ, compat_is_x86(), 0));
	assert_int_equal(stall->other_tgid, OTHER_TGID);
	assert_int_equal(stall->other_tid, OTHER_TID);
	assert_int_equal(stall->waker_tid, 0);
	assert_int_equal(stall->flags, 0);
	assert_string_equal(stall->comm, "puma worker");
	assert_string_equal(stall->other_comm, "the other");
	/* Once. */
	reach_boundary();
	assert_int_equal(kernel.stall_count, 1);
	assert_int_equal(lost(), 0);
}

STALL_TEST(stall_is_not_told_of_short_wait)
{
	(void)wait_for(5 * MS - 1, 0);
	assert_int_equal(kernel.stall_count, 0);
	assert_int_equal(lost(), 0);
}

STALL_TEST(stall_is_not_told_without_context)
{
	thread->context_hash = CONTEXT_HASH_NONE;
	(void)wait_for(7 * MS, 0);
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->is_put_off = 1;
	(void)wait_for(7 * MS, 0);
	assert_int_equal(kernel.stall_count, 0);
	assert_int_equal(lost(), 0);
}

STALL_TEST(stall_names_waker_and_how_context_came)
{
	const struct stall *stall = &kernel.stall;

	thread->is_inherited = thread->is_of_origin = 1;
	native_session.has_children = 1;
	fall_asleep();
	thread->stall.waker = (uint64_t)OTHER_TGID << 32 | OTHER_TID;
	thread->stall.waker_hash = 99;
	thread->stall.flags = STALL_WAS_WOKEN;
	memcpy(thread->stall.waker_comm, "waker", sizeof("waker"));
	wake_up(7 * MS, 0);
	reach_boundary();
	assert_int_equal(stall->waker_tgid, OTHER_TGID);
	assert_int_equal(stall->waker_tid, OTHER_TID);
	assert_int_equal(stall->waker_hash, 99);
	assert_string_equal(stall->waker_comm, "waker");
	assert_int_equal(stall->flags, STALL_WAS_WOKEN | STALL_IS_INHERITED | STALL_IS_OF_ORIGIN);
	/* The next wait has another waker. */
	(void)wait_for(7 * MS, 0);
	assert_int_equal(stall->waker_tgid, 0);
	assert_int_equal(stall->flags, STALL_IS_INHERITED | STALL_IS_OF_ORIGIN);
}

STALL_TEST(stall_without_room_is_counted)
{
	kernel.has_no_ring = true;
	(void)wait_for(7 * MS, 0);
	assert_int_equal(lost(), 1);
	kernel.has_no_ring = false;
	stalls_paid_ns[FAMILY] = kernel.now_ns + 2000 * (uint64_t)MS;
	(void)wait_for(7 * MS, 0);
	assert_int_equal(lost(), 2);
	assert_int_equal(kernel.stall_count, 0);
}

STALL_TEST(stall_of_missed_switch_is_counted)
{
	fall_asleep();
	thread->is_busy = 1;
	wake_up(7 * MS, 0);
	thread->is_busy = 0;
	reach_boundary();
	assert_int_equal(kernel.stall_count, 0);
	assert_int_equal(lost(), 1);
	/* A short one is not. */
	fall_asleep();
	thread->is_busy = 1;
	wake_up(MS, 0);
	thread->is_busy = 0;
	reach_boundary();
	assert_int_equal(lost(), 1);
}

static void return_unseen(uint64_t after_ns)
{
	fall_asleep();
	kernel.now_ns += after_ns;
	kernel.current.__state = 0;
	reach_boundary();
}

STALL_TEST(stall_of_unseen_switch_in_is_told_without_who_ran_before)
{
	sees_syscalls = 1;
	return_unseen(7 * MS);
	assert_int_equal(kernel.stall_count, 1);
	assert_int_equal(kernel.stall.end_ns, NOW_NS + 7 * MS);
	assert_int_equal(kernel.stall.blocked_ns + kernel.stall.run_queue_ns, 7 * MS);
	assert_int_equal(kernel.stall.object, STALL_OBJECT_PATH);
	assert_int_equal(kernel.stall.other_tid, 0);
	/* Without edges, it may be in another call by now. */
	sees_syscalls = 0;
	return_unseen(7 * MS);
	assert_int_equal(kernel.stall.call, 0);
	return_unseen(MS);
	assert_int_equal(kernel.stall_count, 2);
	assert_int_equal(lost(), 0);
}

STALL_TEST(stall_of_unseen_switch_out_is_counted)
{
	fall_asleep();
	wake_up(7 * MS, 0);
	kernel.now_ns += MS;
	/* It left after the boundary that it never reached. */
	wake_up(7 * MS, 0);
	reach_boundary();
	assert_int_equal(kernel.stall_count, 0);
	assert_int_equal(lost(), 1);
}

STALL_TEST(stall_of_preempted_thread_names_who_got_its_cpu)
{
	unsigned long long arguments[] = { true, (uintptr_t)&kernel.current,
					   (uintptr_t)&kernel.other };

	assert_int_equal(on_sched_switch(arguments), 0);
	memcpy(kernel.other.comm, "a third", sizeof("a third"));
	wake_up(7 * MS, 7 * MS);
	reach_boundary();
	assert_int_equal(kernel.stall.other_tid, OTHER_TID);
	assert_string_equal(kernel.stall.other_comm, "the other");
	assert_int_equal(kernel.stall.run_queue_ns, 7 * MS);
}

STALL_TEST(stall_of_idle_cpu_names_nobody_before)
{
	kernel.other.pid = 0;
	assert_int_equal(wait_for(7 * MS, 0)->other_tid, 0);
}

static void expect_path(const struct stall *stall)
{
	assert_int_equal(stall->object, STALL_OBJECT_PATH);
	assert_string_equal(stall->names[0], "data");
	assert_string_equal(stall->names[1], "lib");
	assert_string_equal(stall->names[2], "");
	assert_string_equal(stall->names[3], "var");
	for (size_t i = 4; i < STALL_NAMES; i++)
		assert_string_equal(stall->names[i], "");
}

STALL_TEST(stall_names_path_over_mounts)
{
	expect_path(wait_for(7 * MS, 0));
	be_in_call(CALL_FSYNC, DESCRIPTOR, 0);
	expect_path(wait_for(7 * MS, 0));
}

/* As a file that is mounted alone. */
STALL_TEST(stall_names_mounted_file_by_its_mount)
{
	files.mount.mnt.mnt_root = &files.names[0];
	assert_string_equal(wait_for(7 * MS, 0)->names[0], "");
	assert_string_equal(kernel.stall.names[1], "var");
	assert_string_equal(kernel.stall.names[2], "");
}

STALL_TEST(stall_for_a_cpu_alone_names_no_file)
{
	unsigned long long arguments[] = { true, (uintptr_t)&kernel.current,
					   (uintptr_t)&kernel.other };

	assert_int_equal(on_sched_switch(arguments), 0);
	wake_up(7 * MS, 7 * MS);
	reach_boundary();
	assert_int_equal(kernel.stall.object, STALL_OBJECT_NONE);
}

STALL_TEST(stall_in_32_bit_call_names_no_file)
{
	kernel.is_32_bit_call = true;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	assert_int_equal(syscall_call_abi(kernel.stall.call), SYSCALL_ABI_32);
}

STALL_TEST(stall_names_file_outside_of_any_tree)
{
	files.names[0] = (struct dentry){ &files.names[0], { (const void *)"[eventfd]" } };
	files.file.f_path = (struct path){ &files.root.mnt, &files.names[0] };
	assert_string_equal(wait_for(7 * MS, 0)->names[0], "[eventfd]");
	assert_string_equal(kernel.stall.names[1], "");
}

STALL_TEST(stall_names_pipe_by_inode)
{
	files.inode.i_mode = 0010600;
	files.super.s_magic = PIPE_FS_MAGIC;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_PIPE);
	assert_int_equal(kernel.stall.inode, INODE);
	/* One with a name. */
	files.super.s_magic = 0;
	files.inode.i_mode = 0010600;
	expect_path(wait_for(7 * MS, 0));
}

STALL_TEST(stall_names_peer_of_ipv4)
{
	struct sock_common *sock = open_socket(FAMILY_IPV4);

	memcpy(&sock->skc_daddr, "\012\0\0\7", 4);
	memcpy(&sock->skc_rcv_saddr, "\012\0\0\1", 4);
	sock->skc_dport = 0x3815; /* 5432, in network byte order */
	sock->skc_num = 4000;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_ADDRESS);
	assert_memory_equal(kernel.stall.peer.address, "\012\0\0\7", 4);
	assert_int_equal(kernel.stall.peer.port, 5432);
	assert_false(kernel.stall.peer.is_own);
	/* It listens. */
	sock->skc_state = SOCKET_LISTENS;
	assert_true(wait_for(7 * MS, 0)->peer.is_own);
	assert_memory_equal(kernel.stall.peer.address, "\012\0\0\1", 4);
	assert_int_equal(kernel.stall.peer.port, 4000);
	/* It has no peer. */
	sock->skc_state = 0;
	sock->skc_dport = 0;
	assert_true(wait_for(7 * MS, 0)->peer.is_own);
}

STALL_TEST(stall_names_peer_of_ipv6)
{
	struct sock_common *sock = open_socket(FAMILY_IPV6);

	memset(&sock->skc_v6_daddr, 6, sizeof(sock->skc_v6_daddr));
	memset(&sock->skc_v6_rcv_saddr, 7, sizeof(sock->skc_v6_rcv_saddr));
	sock->skc_dport = 0x5000;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_ADDRESS);
	assert_memory_equal(kernel.stall.peer.address, &sock->skc_v6_daddr, SOCKET_ADDRESS_BYTES);
	assert_int_equal(kernel.stall.peer.port, 80);
	sock->skc_state = SOCKET_LISTENS;
	(void)wait_for(7 * MS, 0);
	assert_memory_equal(kernel.stall.peer.address, &sock->skc_v6_rcv_saddr,
			    SOCKET_ADDRESS_BYTES);
}

STALL_TEST(stall_names_path_of_listening_end_of_unix_socket)
{
	(void)open_socket(FAMILY_UNIX);
	files.own.unix_sock.peer = &files.peer.sock;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_UNIX);
	assert_string_equal((const char *)kernel.stall.names, "");
	name_unix(&files.own.unix_sock, files.own_address, "/run/own", 9);
	assert_true(wait_for(7 * MS, 0)->peer.is_own);
	assert_string_equal((const char *)kernel.stall.names, "/run/own");
	name_unix(&files.peer.unix_sock, files.peer_address, "/run/peer", 10);
	assert_false(wait_for(7 * MS, 0)->peer.is_own);
	assert_string_equal((const char *)kernel.stall.names, "/run/peer");
	/* An abstract one, which has no NUL behind it. */
	name_unix(&files.peer.unix_sock, files.peer_address, "\0abstract", 9);
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_UNIX);
	assert_string_equal((const char *)kernel.stall.names, "@abstract");
	/* Lengths that none has. */
	files.own.unix_sock.addr->len = files.peer.unix_sock.addr->len = 200;
	assert_string_equal((const char *)wait_for(7 * MS, 0)->names, "");
}

STALL_TEST(stall_in_poll_names_the_one_file)
{
	const struct stall_polled polled = { .descriptor = DESCRIPTOR };
	uint64_t address = forged_take(&memory, sizeof(polled));

	forged_write(&memory, address, &polled, sizeof(polled));
	be_in_call(CALL_POLL, address, 1);
	expect_path(wait_for(7 * MS, 0));
	/* With two descriptors the one that ended the poll is not known. */
	be_in_call(CALL_POLL, address, 2);
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	/* Unreadable. */
	be_in_call(CALL_POLL, 16, 1);
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
}

STALL_TEST(stall_names_no_file_that_is_not_known)
{
	be_in_call(CALL_FUTEX, DESCRIPTOR, 0);
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	be_in_call(CALL_READ, DESCRIPTOR + 1, 0);
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	be_in_call(-1, DESCRIPTOR, 0);
	assert_int_equal(wait_for(7 * MS, 0)->call, 0);
	assert_int_equal(kernel.stall.object, STALL_OBJECT_NONE);
	/* It is told in another call already. */
	be_in_call(CALL_READ, DESCRIPTOR, 0);
	fall_asleep();
	wake_up(7 * MS, 0);
	be_in_call(CALL_FSYNC, DESCRIPTOR, 0);
	reach_boundary();
	assert_int_equal(kernel.stall.object, STALL_OBJECT_NONE);
	assert_int_equal(kernel.stall_count, 4);
}

static void fault(void)
{
	unsigned long long arguments[] = { (uintptr_t)&files.mapping };

	assert_int_equal(on_file_fault(arguments), 0);
}

static void expect_faulted(const struct stall *stall)
{
	assert_int_equal(stall->object, STALL_OBJECT_MAPPED);
	assert_int_equal(stall->inode, INODE);
	assert_int_equal(stall->device, DEVICE);
	assert_int_equal(stall->call, 0);
}

static void begin_fault(void)
{
	files.mapping.host = &files.inode;
	files.super.s_dev = DEVICE;
	kernel.current.min_flt = 5;
	kernel.current.maj_flt = 2;
	be_in_call(-1, DESCRIPTOR, 0);
}

STALL_TEST(stall_in_page_fault_names_the_file_that_it_asked_for)
{
	begin_fault();
	fault();
	expect_faulted(wait_for(7 * MS, 0));
	/* It sleeps again in the same fault. */
	expect_faulted(wait_for(7 * MS, 0));
	/* In the next one, of no file. */
	kernel.current.maj_flt++;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	/* Again a fault for a file. It is known although the fault is over when the wait is told.
	 */
	fault();
	fall_asleep();
	wake_up(7 * MS, 0);
	kernel.current.min_flt++;
	reach_boundary();
	expect_faulted(&kernel.stall);
	assert_int_equal(kernel.stall_count, 4);
}

/* Before 6.12 the page that it reads. */
STALL_TEST(stall_in_page_fault_names_the_file_that_it_reads)
{
	unsigned long long arguments[] = { (uintptr_t)&files.page };

	begin_fault();
	files.page.mapping = &files.mapping;
	assert_int_equal(on_page_read(arguments), 0);
	expect_faulted(wait_for(7 * MS, 0));
}

STALL_TEST(stall_outside_of_a_page_fault_names_no_mapped_file)
{
	/* A system call reads the file. */
	begin_fault();
	kernel.is_in_call = true;
	fault();
	kernel.is_in_call = false;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	/* A fault that did not wait, and then a call. */
	fault();
	be_in_call(CALL_FUTEX, DESCRIPTOR, 0);
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
	be_in_call(CALL_READ, DESCRIPTOR, 0);
	expect_path(wait_for(7 * MS, 0));
	/* It was not seen where it got its CPU. */
	be_in_call(-1, DESCRIPTOR, 0);
	fault();
	sees_syscalls = 1;
	return_unseen(7 * MS);
	assert_int_equal(kernel.stall.object, STALL_OBJECT_NONE);
	assert_int_equal(kernel.stall_count, 4);
}

STALL_TEST(stall_of_preempted_page_fault_names_no_file)
{
	unsigned long long arguments[] = { true, (uintptr_t)&kernel.current,
					   (uintptr_t)&kernel.other };

	begin_fault();
	fault();
	assert_int_equal(on_sched_switch(arguments), 0);
	wake_up(7 * MS, 7 * MS);
	reach_boundary();
	assert_int_equal(kernel.stall.object, STALL_OBJECT_NONE);
}

STALL_TEST(page_fault_of_unobserved_thread_is_not_noted)
{
	begin_fault();
	kernel.has_state[0] = false;
	fault();
	kernel.has_state[0] = true;
	assert_int_equal(wait_for(7 * MS, 0)->object, STALL_OBJECT_NONE);
}

/* It waits for an epoll set under DESCRIPTOR. The file that became ready is under DESCRIPTOR - 1.
 */
static void wait_for_set(void)
{
	static struct file set;

	set = files.file;
	set.private_data = &files.set;
	files.table[DESCRIPTOR - 1] = &files.file;
	files.table[DESCRIPTOR] = &set;
	files.set.rdllist.next = &files.items[0].rdllink;
	files.items[0].rdllink.next = &files.items[1].rdllink;
	files.items[0].ffd = (struct epoll_filefd){ &files.file, DESCRIPTOR - 1 };
	be_in_call(CALL_EPOLL, DESCRIPTOR, 0);
}

static void note_ready(void)
{
	thread->stall.flags = STALL_WAS_WOKEN;
	assert_int_equal(stall_note_ready(&thread->stall, &kernel.current), 0);
}

static const struct stall *wait_for_ready(void)
{
	fall_asleep();
	note_ready();
	wake_up(7 * MS, 0);
	reach_boundary();
	return &kernel.stall;
}

STALL_TEST(stall_for_epoll_set_names_the_file_that_ended_it)
{
	wait_for_set();
	expect_path(wait_for_ready());
	assert_int_equal(kernel.stall.flags, STALL_WAS_WOKEN | STALL_OBJECT_IS_IN_SET);
	/* The next wait ends without one. */
	files.set.rdllist.next = &files.set.rdllist;
	assert_int_equal(wait_for_ready()->flags, STALL_WAS_WOKEN);
	assert_int_equal(kernel.stall.object, STALL_OBJECT_PATH);
}

STALL_TEST(stall_for_epoll_set_names_the_set_if_the_file_is_not_known)
{
	wait_for_set();
	/* The descriptor is another file's by now. */
	fall_asleep();
	note_ready();
	wake_up(7 * MS, 0);
	files.table[DESCRIPTOR - 1] = files.table[DESCRIPTOR];
	reach_boundary();
	assert_int_equal(kernel.stall.flags, STALL_WAS_WOKEN);
	assert_int_equal(kernel.stall.object, STALL_OBJECT_PATH);
	/* A socket of which nothing can be said. */
	wait_for_set();
	(void)open_socket(99);
	assert_int_equal(wait_for_ready()->flags, STALL_WAS_WOKEN);
	assert_int_equal(kernel.stall.object, STALL_OBJECT_NONE);
}

STALL_TEST(only_a_wait_for_an_epoll_set_has_a_ready_file)
{
	wait_for_set();
	be_in_call(CALL_READ, DESCRIPTOR, 0);
	note_ready();
	be_in_call(-1, DESCRIPTOR, 0);
	note_ready();
	be_in_call(CALL_EPOLL, DESCRIPTOR + 1, 0);
	note_ready();
	kernel.is_32_bit_call = true;
	be_in_call(CALL_EPOLL, DESCRIPTOR, 0);
	note_ready();
	assert_int_equal(thread->stall.ready_file, 0);
	/* A file that is no set has nothing in it. */
	kernel.is_32_bit_call = false;
	files.set.rdllist.next = NULL;
	note_ready();
	assert_int_equal(thread->stall.ready_file, 0);
	files.set.rdllist.next = &files.items[0].rdllink;
	note_ready();
	assert_int_equal(thread->stall.ready_file, (uintptr_t)&files.file);
	assert_int_equal(thread->stall.ready_descriptor, DESCRIPTOR - 1);
}

static void keep_thread(uint64_t ns)
{
	thread->hog = (struct hog_watch){ .since_ns = kernel.now_ns,
					  .context_hash = CONTEXT,
					  .cpu_ns = 5 * MS,
					  .blocked_ns = 2 * MS,
					  .run_queue_ns = MS,
					  .last_fiber = 7,
					  .has_turns = 1,
					  .waited = { 31, 32 },
					  .sampled = { 41, 42 } };
	kernel.now_ns += ns;
}

STALL_TEST(hog_is_told_when_fiber_leaves)
{
	const struct stall *stall = &kernel.stall;

	keep_thread(8 * MS);
	assert_int_equal(hog_tell(thread, 6, kernel.now_ns), 0);
	assert_int_equal(kernel.stall_count, 1);
	assert_int_equal(stall->flags, STALL_IS_HOG | STALL_STACK_IS_SAMPLED);
	assert_int_equal(stall->stack, 41);
	assert_int_equal(stall->tip, 42);
	assert_int_equal(stall->start_ns, NOW_NS);
	assert_int_equal(stall->end_ns, NOW_NS + 8 * MS);
	assert_int_equal(stall->cpu_ns, 5 * MS);
	assert_int_equal(stall->blocked_ns, 2 * MS);
	assert_int_equal(stall->run_queue_ns, MS);
	assert_int_equal(stall->context_hash, CONTEXT);
	assert_int_equal(stall->tid, TID);
	assert_string_equal(stall->comm, "puma worker");
	assert_int_equal(stall->waker_tgid, 0);
	assert_int_equal(stall->other_tid, 0);
	assert_int_equal(stall->call, 0);
	assert_int_equal(stall->object, STALL_OBJECT_NONE);
	assert_string_equal(stall->names[0], "");
	assert_int_equal(thread->hog.since_ns, kernel.now_ns);
	assert_int_equal(thread->hog.last_fiber, 6);
}

STALL_TEST(hog_that_waited_is_where_it_waited_longest)
{
	const struct stall *stall = &kernel.stall;

	native_session.has_wait_stacks = 1;
	keep_thread(0);
	thread->hog.waited = (struct hog_place){ 0 };
	thread->waited.next_stack = 51;
	thread->waited.next_tip = 52;
	(void)wait_for(4 * MS, 0);
	thread->waited.next_stack = 61;
	(void)wait_for(3 * MS, 0);
	assert_int_equal(hog_tell(thread, 6, kernel.now_ns), 0);
	assert_int_equal(kernel.stall_count, 1);
	assert_int_equal(stall->flags, STALL_IS_HOG);
	assert_int_equal(stall->stack, 51);
	assert_int_equal(stall->tip, 52);
	assert_int_equal(thread->hog.waited.stack, 0);
}

STALL_TEST(hog_is_not_told_if_short_or_in_no_context)
{
	keep_thread(5 * MS - 1);
	(void)hog_tell(thread, 8, kernel.now_ns);
	keep_thread(8 * MS);
	thread->hog.context_hash = CONTEXT_HASH_NONE;
	(void)hog_tell(thread, 8, kernel.now_ns);
	keep_thread(8 * MS);
	thread->hog.since_ns = 0;
	(void)hog_tell(thread, 8, kernel.now_ns);
	assert_int_equal(kernel.stall_count, 0);
	assert_int_equal(lost(), 0);
}

STALL_TEST(hog_without_room_is_counted)
{
	keep_thread(8 * MS);
	kernel.has_no_ring = true;
	(void)hog_tell(thread, 8, kernel.now_ns);
	assert_int_equal(lost(), 1);
}

STALL_TEST(hog_of_missed_probe_or_other_program_is_unknown)
{
	struct uprobe_registers registers = { 0 };

	keep_thread(8 * MS);
	thread->is_busy = 1;
	assert_int_equal(on_context_change(&registers), 0);
	assert_int_equal(thread->hog.since_ns, 0);
	thread->is_busy = 0;
	keep_thread(8 * MS);
	thread_renew_image(thread, &kernel.current);
	assert_int_equal(thread->hog.since_ns, 0);
	assert_int_equal(thread->hog.has_turns, 0);
}
