# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"
require "rails_application"

# What leaves the request's thread in Rails, or begins without a request.
class RailsLiveTest < Minitest::Test
  begin
    require "rails"
    require "action_controller/railtie"
    require "active_job/railtie"
    HAS_RAILS = true
  rescue LoadError
    HAS_RAILS = false
  end

  SEEN = Queue.new

  def self.look(name)
    SEEN << [name, Published[:request_id], Correlator[:request_id], Thread.current]
  end

  if HAS_RAILS
    require "correlator/rails"

    # An application may load both: what is hooked twice is wrapped once.
    BOTH = [ActionController::Base, ActionController::API].freeze

    class EventsController < ActionController::Base
      include ActionController::Live

      def index
        RailsLiveTest.look(:action)
        2.times { |number| response.stream.write("#{number} #{Published[:request_id]}\n") }
        GATE.pop if params[:gate]
        RailsLiveTest.look(:late)
        raise "no" if params[:raise]
      ensure
        response.stream.close
        AFTER << Thread.current
      end
    end

    class AsyncJob < ActiveJob::Base
      retry_on ArgumentError, wait: 0, attempts: 2

      def perform(fail_first)
        RailsLiveTest.look([self.class.name, *Correlator.current.values_at(
          :endpoint, :parent_request_id
        )])
        raise ArgumentError if fail_first && executions == 1
      end
    end

    class Application < Rails::Application
      RailsApplication.configure(config)
      config.active_job.queue_adapter = :async
      routes.append { get "/events", to: "rails_live_test/events#index" }
    end
    Application.initialize!
    ActiveJob::Base.logger = nil
  end

  GATE = Queue.new
  AFTER = Queue.new

  def setup
    skip "no Rails" unless HAS_RAILS
    SEEN.clear
  end

  def teardown
    Correlator.clear
  end

  def get(path, id)
    env = Rack::MockRequest.env_for("http://localhost#{path}", "HTTP_X_REQUEST_ID" => id)
    status, _, body = Application.call(env)
    yield if block_given?
    text = +""
    body.each { |part| text << part }
    body.close
    [status, text]
  end

  # name => [request_id that is published, the same by the gem]
  def seen(number)
    Array.new(number) { SEEN.pop }.to_h { |name, *ids| [name, ids.first(2)] }
  end

  def test_the_thread_of_a_live_action_works_for_its_request
    assert_equal [200, "0 r1\n1 r1\n"], get("/events", "r1")
    assert_equal({ action: %w[r1 r1], late: %w[r1 r1] }, seen(2))
    assert_equal 0, Published.address
  end

  def test_it_does_so_until_the_action_ends_and_no_longer
    get("/events?gate=1", "gate1") do
      assert_nil Published[:request_id]
      get("/events", "gate2")
      GATE << nil
    end
    found = Array.new(4) { SEEN.pop.first(3) }
    assert_equal [[:action, "gate1"], [:action, "gate2"], [:late, "gate2"], [:late, "gate1"]],
                 (found.map { |name, published, current| [name, published == current && published] })
  end

  def test_an_action_that_raises_in_the_middle_of_its_body_ends_too
    assert_equal [200, "0 raise\n1 raise\n"], get("/events?raise=1", "raise")
    assert_equal({ action: %w[raise raise], late: %w[raise raise] }, seen(2))
  end

  # Live copies the locals of the request's thread.
  def test_the_requests_own_thread_keeps_its_context_meanwhile
    inside = nil
    app = Correlator::Rack.new(lambda do |env|
      EventsController.action(:index).call(env).tap { inside = Published[:request_id] }
    end)
    env = Rack::MockRequest.env_for("http://localhost/", "HTTP_X_REQUEST_ID" => "own")
    _, _, body = app.call(env)
    body.each { |part| part }
    body.close
    assert_equal "own", inside
    assert_equal %w[own own], seen(2)[:late]
    assert_equal 0, Published.address
  end

  def test_jobs_of_the_async_adapter_and_their_retries_know_who_enqueued_them
    Correlator.with(request_id: "r1") { AsyncJob.perform_later(true) }
    Array.new(2) { SEEN.pop }.each do |(_, endpoint, parent), published, current|
      assert_equal ["RailsLiveTest::AsyncJob", "r1"], [endpoint, parent]
      assert_equal published, current
      refute_equal "r1", current
    end
  end

  def test_what_is_set_in_a_thread_that_rails_wraps_ends_with_it
    Thread.new do
      Application.executor.wrap { Correlator.set(request_id: "left") }
      assert_equal 0, Published.address
      Correlator.set(request_id: "mine")
      Application.executor.wrap { Correlator.set(request_id: "inner") }
      assert_equal "inner", Published[:request_id]
    end.join
  end

  def test_a_runner_is_one_job
    Thread.new do
      Application.load_runner
      assert_equal "rails runner", Correlator[:endpoint]
      assert_match(/\A\h{8}-/, Published[:request_id])
    end.join
  end
end
