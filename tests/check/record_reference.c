/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Prints the schema of the records (correlator/record/schema.h): as the tables of
 * correlator/record/README.md; with --manual as the lists of correlator-records(5); with --fields a
 * line a field, for scripts: kind, field, type, `?` where it may be left out, unit; with --sql the
 * fields of cpu records as columns of fixtures/collectors/clickhouse.sql.
 */
#include <stdio.h>
#include <string.h>

#include "record/record_fields.h"

static const char *type_name(enum record_type type)
{
	switch (type) {
	case RECORD_TYPE_S64:
		return "signed";
	case RECORD_TYPE_BOOL:
		return "bool";
	case RECORD_TYPE_TEXT:
	case RECORD_TYPE_EVENT:
	case RECORD_TYPE_MODE:
		return "text";
	case RECORD_TYPE_TEXTS:
	case RECORD_TYPE_FLAGS:
		return "texts";
	default:
		return "integer";
	}
}

enum form {
	FORM_TABLES,
	FORM_MANUAL, /* mdoc(7) */
	FORM_SCRIPTS,
};

struct printer {
	enum form form;
	const char *kind;
};

static void print_line(const struct printer *printer, const char *name, const char *type,
		       bool is_optional, const char *unit, const char *meaning)
{
	const char *mark = is_optional ? "?" : "", *comma = unit[0] ? ", " : "";

	switch (printer->form) {
	case FORM_SCRIPTS:
		(void)printf("%s\t%s\t%s\t%s\t%s\n", printer->kind, name, type, mark, unit);
		break;
	case FORM_MANUAL:
		(void)printf(".It Li %s%s Pq %s%s%s\n%s%s", name, is_optional ? " Ns \\&?" : "",
			     type, comma, unit, meaning, meaning[0] ? "\n" : "");
		break;
	case FORM_TABLES:
		(void)printf("| `%s`%s | %s%s%s | %s |\n", name, mark, type, comma, unit, meaning);
		break;
	}
}

/* Of fields that have no names of their own. */
static void print_remark(const struct printer *printer, const char *meaning)
{
	if (printer->form == FORM_TABLES)
		(void)printf("| | | %s |\n", meaning);
	if (printer->form == FORM_MANUAL)
		(void)printf(".It ...\n%s\n", meaning);
}

static void print_counters(const struct printer *printer)
{
#define PRINT(name, field, kind, text) print_line(printer, field, "integer", false, "", text);
	COUNTER_LIST(PRINT)
#undef PRINT
}

static void print_fields(const struct printer *printer, const struct record_kind_info *kind);

static void print_field(const struct printer *printer, const struct record_field_info *field)
{
	bool is_optional = field->presence != RECORD_PRESENCE_ALWAYS;
	char limit[64];

	switch (field->type) {
	case RECORD_TYPE_SWITCH:
		return;
	case RECORD_TYPE_KEYS:
	case RECORD_TYPE_PROGRAMS:
		return print_remark(printer, field->meaning);
	case RECORD_TYPE_COUNTERS:
		return print_counters(printer);
	case RECORD_TYPE_FILL:
		(void)snprintf(limit, sizeof(limit), "%s_max", field->name);
		print_line(printer, field->name, "integer", true, field->unit, field->meaning);
		return print_line(printer, limit, "integer", true, field->unit, "room for so many");
	case RECORD_TYPE_DELIVERY:
		return print_fields(printer, &record_delivery_info);
	case RECORD_TYPE_FLAGS:
		is_optional = true;
		/* fallthrough */
	default:
		print_line(printer, field->name, type_name(field->type), is_optional, field->unit,
			   field->meaning);
	}
}

static void print_fields(const struct printer *printer, const struct record_kind_info *kind)
{
	for (size_t i = 0; i < kind->field_count; i++)
		print_field(printer, &kind->fields[i]);
}

static void begin_table(const struct printer *printer, const char *name, const char *meaning)
{
	if (printer->form == FORM_TABLES)
		(void)printf("### %s\n\n%s.\n\n| field | type | what it means |\n|---|---|---|\n",
			     name, meaning);
	if (printer->form == FORM_MANUAL)
		(void)printf(".Ss %s\n%s.\n.Bl -tag -width Ds\n", name, meaning);
}

static void end_table(const struct printer *printer)
{
	if (printer->form != FORM_SCRIPTS)
		(void)printf("%s\n", printer->form == FORM_MANUAL ? ".El" : "");
}

/* A number that may be left out is NULL then: not measured is not 0. */
static const char *sql_type(const struct record_field_info *field)
{
	bool is_given = field->presence == RECORD_PRESENCE_ALWAYS;

	switch (field->type) {
	case RECORD_TYPE_U32:
		return "UInt32";
	case RECORD_TYPE_U64:
		return is_given ? "UInt64 CODEC(T64, ZSTD)" : "Nullable(UInt64) CODEC(ZSTD)";
	case RECORD_TYPE_WALL:
		return "UInt64 CODEC(Delta, ZSTD)";
	case RECORD_TYPE_TEXT:
	case RECORD_TYPE_EVENT:
	case RECORD_TYPE_MODE:
		return "LowCardinality(String)";
	case RECORD_TYPE_FLAGS:
		return "Array(LowCardinality(String))";
	default:
		return NULL;
	}
}

/* The keys are the user's: the table has the two that are usual. */
static void print_sql(void)
{
	const struct record_kind_info *kind = &record_kinds[RECORD_KIND_CPU];

	for (size_t i = 0; i < kind->field_count; i++) {
		const struct record_field_info *field = &kind->fields[i];
		const char *type = sql_type(field);

		if (field->type == RECORD_TYPE_KEYS)
			(void)printf("    %-20s String CODEC(ZSTD),\n    %-20s "
				     "LowCardinality(String),\n",
				     "request_id", "endpoint");
		else if (type)
			(void)printf("    %-20s %s,\n", field->name, type);
	}
}

int main(int argc, char **argv)
{
	const char *option = argc > 1 ? argv[1] : "";
	struct printer printer = { .form = strcmp(option, "--fields") == 0   ? FORM_SCRIPTS
					   : strcmp(option, "--manual") == 0 ? FORM_MANUAL
									     : FORM_TABLES };

	if (strcmp(option, "--sql") == 0) {
		print_sql();
		return 0;
	}
	printer.kind = "common";
	begin_table(&printer, "in every record", "Behind them the fields of its kind");
	print_line(&printer, "schema", "integer", false, "",
		   "1: grows when a field changes its meaning");
	print_line(&printer, "kind", "text", false, "", "which of the tables below");
	print_fields(&printer, &record_common_info);
	end_table(&printer);
	for (int kind = RECORD_KIND_OTHER + 1; kind < _RECORD_KIND_MAX; kind++) {
		printer.kind = record_kinds[kind].name;
		begin_table(&printer, printer.kind, record_kinds[kind].meaning);
		print_fields(&printer, &record_kinds[kind]);
		end_table(&printer);
	}
	return 0;
}
