/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/io_view.h"

#include "reader/report/sheet.h"

/* Leaves out what the records leave out. */
static void put_name(struct sheet *sheet, size_t first_column, const struct tally_name *name)
{
	struct io_end end = io_end_of(name);

	sheet_put(sheet, first_column, cell_text(end.on));
	if (end.peer.size_bytes > 0)
		sheet_put(sheet, first_column + 1, cell_text(end.peer));
	if (end.is_accepted)
		sheet_put(sheet, first_column + 2, cell_bool(true));
}

int io_view_print(const struct tally *io, const struct tally_view_options *options, FILE *out)
{
	static const struct tally_sheet_layout layout = {
		.list = "on",
		.names = { RECORD_FIELD(io, on), RECORD_FIELD(io, peer),
			   RECORD_FIELD(io, is_accepted) },
		.put_name = put_name,
	};

	return options->format == FORMAT_TABLE ? io_text_print(io, options, out)
					       : tally_sheet_print(io, &layout, options, out);
}
