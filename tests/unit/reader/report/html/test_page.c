/* SPDX-License-Identifier: GPL-2.0-only */
/* A page as a whole, and where it is written to. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/html/page_output.h"
#include "reader/report/html/page_story.h"

static struct totals totals;
static struct page_data data;
static struct input_file file;
static struct page_recording recordings[2];
static char *text;
static char folder[] = "/tmp/test_page.XXXXXX", path[64];

static int setup(void **state)
{
	static const char *const by[] = { "endpoint" };
	int r = totals_init(&totals, by, 1) || page_data_init(&data, &totals, NULL);

	(void)state;
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET </script>", 2000, 900, 990 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", "GET /", 1500, 900, 990 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "c", NULL, 500, 900, 990 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "", "", 3, 900, 990 });
	story_balance(&totals, 1000, 4008, 4000);
	r = r || totals_finish(&totals) || page_data_finish(&data);
	file = (struct input_file){ .name = "<app>.rec", .entry_count = 1234 };
	recordings[0] = (struct page_recording){
		&totals, &data, { .sort = FIGURE_CPU, .files = &file, .file_count = 1 }
	};
	recordings[1] = recordings[0];
	(void)strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/page.html", folder);
	return r;
}

static int teardown(void **state)
{
	(void)state;
	page_data_deinit(&data);
	totals_deinit(&totals);
	free(text);
	text = NULL;
	(void)unlink(path);
	return rmdir(folder);
}

static int try_print(size_t count)
{
	size_t text_bytes;
	FILE *out;
	int r;

	free(text);
	out = open_memstream(&text, &text_bytes);
	r = page_print(recordings, count, out);
	assert_int_equal(fclose(out), 0);
	return r;
}

static size_t count_of(const char *part)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

static void expect(const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s", part);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(page_contains_all_its_parts)
{
	assert_int_equal(try_print(1), 0);
	assert_memory_equal(text, "<!doctype html>", 15);
	expect("<title>&lt;app&gt;.rec · Correlator</title>");
	expect("<dt>recording</dt><dd>&lt;app&gt;.rec, 1,234 records</dd>");
	expect("id=\"report-0\"");
	expect("id=\"data-0\"");
	assert_int_equal(count_of("-1\">"), 0);
	assert_int_equal(count_of("{{"), 0);
	assert_int_equal(count_of("</html>"), 1);
	expect("\"use strict\"");
	expect("color-scheme");
}

FIXTURE_TEST(page_escapes_target_text_in_markup)
{
	assert_int_equal(try_print(2), 0);
	/* Two reports, two tables of data, the page's own. */
	assert_int_equal(count_of("<script"), 5);
	assert_int_equal(count_of("</script>"), 5);
	expect("<th scope=\"row\">GET &lt;/script&gt;</th>");
	expect("\"key\":\"GET \\u003c/script\\u003e\"");
	expect("<title>&lt;app&gt;.rec and &lt;app&gt;.rec");
	expect("id=\"data-1\"");
	assert_int_equal(count_of("<dl class=\"facts\">"), 2);
}

FIXTURE_TEST(page_policy_allows_only_its_own_script)
{
	char first[33], *nonce;

	assert_int_equal(try_print(1), 0);
	nonce = strstr(text, "script-src 'nonce-");
	assert_non_null(nonce);
	(void)snprintf(first, sizeof(first), "%s", nonce + strlen("script-src 'nonce-"));
	assert_int_equal(strspn(first, "0123456789abcdef"), 32);
	assert_int_equal(count_of(first), 4);
	expect("default-src 'none'");
	/* And nobody knows it beforehand. */
	assert_int_equal(try_print(1), 0);
	assert_int_equal(count_of(first), 0);
}

