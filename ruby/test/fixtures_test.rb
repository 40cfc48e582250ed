# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fileutils"
require "json"
require "net/http"
require "socket"
require "rbconfig"
require "tmpdir"
require "minitest/autorun"

# The workloads of fixtures/, run as an observer's test would run them.
class FixturesTest < Minitest::Test
  FIXTURES = File.expand_path("../../fixtures", __dir__)
  LOAD_PATH = $LOAD_PATH.select do |path|
    %w[correlator.rb ground_truth.so].any? { |file| File.exist?("#{path}/#{file}") }
  end.freeze

  def run_workload(name, *arguments, environment: {}, load_path: LOAD_PATH)
    truth = {}
    command = [environment, RbConfig.ruby, *load_path.flat_map { |path| ["-I", path] },
               "#{FIXTURES}/#{name}.rb", *arguments.map(&:to_s)]
    IO.popen(command, "r+") do |workload|
      assert_match(/\Aready #{workload.pid}\n\z/, workload.gets)
      workload.puts "go"
      while (line = workload.gets) && line != "done\n"
        record = JSON.parse(line)
        truth[record["request_id"]] = record["cpu_ns"]
      end
      assert_equal "done\n", line
      yield workload if block_given?
      workload.close_write
    end
    assert_predicate $?, :success?
    truth
  end

  def test_sequential_charges_each_request_what_it_was_told_to_burn
    truth = run_workload("sequential", 40)
    assert_equal 41, truth.size
    assert_in_delta 2_000_000, truth["spin-000000"], 400_000
    assert_in_delta 4_000_000, truth["spin-000004"], 400_000
    # It sleeps 20 ms; falling asleep and waking up alone took 1.5 on a busy machine.
    assert_operator truth["sleep-000039"], :<, 10_000_000
  end

  # Its own calls of its functions would not be seen from outside.
  def test_charges_are_right_where_ruby_binds_functions_of_extensions_to_themselves
    skip "a linker of before 2.36" unless `ld --help`.include?("-Bno-symbolic")
    Dir.mktmpdir do |folder|
      File.write("#{folder}/symbolic.rb", <<~RUBY)
        [RbConfig::CONFIG, RbConfig::MAKEFILE_CONFIG].each do |config|
          config["LDFLAGS"] += " -Wl,-Bsymbolic-functions"
        end
      RUBY
      build_gem(folder, [RbConfig.ruby, "-rrbconfig", "-r#{folder}/symbolic.rb"])
      truth = run_workload("sequential", 8, load_path: ["#{folder}/lib", *LOAD_PATH])
      assert_equal 9, truth.size
      assert_in_delta 2_000_000, truth["spin-000000"], 400_000
    end
  end

  def build_gem(folder, ruby)
    source = File.expand_path("..", __dir__)
    FileUtils.cp_r("#{source}/lib", folder)
    FileUtils.cp_r("#{source}/ext/correlator", "#{folder}/ext")
    flags = IO.popen([*ruby, "#{FIXTURES}/ground_truth/link_flags.rb"], &:read)
    refute_empty flags
    assert system(*ruby, "extconf.rb", "--quiet", chdir: "#{folder}/ext")
    assert system("make", "--silent", "LOCAL_LIBS=#{flags}", chdir: "#{folder}/ext")
    FileUtils.cp("#{folder}/ext/correlator.so", "#{folder}/lib/correlator")
  end

  def test_threads_charge_every_request_of_every_thread
    truth = run_workload("threads", 6) do |workload|
      assert_operator Dir.children("/proc/#{workload.pid}/task").size, :>, 8
    end
    assert_equal 8 * 6 + 1, truth.size
    8.times do |thread|
      6.times do |number|
        id = format("t%d-%06d", thread, number)
        assert_operator truth.fetch(id), :>=, (1 + (thread + number) % 6) * 1_000_000, id
      end
    end
  end

  def test_fibers_charge_every_fiber_over_all_its_turns
    truth = run_workload("fibers", 50, 40)
    assert_equal 51, truth.size
    shares = (0...50).map { |number| truth.fetch(format("fiber-%06d", number)) }
    # Their medians: what else befalls the machine in one turn is in one share.
    assert_operator shares.last(11).sort[5], :>, shares.first(11).sort[5]
  end

  def test_split_names_its_three_requests
    assert_equal ["", "getppid", "spin", "zero"], run_workload("split", 1).keys.sort
  end

  def test_a_workload_runs_without_the_measurement
    assert_empty run_workload("split", 1, environment: { "GROUND_TRUTH" => "off" })
  end

  def test_the_application_under_load_accounts_for_every_request
    skip "no puma" unless system("puma", "--version", out: File::NULL, err: File::NULL)
    Dir.mktmpdir do |folder|
      summary = with_application(folder) { |port| load_application(port) }
      assert_equal 0, summary["errors"]
      assert_operator summary["requests"], :>, 20
      truth = Dir["#{folder}/truth.*"].flat_map { |path| File.readlines(path) }
      requests = truth.map { |line| JSON.parse(line)["request_id"] }.grep(/\A[a-z]+-\d{6}\z/)
      assert_equal summary["requests"], requests.size
      assert_equal requests.uniq, requests
    end
  end

  def with_application(folder)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    environment = { "PORT" => port.to_s, "RUBYLIB" => LOAD_PATH.join(":"),
                    "GROUND_TRUTH" => "#{folder}/truth" }
    app = "#{FIXTURES}/app"
    pid = Process.spawn(environment, RbConfig.ruby, "-S", "puma", "-C", "#{app}/puma.rb",
                        "#{app}/config.ru", %i[out err] => "#{folder}/log")
    wait_for(port)
    yield port
  ensure
    Process.kill(:TERM, pid)
    Process.wait(pid)
  end

  def wait_for(port)
    200.times do
      return Net::HTTP.get(URI("http://127.0.0.1:#{port}/cheap"))
    rescue SystemCallError
      sleep 0.05
    end
    flunk "the application does not answer"
  end

  def load_application(port)
    options = ["--port", port.to_s, "--duration", "1.5"]
    JSON.parse(IO.popen([RbConfig.ruby, "#{FIXTURES}/load.rb", *options], &:read))
  end
end
