/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the files of the folders that are named through a fuzz target, each once. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "base/log.h"
#include "fuzz.h"

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *data = NULL;
	long size_bytes;
	int is_read;

	if (!file || fseek(file, 0, SEEK_END) || (size_bytes = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET)) {
		(void)fprintf(stderr, "cannot open %s\n", path);
		return -1;
	}
	/* Of exactly its size, so that reading past it is seen. */
	data = malloc(size_bytes > 0 ? (size_t)size_bytes : 1);
	is_read = data && fread(data, 1, (size_t)size_bytes, file) == (size_t)size_bytes;
	(void)fclose(file);
	if (is_read)
		(void)LLVMFuzzerTestOneInput(data, (size_t)size_bytes);
	free(data);
	return is_read ? 0 : -1;
}

static int replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	char name[PATH_MAX];
	struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (replay_file(name))
			exit(EXIT_FAILURE);
		count++;
	}
	if (folder)
		(void)closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	log_set_level(LOG_LEVEL_ERROR);
	for (int i = 1; i < argc; i++)
		count += replay_folder(argv[i]);
	(void)printf("%d inputs\n", count);
	return count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
