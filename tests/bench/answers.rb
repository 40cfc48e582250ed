# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Says "ready"; then a thread of its own answers each line that it reads by what the block returns.
def answer_lines
  Thread.new do
    $stdout.sync = true
    puts "ready"
    puts yield while $stdin.gets
    exit!
  end
end
