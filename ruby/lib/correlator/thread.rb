# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"

module Correlator
  # require "correlator/thread": a new thread works for whoever started it, until it ends or is told
  # otherwise. So does one that a pool or a timer keeps for later: say with(nil) { } where such are
  # started. Threads of other Ractors inherit nothing.
  #
  # A thread that is started without a context is as it would be without this.
  module Thread # :nodoc: all
    # What runs instead of a thread's block is compiled for the line where that one is written: so
    # inspect and backtraces name no file but the application's.
    SOURCE = "proc { |state, block| proc { |*arguments| ::Correlator.set(state); " \
             "block.call(*arguments) }.tap { |started| started.ruby2_keywords } }"
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
        place = block.source_location || [__FILE__, __LINE__]
        starter(place).call(state, block) unless TIMEOUT.match?(place.first)
      end

      private

      def starter(place)
        @starters.fetch(place) do
          @starters.clear if @starters.size >= PLACES_MAX
          @starters[place] = eval(SOURCE, TOPLEVEL_BINDING.dup, *place)
        end
      end

      def other_ractor?
        defined?(::Ractor) && ::Ractor.count > 1 && !::Ractor.current.equal?(::Ractor.main)
      end
    end

    # Thread.new of Thread itself and of all its subclasses gets here.
    module New
      ruby2_keywords def initialize(*arguments, &block)
        inherited = Thread.inherit(block)
        inherited ? super(*arguments, &inherited) : super
      end
    end

    # Thread.start and fork call no initialize.
    module Start
      ruby2_keywords def start(*arguments, &block)
        inherited = Thread.inherit(block)
        inherited ? super(*arguments, &inherited) : super
      end

      ruby2_keywords def fork(*arguments, &block)
        inherited = Thread.inherit(block)
        inherited ? super(*arguments, &inherited) : super
      end
    end
  end

  private_constant :Thread

  ::Thread.prepend(Thread::New)
  ::Thread.singleton_class.prepend(Thread::Start)
end
