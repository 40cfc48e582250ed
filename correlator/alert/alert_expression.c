/* SPDX-License-Identifier: GPL-2.0-only */
#include "alert/alert_expression.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"

enum {
	FOR_BYTES = 32,
	MILLION = 1000000,
};

struct parser {
	const char *text;
	const char *next;
	struct alert_error *error;
};

static const char *const functions[] = {
	[ALERT_P50] = "p50",
	[ALERT_P90] = "p90",
	[ALERT_P99] = "p99",
	[ALERT_MEAN] = "mean",
	[ALERT_MAX] = "max",
	[ALERT_SUM] = "sum",
	[ALERT_RATE] = "rate",
	[ALERT_COUNT_REQUESTS] = "count",
	/* Selected by its argument: */
	[ALERT_RATE_REQUESTS] = NULL,
};

static const char *const totals[] = { [ALERT_EXEC] = "exec",
				      [ALERT_ATTRIBUTED] = "attributed",
				      [ALERT_UNATTRIBUTED] = "unattributed",
				      [ALERT_OVERFLOW] = "overflow",
				      [ALERT_RESIDUAL] = "residual",
				      [ALERT_OWN_CPU] = "own_cpu",
				      [ALERT_LOST] = "lost",
#define COUNTER_NAME(name, field, kind, text) [ALERT_COUNTER + COUNTER_##name] = field,
				      COUNTER_LIST(COUNTER_NAME)
#undef COUNTER_NAME
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Reports an error, in our own words, at a place in the text. */
__attribute__((format(printf, 3, 4))) static int refuse(struct parser *parser, const char *at,
							const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(parser->error->message, sizeof(parser->error->message), format, arguments);
	va_end(arguments);
	parser->error->offset = (size_t)(at - parser->text);
	return -EINVAL;
}

static void skip_space(struct parser *parser)
{
	parser->next += strspn(parser->next, " \t");
}

/* Length of the next word: letters, digits and _. */
static size_t word_bytes(const struct parser *parser)
{
	size_t size_bytes = 0;

	while (isalnum((unsigned char)parser->next[size_bytes]) || parser->next[size_bytes] == '_')
		size_bytes++;
	return size_bytes;
}

static bool is_word(const struct parser *parser, const char *word)
{
	size_t size_bytes = word_bytes(parser);

	return size_bytes == strlen(word) && memcmp(parser->next, word, size_bytes) == 0;
}

/* Index of the next word in words, or -1. */
static int find_word(const struct parser *parser, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] && is_word(parser, words[i]))
			return (int)i;
	return -1;
}

static void take_word(struct parser *parser)
{
	parser->next += word_bytes(parser);
	skip_space(parser);
}

static bool take_character(struct parser *parser, char character)
{
	if (*parser->next != character)
		return false;
	parser->next++;
	skip_space(parser);
	return true;
}

/* Whether the figure is a time of one request. */
static bool is_measure(enum figure figure, const void *context)
{
	enum figure_source source = figure_infos[figure].source;

	(void)context;
	return figure_infos[figure].unit == FIGURE_UNIT_NS &&
	       (source == FIGURE_SOURCE_COST || source == FIGURE_SOURCE_OF_ONE);
}

static bool find_figure(const struct parser *parser, enum figure *ret_figure)
{
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++) {
		if (is_measure(figure, NULL) && is_word(parser, figure_infos[figure].name)) {
			*ret_figure = figure;
			return true;
		}
	}
	return false;
}

static int refuse_figure(struct parser *parser)
{
	char names[ALERT_MESSAGE_BYTES];

	figure_list(is_measure, NULL, names, sizeof(names));
	return refuse(parser, parser->next, "of what? One of %s", names);
}

static int parse_argument(struct parser *parser, struct alert_expression *expression)
{
	bool may_be_requests =
		expression->function == ALERT_COUNT_REQUESTS || expression->function == ALERT_RATE;
	bool is_requests = is_word(parser, "requests");
	enum figure figure = FIGURE_CPU;
	bool is_figure = find_figure(parser, &figure);

	if (is_requests && !may_be_requests)
		return refuse(parser, parser->next,
			      "requests are counted: count(requests) or rate(requests)");
	if (!is_requests && expression->function == ALERT_COUNT_REQUESTS)
		return refuse(parser, parser->next,
			      "what is counted are requests: count(requests)");
	if (!is_requests && !is_figure)
		return refuse_figure(parser);
	if (is_requests && expression->function == ALERT_RATE)
		expression->function = ALERT_RATE_REQUESTS;
	expression->figure = figure;
	take_word(parser);
	return 0;
}

