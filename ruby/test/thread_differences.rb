# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# What a program sees of its threads and fibers, a line for each: the same without the gem, and with it
# in a context (beside_others_test.rb).
Thread.report_on_exception = false
Correlator.set(request_id: "r") if defined?(Correlator)

def told(error)
  # A block that inherits runs in another one of its line.
  places = Array(error.backtrace).grep(/thread_differences/).map { |line| line[/:(\d+):/, 1] }.uniq
  "#{error.class}: #{error.message} #{places.first(3)}"
end

def show(name)
  seen = begin
    yield.inspect
  rescue Exception => e # rubocop:disable Lint/RescueException
    told(e)
  end
  puts "#{name}: #{seen.gsub(/0x\h+/, "0x").gsub(__FILE__, "this")}"
end

def value(*arguments, **options, &block)
  Thread.new(*arguments, **options, &block).value
end

def returns
  value { return 1 }
end

def named
  value { __method__ }
end

show("break") { value { break 1 } }
show("return") { returns }
show("next") { value { next 5 } }
show("throw") { catch(:out) { value { throw :out, 1 } } }
show("stop iteration") { value { raise StopIteration } }
show("lambda, too many") { value(1, 2, &->(one) { one }) }
show("lambda that returns") { value(1, &->(one) { return one }) }
show("keyword") { value(1, key: 2) { |one, key:| [one, key] } }
show("hash and keywords") { value({ key: 2 }) { |one, **rest| [one, rest] } }
show("text as key") { value("key" => 2) { |*all, **rest| [all, rest] } }
show("array is split") { value([1, 2]) { |one, two| [one, two] } }
show("array and keyword") { value([1, { key: 1 }]) { |one, key: 0| [one, key] } }
show("nothing") { value { |*all| all } }
show("numbered") { value(1, 2) { [_1, _2] } }
show("symbol") { value("abc", &:upcase) }
show("symbol inspects") { Thread.new("abc", &:upcase).tap(&:join).inspect }
show("method") { value("12", &method(:Integer)) }
show("curried") { value(1, &proc { |one, two| [one, two] }.curry) }
show("inspect") { Thread.new { nil }.tap(&:join).inspect }
show("backtrace") { value { Thread.current.backtrace.uniq } }
show("caller") { value { caller(0).uniq } }
show("locations") { value { caller_locations(0).map { |at| [at.path, at.lineno, at.label] }.uniq } }
show("raise") { value { raise "boom" } }
show("name of method") { named }
show("self") { Object.new.instance_exec { value { self.class } } }
show("binding") { value { binding.local_variables } }
show("subclass") do
  Class.new(Thread) { def initialize(one, &block); super(one, &block); end }.new(3) { |one| one }.value
end
show("subclass without super") { Class.new(Thread) { def initialize; end }.new { 1 } }
show("subclass, start") { Class.new(Thread) { def initialize; raise "called"; end }.start(4) { |one| one }.value }
show("twice") { Thread.new { 1 }.tap(&:join).send(:initialize) { 2 }.class }
show("fork") { Thread.fork(1) { |one| one }.value }
show("reports") { value { Thread.current.report_on_exception } }
show("group") do
  group = ThreadGroup.new
  value { group.add(Thread.current) && value { Thread.current.group == group } }
end
show("name") { value { Thread.current.name } }
show("killed at once") { Array.new(50) { Thread.new { sleep }.kill.join.status }.uniq }
show("masked") do
  Thread.handle_interrupt(RuntimeError => :never) do
    gate = Queue.new
    thread = Thread.new { gate.pop && Thread.pending_interrupt? }
    thread.raise("late")
    gate << true
    thread.value
  end
end
show("arity") { [Thread.method(:new), Thread.method(:start), Thread.instance_method(:initialize)].map(&:arity) }
show("owner") { [Thread.method(:start), Thread.instance_method(:initialize)].map(&:owner) }
show("ancestors") { [Thread.ancestors.first, Thread.singleton_class.ancestors.first] }
show("frozen block") { value(&proc { 1 }.freeze) }
if defined?(Ractor)
  Warning[:experimental] = false
  show("ractor") { Ractor.new { [Thread.new(1) { |one| one }.value, Thread.start(2) { |one| one }.value] }.take }
end
show("enumerator") do
  numbers = [1, 2].each
  numbers.next
  value { numbers.next }
end
show("fiber") { value { Fiber.new { Fiber.yield(1) && 2 }.then { |fiber| [fiber.resume, fiber.resume] } } }
show("ended fiber") { Fiber.new { 1 }.tap(&:resume).resume }
show("variables") { value { [Thread.current.keys, Thread.current.thread_variables, Thread.current.instance_variables] } }
show("in a trap") do
  gate = Queue.new
  Signal.trap("USR1") { Thread.new { gate << 1 } }
  Process.kill(:USR1, Process.pid)
  gate.pop
end
show("in a child") do
  reader, writer = IO.pipe
  child = fork { writer.write(value { Thread.list.size }) && exit!(0) }
  writer.close
  Process.wait(child)
  reader.read
end
