# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "mkmf"

# process_vm_readv
$CPPFLAGS << " -D_GNU_SOURCE"
append_cflags(["-std=gnu11", "-O2"])
have_library("dl")
have_library("rt")
have_library("pthread")
create_makefile("onlooker")
