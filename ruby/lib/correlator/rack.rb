# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/endpoint"
require "correlator/rack_body"
require "correlator/request_id"

module Correlator
  # Rack middleware: runs the application, and the body of its response, in the context of its
  # request.
  #
  #   request_id  X-Request-Id, else a fresh UUID, which is then also the request's X-Request-Id;
  #               where that is another request's, too, with a number behind it
  #   trace_id    of traceparent (W3C Trace Context), if there is one
  #   endpoint    method and route, else method and path without all that could be private
  #
  #   use Correlator::Rack, trust_request_id: false   request_id is always a fresh UUID
  #                         words: %w[parcels]        segments of paths that may be in an endpoint
  #                         endpoint: ->(env) { }     the endpoint: asked before the call, and after
  #                                                   it if it said nil
  #                         endpoint: :late           the application calls Endpoint.publish
  class Rack
    # Where the Rack environment keeps the request_id that is published.
    KEY = "correlator.request_id"
    # https://www.w3.org/TR/trace-context/#traceparent-header
    TRACEPARENT = /\A(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}/n
    TRACE_ID_START = 3
    TRACE_ID_BYTES = 32
    REQUEST_IDS = RequestId.new
    private_constant :TRACEPARENT, :TRACE_ID_START, :TRACE_ID_BYTES, :REQUEST_IDS

    # Around an application.
    def initialize(app, endpoint: nil, trust_request_id: true, words: [])
      @app = app
      @late = endpoint == :late
      @ask = endpoint.respond_to?(:call) ? endpoint : nil
      unless endpoint.nil? || @late || @ask
        raise ArgumentError, "endpoint: is :late or can be called, not #{endpoint.inspect}"
      end

      @trust = trust_request_id
      @request_ids = request_ids
      Endpoint.know(words)
    end

    # Calls the application in the context of its request.
    def call(env)
      id = env[KEY]
      # Mounted twice, or the application calls itself: it is the same request.
      return @app.call(env) if id && id == Correlator[:request_id]

      id ||= identify(env)
      trace_id = trace_id(env)
      endpoint = early_endpoint(env)
      in_context(id, trace_id, endpoint) do
        cover(endpoint ? @app.call(env) : call_and_settle(env))
      end
    end

    private

    # A server thread has no context of its own: what is left there belongs to nobody. (Pairs that
    # are written out cost less than a Hash of them.)
    def in_context(id, trace_id, endpoint, &call)
      if id && trace_id && endpoint
        Correlator.with(nil, request_id: id, trace_id: trace_id, endpoint: endpoint, &call)
      elsif id && trace_id
        Correlator.with(nil, request_id: id, trace_id: trace_id, &call)
      elsif id && endpoint
        Correlator.with(nil, request_id: id, endpoint: endpoint, &call)
      elsif id
        Correlator.with(nil, request_id: id, &call)
      else
        Correlator.with(nil, &call)
      end
    end

    def identify(env)
      given = RequestId.clean(env[RequestId::HEADER])
      id = given && @trust ? @request_ids.distinct(given) : @request_ids.fresh
      env[RequestId::HEADER] = id.dup unless given
      env[KEY] = id
    rescue StandardError
      # A signal's handler must not lock, and who knows what an environment is made of.
      id
    end

    # Of the process; a Ractor may use only its own.
    def request_ids
      REQUEST_IDS
    rescue StandardError
      RequestId.new
    end

    def trace_id(env)
      header = env["HTTP_TRACEPARENT"]
      return unless header.is_a?(String) && header.ascii_only? && header.match?(TRACEPARENT)

      header.byteslice(TRACE_ID_START, TRACE_ID_BYTES).freeze
    end

    # nil: it comes later.
    def early_endpoint(env)
      return asked(env) if @ask

      path_endpoint(env) unless @late || Endpoint.late?
    end

    def asked(env)
      name = @ask.call(env)
      Endpoint.named(name) if name.is_a?(String) && !name.empty?
    rescue StandardError
      nil
    end

    def path_endpoint(env)
      Endpoint.of_path(env["REQUEST_METHOD"], env["SCRIPT_NAME"], env["PATH_INFO"])
    rescue StandardError
      nil
    end

    # Those who answer errors change the path.
    def call_and_settle(env)
      method = env["REQUEST_METHOD"]
      mount_point = env["SCRIPT_NAME"]
      path = env["PATH_INFO"]
      @app.call(env)
    ensure
      settle(env, method, mount_point, path)
    end

    # Not written there: Prism of Ruby 3.3 crashes on a block in an `ensure`.
    def settle(env, method, mount_point, path)
      Endpoint.settle(env) { (@ask && asked(env)) || Endpoint.of_path(method, mount_point, path) }
    end

    # The response itself is the application's, maybe frozen: it is left as it is.
    def cover(response)
      return response unless response.is_a?(Array) && response.size == 3

      status, headers, body = response
      hijack = headers["rack.hijack"] if headers.is_a?(Hash)
      streams = !body.is_a?(Array) && (body.respond_to?(:each) || body.respond_to?(:call))
      return response unless streams || hijack.respond_to?(:call)

      state = Correlator.capture
      headers = headers.merge("rack.hijack" => hijacked(hijack, state)) if hijack.respond_to?(:call)
      [status, headers, streams ? Body.new(body, state) : body]
    rescue StandardError
      response
    end

    def hijacked(hijack, state)
      ->(*stream) { Correlator.with(state) { hijack.call(*stream) } }
    end
  end
end
