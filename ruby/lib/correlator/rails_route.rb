# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/endpoint"
require "correlator/wrap"

module Correlator
  # The endpoint of a request is its route in Rails, as soon as a controller begins with it. What
  # Rails passes on to other applications is told by them, or has the endpoint of its path.
  module RailsRoute # :nodoc: all
    EVENT = "start_processing.action_controller"
    # Where the Rack environment keeps what Rails' router has found, if Rails does not (before 7.1).
    KEY = "correlator.routes"
    FORMAT = "(.:format)"
    PATTERNS_MAX = 1000
    private_constant :EVENT, :FORMAT, :PATTERNS_MAX

    @patterns = {}.compare_by_identity

    class << self
      def install
        unless ActionDispatch::Request.method_defined?(:route_uri_pattern)
          note_routes(ActionDispatch::Journey::Router)
        end
        ActiveSupport::Notifications.subscribe(EVENT, self)
        Endpoint.late!
      end

      def start(_event, _id, payload)
        request = payload[:request]
        pattern = pattern_of(request) if request
        Endpoint.publish(request.env, pattern.delete_suffix(FORMAT)) if pattern
      rescue StandardError
        nil
      end

      def finish(*); end

      private

      # A router of before 7.1 makes an Array of all routes that match, best first, then tries them.
      def note_routes(router)
        Wrap.replace(router, :find_routes, :__correlator_find_routes) do
          private

          def find_routes(request)
            routes = __correlator_find_routes(request)
            request.set_header(KEY, routes)
            routes
          end
        end
      end

      def pattern_of(request)
        return request.route_uri_pattern if request.respond_to?(:route_uri_pattern)

        route = taken(request.get_header(KEY) || [], request.path_parameters)
        route && text(route)
      end

      # The first one that the parameters can come from: those before it have passed on.
      def taken(found, parameters)
        return found[0].last if found.size == 1

        match = found.find { |_, given, route| parameters >= route.defaults.merge(given) }
        match&.last
      end

      # Rails makes it anew each time.
      def text(route)
        @patterns.clear if @patterns.size >= PATTERNS_MAX
        @patterns[route] ||= route.path.spec.to_s
      end
    end
  end
  private_constant :RailsRoute
end
