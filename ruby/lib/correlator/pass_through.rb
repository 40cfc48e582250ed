# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Correlator
  # The same interface where nothing can be observed, as the tool is of Linux and of Ruby's own
  # implementation: on macOS and Windows, with JRuby and TruffleRuby. Blocks run, no context is ever
  # in force, and wrong arguments are refused as elsewhere. Correlator.publishing? is false.
  module PassThrough # :nodoc: all
    # There are none.
    class State
      private_class_method :new
      Correlator.const_set(:State, self)
    end
    private_constant :State

    # Runs the block.
    def with(state = nil, **pairs)
      raise LocalJumpError, "no block given" unless block_given?

      check(state, pairs)
      yield
    end

    # Runs the block, if there is one.
    def set(state = nil, **pairs)
      check(state, pairs)
      block_given? ? yield : nil
    end

    # Does nothing.
    def update(**pairs)
      check(nil, pairs)
    end

    # Does nothing.
    def clear; end

    # nil
    def current; end

    # nil
    def capture; end

    # nil
    def [](key)
      raise TypeError, "a key is a Symbol, not #{key.class}" unless key.is_a?(Symbol)
    end

    private

    def check(state, pairs)
      raise TypeError, "a context is a Correlator::State or nil, not #{state.class}" if state

      key = pairs.each_key.find { |one| !one.is_a?(Symbol) }
      raise TypeError, "a key is a Symbol, not #{key.class}" if key
    end
  end
end
