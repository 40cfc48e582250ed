# SPDX-License-Identifier: GPL-2.0-only
# frozen_string_literal: true

# Requests in tasks of one event loop, of which each lets the others go on ten times: each line that it reads is
# answered by how many there were. ruby -I ... async.rb
require "async"
require "correlator"
require_relative "answers"

TASKS = 20
YIELDS = 10
WORK_TURNS = 50

count = 0
answer_lines { count }

def let_others_go_on(task)
  task.reactor << Fiber.current
  task.yield
end

Async do |main|
  TASKS.times do |number|
    main.async do |task|
      loop do
        count += 1
        Correlator.with(request_id: "request-#{count}", endpoint: "GET /#{number % 8}") do
          YIELDS.times do
            WORK_TURNS.times { |turn| turn }
            let_others_go_on(task)
          end
        end
      end
    end
  end
end
