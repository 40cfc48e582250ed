/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "perfetto.pb-c.h"
#include "reader/aggregate/totals.h"
#include "reader/query/record_context.h"
#include "record/blocked.h"
#include "record/slice_view.h"
#include "requests/attribution.h"

enum {
	CLOCK_REALTIME_ID = 1, /* in Perfetto's BuiltinClock */
	CLOCK_BOOTTIME_ID = 6,
	SEQUENCE_ID = 1, /* all packets have the same writer */
	TEXT_BYTES = 256,
	STATE_BYTES = 64,
	PACKET_TAG = 1 << 3 | 2, /* field 1 of a trace, a message */
	VARINT_BYTES = 10,
};

typedef Perfetto__Protos__TracePacket packet_t;
typedef Perfetto__Protos__TrackDescriptor descriptor_t;
typedef Perfetto__Protos__TrackEvent event_t;
typedef Perfetto__Protos__DebugAnnotation annotation_t;

struct perfetto_track {
	uint64_t uuid;
	uint64_t name_digest; /* of the name, because threads and processes change theirs */
	UT_hash_handle hh;
};

/* The process, thread and request of a record, and their tracks. */
struct place {
	char host_name[TEXT_BYTES]; /* all texts here are escaped */
	char thread_name[TEXT_BYTES];
	char context[TEXT_BYTES]; /* the request's ID, else the values of its keys; "" = none */
	char endpoint[TEXT_BYTES];
	char comm[TEXT_BYTES];
	const char *request_name; /* name of the request's track, or of the track without one */
	int64_t pid;
	int64_t tid;
	int64_t fiber; /* 0: not known */
	uint64_t process; /* uuids of tracks */
	uint64_t thread;
	uint64_t request;
	uint64_t request_lane; /* track below request for a thread or fiber */
	uint64_t request_windows;
};

/* The debug annotations of an event. */
struct annotations {
	size_t count;
	annotation_t items[RECORD_VIEW_FIELDS_MAX];
	annotation_t *pointers[RECORD_VIEW_FIELDS_MAX];
	char names[RECORD_VIEW_FIELDS_MAX][TEXT_BYTES];
	char texts[RECORD_VIEW_FIELDS_MAX][TEXT_BYTES];
};

void perfetto_init(struct perfetto *perfetto)
{
	*perfetto = (struct perfetto){ .seed = random_seed() };
}

static void forget_tracks(struct perfetto *perfetto)
{
	struct perfetto_track *track, *next;

	HASH_ITER(hh, perfetto->tracks, track, next) {
		HASH_DELETE(hh, perfetto->tracks, track);
		free(track);
	}
}

void perfetto_deinit(struct perfetto *perfetto)
{
	forget_tracks(perfetto);
}

static size_t put_varint(size_t value, uint8_t bytes[static VARINT_BYTES])
{
	size_t count = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (uint8_t)(value | 0x80);
	bytes[count++] = (uint8_t)value;
	return count;
}

/* A trace is a sequence of packets. */
static int put_packet(packet_t *packet, FILE *out)
{
	size_t size_bytes = perfetto__protos__trace_packet__get_packed_size(packet);
	_cleanup_free_ uint8_t *bytes = malloc(size_bytes);
	uint8_t head[1 + VARINT_BYTES] = { PACKET_TAG };

	if (!bytes)
		return -ENOMEM;
	(void)perfetto__protos__trace_packet__pack(packet, bytes);
	(void)fwrite(head, 1, 1 + put_varint(size_bytes, head + 1), out);
	(void)fwrite(bytes, 1, size_bytes, out);
	return 0;
}

/* Begins the trace with a clock snapshot: times are wall clock times, and Perfetto needs an instant
 * in common with the trace's own clock. */
