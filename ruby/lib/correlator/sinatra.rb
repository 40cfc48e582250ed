# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "sinatra/base"

module Correlator
  # require "correlator/sinatra": the endpoint of a request is the route of Sinatra that it takes
  # first. Sinatra has no hook between finding a route and running it.
  module SinatraRoute # :nodoc: all
    private

    def route_eval
      method_and_path = env["sinatra.route"]
      Endpoint.publish(env, method_and_path.partition(" ").last) if method_and_path
      super
    end
  end

  private_constant :SinatraRoute

  ::Sinatra::Base.prepend(SinatraRoute)
  Endpoint.late!
end
