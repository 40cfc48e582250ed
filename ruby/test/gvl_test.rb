# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Before the gem: its hooks are to be on both sides of the gem's.
require "gvl_truth"
require "child_ruby"
require "correlator"
require "minitest/autorun"
require "published"

# How long a thread waits for the GVL, as an observer finds it, between two counts of another extension.
class GvlTest < Minitest::Test
  include ChildRuby

  COUNTS_GVL = 1
  SECONDS = 0.3

  Counters = Struct.new(:flags, :serial, :ready_ns, :wait_ns, :waits)

  # What an observer finds of the calling thread.
  def published
    found = Published.thread
    found && Counters.new(*found)
  end

  def skip_without_hooks
    skip "Ruby 3.3+" unless GvlTruth::KNOWN
  end

  def spin(count)
    is_over = false
    threads = Array.new(count) { Thread.new { nil until is_over } }
    yield
  ensure
    is_over = true
    threads.each(&:join)
  end

  # By a thread in a context: what its counters grow by, and what is true.
  def counted(context = "r", &block)
    watch
    Thread.new do
      GvlTruth.watch
      Correlator.with(request_id: context) do
        before, truth_before = read_both
        block.call
        after, truth_after = read_both
        assert_equal before.serial, after.serial
        [[after.wait_ns - before.wait_ns, after.waits - before.waits],
         truth_after.zip(truth_before).map { |now, then_| now - then_ }]
      end
    end.value
  end

  def watch
    Correlator.watch_vm!
    GvlTruth.surround
  end

  # At one instant: again if a time slice ended in between.
  def read_both
    loop do
      truth = GvlTruth.bounds
      ours = published
      return ours, truth if GvlTruth.bounds == truth
    end
  end

  def assert_right(counted, truth)
    least_ns, most_ns, waits = truth
    assert_includes least_ns..most_ns, counted[0]
    assert_equal waits, counted[1]
  end

  def deadline
    Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
  end

  def work(till)
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
  end

  [1, 2, 8].each do |count|
    define_method(:"test_waits_behind_#{count}_that_spin_are_counted_as_long_as_they_were") do
      skip_without_hooks
      ours, truth = counted { spin(count) { work(deadline) } }
      assert_right ours, truth
      assert_operator truth[0], :>, SECONDS * 1e9 * 0.3
    end
  end

  def test_waits_after_sleeping_are_counted_and_the_sleep_is_not
    skip_without_hooks
    ours, truth = counted { 20.times { sleep 0.01 } }
    assert_right ours, truth
    assert_operator ours[0], :<, 100_000_000
    assert_operator ours[1], :>=, 20
  end

  # Whoever pushes finds that the thread wants the GVL: on its own native thread.
  def test_a_wait_that_another_thread_begins_is_the_sleepers
    skip_without_hooks
    queue = Queue.new
    spin(2) do
      waker = Thread.new do
        GvlTruth.watch
        10.times { sleep 0.01; queue << 1 }
      end
      ours, truth = counted { 10.times { queue.pop } }
      assert_right ours, truth
      assert_operator truth[0], :>, 0
      waker.join
    end
  end

  def test_a_thread_that_never_had_a_context_has_no_counters
    skip_without_hooks
    Correlator.watch_vm!
    assert_nil Thread.new { published }.value
  end

  def test_threads_that_had_a_context_before_are_counted_from_now_on
    output = ruby(<<~'RUBY')
      Correlator.with(request_id: "r") do
        before = Published.thread
        Correlator.watch_vm!
        puts [before[0], Published.thread[0] & 1].join(" ")
      end
    RUBY
    assert_equal(GvlTruth::KNOWN ? "0 1\n" : "0 0\n", output)
  end

  def test_a_thread_that_ends_leaves_nothing_to_the_next_one
    skip_without_hooks
    watch
    spin(1) do
      serials = Array.new(3) do
        # With M:N threads Ruby 3.4.11 itself returns from a shorter sleep at once.
        waited = Thread.new { Correlator.with(request_id: "r") { sleep 0.01; published } }.value
        assert_operator waited.wait_ns, :>, 0
        fresh, truth = Thread.new do
          GvlTruth.watch
          Correlator.with(request_id: "r") { read_both }
        end.value
        assert_operator fresh.wait_ns, :<=, truth[1]
        assert_operator fresh.waits, :<=, truth[2]
        [waited.serial, fresh.serial]
      end
      assert_equal serials.flatten.uniq, serials.flatten
    end
  end

  def test_a_forked_child_goes_on
    skip_without_hooks
    output = ruby(<<~'RUBY')
      Correlator.watch_vm!
      Correlator.with(request_id: "r") do
        before = Published.thread
        fork do
          spinner = Thread.new { loop {} }
          5.times { sleep 0.001 }
          after = Published.thread
          puts [after[0] & 1, after[1] == before[1], after[3] > before[3] + 5_000_000].join(" ")
          $stdout.flush
          exit!(true)
        end
        Process.wait
      end
    RUBY
    assert_equal "1 true true\n", output
  end

  # Not by sleeping: in a Ractor, Ruby 3.4.11 itself returns from a short sleep at once.
  def test_ractors_are_counted
    skip_without_hooks
    output = ruby(<<~'RUBY', "-W:no-experimental")
      Correlator.watch_vm!
      ractor = Ractor.new do
        Correlator.with(request_id: "r") do
          spinner = Thread.new { nil while true }
          till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 1
          nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
          Published.thread
        end
      end
      flags, _, _, wait_ns, waits = ractor.respond_to?(:value) ? ractor.value : ractor.take
      puts [flags & 1, wait_ns.between?(200_000_000, 1_200_000_000), waits.positive?].join(" ")
      $stdout.flush
      exit!(true)
    RUBY
    assert_equal "1 true true\n", output
  end

  def test_the_environment_turns_it_on
    code = 'Correlator.with(request_id: "r") { puts Published.thread[0] & 1 }'
    assert_equal "#{GvlTruth::KNOWN ? COUNTS_GVL : 0}\n",
                 ruby(code, environment: { "CORRELATOR_WATCH_VM" => "1" })
    ["0", "", nil].each do |value|
      assert_equal "0\n", ruby(code, environment: { "CORRELATOR_WATCH_VM" => value })
    end
  end

  def test_it_says_whether_it_counts
    2.times { assert_same true, Correlator.watch_vm! }
    counts = Correlator.with(request_id: "r") { published.flags & COUNTS_GVL }
    assert_equal GvlTruth::KNOWN, counts == COUNTS_GVL
  end
end
