# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

class FiberTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def test_interleaved_fibers_each_see_their_own_context
    wrong = 0
    fibers = Array.new(50) do |number|
      Fiber.new do
        Correlator.with(request_id: "f#{number}") do
          40.times do
            wrong += 1 unless published == "f#{number}"
            Fiber.yield
            wrong += 1 unless published == "f#{number}"
          end
        end
        wrong += 1 unless published == "main"
      end
    end
    Correlator.with(request_id: "main") do
      41.times do
        fibers.each do |fiber|
          fiber.resume
          wrong += 1 unless published == "main"
        end
      end
    end
    assert_equal 0, wrong
    assert(fibers.none?(&:alive?))
  end

  def test_inherit_passes_context_arguments_and_keywords
    Correlator.with(request_id: "outer") do
      proc = Correlator.inherit { |value, key: nil| [published, value, key] }
      Correlator.with(request_id: "other") do
        assert_equal ["outer", 1, nil], Fiber.new(&proc).resume(1)
        assert_equal ["outer", 1, 2], proc.call(1, key: 2)
        assert_equal "other", published
      end
    end
    assert_nil Fiber.new(&Correlator.inherit { published }).resume
  end

  def test_an_exception_that_leaves_a_fiber_finds_the_context_of_the_outer_one
    Correlator.with(request_id: "outer") do
      fiber = Fiber.new { Correlator.with(request_id: "inner") { raise ArgumentError } }
      assert_raises(ArgumentError) { fiber.resume }
      assert_equal "outer", published
    end
  end

  def test_an_exception_raised_into_a_fiber_finds_the_context_of_that_fiber
    seen = nil
    fiber = Fiber.new do
      Correlator.with(request_id: "inner") do
        Fiber.yield
      rescue ArgumentError
        seen = published
      end
    end
    fiber.resume
    Correlator.with(request_id: "outer") { fiber.raise(ArgumentError) }
    assert_equal "inner", seen
  end

  def test_transfer_and_enumerators_switch_contexts
    Correlator.with(request_id: "outer") do
      main = Fiber.current
      other = Fiber.new { Correlator.with(request_id: "other") { main.transfer(published) } }
      assert_equal "other", other.transfer
      assert_equal "outer", published
      numbers = Enumerator.new do |yielder|
        Correlator.with(request_id: "enumerator") { 2.times { yielder << published } }
      end
      assert_equal %w[enumerator outer enumerator], [numbers.next, published, numbers.next]
    end
  end

  def test_a_frozen_fiber_can_have_a_context
    seen = Fiber.new do
      Fiber.current.freeze
      Correlator.with(request_id: "frozen") do
        [published, Fiber.new { published }.resume, published]
      end
    end.resume
    assert_equal %w[frozen frozen frozen], seen
  end

  def test_an_abandoned_fiber_takes_its_context_with_it
    fiber = Fiber.new { Correlator.with(request_id: "abandoned") { Fiber.yield } }
    fiber.resume
    fiber = nil
    GC.start
    assert_nil fiber
    assert_nil published
  end

  def test_a_context_is_not_wiped_with_the_fiber_locals
    Fiber.new do
      Correlator.set(request_id: String.new("wiped"))
      Thread.current.keys.each { |key| Thread.current[key] = nil }
      GC.start
      100.times { Object.new.to_s }
      assert_equal "wiped", published
      Correlator.set(request_id: "again")
      assert_equal "again", published
      Thread.current.keys.each { |key| Thread.current[key] = "junk" }
      Fiber.new {}.resume
      assert_equal "again", published
    end.resume
  end

  def test_a_thread_killed_inside_a_fiber_leaves_nothing_behind
    ready = Queue.new
    thread = Thread.new do
      Correlator.set(request_id: "root")
      Fiber.new do
        Correlator.set(request_id: "fiber")
        ready << true
        sleep
      end.resume
    end
    ready.pop
    thread.kill.join
    assert_equal 0, Thread.new { Published.address }.value
  end
end
