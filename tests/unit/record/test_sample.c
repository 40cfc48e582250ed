/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "record/sample.h"

static struct sample sample;

/* The fields of the sample, as msgpack-c reads and prints them. */
static const char *fields(void)
{
	static char text[4096];
	msgpack_unpacked entry;
	FILE *out = fmemopen(text, sizeof(text), "w");

	assert_non_null(out);
	sample_end(&sample);
	msgpack_unpacked_init(&entry);
	assert_int_equal(msgpack_unpack_next(&entry, sample.buffer.data, sample.buffer.size, NULL),
			 MSGPACK_UNPACK_SUCCESS);
	msgpack_object_print(out, entry.data.via.array.ptr[1]);
	assert_int_equal(fclose(out), 0);
	msgpack_unpacked_destroy(&entry);
	msgpack_sbuffer_destroy(&sample.buffer);
	return text;
}

TEST(sample_reads_each_kind_of_value)
{
	sample_begin_empty(&sample);
	sample_fields(&sample, " a=1 b=-2  c=18446744073709551615 d=%d", 3);
	assert_string_equal(fields(),
			    "{\"a\"=>1, \"b\"=>-2, \"c\"=>18446744073709551615, \"d\"=>3}");
	sample_begin_empty(&sample);
	sample_fields(&sample, "a=true b=false c=nil d=text e= f=12x ");
	assert_string_equal(fields(), "{\"a\"=>true, \"b\"=>false, \"c\"=>nil, \"d\"=>\"text\", "
				      "\"e\"=>\"\", \"f\"=>\"12x\"}");
	sample_begin_empty(&sample);
	sample_fields(&sample, "a=\"1\" b=\"two words\" c=\"\" d=\"\\\\=]\"");
	assert_string_equal(fields(), "{\"a\"=>\"1\", \"b\"=>\"two words\", \"c\"=>\"\", "
				      "\"d\"=>\"\\=]\"}");
	sample_begin_empty(&sample);
	sample_fields(&sample, "a=[] b=[one] c=[1 \"2 3\" nil ] d=4");
	assert_string_equal(fields(),
			    "{\"a\"=>[], \"b\"=>[\"one\"], \"c\"=>[1, \"2 3\", nil], \"d\"=>4}");
}

TEST(sample_record_has_common_fields_that_its_line_does_not_name)
{
	sample_record(&sample, "cpu pid=%d", 42);
	assert_string_equal(fields(), "{\"schema\"=>1, \"kind\"=>\"cpu\", \"record_id\"=>\"id\", "
				      "\"host_name\"=>\"web-1\", \"pid\"=>42}");
	sample_record(&sample, "gap record_id=a host_name=b");
	assert_string_equal(fields(), "{\"schema\"=>1, \"kind\"=>\"gap\", \"record_id\"=>\"a\", "
				      "\"host_name\"=>\"b\"}");
}
