/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/discovery/process_filter.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "failing_memory.h"
static const char unified[] = "0::/system.slice/puma.service\n";
static const char nested[] = "0::/system.slice/docker-4f3a.scope/workers/one\n";
static const char removed[] = "0::/system.slice/puma.service (deleted)\n";
static const char hierarchies[] = "12:cpu,cpuacct:/docker/4f3a\n"
				  "3:name=systemd:/docker/4f3a/init:x\n"
				  "1:memory:/\n"
				  "0::/system.slice\n";

static bool has_cgroup(const char *pattern, const char *text)
{
	struct process_filter filter;
	bool result;

	assert_int_equal(process_filter_init(NULL, pattern, &filter), 0);
	result = process_filter_has_cgroup(&filter, text);
	process_filter_deinit(&filter);
	return result;
}

static bool has_comm(const char *pattern, const char *comm)
{
	struct process_filter filter;
	bool result;

	assert_int_equal(process_filter_init(pattern, NULL, &filter), 0);
	result = process_filter_has_comm(&filter, comm);
	process_filter_deinit(&filter);
	return result;
}

static void filter_matches_cgroup_and_its_ancestors(void **state)
{
	(void)state;
	assert_true(has_cgroup("/system.slice/puma.service", unified));
	assert_true(has_cgroup("/system.slice/puma.service/", unified));
	assert_true(has_cgroup("/system.slice", unified));
	assert_true(has_cgroup("/", unified));
	assert_true(has_cgroup("/system.slice/docker-4f3a.scope", nested));
	assert_false(has_cgroup("/user.slice", unified));
	assert_false(has_cgroup("/system.slice/puma.service/below", unified));
}

static void filter_matches_only_whole_cgroup_components(void **state)
{
	(void)state;
	assert_false(has_cgroup("/system.slice/puma", unified));
	assert_false(has_cgroup("/system", unified));
	assert_false(has_cgroup("service", unified));
	assert_false(has_cgroup("/puma.service", unified));
}

static void filter_pattern_matches_across_slashes(void **state)
{
	(void)state;
	assert_true(has_cgroup("/system.slice/puma*", unified));
	assert_true(has_cgroup("*puma*", unified));
	assert_true(has_cgroup("/*/puma.[rs]ervice", unified));
	assert_true(has_cgroup("/system.slice/docker-????.scope", nested));
	assert_true(has_cgroup("/system*one", nested));
	assert_false(has_cgroup("/user*", nested));
	assert_false(has_cgroup("*sidekiq*", nested));
}

static void filter_without_slash_matches_at_any_component(void **state)
{
	(void)state;
	assert_true(has_cgroup("puma.service", unified));
	assert_true(has_cgroup("docker-*.scope", nested));
	assert_true(has_cgroup("workers/one", nested));
	assert_true(has_cgroup("system.slice/puma.service", unified));
	assert_false(has_cgroup("ocker-4f3a.scope", nested));
}

static void filter_matches_any_cgroup_hierarchy(void **state)
{
	(void)state;
	assert_true(has_cgroup("/docker/4f3a", hierarchies));
	assert_true(has_cgroup("/docker/4f3a/init:x", hierarchies));
	assert_true(has_cgroup("/system.slice", hierarchies));
	assert_false(has_cgroup("/docker/4f3b", hierarchies));
	assert_false(has_cgroup("cpuacct", hierarchies));
	assert_false(has_cgroup("name=systemd", hierarchies));
}

static void filter_matches_removed_cgroup_by_its_name(void **state)
{
	(void)state;
	assert_true(has_cgroup("/system.slice/puma.service", removed));
	assert_true(has_cgroup("puma.service", removed));
}

static void filter_treats_backslash_as_literal(void **state)
{
	static const char escaped[] = "0::/user.slice/app-my\\x2dapp.scope\n";

	(void)state;
	assert_true(has_cgroup("/user.slice/app-my\\x2dapp.scope", escaped));
	assert_false(has_cgroup("/user.slice/app-my-app.scope", escaped));
}

static void filter_ignores_malformed_cgroup_lines(void **state)
{
	static const char *const texts[] = { "", "\n", ":", "0:", "0", "\n\n0:/a", "/a" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(has_cgroup("/a", texts[i]));
	assert_true(has_cgroup("/a", "\n:\n0::/a"));
}

static void filter_matches_comm_by_pattern(void **state)
{
	(void)state;
	assert_true(has_comm("ruby", "ruby"));
	assert_true(has_comm("ruby*", "ruby3.4"));
	assert_true(has_comm("pu[mn]a", "puma"));
	assert_true(has_comm("*", ""));
	assert_false(has_comm("ruby", "ruby3.4"));
	assert_false(has_comm("ruby*", "puma"));
}

static void filter_truncates_plain_comm_like_the_kernel(void **state)
{
	(void)state;
	assert_true(has_comm("a-very-long-server", "a-very-long-ser"));
	assert_false(has_comm("a-very-long-s*server", "a-very-long-ser"));
}

static void filter_without_patterns_matches_everything(void **state)
{
	(void)state;
	assert_true(has_comm(NULL, "anything"));
	assert_true(has_cgroup(NULL, unified));
}

static void filter_init_fails_without_memory(void **state)
{
	struct process_filter filter;

	(void)state;
	for (size_t successes = 0; successes < 2; successes++) {
		memory_fails_once_after(successes);
		assert_int_equal(process_filter_init("puma", "/system.slice", &filter), -ENOMEM);
		memory_never_fails();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filter_matches_cgroup_and_its_ancestors),
		cmocka_unit_test(filter_matches_only_whole_cgroup_components),
		cmocka_unit_test(filter_pattern_matches_across_slashes),
		cmocka_unit_test(filter_without_slash_matches_at_any_component),
		cmocka_unit_test(filter_matches_any_cgroup_hierarchy),
		cmocka_unit_test(filter_matches_removed_cgroup_by_its_name),
		cmocka_unit_test(filter_treats_backslash_as_literal),
		cmocka_unit_test(filter_ignores_malformed_cgroup_lines),
		cmocka_unit_test(filter_matches_comm_by_pattern),
		cmocka_unit_test(filter_truncates_plain_comm_like_the_kernel),
		cmocka_unit_test(filter_without_patterns_matches_everything),
		cmocka_unit_test(filter_init_fails_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
