# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

class RackTest < Minitest::Test
  TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"

  UUID = /\A\h{8}-\h{4}-4\h{3}-[89ab]\h{3}-\h{12}\z/
  RESPONSE = [200, {}.freeze, ["ok"].freeze].freeze

  def request(env = {})
    seen = nil
    env["REQUEST_METHOD"] = "GET"
    env["PATH_INFO"] = "/orders/5"
    app = Correlator::Rack.new(lambda do |_|
      seen = Correlator.current
      assert_equal seen[:request_id], Published[:request_id]
      RESPONSE
    end)
    assert_same RESPONSE, app.call(env)
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
    assert_match UUID, inner
    refute_predicate inner, :frozen?
    refute_equal request[:request_id], request[:request_id]
  end

  def test_a_hostile_request_id_is_cut_and_cleaned
    header = "a\nb\xffc#{"d" * 1000}"
    env = { "HTTP_X_REQUEST_ID" => header.dup }
    assert_equal "abc#{"d" * 125}", request(env)[:request_id]
    assert_equal header, env["HTTP_X_REQUEST_ID"]
  end

  def test_two_requests_with_one_id_are_two
    environments = Array.new(2) { { "HTTP_X_REQUEST_ID" => "twice" } }
    assert_equal(%w[twice twice#2], environments.map { |env| request(env)[:request_id] })
    assert_equal(%w[twice twice], environments.map { |env| env["HTTP_X_REQUEST_ID"] })
  end

  def test_an_id_that_is_not_trusted_is_not_used
    env = { "HTTP_X_REQUEST_ID" => "abc" }
    seen = nil
    app = Correlator::Rack.new(->(_) { seen = Correlator[:request_id] }, trust_request_id: false)
    app.call(env)
    assert_match UUID, seen
    assert_equal "abc", env["HTTP_X_REQUEST_ID"]
    app.call(env = {})
    assert_equal Correlator.const_get(:RequestId).clean(env["HTTP_X_REQUEST_ID"]), seen
  end

  def test_an_application_that_is_mounted_in_itself_stays_in_its_context
    seen = []
    inner = Correlator::Rack.new(->(_) { seen << Correlator.current })
    outer = Correlator::Rack.new(lambda do |env|
      seen << Correlator.current
      inner.call(env.merge("PATH_INFO" => "/else"))
    end)
    outer.call("PATH_INFO" => "/orders")
    assert_equal seen[0], seen[1]
  end

  def test_a_part_of_a_request_in_another_thread_is_of_the_same_request
    inner = Correlator::Rack.new(->(_) { Correlator[:request_id] })
    outer = Correlator::Rack.new(lambda do |env|
      assert_equal Correlator[:request_id], Thread.new { inner.call(env.dup) }.value
    end)
    outer.call({})
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

  # nil, an asynchronous status, a Struct: what only the server understands.
  def test_what_an_application_returns_is_left_as_it_is
    [nil, [-1, {}, []], [-1, {}, nil], :x, [200, {}], [200, {}, nil], [200, nil, ["a"]]]
      .each { |response| assert response.equal?(Correlator::Rack.new(->(_) { response }).call({})) }
  end

  def test_a_throw_goes_through
    app = Correlator::Rack.new(->(_) { throw :async, 7 }, endpoint: :late)
    assert_equal 7, catch(:async) { app.call({}) }
    assert_nil Correlator.current
  end

  def test_a_strange_environment_hurts_nobody
    [{}.freeze, { "PATH_INFO" => 5 }, { "HTTP_X_REQUEST_ID" => 5, "HTTP_TRACEPARENT" => 5 },
     { "SCRIPT_NAME" => "\xff", "PATH_INFO" => "/\xfe", "HTTP_TRACEPARENT" => "00-\xff" }]
      .each { |env| assert_same RESPONSE, Correlator::Rack.new(->(_) { RESPONSE }).call(env) }
  end

  def endpoints(endpoint, env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/5" })
    seen = []
    app = Correlator::Rack.new(lambda do |inner|
      seen << Correlator[:endpoint]
      yield inner if block_given?
      [200, {}, Class.new { define_method(:each) { seen << Correlator[:endpoint] } }.new]
    end, endpoint: endpoint)
    app.call(env)[2].each { nil }
    seen
  end

  def test_the_endpoint_can_be_asked_for_before_the_call
    assert_equal ["A"] * 2, endpoints(->(_) { "A" })
    assert_equal ["a" * 128] * 2, endpoints(->(_) { "a" * 1000 })
  end

  def test_the_endpoint_can_be_asked_for_after_the_call
    seen = endpoints(->(env) { env["route"] }) { |env| env["route"] = "GET /x" }
    assert_equal [nil, "GET /x"], seen
  end

  def test_the_application_can_tell_the_endpoint
    assert_equal [nil, "GET /x/:y"],
                 endpoints(:late) { |env| Correlator::Endpoint.publish(env, "/x/:y") }
    assert_equal [nil, "mine"], endpoints(:late) { |_| Correlator.update(endpoint: "mine") }
  end

  # Also if those who answer errors have changed the path.
  def test_an_endpoint_that_nobody_tells_is_the_path
    path = "GET /orders/:id"
    change = ->(env) { env["PATH_INFO"] = "/404" }
    assert_equal [nil, path], endpoints(:late, &change)
    assert_equal [nil, path], endpoints(->(_) {}, &change)
    assert_equal [nil, path], endpoints(->(_) { raise "no" }, &change)
    assert_equal [nil, path], endpoints(->(_) { 5 }, &change)
    assert_equal [path, path], endpoints(nil, &change)
  end

  def test_a_call_that_raises_has_an_endpoint_all_the_same
    published = nil
    spy = Module.new do
      define_method(:update) { |**pairs| super(**pairs).tap { published = Correlator[:endpoint] } }
    end
    Correlator.singleton_class.prepend(spy)
    app = Correlator::Rack.new(->(_) { raise "no" }, endpoint: :late)
    assert_raises(RuntimeError) { app.call("REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders") }
    assert_equal "GET /orders", published
  end

  def test_an_endpoint_that_cannot_be_asked_is_refused
    assert_raises(ArgumentError) { Correlator::Rack.new(nil, endpoint: "GET /") }
  end

  def test_words_of_the_application_may_be_in_its_endpoints
    Correlator::Rack.new(nil, words: %w[pallets])
    assert_equal "/pallets/:id", Correlator::Endpoint.normalize("/pallets/hidden")
  end

  if defined?(Ractor)
    def test_another_ractor_has_ids_but_no_endpoints
      assert Correlator::Rack, "loaded by the main one"
      Warning[:experimental] = false
      ractor = Ractor.new do
        app = Correlator::Rack.new(->(_) { [200, {}, [Correlator.current]] })
        Array.new(2) { app.call("HTTP_X_REQUEST_ID" => "of-a-ractor")[2][0] }
      end
      assert_equal [{ request_id: "of-a-ractor" }, { request_id: "of-a-ractor#2" }],
                   ractor.respond_to?(:value) ? ractor.value : ractor.take
    ensure
      Warning[:experimental] = true
    end
  end

  # Of which the context itself takes some.
  def objects_of_a_call(env, response)
    app = Correlator::Rack.new(->(_) { response })
    environments = Array.new(1000) { |number| env.call(number) }
    before = GC.stat(:total_allocated_objects)
    environments.each { |environment| app.call(environment) }
    (GC.stat(:total_allocated_objects) - before).fdiv(1000)
  end

  def test_a_call_makes_few_objects
    path = "/api/v1/orders/5/items"
    given = lambda do |number|
      { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path,
        "HTTP_X_REQUEST_ID" => +"8c9fd2b1-7dec-41d0-a765-#{format("%012x", number)}" }
    end
    fresh = ->(_) { { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path } }
    stream = [200, {}.freeze, Enumerator.new { nil }].freeze
    assert_operator objects_of_a_call(given, RESPONSE), :<=, 12
    assert_operator objects_of_a_call(given, stream), :<=, 12
    assert_operator objects_of_a_call(fresh, RESPONSE), :<=, 12
  end
end
