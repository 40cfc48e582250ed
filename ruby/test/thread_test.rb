# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

class ThreadTest < Minitest::Test
  def teardown
    Correlator.clear
  end

  def published
    Published[:request_id]
  end

  def test_a_new_thread_starts_without_a_context
    Correlator.with(request_id: "main") { assert_nil Thread.new { published }.value }
  end

  def test_inherit_takes_the_context_into_a_thread
    Correlator.with(request_id: "main") do
      assert_equal "main", Thread.new(&Correlator.inherit { published }).value
    end
  end

  def test_threads_see_their_own_context_across_switches
    wrong = Array.new(8) do |number|
      Thread.new do
        (1..300).count do |turn|
          id = "t#{number}-#{turn}"
          Correlator.with(request_id: id) do
            Thread.pass
            published != id
          end
        end
      end
    end.sum(&:value)
    assert_equal 0, wrong
  end

  # Ruby up to 3.2 gives the native thread of a finished thread to the next one.
  def test_a_thread_on_a_used_native_thread_starts_without_a_context
    stale = Array.new(20) do
      Thread.new { Correlator.set(request_id: "left behind") }.join
      Thread.new { Published.address }.value
    end
    assert_equal [0], stale.uniq
  end

  def test_a_raising_or_killed_thread_leaves_nothing_behind
    leave = [
      -> { raise "end" }, -> { Thread.exit }, -> { Thread.current.kill }, -> { throw :nowhere },
    ]
    leave.each do |leaving|
      thread = Thread.new do
        Thread.current.report_on_exception = false
        Correlator.set(request_id: "left behind")
        leaving.call
      end
      begin
        thread.join
      rescue StandardError
        nil
      end
      assert_equal 0, Thread.new { Published.address }.value
    end
  end

  def test_a_kill_runs_the_end_of_with
    ready = Queue.new
    seen = nil
    thread = Thread.new do
      Correlator.set(request_id: "outer")
      begin
        Correlator.with(request_id: "inner") do
          ready << true
          sleep
        end
      ensure
        seen = published
      end
    end
    ready.pop
    thread.kill.join
    assert_equal "outer", seen
  end

  def test_a_frozen_thread_is_refused_and_nothing_changes
    error, seen = Thread.new do
      Thread.current.freeze
      begin
        Correlator.with(request_id: "frozen") { flunk }
      rescue FrozenError => error
        [error, Published.address]
      end
    end.value
    assert_kind_of FrozenError, error
    assert_equal 0, seen
  end

  def test_another_ractor_is_refused
    skip "no Ractor" unless defined?(Ractor)
    warning = Warning[:experimental]
    Warning[:experimental] = false
    ractor = Ractor.new do
      Correlator.set(request_id: "r")
      :set
    rescue StandardError => error
      error.class.name
    end
    value = ractor.respond_to?(:value) ? ractor.value : ractor.take
    assert_equal "Ractor::UnsafeError", value
  ensure
    Warning[:experimental] = warning unless warning.nil?
  end
end