static int begin(struct perfetto *perfetto, uint64_t wall_ns, FILE *out)
{
	Perfetto__Protos__ClockSnapshot__Clock clocks[2] = {
		PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT,
		PERFETTO__PROTOS__CLOCK_SNAPSHOT__CLOCK__INIT
	};
	Perfetto__Protos__ClockSnapshot__Clock *pointers[2] = { &clocks[0], &clocks[1] };
	Perfetto__Protos__ClockSnapshot snapshot = PERFETTO__PROTOS__CLOCK_SNAPSHOT__INIT;
	packet_t packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	if (perfetto->has_begun)
		return 0;
	perfetto->has_begun = true;
	for (int i = 0; i < 2; i++) {
		clocks[i].has_clock_id = clocks[i].has_timestamp = true;
		clocks[i].clock_id = i == 0 ? CLOCK_REALTIME_ID : CLOCK_BOOTTIME_ID;
		clocks[i].timestamp = wall_ns;
	}
	snapshot.n_clocks = 2;
	snapshot.clocks = pointers;
	packet.clock_snapshot = &snapshot;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = SEQUENCE_ID;
	return put_packet(&packet, out);
}

/* True if the track must be described. False without memory, too: *r is -ENOMEM then. */
static bool is_new(struct perfetto *perfetto, uint64_t uuid, const char *name, int *r)
{
	uint64_t name_digest = hash_bytes(0, name, strlen(name));
	unsigned int hash = hash_table_key(perfetto->seed, &uuid, sizeof(uuid));
	struct perfetto_track *track;

	HASH_FIND_BYHASHVALUE(hh, perfetto->tracks, &uuid, sizeof(uuid), hash, track);
	if (track) {
		bool is_other = track->name_digest != name_digest;

		track->name_digest = name_digest;
		return is_other;
	}
	if (HASH_COUNT(perfetto->tracks) == PERFETTO_TRACKS_MAX)
		forget_tracks(perfetto);
	track = calloc(1, sizeof(*track));
	if (track) {
		track->uuid = uuid;
		track->name_digest = name_digest;
		HASH_ADD_BYHASHVALUE(hh, perfetto->tracks, uuid, sizeof(uuid), hash, track);
	}
	if (!track || !track->hh.tbl) {
		free(track);
		*r = -ENOMEM;
		return false;
	}
	return true;
}

static int put_descriptor(descriptor_t *descriptor, uint64_t uuid, uint64_t parent_uuid, FILE *out)
{
	packet_t packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	descriptor->has_uuid = true;
	descriptor->uuid = uuid;
	descriptor->has_parent_uuid = parent_uuid != 0;
	descriptor->parent_uuid = parent_uuid;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = SEQUENCE_ID;
	packet.track_descriptor = descriptor;
	return put_packet(&packet, out);
}

static int describe_process(struct perfetto *perfetto, const struct place *place, FILE *out)
{
	Perfetto__Protos__ProcessDescriptor process = PERFETTO__PROTOS__PROCESS_DESCRIPTOR__INIT;
	descriptor_t descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	char name[2 * TEXT_BYTES + 8];
	int r = 0;

	(void)snprintf(name, sizeof(name), "%s on %s", place->comm, place->host_name);
	if (!is_new(perfetto, place->process, name, &r))
		return r;
	process.has_pid = true;
	process.pid = (int32_t)place->pid;
	process.process_name = name;
	descriptor.process = &process;
	return put_descriptor(&descriptor, place->process, 0, out);
}

static int describe_thread(struct perfetto *perfetto, const struct place *place, FILE *out)
{
	Perfetto__Protos__ThreadDescriptor thread = PERFETTO__PROTOS__THREAD_DESCRIPTOR__INIT;
	descriptor_t descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	int r = 0;

	if (!is_new(perfetto, place->thread, place->thread_name, &r))
		return r;
	thread.has_pid = thread.has_tid = true;
	thread.pid = (int32_t)place->pid;
	thread.tid = (int32_t)place->tid;
	if (place->thread_name[0] != '\0')
		thread.thread_name = (char *)place->thread_name;
	descriptor.thread = &thread;
	return put_descriptor(&descriptor, place->thread, place->process, out);
}

