# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "job_frameworks"
require "published"

class SidekiqTest < Minitest::Test
  class OrderJob; end

  def setup
    @client = Sidekiq::Middleware::Chain.new
    @client.add(Correlator::Sidekiq::Client)
    @server = Sidekiq::Middleware::Chain.new
    @server.add(Correlator::Sidekiq::Server)
  end

  def teardown
    Correlator.clear
  end

  # What Sidekiq puts in Redis.
  def enqueue(**fields)
    payload = { "class" => OrderJob.name, "jid" => "jid-1", "queue" => "mail", "args" => [1] }
    payload.merge!(fields.transform_keys(&:to_s))
    pushed = @client.invoke(OrderJob, payload, payload["queue"], nil) { payload }
    assert_same payload, pushed
    JSON.generate(payload)
  end

  # What a worker does with it, in a thread of its own.
  def work_off(json, &job)
    job ||= -> { Correlator.current }
    Thread.new do
      payload = JSON.parse(json)
      result = @server.invoke(OrderJob.new, payload, payload["queue"]) do
        assert_equal Published[:request_id], Correlator.current[:request_id]
        job.call
      end
      assert_equal 0, Published.address
      result
    end.value
  end

  def test_a_job_runs_in_a_context_of_its_own
    assert_equal({ request_id: "jid-1", endpoint: "SidekiqTest::OrderJob", queue: "mail" },
                 work_off(enqueue))
  end

  def test_a_job_knows_the_request_that_enqueued_it
    json = Correlator.with(request_id: "r1", trace_id: "t1", endpoint: "GET /") { enqueue }
    assert_equal %w[jid-1 r1 t1],
                 work_off(json).values_at(:request_id, :parent_request_id, :trace_id)
  end

  def test_a_job_enqueued_by_a_job_has_that_as_its_parent_and_a_retry_keeps_its_own
    json = Correlator.with(request_id: "r1") { enqueue }
    retried = nil
    child = work_off(json) do
      retried = enqueue(**JSON.parse(json).transform_keys(&:to_sym))
      enqueue(jid: "jid-2")
    end
    assert_equal %w[jid-2 jid-1], work_off(child).values_at(:request_id, :parent_request_id)
    assert_equal %w[jid-1 r1], work_off(retried).values_at(:request_id, :parent_request_id)
  end

  def test_the_job_of_active_job_gives_the_endpoint
    json = enqueue(class: "Sidekiq::ActiveJob::Wrapper", wrapped: "OrderMailer")
    assert_equal "OrderMailer", work_off(json)[:endpoint]
  end

  def test_the_context_is_restored_when_the_job_raises
    Correlator.with(request_id: "caller") do
      assert_raises(RuntimeError) do
        @server.invoke(nil, JSON.parse(enqueue), "mail") { raise "no" }
      end
      assert_equal "caller", Published[:request_id]
    end
  end

  [nil, 7, "x", [], { "parent_request_id" => 1 }, { "trace_id" => "t" * 129 }].each do |origin|
    define_method(:"test_the_origin_#{origin.inspect[0, 30]}_is_left_out") do
      context = work_off(enqueue(Correlator::Job::PAYLOAD_KEY.to_sym => origin))
      assert_equal %i[request_id endpoint queue], context.keys
    end
  end

  def test_a_context_that_json_cannot_carry_does_not_break_enqueuing
    ["\xff", "\xff".b, Object.new, "x" * 129, nil].each do |id|
      json = Correlator.with(request_id: id) { enqueue }
      refute_includes work_off(json), :parent_request_id
    end
    assert_equal "7", work_off(Correlator.with(request_id: 7) { enqueue })[:parent_request_id]
  end

  def test_sidekiq_itself_runs_a_job_through_both_middlewares
    begin
      require "sidekiq/testing"
    rescue LoadError
      skip "no Sidekiq"
    end
    Sidekiq.configure_client do |config|
      config.client_middleware { |chain| chain.add Correlator::Sidekiq::Client }
    end
    Sidekiq::Testing.server_middleware { |chain| chain.add Correlator::Sidekiq::Server }
    seen = []
    job = Class.new do
      include Sidekiq::Worker
      define_method(:perform) { |*| seen << jid << Correlator.current << Published[:request_id] }
    end
    self.class.const_set(:RealJob, job)
    jid = Correlator.with(request_id: "r1") { Sidekiq::Testing.inline! { job.perform_async(1) } }
    assert_equal [jid, { request_id: jid, endpoint: "SidekiqTest::RealJob", queue: "default",
                         parent_request_id: "r1" }, jid], seen
    assert_nil Correlator.current
  end
end
