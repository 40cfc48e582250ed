# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"

# The endpoint of a request is its route in Sinatra.
class SinatraTest < Minitest::Test
  begin
    require "correlator/sinatra"
    HAS_SINATRA = true
  rescue LoadError
    HAS_SINATRA = false
  end

  SEEN = []

  if HAS_SINATRA
    class Shop < Sinatra::Base
      set :environment, :production
      helpers { def told; SEEN << Correlator[:endpoint]; end }
      before { told }
      get("/orders/:number") { told && "order" }
      get("/fail") { told && raise("no") }
      get("/passed/on") { told && pass }
      get("/passed/:on") { told && "on" }
      get(%r{/date/(\d+)}) { told && "date" }
      get("/stream") { stream { |out| told && out << "part" } }
      post("/orders") { told && "new" }
    end

    class Base < Sinatra::Base
      set :environment, :production
      get("/inherited") { SEEN << Correlator[:endpoint] }
    end

    class Inheriting < Base
      get("/own") { "own" }
    end

    APPLICATION = Rack::Builder.new do
      use Correlator::Rack, words: %w[base]
      map("/shop") { run Shop }
      map("/alice") { run Shop }
      map("/base") { run Inheriting }
      run ->(_) { [200, {}, ["none"]] }
    end.to_app
  end

  def setup
    skip "no Sinatra" unless HAS_SINATRA
    SEEN.clear
  end

  def get(path, method = "GET")
    env = Rack::MockRequest.env_for("http://localhost#{path}", method: method)
    status, _, body = APPLICATION.call(env)
    body.each { nil }
    body.close if body.respond_to?(:close)
    status
  end

  def test_nothing_is_published_before_the_route_and_nothing_else_after_it
    assert_equal 200, get("/shop/orders/A-7?x=1")
    assert_equal [nil, "GET /shop/orders/:number"], SEEN
    SEEN.clear
    get("/shop/orders", "POST")
    assert_equal [nil, "POST /shop/orders"], SEEN
  end

  def test_of_a_route_that_passes_on_and_the_next_the_first_is_kept
    get("/shop/passed/on")
    assert_equal [nil, "GET /shop/passed/on", "GET /shop/passed/on"], SEEN
  end

  def test_a_mount_point_that_may_be_private_is_not_shown
    get("/alice/orders/7")
    assert_equal "GET /:id/orders/:number", SEEN[1]
  end

  def test_a_route_of_the_superclass_and_one_that_is_an_expression
    get("/base/inherited")
    assert_equal "GET /base/inherited", SEEN[0]
    SEEN.clear
    get("/shop/date/20200101")
    assert_match %r{\AGET /shop/.*date}, SEEN[1]
    refute_includes SEEN[1], "2020"
  end

  def test_a_stream_and_an_error_have_the_route_of_their_request
    get("/shop/stream")
    assert_equal [nil, "GET /shop/stream"], SEEN
    SEEN.clear
    assert_equal 500, get("/shop/fail")
    assert_equal [nil, "GET /shop/fail"], SEEN
  end

  def test_a_request_without_a_route_has_the_endpoint_of_its_path_in_the_end
    told = []
    spy = Module.new do
      define_method(:update) { |**pairs| super(**pairs).tap { told << Correlator[:endpoint] } }
    end
    Correlator.singleton_class.prepend(spy)
    assert_equal 404, get("/shop/orders/1/alice")
    get("/alice")
    assert_equal ["GET /shop/orders/:id/:id", "GET /:id"], told
  end
end
