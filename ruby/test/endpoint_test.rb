# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"

class EndpointTest < Minitest::Test
  Endpoint = Correlator::Endpoint

  {
    "/" => "/",
    "" => "/",
    "/orders" => "/orders",
    "/orders/" => "/orders",
    "//orders///42" => "/orders/:id",
    "/orders/42/items/7/" => "/orders/:id/items/:id",
    "/orders/42.json" => "/orders/:id",
    "/orders.json" => "/orders",
    "/api/v1/orders" => "/api/v1/orders",
    "/map/-12.5,7.25" => "/map/:id",
    "/a" => "/:id",
    "/tags/a/tags/b/tags/c/tags/d/tags/e" => "/tags/:id/tags/:id/tags/:id/tags/:id/*",
  }.each do |path, expected|
    define_method(:"test_#{path.inspect}_becomes_#{expected.inspect}") do
      assert_equal expected, Endpoint.normalize(path)
      assert_equal "GET #{expected}", Endpoint.of_path("GET", "", path)
      assert_equal "GET #{expected}", Endpoint.of_path("GET", nil, path), "the second time"
    end
  end

  # What people, clients and applications make up.
  %W[
    3f2504e0-4f89-11d3-9a0c-0305e82c3301 3F2504E0-4F89-11D3-9A0C-0305E82C3301 deadbeef dead1
    da39a3ee5e6b4b0d3255bfef95601890afd80709 01ARZ3NDEKTSV4RRFFQ69G5FAV aGVsbG8gd29ybGQ=
    eyJhbGciOi.J9.x mfrggzdfmztwq2lk an-unusually-long-heading hello alice Alice bob.smith @alice
    alice@example.com alice%40example.com password:hunter2 ORDERS orders%20 orders;id=7
    holiday-photo.jpg invoice-mueller.pdf .env wp-login.php ..%2f..%2fetc%2fpasswd
    +4915112345678 1st 2fa caf\u00e9 \u674e :id *
  ].each do |private_text|
    define_method(:"test_#{private_text.inspect}_never_becomes_an_endpoint") do
      assert_equal "/users/:id/edit", Endpoint.normalize("/users/#{private_text}/edit")
      assert_equal "GET /users/:id", Endpoint.of_path("GET", "/users/#{private_text}", "/")
    end
  end

  # Of bytes that mean something to paths, words, and pieces of them.
  def test_nothing_but_known_words_is_left_of_any_path
    random = Random.new(rand(1 << 32))
    known = Endpoint.const_get(:WORDS) + %w[parcels :id *]
    pieces = [*"a".."z", *"0".."9", *%W[/ / / . - _ % %2f : ; @ ? \xff \0 \u00e9 GET :id *],
              *known.sample(40, random: random)].map(&:b)
    300.times do
      path = Array.new(random.rand(30)) { pieces.sample(random: random) }.join
      name = Endpoint.of_path("GET", path, "")
      assert_equal "GET #{Endpoint.normalize(path)}", name
      assert_empty name.delete_prefix("GET ").split("/") - ["", *known], path.inspect
    end
  end

  def test_an_application_can_add_words_of_its_own
    assert_equal "/:id", Endpoint.normalize("/parcels")
    Endpoint.of_path("GET", "", "/parcels/hidden/7")
    Endpoint.know(%w[parcels])
    assert_equal "GET /parcels/:id/:id", Endpoint.of_path("GET", "", "/parcels/hidden/7")
    [nil, "", "7", "a/b", "a.b"].each do |bad|
      assert_raises(ArgumentError, bad.inspect) { Endpoint.know([bad]) }
    end
  end

  def test_a_mount_point_is_a_part_of_the_path
    assert_equal "GET /app/orders/:id", Endpoint.of_path("GET", "/app", "/orders/1")
    assert_equal "GET /app", Endpoint.of_path("GET", "/app", "")
  end

  def test_an_invented_method_does_not_become_a_name
    assert_equal "OTHER /", Endpoint.of_path("X#{"Y" * 1000}", "", "/")
    assert_equal "OTHER /", Endpoint.of_path(nil, nil, nil)
  end

  def test_hostile_paths_are_bounded_and_do_not_raise
    assert_equal "GET /:id", Endpoint.of_path("GET", "", "/#{"a" * 100_000}")
    assert_equal "GET /", Endpoint.of_path("GET", "", "/" * 100_000)
    assert_equal "GET /:id/:id", Endpoint.of_path("GET", "", "/\xff\xfe/12")
    assert_equal "GET /:id", Endpoint.of_path("GET", "", "/\u00fc\u00fc".encode("UTF-16LE"))
    assert_operator Endpoint.of_path("GET", "", "/notifications" * 20).bytesize, :<=, 128
  end

  def test_a_name_is_one_string_for_ever
    name = Endpoint.of_path("GET", "", "/orders/1")
    assert_same name, Endpoint.of_path("GET", "", "/orders/2")
    assert_predicate name, :frozen?
  end

  # In a process of its own: they stay for ever.
  def test_there_are_no_more_names_than_the_limit
    IO.popen([RbConfig.ruby, *$LOAD_PATH.flat_map { |path| ["-I", path] }, "-rcorrelator", "-"],
             "r+") do |ruby|
      ruby.write <<~'RUBY'
        words = %w[orders items users pages posts tags notes files docs jobs]
        names = words.product(words, words, words).map do |segments|
          Correlator::Endpoint.of_path("GET", "", "/#{segments.join("/")}")
        end
        names << Correlator::Endpoint.named("GET /a/route")
        first = Correlator::Endpoint.of_path("GET", "", "/orders/orders/orders/orders")
        puts names.uniq.size, names.last, first
      RUBY
      ruby.close_write
      assert_equal ["1001", "(other)", "GET /orders/orders/orders/orders"], ruby.read.split("\n")
    end
  end

  def env(**others)
    { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/orders/5" }.merge(others)
  end

  def test_the_first_route_that_is_published_stays
    environment = env
    Correlator.with(request_id: "r") do
      Endpoint.publish(environment, "/o/:order")
      Endpoint.publish(environment, "/else")
      Endpoint.settle(environment) { "GET /late" }
      assert_equal "GET /o/:order", Correlator[:endpoint]
    end
  end

  def test_a_route_has_the_mount_point_in_front
    { ["", "/o/:id"] => "GET /o/:id", ["", "o"] => "GET /o", ["/admin", "/"] => "GET /admin",
      ["/admin", "/o"] => "GET /admin/o", ["/alice/admin", "/o"] => "GET /:id/admin/o",
      ["", "/"] => "GET /" }.each do |(mount_point, route), name|
      Correlator.with(request_id: "r") do
        Endpoint.publish(env("SCRIPT_NAME" => mount_point), route)
        assert_equal name, Correlator[:endpoint]
      end
    end
  end

  # The surrounding block restores what was before, that is: nothing.
  def test_a_route_that_was_published_in_an_inner_context_is_the_one_of_the_outer
    environment = env
    Correlator.with(request_id: "r") do
      Correlator.with(user: 1) { Endpoint.publish(environment, "/o/:order") }
      assert_nil Correlator[:endpoint]
      Endpoint.settle(environment) { "GET /late" }
      assert_equal "GET /o/:order", Correlator[:endpoint]
    end
  end

  def test_without_a_context_and_with_nonsense_nothing_happens
    assert_nil Endpoint.publish(env, "/o")
    assert_nil Endpoint.publish(env, nil)
    assert_nil Endpoint.publish({}.freeze, "/o")
    assert_nil Endpoint.settle(env) { raise "no" }
    assert_nil Correlator.current
  end
end
