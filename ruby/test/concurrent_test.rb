# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

class ConcurrentTest < Minitest::Test
  begin
    require "concurrent"
    require "correlator/concurrent"
    HAS_CONCURRENT = true
  rescue LoadError
    HAS_CONCURRENT = false
  end

  def setup
    skip "no concurrent-ruby" unless HAS_CONCURRENT
    # One worker: what one job leaves, the next one would find.
    @pool = Concurrent::FixedThreadPool.new(1)
  end

  def teardown
    return unless HAS_CONCURRENT

    assert_nil Correlator.current
    assert_equal [0], posted { Published.address }
    @pool.shutdown
    assert @pool.wait_for_termination(10)
  end

  def seen
    [Published[:request_id], Correlator[:request_id]]
  end

  # What the block says in the pool.
  def posted(*arguments, &block)
    answers = Queue.new
    @pool.post(*arguments) { |*given| answers << block.call(*given) }
    [answers.pop]
  end

  def in_request(id, &block)
    Correlator.with(request_id: id, &block)
  end

  def test_what_is_posted_works_for_the_poster
    assert_equal [%w[r1 r1]], in_request("r1") { posted { seen } }
    assert_equal [[nil, nil]], posted { seen }
    assert_equal [%w[r2 r2]], in_request("r2") { posted { seen } }
  end

  def test_a_post_takes_its_arguments_and_its_answer_is_the_same
    assert_equal [[1, [2, 3]]], in_request("r1") { posted(1, [2, 3]) { |*given| given } }
    assert_equal [[1, 2]], in_request("r1") { posted([1, 2]) { |one, two| [one, two] } }
    assert_equal(true, in_request("r1") { @pool.post {} })
    error = assert_raises(ArgumentError) { in_request("r1") { @pool.post } }
    assert_equal "no block given", error.message
  end

  def test_a_job_that_raises_leaves_nothing
    in_request("r1") { @pool.post { raise "no" } }
    assert_equal [[nil, nil]], posted { seen }
  end

  def test_a_full_pool_runs_it_in_the_caller_in_the_callers_context
    pool = Concurrent::ThreadPoolExecutor.new(max_threads: 1, max_queue: 1,
                                              fallback_policy: :caller_runs)
    gate = Queue.new
    found = []
    in_request("r1") do
      pool.post { gate.pop }
      3.times { pool.post { found << [seen, Thread.current.equal?(caller_thread)] } }
      assert_equal "r1", Published[:request_id]
    end
    assert_includes found, [%w[r1 r1], true]
    gate << nil
    pool.shutdown
    assert pool.wait_for_termination(10)
    assert_equal [%w[r1 r1]], found.map(&:first).uniq
  end

  def caller_thread
    @caller_thread ||= Thread.current
  end

  def test_futures_of_the_old_interface
    future = in_request("r1") { Concurrent::Future.execute(executor: @pool) { seen } }
    assert_equal %w[r1 r1], future.value!(10)
    promise = in_request("r1") do
      Concurrent::Promise.execute(executor: @pool) { seen }.then { seen }
    end
    assert_equal %w[r1 r1], promise.value!(10)
  end

  def test_a_block_of_a_chain_works_for_whoever_wrote_it_down
    start = Concurrent::Promises.resolvable_future
    first = in_request("r1") { start.then_on(@pool) { |value| [value, seen] } }
    second = in_request("r2") { first.then_on(@pool, :more) { |value, more| [value, more, seen] } }
    third = second.then_on(@pool) { |value| [value, seen] }
    in_request("r3") { start.fulfill(1) }
    expected = [[[1, %w[r1 r1]], :more, %w[r2 r2]], [nil, nil]]
    assert_equal expected, third.value!(10)
  end

  def test_futures_rescues_and_callbacks
    answers = Queue.new
    future = in_request("r1") do
      promise = Concurrent::Promises.future_on(@pool) { raise "no" }.rescue_on(@pool) { seen }
      promise.on_fulfillment_using(@pool) { answers << seen }
      promise.on_resolution! { answers << seen }
      promise
    end
    assert_equal %w[r1 r1], future.value!(10)
    assert_equal [%w[r1 r1]] * 2, Array.new(2) { answers.pop }
    zipped = in_request("r2") do
      Concurrent::Promises.zip_futures_on(@pool, future, future).then { |*both| [both.size, seen] }
    end
    assert_equal [2, %w[r2 r2]], zipped.value!(10)
  end

  def test_a_delay_and_what_is_scheduled
    delayed = in_request("r1") { Concurrent::Promises.delay_on(@pool) { seen } }
    assert_equal %w[r1 r1], in_request("r2") { delayed.value!(10) }
    later = in_request("r3") { Concurrent::Promises.schedule_on(@pool, 0.02) { seen } }
    assert_equal %w[r3 r3], later.value!(10)
  end

  # A job of an agent is posted by the one before it.
  def test_serialized_jobs_work_for_their_own_poster
    serialized = Concurrent::SerializedExecution.new
    gate = Queue.new
    answers = Queue.new
    serialized.post(@pool) { gate.pop }
    in_request("r1") { serialized.post(@pool) { answers << seen } }
    serialized.post(@pool) { answers << seen }
    in_request("r2") { serialized.post(@pool) { answers << seen } }
    gate << nil
    assert_equal [%w[r1 r1], [nil, nil], %w[r2 r2]], Array.new(3) { answers.pop }
  end

  def test_a_timer_that_a_request_starts_works_for_nobody
    answers = Queue.new
    timer = in_request("r1") do
      Concurrent::TimerTask.new(execution_interval: 0.02, executor: @pool) do
        answers << seen
      end.tap(&:execute)
    end
    assert_equal [[nil, nil]] * 3, Array.new(3) { answers.pop }
    timer.shutdown
  end
end