/* Describes the request's own track; the tracks below it are sorted by when they begin. */
static int describe_request(struct perfetto *perfetto, const struct place *place, FILE *out)
{
	descriptor_t descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	int r = 0;

	if (!is_new(perfetto, place->request, place->request_name, &r))
		return r;
	descriptor.name = (char *)place->request_name;
	descriptor.has_child_ordering = true;
	descriptor.child_ordering =
		PERFETTO__PROTOS__TRACK_DESCRIPTOR__CHILD_TRACKS_ORDERING__CHRONOLOGICAL;
	return put_descriptor(&descriptor, place->request, place->process, out);
}

/* Describes the track of a thread or fiber below the request's. suffix: to its name. */
static int describe_lane(struct perfetto *perfetto, const struct place *place, uint64_t uuid,
			 const char *suffix, FILE *out)
{
	descriptor_t descriptor = PERFETTO__PROTOS__TRACK_DESCRIPTOR__INIT;
	char name[TEXT_BYTES + 64], fiber[32] = "";
	int r;

	r = describe_request(perfetto, place, out);
	if (r < 0)
		return r;
	if (place->fiber > 0)
		(void)snprintf(fiber, sizeof(fiber), " fiber %" PRId64, place->fiber);
	(void)snprintf(name, sizeof(name), "%s %" PRId64 "%s%s", place->thread_name, place->tid,
		       fiber, suffix);
	if (!is_new(perfetto, uuid, name, &r))
		return r;
	descriptor.name = name;
	return put_descriptor(&descriptor, uuid, place->request, out);
}

static void read_text(const struct record_view *record, const char *name,
		      char ret_text[static TEXT_BYTES])
{
	struct record_text text;

	ret_text[0] = '\0';
	if (record_view_text(record, name, &text))
		(void)display_escape(text.bytes, text.size_bytes, ret_text, TEXT_BYTES);
}

/* Derives a UUID that is the same in each run; never 0, which is the trace's own track. */
static uint64_t uuid_of(uint64_t parent, const char *kind, const void *bytes, size_t size_bytes)
{
	uint64_t uuid = hash_bytes(hash_bytes(parent, kind, strlen(kind)), bytes, size_bytes);

	return uuid != 0 ? uuid : 1;
}

static uint64_t uuid_of_thread(const char *host_name, int64_t pid, int64_t tid)
{
	uint64_t host = hash_bytes(0, host_name, strlen(host_name));
	uint64_t process = uuid_of(host, "process", &pid, sizeof(pid));

	return uuid_of(process, "thread", &tid, sizeof(tid));
}

/* Names a context: by its request's ID, else by the values of its keys. */
static void name_context(const struct record_view *record, bool is_request, struct place *place)
{
	size_t length = 0;

	place->context[0] = '\0';
	if (is_request) {
		read_text(record, "request_id", place->context);
		return;
	}
	for (size_t i = 0; i < record->field_count && length < TEXT_BYTES; i++) {
		const struct record_field *field = &record->fields[i];
		size_t mark = length;

		if (!field->is_key || field->text.size_bytes == 0)
			continue;
		if (length > 0 && length + sizeof(", ") < TEXT_BYTES) {
			memcpy(place->context + length, ", ", sizeof(", "));
			mark += 2;
		}
		/* The text is cut at a character. */
		length = mark + display_escape(field->text.bytes, field->text.size_bytes,
					       place->context + mark, TEXT_BYTES - mark);
	}
}

/*
 * A request that runs in several processes has a track in each. Contexts without a request have one
 * for each combination of keys. The windows of a thread share a track only if they have the same
 * keys and flags: accounts with others may be active in between.
 */
