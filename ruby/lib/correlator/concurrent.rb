# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "correlator/wrap"

module Correlator
  # After require "concurrent": require "correlator/concurrent". What is posted to a pool of
  # concurrent-ruby, and the blocks of its futures and promises, work for whoever posted them, not
  # for whoever's thread runs them. Timers (TimerTask, ScheduledTask) work for nobody.
  module Concurrent # :nodoc: all
    # The block in the context of now, or in none.
    def self.carry(task)
      state = Correlator.capture
      ->(*arguments) { Correlator.with(state) { task.call(*arguments) } }
    end

    # Methods of promises with a block that runs later, in the thread that resolves the one before.
    PROMISES = %i[future_on delay_on schedule_on then_on chain_on rescue_on on_resolution_using
                  on_fulfillment_using on_rejection_using on_resolution! on_fulfillment!
                  on_rejection!].freeze

    class << self
      def install
        %w[RubyExecutorService SimpleExecutorService].each { |name| carry_posts(constant(name)) }
        carry_each_post(constant("SerializedExecution"))
        leave_timers(constant("TimerSet"))
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

      def instance_method?(target, method)
        target && (target.method_defined?(method) || target.private_method_defined?(method))
      end

      # Of executors, with threads of their own.
      def carry_posts(target)
        return unless instance_method?(target, :post)

        Wrap.replace(target, :post, :__correlator_post) do
          def post(*arguments, &task)
            return __correlator_post(*arguments, &task) unless task && Correlator.capture

            carried = Concurrent.carry(task)
            # A thread that the pool starts now is nobody's (see correlator/thread).
            Correlator.with(nil) { __correlator_post(*arguments, &carried) }
          end
        end
      end

      # Each job is posted by the thread that has done the one before.
      def carry_each_post(target)
        return unless instance_method?(target, :posts)

        Wrap.replace(target, :posts, :__correlator_posts) do
          def posts(posts)
            __correlator_posts(posts.map { |executor, values, task| [executor, values, Concurrent.carry(task)] })
          end
        end
      end

      # They post the loop that waits for all timers.
      def leave_timers(target)
        return unless instance_method?(target, :post_task)

        Wrap.replace(target, :post_task, :__correlator_post_task) do
          private

          def post_task(*arguments)
            Correlator.with(nil) { __correlator_post_task(*arguments) }
          end
        end
      end

      def carry_blocks_of(target)
        names = PROMISES.select { |name| target.instance_methods(false).include?(name) }
        names = PROMISES & target.instance_methods if target.singleton_class?
        names.each { |name| carry_block_of(target, name) }
      end

      def carry_block_of(target, name)
        kept = :"__correlator_#{name}"
        Wrap.replace(target, name, kept) do
          define_method(name) do |*arguments, &task|
            __send__(kept, *arguments, &(task && Concurrent.carry(task)))
          end
        end
      end
    end
  end

  private_constant :Concurrent

  Concurrent.install
end
