# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "collector"
require "torture/body"
require "torture/witness"

module Torture
  # The rounds, and what may be done in them: with this Ruby, beside this publisher.
  class Suite
    # So often lent the dead, so that chance says nothing.
    LOANS_MIN = 20
    # A thread's first fiber.
    ROOT = :torture_root

    attr_reader :witness, :operations

    def initialize(seconds:, seed:, publisher:, without:, only:, rounds: nil)
      @seconds = seconds
      @rounds = rounds || Float::INFINITY
      @seed = seed
      @publisher = publisher
      @shares = ENV["RUBY_MN_THREADS"] == "1" && RUBY_VERSION >= "3.3"
      @loans = @lent = 0
      @witness = Witness.new(method(:repeat))
      @operations = weighted(without.map(&:to_sym), only&.map(&:to_sym))
    end

    def run
      puts "torture: --seed #{@seed} --publisher #{@publisher}, Ruby #{RUBY_VERSION}" \
           "#{" with shared native threads" if @shares}"
      deadline = now + @seconds
      round = 0
      while round < @rounds && now < deadline
        run_round(@seed + round)
        round += 1
      end
      check_loans
      puts "torture: #{round} rounds, #{witness.checks} checks, #{summary}"
    end

    def run_round(seed)
      @current = seed
      random = Random.new(seed)
      watching { Body.new(self, random).run_thread(random.rand(50..400)) }
      Collector.compact_by_itself(false)
      witness.check_readings
    end

    # The whole of a thread.
    def watching(&block)
      Thread.current.thread_variable_set(ROOT, Fiber.current)
      witness.watching(&block)
    end

    def fiber_model
      FiberModel.new(borrows: borrows?)
    end

    def random_operations(random)
      random.rand(5..60)
    end

    # Fibers of the gem ruby-profiler do not borrow.
    def borrows?
      @publisher != "first"
    end

    # ... nor does it follow the end of a thread, and Ruby up to 3.2 uses native ones again.
    def threads_start_empty?
      @publisher != "first"
    end

    # ... and it notes down in the Fiber.
    def fibers_may_freeze?
      @publisher != "first"
    end

    # Until Ruby 3.0 an exception for a fiber comes before the switch, which the other publisher
    # awaits.
    def raises_after_switch?
      @publisher == "own" || RUBY_VERSION >= "3.1"
    end

    def theirs?
      @publisher == "later" && !@shares
    end

    # With a block, set is with.
    def ways_to_nest
      @ways_to_nest ||= Correlator.set { true } ? %i[with set] : %i[with]
    end

    def updates?
      Correlator.respond_to?(:update)
    end

    # The values of the other publisher move as ever.
    def compacts?
      @publisher == "own" && Collector.compacts?
    end

    # Ruby 3.4.11 itself crashes when a fiber blocks in a thread that shares a native one, and now
    # and then when fibers only switch there.
    def may_wait?
      !@shares || root_fiber?
    end

    def root_fiber?
      Thread.current.thread_variable_get(ROOT) == Fiber.current
    end

    # Threads that start threads would never end.
    def may_start_threads?
      Thread.current == Thread.main && may_wait?
    end

    # One at a time, and none in Ruby 3.3.8, which deadlocks now and then: they crash 3.4.11 where
    # threads share native ones.
    def ractors?
      defined?(Ractor) && @publisher == "own" && !@shares && Thread.current == Thread.main &&
        !RUBY_VERSION.start_with?("3.3.")
    end

    def lent_by_the_dead(pairs)
      @loans += 1
      @lent += 1 if pairs
    end

    def check_loans
      return if @loans < LOANS_MIN || @lent < @loans / 2

      witness.blame("fibers that were abandoned and collected",
                    "#{@lent} of #{@loans} lend their context for ever", [])
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def repeat
      "torture/run.rb --seed #{@current} --rounds 1 --publisher #{@publisher}"
    end

    def weighted(without, only)
      # Beside so many kind ones, those that take long would leave time for little else.
      weights = Body::OWN.merge(Hurts::OPERATIONS).transform_values { |weight| weight * 8 }
                         .merge(Hurts::COSTLY)
      weights = weights.slice(*only) if only
      weights.reject { |name, _| without.include?(name) }
             .flat_map { |name, weight| [name] * weight }
    end

    def summary
      counts = Onlooker.counts
      beside = Onlooker.beside? ? counts[:beside_whole] : "no (tables have no serial numbers)"
      "#{counts[:within_whole]} tables read at any instant, #{beside} from beside"
    end
  end
end
