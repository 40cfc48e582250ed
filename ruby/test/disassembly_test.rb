# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
require "tmpdir"
require "correlator"

# The function that changes the thread-local must be a cheap place for a uprobe: on x86-64 the
# kernel emulates push (bytes 50 to 57, 41 in front for r8 to r15) and single-steps most others.
class DisassemblyTest < Minitest::Test
  SOURCE = File.expand_path("../ext/correlator", __dir__)
  BUILT = $LOADED_FEATURES.find { |path| path.end_with?("/correlator/correlator.so") }

  def setup
    skip "x86-64 only" unless RbConfig::CONFIG["host_cpu"].match?(/x86_64|amd64/)
    skip "no objdump" unless system("objdump --version", out: File::NULL, err: File::NULL)
  end

  def instructions(object_file)
    command = ["objdump", "-d", "--disassemble=correlator_state_apply", object_file]
    listing = IO.popen(command, &:read)
    listing.scan(/^\s+\h+:\t((?:\h\h )+)\s*\t?(.*)$/).map { |bytes, text| [bytes.split, text] }
                                              .reject { |_, text| text.empty? }
  end

  def assert_cheap_probe_site(object_file)
    code = instructions(object_file)
    refute_empty code, "correlator_state_apply is not in #{object_file}"
    assert_match(/\A(?:41 )?5[0-7]\z/, code.first.first.join(" "))
    assert(code.any? { |_, text| text.match?(/\bcallq?\b/) }, "a leaf function")
    first_call = code.index { |_, text| text.match?(/\bcallq?\b/) }
    first_jump = code.index { |_, text| text.match?(/\A(?:jmp|j[a-z]+)\b/) } || code.size
    assert_operator first_call, :<, first_jump, "a way around the call"
    exported = IO.popen(["nm", "-D", "--defined-only", object_file], &:read)
    assert_match(/ T correlator_state_apply$/, exported)
    assert_match(/ [BD] ruby_profiler_state$/, exported)
  end

  def test_the_built_extension_has_a_cheap_probe_site
    assert_cheap_probe_site(BUILT)
  end

  def test_nothing_else_is_exported
    exported = IO.popen(["nm", "-D", "--defined-only", BUILT], &:readlines)
    assert_equal %w[Init_correlator correlator_changes correlator_fiber_apply
                    correlator_state_apply correlator_state_header correlator_state_serials
                    correlator_thread correlator_watch ruby_profiler_state],
                 exported.map { |line| line.split.last }.sort
  end

  %w[gcc clang].each do |compiler|
    define_method(:"test_#{compiler}_makes_a_cheap_probe_site") do
      skip "no #{compiler}" unless system("#{compiler} --version", out: File::NULL, err: File::NULL)
      Dir.mktmpdir do |folder|
        assert build(compiler, folder), "#{compiler} does not build the extension"
        assert_cheap_probe_site("#{folder}/correlator.so")
      end
    end
  end

  def build(compiler, folder)
    quiet = { chdir: folder, out: File::NULL, err: File::NULL }
    system(RbConfig.ruby, "#{SOURCE}/extconf.rb", **quiet) &&
      system("make", "CC=#{compiler}", "LDSHARED=#{compiler} -shared", **quiet)
  end
end
