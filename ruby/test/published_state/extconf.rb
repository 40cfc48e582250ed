# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "mkmf"

append_cflags(["-std=gnu11", "-O2"])
have_library("dl")
create_makefile("published_state")