static void find_request(const struct record_view *record, struct place *place)
{
	enum attribution attribution = attribution_of(record);
	char id[RECORD_CONTEXT_ID_BYTES];
	bool is_request;
	size_t size_bytes = record_context_id(record, attribution, id, &is_request);

	place->context[0] = '\0';
	if (attribution_has_context(attribution))
		name_context(record, is_request, place);
	place->request_name = place->context;
	if (attribution == ATTRIBUTION_OVERFLOW)
		place->request_name = "overflow";
	else if (place->context[0] == '\0')
		place->request_name = "no request";
	place->request = uuid_of(place->process, "request", id, size_bytes);
	place->request_windows =
		uuid_of(place->request, "windows", &place->tid, sizeof(place->tid));
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		if (field->is_key)
			place->request_windows = uuid_of(place->request_windows, "key",
							 field->text.bytes, field->text.size_bytes);
	}
	place->request_windows =
		uuid_of(place->request_windows, "attribution", &attribution, sizeof(attribution));
}

static void find_place(struct record_text comm, const struct record_view *record,
		       struct place *place)
{
	uint64_t host;

	place->pid = place->tid = place->fiber = 0;
	(void)record_view_count(record, RECORD_FIELD(common, pid), &place->pid);
	(void)record_view_count(record, RECORD_FIELD(cpu, tid), &place->tid);
	(void)record_view_count(record, RECORD_FIELD(slice, fiber), &place->fiber);
	read_text(record, RECORD_FIELD(common, host_name), place->host_name);
	read_text(record, RECORD_FIELD(cpu, thread_name), place->thread_name);
	read_text(record, "endpoint", place->endpoint);
	(void)display_escape(comm.bytes ? comm.bytes : "", comm.size_bytes, place->comm,
			     sizeof(place->comm));
	host = hash_bytes(0, place->host_name, strlen(place->host_name));
	place->process = uuid_of(host, "process", &place->pid, sizeof(place->pid));
	place->thread = uuid_of_thread(place->host_name, place->pid, place->tid);
	find_request(record, place);
	place->request_lane = uuid_of(place->request, "slices", &place->tid, sizeof(place->tid));
	if (place->fiber > 0)
		place->request_lane =
			uuid_of(place->request_lane, "fiber", &place->fiber, sizeof(place->fiber));
}

/* True for fields that the track shows already. */
static bool is_of_place(struct record_text name)
{
	static const char *const names[] = { "schema", "kind", "record_id", "host_name",  "pid",
					     "ns_pid", "tid",  "ns_tid",    "thread_name" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (record_text_is(name, names[i]))
			return true;
	return false;
}

static void annotate(const struct record_view *record, struct annotations *annotations)
{
	annotations->count = 0;
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];
		size_t at = annotations->count;
		annotation_t *item = &annotations->items[at];

		if (is_of_place(field->name) ||
		    (field->value != RECORD_VALUE_INTEGER && field->value != RECORD_VALUE_TEXT))
			continue;
		perfetto__protos__debug_annotation__init(item);
		(void)display_escape(field->name.bytes, field->name.size_bytes,
				     annotations->names[at], TEXT_BYTES);
		item->name = annotations->names[at];
		if (field->value == RECORD_VALUE_TEXT) {
			(void)display_escape(field->text.bytes, field->text.size_bytes,
					     annotations->texts[at], TEXT_BYTES);
			item->string_value = annotations->texts[at];
		} else {
			item->has_int_value = true;
			item->int_value = field->integer;
		}
		annotations->pointers[at] = item;
		annotations->count++;
	}
}

static int put_event(event_t *event, uint64_t track, Perfetto__Protos__TrackEvent__Type type,
		     int64_t ns, FILE *out)
{
	packet_t packet = PERFETTO__PROTOS__TRACE_PACKET__INIT;

	event->has_track_uuid = event->has_type = true;
	event->track_uuid = track;
	event->type = type;
	packet.has_timestamp = packet.has_timestamp_clock_id = true;
	packet.timestamp = (uint64_t)ns;
	packet.timestamp_clock_id = CLOCK_REALTIME_ID;
	packet.has_trusted_packet_sequence_id = true;
	packet.trusted_packet_sequence_id = SEQUENCE_ID;
	packet.track_event = event;
	return put_packet(&packet, out);
}

