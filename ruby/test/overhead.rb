# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# What publishing costs the application: rake overhead. Nanoseconds, the best of several rounds; the
# cost of a loop, a block call or a bare switch is taken off.
require "correlator"
require "securerandom"

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

RESPONSE = [200, {}.freeze, ["ok"].freeze].freeze
STREAMED = [200, {}.freeze, Class.new { def each; end }.new].freeze

# The whole call of the middleware around an application that only returns a response: how long, and
# how many objects. Each request has an environment and an id of its own, made right before.
def show_request(what, response, path, id: true, **environment)
  middleware = Correlator::Rack.new(->(_) { response })
  objects = 0
  ns = Array.new(ROUNDS * 100) do
    requests = Array.new(100) do
      env = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path.dup,
              "QUERY_STRING" => "", "HTTP_HOST" => "localhost", "rack.input" => nil }
      env["HTTP_X_REQUEST_ID"] = SecureRandom.uuid if id
      env.merge!(environment)
    end
    objects -= GC.stat(:total_allocated_objects)
    start_ns = clock_ns
    requests.each { |env| middleware.call(env) }
    elapsed_ns = clock_ns - start_ns
    objects += GC.stat(:total_allocated_objects)
    elapsed_ns / 100.0
  end
  printf("%-44s %6.0f ns %6.1f objects\n", what, ns.min, objects / (10_000.0 * ROUNDS))
end

show_request("a request with an id", RESPONSE, "/orders/5")
show_request("the same, without an id", RESPONSE, "/orders/5", id: false)
show_request("the same, with an id and traceparent", RESPONSE, "/orders/5",
             "HTTP_TRACEPARENT" => "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
show_request("the same, with an id and a longer path", RESPONSE, "/api/v1/orders/5/items")
show_request("the same, with an id and a streamed body", STREAMED, "/orders/5")

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
