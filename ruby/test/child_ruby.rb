# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "rbconfig"

# For tests that need a process of their own.
module ChildRuby
  # Runs code in another Ruby, which has the gem and `published`; what it puts out.
  def ruby(code, *options, environment: {})
    paths = $LOAD_PATH.flat_map { |path| ["-I", path] }
    command = [RbConfig.ruby, *options, *paths, "-r", "correlator", "-r", "published", "-e", code]
    output = IO.popen(environment, command, err: %i[child out], &:read)
    assert_predicate $?, :success?, output
    output
  end
end
