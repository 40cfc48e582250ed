# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

class RackTest < Minitest::Test
  TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"

  def request(env = {})
    seen = nil
    env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/5" }.merge(env)
    app = Correlator::Rack.new(lambda do |_|
      seen = Correlator.current
      assert_equal seen[:request_id], Published[:request_id]
      [200, {}, []]
    end)
    assert_equal [200, {}, []], app.call(env)
    assert_nil Correlator.current
    seen
  end

  def test_the_given_request_id_is_used
    assert_equal({ request_id: "abc-1", endpoint: "GET /orders/:id" },
                 request("HTTP_X_REQUEST_ID" => "abc-1"))
  end

  def test_a_fresh_request_id_is_passed_on_to_the_application
    env = { "HTTP_X_REQUEST_ID" => "" }
    inner = nil
    Correlator::Rack.new(->(request) { inner = request["HTTP_X_REQUEST_ID"] }).call(env)
    assert_match(/\A\h{8}-/, inner)
    refute_equal request[:request_id], request[:request_id]
  end

  def test_a_hostile_request_id_is_cut_and_cleaned
    id = request("HTTP_X_REQUEST_ID" => "a\nb\xffc#{"d" * 1000}")[:request_id]
    assert_equal "abc#{"d" * 125}", id
  end

  def test_the_trace_id_comes_from_traceparent
    header = "00-#{TRACE_ID}-00f067aa0ba902b7-01"
    assert_equal TRACE_ID, request("HTTP_TRACEPARENT" => header)[:trace_id]
  end

  ["", "junk", "00-#{"0" * 32}-00f067aa0ba902b7-01", "ff-#{TRACE_ID}-00f067aa0ba902b7-01",
   "00-#{TRACE_ID}-#{"0" * 16}-01", "00-#{TRACE_ID.upcase}-00f067aa0ba902b7-01"].each do |header|
    define_method(:"test_the_traceparent_#{header.inspect}_gives_no_trace_id") do
      refute_includes request("HTTP_TRACEPARENT" => header), :trace_id
    end
  end

  def test_the_context_is_restored_when_the_application_raises
    app = Correlator::Rack.new(->(_) { raise "no" })
    assert_raises(RuntimeError) { app.call({}) }
    assert_equal 0, Published.address
  end

  def test_a_context_left_on_the_server_thread_does_not_leak_into_a_request
    Thread.new do
      Correlator.set(request_id: "old", leak: 1)
      app = Correlator::Rack.new(->(_) { Correlator.current })
      assert_equal %i[endpoint request_id], app.call({}).keys.sort
    end.join
  end
end
