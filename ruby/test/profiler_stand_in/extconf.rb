# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "mkmf"

append_cflags(["-std=gnu11", "-O2"])
create_makefile("profiler_stand_in")
