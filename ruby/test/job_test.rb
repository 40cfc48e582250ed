# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

# What a job framework without a hook of its own calls.
class JobTest < Minitest::Test
  def run_job(**arguments)
    Correlator::Job.run(**arguments) do
      assert_equal Published[:request_id], Correlator[:request_id]
      Correlator.current
    end
  end

  def test_a_job_runs_in_a_context_of_its_own
    Correlator.with(request_id: "left over", leak: 1) do
      assert_equal({ request_id: "7", endpoint: "Mailer", queue: "mail" },
                   run_job(id: 7, name: "Mailer", queue: :mail))
      assert_equal "left over", Published[:request_id]
    end
    assert_equal 0, Published.address
  end

  def test_a_job_without_an_id_gets_a_fresh_one
    first, second = Array.new(2) { run_job(name: "Mailer")[:request_id] }
    assert_match(/\A\h{8}-/, first)
    refute_equal first, second
    assert_equal [:request_id], run_job.keys
  end

  def test_the_origin_goes_along
    origin = Correlator.with(request_id: "r1", trace_id: "t1") { Correlator::Job.origin }
    assert_equal %w[r1 t1], run_job(origin: origin).values_at(:parent_request_id, :trace_id)
  end

  [nil, 7, "x", [], { "parent_request_id" => 1 }, { "trace_id" => "t" * 129 }].each do |origin|
    define_method(:"test_the_origin_#{origin.inspect[0, 30]}_is_left_out") do
      assert_equal [:request_id], run_job(origin: origin).keys
    end
  end

  def test_what_no_observer_can_read_is_left_out_and_nothing_raises
    [Object.new, "\xff", "x" * 129, BasicObject].each do |odd|
      context = run_job(id: odd, name: odd, queue: odd)
      assert_match(/\A\h{8}-/, context[:request_id])
      assert_equal [:request_id], context.keys
    end
  end

  def test_the_result_and_the_exception_are_the_jobs
    assert_equal 3, Correlator::Job.run(id: 1) { 3 }
    assert_raises(KeyError) { Correlator::Job.run(id: 1) { raise KeyError } }
    assert_equal 0, Published.address
  end
end
