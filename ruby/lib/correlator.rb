# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/version"

# Publishes which request a thread works for, so that an observer outside the process (the tool
# `correlator`) can say which request burned the CPU. A context is a set of pairs: keys are Symbols,
# values any objects (Strings, Symbols and Integers are what an observer can read). It belongs to
# the fiber that set it, and is lent to the fibers that this one starts: a fiber that sets nothing
# works for the one that first resumed it, until what was in force there ends or is replaced.
# Unfrozen Strings are copied. At most 32 keys.
#
#   with(request_id: "r1", ...) { }  runs the block with the pairs over the current ones, then
#                                    restores what was before, also after raise, throw and kill
#   with(state, ...) { }             the same over a captured state (nil: none) in place of the
#                                    current one
#   set(...)                         as with, for the rest of the fiber; with a block it is with
#   update(...)                      adds to the context, without ending it: those who borrow it go
#                                    on. For what is known late; nothing without a context
#   clear                            no context for the rest of the fiber
#   current                          a frozen Hash of the pairs, nil without a context
#   [key]                            the value of one key, nil without
#   capture                          the context as an object to pass on, nil without one
#   inherit { }                      a Proc that runs the block in the context of now, wherever it
#                                    is called
module Correlator
  if defined?(::Ruby::Profiler::State)
    # A second variable would leave an observer to guess which one is the true one.
    require "correlator/upstream"
    require "correlator/upstream_threads" if ENV["RUBY_MN_THREADS"].to_i.positive?
    extend Upstream
  else
    require "correlator/correlator"
  end

  # What has a framework's class as its own needs that framework.
  autoload :GRPC, "correlator/grpc"

  # New threads start without a context, and a fiber only borrows one. To pass it on for good:
  #   Thread.new(&Correlator.inherit { ... })
  #   Fiber.new(&Correlator.inherit { |value| ... })
  def self.inherit(&block)
    raise ArgumentError, "inherit needs a block" unless block

    state = capture
    inherited = proc { |*arguments| with(state) { block.call(*arguments) } }
    inherited.ruby2_keywords if inherited.respond_to?(:ruby2_keywords)
    inherited
  end
end

# Not autoload, which raises where the first to need them is another Ractor. None of them loads a
# framework.
require "correlator/endpoint"
require "correlator/request_id"
require "correlator/job"
require "correlator/active_job"
require "correlator/rack"
require "correlator/sidekiq"
