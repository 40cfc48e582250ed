# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  class Rack
    # The body of a response, which a server asks for after the call, maybe in another fiber or
    # thread: what it does, it does in the context of its request. Otherwise it is what it was.
    class Body # :nodoc: all
      def initialize(body, state)
        @body = body
        @state = state
      end

      def each(&block)
        return to_enum(:each) unless block

        Correlator.with(@state) { @body.each(&block) }
      end

      # A streaming body of Rack 3.
      def call(stream)
        Correlator.with(@state) { @body.call(stream) }
      end

      def close
        Correlator.with(@state) { @body.close }
      end

      # Also for the methods above: a server decides by them what it does with a body.
      def respond_to?(name, include_all = false)
        @body.respond_to?(name, include_all)
      end

      private

      def respond_to_missing?(name, include_all)
        @body.respond_to?(name, include_all)
      end

      def method_missing(name, *arguments, &block)
        Correlator.with(@state) { @body.public_send(name, *arguments, &block) }
      end
      ruby2_keywords :method_missing
    end
    private_constant :Body
  end
end
