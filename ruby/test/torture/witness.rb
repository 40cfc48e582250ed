# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator"
require "published"
require "onlooker"

module Torture
  # Compares what is there with the model, and ends the process at the first difference.
  class Witness
    WATCH_US = 150
    STEPS_SHOWN = 40

    attr_reader :checks

    # repeat: the arguments that make it happen again.
    def initialize(repeat)
      @repeat = repeat
      @checks = 0
      @steps = []
      Onlooker.open(Published.extension)
    end

    # Runs the block; each instruction of it on this native thread is one where it may be read.
    def watching
      Onlooker.watch(WATCH_US)
      yield
    ensure
      Onlooker.unwatch
    end

    # What is printed of what came before a difference.
    def step(name, depth)
      @steps << "#{"  " * depth}#{name}"
      @steps.shift if @steps.size > STEPS_SHOWN
    end

    def check(fiber, where)
      published = Published.to_h
      current = Correlator.current
      @checks += 1
      allowed = fiber.allowed
      blame(where, "current is #{current}", allowed) unless allowed.include?(current)
      check_key(current, where) unless fiber.doubtful?
      theirs = fiber.theirs
      # What an abandoned fiber has lent ends with a collection, and is published until the next
      # switch.
      return if published == current || (theirs && published == theirs) ||
                (fiber.doubtful? && allowed.include?(published))

      blame(where, "published is #{published}, current #{current}", allowed + [theirs].compact)
    end

    def check_key(current, where)
      expect("#{where}: one key", current && current[:request_id], Correlator[:request_id])
    end

    def check_size(where)
      size = Published.size
      return unless size

      capacity = Published.capacity
      return if capacity >= size && (capacity & (capacity - 1)).zero?

      blame(where, "size is #{size}, capacity #{capacity}", [])
    end

    def check_readings
      violations = Onlooker.violations
      blame("a reading", violations.join("\n"), []) if violations.any?
    end

    def expect(where, expected, seen)
      blame(where, "seen is #{seen.inspect}", [expected]) unless expected == seen
    end

    def blame(where, what, allowed)
      message = ["torture: the last steps:", *@steps, "torture: #{where}: #{what}",
                 *allowed.map { |one| "  allowed: #{one.inspect}" },
                 *caller.first(25).map { |line| "  #{line}" }, "torture: again: #{@repeat.call}"]
      $stderr.write("#{message.join("\n")}\n")
      exit!(1)
    end
  end
end
