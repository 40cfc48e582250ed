# SPDX-License-Identifier: MIT
# frozen_string_literal: true

require "correlator/version"

# Publishes which request a thread works for, so that an observer outside the process (the tool
# `correlator`) can say which request burned the CPU. A context is a set of pairs: keys are Symbols,
# values any objects (Strings, Symbols and Integers are what an observer can read). It belongs to
# the fiber that set it, and is lent to the fibers that this one starts: a fiber that sets nothing
# works for the one that first resumed it, until what was in force there ends or is replaced.
# Unfrozen Strings are copied. At most 32 keys.
module Correlator
  if defined?(::Ruby::Profiler::State)
    # A second variable would leave an observer to guess which one is the true one.
    require "correlator/upstream"
    require "correlator/upstream_threads" if ENV["RUBY_MN_THREADS"].to_i.positive?
    extend Upstream
    private_constant :Upstream
  elsif RUBY_ENGINE == "ruby" && RUBY_PLATFORM.include?("linux")
    require "correlator/correlator"
  else
    require "correlator/pass_through"
    extend PassThrough
    private_constant :PassThrough
  end

  # What has a framework's class as its own needs that framework.
  autoload :GRPC, "correlator/grpc"

  # A context as an object: pairs that do not change. Correlator.capture returns it.
  class State
    ##
    # :method: size
    # How many pairs there are.

    ##
    # :method: to_h
    # The pairs as a frozen Hash.

    ##
    # :method: []
    # :call-seq:
    #   [](key) -> object or nil
    #
    # The value of a key, nil without.

    ##
    # :method: inspect
    # With the pairs.
  end

  # Whether contexts can be observed: not on other platforms than Linux, nor with other
  # implementations of Ruby, where the same methods only run their blocks.
  def self.publishing?
    !defined?(PassThrough)
  end

  ##
  # :singleton-method: with
  # :call-seq:
  #   with(**pairs) { ... } -> object
  #   with(state, **pairs) { ... } -> object
  #
  # Runs the block in the context of the pairs over those in force, or over those of a captured
  # state (nil: none), and returns what it returns. What was in force before is restored however
  # the block ends.

  ##
  # :singleton-method: set
  # :call-seq:
  #   set(**pairs) -> nil
  #   set(state, **pairs) -> nil
  #   set(...) { ... } -> object
  #
  # The same for the rest of the fiber, or of the block of +with+ that it is called in. With a block
  # of its own it is +with+.

  ##
  # :singleton-method: update
  # :call-seq:
  #   update(**pairs) -> nil
  #
  # Adds to the context in force what is known of it only now, without ending it: fibers that borrow
  # it go on. Without a context it does nothing.

  ##
  # :singleton-method: clear
  # :call-seq:
  #   clear -> nil
  #
  # No context for the rest of the fiber, or of the block of +with+ that it is called in.

  ##
  # :singleton-method: current
  # :call-seq:
  #   current -> Hash or nil
  #
  # The pairs in force, frozen; nil without a context.

  ##
  # :singleton-method: []
  # :call-seq:
  #   [](key) -> object or nil
  #
  # The value of one key of the context in force; nil without.

  ##
  # :singleton-method: capture
  # :call-seq:
  #   capture -> Correlator::State or nil
  #
  # The context in force as an object, to be put in force elsewhere by +with+; nil without one.

  # Counts from now on, for each thread that has had a context, how long it waits for the GVL (not
  # before Ruby 3.3, which does not tell) and how long it collects garbage (not with another collector
  # than Ruby's own), so that an observer can say it of each request. Returns whether it counts
  # anything: not where the gem ruby-profiler publishes. Once is enough, for threads and Ractors of
  # later and forked children, too. The environment variable CORRELATOR_WATCH_VM=1 does the same when
  # the gem is loaded.
  def self.watch_vm!
    return false unless respond_to?(:count_gvl, true)

    [count_gvl, tells_of_collections? && count_gc].any?
  end

  # Other collectors (Ruby 4.0: GC.config) tell when one begins, and no more.
  def self.tells_of_collections?
    !GC.respond_to?(:config) || [nil, "default"].include?(GC.config[:implementation])
  end
  private_class_method :tells_of_collections?

  # A Proc that runs the block in the context of now, wherever it is called.
  # New threads start without a context, and a fiber only borrows one. To pass it on for good:
  #   Thread.new(&Correlator.inherit { ... })
  #   Fiber.new(&Correlator.inherit { |value| ... })
  def self.inherit(&block)
    raise ArgumentError, "inherit needs a block" unless block

    state = capture
    inherited = ->(*arguments) { with(state) { block.call(*arguments) } }
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

Correlator.watch_vm! if ENV["CORRELATOR_WATCH_VM"] == "1"
