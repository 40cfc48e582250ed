# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

class ThreadTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def test_a_new_thread_starts_without_a_context
    Correlator.with(request_id: "main") { assert_nil Thread.new { published }.value }
  end

  def test_inherit_takes_the_context_into_a_thread
    Correlator.with(request_id: "main") do
      assert_equal "main", Thread.new(&Correlator.inherit { published }).value
    end
  end

  def test_threads_see_their_own_context_across_switches
    wrong = Array.new(8) do |number|
      Thread.new do
        (1..300).count do |turn|
          id = "t#{number}-#{turn}"
          Correlator.with(request_id: id) do
            Thread.pass
            published != id
          end
        end
      end
    end.sum(&:value)
    assert_equal 0, wrong
  end

  # Ruby up to 3.2 gives the native thread of a finished thread to the next one.
  def test_a_thread_on_a_used_native_thread_starts_without_a_context
    stale = Array.new(20) do
      Thread.new { Correlator.set(request_id: "left behind") }.join
      Thread.new { Published.address }.value
    end
    assert_equal [0], stale.uniq
  end

  def test_a_raising_or_killed_thread_leaves_nothing_behind
    leave = [
      -> { raise "end" }, -> { Thread.exit }, -> { Thread.current.kill }, -> { throw :nowhere },
    ]
    leave.each do |leaving|
      thread = Thread.new do
        Thread.current.report_on_exception = false
        Correlator.set(request_id: "left behind")
        leaving.call
      end
      begin
        thread.join
      rescue StandardError
        nil
      end
      assert_equal 0, Thread.new { Published.address }.value
    end
  end

  def test_a_kill_runs_the_end_of_with
    ready = Queue.new
    seen = nil
    thread = Thread.new do
      Correlator.set(request_id: "outer")
      begin
        Correlator.with(request_id: "inner") do
          ready << true
          sleep
        end
      ensure
        seen = published
      end
    end
    ready.pop
    thread.kill.join
    assert_equal "outer", seen
  end

  def test_a_frozen_thread_has_contexts_as_any_other
    seen = Thread.new do
      Thread.current.freeze
      [Correlator.with(request_id: "frozen") { published }, published]
    end.value
    assert_equal ["frozen", nil], seen
  end

  def test_a_thread_that_is_frozen_in_a_context_leaves_it
    seen = Thread.new do
      Correlator.with(request_id: "outer") do
        Correlator.with(request_id: "inner") { Thread.current.freeze }
        [published, Correlator.current]
      end << Published.address
    end.value
    assert_equal ["outer", { request_id: "outer" }, 0], seen
  end

  def test_a_frozen_fiber_of_a_frozen_thread_is_refused_and_nothing_changes
    error, seen = Thread.new do
      [Thread.current, Fiber.current].each(&:freeze)
      begin
        Correlator.with(request_id: "frozen") { flunk }
      rescue FrozenError => error
        [error, Published.address]
      end
    end.value
    assert_kind_of FrozenError, error
    assert_equal 0, seen
  end

  def test_a_child_forked_in_a_fiber_of_a_thread_goes_on_in_that_context
    stop = Queue.new
    other = Thread.new { Correlator.with(request_id: "other") { stop.pop } }
    status = Thread.new do
      Correlator.with(request_id: "forks") { Fiber.new { wait_for_child }.resume }
    end.value
    stop << 1
    other.join
    assert_predicate status, :success?
  end

  # The fiber that lends it is not in the child: nothing there ends its block, not even a collection.
  def test_what_a_fiber_has_borrowed_stays_with_it_in_a_child
    status = Thread.new do
      Correlator.with(request_id: "forks") { Fiber.new { wait_for_child { GC.start } }.resume }
    end.value
    assert_predicate status, :success?
  end

  def wait_for_child
    pid = fork do
      yield if block_given?
      clean = Thread.new { Published.address }.value.zero?
      inner = Correlator.with(request_id: "child") { published }
      exit!(clean && [inner, published] == %w[child forks])
    end
    Process.wait2(pid).last
  end

  # Where several threads share a native one (RUBY_MN_THREADS=1) each of these waits is a change of
  # threads without a change of fibers. Not within a fiber: Ruby 3.4.11 itself crashes there.
  def test_every_kind_of_waiting_keeps_the_context
    wrong = Array.new(6) do |number|
      Thread.new do
        waits = { queue: Queue.new, pipe: IO.pipe }
        fiber = Fiber.new { loop { Fiber.yield(published) } }
        fiber.resume
        (1..15).sum { |turn| wrong_reads("w#{number}-#{turn}", waits, fiber) }
      end
    end.sum(&:value)
    assert_equal 0, wrong
  end

  def wrong_reads(id, waits, fiber)
    Correlator.with(request_id: id) do
      %i[pass sleep queue pipe join].count do |kind|
        wait(waits, kind)
        [published, fiber.resume, published] != [id, nil, id]
      end
    end
  end

  def wait(waits, kind)
    case kind
    when :pass then Thread.pass
    when :sleep then sleep(0.001)
    when :queue
      Thread.new { waits[:queue] << 1 }
      waits[:queue].pop
    when :pipe
      Thread.new { waits[:pipe].last.write("x") }
      waits[:pipe].first.read(1)
    when :join then Thread.new { Thread.pass }.join
    end
  end

  def test_many_threads_and_fibers_free_their_contexts
    20.times do |round|
      Array.new(50) do |number|
        Thread.new do
          Correlator.set(request_id: "left #{round}-#{number}")
          Array.new(5) { Fiber.new { Correlator.set(step: Fiber.yield) } }.each(&:resume)
        end
      end.each(&:join)
    end
    GC.start
    # Ruby 3.3 keeps ended threads that shared a native one, and so what belongs to them.
    kept = [Thread, Fiber].sum { |kind| ObjectSpace.each_object(kind).count }
    assert_operator ObjectSpace.each_object(Correlator::State).count, :<, kept + 100
  end
end
