# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"

class EndpointTest < Minitest::Test
  {
    "/" => "/",
    "" => "",
    "/orders" => "/orders",
    "/orders/42" => "/orders/:id",
    "/orders/42/items/7/" => "/orders/:id/items/:id/",
    "/orders/42.json" => "/orders/:id.json",
    "/report.json" => "/report.json",
    "/v1/orders" => "/v1/orders",
    "/map/-12.5,7.25" => "/map/:id",
    "/users/3f2504e0-4f89-11d3-9a0c-0305e82c3301" => "/users/:id",
    "/users/3F2504E0-4F89-11D3-9A0C-0305E82C3301/edit" => "/users/:id/edit",
    "/commits/deadbeef" => "/commits/deadbeef",
    "/commits/deadbee1" => "/commits/:id",
    "/commits/dead1" => "/commits/dead1",
    "/sha/da39a3ee5e6b4b0d3255bfef95601890afd80709" => "/sha/:id",
    "/ulid/01ARZ3NDEKTSV4RRFFQ69G5FAV" => "/ulid/:id",
    "/articles/an-unusually-long-heading" => "/articles/an-unusually-long-heading",
  }.each do |path, expected|
    define_method(:"test_#{path.inspect}_becomes_#{expected.inspect}") do
      assert_equal expected, Correlator::Endpoint.normalize(path)
    end
  end

  def endpoint(**env)
    Correlator::Endpoint.for_request(env.transform_keys(&:to_s))
  end

  def test_method_and_path_without_a_route
    assert_equal "GET /app/orders/:id",
                 endpoint(REQUEST_METHOD: "GET", SCRIPT_NAME: "/app", PATH_INFO: "/orders/1")
  end

  def test_a_route_of_the_framework_wins
    assert_equal "GET /o/:order", endpoint(REQUEST_METHOD: "GET", PATH_INFO: "/o/x",
                                           "sinatra.route": "GET /o/:order")
    assert_equal "PUT /o/:id", endpoint(REQUEST_METHOD: "PUT", PATH_INFO: "/o/x",
                                        "action_dispatch.route_uri_pattern": "/o/:id(.:format)")
  end

  def test_an_invented_method_does_not_become_a_name
    assert_equal "OTHER /", endpoint(REQUEST_METHOD: "X#{"Y" * 1000}", PATH_INFO: "/")
  end

  def test_hostile_paths_are_bounded_and_do_not_raise
    assert_equal 128, endpoint(REQUEST_METHOD: "GET", PATH_INFO: "/#{"a" * 100_000}").bytesize
    assert_equal "GET /\xff\xfe/:id".b, endpoint(REQUEST_METHOD: "GET", PATH_INFO: "/\xff\xfe/12")
    assert_equal "GET ", endpoint(REQUEST_METHOD: "GET")
  end
end
