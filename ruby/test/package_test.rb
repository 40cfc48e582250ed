# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
require "rubygems/package"
require "tmpdir"

# The gem as its users get it: gem build, gem install, require.
class PackageTest < Minitest::Test
  SOURCE = File.expand_path("..", __dir__)

  def gem(*arguments)
    output = IO.popen([RbConfig.ruby, "-S", "gem", *arguments], chdir: SOURCE, err: %i[child out],
                                                                &:read)
    assert_predicate $?, :success?, output
    output
  end

  def test_the_package_installs_and_publishes
    Dir.mktmpdir do |folder|
      package = "#{folder}/correlator.gem"
      gem("build", "correlator.gemspec", "-o", package)
      gem("install", "--local", "--no-document", "--install-dir", folder, package)
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
    sources = Dir.chdir(SOURCE) { Dir["lib/**/*", "ext/**/*"].select { |path| File.file?(path) } }
    assert_empty sources - files
    assert_includes files, "README.md"
    assert_includes files, "LICENSE"
    assert_empty files.grep(%r{\A(?:test|tmp)/})
  end
end
