# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

class RactorTest < Minitest::Test
  def setup
    skip "no Ractor" unless defined?(Ractor)
    @warning = Warning[:experimental]
    Warning[:experimental] = false
  end

  def teardown
    Warning[:experimental] = @warning if defined?(Ractor)
    Correlator.clear
  end

  def value_of(ractor)
    ractor.respond_to?(:value) ? ractor.value : ractor.take
  end

  # They sleep now and then: Ruby 3.3 deadlocks, also without the gem, where they only compute.
  def test_ractors_at_work_at_the_same_time_each_publish_their_own_contexts
    ractors = Array.new(4) do |number|
      Ractor.new(number) do |name|
        (1..200).count do |turn|
          id = "#{name}-#{turn}"
          Correlator.with(request_id: id) do
            sleep(0.0001) if (turn % 10).zero?
            Published[:request_id] != id || Correlator.current != { request_id: id }
          end
        end
      end
    end
    Correlator.with(request_id: "main") do
      assert_equal [0] * 4, ractors.map { |ractor| value_of(ractor) }
      assert_equal "main", Published[:request_id]
    end
    assert_equal 0, Published.address
  end

  def test_fibers_and_threads_of_a_ractor_are_followed
    wrong = value_of(Ractor.new do
      see = -> { Published[:request_id] }
      bad = []
      Correlator.with(request_id: "outer") do
        fiber = Fiber.new do
          Correlator.with(request_id: "inner") { loop { Fiber.yield(see.call) } }
        end
        20.times { bad << :fiber unless [fiber.resume, see.call] == %w[inner outer] }
        bad << :new_fiber unless Fiber.new { see.call }.resume == "outer"
        bad << :new_thread unless Thread.new { see.call }.value.nil?
      end
      threads = Array.new(6) do |number|
        Thread.new do
          (1..30).count do |turn|
            Correlator.with(request_id: "#{number}-#{turn}") do
              turn.even? ? sleep(0.001) : Thread.pass
              see.call != "#{number}-#{turn}"
            end
          end
        end
      end
      bad << :threads unless threads.sum(&:value).zero?
      bad
    end)
    assert_empty wrong
  end

  # An autoload would raise here until Ruby 3.4.
  def test_the_middlewares_work_in_a_ractor
    env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/5", "HTTP_X_REQUEST_ID" => "r-1" }
    seen = value_of(Ractor.new(env) do |request|
      app = lambda { |_| [200, {}, [Correlator.current, Published[:request_id]]] }
      [Correlator::Rack.new(app).call(request).last,
       Correlator::Sidekiq::Server.new.call(nil, { "jid" => "j", "class" => "Job" }, "default") do
         Correlator.current
       end]
    end)
    assert_equal [[{ request_id: "r-1" }, "r-1"],
                  { request_id: "j", endpoint: "Job", queue: "default" }], seen
  end

  def test_a_ractor_that_ends_leaves_nothing_to_the_next
    8.times { value_of(Ractor.new { Correlator.set(request_id: "left behind") }) }
    assert_equal [0], Array.new(8) { value_of(Ractor.new { Published.address }) }.uniq
  end

  def test_contexts_of_ractors_survive_garbage_collection
    ractors = Array.new(2) do |number|
      Ractor.new(number) do |name|
        (1..100).count do |turn|
          Correlator.with(request_id: "ractor #{name} and turn #{turn}") do
            GC.start(full_mark: false) if (turn % 5).zero?
            Published[:request_id] != "ractor #{name} and turn #{turn}"
          end
        end
      end
    end
    assert_equal([0, 0], ractors.map { |ractor| value_of(ractor) })
  end
end
