/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/navigation.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

void navigation_init(struct navigation *navigation)
{
	*navigation = (struct navigation){ .depth = 1, .span = SPAN_SECONDS };
	for (int list = 0; list < _LIST_MAX; list++)
		navigation->orders[list].field = FIGURE_CPU;
	navigation->orders[LIST_IN_FLIGHT].field = FIGURE_WALL;
}

const struct navigation_place *navigation_place(const struct navigation *navigation)
{
	return &navigation->path[navigation->depth - 1];
}

const struct order *navigation_order(const struct navigation *navigation)
{
	return &navigation->orders[navigation_place(navigation)->list];
}

static struct navigation_place *place_of(struct navigation *navigation)
{
	return &navigation->path[navigation->depth - 1];
}

static struct order *order_of(struct navigation *navigation)
{
	return &navigation->orders[place_of(navigation)->list];
}

bool navigation_filter_is_condition(const char *filter)
{
	size_t key_bytes = strcspn(filter, "=~");

	/* "GET /orders?id=1" is the name of an endpoint. */
	return key_bytes > 0 && filter[key_bytes] != '\0' && strcspn(filter, " /*?[") > key_bytes;
}

static void copy(char *to, const char *from, size_t size_bytes)
{
	(void)snprintf(to, size_bytes, "%s", from);
}

static void show_pane(struct navigation *navigation, enum list list)
{
	navigation->depth = 1;
	navigation->path[0] = (struct navigation_place){ .list = list };
}

static void go_back(struct navigation *navigation)
{
	if (navigation->depth > 1)
		navigation->depth--;
	else
		navigation->filter[0] = '\0';
}

/* Restricts the place to the records whose key by has this value. */
static void choose(struct navigation_place *place, const char *by, const char *value)
{
	(void)snprintf(place->of, sizeof(place->of), "%.127s=%.3960s", by, value);
}

/* Opens the selected row: the requests of a group or thread, or the story of a request. */
static void go_deeper(struct navigation *navigation, const struct scene *scene)
{
	enum list list = place_of(navigation)->list;
	struct navigation_place *deeper;

	if (list == LIST_BOOKS || list == LIST_STORY || list == LIST_CODE ||
	    scene->value[0] == '\0')
		return;
	deeper = &navigation->path[navigation->depth++];
	*deeper = (struct navigation_place){ .list = LIST_STORY };
	if (list == LIST_GROUPS || list == LIST_THREADS) {
		const char *by = list == LIST_THREADS ? "tid" : scene->by;

		/* A request leads to its story, anything else to its requests. */
		if (strcmp(by, "request_id") != 0) {
			deeper->list = LIST_REQUESTS;
			choose(deeper, by, scene->value);
			return;
		}
	}
	copy(deeper->of, scene->value, sizeof(deeper->of));
}

/* Opens the code of the selected row, or of everything if the row has no value. */
static void show_code(struct navigation *navigation, const struct scene *scene)
{
	const struct navigation_place *place = place_of(navigation);
	const char *by = "request_id", *value = scene->value;
	struct navigation_place *deeper;

	if (place->list == LIST_CODE)
		return;
	if (place->list == LIST_GROUPS)
		by = scene->by;
	else if (place->list == LIST_THREADS)
		by = "tid";
	else if (place->list == LIST_STORY)
		value = place->of;
	deeper = &navigation->path[navigation->depth++];
	*deeper = (struct navigation_place){ .list = LIST_CODE };
	if (value[0] != '\0')
		choose(deeper, by, value);
}

static void sort_by_next(struct navigation *navigation, const struct scene *scene, bool is_left)
{
	struct order *order = order_of(navigation);
	size_t at = 0;

	if (scene->field_count == 0)
		return;
	while (at < scene->field_count && scene->fields[at] != order->field)
		at++;
	at += is_left ? scene->field_count - 1 : 1;
	order->field = scene->fields[at % scene->field_count];
}

static void group_by_next(struct navigation *navigation, const struct scene *scene)
{
	size_t at = 0;

	if (place_of(navigation)->list != LIST_GROUPS || scene->by_count == 0)
		return;
	while (at < scene->by_count && strcmp(scene->by_names[at], scene->by) != 0)
		at++;
	copy(navigation->by, scene->by_names[(at + 1) % scene->by_count], sizeof(navigation->by));
	show_pane(navigation, LIST_GROUPS);
}

static void freeze(struct navigation *navigation, const struct scene *scene)
{
	if (!scene->has_windows)
		return;
	navigation->is_frozen = true;
	navigation->frozen_at = scene->last;
}

static void step(struct navigation *navigation, const struct scene *scene, bool is_back)
{
	if (!navigation->is_frozen)
		freeze(navigation, scene);
	if (!navigation->is_frozen)
		return;
	if (is_back && navigation->frozen_at > scene->first)
		navigation->frozen_at--;
	if (!is_back && navigation->frozen_at < scene->last)
		navigation->frozen_at++;
}

