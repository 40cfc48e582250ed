# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# What Ruby's collector can do here.
module Collector
  # Tried when this is loaded, before anything is where it must stay.
  COMPACTS = begin
    GC.compact if GC.respond_to?(:compact)
    GC.respond_to?(:compact)
  rescue NotImplementedError
    false
  end

  module_function

  def compacts?
    COMPACTS
  end

  # Ruby 3.1.2 can crash by itself then, where it looks for what it moved: one slot behind what is in
  # use of a thread's stack is taken for an object (vm.c, rb_vm_each_stack_value). Not seen in 3.1.7.
  def compacts_by_itself?
    compacts? && GC.respond_to?(:auto_compact=) && RUBY_VERSION >= "3.1.7"
  end

  def compact_by_itself(wanted)
    GC.auto_compact = wanted if compacts_by_itself?
  end
end
