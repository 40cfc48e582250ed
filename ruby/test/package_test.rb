# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
require "rubygems/package"
require "tmpdir"

# The gem as its users get it: gem build, gem install, require.
class PackageTest < Minitest::Test
  SOURCE = File.expand_path("..", __dir__)

  def run_gem(*arguments, environment: {})
    output = IO.popen([environment, RbConfig.ruby, "-S", "gem", *arguments],
                      chdir: SOURCE, err: %i[child out], &:read)
    [output, $?]
  end

  def gem(*arguments, environment: {})
    output, status = run_gem(*arguments, environment: environment)
    assert_predicate status, :success?, output
    output
  end

  # Where its home will be, only who publishes it knows; an address that is no one's would be worse.
  def test_nothing_but_the_home_page_is_missing
    Dir.mktmpdir do |folder|
      package = "#{folder}/correlator.gem"
      output = gem("build", "--strict", "correlator.gemspec", "-o", package,
                   environment: { "CORRELATOR_HOMEPAGE" => "https://example.org/correlator" })
      refute_match(/WARNING/, output)
      output, status = run_gem("build", "--strict", "correlator.gemspec", "-o", package)
      refute_predicate status, :success?
      assert_equal ["no homepage specified"], output.scan(/WARNING: +(?! *See )(\S.*)/).flatten
    end
  end

  def test_the_package_installs_and_publishes
    Dir.mktmpdir do |folder|
      package = "#{folder}/correlator.gem"
      gem("build", "correlator.gemspec", "-o", package)
      # Without a way to a server of gems.
      gem("install", "--local", "--no-document", "--install-dir", folder, package,
          environment: %w[http_proxy https_proxy].to_h { |name| [name, "http://127.0.0.1:1"] })
      script = "require 'correlator'; Correlator.with(a: 1) { print Correlator.current }; " \
               "print Correlator::Rack, Correlator::Sidekiq::Server, Correlator::ActiveJob"
      environment = { "GEM_PATH" => folder, "RUBYOPT" => nil, "RUBYLIB" => nil }
      output = IO.popen([environment, RbConfig.ruby, "-e", script], err: %i[child out], &:read)
      expected = "#{{ a: 1 }}Correlator::RackCorrelator::Sidekiq::ServerCorrelator::ActiveJob"
      assert_equal expected, output
    end
  end

  def test_the_package_has_what_is_needed_and_no_tests
    files = Dir.chdir(SOURCE) { Gem::Specification.load("correlator.gemspec").files }
    sources = Dir.chdir(SOURCE) do
      Dir["lib/**/*", "ext/**/*", "sig/*"].select { |path| File.file?(path) }
    end
    assert_empty sources - files
    assert_empty %w[README.md CHANGELOG.md LICENSE sig/correlator.rbs] - files
    assert_empty files.grep(%r{\A(?:test|tmp)/})
  end
end
