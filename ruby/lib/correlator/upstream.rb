# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"

module Correlator
  # The same interface where the gem ruby-profiler is loaded and publishes the variable: contexts
  # are its states. It keeps the state of a fiber in an instance variable of the Fiber, the only
  # place to read it back from.
  module Upstream # :nodoc: all
    STATE = ::Ruby::Profiler::State
    Correlator.const_set(:State, STATE)
    FIBER_STATE = :@ruby_profiler_state
    PAIRS = :@correlator_pairs
    private_constant :STATE, :FIBER_STATE, :PAIRS

    # No state and nil are different arguments: the current context, and none.
    CURRENT = Object.new.freeze
    private_constant :CURRENT

    def with(state = CURRENT, **pairs)
      raise LocalJumpError, "no block given" unless block_given?

      previous = capture
      state = merge(state, pairs)
      begin
        # Within: an exception of Thread#raise may come as soon as it is in force.
        apply(state)
        yield
      ensure
        apply(previous)
      end
    end

    def set(state = CURRENT, **pairs, &block)
      return with(state, **pairs, &block) if block

      apply(merge(state, pairs))
    end

    # The state that is replaced is not lent, as fibers borrow nothing here.
    def update(**pairs)
      set(**pairs) if capture
      nil
    end

    def [](key)
      raise TypeError, "a key is a Symbol, not #{key.class}" unless key.is_a?(Symbol)

      (current || {})[key]
    end

    def clear
      apply(nil)
    end

    def capture
      fiber = Fiber.current
      # Ruby 2.7 warns of a variable that is not there.
      return unless fiber.instance_variable_defined?(FIBER_STATE)

      state = fiber.instance_variable_get(FIBER_STATE)
      state if state.is_a?(STATE) && state.size.positive?
    end

    # Pairs of states that were not made here cannot be read back: only what was added since.
    def current
      state = capture
      state && pairs_of(state)
    end

    private

    def merge(base, pairs)
      base = capture if base.equal?(CURRENT)
      unless base.nil? || base.is_a?(STATE)
        raise TypeError, "a context is a #{STATE} or nil, not #{base.class}"
      end
      return base if pairs.empty?

      pairs = pairs.transform_values { |value| value.is_a?(String) ? -value.dup : value }
      state = base ? base.with(**pairs) : STATE.new(**pairs)
      state.instance_variable_set(PAIRS, (base ? pairs_of(base) : {}).merge(pairs).freeze)
      state
    end

    def pairs_of(state)
      state.instance_variable_get(PAIRS) || {}.freeze
    end

    # A state without pairs sets the variable to NULL.
    def apply(state)
      (state || STATE.new).apply!
      nil
    end
  end
end
