# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "correlator/wrap"

module Correlator
  # require "correlator/thread": a new thread works for whoever started it, until it ends or is told
  # otherwise. So does one that a pool or a timer keeps for later: say with(nil) { } where such are
  # started. Threads of other Ractors inherit nothing.
  #
  # A thread that is started without a context is as it would be without this.
  module Thread # :nodoc: all
    # What runs instead of a thread's block is compiled for the line where that one is written: so
    # inspect and backtraces name no file but the application's. It uses no method that a program may
    # have defined anew at its top level.
    SOURCE = "->(state, block) { started = ->(*arguments) { ::Correlator.set(state); " \
             "block.call(*arguments) }; started.ruby2_keywords; started }"
    # An application starts threads in few places; one that compiles code may do so in many.
    PLACES_MAX = 256
    # Its thread serves the whole process for ever (timeout 0.3+).
    TIMEOUT = %r{/timeout\.rb\z}.freeze
    private_constant :SOURCE, :PLACES_MAX, :TIMEOUT
    @starters = {}

    class << self
      # The block, in the context of now; nil if there is nothing to inherit.
      def inherit(block)
        return if !block || other_ractor?

        state = Correlator.capture or return
        place = block.source_location || caller_place
        starter(place).call(state, block) unless TIMEOUT.match?(place.first)
      end

      private

      def starter(place)
        @starters.fetch(place) do
          @starters.clear if @starters.size >= PLACES_MAX
          @starters[place] = compile(*place)
        end
      end

      # What eval runs may count as covered (Ruby 3.2+): then without it, though backtraces show that.
      def compile(path, line)
        return eval(SOURCE, TOPLEVEL_BINDING.dup, path, line) unless covers_eval?

        ::RubyVM::InstructionSequence.compile(SOURCE, path, path, line, coverage_enabled: false).eval
      end

      def covers_eval?
        defined?(::Coverage) && ::Coverage.respond_to?(:supported?) && ::Coverage.supported?(:eval)
      end

      # Of a block that is written nowhere, as &:name.
      def caller_place
        from = caller_locations(1, 16)&.find { |location| location.path != __FILE__ }
        from ? [from.path, from.lineno] : [__FILE__, __LINE__]
      end

      def other_ractor?
        defined?(::Ractor) && ::Ractor.count > 1 && !::Ractor.current.equal?(::Ractor.main)
      end
    end

    # Thread.new of Thread itself and of all its subclasses gets here.
    Wrap.replace(::Thread, :initialize, :__correlator_initialize) do
      ruby2_keywords def initialize(*arguments, &block)
        inherited = Thread.inherit(block)
        inherited ? __correlator_initialize(*arguments, &inherited) : __correlator_initialize(*arguments, &block)
      end
    end

    # Thread.start and fork call no initialize.
    Wrap.replace(::Thread.singleton_class, :start, :__correlator_start) do
      ruby2_keywords def start(*arguments, &block)
        inherited = Thread.inherit(block)
        inherited ? __correlator_start(*arguments, &inherited) : __correlator_start(*arguments, &block)
      end
    end

    Wrap.replace(::Thread.singleton_class, :fork, :__correlator_fork) do
      ruby2_keywords def fork(*arguments, &block)
        inherited = Thread.inherit(block)
        inherited ? __correlator_fork(*arguments, &inherited) : __correlator_fork(*arguments, &block)
      end
    end
  end

  private_constant :Thread
end
