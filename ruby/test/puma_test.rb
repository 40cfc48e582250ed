# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "json"
require "minitest/autorun"
require "net/http"
require "rbconfig"
require "socket"
require "tmpdir"
require "own_load_path"

# A real cluster of Puma: what its threads publish in a request, after one, and where one fails.
# Puma needs no hook of ours: nothing of the master's gets into a request, nothing of a request
# stays.
class PumaTest < Minitest::Test
  HAS_PUMA = Gem::Specification.any? { |gem| gem.name == "puma" }
  WORKERS = 2

  APP = <<~'RUBY'
    require "json"
    require "correlator"
    require "published"

    # The master itself works for something when it forks.
    Correlator.set(request_id: "master")
    SEEN = ->(what) { { pid: Process.pid, what: what, published: Published[:request_id],
                        current: Correlator.current }.to_json }
    use Correlator::Rack
    run(lambda do |env|
      case env["PATH_INFO"]
      when "/raise" then raise "no"
      when "/throw" then throw :nobody_catches
      when "/set" then Correlator.set(request_id: "set in the application")
      when "/fiber"
        Fiber.new do
          Correlator.set(request_id: "of a fiber")
          Fiber.yield
        end.resume
      end
      [200, { "content-type" => "application/json" }, [SEEN.call("request")]]
    end)
  RUBY

  # Outside of the middleware, in the same thread.
  CONFIGURATION = <<~'RUBY'
    threads 2, 2
    workers WORKERS
    preload_app!
    clean_thread_locals if ENV["CLEAN"]
    log_requests false
    out_of_band { File.write(ENV.fetch("AFTER"), "#{SEEN.call("after")}\n", mode: "a") }
    lowlevel_error_handler { |_, _, _| [500, {}, [SEEN.call("error")]] }
    on_worker_boot do
      File.write(ENV.fetch("AFTER"), "#{Thread.new { SEEN.call("boot") }.value}\n", mode: "a")
    end
  RUBY

  def setup
    skip "no Puma" unless HAS_PUMA
    @folder = Dir.mktmpdir
    @port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
  end

  def teardown
    FileUtils.remove_entry(@folder) if defined?(@folder)
  end

  def with_puma(environment = {})
    File.write("#{@folder}/config.ru", APP)
    File.write("#{@folder}/puma.rb", CONFIGURATION.sub("WORKERS", WORKERS.to_s))
    pid = spawn({ "AFTER" => "#{@folder}/after", "RUBYLIB" => OWN_LOAD_PATH, **environment },
                "puma", "-q", "-C", "#{@folder}/puma.rb", "-b", "tcp://127.0.0.1:#{@port}",
                "#{@folder}/config.ru", out: File::NULL, err: "#{@folder}/log")
    await { seen_after.count { |seen| seen["what"] == "boot" } == WORKERS }
    yield
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
  end

  def await
    deadline = now + 60
    until yield
      flunk File.read("#{@folder}/log") if now > deadline
      sleep 0.01
    end
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # What threads say outside of requests.
  def seen_after
    return [] unless File.exist?("#{@folder}/after")

    File.readlines("#{@folder}/after").map { |line| JSON.parse(line) }
  end

  [{}, { "CLEAN" => "1" }].each do |environment|
    define_method(:"test_requests_of_a_cluster#{environment.keys.join}") do
      with_puma(environment) do
        paths = %w[/plain /raise /throw /set /fiber /plain]
        answers = Array.new(48) do |number|
          path = paths[number % paths.size]
          [path, "r#{number}", Thread.new { request(path, "r#{number}") }]
        end
        answers.each { |path, id, thread| check(path, id, thread.value) }
        # That is when a worker has nothing else to do.
        await do
          request("/plain", "more")
          seen_after.count { |seen| seen["what"] == "after" } >= 8
        end
        said = seen_after
        assert_equal [[nil, nil]], said.map { |seen| seen.values_at("published", "current") }.uniq
        assert_equal WORKERS, said.map { |seen| seen["pid"] }.uniq.size
      end
    end
  end

  def request(path, id)
    Net::HTTP.start("127.0.0.1", @port) do |http|
      JSON.parse(http.get(path, "X-Request-Id" => id).body)
    end
  end

  def check(path, id, seen)
    return assert_equal(["error", nil, nil], seen.values_at("what", "published", "current")) if
      %w[/raise /throw].include?(path)

    id = "set in the application" if path == "/set"
    assert_equal ["request", id, id],
                 [seen["what"], seen["published"], seen["current"]["request_id"]]
  end
end
