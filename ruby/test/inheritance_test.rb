# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

class InheritanceTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def test_a_new_fiber_works_for_the_fiber_that_first_resumes_it
    fiber = Fiber.new { [published, Correlator.current[:request_id]] }
    Correlator.with(request_id: "outer") do
      assert_equal %w[outer outer], fiber.resume
      assert_equal "outer", published
    end
    assert_nil published
  end

  def test_an_external_enumerator_works_for_the_request_that_asks_it
    numbers = Enumerator.new { |yielder| 3.times { yielder << published } }
    Correlator.with(request_id: "r1") do
      assert_equal %w[r1 r1 r1], [numbers.next, published, numbers.next]
    end
  end

  def test_lazy_and_builtin_enumerators_leave_the_context_as_it_is
    Correlator.with(request_id: "r1") do
      lazy = (1..3).lazy.map { published }.each_entry
      each = [1, 2, 3].each
      chain = [[1, 2].each, 3..4].each_entry
      seen = Array.new(2) { [lazy.next, each.next, chain.next, published].values_at(0, 3) }
      assert_equal [%w[r1 r1]] * 2, seen
    end
    assert_nil published
  end

  def test_nothing_is_charged_to_a_request_after_its_end
    fiber = Fiber.new { loop { Fiber.yield(published) } }
    Correlator.with(request_id: "r1") { assert_equal "r1", fiber.resume }
    assert_nil fiber.resume
    Correlator.with(request_id: "r2") do
      assert_nil fiber.resume
      assert_equal "r2", published
    end
  end

  def test_a_fiber_that_outlives_an_inner_block_is_charged_to_nobody
    fiber = Fiber.new { loop { Fiber.yield(published) } }
    Correlator.with(request_id: "r1") do
      Correlator.with(step: 1) { assert_equal "r1", fiber.resume }
      assert_nil fiber.resume
      assert_equal "r1", published
    end
  end

  def test_a_borrower_goes_on_while_the_lender_is_in_an_inner_block
    Correlator.with(request_id: "r1") do
      fiber = Fiber.new { loop { Fiber.yield(Correlator.current) } }
      fiber.resume
      Correlator.with(step: 1) { assert_equal({ request_id: "r1" }, fiber.resume) }
      Correlator.with(nil) { assert_equal({ request_id: "r1" }, fiber.resume) }
      state = Correlator.capture
      Correlator.with(state) { nil }
      assert_equal({ request_id: "r1" }, fiber.resume)
      Correlator.with(step: 1) { Correlator.set(step: 2) }
      assert_equal({ request_id: "r1" }, fiber.resume)
      Correlator.set(user: 1)
      assert_nil fiber.resume
    end
  end

  def test_what_a_borrower_sets_is_its_own
    Correlator.with(request_id: "outer", user: 1) do
      fiber = Fiber.new do
        Correlator.with(request_id: "own") do
          Fiber.yield(Correlator.current)
          Correlator.clear
          Fiber.yield(Correlator.current)
        end
        Correlator.current
      end
      outer = { request_id: "outer", user: 1 }
      assert_equal [{ request_id: "own", user: 1 }, nil, outer], Array.new(3) { fiber.resume }
      assert_equal outer, Correlator.current
    end
  end

  def test_with_nil_takes_a_borrower_out_of_the_context
    Correlator.with(request_id: "outer") do
      seen = Fiber.new { [Correlator.with(nil) { published }, published] }.resume
      assert_equal [nil, "outer"], seen
    end
  end

  def test_a_borrower_lends_on
    Correlator.with(request_id: "outer") do
      inner = Fiber.new { loop { Fiber.yield(published) } }
      assert_equal %w[outer outer], Fiber.new { [inner.resume, published] }.resume
      assert_equal "outer", inner.resume
    end
  end

  def test_a_fiber_without_context_borrows_nothing_from_those_that_it_resumes
    seen = Thread.new do
      child = Fiber.new { Correlator.with(request_id: "child") { Fiber.yield(published) } }
      Fiber.new { [published, child.resume, published] }.resume + [published]
    end.value
    assert_equal [nil, "child", nil, nil], seen
  end

  # As the event loops of async and Falcon do: tasks transfer to the loop, which transfers to tasks.
  def test_tasks_of_an_event_loop_keep_the_context_of_the_task_that_started_them
    ready = []
    seen = Hash.new { |hash, key| hash[key] = [] }
    reactor = nil
    pause = lambda do |name|
      3.times do
        seen[name] << published
        ready << Fiber.current
        reactor.transfer
      end
      seen[name] << published
      ready.delete(Fiber.current)
      reactor.transfer
    end
    reactor = Fiber.new do
      %w[r1 r2].each do |id|
        Fiber.new do
          Correlator.with(request_id: id) do
            child = Fiber.new { pause.call("child of #{id}") }
            ready << Fiber.current
            child.transfer
            pause.call(id)
          end
        end.transfer
        seen["reactor"] << published
      end
      seen["reactor"] << (ready.shift.transfer && published) until ready.empty?
    end
    reactor.resume
    assert_equal [nil], seen.delete("reactor").uniq
    assert_equal %w[r1 r2], %w[r1 r2].map { |id| seen[id].uniq.join }
    assert_equal %w[r1 r2], %w[r1 r2].map { |id| seen["child of #{id}"].uniq.join }
  end

  def test_a_thread_inherits_nothing_and_lends_to_its_own_fibers
    Correlator.with(request_id: "main") do
      seen = Thread.new do
        before = Fiber.new { published }.resume
        [before, Correlator.with(request_id: "thread") { Fiber.new { published }.resume }]
      end.value
      assert_equal [nil, "thread"], seen
    end
  end

  def test_a_borrowed_context_is_alive_after_garbage_collection_and_compaction
    Correlator.with(request_id: String.new("long enough to be no embedded string")) do
      fiber = Fiber.new { loop { Fiber.yield(published) } }
      3.times do
        GC.respond_to?(:compact) ? GC.compact : GC.start
        assert_equal "long enough to be no embedded string", fiber.resume
        assert_equal published, Fiber.new { published }.resume
      end
    end
  end

  def test_a_frozen_thread_lends
    seen = Thread.new do
      Correlator.set(request_id: "frozen")
      Thread.current.freeze
      [Fiber.new { published }.resume, published]
    end.value
    assert_equal %w[frozen frozen], seen
  end
end
