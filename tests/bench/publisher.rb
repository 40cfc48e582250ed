# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Publishes a context and sleeps, in so many forked workers, too. ruby -I ... publisher.rb NAME [WORKERS]
require "correlator"

File.write("/proc/self/comm", ARGV[0])
Correlator.with(request_id: "sleeping") do
  workers = Array.new(Integer(ARGV[1] || 0)) do
    fork do
      File.write("/proc/self/comm", ARGV[0])
      # Ends with its parent, however that ends.
      $stdin.read
      exit!
    end
  end
  puts "ready"
  $stdout.flush
  $stdin.read
  workers.each { |pid| Process.wait(pid) }
end
