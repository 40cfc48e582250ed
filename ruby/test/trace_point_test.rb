# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

# Ruby announces no switch to a fiber that is in the middle of a TracePoint block.
class TracePointTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def traced; end

  def trace(&block)
    Correlator.with(request_id: "outer") do
      TracePoint.new(:call, &block).enable { traced }
      yield_to_collector
      [published, Correlator.with(step: 1) { published }, published]
    end
  end

  def yield_to_collector
    GC.start
    Array.new(1000) { |number| "junk #{number}" }
  end

  def test_a_fiber_started_in_a_trace_works_for_the_traced_code
    seen = []
    after = trace { seen << Fiber.new { published }.resume << published }
    assert_equal %w[outer outer], seen
    assert_equal %w[outer outer outer], after
  end

  def test_an_enumerator_asked_in_a_trace_leaves_the_context_as_it_is
    numbers = Enumerator.new { |yielder| loop { yielder << published } }
    after = trace { 2.times { assert_equal "outer", numbers.next } }
    assert_equal %w[outer outer outer], after
  end

  def test_a_block_with_a_context_of_its_own_restores_the_traced_one
    after = trace { Fiber.new { Correlator.with(request_id: "inner") { published } }.resume }
    assert_equal %w[outer outer outer], after
  end

  def test_an_exception_from_a_fiber_in_a_trace_restores_the_traced_context
    after = trace do
      Fiber.new { Correlator.with(request_id: "inner") { raise "no" } }.resume
    rescue RuntimeError
      nil
    end
    assert_equal %w[outer outer outer], after
  end

  # What cannot be known until the next switch or change of context is never dead memory.
  def test_a_context_left_behind_by_a_fiber_in_a_trace_is_alive_and_goes_at_the_next_change
    after = trace { Fiber.new { Correlator.set(request_id: String.new("inner")) }.resume }
    assert_includes [nil, "inner", "outer"], after.first
    assert_equal %w[outer outer], after.drop(1)
  end
end
