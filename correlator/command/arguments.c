#include "command/arguments.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/log.h"

bool arguments_take_verbosity(int key)
{
	if (key != 'v' && key != 'q')
		return false;
	log_set_level(key == 'v' ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING);
	return true;
}

int arguments_parse_pid(const char *text, pid_t *ret_pid)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value <= 0 || value > INT_MAX)
		return log_error(EINVAL, "`%s` is not a process ID", text);
	*ret_pid = (pid_t)value;
	return 0;
}
