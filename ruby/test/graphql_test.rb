# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "published"

# GraphQL's Dataloader runs fields and sources in fibers that get all locals of the caller's.
class GraphQLTest < Minitest::Test
  begin
    verbose, $VERBOSE = $VERBOSE, nil
    require "graphql"
    $VERBOSE = verbose
    HAS_GRAPHQL = true
  rescue LoadError
    $VERBOSE = verbose
    HAS_GRAPHQL = false
  end

  SEEN = []

  def self.look(name)
    SEEN << [name, Published[:request_id], Correlator[:request_id]]
  end

  if HAS_GRAPHQL
    class Orders < GraphQL::Dataloader::Source
      def fetch(keys)
        GraphQLTest.look(:fetch)
        keys.map { |key| "order #{key}" }
      end
    end

    class Query < GraphQL::Schema::Object
      field :order, String, null: true do
        argument :id, Integer, required: true
      end

      def order(id:)
        GraphQLTest.look(:field)
        order = dataloader.with(Orders).load(id)
        GraphQLTest.look(:loaded)
        order
      end
    end

    class Schema < GraphQL::Schema
      query Query
      use GraphQL::Dataloader
    end
  end

  def setup
    skip "no GraphQL" unless HAS_GRAPHQL
    SEEN.clear
  end

  def teardown
    Correlator.clear
  end

  def query(id)
    Correlator.with(request_id: id) do
      result = Schema.execute("{ a: order(id: 1) b: order(id: 2) }").to_h
      assert_equal({ "a" => "order 1", "b" => "order 2" }, result["data"])
      assert_equal id, Published[:request_id]
    end
    assert_equal 0, Published.address
    assert_nil Correlator.current
  end

  def test_fields_and_sources_work_for_the_request
    2.times do |number|
      query("r#{number}")
      assert_equal [["r#{number}"] * 2], SEEN.map { |_, *ids| ids }.uniq
      assert_equal %i[fetch field loaded], SEEN.map(&:first).uniq.sort
      SEEN.clear
    end
  end

  # A fiber that is left over has the locals of a request that is over.
  def test_a_fiber_with_copied_locals_works_for_nobody_afterwards
    fiber = Correlator.with(request_id: "r1") do
      locals = Thread.current.keys.map { |key| [key, Thread.current[key]] }
      copying = Fiber.new do
        locals.each { |key, value| Thread.current[key] = value }
        Fiber.yield(GraphQLTest.look(:during))
        GraphQLTest.look(:after)
      end
      copying.resume
      assert_equal "r1", Published[:request_id]
      copying
    end
    Correlator.with(request_id: "r2") { fiber.resume }
    assert_equal [[:during, "r1", "r1"], [:after, nil, nil]], SEEN
    assert_equal 0, Published.address
  end
end
