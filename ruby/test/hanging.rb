# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "io/wait"
require "timeout"

# Runs a command that may hang, and then says where.
module Hanging
  SAYS_SECONDS = 20

  module_function

  # What it printed, and its status; nil if it had to be killed.
  def run(environment, command, seconds, **options)
    IO.popen(environment, command, err: %i[child out], **options) do |child|
      output = Timeout.timeout(seconds) { child.read }
      [output, Process.wait2(child.pid).last]
    rescue Timeout::Error
      [where(child), nil]
    end
  end

  # Ruby says it when it crashes, if it still can.
  def where(child)
    said = +"it hangs:\n"
    Process.kill(:SEGV, child.pid)
    said << child.readpartial(1 << 16) while child.wait_readable(SAYS_SECONDS)
    said
  rescue EOFError
    said
  ensure
    Process.kill(:KILL, child.pid)
  end
end
