# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

class ContextTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def assert_context(expected)
    expected ? assert_equal(expected, Published[:request_id]) : assert_nil(Published[:request_id])
    current = Correlator.current&.fetch(:request_id, nil)
    expected ? assert_equal(expected, current) : assert_nil(current)
  end

  def test_nothing_is_published_without_a_context
    assert_equal 0, Published.address
    assert_nil Correlator.current
    assert_nil Correlator.capture
  end

  def test_with_publishes_for_the_block_and_returns_its_value
    result = Correlator.with(request_id: "r1", user: 7) do
      assert_context "r1"
      assert_equal 7, Published[:user]
      assert_equal 2, Published.size
      :value
    end
    assert_equal :value, result
    assert_equal 0, Published.address
  end

  def test_an_inner_with_adds_and_overrides_pairs_and_restores_them
    Correlator.with(request_id: "r1", user: 1) do
      Correlator.with(user: 2, step: :a) do
        assert_equal({ request_id: "r1", user: 2, step: :a }, Correlator.current)
        assert_equal ["r1", 2, :a], %i[request_id user step].map { |key| Published[key] }
      end
      assert_equal({ request_id: "r1", user: 1 }, Correlator.current)
      assert_nil Published[:step]
    end
  end

  def test_with_restores_after_raise_throw_break_and_next
    Correlator.with(request_id: "outer") do
      assert_raises(RuntimeError) { Correlator.with(request_id: "r") { raise "no" } }
      assert_context "outer"
      catch(:out) { Correlator.with(request_id: "t") { throw :out } }
      assert_context "outer"
      [1].each { Correlator.with(request_id: "b") { break } }
      assert_context "outer"
      Correlator.with(request_id: "n") { next }
      assert_context "outer"
    end
  end

  def test_with_restores_what_was_before_a_set_or_clear_inside
    Correlator.with(request_id: "outer") do
      Correlator.with(request_id: "inner") { Correlator.set(request_id: "set") }
      assert_context "outer"
      Correlator.with(request_id: "inner") { Correlator.clear }
      assert_context "outer"
    end
  end

  def test_set_merges_and_clear_drops
    Correlator.set(request_id: "s")
    Correlator.set(user: 3)
    assert_equal({ request_id: "s", user: 3 }, Correlator.current)
    Correlator.clear
    assert_context nil
  end

  def test_a_state_replaces_the_context_and_nil_is_none
    state = Correlator.with(request_id: "captured") { Correlator.capture }
    Correlator.with(request_id: "now", user: 1) do
      Correlator.with(state, step: 1) do
        assert_equal({ request_id: "captured", step: 1 }, Correlator.current)
      end
      Correlator.with(nil) { assert_context nil }
      assert_context "now"
    end
  end

  def test_changing_a_string_later_does_not_change_the_context
    text = String.new("first")
    Correlator.with(request_id: text) do
      text << " changed"
      assert_context "first"
      assert_predicate Correlator.current[:request_id], :frozen?
    end
    assert_equal "first changed", text
  end

  def test_the_current_hash_is_frozen_and_a_state_cannot_be_made_by_hand
    Correlator.with(request_id: "f") do
      assert_predicate Correlator.current, :frozen?
      assert_predicate Correlator.capture, :frozen?
    end
    assert_raises(NoMethodError) { Correlator::State.new }
    assert_raises(TypeError) { Correlator::State.allocate }
  end

  def test_wrong_arguments_are_refused_and_change_nothing
    Correlator.with(request_id: "kept") do
      assert_raises(TypeError) { Correlator.with({ "request_id" => "x" }) { flunk } }
      assert_raises(TypeError) { Correlator.with("x") { flunk } }
      assert_raises(TypeError) { Correlator.set(1) }
      assert_raises(LocalJumpError) { Correlator.with(request_id: "x") }
      assert_context "kept"
    end
  end

  def test_thirty_two_keys_fit_and_one_more_does_not
    pairs = (1..32).to_h { |number| [:"key_#{number}", number] }
    Correlator.with(**pairs) do
      assert_equal pairs, Correlator.current
      assert_equal [32, 64], [Published.size, Published.capacity]
      Correlator.with(key_1: :again) { assert_equal 32, Published.size }
      assert_raises(ArgumentError) { Correlator.with(one_more: 1) { flunk } }
    end
  end

  def test_every_table_is_the_least_power_of_two_with_an_empty_slot
    pairs = {}
    (1..20).each do |number|
      pairs[:"slot_#{number}"] = number
      Correlator.with(**pairs) do
        assert_equal 0, Published.capacity & (Published.capacity - 1)
        assert_operator Published.size, :<, Published.capacity
        assert_operator Published.capacity, :<=, 2 * Published.size
      end
    end
  end

  def test_a_single_key_can_be_asked_for
    assert_nil Correlator[:request_id]
    Correlator.with(request_id: "r1", user: 7) do
      assert_equal ["r1", 7, nil], %i[request_id user nobody].map { |key| Correlator[key] }
      Correlator.with(nil) { assert_nil Correlator[:request_id] }
      assert_nil Correlator["a name that is no symbol #{rand}".to_sym]
    end
    assert_raises(TypeError) { Correlator["request_id"] }
  end

  def test_a_state_shows_its_pairs
    state = Correlator.with(request_id: "r 1", step: :a, number: 1) { Correlator.capture }
    assert_equal '#<Correlator::State request_id: "r 1", step: :a, number: 1>', state.inspect
    assert_equal ["r 1", nil], [state[:request_id], state[:user]]
    assert_equal [:a, 3, "r 1"], [state.to_h[:step], state.size, state.to_h[:request_id]]
  end

  def test_set_with_a_block_runs_it_as_with_does
    Correlator.set(request_id: "outer")
    assert_equal(:value, Correlator.set(step: 1) do
      assert_equal({ request_id: "outer", step: 1 }, Correlator.current)
      :value
    end)
    assert_equal({ request_id: "outer" }, Correlator.current)
  end

  def test_an_update_adds_to_the_context_and_ends_with_it
    Correlator.with(request_id: "outer") do
      Correlator.with(step: 1) do
        assert_nil Correlator.update(endpoint: "GET /", step: 2)
        assert_equal ["outer", "GET /", 2], %i[request_id endpoint step].map { |key| Published[key] }
      end
      assert_equal({ request_id: "outer" }, Correlator.current)
    end
    assert_nil Correlator.update(endpoint: "GET /")
    assert_nil Correlator.current
    assert_raises(ArgumentError) { Correlator.update(1) }
    assert_raises(TypeError) { Correlator.with(request_id: "r") { Correlator.update("x" => 1) } }
  end

  def test_a_forked_child_keeps_its_context
    Correlator.with(request_id: "parent") do
      pid = fork do
        kept = Published[:request_id] == "parent"
        Correlator.with(request_id: "child") { kept &&= Published[:request_id] == "child" }
        exit!(kept && Published[:request_id] == "parent" ? 0 : 1)
      end
      assert_predicate Process.wait2(pid).last, :success?
    end
  end
end
