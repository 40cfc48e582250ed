# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"
require "rails_application"

# The application that a Gemfile with `gem "correlator", require: "correlator/rails"` makes.
class RailsTest < Minitest::Test
  begin
    require "rails"
    require "action_controller/railtie"
    require "active_job/railtie"
    HAS_RAILS = true
  rescue LoadError
    HAS_RAILS = false
  end

  SEEN = []

  if HAS_RAILS
    require "correlator/rails"

    class SeenJob < ActiveJob::Base
      def perform
        SEEN << Correlator.current << Published[:request_id]
      end
    end

    class OrdersController < ActionController::Base
      def show
        SEEN << Correlator.current << request.request_id
        SeenJob.perform_later
        render plain: Published[:request_id]
      end
    end

    class Application < Rails::Application
      RailsApplication.configure(config)
      config.active_job.queue_adapter = :inline
      routes.append { get "/orders/:id", to: "rails_test/orders#show" }
    end
    Application.initialize!
  end

  def setup
    skip "no Rails" unless HAS_RAILS
  end

  def test_a_request_and_its_job_are_in_their_contexts
    env = Rack::MockRequest.env_for("http://localhost/orders/7", "HTTP_X_REQUEST_ID" => "r-1")
    status, _, body = Application.call(env)
    text = +""
    body.each { |part| text << part }
    body.close if body.respond_to?(:close)
    assert_equal [200, "r-1"], [status, text]
    assert_equal({ request_id: "r-1", endpoint: "GET /orders/:id" }, SEEN[0])
    assert_equal "r-1", SEEN[1]
    assert_equal ["RailsTest::SeenJob", "r-1"], SEEN[2].values_at(:endpoint, :parent_request_id)
    assert_equal SEEN[2][:request_id], SEEN[3]
    assert_equal 0, Published.address
  end

  def test_the_middleware_is_around_all_others
    assert_equal Correlator::Rack, Application.middleware.first.klass
  end
end
