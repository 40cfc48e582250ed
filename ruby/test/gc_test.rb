# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "objspace"
require "rbconfig"
require "minitest/autorun"
require "correlator"
require "measuring"
require "published"

class GCTest < Minitest::Test
  KEYS = %i[request_id endpoint user].freeze

  def teardown
    GC.stress = false
    Correlator.clear
  end

  def pairs(number)
    KEYS.to_h { |key| [key, "#{key} #{number} #{"x" * (number % 60)}"] }
  end

  def assert_pairs(number)
    assert_equal pairs(number), KEYS.to_h { |key| [key, Published[key]] }
    assert_equal pairs(number), Correlator.current.slice(*KEYS)
  end

  # Only what is tested runs under stress: each allocation is a collection then.
  def test_values_survive_gc_stress
    expected = Array.new(4) { |number| pairs(number) }
    seen = []
    GC.stress = true
    expected.each do |pairs|
      Correlator.with(**pairs) do
        Correlator.with(extra: String.new("in")) { seen << Published[:user] << Published[:extra] }
        Fiber.new { seen << Published[:user] }.resume
        seen << Published[:user]
      end
    end
    GC.stress = false
    users = expected.map { |pairs| pairs[:user] }
    assert_equal users.flat_map { |user| [user, "in", user, user] }, seen
    assert_equal 0, Published.address
  end

  def test_values_of_an_old_state_survive_minor_collections
    states = Array.new(50) { |number| Correlator.with(**pairs(number)) { Correlator.capture } }
    4.times { GC.start }
    20.times do
      states.map! do |state|
        Correlator.with(state, endpoint: "new #{rand}") { Correlator.capture }
      end
      GC.start(full_mark: false)
      states.each_with_index do |state, number|
        Correlator.with(state) { assert_equal pairs(number)[:user], Published[:user] }
      end
    end
  end

  # GC.stress = 1: minor collections only. The state is old before it is full, so that a value stored
  # without a write barrier is collected.
  def test_values_stored_while_the_state_grows_old_survive
    expected = (1..30).to_h { |number| [:"grow_#{number}", "value #{number}"] }
    pairs = expected.transform_values { |text| String.new(text) }
    4.times do
      GC.stress = 1
      Correlator.set(nil, **pairs)
      GC.stress = false
      pairs.each_value { |text| text << "." }
      GC.start(full_mark: false)
      junk = Array.new(2000) { |number| "junk #{number}" }
      assert_equal expected, Correlator.current
      assert_equal 2000, junk.size
      pairs.each_value { |text| text.chop! }
    end
  end

  def test_values_are_followed_when_compaction_moves_them
    skip "no compaction" unless GC.respond_to?(:compact)
    fibers = Array.new(50) do |number|
      Fiber.new do
        Correlator.with(**pairs(number)) { loop { assert_pairs(Fiber.yield || number) } }
      end
    end
    fibers.each(&:resume)
    3.times do
      fragments = Array.new(20_000) { |number| "fragment #{number}" }
      fragments.select!.with_index { |_, number| (number % 7).zero? }
      GC.compact
      fibers.each(&:resume)
    end
  end

  def test_references_are_verified_after_moving_everything
    skip "no verification" unless GC.respond_to?(:verify_compaction_references)
    states = Array.new(20) { |number| Correlator.with(**pairs(number)) { Correlator.capture } }
    Correlator.with(**pairs(99)) do
      begin
        GC.verify_compaction_references(toward: :empty)
      rescue NotImplementedError
        skip "no compaction here"
      end
      assert_pairs(99)
    end
    states.each_with_index { |state, number| assert_equal pairs(number), state.to_h }
  end

  def test_states_are_freed_once_nothing_needs_them
    2000.times { |number| Correlator.with(request_id: "r#{number}") {} }
    GC.start
    assert_operator ObjectSpace.each_object(Correlator::State).count, :<, 100
  end

  # A Hash of the pairs and the State.
  def test_a_context_takes_two_objects
    assert_equal(2, Measuring.objects { Correlator.with(request_id: "r") { nil } })
    state = Correlator.with(request_id: "r") { Correlator.capture }
    assert_equal(0, Measuring.objects { Correlator.with(state) { nil } })
  end

  def test_the_size_of_a_state_counts_its_table
    state = Correlator.with(**pairs(1)) { Correlator.capture }
    assert_operator ObjectSpace.memsize_of(state), :>, 8 * 16
  end

  def resident_bytes
    File.read("/proc/self/statm").split[1].to_i * 4096
  end

  def use_many_contexts
    100_000.times { |number| Correlator.with(request_id: number, endpoint: "GET /") { nil } }
    500.times do |number|
      Fiber.new { Correlator.with(request_id: number) { Fiber.new { published_id }.resume } }.resume
    end
    50.times { Thread.new { Correlator.set(request_id: "left") }.join }
    GC.start
    resident_bytes
  end

  def published_id
    Published[:request_id]
  end

  # A table that is lost takes at least 64 bytes: four rounds would be 25 MB.
  def test_memory_does_not_grow_with_the_number_of_contexts
    before = use_many_contexts
    after = Array.new(4) { use_many_contexts }.min
    assert_operator after - before, :<, 8 << 20
  end

  # Ruby never forgets a Symbol that has been a key.
  def test_keys_made_of_text_are_limited_and_others_go_on
    script = <<~'RUBY'
      require "correlator"
      made = (1..3000).count do |number|
        Correlator.with("from a user #{number}".to_sym => 1) { true }
      rescue ArgumentError => error
        abort error.message unless error.message.start_with?("more than 1000 keys")
      end
      Correlator.with(a_literal_key: 2) { made += 1 if Correlator.current == { a_literal_key: 2 } }
      Correlator.with("from a user 1".to_sym => 3) { made += 1 if Correlator.capture.size == 1 }
      GC.start
      kept = Symbol.all_symbols.count { |symbol| symbol.start_with?("from a user") }
      puts made, kept
    RUBY
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    made, kept = IO.popen([RbConfig.ruby, *paths, "-e", script], &:readlines).map(&:to_i)
    assert_equal 1002, made
    assert_operator kept, :<, 1100
  end
end
