/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/syscalls_view.h"

#include "reader/report/sheet.h"

static void put_name(struct sheet *sheet, size_t first_column, const struct tally_name *name)
{
	sheet_put(sheet, first_column, cell_text(name->text));
}

int syscalls_view_print(const struct tally *syscalls, const struct tally_view_options *options,
			FILE *out)
{
	static const struct tally_sheet_layout layout = {
		.list = "calls",
		.names = { RECORD_FIELD(syscall, name) },
		.put_name = put_name,
		.account = "account_syscalls",
	};

	return options->format == FORMAT_TABLE ? syscalls_text_print(syscalls, options, out)
					       : tally_sheet_print(syscalls, &layout, options, out);
}
