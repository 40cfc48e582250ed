# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # For classes of ActiveJob, on any queue: include Correlator::ActiveJob. Each job that comes from
  # a queue runs in a context of its own (see Job), deserializing of its arguments, callbacks and
  # rescue_from included. Its request_id is the id that the queue gave it (Sidekiq: the jid), else
  # its job_id. perform_now in a request belongs to the request.
  module ActiveJob
    # Notes down by whom the job is enqueued.
    def serialize # :nodoc:
      origin = from_queue? ? @correlator_origin : Job.origin
      origin ? super.merge(Job::PAYLOAD_KEY => origin) : super
    end

    # Reads that back: the job comes from a queue.
    def deserialize(job_data) # :nodoc:
      super
      @correlator_origin = job_data[Job::PAYLOAD_KEY]
    end

    # Runs the job in its context.
    def perform_now # :nodoc:
      return super if !from_queue? && Correlator.capture

      Job.run(id: provider_job_id || job_id, name: self.class.name, queue: queue_name,
              origin: from_queue? ? @correlator_origin : nil) { super }
    end

    private

    def from_queue?
      instance_variable_defined?(:@correlator_origin)
    end
  end
end
