# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # Middleware of Sidekiq: each job runs in a context of its own (see Job), with its jid as
  # request_id. A retry has the jid and the parent of the first try.
  module Sidekiq
    # Runs the job in its context.
    class Server
      def call(_job_instance, payload, queue, &block) # :nodoc:
        # "wrapped": the job of ActiveJob, which Sidekiq runs by one class of its own.
        name = payload["wrapped"] || payload["class"]
        Job.run(id: payload["jid"], name: name, queue: queue, origin: payload[Job::PAYLOAD_KEY],
                &block)
      end
    end

    # Notes down in the job by whom it is enqueued.
    class Client
      def call(_job_class, payload, _queue, _redis_pool = nil) # :nodoc:
        origin = payload[Job::PAYLOAD_KEY] || Job.origin
        payload[Job::PAYLOAD_KEY] = origin if origin
        yield
      end
    end
  end
end
