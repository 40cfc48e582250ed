# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "tmpdir"
require "correlator"
require "correlator/rails/load_async"
require "published"

begin
  verbose, $VERBOSE = $VERBOSE, nil
  require "active_record"
  require "sqlite3"
rescue LoadError
  nil
ensure
  $VERBOSE = verbose
end

class LoadAsyncTest < Minitest::Test
  # Rails 7.0+ where it is installed; else what its load_async calls, in the same order.
  REAL = defined?(ActiveRecord::FutureResult)
  SEEN = Queue.new

  def self.look
    SEEN << [Thread.current, Published[:request_id]]
  end

  if REAL
    class Order < ActiveRecord::Base; end

    # Where the query is made.
    module Look
      def execute_or_skip
        super
        LoadAsyncTest.look
      end
    end

    ActiveRecord::FutureResult.prepend(Look)
  else
    module ::ActiveRecord
      class FutureResult
        def initialize(pool)
          @pool = pool
        end

        def schedule!(_session)
          @pool << self
        end

        def execute_or_skip
          LoadAsyncTest.look
        end
      end
    end
  end

  Correlator::Railtie::LoadAsync.install

  def setup
    return unless REAL

    @folder = Dir.mktmpdir
    ActiveRecord.async_query_executor = :global_thread_pool
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: "#{@folder}/orders")
    ActiveRecord::Base.connection.create_table(:orders)
    @session = ActiveRecord::Base.asynchronous_queries_tracker.tap(&:start_session)
  end

  def teardown
    return unless REAL

    @session.finalize_session
    ActiveRecord::Base.connection_handler.clear_all_connections!
    FileUtils.remove_entry(@folder)
  end

  # Asks for something, and waits until it was looked up in another thread.
  def load
    if REAL
      Order.all.load_async
    else
      pool = Queue.new
      ActiveRecord::FutureResult.new(pool).schedule!(1)
      Thread.new { pool.pop.execute_or_skip }
    end
    thread, id = SEEN.pop
    refute_same Thread.current, thread
    id
  end

  def test_a_query_works_for_the_request_that_asked_for_it
    assert_equal "r1", Correlator.with(request_id: "r1") { load }
    assert_nil load
    assert_equal "r2", Correlator.with(request_id: "r2") { load }
  end
end
