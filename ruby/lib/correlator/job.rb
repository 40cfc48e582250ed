# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "securerandom"

module Correlator
  # What the hooks of job frameworks have in common: the pairs of a job's context, and what a job
  # takes along of the context that it was enqueued in. A framework without a hook of its own here:
  #
  #   payload["correlator"] = Correlator::Job.origin  where it enqueues, if its payload has room
  #   Correlator::Job.run(id: job.id, name: job.class.name, queue: job.queue,
  #                       origin: payload["correlator"]) { job.perform }
  #
  #   request_id         the id of the job
  #   endpoint           the name of its class
  #   queue              the name of its queue
  #   parent_request_id  request_id of the request or job that enqueued it, if there was one
  #   trace_id           of the same, if there was one
  module Job
    # In the payload of a job. Payloads are JSON: String keys and values.
    PAYLOAD_KEY = "correlator"
    # What an observer captures of a value (VALUE_BYTES_MAX of Correlator).
    VALUE_BYTES_MAX = 128
    private_constant :VALUE_BYTES_MAX

    module_function

    # Runs the block in a context of its own, whatever is in force: a worker thread's is left over.
    # Without an id it gets a fresh one.
    def run(id: nil, name: nil, queue: nil, origin: nil, &block)
      pairs = pairs(text(id) || SecureRandom.uuid, text(name), text(queue), origin)
      Correlator.with(nil, **pairs, &block)
    end

    # A Hash for the payload, nil without a context.
    def origin
      current = Correlator.current || {}
      origin = { "parent_request_id" => text(current[:request_id]),
                 "trace_id" => text(current[:trace_id]) }.compact
      origin unless origin.empty?
    end

    # A payload comes from outside: what is not as origin made it is left out.
    def pairs(id, name, queue, origin) # :nodoc:
      origin = {} unless origin.is_a?(Hash)
      pairs = { request_id: id, endpoint: name, queue: queue,
                parent_request_id: origin["parent_request_id"], trace_id: origin["trace_id"] }
      pairs.select { |_, value| value.is_a?(String) && value.bytesize <= VALUE_BYTES_MAX }
    end

    # Only what every JSON can carry.
    def text(value) # :nodoc:
      return unless value.is_a?(String) || value.is_a?(Symbol) || value.is_a?(Integer)

      text = value.to_s.dup.force_encoding(Encoding::UTF_8)
      text if text.valid_encoding? && text.bytesize <= VALUE_BYTES_MAX
    end

    private_class_method :pairs, :text
  end
end