static int parse_measure(struct parser *parser, struct alert_expression *expression)
{
	int function = find_word(parser, functions, LENGTH(functions));
	int total = find_word(parser, totals, LENGTH(totals));
	int r;

	if (total >= 0) {
		expression->function = ALERT_TOTAL;
		expression->total = (unsigned int)total;
		take_word(parser);
		return 0;
	}
	if (function < 0)
		return refuse(
			parser, parser->next,
			"not a measure: p50, p90, p99, mean, max, sum or rate (of a figure of "
			"requests), count(requests), unattributed, residual, lost, own_cpu, ...");
	expression->function = (enum alert_function)function;
	take_word(parser);
	if (!take_character(parser, '('))
		return refuse(parser, parser->next, "%s wants a figure in (): %s(%s)",
			      functions[function], functions[function],
			      function == ALERT_COUNT_REQUESTS ? "requests" : "cpu");
	r = parse_argument(parser, expression);
	if (r < 0)
		return r;
	return take_character(parser, ')') ? 0 : refuse(parser, parser->next, "a ) is missing");
}

static int parse_comparison(struct parser *parser, struct alert_expression *expression)
{
	bool is_above = *parser->next == '>';

	if (!is_above && *parser->next != '<')
		return refuse(parser, parser->next, "not a comparison: >, >=, < or <=");
	parser->next++;
	expression->comparison = is_above ? ALERT_ABOVE : ALERT_BELOW;
	if (*parser->next == '=') {
		parser->next++;
		expression->comparison = is_above ? ALERT_AT_LEAST : ALERT_AT_MOST;
	}
	skip_space(parser);
	return 0;
}

/* A unit in which a limit may be written, and what it is then converted to. */
struct unit {
	const char *name;
	int64_t scale;
	enum alert_unit unit;
};

static const struct unit times[] = {
	{ "ns", 1, ALERT_NS },
	{ "us", 1000, ALERT_NS },
	{ "ms", 1000000, ALERT_NS },
	{ "s", 1000000000, ALERT_NS },
};
static const struct unit percent = { "%", MILLION / 100, ALERT_MILLIONTHS };

static bool is_time(const struct alert_expression *expression)
{
	if (expression->function == ALERT_TOTAL)
		return expression->total < ALERT_LOST;
	return expression->function <= ALERT_MAX || expression->function == ALERT_SUM;
}

static bool takes_percent(const struct alert_expression *expression)
{
	return expression->function == ALERT_RATE ||
	       (expression->function == ALERT_TOTAL && is_time(expression) &&
		expression->total != ALERT_EXEC);
}

/* The unit of a number without one. */
static struct unit plain_unit(const struct alert_expression *expression)
{
	if (expression->function == ALERT_RATE)
		return (struct unit){ "", MILLION, ALERT_MILLIONTHS };
	if (expression->function == ALERT_RATE_REQUESTS)
		return (struct unit){ "", MILLION, ALERT_MILLIONTHS_PER_SECOND };
	return (struct unit){ "", 1, ALERT_COUNT };
}

static int refuse_unit(struct parser *parser, const struct alert_expression *expression,
		       const char *at)
{
	if (is_time(expression))
		return refuse(parser, at, "a time wants a unit: ns, us, ms or s%s",
			      takes_percent(expression) ? "; or a share, %" : "");
	if (takes_percent(expression))
		return refuse(parser, at,
			      "a rate of time is a share, such as 150 %%, or a number of CPUs");
	return refuse(parser, at, "it is counted: a number without a unit is wanted");
}

static int parse_unit(struct parser *parser, const struct alert_expression *expression,
		      struct unit *ret_unit)
{
	const struct unit *time = NULL;

	for (size_t i = 0; i < LENGTH(times) && !time; i++)
		time = is_word(parser, times[i].name) ? &times[i] : NULL;
	if (time && is_time(expression)) {
		take_word(parser);
		*ret_unit = *time;
		return 0;
	}
	if (takes_percent(expression) && take_character(parser, '%')) {
		*ret_unit = percent;
		return 0;
	}
	if (is_time(expression) || time || *parser->next == '%')
		return refuse_unit(parser, expression, parser->next);
	*ret_unit = plain_unit(expression);
	return 0;
}

/* Appends the digits at *text to *number. False: the number is too large. */
static bool add_digits(const char **text, int64_t *number)
{
	for (; isdigit((unsigned char)**text); (*text)++)
		if (__builtin_mul_overflow(*number, (int64_t)10, number) ||
		    __builtin_add_overflow(*number, (int64_t)(**text - '0'), number))
			return false;
	return true;
}

/* Parses NUMBER UNIT, exactly: decimals are counted until the unit is known. */
static int parse_limit(struct parser *parser, struct alert_expression *expression)
{
	const char *at = parser->next;
	int64_t number = 0;
	int decimals = 0;
	struct unit unit = { 0 };
	int r;

	if (!isdigit((unsigned char)*at))
		return refuse(parser, at, "a number is wanted here");
	if (!add_digits(&parser->next, &number))
		return refuse(parser, at, "the number is too large");
	if (*parser->next == '.') {
		const char *point = parser->next++;

		if (!add_digits(&parser->next, &number))
			return refuse(parser, at, "the number has too many digits");
		decimals = (int)(parser->next - point) - 1;
	}
	skip_space(parser);
	r = parse_unit(parser, expression, &unit);
	if (r < 0)
		return r;
	for (; decimals > 0 && unit.scale % 10 == 0; decimals--)
		unit.scale /= 10;
	for (; decimals > 0 && number % 10 == 0; decimals--)
		number /= 10;
	if (decimals > 0)
		return refuse(parser, at, "the number is finer than what is measured");
	if (__builtin_mul_overflow(number, unit.scale, &expression->limit))
		return refuse(parser, at, "the number is too large");
	expression->unit = unit.unit;
	return 0;
}

