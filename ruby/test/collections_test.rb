# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Before the gem: its hooks are to be on both sides of the gem's.
require "gc_truth"
require "child_ruby"
require "correlator"
require "minitest/autorun"
require "published"

# How long a thread collects garbage, as an observer finds it, between two counts of another extension.
class CollectionsTest < Minitest::Test
  include ChildRuby

  COUNTS_AND_TIMES_GC = 2 | 4

  Counted = Struct.new(:steps, :ended, :time, :runs) do
    def ns
      time >> 1
    end
  end

  def setup
    Correlator.watch_vm!
    GcTruth.surround
  end

  # What an observer finds of the calling thread.
  def counted
    Counted.new(*Published.collections)
  end

  # Both at one instant.
  def read_both
    loop do
      truth = GcTruth.bounds
      ours = counted
      return ours, truth if GcTruth.bounds == truth
    end
  end

  # In a context, by a thread of its own: what its counters grow by, and what is true.
  def grown
    Thread.new do
      Correlator.with(request_id: "r") do
        before, truth_before = read_both
        yield
        after, truth_after = read_both
        assert_equal [0, 0], [before.time & 1, after.time & 1]
        assert_equal after.steps, after.ended
        [[after.ns - before.ns, after.steps - before.steps, after.runs - before.runs],
         truth_after.zip(truth_before).map { |now, then_| now - then_ }]
      end
    end.value
  end

  def assert_right(counted, truth)
    least_ns, most_ns, _, _, steps, runs = truth
    ns, *counts = counted
    assert_includes least_ns..most_ns, ns
    assert_equal [steps, runs], counts
    assert_operator ns, :>, 0
  end

  def allocate
    kept = []
    300_000.times { |number| (number % 7).zero? ? kept << "a string #{number}" : "a string #{number}" }
  end

  # In many steps: marking in pieces, and sweeping when an object is wanted.
  def test_what_allocating_sets_off
    ours, truth = grown do
      before = GC.count
      allocate until GC.count > before + 3
    end
    assert_right ours, truth
    assert_operator ours[1], :>, ours[2]
    assert_operator ours[2], :>, 0
  end

  def test_collections_that_are_asked_for
    count = nil
    ours, truth = grown do
      before = GC.count
      GC.start
      GC.start(full_mark: false, immediate_sweep: false)
      count = GC.count - before
    end
    assert_right ours, truth
    assert_equal count, ours[2]
  end

  def test_compaction
    skip "no compaction" unless GC.respond_to?(:compact)
    allocate
    ours, truth = grown do
      GC.compact
    rescue NotImplementedError
      GC.start
    end
    assert_right ours, truth
  end

  def test_it_agrees_with_rubys_own_figure
    skip "Ruby 3.1+" unless GC.stat.key?(:time)
    ms = 0
    ours, = grown do
      before = GC.stat(:time)
      6.times { allocate }
      GC.start
      ms = GC.stat(:time) - before
    end
    # Its own is CPU time: what comes between is not in it.
    assert_operator ours[0] / 1e6, :>, (0.98 * ms) - 2
  end

  def test_a_thread_is_told_of_its_own_collections_alone
    GC.start # nothing of an earlier one is left to sweep
    quiet = Queue.new
    asked = Queue.new
    thread = Thread.new do
      Correlator.with(request_id: "quiet") do
        quiet << counted
        asked.pop
        quiet << counted
      end
    end
    before = quiet.pop
    ours, truth = grown { GC.start }
    asked << true
    assert_equal before, quiet.pop
    thread.join
    assert_right ours, truth
  end

  def test_fibers_of_a_thread_count_together
    ours, truth = grown do
      fibers = Array.new(4) do
        Fiber.new { Correlator.with(request_id: "f") { loop { GC.start; Fiber.yield } } }
      end
      2.times { fibers.each(&:resume) }
    end
    assert_right ours, truth
  end

  def test_within_a_collection_it_is_odd_and_what_the_clock_is_ahead
    seen = Correlator.with(request_id: "r") do
      GC.start
      before = counted
      GcTruth.watch
      from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      GC.start
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
      [before, from, till, Counted.new(*GcTruth.watched)]
    end
    before, from, till, within = seen
    assert_equal 1, within.time & 1
    assert_equal [before.steps + 1, before.steps], [within.steps, within.ended]
    assert_includes from..till, within.ns + before.ns
  end

  def test_a_forked_child_goes_on
    output = ruby(<<~'RUBY')
      Correlator.watch_vm!
      Correlator.with(request_id: "r") do
        GC.start
        before = Published.collections
        fork do
          GC.start
          after = Published.collections
          puts [after[2] > before[2], after[3] > before[3], after[0] == after[1]].join(" ")
          $stdout.flush
          exit!(true)
        end
        Process.wait
      end
    RUBY
    assert_equal "true true true\n", output
  end

  def test_a_thread_that_ends_leaves_nothing_to_the_next_one
    3.times do
      Thread.new { Correlator.with(request_id: "r") { GC.start } }.join
      fresh, truth, before = Thread.new do
        before = GcTruth.bounds
        Correlator.with(request_id: "r") { [*read_both, before] }
      end.value
      assert_operator fresh.ns, :<=, truth[1] - before[1]
      assert_operator fresh.runs, :<=, truth[5] - before[5]
    end
  end

  def test_ractors_are_counted_and_leave_the_others_counted
    skip "Ruby 3.0+" unless defined?(Ractor)
    output = ruby(<<~'RUBY', "-W:no-experimental")
      Correlator.watch_vm!
      ractor = Ractor.new do
        Correlator.with(request_id: "r") do
          before = Published.collections
          GC.start
          Published.collections.zip(before).map { |now, then_| now - then_ }
        end
      end
      grown = ractor.respond_to?(:value) ? ractor.value : ractor.take
      ours = Correlator.with(request_id: "main") do
        before = Published.collections
        GC.start
        Published.collections.zip(before).map { |now, then_| now - then_ }
      end
      puts [grown, ours].map { |runs| runs.all?(&:positive?) }.join(" ")
      $stdout.flush
      exit!(true)
    RUBY
    assert_equal "true true\n", output
  end

  def test_threads_that_had_a_context_before_are_counted_from_now_on
    output = ruby(<<~'RUBY')
      Correlator.with(request_id: "r") do
        GC.start
        before = [Published.thread[0], *Published.collections]
        Correlator.watch_vm!
        GC.start
        puts [before, Published.thread[0] & 6, Published.collections.all?(&:positive?)].join(" ")
      end
    RUBY
    assert_equal "0 0 0 0 0 6 true\n", output
  end

  def test_the_environment_turns_it_on
    code = 'Correlator.with(request_id: "r") { puts Published.thread[0] & 6 }'
    assert_equal "#{COUNTS_AND_TIMES_GC}\n", ruby(code, environment: { "CORRELATOR_WATCH_VM" => "1" })
    assert_equal "0\n", ruby(code)
  end

  def test_another_collector_which_tells_less_is_not_counted
    output = ruby(<<~'RUBY')
      def GC.config; { implementation: "mmtk" }; end
      Correlator.watch_vm!
      Correlator.with(request_id: "r") { puts Published.thread[0] & 6 }
    RUBY
    assert_equal "0\n", output
  end
end
