# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "timeout"
require "correlator"
require "correlator/thread"
require "published"

class ThreadInheritanceTest < Minitest::Test
  class Worker < Thread
    attr_reader :name_given

    def initialize(name, option: nil)
      @name_given = name
      super(name, option: option) { |*given, **options| [Published[:request_id], given, options] }
    end
  end

  class Lazy < Thread
    def initialize; end
  end

  def teardown
    Correlator.clear
  end

  def in_request(&block)
    Correlator.with(request_id: "r1", &block)
  end

  def seen
    [Published[:request_id], Correlator[:request_id]]
  end

  %i[new start fork].each do |name|
    define_method(:"test_thread_#{name}_inherits") do
      assert_equal(%w[r1 r1], in_request { Thread.send(name) { seen } }.value)
      assert_equal([nil, nil], Thread.send(name) { seen }.value)
    end

    define_method(:"test_thread_#{name}_passes_arguments") do
      block = ->(*arguments, **options) { [arguments, options] }
      plain = Thread.send(name, 1, { a: 2 }, b: 3, &block).value
      assert_equal plain, in_request { Thread.send(name, 1, { a: 2 }, b: 3, &block).value }
      assert_equal [[1, { a: 2 }], { b: 3 }], plain
      assert_equal([1, 2], in_request { Thread.send(name, [1, 2]) { |one, two| [one, two] }.value })
    end

    define_method(:"test_thread_#{name}_raises_as_ever_without_a_block") do
      plain = assert_raises(ThreadError, ArgumentError) { Thread.send(name) }
      error = assert_raises(plain.class) { in_request { Thread.send(name) } }
      assert_equal plain.message, error.message
    end
  end

  def test_it_goes_on_when_the_request_is_over
    gate = Queue.new
    thread = in_request { Thread.new { gate.pop && seen } }
    assert_equal 0, Published.address
    gate << true
    assert_equal %w[r1 r1], thread.value
  end

  def test_a_subclass_is_one_still
    worker = in_request { Worker.new(7, option: 8) }
    assert_instance_of Worker, worker
    assert_equal 7, worker.name_given
    assert_equal ["r1", [7], { option: 8 }], worker.value
    assert_instance_of Worker, in_request { Worker.start { seen } }
  end

  def test_a_subclass_that_forgets_super_raises_as_ever
    error = assert_raises(ThreadError) { in_request { Lazy.new } }
    assert_match(/uninitialized thread/, error.message)
  end

  def test_inspect_and_backtraces_name_the_applications_lines_alone
    line = __LINE__ + 1
    thread = in_request { Thread.new { caller_locations(0).map(&:path).uniq } }
    assert_match(/#{Regexp.escape(__FILE__)}:#{line}/, thread.inspect)
    assert_equal [__FILE__], thread.value
  end

  def test_an_exception_comes_out_as_ever
    thread = in_request do
      Thread.new do
        Thread.current.report_on_exception = false
        raise KeyError, "no"
      end
    end
    error = assert_raises(KeyError) { thread.join }
    assert_empty error.backtrace.grep(%r{/correlator/})
  end

  def test_locals_priority_and_group_are_ruby_s_own
    in_request do
      thread = Thread.new { [Thread.current.thread_variables, Thread.current.priority] }
      assert_equal [[], Thread.current.priority], thread.value
      assert_equal Thread.current.group, Thread.new { Thread.current.group }.value
    end
  end

  def test_kill_and_timeout
    thread = in_request { Thread.new { sleep } }
    thread.kill
    assert_nil thread.value
    assert_raises(Timeout::Error) { in_request { Timeout.timeout(0.01) { sleep } } }
  end

  # Ruby's one thread for all timeouts is started by whoever is the first to use one.
  def test_the_thread_of_timeouts_works_for_nobody
    thread = in_request { eval("Thread.new { seen }", binding, "/lib/ruby/timeout.rb") }
    assert_equal [nil, nil], thread.value
  end

  def test_a_thread_of_another_ractor_inherits_nothing
    skip "Ruby 3.0+" unless defined?(Ractor)
    verbose, $VERBOSE = $VERBOSE, nil
    ractor = Ractor.new do
      Correlator.with(request_id: "inside") { Thread.new { Correlator.current }.value }
    end
    assert_nil ractor.respond_to?(:value) ? ractor.value : ractor.take
  ensure
    $VERBOSE = verbose if verbose
  end

  def test_more_places_than_are_kept
    in_request do
      300.times do |number|
        thread = eval("Thread.new { seen }", binding, "generated.rb", number + 1)
        assert_equal %w[r1 r1], thread.value
      end
    end
  end
end
