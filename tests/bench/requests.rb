# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Short requests to eight endpoints, so many a second: each line that it reads is answered by how many
# there were. ruby -I ... requests.rb RATE
require "correlator"
require_relative "answers"

rate = Float(ARGV[0])
count = 0
answer_lines { count }

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

begun = now
loop do
  count += 1
  Correlator.with(request_id: "request-#{count}", endpoint: "GET /#{count % 8}") { 1000.times { |n| n } }
  ahead = begun + count / rate - now
  sleep(ahead) if ahead.positive?
end
