# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "hanging"
require "minitest/autorun"
require "rbconfig"

# The tests of threads and fibers again, with Ruby threads that share native ones. Those of other
# Ractors always do: they are tested as they are (and with the main Ractor's threads sharing too,
# Ruby 3.4.11 itself crashes when it ends).
class SharedNativeThreadTest < Minitest::Test
  DEADLINE_SECONDS = 120

  %w[context thread fiber inheritance trace_point gc gvl liveness upstream upstream_later].each do |name|
    define_method(:"test_the_#{name}_tests_pass_with_m_to_n_threads") do
      skip "Ruby 3.3+" if RUBY_VERSION < "3.3"
      output, status = run_sharing("#{__dir__}/#{name}_test.rb")
      assert_predicate status, :success?, output
    end
  end

  # Ruby has eight for all extensions of a process.
  %w[thread ractor].each do |name|
    define_method(:"test_the_#{name}_tests_pass_where_others_have_used_up_the_keys_of_threads") do
      skip "Ruby 3.3+" if RUBY_VERSION < "3.3"
      taken = 'require "published_state"; Published.use_up_thread_keys.positive? || abort; ' \
              "load ARGV.shift"
      # Threads of Ractors share in any case.
      shares = name == "ractor" ? "0" : "1"
      output, status = run_sharing("-e", taken, "#{__dir__}/#{name}_test.rb", shares: shares)
      assert_predicate status, :success?, output
      assert_match(/^[1-9]\d* runs/, output)
    end
  end

  def run_sharing(*script, shares: "1")
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    output, status = Hanging.run({ "RUBY_MN_THREADS" => shares },
                                 [RbConfig.ruby, *paths, *script], DEADLINE_SECONDS)
    status ? [output, status] : flunk(output)
  end
end
