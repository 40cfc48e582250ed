# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "stringio"
require "tempfile"
require "tmpdir"
require "uri"
require "correlator"
require "published"

# What a server does with the body of a response, on the real Rack.
class RackBodyTest < Minitest::Test
  begin
    require "rack"
    require "rack/lint"
    require "rack/deflater"
    require "rack/etag"
    HAS_RACK = true
  rescue LoadError
    HAS_RACK = false
  end

  # Its parts are the request_id that an observer would read when each is made.
  class Told
    attr_reader :closed_in

    def initialize(count = 2)
      @count = count
    end

    def each
      @count.times { yield "#{Published[:request_id]}\n" }
    end

    def close
      @closed_in = Published[:request_id]
    end
  end

  # Rack 3's ETag wants it at once, and leaves alone what is streamed.
  class ToldAtOnce < Told
    def to_ary
      to_enum(:each).to_a.tap { close }
    end
  end

  def setup
    @id = "#{name}-#{object_id}"[0, 100].gsub(/[^\w-]/, "")
  end

  def env(**others)
    { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => "/orders",
      "QUERY_STRING" => "", "SERVER_NAME" => "localhost", "SERVER_PORT" => "80",
      "SERVER_PROTOCOL" => "HTTP/1.1",
      "HTTP_X_REQUEST_ID" => +@id, "rack.version" => [1, 3], "rack.url_scheme" => "http",
      "rack.input" => StringIO.new.binmode, "rack.errors" => StringIO.new,
      "rack.multithread" => true, "rack.multiprocess" => true, "rack.run_once" => false }
      .merge(others)
  end

  def respond(body, headers = {}, **others)
    Correlator::Rack.new(->(_) { [200, headers, body] }).call(env(**others))
  end

  # As a server does it, which has no context.
  def written(response)
    text = +""
    response[2].each { |part| text << part }
    response[2].close if response[2].respond_to?(:close)
    assert_equal 0, Published.address
    text
  end

  def test_a_body_is_made_and_closed_in_the_context_of_its_request
    assert_equal "#{@id}\n" * 2, written(respond(body = Told.new))
    assert_equal @id, body.closed_in
  end

  def test_also_in_another_thread_and_fiber
    response = respond(body = Told.new)
    assert_equal "#{@id}\n" * 2, Thread.new { Fiber.new { written(response) }.resume }.value
    assert_equal @id, body.closed_in
  end

  def test_bodies_of_two_requests_by_turns
    first = respond(Told.new)[2].to_enum(:each)
    @id += "-other"
    second = respond(Told.new)[2].each
    told = Array.new(2) { [first.next, second.next] }
    assert_equal [["#{@id.delete_suffix("-other")}\n", "#{@id}\n"]] * 2, told
    assert_equal 0, Published.address
  end

  def test_an_enumerator_a_lazy_one_and_a_range_of_an_enumerator
    parts = Enumerator.new { |yielder| 2.times { yielder << Published[:request_id] } }
    assert_equal @id * 2, written(respond(parts))
    @id += "2"
    assert_equal @id.upcase * 2, written(respond(parts.lazy.map(&:upcase)))
  end

  def test_a_body_that_raises_leaves_nothing_behind
    response = respond(Class.new { define_method(:each) { raise "no" } }.new)
    assert_raises(RuntimeError) { response[2].each { nil } }
    assert_raises(RuntimeError) { respond(Told.new)[2].each { raise "gone" } }
    assert_throws(:done) { respond(Told.new)[2].each { throw :done } }
    assert_equal 0, Published.address
  end

  # Rack 3: a server calls what cannot be iterated, with the connection.
  def test_a_body_of_rack_3_that_is_called_with_the_stream
    stream = StringIO.new
    body = respond(->(out) { out << Published[:request_id] << "\n" and out.close })[2]
    refute_respond_to body, :each
    refute_respond_to body, :close
    assert_respond_to body, :call
    body.call(stream)
    assert_equal "#{@id}\n", stream.string
    assert_predicate stream, :closed?
    assert_equal 0, Published.address
  end

  # It may know nothing of what every object knows, or be wrong about it.
  def test_a_body_and_headers_that_cannot_be_asked_go_to_the_server_as_they_are
    shy = Class.new(BasicObject).new
    wrong = Hash.new { raise "no" }
    [[200, {}, shy], [200, wrong, [].each]].each do |response|
      app = Correlator::Rack.new(->(_) { response })
      assert response.equal?(app.call(env("HTTP_X_REQUEST_ID" => +"shy")))
    end
  end

  def test_a_stream_that_outlives_its_call_in_a_thread_of_the_applications
    reader, writer = IO.pipe
    body = respond(lambda do |out|
      Thread.new(&Correlator.inherit { out.write(Published[:request_id]) && out.close })
    end)[2]
    body.call(writer)
    assert_equal @id, reader.read
  ensure
    reader.close
  end

  def test_a_partial_hijack_and_its_headers_stay_the_applications
    headers = { "rack.hijack" => ->(io) { io << Published[:request_id] }, "x" => "y" }.freeze
    response = respond([].freeze, headers, "rack.hijack?" => true)
    response[1]["rack.hijack"].call(io = StringIO.new)
    assert_equal @id, io.string
    assert_equal "y", response[1]["x"]
    refute_same headers["rack.hijack"], response[1]["rack.hijack"]
    assert_equal [[], 0], [response[2], Published.address]
  end

  def test_an_array_goes_to_the_server_as_it_is
    parts = ["a"].freeze
    assert_same parts, respond(parts)[2]
  end

  # By these a server decides how it sends a body.
  def test_the_body_says_and_does_what_the_applications_own_does
    file = Tempfile.new("body")
    body = respond(file)[2]
    assert_equal file.path, body.path
    assert_equal file.to_path, body.to_path if file.respond_to?(:to_path)
    %i[each close to_path to_ary call read path fileno to_str no_such].each do |method|
      assert_equal file.respond_to?(method), body.respond_to?(method), method
    end
    assert_equal file.fileno, body.method(:fileno).call
    assert_raises(NoMethodError) { body.no_such }
    body.close
    assert_predicate file, :closed?
  end

  def test_a_body_that_is_an_array_in_disguise_is_made_one_in_the_context
    disguised = Class.new do
      def each; end

      def to_ary
        [Published[:request_id]]
      end

      def keywords(first, *rest, key:, **others, &block)
        [first, rest, key, others, block.call]
      end
    end
    body = respond(disguised.new)[2]
    assert_equal [@id], [body].flatten
    assert_equal [1, [2], 3, { d: 4 }, 5], body.keywords(1, 2, key: 3, d: 4) { 5 }
    refute_respond_to respond(Told.new)[2], :to_ary
    assert_equal 1, [respond(Told.new)[2]].flatten.size
  end

  def test_endpoint_and_identity_last_until_the_end_of_the_body
    seen = []
    body = Enumerator.new { seen << Correlator.current }
    app = Correlator::Rack.new(lambda do |inner|
      Correlator::Endpoint.publish(inner, "/orders/:number")
      seen << Correlator.current
      [200, {}, body]
    end, endpoint: :late)
    app.call(env)[2].each { nil }
    assert_equal [{ request_id: @id, endpoint: "GET /orders/:number" }], seen.uniq
  end

  def through(*middleware, body, headers: { "content-type" => "text/plain" }, **others)
    skip "no Rack" unless HAS_RACK
    inner = ->(_) { [200, headers.dup, body] }
    app = middleware.reverse.inject(inner) { |stack, layer| layer.call(stack) }
    status, headers, body = app.call(env(**others))
    parts = body.to_enum(:each).to_a
    body.close if body.respond_to?(:close)
    assert_equal 0, Published.address
    [status, headers.to_h.transform_keys(&:downcase), parts]
  end

  LINT = ->(app) { Rack::Lint.new(app) }
  GEM = ->(app) { Correlator::Rack.new(app) }

  def test_rack_lint_finds_nothing_around_and_inside
    assert_equal ["#{@id}\n"] * 2, through(LINT, GEM, LINT, Told.new)[2]
    @id += "2"
    assert_equal ["a"], through(LINT, GEM, ["a"].freeze)[2]
  end

  # Rack 2's knows no such bodies.
  if HAS_RACK && Rack.release.to_i >= 3
    def test_rack_lint_around_a_body_of_rack_3_that_is_called_with_the_stream
      app = LINT.call(GEM.call(LINT.call(lambda do |_|
        [200, {}, ->(out) { out.write(Published[:request_id]) && out.close }]
      end)))
      app.call(env)[2].call(stream = StringIO.new)
      assert_equal @id, stream.string
    end
  end

  def test_the_deflater_compresses_in_the_context
    spied = []
    spy = lambda do |app|
      lambda do |inner|
        status, headers, body = app.call(inner)
        [status, headers, Rack::BodyProxy.new(body) { spied << Published[:request_id] }]
      end
    end
    response = through(LINT, GEM, spy, ->(app) { Rack::Deflater.new(app) }, Told.new(50),
                       "HTTP_ACCEPT_ENCODING" => "gzip")
    assert_equal "gzip", response[1]["content-encoding"]
    assert_equal "#{@id}\n" * 50, Zlib.gunzip(response[2].join)
    assert_equal [@id], spied
  end

  def test_the_gem_around_and_inside_an_etag
    response = through(LINT, GEM, ->(app) { Rack::ETag.new(app) }, ToldAtOnce.new)
    assert_match(/\AW?\/?"/, response[1]["etag"])
    assert_equal "#{@id}\n" * 2, response[2].join
    @id += "2"
    assert_equal "#{@id}\n" * 2, through(->(app) { Rack::ETag.new(app) }, GEM, ToldAtOnce.new)[2].join
  end

  # Rack::Lint has its own hijack wrapper in the headers.
  def test_rack_lint_around_a_partial_hijack
    headers = { "content-type" => "text/plain",
                "rack.hijack" => ->(io) { io.write(Published[:request_id]) } }
    response = through(LINT, GEM, [], headers: headers, "rack.hijack?" => true,
                       "rack.hijack" => -> {})
    io = Class.new(StringIO) do
      %i[read write read_nonblock write_nonblock flush close close_read close_write closed?]
        .each { |method| define_method(method) { |*arguments| super(*arguments) } }
    end.new
    response[1]["rack.hijack"].call(io)
    assert_equal @id, io.string
  end

  def test_a_file_of_rack_is_still_a_file
    skip "no Rack" unless HAS_RACK
    Dir.mktmpdir do |folder|
      File.write("#{folder}/orders", "text")
      app = Correlator::Rack.new(Rack::Files.new(folder))
      body = app.call(env)[2]
      assert_equal "#{folder}/orders", body.to_path
      assert_equal "text", written([nil, nil, body])
    end
  end
end
