# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "correlator/opentelemetry"
require "published"

# The gem opentelemetry-sdk where it is installed; else what is called of it, by its documentation.
begin
  require "opentelemetry/sdk"
rescue LoadError
  module OpenTelemetry
    module Trace
      SpanContext = Struct.new(:hex_trace_id)
      Span = Struct.new(:context)

      def self.current_span
        Thread.current[:span] || Span.new(SpanContext.new("0" * 32))
      end
    end
  end
end

class OpenTelemetryTest < Minitest::Test
  ID = "4bf92f3577b34da6a3ce929d0e0e4736"
  REAL = defined?(OpenTelemetry::SDK)

  def setup
    OpenTelemetry::SDK.configure { |c| c.add_span_processor(processor) } if REAL
  end

  def teardown
    Correlator.clear
  end

  def processor
    @processor ||= Correlator::OpenTelemetry::SpanProcessor.new
  end

  # Runs the block in a span, and gives it the id of its trace.
  def in_span(id = ID)
    return real_span { |span| yield span.context.hex_trace_id } if REAL

    Thread.current[:span] = span = OpenTelemetry::Trace::Span.new(
      OpenTelemetry::Trace::SpanContext.new(id)
    )
    processor.on_start(span, nil)
    yield id
  ensure
    processor.on_finish(span)
    Thread.current[:span] = nil
  end

  def real_span(&block)
    OpenTelemetry.tracer_provider.tracer("test").in_span("request", &block)
  end

  def test_the_first_span_of_a_request_gives_it_its_trace
    Correlator.with(request_id: "r1") do
      in_span do |id|
        assert_equal({ request_id: "r1", trace_id: id }, Correlator.current)
        assert_equal id, Published[:trace_id]
        in_span("1" * 32) { assert_equal id, Correlator[:trace_id] }
      end
    end
    assert_equal 0, Published.address
  end

  def test_a_trace_that_is_known_stays
    Correlator.with(request_id: "r1", trace_id: "given") do
      in_span { assert_equal "given", Correlator[:trace_id] }
    end
  end

  def test_a_span_outside_of_any_context_publishes_nothing
    in_span { assert_equal 0, Published.address }
  end

  def test_the_trace_of_the_current_span
    assert_nil Correlator::OpenTelemetry.trace_id
    in_span { |id| assert_equal id, Correlator::OpenTelemetry.trace_id }
  end

  def test_spans_of_another_shape_do_no_harm
    Correlator.with(request_id: "r1") do
      [nil, Object.new, BasicObject.new].each { |span| processor.on_start(span, nil) }
      assert_equal({ request_id: "r1" }, Correlator.current)
    end
    assert_equal [0, 0], [processor.force_flush(timeout: 1), processor.shutdown(timeout: 1)]
  end
end
