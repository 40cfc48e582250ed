# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "correlator/rails_route"

module Correlator
  # gem "correlator", require: "correlator/rails": the Rack middleware around all others, and
  # Correlator::ActiveJob in every job class.
  class Railtie < ::Rails::Railtie
    initializer "correlator.middleware" do |app|
      app.middleware.insert_before 0, Correlator::Rack
    end

    initializer("correlator.route") { RailsRoute.install }

    initializer "correlator.active_job" do
      ActiveSupport.on_load(:active_job) { include Correlator::ActiveJob }
    end
  end
end
