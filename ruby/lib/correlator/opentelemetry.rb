# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"

module Correlator
  # require "correlator/opentelemetry": the trace of a request that OpenTelemetry began, where no
  # traceparent told it.
  #
  #   OpenTelemetry::SDK.configure do |config|
  #     config.add_span_processor(Correlator::OpenTelemetry::SpanProcessor.new)
  #   end
  module OpenTelemetry
    TRACE_ID = /\A(?!0{32})[0-9a-f]{32}\z/.freeze
    private_constant :TRACE_ID

    class << self
      # Of the current span, in hexadecimal; nil without one. For contexts of one's own:
      #   Correlator.with(request_id: id, trace_id: Correlator::OpenTelemetry.trace_id) { ... }
      def trace_id
        return unless defined?(::OpenTelemetry::Trace)

        trace_id_of(::OpenTelemetry::Trace.current_span)
      rescue StandardError
        nil
      end

      def trace_id_of(span) # :nodoc:
        id = span.context.hex_trace_id
        id if id.is_a?(String) && id.match?(TRACE_ID)
      end
    end

    # The duck type of OpenTelemetry::SDK::Trace::SpanProcessor. The first span that is started in a
    # context without a trace_id gives it that of its trace.
    class SpanProcessor
      # Export::SUCCESS
      SUCCESS = 0
      private_constant :SUCCESS

      def on_start(span, _parent_context = nil) # :nodoc:
        return if Correlator[:trace_id] || Correlator.capture.nil?

        id = OpenTelemetry.trace_id_of(span)
        Correlator.update(trace_id: id) if id
      rescue StandardError
        nil
      end

      def on_finishing(_span); end # :nodoc:

      def on_finish(_span); end # :nodoc:

      def force_flush(timeout: nil) # :nodoc:
        SUCCESS
      end

      def shutdown(timeout: nil) # :nodoc:
        SUCCESS
      end
    end
  end
end
