# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"

# The endpoint of a request is its route in Grape.
class GrapeTest < Minitest::Test
  begin
    require "active_support"
    require "correlator/grape"
    HAS_GRAPE = true
  rescue LoadError
    HAS_GRAPE = false
  end

  SEEN = []

  if HAS_GRAPE
    class Orders < Grape::API
      version "v1", using: :path
      format :json
      before { SEEN << Correlator[:endpoint] }
      resource :orders do
        get(":id") { SEEN << Correlator[:endpoint] }
        post { SEEN << Correlator[:endpoint] }
      end
    end

    class Api < Grape::API
      prefix :api
      mount Orders
      get("plain/*rest") { SEEN << Correlator[:endpoint] }
    end

    class Inner < Grape::API
      get("items/:item") { SEEN << Correlator[:endpoint] }
    end

    class Outer < Grape::API
      inner = lambda do |env|
        Inner.call(env.reject { |key, _| key == "grape.allowed_methods" }
                      .merge("PATH_INFO" => "/items/7"))
      end
      mount inner => "/tenants"
    end

    APPLICATION = Rack::Builder.new do
      use Correlator::Rack, words: %w[outer]
      map("/shop") { run Api }
      map("/outer") { run Outer }
    end.to_app
  end

  def setup
    skip "no Grape" unless HAS_GRAPE
    SEEN.clear
  end

  def get(path, method = "GET")
    APPLICATION.call(Rack::MockRequest.env_for("http://localhost#{path}", method: method))[0]
  end

  def test_a_route_has_prefix_version_and_mount_point
    assert_equal 200, get("/shop/api/v1/orders/A-7.json")
    assert_equal ["GET /shop/api/v1/orders/:id"] * 2, SEEN
    SEEN.clear
    assert_equal 201, get("/shop/api/v1/orders", "POST")
    assert_equal ["POST /shop/api/v1/orders"] * 2, SEEN
  end

  def test_a_route_with_a_wildcard
    get("/shop/api/plain/alice/secret")
    assert_equal ["GET /shop/api/plain/*rest"], SEEN
  end

  def test_another_method_than_the_routes_is_answered_with_its_route
    assert_equal 405, get("/shop/api/v1/orders/7", "DELETE")
    assert_equal ["DELETE /shop/api/v1/orders/:id"], SEEN.uniq
  end

  # Then the environment still names the route of the outer one.
  def test_an_application_that_is_mounted_in_another_one
    assert_equal 200, get("/outer/tenants/alice")
    assert_equal ["GET /outer/items/:item"], SEEN
  end
end
