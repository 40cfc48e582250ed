# SPDX-License-Identifier: MIT
# frozen_string_literal: true

# Does to the gem by chance whatever could hurt it, and ends with status 1 at the first context that
# is wrong, incomplete or dead: beside a model, and with readers at any instant (onlooker/).
#
#   ruby -I ... torture/run.rb [--seconds 10] [--rounds N] [--seed S] [--publisher own|first|later]
#                              [--without OPERATION,...] [--only OPERATION,...]
#
# A round has its own seed, which is printed with what is found, so that it can be had again:
# --seed S --rounds 1. --publisher: when the stand-in for the gem ruby-profiler is loaded.
require "optparse"

$LOAD_PATH.unshift(File.expand_path("..", __dir__))
options = { seconds: 10.0, seed: Random.new_seed % (1 << 32), publisher: "own", without: [],
            only: nil }
OptionParser.new do |parser|
  parser.on("--seconds S", Float)
  parser.on("--rounds N", Integer)
  parser.on("--seed S", Integer)
  parser.on("--publisher WHICH", %w[own first later])
  parser.on("--without NAMES", Array)
  parser.on("--only NAMES", Array)
end.parse!(into: options)

Warning[:experimental] = false
verbose, $VERBOSE = $VERBOSE, nil
require "continuation"
$VERBOSE = verbose
require "profiler_stand_in" if options[:publisher] == "first"
require "correlator"
require "profiler_stand_in" if options[:publisher] == "later"
require "torture/suite"

$stdout.sync = true
Torture::Suite.new(**options).run
