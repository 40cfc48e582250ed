# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "fileutils"
require "hanging"
require "minitest/autorun"
require "rbconfig"
require "tmpdir"

# torture/run.rb with the extension built for AddressSanitizer, which sees each use of its memory
# after it was freed and each access beside it. TORTURE_SECONDS as in torture_test.rb.
class SanitizerTest < Minitest::Test
  SOURCE = File.expand_path("../ext/correlator", __dir__)
  SECONDS = ENV.fetch("TORTURE_SECONDS", "5")
  # Only a hang gets there: a round on a busy machine takes more than a minute.
  DEADLINE_SECONDS = 240
  COMPILER = RbConfig::CONFIG["CC"].split.first
  LIBRARY = IO.popen([COMPILER, "-print-file-name=libasan.so"], err: File::NULL, &:read).chomp
  # Ruby's own memory is never given back at the end, and its fibers change stacks.
  ENVIRONMENT = { "LD_PRELOAD" => LIBRARY,
                  "ASAN_OPTIONS" => "detect_leaks=0:detect_stack_use_after_return=0:" \
                                    "handle_segv=0:handle_abort=0:use_sigaltstack=0" }.freeze

  def run_command(command, environment: {}, folder: Dir.pwd)
    output, status = Hanging.run(environment, command, SECONDS.to_f + DEADLINE_SECONDS,
                                 chdir: folder)
    status ? [output, status] : flunk(output)
  end

  # Into folder/correlator.
  def build(folder)
    FileUtils.cp_r("#{SOURCE}/.", "#{folder}/source")
    # Ruby copies whole stacks for callcc: what lies between variables there is none of ours.
    compiler = "#{COMPILER} -fsanitize=address --param asan-stack=0"
    [[RbConfig.ruby, "extconf.rb", "--quiet"],
     ["make", "--silent", "CC=#{compiler}", "LDSHARED=#{compiler} -shared"]].each do |command|
      output, status = run_command(command, folder: "#{folder}/source")
      assert_predicate status, :success?, output
    end
    Dir.mkdir("#{folder}/correlator")
    FileUtils.cp("#{folder}/source/correlator.so", "#{folder}/correlator")
  end

  def ruby(folder, *arguments)
    paths = [folder, *$LOAD_PATH].flat_map { |path| ["-I", path] }
    run_command([RbConfig.ruby, *paths, *arguments], environment: ENVIRONMENT)
  end

  def test_no_memory_is_misused
    skip "#{COMPILER} has no libasan.so" unless LIBRARY.start_with?("/")
    Dir.mktmpdir do |folder|
      build(folder)
      assert_faults_are_seen(folder)
      %w[own later].each do |publisher|
        output, status = ruby(folder, "#{__dir__}/torture/run.rb", "--seconds", SECONDS,
                              "--publisher", publisher)
        refute_match(/AddressSanitizer:/, output)
        assert_predicate status, :success?, output
        puts output
      end
    end
  end

  # So that what it does not see means something: it is this build that is loaded, and it is armed.
  def assert_faults_are_seen(folder)
    script = <<~'RUBY'
      require "correlator"
      loaded = $LOADED_FEATURES.find { |path| path.end_with?("correlator/correlator.so") }
      is_there = File.read("/proc/self/maps").include?("libasan")
      print loaded, " ", is_there && File.binread(loaded).include?("__asan_report_load")
    RUBY
    output, = ruby(folder, "-e", script)
    assert_equal "#{File.realpath(folder)}/correlator/correlator.so true", output
  end
end
