# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "collector"
require "correlator"
require "published"

# What is published stays alive while it is, though the application wipes the fiber-locals that it
# came from (Puma's clean_thread_locals does) and abandons fibers: also between the marking of a
# collection and its sweeping, which takes place bit by bit.
class LivenessTest < Minitest::Test
  ID = ("x" * 60).freeze
  ROUNDS = 20

  # Garbage lies scattered over many pages, so that most are not swept yet when the first are.
  LIVE = Array.new(150_000) { |number| "live object number #{number}, too long to be embedded" }
              .select.with_index { |_, number| (number % 10).positive? }

  def teardown
    GC.stress = false
    Correlator.clear
  end

  def wipe
    Thread.current.keys.each { |key| Thread.current[key] = nil }
  end

  def set_new
    Correlator.set(request_id: String.new(ID))
  end

  def publish_a_wiped_context
    set_new
    wipe
  end

  def allocate_until_a_collection_begins
    count = GC.count
    Object.new while GC.count == count
  end

  # Takes the place of what has been freed.
  def allocate_more
    Array.new(3000) { |number| "junk number #{number} of a length of sixty, like it: #{ID}" }
  end

  def id_of(pairs)
    pairs && pairs.fetch(:request_id)
  end

  # The id by each way to see it. The captured one is looked at after the collection, as if kept.
  def ids
    state = Correlator.capture
    junk = allocate_more
    assert_equal 3000, junk.size
    [state && id_of(state.to_h), id_of(Correlator.current), Published[:request_id]]
  end

  def assert_alive(seen)
    assert_equal [ID], seen.flatten.uniq
  end

  def test_what_was_wiped_in_a_fiber_is_alive
    seen = Fiber.new do
      Array.new(ROUNDS) do
        publish_a_wiped_context
        allocate_until_a_collection_begins
        ids
      end
    end.resume
    assert_alive(seen)
    assert_equal 0, Published.address
  end

  def test_what_was_wiped_in_a_thread_is_alive
    seen = Thread.new do
      Array.new(ROUNDS) do
        publish_a_wiped_context
        allocate_until_a_collection_begins
        ids
      end
    end.value
    assert_alive(seen)
  end

  def test_a_block_over_what_was_wiped_merges_and_restores_it
    seen = Fiber.new do
      Array.new(ROUNDS) do
        publish_a_wiped_context
        allocate_until_a_collection_begins
        within = Correlator.with(step: 1) { allocate_more && Correlator.current }
        [within[:request_id], ids]
      end
    end.resume
    assert_alive(seen)
  end

  def test_a_fiber_borrows_what_was_wiped
    seen = Fiber.new do
      Array.new(ROUNDS) do
        publish_a_wiped_context
        allocate_until_a_collection_begins
        Fiber.new { ids }.resume
      end
    end.resume
    assert_alive(seen)
  end

  def traced; end

  # Ruby announces no switch back from the fiber, whose context therefore stays published.
  def set_in_a_trace
    TracePoint.new(:call) { Fiber.new { publish_a_wiped_context }.resume }.enable { traced }
  end

  def test_what_a_fiber_in_a_trace_has_set_is_alive
    seen = Fiber.new do
      Array.new(ROUNDS) do
        set_in_a_trace
        allocate_until_a_collection_begins
        ids.tap { Fiber.new { nil }.resume }
      end
    end.resume
    assert_alive(seen)
  end

  def test_what_was_set_in_a_trace_is_alive
    seen = Fiber.new do
      Array.new(ROUNDS) do
        TracePoint.new(:call) { publish_a_wiped_context }.enable { traced }
        allocate_until_a_collection_begins
        ids
      end
    end.resume
    assert_alive(seen)
  end

  # Each allocation is a collection: only these few run like that.
  def test_under_gc_stress
    seen = Fiber.new do
      Array.new(3) do
        GC.stress = true
        publish_a_wiped_context
        state = Correlator.capture
        set_in_a_trace
        published = Published[:request_id]
        GC.stress = false
        [state && id_of(state.to_h), published, ids]
      end
    end.resume
    assert_alive(seen)
  end

  def compact
    GC.compact
  rescue NotImplementedError
    skip "no compaction here"
  end

  def test_when_everything_is_moved
    skip "no compaction" unless GC.respond_to?(:compact)
    seen = Fiber.new do
      Array.new(5) do
        publish_a_wiped_context
        compact
        ids
      end
    end.resume
    assert_alive(seen)
  end

  def test_when_collections_compact
    skip "no automatic compaction" unless Collector.compacts_by_itself?
    Collector.compact_by_itself(true)
    seen = Fiber.new do
      Array.new(5) do
        publish_a_wiped_context
        GC.start
        ids
      end
    end.resume
    assert_alive(seen)
  ensure
    Collector.compact_by_itself(false)
  end

  def states
    4.times { GC.start }
    ObjectSpace.each_object(Correlator::State).count
  end

  # A fiber that is not at its end, in which the context was wiped, so that nothing else keeps it.
  def abandon_a_wiped_context
    Fiber.new { publish_a_wiped_context && Fiber.yield }.resume
  end

  def test_what_ends_is_not_kept
    2000.times { abandon_a_wiped_context }
    200.times { Thread.new { publish_a_wiped_context }.join }
    10.times do
      Array.new(20) { Thread.new { publish_a_wiped_context && Thread.pass } }.each(&:join)
    end
    assert_operator states, :<, 100
  end

  def test_a_child_of_a_fork_keeps_what_its_own_thread_publishes_only
    ready = Queue.new
    stop = Queue.new
    threads = Array.new(50) do
      Thread.new do
        publish_a_wiped_context
        ready << 1
        stop.pop
      end
    end
    threads.each { ready.pop }
    set_new
    pid = fork do
      threads.clear
      exit!(Correlator.capture.to_h == { request_id: ID } && states < 25)
    end
    status = Process.wait2(pid).last
    threads.each { stop << 1 }.each(&:join)
    assert_predicate status, :success?
  end
end