/* Selects a row, counted from 0 and clamped to the list. */
static void select_row(struct navigation *navigation, const struct scene *scene, long row)
{
	struct navigation_place *place = place_of(navigation);
	long last = (long)scene->row_count - 1;

	row = row > last ? last : row;
	place->selected = row > 0 ? (size_t)row : 0;
	place->has_picked = true;
	/* The next listing sets its value. */
	place->value[0] = '\0';
}

static void begin_typing(struct navigation *navigation)
{
	navigation->is_typing = true;
	copy(navigation->typed, navigation->filter, sizeof(navigation->typed));
}

static void end_typing(struct navigation *navigation)
{
	navigation->is_typing = false;
	copy(navigation->filter, navigation->typed, sizeof(navigation->filter));
}

/* Size of the last character of a text; 0 if it is empty. */
static size_t last_bytes(const char *text)
{
	size_t size_bytes = strlen(text), at = size_bytes;

	while (at > 0 && ((unsigned char)text[--at] & 0xc0) == 0x80)
		;
	return size_bytes - at;
}

static void type(struct navigation *navigation, int key)
{
	size_t size_bytes = strlen(navigation->typed);
	struct text_writer writer;
	char character[TEXT_ESCAPE_BYTES * TEXT_CODE_POINT_BYTES + 1];

	if (key == KEY_OF_ENTER)
		end_typing(navigation);
	else if (key == KEY_OF_ESCAPE)
		navigation->is_typing = false;
	else if (key == KEY_OF_BACKSPACE)
		navigation->typed[size_bytes - last_bytes(navigation->typed)] = '\0';
	if (key < ' ' || key >= KEY_OF_UP)
		return;
	text_writer_init(&writer, character, sizeof(character));
	text_writer_put_code_point(&writer, (uint32_t)key);
	if (size_bytes + writer.length_bytes < sizeof(navigation->typed))
		(void)strcat(navigation->typed, character);
}

/* Handles keys that move the selection. False: another key. */
static bool take_movement(struct navigation *navigation, int key, const struct scene *scene)
{
	long selected = (long)place_of(navigation)->selected, page = (long)scene->page_rows;

	switch (key) {
	case KEY_OF_UP:
	case 'k':
		select_row(navigation, scene, selected - 1);
		return true;
	case KEY_OF_DOWN:
	case 'j':
		select_row(navigation, scene, selected + 1);
		return true;
	case KEY_OF_PAGE_UP:
		select_row(navigation, scene, selected - page);
		return true;
	case KEY_OF_PAGE_DOWN:
		select_row(navigation, scene, selected + page);
		return true;
	case KEY_OF_HOME:
		select_row(navigation, scene, 0);
		return true;
	case KEY_OF_END:
		select_row(navigation, scene, (long)scene->row_count);
		return true;
	default:
		return false;
	}
}

/* Handles keys that change the time shown. False: another key. */
static bool take_time(struct navigation *navigation, int key, const struct scene *scene)
{
	switch (key) {
	case ' ':
		if (navigation->is_frozen)
			navigation->is_frozen = false;
		else
			freeze(navigation, scene);
		return true;
	case '[':
	case KEY_OF_LEFT:
		step(navigation, scene, true);
		return true;
	case ']':
	case KEY_OF_RIGHT:
		step(navigation, scene, false);
		return true;
	case 'w':
		navigation->span = (enum span)((navigation->span + 1) % _SPAN_MAX);
		return true;
	default:
		return false;
	}
}

/* Handles keys that change the list, or how it is sorted. */
static void take_list(struct navigation *navigation, int key, const struct scene *scene)
{
	enum list pane = navigation->path[0].list;

	switch (key) {
	case '\t':
		show_pane(navigation, (enum list)((pane + 1) % _LIST_PANES));
		return;
	case '1':
	case '2':
	case '3':
	case '4':
		show_pane(navigation, (enum list)(key - '1'));
		return;
	case 'g':
		group_by_next(navigation, scene);
		return;
	case 's':
	case '>':
		sort_by_next(navigation, scene, false);
		return;
	case 'S':
	case '<':
		sort_by_next(navigation, scene, true);
		return;
	case 'r':
		order_of(navigation)->is_reversed = !order_of(navigation)->is_reversed;
		return;
	case KEY_OF_ENTER:
		go_deeper(navigation, scene);
		return;
	case 'c':
		show_code(navigation, scene);
		return;
	case KEY_OF_ESCAPE:
	case KEY_OF_BACKSPACE:
		go_back(navigation);
		return;
	}
}

void navigation_take(struct navigation *navigation, int key, const struct scene *scene)
{
	if (navigation->is_typing) {
		type(navigation, key);
		return;
	}
	if (navigation->shows_help) {
		navigation->shows_help = false;
		return;
	}
	if (key == 'q')
		navigation->has_quit = true;
	else if (key == '?' || key == 'h')
		navigation->shows_help = true;
	else if (key == '/')
		begin_typing(navigation);
	else if (!take_movement(navigation, key, scene) && !take_time(navigation, key, scene))
		take_list(navigation, key, scene);
}

void navigation_settle(struct navigation *navigation, size_t selected, const char *value)
{
	struct navigation_place *place = place_of(navigation);

	place->selected = selected;
	if (place->has_picked)
		copy(place->value, value, sizeof(place->value));
}
