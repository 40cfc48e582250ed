# SPDX-License-Identifier: MIT
# frozen_string_literal: true

module Torture
  # Operations of a Body: what applications, other gems and Ruby itself do that could hurt.
  module Hurts
    # By how often. Those in COSTLY take milliseconds.
    OPERATIONS = { wipe: 1, copy_to_fiber: 3, copy_to_thread: 2, write_back: 1, freeze_fiber: 2,
                   freeze_thread: 2, trace: 2, continue: 2, theirs: 3, collect: 3,
                   junk: 4 }.freeze
    COSTLY = { threads: 4, storm: 2, kill: 3, lend_and_abandon: 3, fork_here: 1, ractor: 1,
               ractor_loads: 1, compact: 2, stress: 2, collect_all: 2 }.freeze

    # Puma's clean_thread_locals.
    def wipe(model, _depth)
      Thread.current.keys.each { |key| Thread.current[key] = nil }
      model.wipe
    end

    def locals
      Thread.current.keys.to_h { |key| [key, Thread.current[key]] }
    end

    def take_over(locals)
      locals.each { |key, value| Thread.current[key] = value }
    end

    # GraphQL's Dataloader.
    def copy_to_fiber(model, depth)
      copied = locals
      suspended = suspend do |inner|
        take_over(copied)
        check(inner, "locals were copied")
        some(inner, depth + 1)
        take_over(copied)
        check(inner, "locals were copied again")
      end
      resume(model, suspended)
    end

    # ActionController::Live.
    def copy_to_thread(_model, _depth)
      return unless suite.may_wait?

      copied = locals
      in_thread do |body|
        root = suite.fiber_model
        take_over(copied)
        check(root, "locals were copied to a thread")
        body.nest(root, Body::DEPTH_MAX - 1)
        check(root, "a thread ends that locals were copied to")
      end
    end

    # A fiber puts its locals back as they were in a context that has ended: nobody can say what is
    # in force there, but it is alive.
    def write_back(_model, _depth)
      Fiber.new do
        before = Correlator.with(**pairs) { locals }
        take_over(before)
        look
        Fiber.new { look }.resume
        Correlator.with(**pairs) { take_over(before) || look }
        look
      end.resume
    end

    # What is there is complete and alive, whatever it is.
    def look
      Published.to_h.to_s
      Correlator.current.to_s
      suite.witness.check_size("what is there")
    end

    def freeze_fiber(model, depth)
      return unless suite.fibers_may_freeze?

      suspended = suspend do |inner|
        Fiber.current.freeze
        nest(inner, depth + 1)
      end
      resume(model, suspended)
    end

    # Nothing new can be kept in it, but what was in force ends.
    def freeze_thread(_model, _depth)
      return unless suite.may_wait?

      in_thread do |body|
        root = suite.fiber_model
        added = pairs
        body.nesting(root, Context.new(added), [], added) do
          Thread.current.freeze
          body.try_nesting(root)
          Fiber.new { body.try_nesting(body.borrower_in_frozen_thread(root)) }.resume
          check(root, "in a frozen thread")
        end
        check(root, "a frozen thread ends")
      end
    end

    # It may have nowhere to keep what it borrows.
    def borrower_in_frozen_thread(root)
      borrower = suite.fiber_model
      borrower.resumed_first_by(root)
      borrower.wipe
      borrower
    end

    def try_nesting(model)
      added = pairs
      context = over_current(model, added)
      Correlator.with(**added) do
        model.enter(context)
        check(model, "with in a frozen thread")
      ensure
        model.leave
      end
    rescue FrozenError
      check(model, "after with in a frozen thread")
    end

    def traced; end

    # Ruby announces no switches there. A trace is of all threads that come by.
    def trace(model, _depth)
      return unless suite.borrows?

      added = pairs
      inner = suite.fiber_model
      inner.theirs = model.theirs
      thread = Thread.current
      TracePoint.new(:call) do
        next unless Thread.current == thread

        inner.resumed_first_by(model)
        Fiber.new do
          check(inner, "a fiber in a trace")
          nesting(inner, over_current(inner, added), [], added) { nil }
        end.resume
        check(model, "after a fiber in a trace")
      end.enable(target: method(:traced)) { traced }
    end

    # Into a block that has ended. What is in force there nobody can say; what was before is
    # restored. In a thread of its own, once: with one such block in another Ruby itself crashes,
    # with those of File.open, too.
    def continue(_model, _depth)
      return unless suite.may_wait?

      in_thread do |body|
        root = suite.fiber_model
        added = pairs
        Correlator.set(**added)
        root.set(Context.new(added))
        body.go_back(root)
        borrower = suite.fiber_model
        borrower.resumed_first_by(root)
        Fiber.new { check(borrower, "lent after callcc") }.resume
        Correlator.clear
      end
    end

    def go_back(model)
      again = nil
      times = 0
      Correlator.with(**pairs) do
        callcc { |continuation| again = continuation }
        times += 1
        look
      end
      check(model, "after callcc, #{times}")
      again.call if times < 2
    end

    # apply! of the other gem.
    def theirs(model, _depth)
      return if !suite.theirs? || Fiber.current.frozen?

      model.theirs = random.rand(4).zero? ? nil : pairs
      Ruby::Profiler::State.new(**(model.theirs || {})).apply!
      Fiber.new {}.resume
    end

    def collect(_model, _depth)
      GC.start(full_mark: random.rand(2).zero?, immediate_sweep: random.rand(3).zero?)
    end

    def collect_all(_model, _depth)
      3.times { GC.start }
    end

    def junk(_model, _depth)
      Array.new(300) { |number| Onlooker.prove("junk #{number}") }
    end

    def compact(model, depth)
      return unless suite.compacts?

      GC.compact
      Collector.compact_by_itself(random.rand(2).zero?)
      some(model, depth + 1)
    ensure
      Collector.compact_by_itself(false)
    end

    def stress(model, _depth)
      return unless suite.may_wait?

      added = pairs
      context = over_current(model, added)
      inner = suite.fiber_model
      # Each allocation compacting everything, too, would leave time for nothing else.
      Collector.compact_by_itself(false)
      GC.stress = random.rand(2).zero? ? true : 1
      Correlator.with(**added) do
        model.enter(context)
        inner.resumed_first_by(model)
        Fiber.new { inner.theirs || check(inner, "a fiber under stress") }.resume
        check(model, "with under stress")
        model.leave
      end
    ensure
      GC.stress = false
    end

    # A Body of its own, in a thread that is awaited.
    def in_thread
      body = Body.new(suite, Random.new(random.rand(1 << 32)))
      body.work_alone
      thread(body) { yield body }.join
    end

    # Without a number of operations to spend.
    def work_alone
      @left = 1
    end

    # Ended by a storm it may be before its first line, and that is not worth a report.
    def thread(body)
      before = Thread.report_on_exception
      Thread.report_on_exception = false
      Thread.new do
        suite.watching do
          Correlator.clear unless suite.threads_start_empty?
          yield body
        end
      end
    ensure
      Thread.report_on_exception = before
    end

    def threads(_model, _depth)
      return unless suite.may_start_threads?

      threads = Array.new(random.rand(1..4)) do
        body = Body.new(suite, Random.new(random.rand(1 << 32)))
        thread(body) { body.run_thread(suite.random_operations(random)) }
      end
      threads.each(&:value)
    end

    # Contexts and fibers where an exception may come at any time.
    def window(one, other)
      Correlator.with(**one) do
        fiber = Fiber.new do
          Correlator.with(**other) { interrupted(one.merge(other)) { Fiber.yield } }
          Correlator.set(**one)
        end
        fiber.resume
        Thread.pass
        Correlator.with(**other) { interrupted(one.merge(other)) { fiber.resume } }
      end
    end

    # An exception finds the context of where it is raised.
    def interrupted(pairs)
      yield
    rescue Stop
      published = Published.to_h
      suite.witness.expect("an exception in a block", pairs, published)
      raise
    end

    def storm(_model, _depth)
      return unless suite.may_wait?

      victim = thread(self) { weather(pairs, pairs) }
      while victim.alive?
        victim.raise(Stop)
        Thread.pass
      end
      begin
        victim.join
      rescue Stop
        nil
      end
    end

    def weather(one, other)
      root = suite.fiber_model
      Thread.handle_interrupt(Stop => :never) do
        20.times do
          begin
            Thread.handle_interrupt(Stop => :immediate) { window(one, other) }
          rescue Stop
            nil
          end
          check(root, "after a storm")
        end
      end
    end

    def kill(_model, _depth)
      return unless suite.may_wait?

      one = pairs
      other = pairs
      ready = Queue.new
      victim = thread(self) do
        ready << true
        loop { window(one, other) }
      ensure
        Thread.handle_interrupt(Object => :never) { check(suite.fiber_model, "killed") }
      end
      ready.pop
      random.rand(3).times { Thread.pass }
      victim.kill.join
      suite.witness.expect("a thread after a killed one", 0, Thread.new { Published.address }.value)
    end

    # What an abandoned fiber has lent ends when it is collected: how often is counted, as the
    # collector may see a reference where there is none.
    def lend_and_abandon(_model, _depth)
      return unless suite.borrows? && suite.may_wait?

      in_thread do
        borrower = Fiber.new { loop { Fiber.yield(Correlator.current) } }
        abandon_lender(borrower, 20)
        suite.witness.expect("lent", Hash, borrower.resume.class)
        Array.new(100) { |number| "junk #{number}" }
        2.times { GC.start }
        suite.lent_by_the_dead(borrower.resume)
      end
    end

    # Deep in the stack, which is used again.
    def abandon_lender(borrower, depth)
      return abandon_lender(borrower, depth - 1) && nil if depth.positive?

      added = pairs
      Fiber.new { Correlator.with(**added) { borrower.resume && Fiber.yield } }.resume
      nil
    end

    # Its one fiber is the one that forked.
    def fork_here(model, _depth)
      added = pairs
      pid = fork do
        check(model, "forked")
        nesting(model, over_current(model, added), [], added) { window(added, added) }
        GC.start
        check(model, "a child ends")
        exit!(0)
      end
      status = Process.wait2(pid).last
      suite.witness.blame("a child", status.to_s, []) unless status.success?
    end

    def ractor(_model, _depth)
      return unless suite.ractors?

      given = pairs.transform_values { |one| one.is_a?(String) ? one.dup.freeze : one }.freeze
      ractor = Ractor.new(given) do |own|
        before = Published.to_h
        seen = Correlator.with(**own) do
          GC.start
          [Fiber.new { Published.to_h }.resume, Published.to_h, Correlator.current]
        end
        [before, *seen, Published.to_h]
      end
      suite.witness.expect("a Ractor", [nil, given, given, given, nil], value_of(ractor))
    end

    # What the library has not loaded yet.
    def ractor_loads(_model, _depth)
      return unless suite.ractors?

      ractor = Ractor.new { Correlator::Endpoint.to_s }
      suite.witness.expect("a Ractor", "Correlator::Endpoint", value_of(ractor))
    end

    def value_of(ractor)
      ractor.respond_to?(:value) ? ractor.value : ractor.take
    end
  end
end