FIXTURE_TEST(page_tables_show_figures)
{
	assert_int_equal(try_print(1), 0);
	expect("<th scope=\"col\" data-field=\"cpu_p99\" data-unit=\"ns\">cpu p99</th>");
	expect("<th scope=\"col\" data-field=\"share\" data-unit=\"percent\">share</th>");
	expect("<th scope=\"col\" data-field=\"rate\" data-unit=\"rate\">req/s</th>");
	expect("<tr data-row=\"group\"><th scope=\"row\">GET &lt;/script&gt;</th><td>1</td>"
	       "<td>10000000</td><td>2.000 us</td><td>49.96 %</td>");
	expect("<tr data-row=\"without_key\"><th scope=\"row\">(no endpoint)</th>");
	expect("<tr data-row=\"unattributed\"><th scope=\"row\">unattributed</th><td>-</td>");
	expect("<tr data-row=\"total\"><th scope=\"row\">total</th><td>3</td>");
	expect("<th scope=\"row\">attributed</th><td>4.000 us = 99.80 %</td>");
	expect("<th scope=\"row\">the kernel's exec time</th><td>4.008 us</td>");
	expect("<th scope=\"row\">residual</th><td>3 ns</td>");
	expect("<th scope=\"row\">events_lost</th><td>4</td>");
	assert_int_equal(count_of("slices_lost</th>"), 0);
	expect("<dt>for</dt><dd>100 ns</dd>");
	expect("<dt>from</dt><dd>1970-01-01 00:00:00 UTC</dd>");
}

/* The page of requests that waited for long. filter: a condition; NULL: none. */
static void record_long_waits(const char *filter)
{
	static const char *const by[] = { "endpoint" };

	page_data_deinit(&data);
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, by, 1), 0);
	if (filter)
		assert_int_equal(filter_add(&totals.selection.filter, filter), 0);
	assert_int_equal(page_data_init(&data, &totals, NULL), 0);
	story_record(&totals, 1000, "meta pid=9 stall_ns=5000000 keys=[request_id endpoint]");
	story_record(&totals, 1000, "stack pid=42 stack_id=s1 name=\"<run>\" frame_kind=ruby");
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET <a>", 2000, 900, 990 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", "GET /b", 2000, 900, 990 });
	for (int i = 0; i < 2; i++)
		story_record(&totals, 1000,
			     "stall pid=42 tid=1 request_id=%s endpoint=\"GET %s\" start_ns=0 "
			     "end_ns=7000000 blocked_ns=7000000 run_queue_ns=0 blocked_on=futex "
			     "stack_id=s1 woken_by=thread woken_by_tid=9 woken_by_thread_name=<w>",
			     i ? "b" : "a", i ? "/b" : "<a>");
	story_record(&totals, 1000,
		     "stall pid=42 tid=1 request_id=a endpoint=\"GET <a>\" hog=true start_ns=910 "
		     "end_ns=980 blocked_ns=0 run_queue_ns=0 cpu_ns=70");
	/* On another thread: it held none of these up. */
	story_record(&totals, 1000,
		     "stall pid=42 tid=2 request_id=c endpoint=\"GET /c\" hog=true start_ns=910 "
		     "end_ns=980 blocked_ns=0 run_queue_ns=0 cpu_ns=70");
	story_record(&totals, 1000,
		     "balance pid=42 window_ns=100 exec_ns=0 attributed_ns=0 "
		     "unattributed_ns=0 overflow_ns=0 residual_ns=0 stalls_lost=3");
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(page_data_finish(&data), 0);
}

FIXTURE_TEST(page_shows_long_waits_and_hogs_if_recorded)
{
	assert_int_equal(try_print(1), 0);
	assert_int_equal(count_of("id=\"stalls\""), 0);
	record_long_waits(NULL);
	assert_int_equal(try_print(1), 0);
	assert_int_equal(count_of("id=\"stalls\""), 1);
	assert_int_equal(count_of("<table class=\"listed\">"), 4);
	expect("<th scope=\"col\">wait</th><th scope=\"col\" class=\"text\">on</th>");
	expect("<tr><th scope=\"row\">GET &lt;a&gt;</th><td class=\"text\">thread &lt;w&gt;</td>"
	       "<td>1</td><td>7.000 ms</td><td>50.00 %</td>");
	expect("<td class=\"text\">&lt;run&gt;</td></tr>");
	expect("<th scope=\"row\">GET /c</th>");
	expect("<p class=\"hint\">2 waits of at least 5.000 ms: 14.00 ms blocked, 0 ns for a CPU.");
	expect("<p class=\"hint\">3 long waits of all processes could not be recorded.</p>");
	assert_int_equal(count_of("<run>"), 0);
}

