/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/edit_distance.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least_of_two = a < b ? a : b;

	return least_of_two < c ? least_of_two : c;
}

static bool is_other(char one, char other)
{
	return tolower((unsigned char)one) != tolower((unsigned char)other);
}

unsigned int edit_distance(const char *one, const char *other)
{
	/* Distances from the part of one read so far to each prefix of other. */
	unsigned int row[EDIT_DISTANCE_BYTES_MAX + 1];
	size_t count = strlen(other);

	if (strlen(one) > EDIT_DISTANCE_BYTES_MAX || count > EDIT_DISTANCE_BYTES_MAX)
		return EDIT_DISTANCE_BYTES_MAX + 1;
	for (unsigned int i = 0; i <= count; i++)
		row[i] = i;
	for (; *one; one++) {
		unsigned int changed = row[0]++;

		for (size_t i = 0; i < count; i++) {
			unsigned int above = row[i + 1];

			row[i + 1] =
				least(above + 1, row[i] + 1, changed + is_other(*one, other[i]));
			changed = above;
		}
	}
	return row[count];
}

unsigned int edit_distance_of_slips(const char *name)
{
	return 2 + (unsigned int)strlen(name) / 4;
}
