# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "correlator/rails/load_async"
require "published"

# Rails 7.0's and later; where that is not to be had, what is called of it, in the same order.
module ActiveRecord
  class FutureResult
    def initialize(pool, &query)
      @pool = pool
      @query = query
    end

    def schedule!(_session)
      @pool << self
    end

    def execute_or_skip
      @query.call
    end
  end
end

class LoadAsyncTest < Minitest::Test
  Correlator::Railtie::LoadAsync.install

  def test_a_query_works_for_the_request_that_asked_for_it
    pool = Queue.new
    seen = []
    query = -> { seen << Published[:request_id] }
    Correlator.with(request_id: "r1") { ActiveRecord::FutureResult.new(pool, &query).schedule!(1) }
    ActiveRecord::FutureResult.new(pool, &query).schedule!(1)
    Thread.new do
      2.times do
        pool.pop.execute_or_skip
        assert_equal 0, Published.address
      end
    end.join
    assert_equal ["r1", nil], seen
  end
end
