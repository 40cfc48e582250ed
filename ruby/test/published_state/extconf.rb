# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "mkmf"

append_cflags(["-std=gnu11", "-O2"])
have_library("dl")
# Ruby 3.3+
have_func("rb_internal_thread_specific_key_create", "ruby/thread.h")
create_makefile("published_state")
