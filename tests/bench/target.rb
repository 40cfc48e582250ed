# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# The process that is measured: answers each line "LOOP OPERATIONS BATCHES" with the best batch's
# nanoseconds per operation. ruby -I ... target.rb [CONTEXTS] [THREADS] [CHILDREN]: so many live
# contexts, sleeping threads and sleeping child processes.
require "bench_loops"
require "correlator"
require "socket"

contexts, threads, children = [2, 0, 0].zip(ARGV).map { |default, text| Integer(text || default) }

def request_id(number) = format("01234567-89ab-cdef-0123-%012x", number)

def on_two_threads(operations, batches)
  game = BenchLoops.game(operations, batches)
  sides = %i[serve return_serve].each_with_index.map do |side, number|
    Thread.new { Correlator.with(request_id: request_id(number)) { BenchLoops.send(side, game) } }
  end
  sides.map(&:value).first
end

# Between this fiber and one in another context, or in the same, as a task of async in its request's.
def resume_fiber(operations, batches, in_common:)
  fiber = Fiber.new do
    Correlator.set(request_id: request_id(1)) unless in_common
    loop { Fiber.yield }
  end
  Array.new(batches) do
    start = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    (operations / 2).times { fiber.resume }
    (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - start).fdiv(operations)
  end.min
end

# They end with this process, whatever ends it: then the pipe has no writer.
alive, parent = IO.pipe
children.times do
  fork do
    parent.close
    alive.read
  end
end
Array.new(threads) { Thread.new { sleep } }
kept = []
states = Array.new(contexts) do |number|
  Correlator.with(request_id: request_id(number)) do
    kept << Correlator.capture
    BenchLoops.state
  end
end

server = TCPServer.new("127.0.0.1", 0)
connection = TCPSocket.new("127.0.0.1", server.addr[1])
file = File.open(__FILE__)

$stdout.sync = true
puts "ready #{Process.pid}"
Correlator.with(request_id: request_id(0)) do
  while (line = $stdin.gets)
    name, operations, batches = line.split
    operations = Integer(operations)
    batches = Integer(batches)
    puts case name
         when "syscall" then BenchLoops.syscalls(operations, batches)
         when "receive" then BenchLoops.receives(connection, operations, batches)
         when "read" then BenchLoops.reads(file, operations, batches)
         when "switch" then on_two_threads(operations, batches)
         when "apply" then BenchLoops.applies(operations, batches, states)
         when "fiber" then resume_fiber(operations, batches, in_common: false)
         when "common_fiber" then resume_fiber(operations, batches, in_common: true)
         end
  end
end
