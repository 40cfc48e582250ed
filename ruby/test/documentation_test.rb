# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "minitest/autorun"
require "rbconfig"
begin
  require "rdoc"
rescue LoadError
  nil
end

# All that is public is documented.
class DocumentationTest < Minitest::Test
  SOURCE = File.expand_path("..", __dir__)

  def test_all_that_is_public_is_documented
    skip "there is no rdoc" unless defined?(RDoc)
    command = [RbConfig.ruby, "-r", "rdoc", "-e", "RDoc::RDoc.new.document(ARGV)", "--",
               "--coverage-report", "--quiet", "lib"]
    output = IO.popen(command, chdir: SOURCE, err: %i[child out], &:read)
    assert_match(/100\.00% documented/, output)
    assert_includes output, "Methods:"
    refute_match(/Methods: +0 /, output)
  end
end
