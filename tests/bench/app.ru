# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Two pages: /cheap does nothing, /work does the same work each time, about 2 ms of it. (The pages
# of fixtures/app burn a given CPU time, in which the cost of being observed would not show.)
require "correlator"

WORK_TURNS = 180_000
WORK_SYSTEM_CALLS = 50

work = lambda do
  turn = 0
  turn += 1 while turn < WORK_TURNS
  WORK_SYSTEM_CALLS.times { Process.ppid }
end

use Correlator::Rack, words: %w[cheap]
run(lambda do |env|
  work.call if env["PATH_INFO"] == "/work"
  [200, { "content-type" => "text/plain", "content-length" => "3" }, ["ok\n"]]
end)
