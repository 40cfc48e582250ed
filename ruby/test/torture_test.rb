# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "hanging"
require "minitest/autorun"
require "rbconfig"
require "tmpdir"

# torture/run.rb for a fixed time in each way. TORTURE_SECONDS: how long each; a week by option:
# TORTURE_SECONDS=100000.
class TortureTest < Minitest::Test
  SECONDS = ENV.fetch("TORTURE_SECONDS", "4")
  # Only a hang gets there: a round on a busy machine takes more than a minute.
  DEADLINE_SECONDS = 240
  SCRIPT = "#{__dir__}/torture/run.rb"
  STRESSED = %w[stress nest set update start_fiber resume_fiber stop_fiber abandon_fiber collect
                junk compact].freeze

  def torture(*arguments, environment: {}, prelude: [])
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    command = [environment, RbConfig.ruby, "-w", *paths, *prelude, SCRIPT, *arguments]
    output, status = Hanging.run(environment, command, SECONDS.to_f + DEADLINE_SECONDS)
    status ? [output, status] : flunk(output)
  end

  def assert_survives(*arguments, environment: {})
    output, status = torture("--seconds", SECONDS, *arguments, environment: environment)
    assert_predicate status, :success?, output
    puts output
  end

  %w[own later first].each do |publisher|
    define_method("test_contexts_are_right_with_publisher_#{publisher}") do
      assert_survives("--publisher", publisher)
    end
  end

  def test_contexts_are_right_where_threads_share_native_ones
    skip "Ruby 3.3+" if RUBY_VERSION < "3.3"
    # Without any gem, in Fiber.yield and Fiber#resume of threads other than the first.
    skip "Ruby 3.4 itself crashes" if RUBY_VERSION.start_with?("3.4")
    assert_survives(environment: { "RUBY_MN_THREADS" => "1" })
  end

  def test_contexts_are_right_where_most_of_what_happens_is_collection
    assert_survives("--only", STRESSED.join(","))
  end

  # So that what it does not find means something: a gem that forgets to end contexts.
  def test_a_fault_is_found_and_its_seed_finds_it_again
    Dir.mktmpdir do |folder|
      File.write("#{folder}/faulty.rb", <<~'RUBY')
        require "correlator"
        Correlator.singleton_class.prepend(Module.new { def clear; end })
      RUBY
      faulty = ["-r", "#{folder}/faulty.rb"]
      # It ends with the first that it finds, and a busy machine has few rounds a second.
      output, status = torture("--seconds", "40", prelude: faulty)
      assert_equal 1, status.exitstatus, output
      again = output[%r{again: torture/run\.rb (.*)}, 1] || flunk(output)
      output, status = torture(*again.split, prelude: faulty)
      assert_equal 1, status.exitstatus, output
    end
  end
end
