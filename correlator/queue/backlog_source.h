/* The backlog as the sender's source of chunks. */
#pragma once

#include "queue/chunk_source.h"

/* backlog is borrowed for the sender's life. */
struct chunk_source backlog_source(struct backlog *backlog);
