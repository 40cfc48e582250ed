# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
# As late as can be: what it stores when it is loaded is NULL, over a context of ours.
Correlator.with(request_id: "before") { require "profiler_stand_in" }
require "published"

# The gem ruby-profiler is loaded after this one, as a Gemfile in alphabetical order has it: what it
# stores lands in our variable. In force is this gem's context where a fiber has one, else the other's.
class UpstreamLaterTest < Minitest::Test
  def teardown
    GC.stress = false
    Correlator.clear
    Ruby::Profiler::State.new.apply!
  end

  def published
    Published[:request_id]
  end

  # Their memory is malloc()'s, without anything of ours in front of it.
  def apply_theirs(id = "theirs")
    Ruby::Profiler::State.new(request_id: id).apply!
  end

  def test_both_store_to_one_variable
    apply_theirs
    assert_equal "theirs", published
    Correlator.set(request_id: "ours")
    assert_equal "ours", published
    apply_theirs
    assert_equal "theirs", published
  end

  def test_theirs_is_back_when_ours_ends
    apply_theirs
    Correlator.with(request_id: "ours") do
      assert_equal "ours", published
      Correlator.with(step: 1) { assert_equal ["ours", 1], [published, Published[:step]] }
      assert_equal "ours", published
    end
    assert_equal "theirs", published
    Correlator.set(request_id: "ours")
    Correlator.clear
    assert_equal "theirs", published
    assert_raises(RuntimeError) { Correlator.with(request_id: "ours") { raise "no" } }
    assert_equal "theirs", published
  end

  def test_nothing_is_published_when_neither_has_a_context
    Correlator.with(request_id: "ours") { assert_equal "ours", published }
    assert_equal 0, Published.address
    assert_nil Correlator.current
    apply_theirs
    Ruby::Profiler::State.new.apply!
    assert_equal 0, Published.address
  end

  def test_what_is_set_last_is_seen_within_a_block_of_ours
    Correlator.with(request_id: "ours") do
      apply_theirs
      assert_equal "theirs", published
      assert_equal({ request_id: "ours" }, Correlator.current)
      Correlator.with(request_id: "inner") { assert_equal "inner", published }
      assert_equal "ours", published
    end
    assert_equal "theirs", published
  end

  def test_what_is_captured_and_merged_is_ours
    apply_theirs
    assert_nil Correlator.capture
    assert_nil Correlator.current
    Correlator.with(user: 1) { assert_equal({ user: 1 }, Correlator.current) }
    Correlator.with(request_id: "ours") do
      apply_theirs
      Correlator.with(user: 1) do
        assert_equal({ request_id: "ours", user: 1 }, Correlator.current)
      end
    end
  end

  # A fiber that has set what its name says, and what it publishes whenever it runs.
  def fiber(number, name)
    Fiber.new do
      Correlator.set(request_id: "ours #{number}") if name.include?("ours")
      apply_theirs("theirs #{number}") if name.include?("theirs")
      Fiber.yield
      loop { Fiber.yield(published) }
    end
  end

  def turns(names)
    fibers = names.map.with_index { |name, number| fiber(number, name) }.each(&:resume)
    Array.new(20) { fibers.map { |one| [one.resume, published] } }.uniq
  end

  NAMES = ["neither", "ours", "theirs", "ours and theirs"].freeze

  # Their hook runs at each switch, before ours, and stores NULL for a fiber without a state.
  def test_each_fiber_publishes_ours_else_theirs
    expected = [nil, "ours 1", "theirs 2", "ours 3"]
    assert_equal [expected.map { |id| [id, nil] }], turns(NAMES)
    apply_theirs
    assert_equal [expected.map { |id| [id, "theirs"] }], turns(NAMES)
  end

  def test_each_fiber_publishes_what_it_borrows_else_theirs
    Correlator.with(request_id: "main") do
      expected = ["main", "ours 1", "main", "ours 3"]
      assert_equal [expected.map { |id| [id, "main"] }], turns(NAMES)
    end
  end

  def test_an_external_enumerator_works_for_the_request_that_asks_it
    numbers = Enumerator.new { |yielder| loop { yielder << published } }
    Correlator.with(request_id: "r1") do
      assert_equal %w[r1 r1 r1 r1], [numbers.next, published, numbers.next, published]
    end
    assert_equal [nil, nil], [numbers.next, published]
  end

  # Theirs does not follow a thread that shares native ones.
  def threads_see(expected)
    wrong = Array.new(6) do |number|
      Thread.new do
        apply_theirs("theirs #{number}")
        (1..100).count do |turn|
          id = "ours #{number}-#{turn}"
          seen = [Correlator.with(request_id: id) { Thread.pass || published }]
          Thread.pass
          seen << published
          seen.first(expected) != [id, "theirs #{number}"].first(expected)
        end
      end
    end.sum(&:value)
    assert_equal 0, wrong
  end

  def test_each_thread_has_its_own
    threads_see(ENV["RUBY_MN_THREADS"] == "1" ? 1 : 2)
  end

  # Ruby up to 3.2 gives the native thread of a finished thread to the next one.
  def test_a_thread_leaves_nothing_behind
    Array.new(6) { |number| Thread.new { apply_theirs("theirs #{number}") } }.each(&:join)
    assert_equal [0], Array.new(12) { Thread.new { Published.address }.value }.uniq
  end

  def test_neither_is_freed_by_the_other
    live = Array.new(20_000) { |number| "live object number #{number}, too long to be embedded" }
    2000.times do |turn|
      apply_theirs("theirs #{turn}")
      Correlator.with(request_id: "ours #{turn}") do
        apply_theirs("inner #{turn}")
        Fiber.new { apply_theirs("fiber #{turn}") }.resume
      end
      assert_equal "inner #{turn}", published
      Thread.new { apply_theirs("thread #{turn}") && Correlator.clear }.join if (turn % 100).zero?
      GC.start(full_mark: (turn % 500).zero?) if (turn % 20).zero?
    end
    assert_equal 20_000, live.size
  end

  def test_under_gc_stress_and_compaction
    seen = []
    GC.stress = true
    2.times do
      apply_theirs
      Correlator.with(request_id: "ours") do
        Fiber.new { seen << published }.resume
        apply_theirs("inner")
        seen << published
      end
      seen << published
    end
    GC.stress = false
    assert_equal %w[ours inner inner] * 2, seen
    GC.compact if GC.respond_to?(:compact)
    assert_equal "inner", published
  rescue NotImplementedError
    skip "no compaction here"
  end

  # As an exception of Thread#raise can be, or the end of a thread.
  def test_what_is_raised_within_the_other_is_not_lost_and_the_context_ends
    armed = false
    Ruby::Profiler::State.prepend(Module.new do
      define_method(:apply!) { armed ? raise(Interrupt) : super() }
    end)
    apply_theirs
    assert_raises(Interrupt) { Correlator.with(request_id: "ours") { armed = true } }
    armed = false
    assert_nil Correlator.current
    Correlator.with(request_id: "ours") do
      armed = true
      assert_raises(Interrupt) { Correlator.with(nil) { flunk } }
      armed = false
      assert_equal "ours", published
    end
    assert_equal "theirs", published
  end

  def test_a_frozen_fiber_keeps_what_it_has
    seen = Fiber.new do
      apply_theirs
      Fiber.current.freeze
      Correlator.with(request_id: "ours") { Fiber.new { nil }.resume }
      [published, (raise "own" rescue $!.message)]
    end.resume
    assert_equal %w[theirs own], seen
  end

  def test_the_child_of_a_fork_goes_on_with_both
    apply_theirs
    pid = fork do
      before = published
      within = Correlator.with(request_id: "child") { published }
      exit!([before, within, published] == %w[theirs child theirs])
    end
    assert_predicate Process.wait2(pid).last, :success?
  end
end
