# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "grape"

module Correlator
  # require "correlator/grape": the endpoint of a request is its route in Grape.
  module GrapeRoute # :nodoc: all
    EVENT = "endpoint_run.grape"
    FORMAT = /\(\.[^)]*\)\z/
    private_constant :EVENT, :FORMAT

    class << self
      def start(_event, _id, payload)
        route = route_of(payload[:endpoint], payload[:env])
        Endpoint.publish(payload[:env], pattern(route)) if route
      rescue StandardError
        nil
      end

      def finish(*); end

      private

      # After a route that passed on to the next one the environment still names that.
      def route_of(endpoint, env)
        found = env["grape.routing_args"]
        found &&= found[:route_info]
        endpoint.routes.include?(found) ? found : endpoint.routes.first
      end

      # A version in the path is part of the name: two versions are two endpoints.
      def pattern(route)
        version = route.version
        pattern = route.path.sub(FORMAT, "")
        version.is_a?(String) ? pattern.sub("/:version", "/#{version}") : pattern
      end
    end

    ActiveSupport::Notifications.subscribe(EVENT, self)
  end
  private_constant :GrapeRoute

  Endpoint.late!
end
