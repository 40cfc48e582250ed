# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

require "mkmf"

append_cflags(["-std=gnu11", "-O2", "-fvisibility=hidden"])
$defs << "-D_GNU_SOURCE"
create_makefile("bench_loops")
