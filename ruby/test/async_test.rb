# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

# Tasks of async, as Falcon's requests are: a task works for the one that starts it.
class AsyncTest < Minitest::Test
  begin
    require "async"
    require "async/barrier"
    require "async/semaphore"
    HAS_ASYNC = true
  rescue LoadError
    HAS_ASYNC = false
  end

  def setup
    @seen = Hash.new { |hash, key| hash[key] = [] }
  end

  def teardown
    assert_equal 0, Published.address
  end

  def look(name)
    @seen[name] << Published[:request_id]
  end

  # What is seen in a task before and after others had their turns.
  def piece(task, name)
    look(name)
    task.sleep(0.001)
    look(name)
  end

  def requests(*ids, &block)
    skip "no async" unless HAS_ASYNC
    Async do |task|
      ids.each { |id| task.async { |request| in_request(id) { block.call(request, id) } } }
      look("loop")
    end
    assert_equal [nil], @seen.delete("loop").uniq
  end

  def in_request(id, &block)
    Correlator.with(request_id: id, &block)
    assert_equal 0, Published.address
  end

  def assert_each_saw_itself(times)
    assert_equal [[times]], [@seen.values.map(&:size).uniq]
    @seen.each { |id, found| assert_equal [id], found.uniq }
  end

  def test_child_tasks_and_their_children_work_for_their_request
    requests("r1", "r2", "r3") do |request, id|
      request.async do |child|
        child.async { |leaf| piece(leaf, id) }.wait
        piece(child, id)
      end.wait
      piece(request, id)
    end
    assert_each_saw_itself(6)
  end

  def test_a_barrier_and_a_semaphore_that_others_release
    shared = HAS_ASYNC && Async::Semaphore.new(2)
    requests("r1", "r2") do |_, id|
      barrier = Async::Barrier.new
      own = Async::Semaphore.new(1, parent: barrier)
      3.times { own.async { |task| piece(task, id) } }
      3.times { barrier.async { |task| shared.acquire { piece(task, id) } } }
      barrier.wait
    end
    assert_each_saw_itself(12)
  end

  def test_a_task_that_outlives_its_request_works_for_nobody
    over = HAS_ASYNC && Async::Condition.new
    requests("first", "second") do |_, id|
      if id == "first"
        Async do
          look("outlived")
          over.wait
          look("outlived")
        end
      else
        over.signal
      end
    end
    assert_equal ["first", nil], @seen["outlived"]
  end

  def test_a_task_that_is_stopped_or_times_out_leaves_nothing
    requests("r1", "r2") do |request, id|
      endless = request.async { |task| in_request("#{id}-inner") { task.sleep(60) } }
      assert_raises(Async::TimeoutError) { request.with_timeout(0.001) { endless.wait } }
      endless.stop
      look(id)
    end
    assert_each_saw_itself(1)
  end

  def test_an_enumerator_that_a_server_pulls_from
    requests("r1", "r2") do |request, id|
      chunks = Enumerator.new { |yielder| 3.times { yielder << look(id) } }
      3.times do
        chunks.next
        request.sleep(0.001)
      end
    end
    assert_each_saw_itself(3)
  end

  # async 2 has a fiber for the loop itself, and switches by transfer: a task begins at once, in the
  # middle of the one that starts it, and goes on from the loop.
  class Transferring
    def initialize
      @ready = []
    end

    def start(&block)
      fiber = Fiber.new do
        block.call
        @loop.transfer
      end
      @ready << Fiber.current
      fiber.transfer
    end

    def pause
      @ready << Fiber.current
      @loop.transfer
    end

    def run(&block)
      main = Fiber.current
      @loop = Fiber.new do
        fiber = nil
        fiber.transfer while (fiber = @ready.shift)
        main.transfer
      end
      @ready << Fiber.new do
        block.call
        @loop.transfer
      end
      @loop.transfer
    end
  end

  def test_tasks_that_are_switched_by_transfer
    skip "Ruby 3.0+" if RUBY_VERSION < "3"
    tasks = Transferring.new
    tasks.run do
      %w[r1 r2].each do |id|
        tasks.start do
          in_request(id) do
            2.times { tasks.start { 2.times { look(id) && tasks.pause } } }
            3.times { look(id) && tasks.pause }
          end
          look("after")
        end
      end
      look("loop")
    end
    assert_equal [nil], (@seen.delete("loop") + @seen.delete("after")).uniq
    assert_each_saw_itself(7)
  end
end