/* A bar from start_ns to end_ns. flow: from the waker, 0 = none. */
struct bar {
	uint64_t track;
	const char *category;
	const char *name;
	int64_t start_ns;
	int64_t end_ns;
	uint64_t flow;
};

static int put_bar(const struct bar *bar, struct annotations *annotations, FILE *out)
{
	char *category = (char *)bar->category;
	event_t event = PERFETTO__PROTOS__TRACK_EVENT__INIT, end = event;
	uint64_t flow = bar->flow;
	int r;

	event.name = (char *)bar->name;
	event.n_categories = 1;
	event.categories = &category;
	event.n_debug_annotations = annotations->count;
	event.debug_annotations = annotations->pointers;
	event.n_terminating_flow_ids = flow != 0;
	event.terminating_flow_ids = &flow;
	r = put_event(&event, bar->track, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
		      bar->start_ns, out);
	if (r < 0)
		return r;
	return put_event(&end, bar->track, PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END,
			 bar->end_ns, out);
}

/* Puts an event where the slice begins, on the track of the thread that woke it. 0 and the flow (0
 * = no waker); -ENOMEM. */
static int put_waker(struct perfetto *perfetto, const struct slice_view *slice,
		     const struct place *place, FILE *out, uint64_t *ret_flow)
{
	event_t event = PERFETTO__PROTOS__TRACK_EVENT__INIT;
	char name[TEXT_BYTES + 32];
	char category[] = "wake";
	char *categories = category;

	*ret_flow = 0;
	if (slice->woken_by_tid == 0)
		return 0;
	*ret_flow = ++perfetto->flow_count;
	(void)snprintf(name, sizeof(name), "wakes %" PRId64 " %s", place->tid, place->thread_name);
	event.name = name;
	event.n_categories = 1;
	event.categories = &categories;
	event.n_flow_ids = 1;
	event.flow_ids = ret_flow;
	return put_event(&event,
			 uuid_of_thread(place->host_name, slice->woken_by_pid, slice->woken_by_tid),
			 PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT, slice->start_ns, out);
}

/* "running", or of a sleep "blocked: futex". */
static const char *name_state(const struct slice_view *slice, char text[static STATE_BYTES])
{
	if (slice->blocked_on < 0)
		return sched_state_name(slice->state);
	(void)snprintf(text, STATE_BYTES, "%s: %s", sched_state_name(slice->state),
		       blocked_name((uint32_t)slice->blocked_on));
	return text;
}

static int put_slice(struct perfetto *perfetto, const struct record_view *record,
		     struct place *place, struct annotations *annotations, FILE *out)
{
	struct bar bar = { .track = place->thread, .category = "thread" };
	char text[STATE_BYTES];
	struct slice_view slice;
	const char *state;
	int r;

	if (!slice_view_read(record, &slice))
		return 0;
	bar.start_ns = slice.start_ns;
	bar.end_ns = slice.end_ns;
	state = name_state(&slice, text);
	bar.name = state;
	/* On a thread's track, a running slice is named by what the thread ran for. */
	if (slice.state == SCHED_RUNNING && place->context[0] != '\0')
		bar.name = place->endpoint[0] != '\0' ? place->endpoint : place->context;
	perfetto->has_slices = true;
	r = put_waker(perfetto, &slice, place, out, &bar.flow);
	if (r == 0)
		r = put_bar(&bar, annotations, out);
	if (r < 0 || place->context[0] == '\0')
		return r;
	r = describe_lane(perfetto, place, place->request_lane, "", out);
	bar.track = place->request_lane;
	bar.category = "request";
	bar.name = state;
	bar.flow = 0;
	return r == 0 ? put_bar(&bar, annotations, out) : r;
}

static int put_window(struct perfetto *perfetto, const struct record_view *record,
		      struct place *place, struct annotations *annotations, FILE *out)
{
	struct bar bar = { .track = place->request_windows,
			   .category = "window",
			   .name = place->endpoint[0] != '\0' ? place->endpoint : "window" };
	int r;

