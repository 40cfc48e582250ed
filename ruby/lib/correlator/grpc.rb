# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "securerandom"

module Correlator
  # Interceptors of gRPC, after require "grpc". The last one in an array of them is around all
  # others:
  #
  #   GRPC::RpcServer.new(interceptors: [..., Correlator::GRPC::Server.new])
  #   Greeter::Stub.new(host, credentials, interceptors: [..., Correlator::GRPC::Client.new])
  #
  # The pairs of a call's context in the server:
  #
  #   request_id         x-request-id of its metadata, else a fresh one
  #   endpoint           "helloworld.Greeter/SayHello"
  #   trace_id           of traceparent, else the one of what called it
  #   parent_request_id  request_id of what called it
  module GRPC
    PARENT = "correlator-parent-request-id"
    TRACE = "correlator-trace-id"
    REQUEST_ID = "x-request-id"
    TRACEPARENT = "traceparent"
    # https://www.w3.org/TR/trace-context/#traceparent-header
    TRACE_ID = /\A[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/n
    # What metadata can carry, of the length that an observer captures.
    TEXT = /\A[\x21-\x7e]{1,128}\z/n
    private_constant :PARENT, :TRACE, :REQUEST_ID, :TRACEPARENT, :TRACE_ID, :TEXT

    # The text of a value of metadata, or of a context; nil if it is none.
    def self.text(value) # :nodoc:
      value = value.is_a?(Integer) || value.is_a?(Symbol) ? value.to_s : value
      value if value.is_a?(String) && value.b.match?(TEXT)
    end

    # Each call runs in a context of its own, its streams included.
    class Server < ::GRPC::ServerInterceptor
      %i[request_response client_streamer server_streamer bidi_streamer].each do |kind|
        define_method(kind) do |call: nil, method: nil, **_, &handle| # :nodoc:
          Correlator.with(nil, **pairs(metadata_of(call), method), &handle)
        end
      end

      private

      def metadata_of(call)
        metadata = call.respond_to?(:metadata) ? call.metadata : nil
        metadata.is_a?(Hash) ? metadata : {}
      end

      def pairs(metadata, method)
        { request_id: GRPC.text(metadata[REQUEST_ID]) || SecureRandom.uuid,
          endpoint: endpoint(method),
          trace_id: metadata[TRACEPARENT].to_s.b[TRACE_ID, 1] || GRPC.text(metadata[TRACE]),
          parent_request_id: GRPC.text(metadata[PARENT]) }.compact
      end

      # A service's methods are few, and theirs are the names in the interface's definition.
      def endpoint(method)
        service = method.receiver.class if method.respond_to?(:receiver)
        return unless service.respond_to?(:service_name) && service.respond_to?(:rpc_descs)

        (@endpoints ||= {})[[service, method.name]] ||= begin
          ruby_name = method.name.to_s
          name = service.rpc_descs.each_key.find { |rpc| underscore(rpc) == ruby_name }
          "#{service.service_name}/#{name || ruby_name}".byteslice(0, Endpoint::BYTES_MAX).freeze
        end
      end

      def underscore(rpc)
        ::GRPC::GenericService.underscore(rpc.to_s)
      end
    end

    # Tells the server who calls.
    class Client < ::GRPC::ClientInterceptor
      %i[request_response client_streamer server_streamer bidi_streamer].each do |kind|
        define_method(kind) do |metadata: nil, **_, &call| # :nodoc:
          introduce(metadata) if metadata.is_a?(Hash) && !metadata.frozen?
          call.call
        end
      end

      private

      # An application may use one Hash for many calls.
      def introduce(metadata)
        { PARENT => Correlator[:request_id], TRACE => Correlator[:trace_id] }.each do |name, value|
          text = GRPC.text(value)
          text ? metadata[name] = text : metadata.delete(name)
        end
      end
    end
  end
end