FIXTURE_TEST(page_shows_long_waits_of_selected_requests_alone)
{
	record_long_waits("request_id=b");
	assert_int_equal(try_print(1), 0);
	expect("<p class=\"hint\">1 wait of at least 5.000 ms: 7.000 ms blocked");
	/* The one that held it up, alone. */
	expect("<th scope=\"row\">GET &lt;a&gt;</th><td>1</td><td>70 ns</td>");
	assert_int_equal(count_of("<th scope=\"row\">GET /c"), 0);
}

/* The page of what a request called, read and wrote, beside another one's. */
static void record_calls(const char *modules)
{
	static const char *const by[] = { "endpoint" };

	page_data_deinit(&data);
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, by, 1), 0);
	assert_int_equal(filter_add(&totals.selection.filter, "request_id=a"), 0);
	assert_int_equal(page_data_init(&data, &totals, NULL), 0);
	story_record(&totals, 1000, "meta pid=9 modules=[%s] keys=[request_id endpoint]", modules);
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "a", "GET <a>", 2000, 900, 990 });
	story_cpu(&totals, (struct story_cpu){ 1000, 1, "b", "GET /b", 2000, 900, 990 });
	for (int i = 0; i < 2; i++) {
		const char *request = i ? "b" : "a", *endpoint = i ? "/b" : "<a>";

		story_record(
			&totals, 1000,
			"syscall pid=42 tid=1 request_id=%s endpoint=\"GET %s\" syscall=<read> "
			"syscall_number=0 syscalls=%d inside_ns=3000",
			request, endpoint, 3 + i);
		story_record(&totals, 1000,
			     "io pid=42 tid=1 request_id=%s endpoint=\"GET %s\" io_on=unix "
			     "peer=<p>%d io_calls=2 in_bytes=2048 out_bytes=0",
			     request, endpoint, i);
	}
	assert_int_equal(totals_finish(&totals), 0);
	assert_int_equal(page_data_finish(&data), 0);
}

FIXTURE_TEST(page_lists_calls_and_peers_of_selected_requests)
{
	record_calls("io syscalls");
	assert_int_equal(try_print(1), 0);
	assert_int_equal(count_of("<table class=\"listed\">"), 2);
	expect("<section id=\"io\" aria-labelledby=\"io-title\">\n<h2 id=\"io-title\">");
	expect("<tr><th scope=\"row\">GET &lt;a&gt;</th><td>1</td><td>2</td><td>2.0</td>"
	       "<td>2.0 KiB</td>");
	expect("<tr><th scope=\"row\">  unix &lt;p&gt;0</th>");
	expect("<tr><th scope=\"row\">  &lt;read&gt;</th><td></td><td>3</td><td>3.0</td>"
	       "<td>100.00 %</td><td>3.000 us</td>");
	assert_int_equal(count_of("&lt;p&gt;1"), 0);
}

FIXTURE_TEST(page_lists_what_was_on_alone)
{
	record_calls("io");
	assert_int_equal(try_print(1), 0);
	assert_int_equal(count_of("id=\"io\""), 1);
	assert_int_equal(count_of("id=\"syscalls\""), 0);
}

FIXTURE_TEST(page_omits_time_without_windows)
{
	totals.selection.recording.start_ns = totals.selection.recording.end_ns = 0;
	assert_int_equal(try_print(1), 0);
	assert_int_equal(count_of("<dt>from</dt>"), 0);
	assert_int_equal(count_of("<dt>for</dt>"), 0);
}

