/* SPDX-License-Identifier: GPL-2.0-only */
#include "story.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned int weight;
} kinds[] = {
#define STEP_ROW(name, weight) { #name, weight },
	STEP_LIST(STEP_ROW)
#undef STEP_ROW
};

/* Knuth's MMIX generator: reproducible, the upper bits are good. */
static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 32);
}

static uint8_t random_kind(uint64_t *seed)
{
	unsigned int total = 0, left;
	uint8_t kind = 0;

	for (size_t i = 0; i < _STEP_MAX; i++)
		total += kinds[i].weight;
	left = next_random(seed) % total;
	while (left >= kinds[kind].weight)
		left -= kinds[kind++].weight;
	return kind;
}

void story_write(struct story *story, uint64_t seed)
{
	/* Short ones are easier to read, long ones meet more. */
	story->mode = (struct story_mode){ .counts_syscalls = seed & 1,
					   .tells_waits = seed & 2,
					   .has_split = seed & 1 || (seed & 12) != 12,
					   .has_timeline = (seed & 48) != 48,
					   .tells_stalls = seed & 16,
					   .has_children = (seed & 192) != 192,
					   .is_lean = (seed & 768) == 768,
					   .counts_changes = (seed & 384) != 384,
					   .follows = (seed & 1536) != 1536,
					   .tells_execs = seed % 5 != 0,
					   .finds = seed % 3 == 0 };
	story->count = 10 + next_random(&seed) % (STORY_STEPS_MAX - 9);
	for (size_t i = 0; i < story->count; i++) {
		static const uint32_t most_ns[] = {
			1, 3000, 3000, 3000, 3000, 3000, 3000, 3000000
		};

		story->steps[i] = (struct step){
			.after_ns = next_random(&seed) % most_ns[next_random(&seed) % 8],
			.kind = random_kind(&seed),
			.who = (uint8_t)next_random(&seed),
			.what = (uint8_t)next_random(&seed),
		};
	}
}

void story_print(const struct story *story)
{
	printf("  edges are %s%s%s%s%s%s%s%s%s%s%s\n", story->mode.has_split ? "seen" : "not seen",
	       story->mode.counts_syscalls ? "; calls are counted by number" : "",
	       story->mode.tells_waits ? "; waits are told by stack" : "",
	       story->mode.has_timeline ? "" : "; no timeline",
	       story->mode.tells_stalls ? "; stalls are told" : "",
	       story->mode.has_children ? "" : "; no children",
	       story->mode.is_lean ? "; all are lean" : "",
	       story->mode.counts_changes ? "" : "; changes are not counted",
	       story->mode.follows ? "" : "; no fork is followed",
	       story->mode.tells_execs ? "" : "; execs are read at their call",
	       story->mode.finds ? "; others are looked for" : "");
	for (size_t i = 0; i < story->count; i++)
		printf("  +%u ns %s who %u what 0x%02x\n", story->steps[i].after_ns,
		       kinds[story->steps[i].kind].name, story->steps[i].who, story->steps[i].what);
}

static bool read_step(struct step *step, const char *line)
{
	unsigned int after_ns, who, what;
	char name[16];

	if (sscanf(line, " +%u ns %15s who %u what %x", &after_ns, name, &who, &what) != 4)
		return false;
	for (uint8_t kind = 0; kind < _STEP_MAX; kind++) {
		if (strcmp(name, kinds[kind].name) != 0)
			continue;
		*step = (struct step){ after_ns, kind, (uint8_t)who, (uint8_t)what };
		return true;
	}
	return false;
}

bool story_read(struct story *story, const char *events)
{
	for (story->count = 0; *events && story->count < STORY_STEPS_MAX; story->count++) {
		if (!read_step(&story->steps[story->count], events))
			return false;
		events += strcspn(events, "\n");
		events += *events == '\n';
	}
	return !*events;
}

/* Without `count` events from `at` on; their time passes all the same. */
static void drop(struct story *story, size_t at, size_t count)
{
	uint32_t passed_ns = 0;

	for (size_t i = at; i < at + count; i++)
		passed_ns += story->steps[i].after_ns;
	story->count -= count;
	memmove(&story->steps[at], &story->steps[at + count],
		(story->count - at) * sizeof(story->steps[0]));
	if (at < story->count)
		story->steps[at].after_ns += passed_ns;
}

void story_shrink(struct story *story, story_fails_fn fails)
{
	for (size_t size = story->count / 2; size; size /= 2) {
		size_t at = 0;

		while (at + size <= story->count) {
			struct story shorter = *story;

			drop(&shorter, at, size);
			if (fails(&shorter))
				*story = shorter;
			else
				at += size;
		}
	}
}
