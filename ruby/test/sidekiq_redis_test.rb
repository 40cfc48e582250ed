# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "json"
require "minitest/autorun"
require "rbconfig"
require "tmpdir"
require "correlator"
require "own_load_path"

# A Sidekiq process that works jobs off a Redis of its own.
class SidekiqRedisTest < Minitest::Test
  begin
    require "sidekiq"
    require "sidekiq/api"
    HAS_SIDEKIQ = true
  rescue LoadError
    HAS_SIDEKIQ = false
  end

  # Sidekiq itself says things on its stdout.
  ANSWERS_FD = 3
  WORKER = <<~'RUBY'
    require "correlator"
    require "published"
    Sidekiq.configure_server do |config|
      config.logger = Logger.new(File::NULL)
      config.redis = { url: ENV.fetch("REDIS"), size: 8 }
      config.capsule("own") { |capsule| capsule.queues = ["own"] } if config.respond_to?(:capsule)
      config.server_middleware { |chain| chain.prepend Correlator::Sidekiq::Server }
      config.client_middleware { |chain| chain.add Correlator::Sidekiq::Client }
    end
    ANSWERS = IO.for_fd(Integer(ENV.fetch("ANSWERS_FD")), "w")
    class OrderJob
      include Sidekiq::Worker
      sidekiq_options retry: 3

      def perform(step)
        ANSWERS.syswrite("#{JSON.generate(step: step, published: Published[:request_id],
                                          current: Correlator.current)}\n")
        raise "no" if step == "fail"

        OrderJob.perform_async("leaf") if step == "child"
      end
    end
  RUBY

  # One program, a server or a checker by its name. (Debian's package of the server starts one.)
  REDIS_SERVER = %w[redis-check-rdb redis-server].freeze

  class << self
    attr_reader :answers

    # One Redis and one Sidekiq for all tests. False: there is no Redis.
    def start
      return @started unless @started.nil?

      folder = Dir.mktmpdir
      socket = "#{folder}/redis.sock"
      processes = []
      Minitest.after_run do
        processes.reverse_each { |pid| Process.kill(:TERM, pid) && Process.wait(pid) }
        FileUtils.remove_entry(folder)
      end
      return @started = false unless start_redis(processes, socket)

      configure(socket)
      start_sidekiq(processes, folder, socket)
      @started = true
    end

    private

    def start_redis(processes, socket)
      processes << spawn(REDIS_SERVER, "--port", "0", "--unixsocket", socket, "--save", "",
                         "--dir", File.dirname(socket), out: File::NULL)
      sleep 0.01 until File.socket?(socket)
      true
    rescue Errno::ENOENT
      false
    end

    def configure(socket)
      Redis.silence_deprecations = true if defined?(Redis.silence_deprecations)
      Sidekiq.configure_client do |config|
        config.logger = Logger.new(File::NULL)
        config.redis = { url: "unix://#{socket}", size: 1 }
        config.client_middleware { |chain| chain.add Correlator::Sidekiq::Client }
      end
    end

    def start_sidekiq(processes, folder, socket)
      File.write("#{folder}/worker.rb", WORKER)
      @answers, output = IO.pipe
      processes << spawn({ "REDIS" => "unix://#{socket}", "RUBYLIB" => OWN_LOAD_PATH,
                           "ANSWERS_FD" => ANSWERS_FD.to_s },
                         RbConfig.ruby, "-S", "sidekiq", "-r", "#{folder}/worker.rb",
                         "-c", "1", "-t", "1",
                         ANSWERS_FD => output, out: File::NULL, err: File::NULL)
      output.close
    end
  end

  def setup
    skip "no Sidekiq" unless HAS_SIDEKIQ
    skip "no Redis" unless self.class.start
  end

  def push(step, **options)
    Sidekiq::Client.push({ "class" => "OrderJob", "args" => [step], "retry" => 3,
                           **options.transform_keys(&:to_s) })
  end

  def answer
    seen = JSON.parse(self.class.answers.gets)
    assert_equal seen["published"], seen["current"]["request_id"]
    [seen["step"], seen["current"]]
  end

  def test_a_job_and_the_job_that_it_enqueues
    jid = Correlator.with(request_id: "r1", trace_id: "t1") { push("child") }
    assert_equal ["child", { "request_id" => jid, "endpoint" => "OrderJob", "queue" => "default",
                             "parent_request_id" => "r1", "trace_id" => "t1" }], answer
    step, current = answer
    assert_equal ["leaf", jid, "t1"], [step, *current.values_at("parent_request_id", "trace_id")]
  end

  def test_a_job_of_a_capsule
    skip "Sidekiq 7" if Sidekiq::VERSION.to_i < 7
    jid = Correlator.with(request_id: "r4") { push("leaf", queue: "own") }
    assert_equal [jid, "own", "r4"],
                 answer.last.values_at("request_id", "queue", "parent_request_id")
  end

  def test_jobs_that_are_pushed_in_bulk
    jids = Correlator.with(request_id: "r2") do
      Sidekiq::Client.push_bulk("class" => "OrderJob", "args" => [["a"], ["b"]])
    end
    found = Array.new(2) { answer.last }
    assert_equal jids.sort, found.map { |current| current["request_id"] }.sort
    assert_equal ["r2"], found.map { |current| current["parent_request_id"] }.uniq
  end

  def test_a_retry_has_the_id_and_the_parent_of_the_first_try
    jid = Correlator.with(request_id: "r3") { push("fail") }
    first = answer
    retries = Sidekiq::RetrySet.new
    sleep 0.01 until retries.size == 1
    Correlator.with(request_id: "operator") { retries.find_job(jid).retry }
    assert_equal first, answer
    assert_equal [jid, "r3"], first.last.values_at("request_id", "parent_request_id")
    sleep 0.01 until retries.size == 1
    retries.clear
    # Nothing of it is left for the next job of that thread.
    push("plain")
    refute_includes answer.last, "parent_request_id"
  end
end
