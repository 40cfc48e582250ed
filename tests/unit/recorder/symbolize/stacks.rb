# SPDX-License-Identifier: GPL-2.0-only
# Threads that stand still deep in calls of all kinds, and say themselves where: for
# test_frame_names_live.c. Each kind of call goes on with what it was given, in a method, block, ...
# of its own; a list of kinds, in an order that a seed says, makes a stack.
require "fiddle"

class Stacks
  CALLS = %i[method block block_in_block each sort_by inject defined_method singleton singleton_class missing
             eval_here instance_eval class_body class_reopened rescuing ensuring lambda_call proc_in_c refined
             keyword regexp symbol_proc long_method unicode_é].freeze

  # Each begins a stack of its own.
  FIBERS = %i[fiber enumerator].freeze

  module Refining
    refine String do
      def refined_call
        yield
      end
    end
  end
  using Refining

  # finish: where the last call stays, stand_still or burn.
  def initialize(seed, count, finish = :stand_still)
    @finish = finish
    random = Random.new(seed)
    @calls = Array.new(count) { CALLS[random.rand(CALLS.size)] }
    @calls[random.rand(count / 4)] = FIBERS[seed % FIBERS.size] if count >= 4
  end

  # Who comes back here once it has stood still goes home.
  def go
    return if @has_stood

    call = @calls.shift
    return send(call) if call

    @has_stood = true
    Stacks.send(@finish)
  end

  def method
    go
  end

  def block
    yield_to { go }
  end

  def yield_to
    yield
  end

  def block_in_block
    yield_to do
      [1].map do |_|
        yield_to { go }
      end
    end
  end

  def each
    { a: 1 }.each do |_key, _value|
      go
    end
  end

  def sort_by
    [1, 2].sort_by! do |number|
      go if number == 1
      number
    end
  end

  def inject
    (1..2).inject(0) { |sum, number| number == 2 ? go : sum + number }
  end

  define_method(:defined_method) do
    go
  end

  def singleton
    object = Object.new
    stacks = self
    object.define_singleton_method(:alone) { stacks.go }
    object.alone
  end

  def singleton_class
    object = Object.new
    class << object
      def alone(stacks)
        stacks.go
      end
    end
    object.alone(self)
  end

  def fiber
    Fiber.new { go }.resume
  end

  def enumerator
    Enumerator.new { |found| found << go }.next
  end

  def missing
    not_there_at_all
  end

  def respond_to_missing?(*) = true

  def method_missing(name, *)
    name == :not_there_at_all ? go : super
  end

  def eval_here
    eval("[0].each {\n\n  go\n}", binding, "evaluated/file.erb", 4711)
  end

  def instance_eval
    stacks = self
    "text".instance_eval { stacks.go }
  end

  def class_body
    $stacks_here = self
    Class.new { $stacks_here.go }
  end

  def class_reopened
    $stacks_here = self
    eval("class Stacks::Inner\n  $stacks_here.go\nend", TOPLEVEL_BINDING, "inner.rb", 3)
  end

  def rescuing
    raise "x"
  rescue StandardError
    begin
      Integer("y")
    rescue ArgumentError
      go
    end
  end

  def ensuring
    catch(:done) do
      throw :done
    ensure
      go
    end
  end

  def lambda_call
    ->(stacks) { stacks.go }.(self)
  end

  def proc_in_c
    Hash.new { |_hash, _key| go }[1]
  end

  def refined
    "text".refined_call { go }
  end

  def keyword(a: 1, b: go)
    [a, b]
  end

  def regexp
    # It leaves special variables in the frame.
    "a1" =~ /(\d)/ && "b2".gsub(/\d/) { go && $1.to_s }
  end

  def symbol_proc
    [self].each(&:go)
  end

  # rubocop:disable all: more code than the first block of the line table has positions for.
  class_eval("def long_method\n" + "  @x = [1, 2, 3].size + 1\n" * 120 + "  go\nend\n", __FILE__, 10_000)

  def unicode_é
    go
  end

  def self.stand_still
    STOPPED << Thread.current
    GO_ON.pop
  end

  # Until it is told to go on. The truth is of who called it.
  def self.burn
    $locations = caller_locations(1)
    STOPPED << Thread.current
    number = 0
    number += [number].size while GO_ON.empty?
    GO_ON.pop
  end

  def recurse(depth)
    depth == 0 ? go : recurse(depth - 1)
  end

  # The same but for the line that runs, or for the file: of the last one nothing is left by then.
  def self.evaluate(number)
    4.times { GC.start(full_mark: true, immediate_sweep: true) } if number % 8 == 0
    if number.even?
      eval("\n" * (number + 1) + "Stacks.stand_still", TOPLEVEL_BINDING, "same.rb", 1)
    else
      eval("Stacks.stand_still", TOPLEVEL_BINDING, "other#{number}.rb", 1)
    end
  end
end

STOPPED = Queue.new
GO_ON = Queue.new

# A thread's execution context: by what it says of its thread, which is where the object says.
def context_of(thread, of_context, in_thread)
  native = Fiddle::Pointer.new(Fiddle.dlwrap(thread))[32, 8].unpack1("Q")
  (0..64).each do |word|
    context = Fiddle::Pointer.new(native)[word * 8, 8].unpack1("Q")
    next if context < 0x10000 || context >= 1 << 47 || context % 8 != 0 || word * 8 == in_thread
    return context if context != native && plausible?(context, of_context, native)
  end
  0
end

def plausible?(context, of_context, native)
  $memory ||= File.open("/proc/self/mem", "rb")
  $memory.sysseek(context + of_context)
  $memory.sysread(8).unpack1("Q") == native
rescue SystemCallError
  false
end

# Runs a thread to where it stands still. Its context, then label, path, line of each frame.
def stand(of_context, in_thread, &body)
  $thread = Thread.new(&body)
  STOPPED.pop
  Thread.pass until $thread.stop?
  tell($thread.backtrace_locations)
  context_of($thread, of_context, in_thread)
end

# Runs a thread to where it burns. Its context and its number.
def burn(of_context, in_thread, seed, count)
  $thread = Thread.new { Stacks.new(seed, count, :burn).go }
  STOPPED.pop
  tell($locations)
  "#{context_of($thread, of_context, in_thread)} #{$thread.native_thread_id}"
end

# Of a block that define_method made a method of, Ruby's label is of where it was written: by its line.
DEFINED = File.readlines(__FILE__).each_cons(2).with_index(1).each_with_object({}) do |((line, _), number), defined|
  defined[number + 1] = "defined_method" if line.include?("define_method(:defined_method)")
  defined[number] = "alone" if line.include?("define_singleton_method(:alone)")
end

def label_of(at)
  (DEFINED[at.lineno] if at.path == __FILE__ && at.label.start_with?("block in")) || at.label
end

def tell(locations)
  File.write($truth, locations.map { |at| "#{label_of(at)}\t#{at.path}\t#{at.lineno}\n" }.join)
end

def go_on
  GO_ON << 1
  $thread.join
  0
end
