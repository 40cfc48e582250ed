# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "mkmf"

append_cflags(["-std=gnu11", "-O2"])
# Ruby 3.3+
have_struct_member("rb_internal_thread_event_data_t", "thread", "ruby/thread.h")
have_func("rb_internal_thread_specific_key_create", "ruby/thread.h")
create_makefile("gvl_truth")
