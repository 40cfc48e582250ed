# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "mkmf"

append_cflags(["-std=gnu11", "-O2", "-D_GNU_SOURCE=1"])
create_makefile("gc_truth")
