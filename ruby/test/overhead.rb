# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# What publishing costs the application: rake overhead. Nanoseconds, the best of several rounds; the
# cost of a loop, a block call or a bare switch is taken off.
require "correlator"

ROUNDS = 7

def clock_ns
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
end

def cost_ns(count)
  Array.new(ROUNDS) do
    GC.start
    start_ns = clock_ns
    yield count
    (clock_ns - start_ns).fdiv(count)
  end.min
end

def nothing
  yield
end

def show(what, cost_ns, base_ns = 0)
  printf("%-44s %6.0f ns\n", what, cost_ns - base_ns)
end

# A switch there and one back.
def switches(count, fiber)
  count.times { fiber.resume }
end

def endless
  Fiber.new { loop { Fiber.yield } }
end

block_ns = cost_ns(300_000) { |count| count.times { nothing { nil } } }
show("with, one key", cost_ns(300_000) do |count|
  count.times { Correlator.with(request_id: "r") { nil } }
end, block_ns)
show("with, three keys, one String not frozen", cost_ns(300_000) do |count|
  id = String.new("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
  count.times { Correlator.with(request_id: id, endpoint: "GET /", user: 1) { nil } }
end, block_ns)
state = Correlator.with(request_id: "r") { Correlator.capture }
show("with, a captured state", cost_ns(300_000) do |count|
  count.times { Correlator.with(state) { nil } }
end, block_ns)

bare_ns = Float(IO.popen([RbConfig.ruby, "-e", <<~'BARE'], &:read))
  fiber = Fiber.new { loop { Fiber.yield } }
  puts(Array.new(7) do
    start = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond)
    200_000.times { fiber.resume }
    (Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :nanosecond) - start) / 200_000.0
  end.min)
BARE
show("a fiber switch without the gem", bare_ns / 2)
none = endless
none.resume
show("a fiber switch, no contexts: added", cost_ns(200_000) { |count| switches(count, none) } / 2,
     bare_ns / 2)
Correlator.with(request_id: "r") do
  same = endless
  same.resume
  show("a fiber switch, borrowed context: added",
       cost_ns(200_000) { |count| switches(count, same) } / 2, bare_ns / 2)
  other = Fiber.new { Correlator.with(request_id: "other") { loop { Fiber.yield } } }
  other.resume
  show("a fiber switch, two contexts: added",
       cost_ns(200_000) { |count| switches(count, other) } / 2, bare_ns / 2)
end
