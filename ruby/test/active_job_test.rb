# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "job_frameworks"
require "published"

class ActiveJobTest < Minitest::Test
  class ReportJob < ActiveJob::Base
    include Correlator::ActiveJob

    def perform(step)
      published = Published[:request_id]
      SEEN << [published, Correlator.current]
      case step
      when "raise" then raise ArgumentError
      when "retry" then RETRIES << serialize
      when "child" then self.class.perform_later("leaf")
      end
    end
  end

  SEEN = []
  RETRIES = []

  def teardown
    Correlator.clear
    [SEEN, RETRIES].each(&:clear)
  end

  def contexts
    SEEN.map do |published, current|
      assert_equal published, current[:request_id]
      current
    end
  end

  def test_a_job_runs_in_a_context_of_its_own
    ReportJob.perform_later("leaf")
    id = contexts.first[:request_id]
    assert_match(/\A\h{8}-/, id)
    assert_equal [{ request_id: id, endpoint: "ActiveJobTest::ReportJob", queue: "default" }],
                 contexts
    assert_equal 0, Published.address
  end

  def test_a_job_knows_who_enqueued_it_over_generations
    Correlator.with(request_id: "r1", trace_id: "t1") do
      ReportJob.perform_later("child")
      assert_equal "r1", Published[:request_id]
    end
    first, second = contexts
    assert_equal %w[r1 t1], first.values_at(:parent_request_id, :trace_id)
    assert_equal [first[:request_id], "t1"], second.values_at(:parent_request_id, :trace_id)
  end

  def test_a_retry_keeps_its_parent
    Correlator.with(request_id: "r1") { ReportJob.perform_later("retry") }
    ActiveJob::Base.execute(RETRIES.first.merge("arguments" => ["leaf"]))
    first, again = contexts
    assert_equal first, again
    assert_equal "r1", again[:parent_request_id]
  end

  def test_the_id_of_the_queue_is_the_request_id
    data = ReportJob.new("leaf").serialize.merge("provider_job_id" => "jid-1")
    ActiveJob::Base.execute(data)
    assert_equal "jid-1", contexts.first[:request_id]
  end

  # Sidekiq's context and the job's are the same pairs, so the job is not split in two.
  def test_inside_sidekiq_both_hooks_publish_the_same
    data = Correlator.with(request_id: "r1") { ReportJob.new("leaf").serialize }
    payload = { "jid" => "jid-1", "wrapped" => ReportJob.name, "class" => "Wrapper",
                Correlator::Job::PAYLOAD_KEY => { "parent_request_id" => "r1" } }
    outer = nil
    Correlator::Sidekiq::Server.new.call(nil, payload, "default") do
      outer = Correlator.current
      ActiveJob::Base.execute(data.merge("provider_job_id" => "jid-1"))
    end
    assert_equal [outer], contexts
  end

  def test_perform_now_belongs_to_the_request_that_calls_it
    Correlator.with(request_id: "r1") { ReportJob.perform_now("leaf") }
    assert_equal [{ request_id: "r1" }], contexts
    ReportJob.perform_now("leaf")
    assert_equal "ActiveJobTest::ReportJob", contexts.last[:endpoint]
  end

  def test_the_context_is_restored_when_the_job_raises
    Correlator.with(request_id: "r1") do
      assert_raises(ArgumentError) { ReportJob.perform_later("raise") }
      assert_equal "r1", Published[:request_id]
    end
  end
end
