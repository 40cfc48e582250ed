# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Elsewhere there is nothing to build: lib/correlator/pass_through.rb.
unless RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux")
  File.write("Makefile", "all:\n\nclean:\n\ninstall:\n")
  exit
end

require "mkmf"

append_cflags(["-std=gnu11", "-O2", "-fvisibility=hidden"])

# Ruby 3.3+
have_struct_member("rb_internal_thread_event_data_t", "thread", "ruby/thread.h")
have_func("rb_internal_thread_specific_key_create", "ruby/thread.h")

# What it includes is in the other extension's folder, or copied beside it. Not by VPATH, by which
# make would take the other's object files, too.
$INCFLAGS << " -I$(srcdir)/../correlator"
$srcs = %w[upstream_threads.c]

create_makefile("correlator/upstream_threads")
