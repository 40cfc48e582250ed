# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "torture/hurts"
require "torture/model"

module Torture
  # Ends a fiber or what a thread is at, from outside.
  class Stop < RuntimeError
  end

  # A fiber that can be resumed again: by the thread that made it.
  class Suspended
    attr_reader :model
    attr_accessor :fiber, :resumer, :is_running

    def initialize(model)
      @model = model
      @is_running = false
    end

    def resumable?
      !is_running && fiber.alive?
    end
  end

  # What a thread does: operations by chance, nested by chance, the model beside. Here those of
  # contexts and fibers; what is unkind is in Hurts.
  class Body
    include Hurts

    DEPTH_MAX = 6
    SUSPENDED_MAX = 10
    KEYS = %i[request_id endpoint user trace_id queue a b c d e f g].freeze

    # Operations by how often.
    OWN = { nest: 12, nest_over_captured: 4, nest_over_none: 3, set: 5, clear: 2, update: 4,
            inherit: 3, start_fiber: 10, resume_fiber: 12, pause: 8, stop_fiber: 3,
            abandon_fiber: 3, enumerate: 4, transfer: 2, return_early: 3, nothing: 2 }.freeze

    attr_reader :random, :suite

    # suite: the witness, the publisher, what may be done.
    def initialize(suite, random)
      @suite = suite
      @random = random
      @suspended = []
      @names = 0
      @left = 0
    end

    # The whole of a thread: nothing is in force before. Returns what is yet to be resumed.
    def run_thread(operations)
      @left = operations
      root = suite.fiber_model
      Correlator.clear unless suite.threads_start_empty?
      check(root, "a thread starts")
      operate(root, 0) while @left.positive?
      forget
      # What a thread leaves in force ends with it.
      return if suite.threads_start_empty? && Thread.current != Thread.main && random.rand(2).zero?

      Correlator.clear
      root.set(nil)
      Ruby::Profiler::State.new.apply! if root.theirs
      root.theirs = nil
      check(root, "a thread ends")
    end

    # Some operations in this fiber.
    def some(model, depth)
      return if depth > DEPTH_MAX

      random.rand(1..4).times { operate(model, depth) }
    end

    def operate(model, depth)
      return unless @left.positive?

      @left -= 1
      name = suite.operations.sample(random: random)
      suite.witness.step(name, depth)
      send(name, model, depth)
      check(model, name)
    end

    def check(model, where)
      suite.witness.check(model, where)
    end

    # Of pairs that prove themselves.
    def pairs
      KEYS.sample(random.rand(1..random.rand(1..KEYS.size)), random: random)
          .push(:request_id).uniq.to_h { |key| [key, value(key)] }
    end

    def value(key)
      @names += 1
      case random.rand(8)
      when 0 then @names
      when 1 then :"a symbol"
      when 2 then Onlooker.prove("frozen").freeze
      else Onlooker.prove("#{key} #{@names} of #{object_id}#{"." * random.rand(40)}")
      end
    end

    # A context made of pairs over what is in force.
    def over_current(model, pairs)
      bases = [Correlator.current]
      # It may be gone by the next collection.
      bases |= model.allowed if model.doubtful?
      Context.new(*bases.map { |base| (base || {}).merge(pairs) })
    end

    def nesting(model, context, arguments, pairs)
      Correlator.public_send(suite.ways_to_nest.sample(random: random), *arguments, **pairs) do
        model.enter(context)
        begin
          check(model, "with")
          yield
          check(model, "before with ends")
        rescue Stop
          check(model, "raised within with")
          raise
        ensure
          model.leave
        end
      end
    ensure
      check(model, "after with")
    end

    def nest(model, depth)
      added = pairs
      nesting(model, over_current(model, added), [], added) { some(model, depth + 1) }
    end

    def nest_over_none(model, depth)
      return nesting(model, nil, [nil], {}) { some(model, depth + 1) } if random.rand(2).zero?

      added = pairs
      nesting(model, Context.new(added), [nil], added) { some(model, depth + 1) }
    end

    def nest_over_captured(model, depth)
      state = Correlator.capture
      context = kept(model)
      nesting(model, nil, [nil], {}) do
        some(model, depth + 1)
        nesting(model, context, [state], {}) { some(model, depth + 1) }
      end
    end

    # The model of what is captured: one of those that may be in force.
    def kept(model)
      current = Correlator.current
      return unless current

      frame = model.lendable.find { |one| one&.context&.versions&.include?(current) }
      frame.context.keep
      frame.context
    end

    def set(model, _depth)
      added = pairs
      context = over_current(model, added)
      Correlator.set(**added)
      model.set(context)
    end

    def clear(model, _depth)
      Correlator.clear
      model.set(nil)
    end

    # To the context in force, without ending it.
    def update(model, _depth)
      return unless suite.updates?

      current = Correlator.current
      added = pairs
      context = kept(model)
      Correlator.update(**added)
      context&.update(current.merge(added))
      seen = Correlator.current
      # What is lent may have ended in a collection since: the next check knows.
      suite.witness.expect("update", current&.merge(added), seen) unless model.doubtful?
    end

    def inherit(model, depth)
      context = kept(model)
      work = Correlator.inherit { |inner| inner.call }
      suspended = suspend do |borrower|
        within(borrower, context, work) { some(borrower, depth + 1) }
      end
      resume(model, suspended)
    end

    def within(model, context, work)
      inner = lambda do
        model.enter(context)
        check(model, "inherit")
        yield
      ensure
        model.leave
      end
      work.call(inner)
    ensure
      check(model, "after inherit")
    end

    # Out of the block by throw, break or raise.
    def return_early(model, depth)
      added = pairs
      way = random.rand(3)
      catch(:out) do
        [1].each do
          nesting(model, over_current(model, added), [], added) do
            some(model, depth + 1)
            throw :out if way.zero?
            break if way == 1
            raise Stop if way == 2
          end
        end
      end
    rescue Stop
      check(model, "after raise")
    end

    def nothing(_model, _depth); end

    # A fiber around the block, not started.
    def suspend(model = suite.fiber_model)
      model.can_pause = true
      suspended = Suspended.new(model)
      suspended.fiber = Fiber.new do
        model.resumed_first_by(suspended.resumer)
        check(model, "a fiber starts")
        yield model
      rescue Stop
        check(model, "a fiber was stopped")
      ensure
        model.gone
      end
      suspended
    end

    def start_fiber(model, depth)
      suspended = suspend do |inner|
        some(inner, depth + 1)
        Fiber.yield
        check(inner, "resumed")
        some(inner, depth + 1)
      end
      resume(model, suspended)
    end

    def resume(model, suspended, &block)
      suspended.resumer = model
      suspended.is_running = true
      block ? yield(suspended.fiber) : suspended.fiber.resume
    ensure
      suspended.is_running = false
      keep(suspended) if suspended.fiber.alive?
    end

    def keep(suspended)
      @suspended << suspended unless @suspended.include?(suspended)
      abandon_fiber(nil, 0) if @suspended.size > SUSPENDED_MAX
    end

    def any_suspended
      @suspended.select!(&:resumable?)
      @suspended.delete(@suspended.sample(random: random))
    end

    def resume_fiber(model, _depth)
      suspended = any_suspended
      resume(model, suspended) if suspended
    end

    # By an exception, or killed.
    def stop_fiber(model, _depth)
      suspended = any_suspended
      return unless suspended

      resume(model, suspended) do |fiber|
        if fiber.respond_to?(:kill) && random.rand(2).zero?
          fiber.kill
        elsif suite.raises_after_switch?
          fiber.raise(Stop)
        else
          fiber.resume
        end
      end
    end

    def abandon_fiber(_model, _depth)
      any_suspended&.model&.gone
    end

    # Whatever runs may be wherever; at the end of a thread only.
    def forget
      @suspended.each { |one| one.model.gone }
      @suspended.clear
    end

    # Back to whoever resumed this fiber, to be resumed by anybody.
    def pause(model, _depth)
      Fiber.yield if model.can_pause
    end

    def enumerate(model, depth)
      inner = suite.fiber_model
      numbers = Enumerator.new do |yielder|
        inner.resumed_first_by(model)
        check(inner, "an enumerator starts")
        added = pairs
        nesting(inner, over_current(inner, added), [], added) do
          3.times do |number|
            yielder << number
            check(inner, "an enumerator goes on")
          end
        end
      end
      random.rand(1..4).times do
        numbers.next
        check(model, "after next")
        some(model, depth + 2)
      end
    rescue StopIteration
      check(model, "an enumerator has ended")
    ensure
      inner&.gone
    end

    # Of a root only: Ruby wants to know who resumes whom.
    def transfer(model, depth)
      return if depth.positive? || model.can_pause

      root = Fiber.current
      other = suite.fiber_model
      Fiber.new do
        other.resumed_first_by(model)
        check(other, "transferred to")
        added = pairs
        nesting(other, over_current(other, added), [], added) { root.transfer }
      end.transfer
      other.gone
    end
  end
end
