# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"

class RequestIdTest < Minitest::Test
  UUID = /\A\h{8}-\h{4}-4\h{3}-[89ab]\h{3}-\h{12}\z/
  RequestId = Correlator.const_get(:RequestId)
  RECENT = RequestId::RECENT

  def setup
    @ids = RequestId.new
  end

  # ActionDispatch::RequestId keeps 255 characters of it.
  ["abc-1", "a@b_C-9", "a\nb c/d", "caf\u00e9", "a" * 300, "x\0y", "\u674e"].each do |given|
    define_method(:"test_#{given.inspect}_is_cleaned_as_Rails_does_it") do
      expected = given.gsub(/[^\w\-@]/, "")[0, 128]
      assert_equal expected, RequestId.clean(given).to_s
    end
  end

  def test_what_is_no_text_is_no_id
    ["", "/", "\xff", nil, 7, ["a"]].each { |given| assert_nil RequestId.clean(given) }
    assert_equal "ab", RequestId.clean("a\xffb")
  end

  def test_the_header_may_change_afterwards
    header = +"abc"
    id = RequestId.clean(header)
    header << "d"
    assert_equal "abc", id
    assert_predicate id, :frozen?
  end

  def test_an_id_is_given_once
    assert_equal %w[r r#2 r#3 s], %w[r r r s].map { |id| @ids.distinct(id) }
  end

  def test_an_id_is_known_for_a_while_and_forgotten_then
    @ids.distinct("r")
    RECENT.times { |number| @ids.distinct("a#{number}") }
    assert_equal "r#2", @ids.distinct("r")
    (2 * RECENT).times { |number| @ids.distinct("b#{number}") }
    assert_equal "r", @ids.distinct("r")
  end

  def test_long_ids_that_differ_at_their_end_do_not_become_one
    long = Array.new(4) { |number| "#{"a" * 127}#{number / 2}" }
    given = (long + ["a" * 112]).map { |id| @ids.distinct(id) }
    assert_equal 5, given.uniq.size
    assert_operator given.map(&:bytesize).max, :<=, 128
  end

  def test_a_fresh_id_is_a_uuid_and_known_as_given
    ids = Array.new(1000) { @ids.fresh }
    ids.each { |id| assert_match UUID, id }
    assert_equal 1000, ids.uniq.size
    assert_equal %w[8 9 a b], ids.map { |id| id[19] }.uniq.sort
    assert_equal "#{ids[0]}#2", @ids.distinct(ids[0])
  end

  def test_threads_are_never_given_the_same
    ids = Array.new(8) { Thread.new { Array.new(2000) { [@ids.fresh, @ids.distinct("same")] } } }
               .flat_map(&:value).flatten
    assert_equal 32_000, ids.uniq.size
  end

  def test_forked_processes_are_never_given_the_same
    skip "no fork" unless Process.respond_to?(:fork)
    @ids.fresh
    ids = Array.new(3) do
      IO.popen("-") do |child|
        child ? child.read.split : print(Array.new(100) { @ids.fresh }.join(" "))
      end
    end
    ids << Array.new(100) { @ids.fresh }
    assert_equal 400, ids.flatten.uniq.size
  end
end
