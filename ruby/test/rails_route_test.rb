# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "tmpdir"
require "correlator"
require "published"
require "rails_application"

# The endpoint of a request is its route in Rails.
class RailsRouteTest < Minitest::Test
  begin
    require "rails"
    require "action_controller/railtie"
    HAS_RAILS = true
  rescue LoadError
    HAS_RAILS = false
  end

  SEEN = []

  # Which constraint lets a request in, depends on the request.
  def self.only_if(header)
    ->(request) { SEEN << Correlator[:endpoint] && request.headers[header] }
  end

  if HAS_RAILS
    require "correlator/rails"

    VIEWS = Dir.mktmpdir
    Minitest.after_run { FileUtils.rm_rf(VIEWS) }
    { "orders/parts" => "part <%= Published[:endpoint] %>",
      "layouts/whole" => "whole <%= Published[:endpoint] %> <%= yield %>" }.each do |name, text|
      FileUtils.mkdir_p(File.dirname("#{VIEWS}/#{name}"))
      File.write("#{VIEWS}/#{name}.html.erb", text)
    end

    class OrdersController < ActionController::Base
      before_action { SEEN << Correlator[:endpoint] << request.request_id }

      def show
        render plain: "order"
      end

      def fail
        raise "no"
      end

      def template
        prepend_view_path(VIEWS)
        render template: "orders/parts", layout: "whole", stream: true
      end

      def stream
        self.response_body = Enumerator.new { |out| out << Published[:endpoint] }
      end
    end

    class Engine < ::Rails::Engine
      isolate_namespace RailsRouteTest
      routes.append do
        get "/parts/:part", to: "orders#show"
        root to: "orders#show"
      end
    end

    class Application < Rails::Application
      RailsApplication.configure(config)
      config.action_dispatch.show_exceptions = true
      config.consider_all_requests_local = false
      config.exceptions_app = ->(_) { [500, {}, ["error"]] }
      routes.append do
        scope module: "rails_route_test" do
          get "/orders/:id", to: "orders#show"
          match "/orders/:id/fail", to: "orders#fail", via: %i[get delete]
          get "/streams", to: "orders#stream"
          get "/templates", to: "orders#template"
          get "/:slug", to: "orders#show", constraints: RailsRouteTest.only_if("X-First")
          get "/:other", to: "orders#show", constraints: RailsRouteTest.only_if("X-Second")
          get "/*rest", to: "orders#show", constraints: RailsRouteTest.only_if("X-Third")
        end
        get "/old/:id", to: redirect("/orders/%{id}")
        mount Engine, at: "/admin"
        mount Engine, at: "/of/:tenant/shop", as: "tenant"
        mount ->(_) { [200, {}, [SEEN << Correlator[:endpoint] && "rack"]] }, at: "/queues"
      end
    end
    Application.initialize!
  end

  def setup
    skip "no Rails" unless HAS_RAILS
    SEEN.clear
  end

  def get(path, method: "GET", **headers)
    env = Rack::MockRequest.env_for("http://localhost#{path}", method: method)
                           .merge!(headers.transform_keys { |name| "HTTP_#{name}" })
    status, _, body = Application.call(env)
    text = +""
    body.each { |part| text << part }
    body.close if body.respond_to?(:close)
    assert_equal 0, Published.address
    [status, text]
  end

  def test_a_request_has_its_route_when_its_controller_begins
    assert_equal [200, "order"], get("/orders/A-7.json?x=1")
    assert_equal "GET /orders/:id", SEEN[0]
    get("/orders/7", method: "HEAD")
    assert_equal "HEAD /orders/:id", SEEN[2]
  end

  # Several routes that match: those that pass on are tried, not taken.
  def test_of_several_routes_it_is_the_one_that_is_taken
    get("/alice", X_FIRST: "1")
    assert_equal "GET /:slug", SEEN[-2]
    get("/alice", X_SECOND: "1")
    assert_equal "GET /:other", SEEN[-2]
    get("/alice", X_THIRD: "1")
    assert_equal "GET /*rest", SEEN[-2]
    get("/alice/b", X_THIRD: "1")
    assert_equal "GET /*rest", SEEN[-2]
  end

  def test_an_engine_has_its_mount_point_in_front
    get("/admin/parts/7")
    assert_equal "GET /admin/parts/:part", SEEN[-2]
    get("/admin")
    assert_equal "GET /admin", SEEN[-2]
    get("/of/alice/shop/parts/7")
    assert_equal "GET /:id/:id/shop/parts/:part", SEEN[-2]
  end

  def test_a_streamed_response_has_the_route
    assert_equal [200, "GET /streams"], get("/streams")
    # With Rack 3, Rails 7.2 itself cannot stream a template.
    assert_equal 2, get("/templates")[1].scan("GET /templates").size if Rack.release.to_i < 3
  end

  # Looking for it takes the router more time than all that this gem does.
  if HAS_RAILS && ActionDispatch::Journey::Router.private_method_defined?(:__correlator_find_routes)
    def test_a_route_is_looked_for_once
      searched = []
      ActionDispatch::Journey::Router.prepend(Module.new do
        define_method(:find_routes) { |request| super(request).tap { searched << request.path } }
        private :find_routes
      end)
      get("/orders/7")
      assert_equal ["/orders/7"], searched
    end
  end

  def in_the_end
    told = []
    spy = Module.new do
      define_method(:update) { |**pairs| super(**pairs).tap { told << Correlator[:endpoint] } }
    end
    Correlator.singleton_class.prepend(spy)
    yield
    told
  end

  def test_each_request_is_told_one_endpoint
    assert_equal ["GET /orders/:id/fail"], in_the_end { get("/orders/7/fail") }
    assert_equal ["DELETE /orders/:id/fail"], in_the_end { get("/orders/7/fail", method: "DELETE") }
  end

  def test_what_no_controller_answers_has_the_endpoint_of_its_path
    assert_equal ["GET /queues/:id"], in_the_end { get("/queues/alice") }
    assert_nil SEEN.last
    assert_equal ["GET /:id/:id"], in_the_end { assert_equal 301, get("/old/7")[0] }
    assert_equal ["GET /:id/:id"], in_the_end { get("/no/alice") }
  end

  def test_rails_knows_a_request_by_the_same_id
    get("/orders/7", X_REQUEST_ID: +"a/b-1")
    assert_equal "ab-1", SEEN[1]
    seen = nil
    with_context = ->(env) { seen = Correlator[:request_id] and env["action_dispatch.request_id"] }
    app = Correlator::Rack.new(ActionDispatch::RequestId.new(lambda do |env|
      with_context.call(env) && [200, {}, []]
    end, header: "X-Request-Id"))
    env = Rack::MockRequest.env_for("/orders")
    app.call(env)
    assert_equal env["action_dispatch.request_id"], seen
  end

  # Rails 7.1 and newer say the route themselves.
  def test_the_pattern_of_a_newer_rails_is_used
    request = Struct.new(:env, :route_uri_pattern)
                    .new({ "REQUEST_METHOD" => "GET" }, "/orders/:id(.:format)")
    Correlator.with(request_id: "r") do
      Correlator.const_get(:RailsRoute).start("", "", request: request)
      assert_equal "GET /orders/:id", Correlator[:endpoint]
    end
  end
end
