/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_fields.h"

#include <string.h>

#define PRESENCE_ALWAYS	  RECORD_PRESENCE_ALWAYS, 0
#define PRESENCE_KNOWN	  RECORD_PRESENCE_KNOWN, 0
#define PRESENCE_IF(flag) RECORD_PRESENCE_IF, offsetof(struct STRUCT, flag)
#define DESCRIBE(type, member, field, presence, unit, meaning) \
	{ RECORD_TYPE_##type,                                  \
	  field,                                               \
	  sizeof(field) - 1,                                   \
	  offsetof(struct STRUCT, member),                     \
	  PRESENCE_##presence,                                 \
	  unit,                                                \
	  meaning },

#define STRUCT record_common
static const struct record_field_info common_fields[] = { RECORD_COMMON_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT delivery_figures
static const struct record_field_info delivery_fields[] = { RECORD_DELIVERY_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT meta_record
static const struct record_field_info meta_fields[] = { RECORD_META_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT process_record
static const struct record_field_info process_fields[] = { RECORD_PROCESS_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT cpu_record
static const struct record_field_info cpu_fields[] = { RECORD_CPU_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT stall_record
static const struct record_field_info stall_fields[] = { RECORD_STALL_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT slice_record
static const struct record_field_info slice_fields[] = { RECORD_SLICE_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT stack_record
static const struct record_field_info stack_fields[] = { RECORD_STACK_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT sample_record
static const struct record_field_info sample_fields[] = { RECORD_SAMPLE_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT syscall_record
static const struct record_field_info syscall_fields[] = { RECORD_SYSCALL_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT io_record
static const struct record_field_info io_fields[] = { RECORD_IO_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT balance_record
static const struct record_field_info balance_fields[] = { RECORD_BALANCE_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT gap_record
static const struct record_field_info gap_fields[] = { RECORD_GAP_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT alert_record
static const struct record_field_info alert_fields[] = { RECORD_ALERT_FIELDS(DESCRIBE) };
#undef STRUCT
#define STRUCT self_record
static const struct record_field_info self_fields[] = { RECORD_SELF_FIELDS(DESCRIBE) };
#undef STRUCT

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))
#define INFO(KIND, kind, meaning)                                                     \
	[RECORD_KIND_##KIND] = { #kind, meaning, kind##_fields, COUNT(kind##_fields), \
				 offsetof(struct record_places, kind) },

const struct record_kind_info record_kinds[_RECORD_KIND_MAX] = { RECORD_KINDS(INFO) };
const struct record_kind_info record_common_info = { "", "in every record", common_fields,
						     COUNT(common_fields),
						     offsetof(struct record_places, common) };
const struct record_kind_info record_delivery_info = { "", "how sending goes", delivery_fields,
						       COUNT(delivery_fields), 0 };

#define NAME_OF(type, member, field, presence, unit, meaning) .member = field,
#define NAMES_OF(KIND, kind, meaning)                                        \
	const struct record_field_names_##kind record_field_names_##kind = { \
		RECORD_##KIND##_FIELDS(NAME_OF)                              \
	};
RECORD_KINDS(NAMES_OF)
NAMES_OF(COMMON, common, "")

static bool has_field(const struct record_kind_info *kind, const char *name)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		if (strcmp(name, kind->fields[i].name) == 0)
			return true;
	}
	return false;
}

bool record_fields_are_taken(const char *name)
{
	return strcmp(name, "kind") == 0 || strcmp(name, "schema") == 0 ||
	       has_field(&record_common_info, name) ||
	       has_field(&record_kinds[RECORD_KIND_CPU], name) ||
	       has_field(&record_kinds[RECORD_KIND_SLICE], name) ||
	       has_field(&record_kinds[RECORD_KIND_SAMPLE], name) ||
	       has_field(&record_kinds[RECORD_KIND_SYSCALL], name) ||
	       has_field(&record_kinds[RECORD_KIND_IO], name) ||
	       has_field(&record_kinds[RECORD_KIND_STALL], name) ||
	       strncmp(name, RECORD_WAKER_PREFIX, strlen(RECORD_WAKER_PREFIX)) == 0;
}
