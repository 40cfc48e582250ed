# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"

module Correlator
  # After require "concurrent": require "correlator/concurrent". What is posted to a pool of
  # concurrent-ruby, and the blocks of its futures and promises, work for whoever posted them, not
  # for whoever's thread runs them. Timers (TimerTask, ScheduledTask) work for nobody.
  module Concurrent # :nodoc: all
    # The block in the context of now, or in none.
    def self.carry(task)
      state = Correlator.capture
      proc { |*arguments| Correlator.with(state) { task.call(*arguments) } }
    end

    # Of executors, with threads of their own.
    module Post
      def post(*arguments, &task)
        return super unless task && Correlator.capture

        carried = Concurrent.carry(task)
        # A thread that the pool starts now is nobody's (see correlator/thread).
        Correlator.with(nil) { super(*arguments, &carried) }
      end
    end

    # Each job is posted by the thread that has done the one before.
    module Serialized
      def posts(posts)
        super(posts.map { |executor, values, task| [executor, values, Concurrent.carry(task)] })
      end
    end

    # It posts the loop that waits for all timers.
    module Timers
      private

      def post_task(*)
        Correlator.with(nil) { super }
      end
    end

    # Methods of promises with a block that runs later, in the thread that resolves the one before.
    PROMISES = %i[future_on delay_on schedule_on then_on chain_on rescue_on on_resolution_using
                  on_fulfillment_using on_rejection_using on_resolution! on_fulfillment!
                  on_rejection!].freeze

    class << self
      def install
        prepend_to("RubyExecutorService", :post) { Post }
        prepend_to("SimpleExecutorService", :post) { Post }
        prepend_to("SerializedExecution", :posts) { Serialized }
        prepend_to("TimerSet", :post_task) { Timers }
        promises = constant("Promises") or return
        carry_blocks_of(promises.singleton_class)
        %w[AbstractEventFuture Event Future].each do |name|
          carry_blocks_of(promises.const_get(name)) if promises.const_defined?(name)
        end
      end

      private

      def constant(name)
        ::Concurrent.const_get(name) if defined?(::Concurrent) && ::Concurrent.const_defined?(name)
      end

      def prepend_to(name, method)
        target = constant(name)
        target.prepend(yield) if target && instance_method?(target, method)
      end

      def instance_method?(target, method)
        target.method_defined?(method) || target.private_method_defined?(method)
      end

      def carry_blocks_of(target)
        names = PROMISES.select { |name| target.instance_methods(false).include?(name) }
        names = PROMISES & target.instance_methods if target.singleton_class?
        target.prepend(blocks(names))
      end

      def blocks(names)
        Module.new do
          names.each do |name|
            define_method(name) do |*arguments, &task|
              super(*arguments, &(task && Concurrent.carry(task)))
            end
          end
        end
      end
    end
  end

  private_constant :Concurrent

  Concurrent.install
end
