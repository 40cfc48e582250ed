# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "profiler_stand_in"
require "correlator"
require "published"

class UpstreamTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def test_no_second_variable_is_published
    assert_empty($LOADED_FEATURES.grep(%r{correlator/correlator\.so}))
    maps = File.read("/proc/self/maps")
    refute_match(%r{correlator/correlator\.so}, maps)
  end

  def test_with_goes_through_the_loaded_gem
    Correlator.with(request_id: "outer", user: 1) do
      assert_kind_of Ruby::Profiler::State, Correlator.capture
      Correlator.with(user: 2) do
        assert_equal ["outer", 2], [published, Published[:user]]
        assert_equal({ request_id: "outer", user: 2 }, Correlator.current)
      end
      assert_equal ["outer", 1], [published, Published[:user]]
    end
    assert_equal 0, Published.address
    assert_nil Correlator.current
  end

  def test_with_restores_after_raise_set_and_clear
    Correlator.with(request_id: "outer") do
      assert_raises(RuntimeError) { Correlator.with(request_id: "inner") { raise "no" } }
      assert_equal "outer", published
      Correlator.with(request_id: "inner") { Correlator.set(request_id: "set") }
      Correlator.with(request_id: "inner") { Correlator.clear }
      assert_equal "outer", published
    end
  end

  def test_a_state_of_the_other_gem_is_merged_and_restored
    Ruby::Profiler::State.new(request_id: "theirs").apply!
    Correlator.with(user: 5) { assert_equal ["theirs", 5], [published, Published[:user]] }
    assert_equal "theirs", published
  end

  def test_fibers_and_inherit
    Correlator.with(request_id: "outer") do
      assert_nil Fiber.new { published }.resume
      assert_equal "outer", Fiber.new(&Correlator.inherit { published }).resume
      assert_equal "outer", Thread.new(&Correlator.inherit { published }).value
      Correlator.with(nil) { assert_nil published }
    end
  end

  # Also where they share native ones, which the other gem does not follow.
  def test_each_thread_has_its_own
    wrong = Array.new(6) do |number|
      Thread.new do
        Ruby::Profiler::State.new(request_id: "theirs #{number}").apply!
        (1..100).count do |turn|
          id = "ours #{number}-#{turn}"
          seen = [Correlator.with(request_id: id) { fiber_passes(id) || published }]
          Thread.pass
          seen << published
          seen != [id, "theirs #{number}"]
        end
      end
    end.sum(&:value)
    assert_equal 0, wrong
  end

  # Another state in a fiber, in the middle of which the thread waits.
  def fiber_passes(outer)
    id = "fiber of #{outer}"
    fiber = Fiber.new do
      Correlator.with(request_id: id) do
        sleep 0.0001
        seen = published
        Fiber.yield
        seen == id && published == id || raise("#{seen}, #{published} in #{id}")
      end
    end
    fiber.resume
    Thread.pass
    published == outer || raise("#{published} in #{outer}")
    fiber.resume
    nil
  end

  def test_a_thread_that_sets_nothing_has_nothing
    skip "a native thread is used again with what was left in it" if RUBY_VERSION < "3.3"
    busy = Array.new(4) do |number|
      Thread.new { Correlator.with(request_id: "r#{number}") { 50.times { sleep 0.0001 } } }
    end
    seen = Array.new(4) { Thread.new { Array.new(50) { sleep(0.0001) && Published.address } } }
    assert_equal [0], seen.flat_map(&:value).uniq
    busy.each(&:join)
  end

  def test_wrong_arguments_are_refused
    assert_raises(TypeError) { Correlator.with("x") { flunk } }
    assert_raises(LocalJumpError) { Correlator.with(request_id: "x") }
  end
end
