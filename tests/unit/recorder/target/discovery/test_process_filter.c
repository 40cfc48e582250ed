/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/discovery/process_filter.h"

#include <errno.h>

#include "unit_test.h"

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

TEST(filter_matches_cgroup_and_its_ancestors)
{
	assert_true(has_cgroup("/system.slice/puma.service", unified));
	assert_true(has_cgroup("/system.slice/puma.service/", unified));
	assert_true(has_cgroup("/system.slice", unified));
	assert_true(has_cgroup("/", unified));
	assert_true(has_cgroup("/system.slice/docker-4f3a.scope", nested));
	assert_false(has_cgroup("/user.slice", unified));
	assert_false(has_cgroup("/system.slice/puma.service/below", unified));
}

TEST(filter_matches_only_whole_cgroup_components)
{
	assert_false(has_cgroup("/system.slice/puma", unified));
	assert_false(has_cgroup("/system", unified));
	assert_false(has_cgroup("service", unified));
	assert_false(has_cgroup("/puma.service", unified));
}

TEST(filter_pattern_matches_across_slashes)
{
	assert_true(has_cgroup("/system.slice/puma*", unified));
	assert_true(has_cgroup("*puma*", unified));
	assert_true(has_cgroup("/*/puma.[rs]ervice", unified));
	assert_true(has_cgroup("/system.slice/docker-????.scope", nested));
	assert_true(has_cgroup("/system*one", nested));
	assert_false(has_cgroup("/user*", nested));
	assert_false(has_cgroup("*sidekiq*", nested));
}

TEST(filter_without_slash_matches_at_any_component)
{
	assert_true(has_cgroup("puma.service", unified));
	assert_true(has_cgroup("docker-*.scope", nested));
	assert_true(has_cgroup("workers/one", nested));
	assert_true(has_cgroup("system.slice/puma.service", unified));
	assert_false(has_cgroup("ocker-4f3a.scope", nested));
}

TEST(filter_matches_any_cgroup_hierarchy)
{
	assert_true(has_cgroup("/docker/4f3a", hierarchies));
	assert_true(has_cgroup("/docker/4f3a/init:x", hierarchies));
	assert_true(has_cgroup("/system.slice", hierarchies));
	assert_false(has_cgroup("/docker/4f3b", hierarchies));
	assert_false(has_cgroup("cpuacct", hierarchies));
	assert_false(has_cgroup("name=systemd", hierarchies));
}

TEST(filter_matches_removed_cgroup_by_its_name)
{
	assert_true(has_cgroup("/system.slice/puma.service", removed));
	assert_true(has_cgroup("puma.service", removed));
}

TEST(filter_treats_backslash_as_literal)
{
	static const char escaped[] = "0::/user.slice/app-my\\x2dapp.scope\n";

	assert_true(has_cgroup("/user.slice/app-my\\x2dapp.scope", escaped));
	assert_false(has_cgroup("/user.slice/app-my-app.scope", escaped));
}

TEST(filter_ignores_malformed_cgroup_lines)
{
	static const char *const texts[] = { "", "\n", ":", "0:", "0", "\n\n0:/a", "/a" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(has_cgroup("/a", texts[i]));
	assert_true(has_cgroup("/a", "\n:\n0::/a"));
}

TEST(filter_matches_comm_by_pattern)
{
	assert_true(has_comm("ruby", "ruby"));
	assert_true(has_comm("ruby*", "ruby3.4"));
	assert_true(has_comm("pu[mn]a", "puma"));
	assert_true(has_comm("*", ""));
	assert_false(has_comm("ruby", "ruby3.4"));
	assert_false(has_comm("ruby*", "puma"));
}

TEST(filter_truncates_plain_comm_like_the_kernel)
{
	assert_true(has_comm("a-very-long-server", "a-very-long-ser"));
	assert_false(has_comm("a-very-long-s*server", "a-very-long-ser"));
}

TEST(filter_without_patterns_matches_everything)
{
	assert_true(has_comm(NULL, "anything"));
	assert_true(has_cgroup(NULL, unified));
}

TEST(filter_init_fails_without_memory)
{
	struct process_filter filter;
	size_t failures = 0;

	assert_each_allocation_can_fail(process_filter_init("puma", "/system.slice", &filter),
					failures++);
	assert_true(failures > 1);
	process_filter_deinit(&filter);
}
