# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fiber"
require "minitest/autorun"
require "correlator"
require "published"

# Ruby's own interface for event loops (Fiber::Scheduler, 3.0+), as Falcon's server uses it: every
# blocking call of a non-blocking fiber is a switch to the loop.
class SchedulerTest < Minitest::Test
  class Scheduler
    def initialize
      @wake_at = {}
      @ready = Queue.new
    end

    def run
      until @wake_at.empty? && @ready.empty?
        due = @wake_at.select { |_, time| time <= now }.keys
        due.each { |fiber| @wake_at.delete(fiber) }
        due << @ready.pop until @ready.empty?
        due.each { |fiber| fiber.resume if fiber.alive? }
        IO.select(nil, nil, nil, 0.001) if due.empty?
      end
    end
    alias close run

    def fiber(&block)
      Fiber.new(blocking: false, &block).tap(&:resume)
    end

    def kernel_sleep(duration = nil)
      @wake_at[Fiber.current] = now + duration.to_f
      Fiber.yield
    end

    def io_wait(io, events, _timeout = nil)
      Fiber.yield(@ready << Fiber.current) until io.ready?
      events
    end

    def block(_blocker, timeout = nil)
      @wake_at[Fiber.current] = now + timeout if timeout
      Fiber.yield
    end

    def unblock(_blocker, fiber)
      @ready << fiber
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end

  def setup
    skip "Ruby 3.0+" unless Fiber.respond_to?(:set_scheduler)
  end

  def schedule(&block)
    Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      block.call
    end.join
  end

  def test_requests_and_their_child_tasks_keep_their_contexts_over_blocking_calls
    seen = Hash.new { |hash, key| hash[key] = [] }
    schedule do
      5.times do |number|
        Fiber.schedule do
          Correlator.with(request_id: "r#{number}") do
            children = Array.new(2) { |child| start_child(seen, "r#{number}", child) }
            look(seen, "r#{number}") while children.any?(&:alive?)
          end
          seen["after"] << Published[:request_id]
        end
        seen["loop"] << Published[:request_id]
      end
    end
    assert_equal [nil], seen.delete("loop").uniq
    assert_equal [nil], seen.delete("after").uniq
    assert_equal 5, seen.size
    seen.each { |id, found| assert_equal [id], found.uniq }
  end

  def look(seen, name)
    sleep 0.001
    seen[name] << Published[:request_id]
  end

  def start_child(seen, name, child)
    Fiber.schedule { (3 + child).times { look(seen, name) } }
  end

  def test_a_task_that_goes_on_after_its_request_is_charged_to_nobody
    seen = []
    schedule do
      Fiber.schedule do
        task = nil
        Correlator.with(request_id: "first") do
          task = Fiber.schedule do
            3.times do
              seen << Published[:request_id]
              sleep 0.002
            end
          end
        end
        Correlator.with(request_id: "second") { sleep 0.001 while task.alive? }
      end
    end
    assert_equal ["first", nil, nil], seen
  end
end
