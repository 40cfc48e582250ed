# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "correlator"
require "child_ruby"
require "tempfile"

# Gems and programs that change the same methods, before this one or after it.
class BesideOthersTest < Minitest::Test
  include ChildRuby

  RENAMED = <<~CODE
    class Thread
      class << self
        %w[new start fork].each do |name|
          alias_method :"plain_\#{name}", name
          define_method(name) { |*all, &block| send(:"plain_\#{name}", *all) { |*given| CALLS << name; block.call(*given) } }
        end
      end
    end
  CODE
  PREPENDED = <<~CODE
    Thread.singleton_class.prepend(Module.new do
      %w[new start fork].each do |name|
        define_method(name) { |*all, &block| super(*all) { |*given| CALLS << name; block.call(*given) } }
      end
    end)
  CODE
  DEFINED = <<~CODE
    class Thread
      class << self
        PLAIN = %w[new start fork].to_h { |name| [name, Thread.method(name)] }
        PLAIN.each do |name, plain|
          define_method(name) { |*all, &block| plain.call(*all) { |*given| CALLS << name; block.call(*given) } }
        end
      end
    end
  CODE
  ASKED = <<~CODE
    %w[new start fork].each do |name|
      puts Correlator.with(request_id: name) { Thread.send(name, 1) { |one| [one, Correlator[:request_id]].inspect } }.value
    end
    puts CALLS.size
  CODE
  ANSWER = %([1, "new"]\n[1, "start"]\n[1, "fork"]\n3\n)

  { renames: RENAMED, prepends: PREPENDED, defines: DEFINED }.each do |what, code|
    define_method(:"test_another_gem_that_#{what}_methods_of_thread") do
      begin_with = "CALLS = []\n"
      ours = "require 'correlator/thread'\n"
      assert_equal ANSWER, ruby(begin_with + ours + code + ASKED), "after"
      assert_equal ANSWER, ruby(begin_with + code + ours + ASKED), "before"
    end
  end

  def test_one_that_is_loaded_twice_is_in_force_once
    answer = ruby(<<~CODE)
      require "correlator/thread"
      load $LOADED_FEATURES.grep(%r{/correlator/thread\\.rb\\z}).first
      p Correlator.with(request_id: "r") { Thread.new { Thread.start { Correlator[:request_id] }.value } }.value
    CODE
    assert_equal %("r"\n), answer.lines.last
  end

  def test_logging
    check = "p Correlator.with(request_id: 'r') { Thread.start { Correlator[:request_id] }.value }"
    ["require 'correlator/thread'; require 'logging'", "require 'logging'; require 'correlator/thread'"].each do |both|
      answer = ruby("begin; #{both}; rescue LoadError; puts 'none'; exit; end; #{check}")
      skip "no logging" if answer == "none\n"
      assert_equal %("r"\n), answer.lines.last
    end
  end

  RENAMED_POST = <<~CODE
    require "concurrent"
    %s
    class Concurrent::RubyExecutorService
      alias_method :plain_post, :post
      def post(*all, &task)
        plain_post(*all, &task)
      end
    end
    %s
    pool = Concurrent::FixedThreadPool.new(1)
    seen = Queue.new
    Correlator.with(request_id: "r") { pool.post { seen << Correlator[:request_id] } }
    p seen.pop, Correlator.with(request_id: "q") { Concurrent::Promises.future { Correlator[:request_id] } }.value
  CODE

  def test_concurrent_ruby_that_is_renamed
    skip "no concurrent-ruby" unless Gem::Specification.any? { |gem| gem.name == "concurrent-ruby" }
    ours = 'require "correlator/concurrent"'
    assert_equal %("r"\n"q"\n), ruby(format(RENAMED_POST, ours, ""))
    assert_equal %("r"\n"q"\n), ruby(format(RENAMED_POST, "", ours))
  end

  RENAMED_ROUTE = <<~CODE
    require "sinatra/base"
    %s
    class Sinatra::Base
      alias_method :plain_route_eval, :route_eval
      def route_eval(&block)
        plain_route_eval(&block)
      end
    end
    %s
    class Shop < Sinatra::Base
      set :environment, :production
      get("/orders/:id") { Correlator[:endpoint] }
    end
    environment = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/orders/7", "SCRIPT_NAME" => "", "rack.input" => $stdin,
                    "QUERY_STRING" => "", "SERVER_NAME" => "h", "SERVER_PORT" => "80", "rack.url_scheme" => "http" }
    require "correlator/rack"
    puts Correlator::Rack.new(Shop).call(environment).last.each.to_a.join
  CODE

  def test_sinatra_that_is_renamed
    skip "no Sinatra" unless Gem::Specification.any? { |gem| gem.name == "sinatra" }
    ours = 'require "correlator/sinatra"'
    assert_equal "GET /orders/:id\n", ruby(format(RENAMED_ROUTE, ours, ""))
    assert_equal "GET /orders/:id\n", ruby(format(RENAMED_ROUTE, "", ours))
  end

  def test_a_program_with_names_of_ours_at_its_top_level
    answer = ruby(<<~CODE)
      require "correlator/thread"
      def proc(name); name; end
      def lambda(name); name; end
      def tap(name); name; end
      Correlator.with(request_id: "r") { puts Thread.new { Correlator[:request_id] + proc("x") }.value }
      Correlator.with(request_id: "q") { puts Thread.new(&Correlator.inherit { Correlator[:request_id] }).value }
    CODE
    assert_equal "rx\nq\n", answer
  end

  def test_threads_and_fibers_look_the_same
    script = File.join(__dir__, "thread_differences.rb")
    plain = IO.popen([RbConfig.ruby, script], err: %i[child out], &:readlines)
    gem = ["-I", File.dirname($LOADED_FEATURES.grep(%r{/correlator\.rb\z}).first), "-r", "correlator/thread"]
    ours = IO.popen([RbConfig.ruby, *gem, script], err: %i[child out], &:readlines)
    assert_equal plain.size, ours.size
    assert_operator plain.size, :>, 40
    different = plain.zip(ours).reject { |one, other| one == other }.to_h { |pair| [pair[0][/[^:]*/], pair] }
    # A thread of a block that is written nowhere says where it was started; a variable is ours.
    assert_equal ["symbol inspects", "variables"], different.keys
    assert_includes different["variables"][1], "[:__correlator_place__], [], []"
  end

  def test_a_block_that_is_written_nowhere_is_at_its_caller
    answer = ruby("require 'correlator/thread'\nCorrelator.with(request_id: 'r') { puts Thread.new('a', &:upcase).inspect }")
    assert_match(/ -e:2 /, answer)
  end

  COVERED = <<~CODE
    require "coverage"
    require ARGV[0]
    Coverage.setup(:all)
    Coverage.resume
    require ARGV[1]
    run = -> { early; late }
    defined?(Correlator) ? Correlator.with(request_id: "r", &run) : run.call
    p(*Coverage.result.values_at(*ARGV))
  CODE

  # Ruby 3.2 and newer count what eval runs, too.
  def test_coverage_counts_what_the_application_runs
    require "coverage"
    skip "no coverage of eval" unless Coverage.respond_to?(:supported?) && Coverage.supported?(:eval)
    early = written("def early = Thread.new { $x ? 1 : 2 }.join\n")
    late = written("def late\n  Thread.new { $x ? 1 : 2 }.join\nend\n")
    script = written(COVERED)
    plain = IO.popen([RbConfig.ruby, script, early, late], &:read)
    ours = ruby("require 'correlator/thread'; ARGV.replace([#{early.inspect}, #{late.inspect}]); load #{script.inspect}")
    assert_equal plain, ours
  end

  def test_prism_compiles_all_of_it
    skip "Ruby has no Prism" unless RUBY_VERSION >= "3.3"
    # Ruby 3.3 warns that it is experimental, in front.
    assert_equal "loaded\n", ruby("require 'correlator/rack'; puts 'loaded'", "--parser=prism", "-W0").lines.last
  end

  private

  def written(text)
    (@files ||= []) << Tempfile.create(%w[beside .rb])
    @files.last.write(text)
    @files.last.close
    @files.last.path
  end

  def teardown
    (@files || []).each { |file| File.unlink(file.path) }
  end
end
