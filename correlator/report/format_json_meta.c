#include "report/format.h"

#include "report/json_part.h"

static void set_known(json_t *object, const char *name, int64_t value, int *r)
{
	if (value > 0)
		json_part_set(object, name, json_integer(value), r);
}

static json_t *processes_array(const struct recording *recording, int *r)
{
	struct recording_process_info info;
	const void *cursor = NULL;
	json_t *array = json_array();

	while (recording_next_process(recording, &cursor, &info)) {
		json_t *object = json_object();

		json_part_set(object, "host_name", json_part_text(info.host_name), r);
		json_part_set(object, "pid", json_integer(info.pid), r);
		json_part_set(object, "comm", json_part_text(info.comm), r);
		if (info.server[0] != '\0')
			json_part_set(object, "server", json_part_text(info.server), r);
		if (info.ruby_version[0] != '\0')
			json_part_set(object, "ruby_version", json_part_text(info.ruby_version), r);
		set_known(object, "ppid", info.ppid, r);
		set_known(object, "start_ns", info.start_ns, r);
		set_known(object, "end_ns", info.end_ns, r);
		json_part_append(array, object, r);
	}
	return array;
}

static json_t *files_array(const struct format_options *options, int *r)
{
	json_t *array = json_array();

	for (size_t i = 0; i < options->file_count; i++) {
		const struct format_file *file = &options->files[i];
		json_t *object = json_object();

		json_part_set(object, "name", json_part_text(file->name), r);
		json_part_set(object, "records", json_integer((json_int_t)file->entry_count), r);
		json_part_set(object, "truncated", json_boolean(file->is_truncated), r);
		set_known(object, "damaged_places", (int64_t)file->damaged_places, r);
		set_known(object, "damaged_bytes", (int64_t)file->damaged_bytes, r);
		json_part_append(array, object, r);
	}
	return array;
}

/* "mixed" once it has changed: modes tells when. */
static void set_modes(json_t *object, const struct recording *recording, int *r)
{
	json_t *array;

	if (recording->mode_count == 1) {
		json_part_set(object, "mode", json_part_text(recording->modes[0].mode), r);
		json_part_set(object, "kernel_split",
			      json_boolean(recording->modes[0].has_kernel_split), r);
		return;
	}
	array = json_array();
	for (size_t i = 0; i < recording->mode_count; i++) {
		const struct recording_mode *mode = &recording->modes[i];
		json_t *item = json_object();

		json_part_set(item, "start_ns", json_integer((json_int_t)mode->wall_ns), r);
		json_part_set(item, "mode", json_part_text(mode->mode), r);
		json_part_set(item, "kernel_split", json_boolean(mode->has_kernel_split), r);
		if (mode->reason[0] != '\0')
			json_part_set(item, "reason", json_part_text(mode->reason), r);
		json_part_append(array, item, r);
	}
	json_part_set(object, "mode", json_part_text("mixed"), r);
	json_part_set(object, "modes", array, r);
}

int format_json_meta(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct recording *recording = &totals->recording;
	json_t *object = json_object();
	json_t *keys = json_array();
	int r = 0;

	if (recording->meta_count > 0) {
		json_part_set(object, "tool_version", json_part_text(recording->tool_version), &r);
		json_part_set(object, "kernel_release", json_part_text(recording->kernel_release),
			      &r);
		set_known(object, "cpu_count", recording->cpu_count, &r);
		set_modes(object, recording, &r);
		json_part_set(object, "interval_ns", json_integer(recording->interval_ns), &r);
	}
	for (size_t i = 0; i < recording->key_count; i++)
		json_part_append(keys, json_part_text(recording->keys[i]), &r);
	json_part_set(object, "keys", keys, &r);
	if (recording->end_ns > 0) {
		uint64_t duration_ns = recording_duration_ns(recording);

		json_part_set(object, "start_ns", json_integer((json_int_t)recording->start_ns),
			      &r);
		json_part_set(object, "end_ns", json_integer((json_int_t)recording->end_ns), &r);
		json_part_set(object, "duration_ns", json_integer((json_int_t)duration_ns), &r);
	}
	json_part_set(object, "processes", processes_array(recording, &r), &r);
	json_part_set(object, "files", files_array(options, &r), &r);
	return json_part_print(",\n\"meta\":", object, r, out);
}
