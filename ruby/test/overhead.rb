# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# What publishing costs the application: rake overhead. Nanoseconds, the best of several rounds; the
# cost of a loop, a block call or a bare switch is taken off. Beside it, in the same run and as
# ratios, what others do: the gem ruby-profiler (the tests' stand-in), and, where it is installed,
# ActiveSupport::CurrentAttributes.
require "rbconfig"
require "correlator"
require "measuring"
require "securerandom"

include Measuring

def show(what, cost_ns, base_ns = 0)
  printf("%-44s %6.0f ns\n", what, cost_ns - base_ns)
end

def show_switch(what, cost_ns, bare_ns)
  printf("%-44s %6.0f ns, %.2f of one without\n", what, (cost_ns - bare_ns) / 2, cost_ns / bare_ns)
end

# A switch there and one back.
def switches(count, fiber)
  count.times { fiber.resume }
end

def endless
  Fiber.new { loop { Fiber.yield } }
end

# What one more way to do the same costs, alone in a process of its own: beside the other gem ours
# would be asked for its contexts, too.
def other_way(requires, setup, work)
  script = <<~RUBY
    #{requires}
    require "measuring"
    #{setup}
    puts(Measuring.cost_ns(100_000) { |count| count.times { #{work} } } - Measuring.block_ns)
    puts(Measuring.objects { #{work} })
  RUBY
  paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
  output = IO.popen([RbConfig.ruby, *paths, "-e", script], err: File::NULL, &:readlines)
  output.map { |line| Float(line) } if output.size == 2
end

OTHERS = {
  "ruby-profiler: new, apply!, restore" => [
    "require 'profiler_stand_in'",
    "STATE = Ruby::Profiler::State; EMPTY = STATE.new",
    "begin; STATE.new(request_id: 'r').apply!; nil; ensure; EMPTY.apply!; end"
  ],
  "ActiveSupport::CurrentAttributes.set" => [
    "require 'active_support'; require 'active_support/current_attributes'",
    "class Current < ActiveSupport::CurrentAttributes; attribute :request_id; end",
    "Current.set(request_id: 'r') { nil }"
  ],
  "Thread.current[]=, and back" => [
    "", "THREAD = Thread.current",
    "begin; was = THREAD[:r]; THREAD[:r] = 'r'; nil; ensure; THREAD[:r] = was; end"
  ]
}.freeze

def show_others(with_ns)
  OTHERS.each do |what, how|
    cost, allocated = other_way(*how)
    next puts("#{what}: not installed") unless cost

    printf("%-44s %6.0f ns, %d objects: with takes %.2f of it\n", what, cost, allocated,
           with_ns / cost)
  end
end

empty_ns = block_ns
with_ns = cost_ns(300_000) { |count| count.times { Correlator.with(request_id: "r") { nil } } }
show("with, one key", with_ns, empty_ns)
puts "its objects: #{objects { Correlator.with(request_id: "r") { nil } }}"
show_others(with_ns - empty_ns)
show("with, three keys, one String not frozen", cost_ns(300_000) do |count|
  id = String.new("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
  count.times { Correlator.with(request_id: id, endpoint: "GET /", user: 1) { nil } }
end, empty_ns)
state = Correlator.with(request_id: "r") { Correlator.capture }
show("with, a captured state", cost_ns(300_000) do |count|
  count.times { Correlator.with(state) { nil } }
end, empty_ns)

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

bare = <<~'RUBY'
  fiber = Fiber.new { loop { Fiber.yield } }
  puts(Measuring.cost_ns(200_000) { |count| count.times { fiber.resume } })
RUBY
bare_ns = Float(IO.popen([RbConfig.ruby, "-I", __dir__, "-r", "measuring", "-e", bare], &:read))
show("a fiber switch without the gem", bare_ns / 2)
none = endless
none.resume
show_switch("a fiber switch, no contexts: added",
            cost_ns(200_000) { |count| switches(count, none) }, bare_ns)
Correlator.with(request_id: "r") do
  same = endless
  same.resume
  show_switch("a fiber switch, borrowed context: added",
              cost_ns(200_000) { |count| switches(count, same) }, bare_ns)
  other = Fiber.new { Correlator.with(request_id: "other") { loop { Fiber.yield } } }
  other.resume
  show_switch("a fiber switch, two contexts: added",
              cost_ns(200_000) { |count| switches(count, other) }, bare_ns)
end
