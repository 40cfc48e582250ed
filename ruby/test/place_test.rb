# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

# What a fiber works for is its own, whatever others do with fiber-locals and with fibers.
class PlaceTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def locals
    Thread.current.keys.to_h { |key| [key, Thread.current[key]] }
  end

  def take(locals)
    locals.each { |key, value| Thread.current[key] = value }
  end

  # As the fibers of GraphQL's Dataloader do.
  def test_a_fiber_that_copies_the_locals_of_its_maker_works_for_it_until_that_ends
    fiber, borrower = nil
    Correlator.with(request_id: "r1") do
      borrower = Fiber.new { loop { Fiber.yield(published) } }
      borrower.resume
      copied = locals
      fiber = Fiber.new do
        take(copied)
        own = Correlator.with(request_id: "own") { published }
        loop { Fiber.yield([published, own]) }
      end
      assert_equal %w[r1 own], fiber.resume
      assert_equal ["r1", %w[r1 own], "r1"], [borrower.resume, fiber.resume, published]
    end
    assert_equal [nil, [nil, "own"], nil], [borrower.resume, fiber.resume, published]
  end

  # As the threads of ActionController::Live do.
  def test_a_thread_that_copies_the_locals_of_its_maker_starts_without_a_context
    Correlator.with(request_id: "r1") do
      copied = locals
      seen = Thread.new do
        take(copied)
        [published, Fiber.new { published }.resume, Correlator.current,
         Correlator.with(request_id: "own") { published }, published]
      end.value
      assert_equal [nil, nil, nil, "own", nil], seen
      assert_equal "r1", published
    end
  end

  # The one case in which there is something among the locals.
  def test_the_local_of_a_frozen_fiber_is_ignored_in_other_fibers
    Fiber.new do
      Fiber.current.freeze
      Correlator.with(request_id: "frozen") do
        copied = locals
        refute_empty copied
        copied.each_value(&:inspect)
        thread = Thread.new do
          take(copied)
          [published, Fiber.new { published }.resume, Correlator.current]
        end
        assert_equal [nil, nil, nil], thread.value
        fiber = Fiber.new do
          take(copied)
          loop { Fiber.yield(published) }
        end
        assert_equal %w[frozen frozen frozen], [fiber.resume, published, fiber.resume]
        Correlator.with(request_id: "inner") { assert_equal "frozen", fiber.resume }
        Correlator.set(request_id: "other")
        assert_nil fiber.resume
      end
      assert_nil published
    end.resume
  end

  def test_a_frozen_fiber_whose_locals_were_wiped_has_new_contexts
    Fiber.new do
      Fiber.current.freeze
      Correlator.with(request_id: "outer") do
        Thread.current.keys.each { |key| Thread.current[key] = nil }
        Correlator.with(request_id: "inner") do
          Fiber.new { Correlator.set(request_id: "other") }.resume
          assert_equal "inner", published
        end
        assert_equal "outer", published
      end
      assert_equal 0, Published.address
    end.resume
  end

  def test_what_a_frozen_fiber_sets_after_its_locals_were_wiped_ends_with_the_block
    Fiber.new do
      Fiber.current.freeze
      Correlator.with(request_id: "outer") do
        Correlator.with(request_id: "inner") do
          Thread.current.keys.each { |key| Thread.current[key] = nil }
          Fiber.new { Correlator.set(request_id: "other") }.resume
          Correlator.set(request_id: "set")
          assert_equal "set", published
        end
        2.times { assert_equal "outer", Fiber.new { published }.resume }
        assert_equal "outer", published
      end
      Fiber.new { nil }.resume
      assert_equal 0, Published.address
    end.resume
  end

  def collect
    4.times { GC.start }
    Array.new(1000) { |number| "junk #{number}" }
    GC.start
  end

  # Deep below: no stale copy of the fiber's address stays on the stack of the caller.
  def abandon(depth = 20, &block)
    return abandon(depth - 1, &block) if depth.positive?

    Fiber.new do
      Correlator.with(request_id: String.new("abandoned")) { block.call || Fiber.yield }
    end.resume
    nil
  end

  # One of many may be kept by what is left on a stack.
  def test_fibers_abandoned_in_a_context_lend_it_until_they_are_collected
    borrowers = []
    abandon = lambda do
      20.times do
        abandon do
          borrowers << Fiber.new { loop { Fiber.yield(published) } }
          borrowers.last.resume
          nil
        end
      end
    end
    abandon.call
    assert_includes borrowers.map(&:resume), "abandoned"
    10.times { collect }
    assert_operator borrowers.map(&:resume).count("abandoned"), :<=, 2
    assert_nil published
  end

  def test_what_is_lent_is_counted_by_block_and_not_by_context
    Correlator.with(request_id: "r1") do
      state = Correlator.capture
      inner = nil
      Correlator.with(state) do
        inner = Fiber.new { loop { Fiber.yield(published) } }
        assert_equal "r1", inner.resume
      end
      assert_nil inner.resume
      assert_equal "r1", published
    end
  end

  def test_a_context_that_is_updated_stays_lent
    Correlator.with(request_id: "r1") do
      fiber = Fiber.new { loop { Fiber.yield(Correlator.current) } }
      fiber.resume
      Correlator.update(endpoint: "GET /")
      assert_equal({ request_id: "r1" }, fiber.resume)
      assert_equal({ request_id: "r1", endpoint: "GET /" }, Correlator.current)
      late = Fiber.new { loop { Fiber.yield(Correlator.current) } }
      assert_equal({ request_id: "r1", endpoint: "GET /" }, late.resume)
      Correlator.clear
      assert_equal [nil, nil], [fiber.resume, late.resume]
    end
  end

  def test_a_borrower_can_update_what_it_has_borrowed
    fiber = nil
    Correlator.with(request_id: "r1") do
      fiber = Fiber.new do
        Correlator.update(endpoint: "GET /")
        loop { Fiber.yield(Correlator.current) }
      end
      assert_equal({ request_id: "r1", endpoint: "GET /" }, fiber.resume)
      assert_equal({ request_id: "r1" }, Correlator.current)
    end
    assert_nil fiber.resume
  end

  def move_everything
    junk = Array.new(20_000) { |number| "fragment #{number}" }
    junk.select!.with_index { |_, number| (number % 7).zero? }
    GC.verify_compaction_references(toward: :empty)
  rescue NotImplementedError, ArgumentError
    skip "no compaction here"
  end

  # They name themselves. What is among the locals, or on a stack, is pinned by Ruby.
  def test_places_stay_where_they_are_when_everything_is_moved
    skip "no compaction" unless GC.respond_to?(:verify_compaction_references)
    require "objspace"
    places = []
    fibers = Array.new(200) do |number|
      Fiber.new do
        Correlator.set(request_id: number)
        places << Thread.current[:__correlator_place__]
        Thread.current.keys.each { |key| Thread.current[key] = nil }
        loop { Fiber.yield(published) }
      end
    end
    fibers.each(&:resume)
    before = places.map { |place| address(place) }
    move_everything
    assert_equal before, places.map { |place| address(place) }
    places.clear
    assert_equal (0...200).to_a, fibers.map(&:resume)
    GC.start
    assert_equal (0...200).to_a, fibers.map(&:resume)
  end

  def test_many_contexts_over_one_another
    nest = lambda do |depth|
      next published if depth == 50

      Correlator.with(request_id: depth) do
        inner = Fiber.new { published }.resume
        result = nest.call(depth + 1)
        assert_equal [depth, depth], [inner, published]
        result
      end
    end
    assert_equal 49, nest.call(0)
    assert_nil published
  end

  def test_what_an_application_can_come_across_does_nothing
    Correlator.with(request_id: "r") do
      assert_empty Fiber.current.instance_variables
      assert_empty Correlator.constants.grep(/Place/)
      place = locals.fetch(:__correlator_place__)
      assert_match(/\A#<Correlator::Place/, place.inspect)
      %i[dup clone marshal_dump].each do |name|
        assert_raises(TypeError, NoMethodError) { place.public_send(name) }
      end
      assert_raises(TypeError) { place.class.allocate }
      assert_raises(NoMethodError) { place.class.new }
      assert_equal "r", published
    end
  end

  def test_memory_outside_of_ruby_is_told_to_the_collector
    pairs = (1..30).to_h { |number| [:"key_#{number}", number] }
    GC.start
    GC.disable
    before = GC.stat(:malloc_increase_bytes)
    states = Array.new(100) { Correlator.with(**pairs) { Correlator.capture } }
    assert_operator GC.stat(:malloc_increase_bytes) - before, :>, 100 * 64 * 16
    assert_equal 100, states.size
  ensure
    GC.enable
  end

  def address(object)
    ObjectSpace.dump(object)[/"address":"(0x\h+)"/, 1]
  end


  def addresses(states)
    states.map { |state| %i[short long symbol number].map { |key| address(state[key]) } }
  end

  def test_values_are_not_moved
    skip "no compaction" unless GC.respond_to?(:compact)
    require "objspace"
    junk = Array.new(20_000) { |number| "fragment #{number}" }
    pairs = { short: String.new("short"), long: "x" * 100, symbol: "made of text".dup.to_sym }
    states = Array.new(200) do |number|
      Correlator.with(number: "n #{number}", **pairs) { Correlator.capture }
    end
    junk.select!.with_index { |_, number| (number % 7).zero? }
    before = addresses(states)
    begin
      GC.compact
    rescue NotImplementedError
      skip "no compaction here"
    end
    assert_equal before, addresses(states)
  end
end