FIXTURE_TEST(page_reports_damage_losses_and_hidden_rows)
{
	file.is_truncated = true;
	file.damaged_places = 1;
	totals.books.gap_count = 1;
	totals.books.dropped_records = 77;
	recordings[0].options.top_count = 1;
	assert_int_equal(filter_add(&totals.selection.filter, "pid=42"), 0);
	totals.selection.recording.modes[0] = (struct recording_mode){ .mode = "lean" };
	totals.selection.recording.mode_count = 2;
	totals.self_cost = (struct self_cost){
		.record_count = 1, .cpu_ns = 2000, .has_programs = true, .run_ns = 1000
	};
	assert_int_equal(try_print(1), 0);
	expect("records, truncated, DAMAGED: some are missing</dd>");
	expect("<th scope=\"row\">records dropped</th><td>77</td>");
	expect("<th scope=\"row\">… 1 more</th>");
	expect("<dt>only</dt><dd>pid=42</dd>");
	expect("<dt>mode</dt><dd>lean, without user/kernel split, and changed</dd>");
	expect("<th scope=\"row\">Correlator's own CPU</th><td>2.000 us = 49.96 %</td>");
	expect("<th scope=\"row\">in its BPF programs</th><td>1.000 us = 24.98 %</td>");
}

FIXTURE_TEST(page_returns_enomem_without_memory)
{
	size_t failures = 0;

	assert_each_allocation_can_fail(try_print(1), failures++);
	assert_true(failures > 0);
}

static void put_file(const char *content)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_true(fputs(content, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void expect_file(const char *begin)
{
	char got[64] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_int_equal(fread(got, 1, strlen(begin), in), strlen(begin));
	assert_int_equal(fclose(in), 0);
	assert_string_equal(got, begin);
}

FIXTURE_TEST(page_output_replaces_only_pages)
{
	assert_int_equal(page_output_check(path), 0);
	assert_int_equal(page_output_check("-"), 0);
	assert_int_equal(page_output_check("/dev/null"), 0);
	put_file("");
	assert_int_equal(page_output_check(path), 0);
	put_file("<!DOCTYPE html>\n");
	assert_int_equal(page_output_check(path), 0);
	put_file("<!doctype htm");
	assert_int_equal(page_output_check(path), -EEXIST);
	put_file("\x92\xd7 a recording that is somewhat longer");
	assert_int_equal(page_output_check(path), -EEXIST);
	assert_int_equal(page_output_check("/proc/nothing/page.html"), 0);
}

FIXTURE_TEST(page_output_writes_complete_page)
{
	struct stat status;

	assert_int_equal(page_output_write(path, recordings, 1), 0);
	expect_file("<!doctype html>");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(status.st_size > 10000);
}

FIXTURE_TEST(page_output_keeps_old_page_on_failure)
{
	put_file("<!doctype html> old");
	assert_each_allocation_can_fail(page_output_write(path, recordings, 1),
					expect_file("<!doctype html> old"));
	expect_file("<!doctype html>\n");
	/* And nothing beside it: teardown removes the folder. */
	assert_int_equal(page_output_write("/proc/nothing/page.html", recordings, 1), -ENOENT);
}

FIXTURE_TEST(page_output_reports_full_device)
{
	assert_int_equal(page_output_write("/dev/full", recordings, 1), -ENOSPC);
	assert_int_equal(page_output_write("/dev/null", recordings, 1), 0);
}

FIXTURE_TEST(page_output_rejects_symlink)
{
	char link[80];

	(void)snprintf(link, sizeof(link), "%s/link", folder);
	put_file("<!doctype html>");
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(page_output_check(link), -EPERM);
	assert_int_equal(page_output_write(link, recordings, 1), -EPERM);
	expect_file("<!doctype html>");
	assert_int_equal(unlink(link), 0);
}