	perfetto->has_windows = true;
	/* A record without times is put at the end of its window. */
	if (!record_view_count(record, RECORD_FIELD(cpu, first_ns), &bar.start_ns) ||
	    !record_view_count(record, RECORD_FIELD(cpu, last_ns), &bar.end_ns) ||
	    bar.end_ns < bar.start_ns)
		bar.start_ns = bar.end_ns = (int64_t)(record->wall_ns & INT64_MAX);
	r = describe_lane(perfetto, place, place->request_windows, " by window", out);
	return r == 0 ? put_bar(&bar, annotations, out) : r;
}

/* "hog"; of a wait what most of it was: "run_queue", or "blocked: futex". */
static void name_stall(const struct record_view *record, bool is_hog,
		       char ret_name[static TEXT_BYTES])
{
	int64_t blocked_ns = 0, run_queue_ns = 0;
	char reason[TEXT_BYTES];

	(void)record_view_count(record, RECORD_FIELD(stall, blocked_ns), &blocked_ns);
	(void)record_view_count(record, RECORD_FIELD(stall, run_queue_ns), &run_queue_ns);
	read_text(record, RECORD_FIELD(stall, blocked_on), reason);
	if (is_hog)
		(void)snprintf(ret_name, TEXT_BYTES, "hog");
	else if (run_queue_ns > blocked_ns)
		(void)snprintf(ret_name, TEXT_BYTES, "%s", sched_state_name(SCHED_RUN_QUEUE));
	else
		(void)snprintf(ret_name, TEXT_BYTES, "%s%s%.32s", sched_state_name(SCHED_BLOCKED),
			       reason[0] != '\0' ? ": " : "", reason);
}

/* Hogs have a track of their own, because a hog may have waits. */
static int put_stall(struct perfetto *perfetto, const struct record_view *record,
		     struct place *place, struct annotations *annotations, FILE *out)
{
	bool is_hog = record_view_find(record, RECORD_FIELD(stall, is_hog)) != NULL;
	struct bar bar = { .track = uuid_of(place->request, is_hog ? "hogs" : "stalls", &place->tid,
					    sizeof(place->tid)),
			   .category = is_hog ? "hog" : "stall" };
	char name[TEXT_BYTES];
	int r;

	if (!record_view_count(record, RECORD_FIELD(stall, start_ns), &bar.start_ns) ||
	    !record_view_count(record, RECORD_FIELD(stall, end_ns), &bar.end_ns) ||
	    bar.end_ns < bar.start_ns)
		return 0;
	name_stall(record, is_hog, name);
	bar.name = name;
	r = describe_lane(perfetto, place, bar.track, is_hog ? " hogs" : " stalls", out);
	return r == 0 ? put_bar(&bar, annotations, out) : r;
}

static int put_record(struct perfetto *perfetto, const struct record_view *record,
		      struct place *place, struct annotations *annotations, FILE *out)
{
	if (record->kind == RECORD_KIND_SLICE)
		return put_slice(perfetto, record, place, annotations, out);
	if (record->kind == RECORD_KIND_STALL)
		return put_stall(perfetto, record, place, annotations, out);
	return put_window(perfetto, record, place, annotations, out);
}

int perfetto_add(struct perfetto *perfetto, struct record_text comm,
		 const struct record_view *record, FILE *out)
{
	_cleanup_free_ struct annotations *annotations = NULL;
	struct place place;
	int r;

	if (record->kind != RECORD_KIND_CPU && record->kind != RECORD_KIND_SLICE &&
	    record->kind != RECORD_KIND_STALL)
		return 0;
	annotations = malloc(sizeof(*annotations));
	if (!annotations)
		return -ENOMEM;
	find_place(comm, record, &place);
	annotate(record, annotations);
	r = begin(perfetto, record->wall_ns, out);
	if (r == 0)
		r = describe_process(perfetto, &place, out);
	if (r == 0)
		r = describe_thread(perfetto, &place, out);
	if (r < 0)
		return r;
	return put_record(perfetto, record, &place, annotations, out);
}