/* Length of the text up to the next space. */
static size_t token_bytes(const struct parser *parser)
{
	return strcspn(parser->next, " \t");
}

static int parse_for(struct parser *parser, struct alert_expression *expression)
{
	size_t size_bytes = token_bytes(parser);
	char text[FOR_BYTES] = "";

	if (expression->for_ns)
		return refuse(parser, parser->next, "there is a duration already");
	if (size_bytes < sizeof(text))
		memcpy(text, parser->next, size_bytes);
	if (duration_parse(text, &expression->for_ns) < 0 || !expression->for_ns)
		return refuse(parser, parser->next, "not a duration, such as 30s or 5m");
	parser->next += size_bytes;
	return 0;
}

static bool has_control(const char *text, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		if (iscntrl((unsigned char)text[i]))
			return true;
	return false;
}

static int parse_by(struct parser *parser, struct alert_expression *expression)
{
	size_t size_bytes = token_bytes(parser);

	if (expression->function == ALERT_TOTAL)
		return refuse(parser, parser->next, "%s is of all there is: it has no keys",
			      totals[expression->total]);
	if (expression->key[0])
		return refuse(parser, parser->next, "there is a key already");
	if (size_bytes == 0 || size_bytes >= sizeof(expression->key) ||
	    has_control(parser->next, size_bytes))
		return refuse(parser, parser->next, "a key is wanted here, such as endpoint");
	memcpy(expression->key, parser->next, size_bytes);
	parser->next += size_bytes;
	return 0;
}

static int parse_rest(struct parser *parser, struct alert_expression *expression)
{
	int r = 0;

	while (r == 0 && *parser->next) {
		bool is_for = is_word(parser, "for");

		if (!is_for && !is_word(parser, "by"))
			return refuse(parser, parser->next,
				      "only `for DURATION' or `by KEY' can follow");
		take_word(parser);
		r = is_for ? parse_for(parser, expression) : parse_by(parser, expression);
		skip_space(parser);
	}
	return r;
}

int alert_expression_parse(const char *text, struct alert_expression *ret_expression,
			   struct alert_error *ret_error)
{
	struct parser parser = { .text = text, .next = text, .error = ret_error };
	struct alert_expression expression = { 0 };
	size_t size_bytes;
	int r;

	skip_space(&parser);
	size_bytes = strlen(parser.next);
	if (size_bytes >= sizeof(expression.text))
		return refuse(&parser, parser.next, "longer than %zu bytes",
			      sizeof(expression.text) - 1);
	(void)text_escape(parser.next, size_bytes, 0, expression.text, sizeof(expression.text));
	r = parse_measure(&parser, &expression);
	if (r == 0)
		r = parse_comparison(&parser, &expression);
	if (r == 0)
		r = parse_limit(&parser, &expression);
	if (r == 0)
		r = parse_rest(&parser, &expression);
	if (r == 0)
		*ret_expression = expression;
	return r;
}

bool alert_expression_is_of_requests(const struct alert_expression *expression)
{
	bool is_use = expression->function == ALERT_SUM || expression->function == ALERT_RATE;

	return expression->function != ALERT_TOTAL &&
	       (!is_use || figure_infos[expression->figure].source == FIGURE_SOURCE_OF_ONE);
}

bool alert_expression_holds(const struct alert_expression *expression, int64_t value)
{
	switch (expression->comparison) {
	case ALERT_ABOVE:
		return value > expression->limit;
	case ALERT_AT_LEAST:
		return value >= expression->limit;
	case ALERT_BELOW:
		return value < expression->limit;
	default:
		return value <= expression->limit;
	}
}

static void print_time(int64_t ns, char *ret_text, size_t text_bytes)
{
	size_t unit = 0;

	while (unit < LENGTH(times) - 1 && ns / 1000 >= times[unit].scale)
		unit++;
	if (unit == 0)
		(void)snprintf(ret_text, text_bytes, "%" PRId64 " ns", ns);
	else
		(void)snprintf(ret_text, text_bytes, "%.4g %s",
			       (double)ns / (double)times[unit].scale, times[unit].name);
}

void alert_unit_print(enum alert_unit unit, int64_t value, char *ret_text, size_t text_bytes)
{
	switch (unit) {
	case ALERT_NS:
		print_time(value, ret_text, text_bytes);
		break;
	case ALERT_MILLIONTHS:
		(void)snprintf(ret_text, text_bytes, "%.4g %%", (double)value / (MILLION / 100.0));
		break;
	case ALERT_MILLIONTHS_PER_SECOND:
		(void)snprintf(ret_text, text_bytes, "%.4g a second", (double)value / MILLION);
		break;
	default:
		(void)snprintf(ret_text, text_bytes, "%" PRId64, value);
	}
}

const char *alert_unit_name(enum alert_unit unit)
{
	static const char *const names[] = { "ns", "count", "millionths", "millionths_per_second" };

	return names[unit];
}
