# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "socket"
require "tmpdir"
require "zlib"

# What a real server sends of what is streamed: in which context each part was made.
class RackPumaTest < Minitest::Test
  begin
    require "puma"
    require "puma/const"
    HAS_PUMA = true
  rescue LoadError
    HAS_PUMA = false
  end

  APPLICATION = <<~'RUBY'
    require "correlator"
    require "published"
    require "rack/deflater"

    told = -> { [Published[:request_id], Published[:endpoint]].join(" ") }
    closed = Queue.new
    body = Class.new do
      define_method(:each) { |&part| 2.times { part.call("data: #{told.call}\n\n") } }
      define_method(:close) { closed << told.call }
    end
    live = Class.new do
      define_method(:each) do |&part|
        parts = Queue.new
        Thread.new(&Correlator.inherit { 2.times { parts << told.call }; parts.close })
        while (text = parts.pop)
          part.call("#{text}\n")
        end
      end
    end

    use Correlator::Rack
    map("/stream") { run ->(_) { [200, { "content-type" => "text/event-stream" }, body.new] } }
    map("/zip") do
      use Rack::Deflater
      run ->(_) { [200, { "content-type" => "text/plain" }, body.new] }
    end
    map("/live") { run ->(_) { [200, {}, live.new] } }
    list = -> { Enumerator.new { |parts| 2.times { parts << "#{told.call}\n" } } }
    map("/list") { run ->(_) { [200, {}, list.call] } }
    map("/sync") do
      write = ->(io) { io.write("#{told.call}\n") && io.close }
      run ->(_) { [200, { "rack.hijack" => write }, []] }
    end
    map("/websocket") do
      run(lambda do |env|
        io = env["rack.hijack"].call
        Thread.new(&Correlator.inherit do
          io.write("HTTP/1.1 200 OK\r\n\r\n#{told.call}\n")
          io.close
        end)
        [-1, {}, []]
      end)
    end
    called = ->(io) { io.write("#{told.call}\n") && io.close }
    map("/calls") { run ->(_) { [200, {}, called] } }
    map("/files") { run ->(_) { [200, {}, File.open(__FILE__)] } }
    map("/logs") { run ->(_) { [200, {}, [closed.pop]] } }
    map("/none") { run ->(_) { [200, {}, [Thread.new { told.call.inspect }.value]] } }
  RUBY

  def setup
    @puma = nil
    skip "no Puma" unless HAS_PUMA
    @folder = Dir.mktmpdir
    File.write("#{@folder}/config.ru", APPLICATION)
    libraries = %w[correlator.rb published.rb published_state.so].map do |file|
      $LOAD_PATH.find { |path| File.exist?("#{path}/#{file}") }
    end
    @puma = IO.popen([{ "RUBYLIB" => libraries.uniq.join(":") }, "puma", "--no-config",
                      "--threads", "1:1", "--bind", "unix://#{@folder}/socket",
                      "#{@folder}/config.ru", err: %i[child out]])
    log = +""
    log << (@puma.gets || raise(log)) until log.include?("Ctrl-C")
  end

  def teardown
    return unless @puma

    Process.kill(:TERM, @puma.pid)
    @puma.read
    @puma.close
    FileUtils.rm_rf(@folder)
  end

  def get(path, id, headers = "")
    UNIXSocket.open("#{@folder}/socket") do |socket|
      socket.write("GET #{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" \
                   "X-Request-Id: #{id}\r\n#{headers}\r\n")
      head, body = socket.read.split("\r\n\r\n", 2)
      head.downcase.include?("chunked") ? dechunked(body) : body
    end
  end

  def dechunked(body)
    text = +""
    until (size = body.slice!(/\A\h+\r\n/).to_i(16)).zero?
      text << body.slice!(0, size)
      body.slice!(0, 2)
    end
    text
  end

  def test_all_that_is_streamed_is_made_in_the_context_of_its_request
    assert_equal "data: s-1 GET /stream\n\n" * 2, get("/stream", "s-1")
    assert_equal "s-1 GET /stream", get("/logs", "x-1")
    assert_equal "l-1 GET /live\n" * 2, get("/live", "l-1")
    assert_equal "e-1 GET /list\n" * 2, get("/list", "e-1")
    zipped = get("/zip", "z-1", "Accept-Encoding: gzip\r\n")
    assert_equal "data: z-1 GET /:id\n\n" * 2, Zlib.gunzip(zipped)
    assert_equal "h-1 GET /sync\n", get("/sync", "h-1")
    assert_equal "w-1 GET /websocket\n", get("/websocket", "w-1")
    assert_equal "c-1 GET /calls\n", get("/calls", "c-1") if Puma::Const::VERSION.to_i >= 6
    assert_equal File.read("#{@folder}/config.ru"), get("/files", "f-1")
    assert_equal '" "', get("/none", "n-1")
  end
end
