# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# What a piece of Ruby costs: CPU time of the thread, the best of several rounds, and objects.
module Measuring
  ROUNDS = 7

  module_function

  def clock_ns
    Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
  end

  # The block runs what is measured as many times as it is told.
  def cost_ns(count)
    Array.new(ROUNDS) do
      GC.start
      start_ns = clock_ns
      yield count
      (clock_ns - start_ns).fdiv(count)
    end.min
  end

  def objects
    before = GC.stat(:total_allocated_objects)
    1000.times { yield }
    (GC.stat(:total_allocated_objects) - before).fdiv(1000).round
  end

  def nothing
    yield
  end

  # Of a block call in a loop, which is taken off.
  def block_ns
    cost_ns(300_000) { |count| count.times { nothing { nil } } }
  end
end
