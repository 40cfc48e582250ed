# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "correlator/wrap"
require "sinatra/base"

module Correlator
  # require "correlator/sinatra": the endpoint of a request is the route of Sinatra that it takes
  # first. Sinatra has no hook between finding a route and running it.
  module SinatraRoute # :nodoc: all
    def self.install(base)
      Wrap.replace(base, :route_eval, :__correlator_route_eval) do
        private

        def route_eval(&block)
          method_and_path = env["sinatra.route"]
          Endpoint.publish(env, method_and_path.partition(" ").last) if method_and_path
          __correlator_route_eval(&block)
        end
      end
    end
  end

  private_constant :SinatraRoute

  SinatraRoute.install(::Sinatra::Base)
  Endpoint.late!
end
