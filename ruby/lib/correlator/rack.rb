# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "securerandom"

module Correlator
  # Rack middleware: runs the application in the context of its request.
  #
  #   request_id  X-Request-Id, else a fresh UUID, which is then also the request's X-Request-Id
  #   trace_id    of traceparent (W3C Trace Context), if there is one
  #   endpoint    method and route if they are known by now, else method and path with ids replaced
  #
  # It covers the call, not a body that is streamed after it.
  class Rack
    # What an observer captures of a value (VALUE_BYTES_MAX of Correlator).
    REQUEST_ID_BYTES_MAX = 128
    # https://www.w3.org/TR/trace-context/#traceparent-header
    TRACEPARENT = /\A(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}/n
    REQUEST_ID = /\A[\x21-\x7e]{1,#{REQUEST_ID_BYTES_MAX}}\z/n
    private_constant :TRACEPARENT, :REQUEST_ID

    def initialize(app)
      @app = app
    end

    def call(env)
      pairs = { request_id: request_id(env), endpoint: Endpoint.for_request(env) }
      trace_id = trace_id(env)
      pairs[:trace_id] = trace_id if trace_id
      # A server thread has no context of its own: what is left there belongs to nobody.
      Correlator.with(nil, **pairs) { @app.call(env) }
    end

    private

    def request_id(env)
      given = env["HTTP_X_REQUEST_ID"].to_s.b
      return given if given.match?(REQUEST_ID)

      given = given.gsub(/[^\x21-\x7e]/n, "").byteslice(0, REQUEST_ID_BYTES_MAX)
      given.empty? ? env["HTTP_X_REQUEST_ID"] = SecureRandom.uuid : given
    end

    def trace_id(env)
      env["HTTP_TRACEPARENT"].to_s.b[TRACEPARENT, 1]
    end
  end
end
