# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Elsewhere there is nothing to build: lib/correlator/pass_through.rb.
unless RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux")
  File.write("Makefile", "all:\n\nclean:\n\ninstall:\n")
  exit
end

require "mkmf"

# An unsupported flag is left out; what the flags achieve on x86-64 is checked by
# test/disassembly_test.rb.
append_cflags(["-std=gnu11", "-O2", "-fvisibility=hidden"])
# The entry of correlator_state_apply is a push, not endbr64, which a uprobe would have to
# single-step; and the function stays one that calls others, with a frame of its own.
append_cflags(["-fcf-protection=none", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"])

# Ruby 3.3+
have_struct_member("rb_internal_thread_event_data_t", "thread", "ruby/thread.h")
have_func("rb_internal_thread_specific_key_create", "ruby/thread.h")

create_makefile("correlator/correlator")
