# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"

module Correlator
  # After require "delayed_job": Delayed::Worker.plugins << Correlator::DelayedJob. Each job runs in
  # a context of its own (see Job), with the id of its record as request_id. (It has no room to say
  # who enqueued it.) A job of ActiveJob is left to Correlator::ActiveJob where that is included.
  class DelayedJob < ::Delayed::Plugin
    callbacks do |lifecycle|
      lifecycle.around(:invoke_job) do |job, *rest, &invoke|
        if DelayedJob.active_job?(job)
          invoke.call(job, *rest)
        else
          Job.run(id: job.id, name: DelayedJob.name_of(job), queue: job.queue) do
            invoke.call(job, *rest)
          end
        end
      end
    end

    class << self
      # A name that is one of few: display_name may be anything.
      def name_of(job) # :nodoc:
        payload = job.payload_object
        return payload.display_name if payload.is_a?(::Delayed::PerformableMethod)

        payload.class.name
      rescue StandardError
        # What cannot be loaded fails in the job, as it would without this.
        nil
      end

      def active_job?(job) # :nodoc:
        job.payload_object.respond_to?(:job_data) && defined?(::ActiveJob::Base) &&
          ::ActiveJob::Base.include?(Correlator::ActiveJob)
      rescue StandardError
        false
      end
    end
  end
end
