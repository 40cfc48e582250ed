# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "securerandom"
require "correlator"
require "correlator/rails_route"

module Correlator
  # gem "correlator", require: "correlator/rails": the Rack middleware around all others, and the
  # parts of Rails that leave the request's thread or have no request.
  class Railtie < ::Rails::Railtie
    autoload :Cable, "correlator/rails/cable"
    autoload :ExecutorHook, "correlator/rails/executor_hook"
    autoload :Live, "correlator/rails/live"
    autoload :LoadAsync, "correlator/rails/load_async"
    private_constant :Cable, :ExecutorHook, :Live, :LoadAsync

    initializer "correlator.middleware" do |app|
      app.middleware.insert_before 0, Correlator::Rack
    end

    initializer("correlator.route") { RailsRoute.install }

    initializer "correlator.active_job" do
      ActiveSupport.on_load(:active_job) { include Correlator::ActiveJob }
    end

    initializer "correlator.executor" do |app|
      app.executor.register_hook(ExecutorHook, outer: true)
    end

    initializer "correlator.live" do
      %i[action_controller_base action_controller_api].each do |base|
        ActiveSupport.on_load(base) { Live.install }
      end
    end

    initializer "correlator.load_async" do
      ActiveSupport.on_load(:active_record) { LoadAsync.install }
    end

    initializer "correlator.cable" do
      ActiveSupport.on_load(:action_cable) { Cable.install }
    end

    # bin/rails runner: the script is one job, until its process ends.
    runner do
      Correlator.set(nil, request_id: SecureRandom.uuid, endpoint: "rails runner")
    end
  end
end
