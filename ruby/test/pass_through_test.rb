# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
require "tmpdir"

# Where there is no extension: another platform or implementation of Ruby, in a process that says of
# itself that it is one. Only the library's own files are there.
class PassThroughTest < Minitest::Test
  SOURCE = File.expand_path("..", __dir__)
  MAC = { RUBY_PLATFORM: "arm64-darwin23" }.freeze
  WINDOWS = { RUBY_PLATFORM: "x64-mingw-ucrt" }.freeze
  JRUBY = { RUBY_ENGINE: "jruby", RUBY_PLATFORM: "java" }.freeze
  TRUFFLERUBY = { RUBY_ENGINE: "truffleruby" }.freeze

  def run_ruby(constants, script, *arguments, folder: Dir.pwd)
    prelude = constants.map do |name, value|
      "Object.send(:remove_const, :#{name}); #{name} = #{value.inspect}\n"
    end.join
    command = [{ "RUBYLIB" => nil, "RUBYOPT" => nil }, RbConfig.ruby, "-w", *arguments, "-e",
               prelude + script]
    output = IO.popen(command, err: %i[child out], chdir: folder, &:read)
    [output, $?]
  end

  def with_library(constants, script)
    run_ruby(constants, "require \"correlator\"\n#{script}", "-I", "#{SOURCE}/lib")
  end

  def assert_prints(expected, constants, script)
    output, status = with_library(constants, script)
    assert_equal expected, output
    assert_predicate status, :success?
  end

  ALL = <<~'RUBY'
    seen = Correlator.with(request_id: "r") do |*given|
      [given, Correlator.current, Correlator.capture]
    end
    seen << Correlator.with(nil, a: 1) { :block } << Correlator.set(a: 1) { :in_set }
    seen << Correlator.set(a: 1) << Correlator.update(endpoint: "e") << Correlator.clear
    seen << Correlator[:a] << Correlator.inherit { |value, key: 0| [value, key] }.call(1, key: 2)
    p seen, Correlator.publishing?
  RUBY

  [MAC, WINDOWS, JRUBY, TRUFFLERUBY].each do |platform|
    define_method("test_all_methods_are_there_and_blocks_run_on_#{platform.values.first}") do
      expected = "[[], nil, nil, :block, :in_set, nil, nil, nil, nil, [1, 2]]\nfalse\n"
      assert_prints(expected, platform, ALL)
    end
  end

  def test_wrong_arguments_are_refused_as_elsewhere
    expected = "LocalJumpError\nTypeError\nTypeError\nTypeError\nNoMethodError\n"
    assert_prints(expected, MAC, <<~'RUBY')
      [-> { Correlator.with(a: 1) }, -> { Correlator.with("x") {} },
       -> { Correlator.set("a" => 1) }, -> { Correlator["a"] },
       -> { Correlator::State.new }].each do |call|
        call.call
      rescue LocalJumpError, TypeError, NoMethodError => error
        puts error.class
      end
    RUBY
  end

  def test_the_middlewares_pass_calls_on
    assert_prints("[200]\n:done\n", MAC, <<~'RUBY')
      env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" }
      p Correlator::Rack.new(->(_env) { [200, {}, []] }).call(env).first(1)
      p Correlator::Sidekiq::Server.new.call(nil, { "jid" => "1", "class" => "A" }, "q") { :done }
    RUBY
  end

  # A broken installation is no reason to be silent.
  def test_on_linux_a_missing_extension_is_an_error
    output, status = with_library({}, "p :unreachable")
    refute_predicate status, :success?
    assert_match(%r{cannot load such file -- correlator/correlator \(LoadError\)}, output)
  end

  def test_here_it_publishes
    require "correlator"
    assert_predicate Correlator, :publishing?
  end

  %w[correlator upstream_threads].each do |extension|
    define_method("test_#{extension}_builds_and_installs_nothing_there") do
      [MAC, JRUBY].each do |platform|
        Dir.mktmpdir do |folder|
          script = "load #{"#{SOURCE}/ext/#{extension}/extconf.rb".inspect}"
          output, status = run_ruby(platform, script, folder: folder)
          assert_equal [true, ""], [status.success?, output]
          assert(%w[clean all install].all? { |goal| system("make", "-s", goal, chdir: folder) })
          assert_equal ["Makefile"], Dir.children(folder)
        end
      end
    end
  end
end
